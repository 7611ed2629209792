"""Rules and rule sets: columns of item numbers with exact counts.

A ``RuleSet`` is what every miner returns. It holds integers (which items, how many rows) and computes each
measure from them when asked. It never looks at data: counts come from ``thence.statements.counting.recount``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from thence._base.display.plots import plot_rules
from thence._base.display.rules import format_measure, rule_html, rules_html, spread_text
from thence.errors import ConfigError, nearest, quote, require
from thence.language.english import format_number, format_rule
from thence.language.items import Item
from thence.language.short_text import short_items
from thence.statements.keys import Keys, hash_text, item_key_text, key_text
from thence.statements.rules.bounds import is_within
from thence.statements.rules.extra_columns import EXTRA_COLUMNS
from thence.statements.rules.families import describe_alike, group_families
from thence.statements.rules.measures import MEASURES, Counts, Measure
from thence.statements.rules.prediction import match_rules, predict_rows
from thence.statements.statement import (
    PLAIN,
    Data,
    Features,
    HeldCounts,
    Kind,
    SearchTexts,
    States,
    Trace,
    Words,
    item_texts,
)

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

Indices = npt.NDArray[np.int32]

ENOUGH_ROWS = 10
"""Number of rows in which a lifted rule must apply in a place for its confidence there to be shown."""

SUMMARY_MEASURES = {
    "mean_support": "support",
    "mean_rule_coverage": "rule_coverage",
    "mean_confidence": "confidence",
    "mean_zhang": "zhang",
}


class SearchStatus(StrEnum):
    """How the search for rules ended.

    ``COMPLETE``: it ran to its end. ``LIMIT``: it stopped at a limit on rules or time, so there may be more rules.
    ``INTERRUPTED``: it was interrupted and the rules are those found so far.

    Examples:
        >>> SearchStatus("limit") is SearchStatus.LIMIT
        True
    """

    COMPLETE = "complete"
    LIMIT = "limit"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Rule:
    """A set of items that implies one item, for the whole system or wherever a pattern matches the graph.

    Args:
        antecedent: The items on the left; order and repetitions do not matter.
        consequent: The item on the right; of several, the one that joins them (``Item.all_of``).
        pattern: The pattern of a lifted rule, as text; empty for rules about the whole system.
        place: The pattern in words, for the sentence of the rule.
        both_ways: Whether the rule also holds in the other direction, for the sentence of the rule.
        counts: How often it applied and held, if it was counted.
        source: Where a rule comes from that was known before; empty for rules that were found.
        named: Its pattern in words and the names of places that are known of it, for searching.
        counted: Its counts as a row of ``Counts``, from which every measure is an attribute: ``rule.lift``.

    Examples:
        >>> from thence.language.items import Feature, Interval
        >>> a, b = Feature("a"), Feature("b")
        >>> rule = Rule((Item.among(a, Interval(1, 2)),), Item.compare(b, ">=", 5.0))
        >>> str(rule)
        '(a).value ∈ [1.0, 2.0) → (b).value ≥ 5.0'
        >>> rule.english
        'if a is 1–2, then b is at least 5'
        >>> rule.key == Rule((*rule.antecedent, *rule.antecedent), rule.consequent).key
        True
    """

    antecedent: tuple[Item, ...]
    consequent: Item
    pattern: str = ""
    place: str = field(default="", compare=False)
    both_ways: bool = field(default=False, compare=False)
    counts: HeldCounts = field(default=HeldCounts(), compare=False)
    source: str = field(default="", compare=False)
    named: tuple[str, ...] = field(default=(), compare=False)
    counted: Counts | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "antecedent", tuple(sorted(set(self.antecedent))))

    def __getattr__(self, name: str) -> float:
        """Return a measure of the rule: ``rule.confidence``, ``rule.lift`` and every other one of ``MEASURES``.

        Examples:
            >>> import polars as pl, thence as th
            >>> table = th.TransactionTable.from_frame(pl.DataFrame({"a": ["x", "x", "y"], "b": ["u", "u", "v"]}))
            >>> rule = th.Exact().mine(table)[0]
            >>> rule.confidence, rule.lift
            (1.0, 1.5)
        """
        if name.startswith("_") or name not in MEASURES:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if self.counted is None:
            raise ConfigError(
                f"'{name}' is not known, since the rule was not counted", hint="count it: rules of a run are counted"
            )
        return float(MEASURES[name](self.counted)[0])

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *MEASURES})

    def __str__(self) -> str:
        text = f"{' ∧ '.join(map(str, self.antecedent))} → {self.consequent}"
        return f"{self.pattern} ⊢ {text}" if self.pattern else text

    @property
    def english(self) -> str:
        """The rule as a sentence."""
        return format_rule(self.antecedent, self.consequent, self.place, both_ways=self.both_ways)

    def __repr__(self) -> str:
        return f"Rule({self.english!r})"

    def _repr_html_(self) -> str:
        return rule_html(self)

    @property
    def key(self) -> str:
        """What identifies the rule: 16 hexadecimal digits that depend on its items and its pattern only."""
        total = sum(hash_text("if", item_key_text(item)) for item in self.antecedent)
        return key_text(total + hash_text("then", item_key_text(self.consequent)) + hash_text("in", self.pattern))

    @property
    def kind(self) -> Kind:
        """``"rule"``."""
        return "rule"

    @property
    def about(self) -> Features:
        """What its items are about."""
        return Features.of(one for item in (*self.antecedent, self.consequent) for one in item.feature.parts)

    @property
    def search_texts(self) -> SearchTexts:
        """The texts of its items, its place in words, and the names of places that are known of it."""
        left = map(item_texts, self.antecedent)
        return SearchTexts.of(left, [item_texts(self.consequent)], [*(self.named or [self.place]), self.source])

    def sentence(self, words: Words = PLAIN) -> str:
        """Return the rule as a sentence.

        Args:
            words: How to write it.
        """
        if not words.counts:
            return self.english
        return f"{self.english} (in {self.counts.holds:,} of {self.counts.applies:,} rows)"

    def check(self, data: Data) -> States:
        """Return the state of the rule at each place in each window; of many rules, ``th.apply`` is quicker.

        Args:
            data: The data.
        """
        return data.rule_states(self)

    def traces(self, data: Data, place: str = "") -> tuple[Trace, ...]:
        """Return the readings that the rule is about at a place.

        Args:
            data: The data.
            place: The name of the place; empty for a rule about the whole system.
        """
        return data.traces(data.rule_sensors(self, place))

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as a dict that JSON can hold."""
        out: dict[str, Any] = {
            "kind": self.kind,
            "key": self.key,
            "antecedent": [item.to_dict() for item in self.antecedent],
            "consequent": self.consequent.to_dict(),
            "counts": self.counts.to_dict(),
        }
        optional = {name: getattr(self, name) for name in ("pattern", "place", "both_ways", "source")}
        return out | {name: value for name, value in optional.items() if value}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Rule:
        """Build a rule from the dict that ``to_dict`` returns.

        Args:
            data: The dict.
        """
        return Rule(
            tuple(Item.from_dict(item) for item in data["antecedent"]),
            Item.from_dict(data["consequent"]),
            data.get("pattern", ""),
            data.get("place", ""),
            data.get("both_ways", False),
            counts=HeldCounts(**data.get("counts", {})),
            source=data.get("source", ""),
        )


@dataclass(frozen=True, eq=False)
class RuleSet:
    """Rules with exact counts, as columns.

    Every column has one entry per rule; this is checked, whoever builds the set.

    Args:
        items: The distinct items of the rules.
        antecedents: Positions in ``items``, one row per rule; −1 fills short antecedents.
        consequents: Positions in ``items``.
        counts: The counts of each rule.
        patterns: The distinct patterns of lifted rules, each as text and in words.
        pattern_of: Positions in ``patterns``, −1 for none; ``None`` if no rule is lifted.
        extras: Further columns, such as the probability that an autoencoder gave or the supports of lifted rules.
        facts: What is known of the table that the rules were counted on.
        notes: What the miner and later steps have to say about the result.
        coverage_of: Computes the share of rows covered by some rules, while the table is in memory.
        ending: How the search ended.
        ordered: Whether the rules are in an order that ``top`` keeps.
        grouped: Whether rules about the same quantities are shown together, as in a digest.

    Raises:
        ValueError: If a column has another number of entries than there are rules, or a position is not in ``items`` or
            ``patterns``.

    Examples:
        >>> from thence.language.items import Feature
        >>> items = (Item.is_(Feature("tap"), "open"), Item.is_(Feature("fan"), "on"))
        >>> counts = Counts.from_matrix([[10, 4, 5, 3]])
        >>> rules = RuleSet(items, np.array([[0]]), np.array([1]), counts)
        >>> len(rules), rules.measure("confidence").tolist()
        (1, [0.75])
        >>> print(rules)
        1 rule
          1. if tap is open, then fan is on  [confidence 0.750 (3 of 4 rows; 0.500 overall), support 0.300, Zhang 0.556]
    """

    items: tuple[Item, ...]
    antecedents: Indices
    consequents: Indices
    counts: Counts
    patterns: tuple[tuple[str, str], ...] = ()
    pattern_of: Indices | None = None
    extras: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    coverage_of: Callable[[RuleSet], float] | None = field(default=None, repr=False, compare=False)
    ending: SearchStatus = SearchStatus.COMPLETE
    ordered: bool = False
    grouped: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "antecedents", np.asarray(self.antecedents, dtype=np.int32))
        object.__setattr__(self, "consequents", np.asarray(self.consequents, dtype=np.int32))
        if self.antecedents.ndim != 2 or self.consequents.ndim != 1:
            raise ValueError("antecedents must be a matrix (rules × items), and consequents a list")
        columns: dict[str, Any] = {"antecedents": self.antecedents, "counts": self.counts}
        if self.pattern_of is not None:
            columns["pattern_of"] = self.pattern_of
        for name, column in {**columns, **self.extras}.items():
            size = np.shape(column)[:1] if name in self.extras or name == "pattern_of" else (len(column),)
            if size != (len(self),):
                stated = f"{size[0]:,} entries" if size else "a single value"
                raise ValueError(f"the column '{name}' has {stated} for {len(self):,} rules")
        _require_positions("antecedents", self.antecedents, -1, len(self.items))
        _require_positions("consequents", self.consequents, 0, len(self.items))
        if self.pattern_of is not None:
            _require_positions("pattern_of", self.pattern_of, -1, len(self.patterns))

    @staticmethod
    def empty(*notes: str, facts: Mapping[str, Any] | None = None) -> RuleSet:
        """Return a rule set without rules.

        Args:
            *notes: Why there are no rules.
            facts: What is known of the table.
        """
        none = np.zeros(0, np.int64)
        return RuleSet(
            (),
            np.zeros((0, 1), np.int32),
            np.zeros(0, np.int32),
            Counts(none, none, none, none),
            facts=facts or {},
            notes=notes,
        )

    @staticmethod
    def from_rules(rules: Iterable[Rule], counts: Counts, **fields: Any) -> RuleSet:
        """Build a rule set from rule objects; meant for small sets.

        Args:
            rules: The rules.
            counts: Their counts, in the same order.
            **fields: Further fields of the rule set.
        """
        listed = list(rules)
        numbers: dict[Item, int] = {}
        patterns: dict[tuple[str, str], int] = {}
        width = max((len(rule.antecedent) for rule in listed), default=1)
        antecedents = np.full((len(listed), max(width, 1)), -1, np.int32)
        consequents = np.empty(len(listed), np.int32)
        pattern_of = np.full(len(listed), -1, np.int32)
        for r, rule in enumerate(listed):
            for k, item in enumerate(rule.antecedent):
                antecedents[r, k] = numbers.setdefault(item, len(numbers))
            consequents[r] = numbers.setdefault(rule.consequent, len(numbers))
            if rule.pattern:
                pattern_of[r] = patterns.setdefault((rule.pattern, rule.place), len(patterns))
        return RuleSet(
            tuple(numbers),
            antecedents,
            consequents,
            counts,
            tuple(patterns),
            pattern_of if patterns else None,
            **fields,
        )

    @staticmethod
    def concat(parts: Sequence[RuleSet]) -> RuleSet:
        """Concatenate rule sets; extra columns that some lack are filled with NaN.

        Args:
            parts: The rule sets.
        """
        ending = max((part.ending for part in parts), key=list(SearchStatus).index, default=SearchStatus.COMPLETE)
        parts = [part for part in parts if len(part)] or list(parts[:1])
        if len(parts) <= 1:
            return replace(parts[0], ending=ending) if parts else RuleSet.empty()
        numbers: dict[Item, int] = {}
        patterns: dict[tuple[str, str], int] = {}
        width = max(part.antecedents.shape[1] for part in parts)
        antecedents, consequents, pattern_of = [], [], []
        names = list(dict.fromkeys(name for part in parts for name in part.extras))
        for part in parts:
            remap = np.array([numbers.setdefault(i, len(numbers)) for i in part.items] + [-1], np.int32)
            places = [patterns.setdefault(p, len(patterns)) for p in part.patterns]
            wide = np.full((len(part), width), -1, np.int32)
            wide[:, : part.antecedents.shape[1]] = remap[part.antecedents]
            antecedents.append(wide)
            consequents.append(remap[part.consequents])
            own = part.pattern_of if part.pattern_of is not None else np.full(len(part), -1, np.int32)
            pattern_of.append(np.array([*places, -1], np.int32)[own])
        extras = {name: np.concatenate([p.extras.get(name, np.full(len(p), np.nan)) for p in parts]) for name in names}
        return RuleSet(
            tuple(numbers),
            np.concatenate(antecedents),
            np.concatenate(consequents),
            Counts.concatenate(part.counts for part in parts),
            tuple(patterns),
            np.concatenate(pattern_of) if patterns else None,
            extras,
            {key: value for key, value in parts[0].facts.items() if key != "data_coverage"},
            tuple(dict.fromkeys(note for part in parts for note in part.notes)),
            parts[0].coverage_of,
            ending,
        )

    def __len__(self) -> int:
        return len(self.consequents)

    def __iter__(self) -> Iterator[Rule]:
        for r in range(len(self)):
            yield self.rule(r)

    def __getitem__(self, chosen: int | slice | npt.NDArray[Any]) -> RuleSet | Rule:
        if isinstance(chosen, (int, np.integer)):
            return self.rule(range(len(self))[int(chosen)])
        return self.take(np.arange(len(self))[chosen])

    def rule(self, number: int) -> Rule:
        """Return one rule as an object.

        Args:
            number: The position of the rule.
        """
        at = -1 if self.pattern_of is None else int(self.pattern_of[number])
        pattern, place = self.patterns[at] if at >= 0 else ("", "")
        antecedent = tuple(self.items[i] for i in self.antecedents[number] if i >= 0)
        both_ways = "both_ways" in self.extras and bool(self.extras["both_ways"][number])
        named = (place, *(self._text(column, number) for column in NAMED if column in self.extras))
        if place and "places" in self.extras and self.extras["places"][number] == 1:
            place = self._single(place, number)
        later = self._confirmed(number)
        counts = HeldCounts(int(self.counts.n_antecedent[number]), int(self.counts.n_both[number]), *later)
        source = str(self.extras["name"][number]) if "name" in self.extras else ""
        return Rule(
            antecedent,
            self.items[self.consequents[number]],
            pattern,
            place,
            both_ways,
            counts,
            source,
            named,
            self.counts[number : number + 1],
        )

    def _confirmed(self, number: int) -> tuple[int, int, int] | tuple[()]:
        """Rows, rows in which the rule held, and occasions in the time that was not searched, if that is known."""
        if "confirmed_rows" not in self.extras:
            return ()
        rows, occasions = (int(self.extras[name][number]) for name in ("confirmed_rows", "confirmed_occasions"))
        return rows, round(float(self.extras["confirmed_confidence"][number]) * rows) if rows else 0, occasions

    def _text(self, column: str, number: int) -> str:
        text = str(self.extras[column][number])
        return "" if text == "nan" else text

    @cached_property
    def keys(self) -> Keys:
        """The keys of all rules as integers; each item is hashed once, so that a million rules take little time.

        Examples:
            >>> import thence as th
            >>> rules = th.mine(th.datasets.load("toy"), windows="1h", bins=3, progress="off", confirm=False).rules
            >>> [key_text(key) for key in rules.keys] == [rule.key for rule in rules]
            True
        """
        texts = [item_key_text(item) for item in self.items]
        # Position −1, which fills short antecedents, adds nothing.
        left = np.array([*(hash_text("if", text) for text in texts), 0], np.uint64)
        right = np.array([hash_text("then", text) for text in texts], np.uint64)
        patterns = np.array([*(hash_text("in", text) for text, _ in self.patterns), hash_text("in", "")], np.uint64)
        rows = np.sort(self.antecedents, axis=1)
        rows[:, 1:][rows[:, 1:] == rows[:, :-1]] = -1  # a repeated item counts once
        own = np.full(len(self), -1, np.int32) if self.pattern_of is None else self.pattern_of
        # Sums of unsigned integers wrap around, which is what they should do here.
        total = left[rows].sum(axis=1, dtype=np.uint64) + patterns[own]
        return np.asarray(total + right[self.consequents], np.uint64)

    def _single(self, place: str, number: int) -> str:
        """The place of a rule that applies at one place only, with its name if that is known."""
        named = str(self.extras["where"][number]) if "where" in self.extras else ""
        alone = place.startswith("for every ") and " where " not in place and named not in ("", "nan")
        return place.replace("for every ", "for one ", 1) + (f" ({named})" if alone else "")

    def take(self, chosen: npt.NDArray[Any]) -> RuleSet:
        """Return the rules at some positions, in that order.

        Args:
            chosen: An index array or a mask.
        """
        facts = {key: value for key, value in self.facts.items() if key != "data_coverage"}
        return replace(
            self,
            antecedents=self.antecedents[chosen],
            consequents=self.consequents[chosen],
            counts=self.counts[chosen],
            pattern_of=None if self.pattern_of is None else self.pattern_of[chosen],
            extras={name: column[chosen] for name, column in self.extras.items()},
            facts=facts,
        )

    def measure(self, name: str) -> npt.NDArray[np.float64]:
        """Return a measure or an extra column of every rule.

        Args:
            name: The name of the measure or column.
        """
        if name in self.extras:
            return np.asarray(self.extras[name])
        if name == "antecedents":
            return np.asarray((self.antecedents >= 0).sum(axis=1), dtype=np.float64)
        if name not in MEASURES:
            known = [*MEASURES, *self.extras, "antecedents"]
            raise ConfigError(f"unknown measure '{name}'", hint=nearest(name, known) or "known: " + ", ".join(known))
        return MEASURES[name](self.counts)

    def filter(
        self,
        *,
        feature: str | None = None,
        kind: str | None = None,
        antecedent: str | None = None,
        consequent: str | None = None,
        where: Callable[[Rule], bool] | None = None,
        bounds: Mapping[str, float] | None = None,
        **more_bounds: float,
    ) -> RuleSet:
        """Return the rules that meet every condition.

        Bounds are inclusive. A bound on a measure is decided exactly, in integers, and means the decimal number that
        was written (0.4 is 2/5). A bound on an extra column, which is a float, is decided in floating point.

        Args:
            feature: Keep rules with this text in some item.
            kind: Keep rules about this kind of sensor or class of node.
            antecedent: Keep rules with this text in an item of the antecedent.
            consequent: Keep rules with this text in the consequent.
            where: Keep rules for which this function returns true.
            bounds: Bounds as a mapping, such as ``{"min_lift": 2}``.
            **more_bounds: Bounds as keywords: ``min_<measure>`` and ``max_<measure>`` for any measure or column.
        """
        keep = np.ones(len(self), bool)
        for name, bound in {**(bounds or {}), **more_bounds}.items():
            side, _, measure = name.partition("_")
            if side not in ("min", "max") or not measure:
                raise ConfigError(f"unknown filter {quote(name)}", hint="use min_<measure> or max_<measure>")
            if bound != bound:
                raise ConfigError(f"'{name}' must be a number, got nan")
            if measure in MEASURES and measure not in self.extras:
                keep &= is_within(self.counts, measure, bound, least=side == "min")
                continue
            values = self.measure(measure)
            with np.errstate(invalid="ignore"):
                keep &= (values >= bound) if side == "min" else (values <= bound)
        for text, sides in ((feature, "both"), (antecedent, "antecedent"), (consequent, "consequent")):
            if text is not None:
                keep &= self._mentions([text.lower() in str(item).lower() for item in self.items], sides)
        if kind is not None:
            keep &= self._mentions([_is_about(item, kind) for item in self.items], "both")
        chosen = np.flatnonzero(keep)
        if where is not None:
            chosen = np.array([r for r in chosen if where(self.rule(int(r)))], dtype=np.int64)
        return self.take(chosen)

    def _mentions(self, hits: Sequence[bool], side: str) -> npt.NDArray[np.bool_]:
        flags = np.array([*hits, False], bool)
        left = flags[self.antecedents].any(axis=1)
        right = flags[self.consequents]
        return np.asarray(left if side == "antecedent" else right if side == "consequent" else left | right)

    @cached_property
    def _item_order(self) -> list[int]:
        """Positions of the items in the order of their keys."""
        return sorted(range(len(self.items)), key=lambda i: self.items[i].key)

    @cached_property
    def _item_rank(self) -> npt.NDArray[np.int64]:
        """The rank of each item in that order; position −1, which fills short antecedents, has rank −1."""
        rank = np.empty(len(self.items) + 1, np.int64)
        rank[self._item_order] = np.arange(len(self.items))
        rank[-1] = -1
        return rank

    @cached_property
    def _tie_break(self) -> npt.NDArray[np.int64]:
        """Ranks of the rules by their items in order, so that sorting does not depend on how they were found."""
        rank = self._item_rank
        keys = [rank[self.consequents], *np.sort(rank[self.antecedents], axis=1).T]
        out = np.empty(len(self), np.int64)
        out[np.lexsort(keys[::-1])] = np.arange(len(self))
        return out

    def sort(self, by: str | Sequence[str] = "zhang", *, descending: bool | None = None) -> RuleSet:
        """Return the rules sorted by one or more measures, the best first; rules without a value come last.

        High values are better, except for p-values and spreads. Ties are broken by the items of the rules, so the order
        does not depend on how the rules were found.

        Args:
            by: One or more measures or extra columns.
            descending: Force descending or ascending order.
        """
        keys = []
        for name in [by] if isinstance(by, str) else by:
            lower = name in EXTRA_COLUMNS and EXTRA_COLUMNS[name].lower_is_better
            down = not lower if descending is None else descending
            keys.append((-1.0 if down else 1.0) * np.nan_to_num(self.measure(name), nan=-np.inf if down else np.inf))
        return replace(self.take(np.lexsort([self._tie_break, *keys[::-1]])), ordered=True, grouped=False)

    def top(self, k: int, *, by: str | Sequence[str] | None = None) -> RuleSet:
        """Return the best rules; of equal ones those with higher support.

        Args:
            k: How many rules.
            by: One or more measures. By default the order of rules that are sorted, such as those of ``sort`` and of a
                run, is kept, and others are sorted by Zhang's metric.
        """
        if k < 0:
            raise ConfigError(f"the number of rules must be at least 0, got {k}")
        if by is None and self.ordered:
            return self.take(np.arange(min(k, len(self))))
        names = ["zhang"] if by is None else [by] if isinstance(by, str) else list(by)
        return self.sort([*names, "support"]).take(np.arange(min(k, len(self))))

    @cached_property
    def _index(self) -> dict[Rule, int]:
        return {rule: r for r, rule in enumerate(self)}

    def __contains__(self, rule: object) -> bool:
        return rule in self._index

    def union(self, other: RuleSet) -> RuleSet:
        """Return the rules of either set, once each, with the counts of the first set that has the rule.

        Args:
            other: The other rule set.
        """
        return RuleSet.concat([self, other - self])

    def __or__(self, other: RuleSet) -> RuleSet:
        return self.union(other)

    def __and__(self, other: RuleSet) -> RuleSet:
        return self.take(np.array([rule in other for rule in self], bool))

    def __sub__(self, other: RuleSet) -> RuleSet:
        return self.take(np.array([rule not in other for rule in self], bool))

    def unique(self) -> RuleSet:
        """Return the rules without duplicates, keeping the first of each."""
        return self.take(np.fromiter(sorted(self._first_positions.values()), np.int64))

    @property
    def _first_positions(self) -> dict[Rule, int]:
        first: dict[Rule, int] = {}
        for r, rule in enumerate(self):
            first.setdefault(rule, r)
        return first

    @property
    def data_coverage(self) -> float | None:
        """The share of rows in which at least one antecedent holds; ``None`` if the table is not in memory."""
        if "data_coverage" in self.facts:
            stated = self.facts["data_coverage"]
            return None if stated is None else float(stated)
        if len(self) == 0:
            return 0.0
        return self.coverage_of(self) if self.coverage_of is not None else None

    def describe(self) -> dict[str, Any]:
        """Return the number of rules, the means of their main measures, and the share of the data they cover."""
        out: dict[str, Any] = {"rules": len(self)}
        for name, measure in SUMMARY_MEASURES.items():
            values = self.measure(measure)
            values = values[~np.isnan(values)]  # a rule that never applied has no confidence
            out[name] = float(values.mean()) if len(values) else None
        out["data_coverage"] = self.data_coverage
        for name in ("n_transactions", "n_features", "n_items"):
            out[name] = self.facts.get(name)
        return out

    def to_polars(self, *, english: bool = True) -> pl.DataFrame:
        """A frame with a row per rule: exact text, English, counts, every measure and the extra columns.

        Args:
            english: Whether to add the sentence of each rule, the slowest column by far.
        """
        import polars as pl

        texts = pl.Series([str(self.items[i]) for i in self._item_order], dtype=pl.String)
        rank = self._item_rank
        antecedents = np.sort(rank[self.antecedents], axis=1)
        filled = antecedents >= 0
        own = np.full(len(self), -1) if self.pattern_of is None else self.pattern_of
        patterns = pl.Series([*(text for text, _ in self.patterns), None], dtype=pl.String)
        lists = (
            pl.DataFrame({"rule": np.nonzero(filled)[0], "item": texts.gather(antecedents[filled])})
            .group_by("rule", maintain_order=True)
            .agg("item")
        )
        everyone = pl.DataFrame({"rule": np.arange(len(self), dtype=np.int64)})
        columns: dict[str, Any] = {
            "antecedents": everyone.join(lists, on="rule", how="left", maintain_order="left")["item"].fill_null([]),
            "consequents": texts.gather(rank[self.consequents]),
            "pattern": patterns.gather(np.where(own < 0, len(self.patterns), own)),
        }
        if english:
            columns["english"] = pl.Series([rule.english for rule in self], dtype=pl.String)
        columns |= {name: getattr(self.counts, name) for name in COUNT_FIELDS}
        columns |= {name: self.measure(name) for name in MEASURES}
        for name, values in self.extras.items():
            # Texts are objects; without a row polars could not know that, and a table of objects cannot be written.
            texts_only = not len(self) and np.asarray(values).dtype == object
            columns[name] = pl.Series([], dtype=pl.String) if texts_only else np.asarray(values)
        return pl.DataFrame(columns)

    def to_pandas(self, *, exact: bool = False) -> pd.DataFrame:
        """Return a pandas frame with the columns of mlxtend's ``association_rules``, then the extra columns.

        Items are sets of text as people write it (``shape = flat``, ``4.5 ≤ petal length < 5``).

        Args:
            exact: Give items in their exact form, which ``Item.parse`` reads.

        Raises:
            MissingExtraError: If pandas is not installed.
        """
        pandas = require("pandas", extra="pandas")
        parts = list(dict.fromkeys(part for item in self.items for part in item.parts))
        texts = dict(zip(parts, map(str, parts) if exact else short_items(parts), strict=True))
        sets = [frozenset(texts[part] for part in item.parts) for item in self.items]
        frame: dict[str, Any] = {
            "antecedents": [frozenset().union(*(sets[i] for i in row if i >= 0)) for row in self.antecedents],
            "consequents": [sets[i] for i in self.consequents],
        }
        frame |= {theirs: self.measure(ours) for theirs, ours in MLXTEND_COLUMNS.items()}
        frame |= dict(self.extras)
        return cast("pd.DataFrame", pandas.DataFrame(frame))

    def applies(self, frame: Any) -> npt.NDArray[np.bool_]:
        """Return which rules apply to which rows of a data frame: whose antecedent holds there.

        Items are evaluated on the columns as they are: in any order, beside any others, and however states are written
        (``1``, ``1.0``, ``"1"`` and ``True`` are one state). A missing value satisfies no item.

        Args:
            frame: A polars or pandas data frame, or an Arrow table, with the columns that the antecedents test.

        Returns:
            A matrix (rows × rules) of truth values.

        Raises:
            InputError: If the frame lacks a column, or a column of numbers holds other text.
            ConfigError: If a rule is not about columns of a frame: it is lifted, or about ranks or changes.
        """
        return match_rules(self, frame)

    def predict(self, frame: Any, *, target: str | None = None, default: Any = None) -> npt.NDArray[Any]:
        """Return, for each row of a data frame, what the best rule that applies concludes.

        The best rule has the highest Laplace accuracy ``(n_both + 1) / (n_antecedent + k)``, where ``k`` is the number
        of values that the rules conclude, then the highest support, then the fewest items.

        Args:
            frame: A polars or pandas data frame, or an Arrow table, with the columns that the antecedents test.
            target: The column to predict, if the rules conclude about several.
            default: The value of rows to which no rule applies.

        Returns:
            The values, one per row. A conclusion that is a range of numbers is given as an ``Interval``.

        Raises:
            InputError: If the frame lacks a column, or a column of numbers holds other text.
            ConfigError: If the rules conclude about several columns, or none about ``target``.

        Examples:
            >>> import polars as pl, thence as th
            >>> frame = pl.DataFrame({"level": [1.0, 2.0, 3.0, 4.0] * 9, "pump": ["on", "on", "off", "off"] * 9})
            >>> rules = th.mine(frame, target="pump", progress="off", confirm=False).rules
            >>> rules.predict(pl.DataFrame({"level": [0.5, 3.5, None]})).tolist()
            ['on', 'off', None]
        """
        return predict_rows(self, frame, target=target, default=default)

    def also_known_as(self, number: int) -> tuple[str, ...]:
        """Return further sentences that state the same fact as a rule of a digest.

        Args:
            number: The position of the rule.
        """
        text = str(self.extras["also_known_as"][number]) if "also_known_as" in self.extras else ""
        return tuple(text.split("\n")) if text and text != "nan" else ()

    def places_text(self, number: int) -> str:
        """Return in how many of the places where it applies a lifted rule holds, and where it does not.

        A rule holds in a place if its confidence there reaches the minimum confidence. The text is empty for a rule
        that is not lifted, has not been counted by place (``refine`` does), or applies often enough in one place only.

        Args:
            number: The position of the rule.

        Examples:
            >>> from thence.language.items import Feature
            >>> items = (Item.is_(Feature("p"), "on"), Item.is_(Feature("f"), "high"))
            >>> extras = {"places": np.array([58]), "places_judged": np.array([58]), "places_held": np.array([57])}
            >>> extras["except"] = np.array(["PU-12 (31 %)"])
            >>> counts = Counts.from_matrix([[900, 400, 420, 390]])
            >>> RuleSet(items, np.array([[0]]), np.array([1]), counts, extras=extras).places_text(0)
            'holds in 57 of the 58 places where it applies; not at PU-12 (31 %)'
        """
        if "places_judged" not in self.extras:
            return ""
        judged, held = (float(self.extras[name][number]) for name in ("places_judged", "places_held"))
        if not judged > 1:  # NaN for a rule that is not lifted
            return ""
        every = "places" not in self.extras or judged == float(self.extras["places"][number])
        where = "where it applies" if every else f"where it applies at least {ENOUGH_ROWS} times"
        if held == judged:
            return f"holds in all {int(judged):,} places {where}"
        failing = str(self.extras["except"][number]) if "except" in self.extras else ""
        named = f"; not at {failing}" if failing not in ("", "nan") else ""
        return f"holds in {int(held):,} of the {int(judged):,} places {where}{named}"

    def measures_text(self, number: int) -> str:
        """Return the main measures of a rule in words.

        The confidence is followed by its counts and the share of all rows in which the consequent holds, the support of
        a lifted rule by the share of frames and of places in which the rule holds at least once. If it is known in
        which places the rule fails, this comes last.

        Args:
            number: The position of the rule.
        """
        one = self.take(np.array([number]))
        if one.counts.n_antecedent[0] == 0:
            return "never applied"

        def value(name: str) -> str:
            return format_measure(float(one.measure(name)[0]))

        back = ""
        if "both_ways" in one.extras and one.extras["both_ways"][0]:
            share = int(one.counts.n_both[0]) / int(one.counts.n_consequent[0])
            back = f", vice versa {format_measure(share)}"
        spread = named = ""
        stated = False
        if "support_time" in one.extras:
            times, places = (float(one.extras[name][0]) for name in ("support_time", "support_embeddings"))
            named = str(one.extras["where"][0]) if "where" in one.extras else ""
            stated = self.rule(number).place.endswith(f" ({named})")  # the sentence begins with it
            named = f": {named}" if named not in ("", "nan") and not stated else ""
            spread = f" ({spread_text(times, places)}{named})"
        kept = one.places_text(0)
        # A few places that are named already need not be counted again.
        kept = f"; {kept}" if kept and not ((named or stated) and kept.startswith("holds in all")) else ""
        rest = [f"{each.label} {value(each.name)}" for each in self.shown_measures if each.name != "support"]
        counts = f"{int(one.counts.n_both[0]):,} of {int(one.counts.n_antecedent[0]):,} rows"
        return (
            f"confidence {value('confidence')} ({counts}; {value('consequent_support')} overall){back}, "
            f"support {value('support')}{spread}{''.join(f', {text}' for text in rest)}{kept}"
        )

    @property
    def shown_measures(self) -> list[Measure]:
        """The measures that lists and notebooks show after the confidence."""
        return [each for each in MEASURES.shown("text") if each.name != "confidence"]

    @property
    def entries(self) -> list[list[int]]:
        """The positions of rules shown together: of a digest, rules about the same quantities; else each alone.

        Examples:
            >>> import thence as th
            >>> rules = th.mine(th.datasets.load("toy"), windows="1h", bins=3, progress="off", confirm=False).rules
            >>> sum(map(len, rules.entries)) == len(rules)
            True
        """
        return group_families(self) if self.grouped else [[number] for number in range(len(self))]

    def likewise(self, entry: Sequence[int]) -> list[str]:
        """Return what the further rules of an entry say, each with its confidence, in as few lines as possible.

        A rule that differs from the first one in its values only is shown by these.

        Args:
            entry: The positions of rules that are shown together, one of ``entries``.
        """
        return describe_alike([self.rule(r) for r in entry], self.take(np.array(entry)).measure("confidence"))

    def lines(self, limit: int | None = None) -> list[str]:
        """Return numbered sentences with the main measures; rules of a digest that belong together follow each other.

        Args:
            limit: At most this many rules; all by default.
        """
        shown = len(self) if limit is None else min(limit, len(self))
        width = len(str(shown))
        out = []
        for entry in self.take(np.arange(shown)).entries:
            first = entry[0]
            out.append(f"{first + 1:>{width + 2}}. {self.rule(first).english}  [{self.measures_text(first)}]")
            out += [f"{'':>{width + 4}}likewise: {text}" for text in self.likewise(entry)]
        return out

    def __str__(self) -> str:
        noun = "rule" if len(self) == 1 else "rules"
        lines = [f"{len(self):,} {noun}", *self.lines(20)]
        if len(self) > 20:
            lines.append(f"  … and {format_number(len(self) - 20)} more")
        lines += [f"  ({note})" for note in self.notes]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"RuleSet({len(self):,} rule{'' if len(self) == 1 else 's'})"

    def _repr_html_(self) -> str:
        return rules_html(self)

    def plot(self, kind: str = "scatter") -> Any:
        """Draw the rules as an Altair chart, which a notebook shows and ``chart.save("rules.svg")`` writes.

        Args:
            kind: ``"scatter"`` for support and confidence of each rule, coloured by Zhang's metric; ``"coverage"`` for
                the share of rows that the first rules cover, while the table is in memory; ``"matrix"`` for the
                number of rules from each quantity to each other.

        Raises:
            ConfigError: If there is no such chart, or the rules cannot be drawn in it.
            MissingExtraError: If the extra ``plots`` is not installed.

        Examples:
            >>> import thence as th
            >>> rules = th.mine(th.datasets.load("toy"), windows="1h", bins=3, progress="off", confirm=False).rules
            >>> chart = rules.plot("matrix")
            >>> type(chart).__name__
            'LayerChart'
        """
        return plot_rules(self, kind)


NAMED = ("where", "except")
"""Extra columns with the names of places."""
COUNT_FIELDS = ("n_rows", "n", "n_antecedent", "n_consequent", "n_both")

MLXTEND_COLUMNS = {
    "antecedent support": "rule_coverage",
    "consequent support": "consequent_support",
    "support": "support",
    "confidence": "confidence",
    "lift": "lift",
    "representativity": "representativity",
    "leverage": "leverage",
    "conviction": "conviction",
    "zhangs_metric": "zhang",
    "jaccard": "jaccard",
    "certainty": "certainty",
    "kulczynski": "kulczynski",
}


def _require_positions(name: str, positions: Indices, low: int, end: int) -> None:
    """Raise unless positions are at least ``low`` and below ``end``."""
    if positions.size and not low <= int(positions.min()) <= int(positions.max()) < end:
        raise ValueError(f"a position in '{name}' is outside of {low} to {end - 1}")


def _is_about(item: Item, kind: str) -> bool:
    feature = item.feature
    return kind in (feature.label, feature.name) or any(_is_about(inner, kind) for inner in feature.where)
