"""Rule sets as the exporters need them: only the items in use, in one fixed order, and plain columns.

Everything here depends on the rules alone, never on how a miner happened to number its items, so equal rule sets
give equal files.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from thence.rules.english import rule_english
from thence.rules.items import Item
from thence.rules.measures import MEASURES, Counts
from thence.rules.ruleset import RuleSet

if TYPE_CHECKING:
    import polars as pl

__all__ = ["COUNTS", "MAIN_MEASURES", "Columns", "counts_from", "json_number"]

COUNTS = ("n_rows", "n", "n_antecedent", "n_consequent", "n_both")
MAIN_MEASURES = ("support", "confidence", "rule_coverage", "zhang", "lift")

Indices = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Columns:
    """A rule set with its items sorted and renumbered; antecedents ascend, −1 fills the end of short ones."""

    rules: RuleSet
    items: tuple[Item, ...]
    antecedents: Indices
    consequents: Indices

    @staticmethod
    def of(rules: RuleSet) -> Columns:
        """The columns of a rule set."""
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
        """The antecedent of every rule as item numbers, without filling."""
        lengths = (self.antecedents >= 0).sum(axis=1).tolist()
        return [row[:length] for row, length in zip(self.antecedents.tolist(), lengths, strict=True)]

    @property
    def _pattern_numbers(self) -> Indices:
        """The pattern of each rule, those without one pointing behind the last."""
        own = self.rules.pattern_of
        none = len(self.rules.patterns)
        return np.full(len(self.rules), none, np.int32) if own is None else np.where(own < 0, none, own)

    def pattern(self, rule: int) -> tuple[str, str]:
        """The pattern of a lifted rule and its words; both empty for any other rule."""
        if self.rules.pattern_of is None or self.rules.pattern_of[rule] < 0:
            return "", ""
        return self.rules.patterns[self.rules.pattern_of[rule]]

    def english(self) -> Iterator[str]:
        """Every rule as a sentence, one after another."""
        for rule, (antecedent, consequent) in enumerate(zip(self.antecedent_lists, self.consequents, strict=True)):
            left = [self.items[i] for i in antecedent]
            yield rule_english(left, self.items[consequent], self.pattern(rule)[1])

    def frame(self, *, english: bool = True) -> pl.DataFrame:
        """A frame with a row per rule: texts, counts, every measure, and the extra columns."""
        import polars as pl

        flat = self.antecedents[self.antecedents >= 0]
        texts = pl.Series(self.texts, dtype=pl.String)
        owners = np.nonzero(self.antecedents >= 0)[0]
        grouped = (
            pl.DataFrame({"rule": owners, "item": texts.gather(flat)}, schema={"rule": pl.Int64, "item": pl.String})
            .group_by("rule", maintain_order=True)
            .agg("item")
        )
        everyone = pl.DataFrame({"rule": np.arange(len(self.rules))}, schema={"rule": pl.Int64})
        lists = everyone.join(grouped, on="rule", how="left", maintain_order="left")["item"]
        columns: dict[str, Any] = {
            "antecedents": lists.fill_null([]).cast(pl.List(pl.String)),
            "consequents": texts.gather(self.consequents),
            "pattern": pl.Series([*(text for text, _ in self.rules.patterns), None], dtype=pl.String).gather(
                self._pattern_numbers
            ),
        }
        if english:
            columns["english"] = pl.Series(list(self.english()), dtype=pl.String)
        columns |= {name: getattr(self.rules.counts, name) for name in COUNTS}
        columns |= {name: self.rules.measure(name) for name in MEASURES}
        columns |= {name: np.asarray(values) for name, values in self.rules.extras.items()}
        return pl.DataFrame(columns)


def counts_from(columns: dict[str, Any]) -> Counts:
    """Counts from lists or arrays by name."""
    return Counts(**{name: np.asarray(columns[name], dtype=np.int64) for name in COUNTS})


def json_number(value: float) -> float | None:
    """JSON knows neither NaN nor infinity: both are null."""
    return value if math.isfinite(value) else None
