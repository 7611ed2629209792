"""What every miner is: an object with a ``mine`` method, found by name.

Miners propose rules; their counts are made by ``thence.counting.recount``. A miner is immutable: its settings are fixed
when it is made, and the same settings and seed give the same rules.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, runtime_checkable

from thence.errors import ConfigError, nearest
from thence.miners.neighbours import require_near
from thence.progress import Progress, silent
from thence.rules.constraints import Where
from thence.rules.ruleset import RuleSet
from thence.settings.typed import check_kinds

__all__ = ["BUILT_IN", "Miner", "make_miner", "miner_names"]


@runtime_checkable
class Miner(Protocol):
    """A miner. ``wants`` says which table it reads: ``"codes"`` (discretized) or ``"numbers"`` (raw features)."""

    name: ClassVar[str]
    wants: ClassVar[str]

    def mine(self, table: Any, *, progress: Progress = silent) -> RuleSet:
        """All rules that this miner finds in a table, with exact counts."""
        ...


BUILT_IN: Mapping[str, str] = MappingProxyType(
    {
        "exact": "thence.miners.exact.miner:Exact",
        "aerial": "thence.miners.aerial.miner:Aerial",
        "fpgrowth": "thence.miners.baselines.exhaustive:FPGrowth",
        "hmine": "thence.miners.baselines.exhaustive:HMine",
        "naive-semrl": "thence.miners.baselines.semrl:NaiveSemRL",
        "ts-narm": "thence.miners.baselines.narm:TSNARM",
        "arm-ae": "thence.miners.baselines.arm_ae:ARMAE",
    }
)


def _known() -> dict[str, str]:
    plugged = {point.name: point.value for point in entry_points(group="thence.miners")}
    return {**plugged, **BUILT_IN}


def miner_names() -> tuple[str, ...]:
    """The names that ``make_miner`` knows.

    >>> "exact" in miner_names()
    True
    """
    return tuple(_known())


def make_miner(miner: str | type | Miner, **settings: Any) -> Miner:
    """A miner by name, class or instance.

    >>> make_miner("exact", min_support=0.1).min_support
    0.1
    """
    if isinstance(miner, str):
        known = _known()
        if miner not in known:
            raise ConfigError(
                f"unknown miner '{miner}'", hint=nearest(miner, known) or "known: " + ", ".join(sorted(known))
            )
        module, _, attribute = known[miner].partition(":")
        miner = getattr(importlib.import_module(module), attribute)
        assert not isinstance(miner, str)
    if isinstance(miner, type):
        _check_settings(miner, settings)
        try:
            made = miner(**settings)
        except TypeError as error:
            accepted = list(getattr(miner, "__dataclass_fields__", {}))
            unknown = next((name for name in settings if accepted and name not in accepted), None)
            if unknown is None:
                name = getattr(miner, "name", miner.__name__)
                raise ConfigError(f"the miner '{name}' cannot be made of these settings ({error})") from error
            raise ConfigError(
                f"the miner '{getattr(miner, 'name', miner.__name__)}' has no setting '{unknown}'",
                hint=nearest(unknown, accepted) or "it has: " + ", ".join(accepted),
            ) from error
        return made  # type: ignore[no-any-return]
    if settings:
        raise ConfigError("settings go to a miner's name or class, not to one that is made already")
    return miner


def _check_settings(miner: type, settings: Mapping[str, Any]) -> None:
    """Raise for settings of the wrong kind; what a miner of others makes of its own is for it to say."""
    if not miner.__module__.startswith(__package__):
        return
    check_kinds(miner, settings)
    # Any other word would be taken for the first, and the counts would not be those asked for.
    if settings.get("denominator", "present") not in ("present", "all"):
        raise ConfigError(f"unknown denominator {settings['denominator']!r}", hint="'present' or 'all'")
    require_near(settings.get("near"))
    for side in ("antecedent", "consequent"):
        _check_constraint(side, settings.get(side))


def _check_constraint(side: str, constraint: Any) -> None:
    several = constraint if isinstance(constraint, (list, tuple)) else () if constraint is None else (constraint,)
    for one in several:
        if isinstance(one, (str, int, float)):
            raise ConfigError(f"'{side}' must be a table, or a list of tables, got {one!r}", hint="{kind = 'flow'}")
        if not isinstance(one, Mapping):
            continue
        try:
            Where.from_mapping(one)
        except ConfigError as error:
            raise ConfigError(f"'{side}': {error.message}", hint=error.hint) from None
