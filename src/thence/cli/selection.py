"""Which rules of a run to show or export, and in which order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from thence.errors import ConfigError, nearest

if TYPE_CHECKING:
    from thence.rules.items import Item
    from thence.rules.ruleset import RuleSet

__all__ = ["Selection"]

_MOST_LISTED = 20


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Conditions on rules, and their order.

    Args:
        top: The number of rules; 0 for all.
        by: The measure to sort by; by default the rules stay in the order of the run.
        bounds: Bounds on measures by name, such as ``{"min_lift": 2}``.
        feature: Text that occurs in an item of the rule.
        antecedent: Text that occurs in an item of the antecedent.
        consequent: Text that occurs in the consequent.
        kind: A kind of sensor or class of node that the rule is about, in upper or lower case.
    """

    top: int = 0
    by: str | None = None
    bounds: Mapping[str, float] = field(default_factory=dict)
    feature: str | None = None
    antecedent: str | None = None
    consequent: str | None = None
    kind: str | None = None

    def apply(self, rules: RuleSet) -> tuple[RuleSet, int]:
        """Return the selected rules, and how many rules meet the conditions."""
        matching = rules.filter(
            feature=self.feature,
            antecedent=self.antecedent,
            consequent=self.consequent,
            kind=None if self.kind is None else _match_kind(rules, self.kind),
            bounds=self.bounds,
        )
        return matching.top(self.top if self.top > 0 else len(matching), by=self.by), len(matching)


def _match_kind(rules: RuleSet, kind: str) -> str:
    """A kind or class as the rules spell it."""
    known = sorted({name for item in rules.items for name in _kinds(item)})
    matching = [name for name in known if name.lower() == kind.lower()]
    if not matching and known:
        hint = nearest(kind, known) or "known: " + ", ".join(known[:_MOST_LISTED])
        raise ConfigError(f"no rule is about '{kind}'", hint=hint)
    return kind if kind in matching or not matching else matching[0]


def _kinds(item: Item) -> Iterator[str]:
    yield from (name for name in (item.feature.label, item.feature.name) if name)
    for inner in item.feature.where:
        yield from _kinds(inner)
