"""Planning a run: from what was asked for to a miner and a configuration with every default written out.

Nothing is read here but the configuration; defaults that depend on the readings stay open. ``runs.preparation`` builds
tables by such a plan, ``runs.pipeline`` mines them.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from thence.data.graph.system import System
from thence.errors import ConfigError
from thence.runs.configuration import AUTO, REFINE_STEPS, Config, InputConfig, MinerConfig, RefineConfig
from thence.search.base import BaseMiner, Miner, as_miner, make_miner, settings_of
from thence.search.refine import Null, refine
from thence.tables.enrich import find_enrichment


def has_graph(given: InputConfig, sensors: Any, graph: Any, *_: Any) -> bool:
    """Whether what a caller passed, or what a configuration names, has a knowledge graph."""
    if isinstance(sensors, System):
        return sensors.graph is not None
    if isinstance(sensors, (list, tuple)) and any(isinstance(one, System) for one in sensors):
        return any(isinstance(one, System) and one.graph is not None for one in sensors)
    return graph is not None or given.graph is not None or given.dataset is not None


def names_graph(config: Config) -> bool:
    return any(has_graph(one, None, None) for one in (config.input, *config.system))


def plan(
    config: Config,
    miner: str | type | Miner | None = None,
    settings: Mapping[str, Any] | None = None,
    *,
    graph: bool | None = None,
) -> tuple[Config, BaseMiner]:
    """Return the miner, and the configuration with every default written out, so that the run can be repeated.

    Defaults that depend on the readings stay open: the length of windows, and the number of bins of lifted tables.

    Args:
        config: The configuration.
        miner: A miner to use instead of the one in the configuration.
        settings: Settings of the miner, instead of those in the configuration.
        graph: Whether there is a graph; by default if the configuration names a graph or a data set.

    Examples:
        >>> config, miner = plan(Config())
        >>> config.discretize.scope, config.miner.settings["min_support"]
        ('kind', 0.01)
    """
    made, described = _make_miner(miner, settings or {}, config)
    if graph is None:
        graph = names_graph(config)
    # Some miners are made for one enrichment, and those that find intervals of their own cannot read lifted tables.
    chosen = config.enrich.for_graph(graph and made.wants == "codes")
    if config.enrich.mode in ("none", AUTO) and made.enrichment:
        chosen = replace(chosen, mode=made.enrichment)
    config = replace(config, miner=described, enrich=chosen)
    config.enrich.refuse_unused()
    config.check_refine()
    refuse_raw(made, config)
    free = made.antecedent is None and made.consequent is None
    wanted = free and config.refine.steps is not None and config.refine.most > 0
    resolved = replace(
        config,
        logic=config.logic.resolved(several=bool(config.system), wanted=wanted),
        enrich=config.enrich.resolved(),
        discretize=replace(config.discretize, scope=scope_of(config), bins=_planned_bins(config)),
        refine=resolved_refinement(config.refine, made),
    )
    return resolved, made


def _planned_bins(config: Config) -> int | None:
    """The number of bins, unless several are to be tried."""
    chosen = find_enrichment(config.enrich.mode)
    return config.discretize.bins if config.discretize.bins is not None or chosen.fewer_bins else chosen.bins


def resolved_refinement(given: RefineConfig, miner: BaseMiner) -> RefineConfig:
    """The section with the defaults of ``refine`` and the bounds of the miner written out, if refinement runs."""
    if given.apply is None and given.steps == {} and miner.wants == "numbers":
        return replace(given, apply=False)
    steps = given.steps
    if steps is None:
        return given
    parameters = inspect.signature(refine).parameters
    known = {name: steps.get(name, parameters[name].default) for name in REFINE_STEPS}
    known["assurance"] = steps.get("assurance", miner.assurance)
    known["digest"] = given.most
    known["confirm"] = given.confirms
    if known["min_confidence"] is None:
        known["min_confidence"] = miner.least_confidence
    null = {} if known["significance"] is None else asdict(Null(**given.null))
    return replace(given, apply=True, null={key: value for key, value in null.items() if value is not None}, **known)


def bins_of(config: Config) -> int:
    bins = config.discretize.bins
    return find_enrichment(config.enrich.mode).bins if bins is None else bins


def scope_of(config: Config) -> str:
    return config.discretize.scope or find_enrichment(config.enrich.mode).scope


def refuse_raw(miner: BaseMiner, config: Config) -> None:
    if miner.wants == "numbers" and (config.refine.apply or config.refine.steps):
        raise ConfigError(
            f"rules of the miner '{miner.name}' have intervals of their own and cannot be refined",
            hint="in [refine], set only min, max, top and by",
        )


def given_settings(asked: Config, miner: str | type | Miner | None, settings: Mapping[str, Any]) -> frozenset[str]:
    """The settings of the miner that somebody chose; those of a miner that was passed as an object are all chosen."""
    if miner is not None and not isinstance(miner, (str, type)):
        return frozenset(settings_of(miner))
    return frozenset({*asked.miner.settings, *settings})


def plan_fallback(asked: Config, planned: Config) -> Config | None:
    """The configuration to use if lifted rules, which nobody asked for by name, are hardly any."""
    if asked.enrich.mode != AUTO or planned.enrich.mode != "lifted" or planned.refine.steps is None:
        return None
    if asked.enrich.patterns != AUTO:
        return None  # rules about other things are no answer to a pattern
    plain = planned.with_enrichment("none", recorded=True)
    bins = find_enrichment("none").bins if asked.discretize.bins is None else asked.discretize.bins
    scope = asked.discretize.scope or find_enrichment("none").scope
    return replace(plain, discretize=replace(plain.discretize, bins=bins, scope=scope))


def bins_to_try(config: Config) -> tuple[int, ...]:
    """The numbers of bins to mine with, until there are enough rules to read."""
    chosen = find_enrichment(config.enrich.mode)
    if config.discretize.bins is not None:
        return (config.discretize.bins,)
    fewer = chosen.fewer_bins if config.refine.steps is not None and config.refine.most else ()
    return (chosen.bins, *fewer)


def with_bins(config: Config, bins: int) -> Config:
    return replace(config, discretize=replace(config.discretize, bins=bins))


def _make_miner(
    miner: str | type | Miner | None, settings: Mapping[str, Any], config: Config
) -> tuple[BaseMiner, MinerConfig]:
    """The miner, and its configuration with every setting written out."""
    if miner is None or miner == config.miner.name:
        miner, settings = config.miner.name, {**config.miner.settings, **settings}
    made = make_miner(miner, **settings)
    known = settings_of(made)
    if "seed" in known and "seed" not in settings and isinstance(miner, (str, type)):
        made = replace(made, seed=config.seed)  # type: ignore[type-var]
    base = as_miner(made)
    known = settings_of(base.resolved()) or settings_of(made) or dict(settings)
    return base, MinerConfig(name=base.name, settings={name: value for name, value in known.items() if is_set(value)})


def is_set(value: Any) -> bool:
    """TOML has no null, so what is not set is not recorded."""
    return value is not None and not (isinstance(value, (Mapping, list, tuple)) and not value)
