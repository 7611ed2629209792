"""Rule sets in the form that exporters need: only the items in use, in one fixed order.

Everything here depends on the rules alone, never on how a miner numbered its items, so equal rule sets give equal
files. Nothing here writes a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import NoneType
from typing import Any

import numpy as np
import numpy.typing as npt

from thence.language.items import Item, Role
from thence.statements.rules.measures import Counts
from thence.statements.rules.ruleset import COUNT_FIELDS, RuleSet

Indices = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Columns:
    """A rule set with its items sorted and renumbered.

    Args:
        rules: The rule set.
        items: The items that occur in a rule, sorted.
        antecedents: Positions in ``items``, one row per rule, ascending; −1 fills the end of short antecedents.
        consequents: Positions in ``items``, one per rule.
    """

    rules: RuleSet
    items: tuple[Item, ...]
    antecedents: Indices
    consequents: Indices

    @staticmethod
    def of(rules: RuleSet) -> Columns:
        """Renumber the items of ``rules``."""
        used = np.unique(np.concatenate([rules.antecedents[rules.antecedents >= 0], rules.consequents]))
        ordered = sorted((int(i) for i in used), key=lambda i: rules.items[i].key)
        number = np.full(len(rules.items) + 1, len(ordered), np.int32)
        number[ordered] = np.arange(len(ordered), dtype=np.int32)
        antecedents = np.sort(number[rules.antecedents], axis=1)
        antecedents[antecedents == len(ordered)] = -1
        return Columns(rules, tuple(rules.items[i] for i in ordered), antecedents, number[rules.consequents])

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The exact text of every item."""
        return tuple(map(str, self.items))

    @cached_property
    def antecedent_lists(self) -> list[list[int]]:
        """The antecedent of every rule as positions in ``items``, without fill values."""
        lengths = (self.antecedents >= 0).sum(axis=1).tolist()
        return [row[:length] for row, length in zip(self.antecedents.tolist(), lengths, strict=True)]

    def counts(self) -> Iterator[dict[str, int]]:
        """The counts of each rule by name, in order."""
        table = np.stack([np.asarray(getattr(self.rules.counts, name), np.int64) for name in COUNT_FIELDS], axis=1)
        for row in table.tolist():
            yield dict(zip(COUNT_FIELDS, row, strict=True))

    def extras(self) -> Iterator[dict[str, Any]]:
        """The values of the extra columns of each rule by name, in order."""
        columns = {name: np.asarray(values).tolist() for name, values in self.rules.extras.items()}
        for rule in range(len(self.rules)):
            yield {name: values[rule] for name, values in columns.items()}

    @property
    def facts(self) -> dict[str, Any]:
        """What is known of the table behind the rules, with the share of rows that the rules cover."""
        return {**self.rules.facts, "data_coverage": self.rules.data_coverage}

    def pattern(self, rule: int) -> tuple[str, str]:
        """The pattern of the rule at a position and its description; both empty for a rule that is not lifted."""
        if self.rules.pattern_of is None or self.rules.pattern_of[rule] < 0:
            return "", ""
        return self.rules.patterns[self.rules.pattern_of[rule]]

    def english(self) -> Iterator[str]:
        """Every rule as a sentence, in order."""
        for rule in range(len(self.rules)):
            yield self.rules.rule(rule).english


def item_from(record: Mapping[str, Any], *, text: str | None = None) -> Item:
    """An item of a file of rules; raise ``ValueError`` if it is not the one that its text names."""
    item = Item.from_dict(dict(record))
    named = str(item) if text is None else text
    # The text of a statement leaves out what its conditions repeat.
    if (named != str(item) or item.feature.where) and Item.parse(named) != item:
        raise ValueError("the item is not the one that its text names")
    return item


def require_places(rules: RuleSet) -> RuleSet:
    """Return rules of a file; raise ``ValueError`` if one has variables, but not the pattern that they belong to."""
    variables = np.array([*(item.feature.role is Role.VARIABLE for item in rules.items), False])
    lifted = variables[rules.consequents] | variables[rules.antecedents].any(axis=1)
    alone = lifted if rules.pattern_of is None else lifted & (rules.pattern_of < 0)
    if alone.any():
        raise ValueError(f"rule {int(np.argmax(alone)) + 1}: has variables, but no pattern")
    return rules


def facts_and_notes(record: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Facts and notes of a file of rules; raise ``ValueError`` if they are not a table and a list of strings."""
    facts, notes = record["facts"], record["notes"]
    if not isinstance(facts, dict):
        raise ValueError("'facts' must be a table")
    for name in ("data_coverage", "n_transactions", "n_features", "n_items"):
        if isinstance(facts.get(name), bool) or not isinstance(facts.get(name), (int, float, NoneType)):
            raise ValueError(f"the fact '{name}' must be a number")
    for name, kind in (("sites", list), ("places", dict), ("refine", dict)):
        if not isinstance(facts.get(name, kind()), kind):
            raise ValueError(f"the fact '{name}' has a wrong type")
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        raise ValueError("'notes' must be a list of strings")
    return facts, tuple(notes)


def counts_from(columns: dict[str, Any]) -> Counts:
    """Counts from lists or arrays, by the names in ``COUNT_FIELDS``; raise ``ValueError`` if no table can have them."""
    given = {name: np.asarray(columns[name]) for name in COUNT_FIELDS}
    booleans = any(isinstance(column, list) and any(type(one) is bool for one in column) for column in columns.values())
    if booleans or any(array.size and array.dtype.kind not in "iu" for array in given.values()):
        raise ValueError("counts must be integers")
    counts = Counts(**{name: array.astype(np.int64) for name, array in given.items()})
    least = np.minimum(counts.n_antecedent, counts.n_consequent)
    most = counts.n_antecedent + counts.n_consequent - counts.n_both
    possible = (counts.n_both >= 0) & (counts.n_both <= least) & (most <= counts.n) & (counts.n <= counts.n_rows)
    if not possible.all():
        raise ValueError(f"the counts of rule {int(np.argmin(possible)) + 1} are not those of any table")
    return counts
