"""An index of rules: filter, search, count choices, sort and page a million of them in milliseconds.

Words and names are looked up among the distinct items, of which there are few, and carried over to the rules with
integer columns. Sentences are made for a page only. Must not know requests, files or readings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from thence._base.display.plots import quantity
from thence.errors import ConfigError, PatternError, nearest
from thence.language.items import Feature
from thence.language.patterns import Pattern
from thence.show.explorer.cache import Cache
from thence.show.explorer.schema import Facet
from thence.statements.rules.bounds import is_within
from thence.statements.rules.measures import MEASURES
from thence.statements.rules.ruleset import RuleSet
from thence.statements.search import RuleTexts
from thence.statements.statement import FACETS, Features

_MOST = 2
"""Differences that a name lists."""


def name_patterns(patterns: Sequence[tuple[str, str]]) -> list[str]:
    """Return a name of each pattern, each different.

    Args:
        patterns: The text of each pattern, and its words, which may be empty.

    Examples:
        >>> flow = "(p:Pipe), (flow_p:flow)-[in]->(p)"
        >>> near = flow + " | near: -[connected]-(Node).level"
        >>> name_patterns([(flow, "for every Pipe p"), (near, "for every Pipe p")])
        ['for every Pipe p', 'for every Pipe p (near)']
        >>> name_patterns([("", ""), ("anything", "")])
        ['a pattern', 'anything']
    """
    parsed = [_parse(text) for text, _ in patterns]
    words = [
        place or (pattern.english if pattern else "") or text or "a pattern"
        for (text, place), pattern in zip(patterns, parsed, strict=True)
    ]
    out: list[str] = []
    taken = Counter(words)
    for number, word in enumerate(words):
        same = [parsed[at] for at, other in enumerate(words) if other == word]
        differences = [_listed(found) for found in _differences(parsed[number], same)] if len(same) > 1 else []
        name = next((f"{word} ({text})" for text in differences if text), word)
        free, at = name, 2
        while free in out or (free != word and taken[free]):
            free, at = f"{name} ({at})", at + 1
        out.append(free)
    return out


def _parse(text: str) -> Pattern | None:
    try:
        return Pattern.parse(text)
    except PatternError:
        return None


def _differences(own: Pattern | None, same: Sequence[Pattern | None]) -> list[list[str]]:
    """Neighbours, then kinds of sensors, that a pattern has and not every one with the same words."""
    if own is None:
        return []
    others = [pattern for pattern in same if pattern is not None]
    neighbours = [{role.name for role in pattern.roles} for pattern in others]
    kinds = [{sensor.kind for sensor in pattern.sensors} for pattern in others]
    roles = dict.fromkeys(role.name for role in own.roles)
    sensors = dict.fromkeys(sensor.kind.replace("_", " ") for sensor in own.sensors)
    shared = {kind.replace("_", " ") for kind in set.intersection(*kinds)}
    return [
        [name for name in roles if name not in set.intersection(*neighbours)],
        [kind for kind in sensors if kind not in shared],
    ]


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST
    return ", ".join(names[:_MOST]) + (f" and {more} more" if more > 0 else "")


Mask = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

SINGLE = ("pattern", "conclusion", "review")
"""Facets of which a finding has one choice."""
WHOLE_SYSTEM = "the whole system"
"""The pattern of rules that are not lifted."""
UNREVIEWED = "not reviewed"
"""The verdict of rules that nobody has reviewed."""
MOST_CHOICES = 200
"""Number of choices of a facet that are listed."""
_KEPT = 48
"""Number of masks that are remembered."""
_INT63 = 1 << 62
_SMALL = 1 << 22
_AT_ONCE = 1 << 13
"""Groups of rules whose choices are looked up at once."""


@dataclass(frozen=True, kw_only=True)
class RuleFilter:
    """Conditions on rules, all of which must hold.

    Args:
        words: Words or phrases, each of which some item of the rule or its place in words contains.
        kind: Kinds of sensors that the rule is about, all of them.
        cls: Classes of nodes that the rule is about, all of them.
        property: Properties that the rule is about, all of them.
        pattern: Patterns in words, one of which is that of the rule.
        conclusion: Quantities, one of which the rule concludes about.
        review: Verdicts, one of which the rule has: ``"accepted"``, ``"rejected"`` or ``"not reviewed"``.
        bounds: Bounds on measures, such as ``("min_lift", 2.0)``.
        node: The id of a node that the rule speaks of.

    Examples:
        >>> RuleFilter(kind=("flow",), bounds=(("min_confidence", 0.9),)).chosen("kind")
        ('flow',)
    """

    words: tuple[str, ...] = ()
    kind: tuple[str, ...] = ()
    cls: tuple[str, ...] = ()
    property: tuple[str, ...] = ()
    pattern: tuple[str, ...] = ()
    conclusion: tuple[str, ...] = ()
    review: tuple[str, ...] = ()
    bounds: tuple[tuple[str, float], ...] = ()
    node: str | None = None

    def without(self, facet: str) -> RuleFilter:
        """Return the same conditions without those of a facet.

        Args:
            facet: The name of the facet.
        """
        empty: dict[str, Any] = {"cls" if facet == "class" else facet: ()}
        return replace(self, **empty)

    def chosen(self, facet: str) -> tuple[str, ...]:
        """Return the choices of a facet.

        Args:
            facet: The name of the facet.
        """
        return tuple(getattr(self, "cls" if facet == "class" else facet))


@dataclass(eq=False)
class RuleIndex:
    """Columns of rules for quick answers.

    Rules that compare as equal stay in the order of the run. Masks of conditions are remembered, so that the next page
    and the next condition are cheap. May be used from several threads.

    Args:
        rules: The rules.
        entries: The positions of rules that are one finding; empty if each is one of its own.

    Examples:
        >>> import thence as th
        >>> rules = th.mine(th.datasets.load("toy"), windows="1h", bins=3, refine=None, progress="off").rules
        >>> index = RuleIndex(rules)
        >>> found = index.select(RuleFilter(bounds=(("min_confidence", 0.9),)))
        >>> int(found.sum()) == len(rules.filter(min_confidence=0.9))
        True
    """

    rules: RuleSet
    entries: Sequence[Sequence[int]] = ()
    _cache: Cache = field(default_factory=lambda: Cache(_KEPT), repr=False)

    def __len__(self) -> int:
        return len(self.rules)

    @cached_property
    def texts(self) -> RuleTexts:
        """The texts of the rules, for searching."""
        return RuleTexts(self.rules)

    @cached_property
    def _about(self) -> list[Features]:
        """What each of the distinct items is about."""
        return [Features.of([item.feature]) for item in self.rules.items]

    @cached_property
    def _quantities(self) -> list[str]:
        """What each item says something about, in words."""
        known: dict[Feature, str] = {}
        return [known.setdefault(item.feature, quantity(item.feature)) for item in self.rules.items]

    @cached_property
    def patterns(self) -> list[str]:
        """The name of each pattern in words; the last is that of none."""
        return [*name_patterns(self.rules.patterns), WHOLE_SYSTEM]

    @cached_property
    def _pattern_of(self) -> npt.NDArray[np.int32]:
        """The number of the pattern of each rule; that of none is the last one."""
        own = self.rules.pattern_of
        none = len(self.rules.patterns)
        return np.full(len(self), none, np.int32) if own is None else np.where(own < 0, none, own).astype(np.int32)

    def warm(self) -> None:
        """Prepare what the first request of each kind would otherwise wait for."""
        _ = self._groups, self._choices, self._conclusion_of, self.texts.items, self.texts.whole
        for measure in MEASURES.shown("page"):
            self.order(measure.name, descending=True)

    def select(
        self, wanted: RuleFilter, *, reviewed: Mapping[int, str] | None = None, about: Mask | None = None
    ) -> Mask:
        """Return which rules meet every condition.

        Args:
            wanted: The conditions.
            reviewed: The verdict of each rule that has one, by position.
            about: Which rules speak of the node of ``wanted``, if it names one.

        Raises:
            ConfigError: If a bound is on a measure that the rules do not have.
        """
        keep = np.ones(len(self), bool)
        for word in wanted.words:
            keep &= self._cache.get(("word", word), partial(self.texts.find, word))
        for facet in FACETS:
            for name in wanted.chosen(facet):
                keep &= self._cache.get((facet, name), partial(self._signed, facet, name))
        for facet in SINGLE:
            if chosen := wanted.chosen(facet):
                keep &= self._single(facet, chosen, reviewed)
        for name, bound in wanted.bounds:
            keep &= self._cache.get(("bound", name, bound), partial(self._within, name, bound))
        if wanted.node is not None:
            keep &= np.zeros(len(self), bool) if about is None else about
        return keep

    @cached_property
    def _entry_of(self) -> Ints:
        """The number of the finding of each rule."""
        own = np.zeros(len(self), np.int64)
        for number, entry in enumerate(self.entries):
            own[list(entry)] = number
        return own

    def fold(self, mask: Mask) -> Mask:
        """Return the first rule of each finding that has one among some rules.

        Args:
            mask: Which rules.
        """
        if not self.entries:
            return mask
        found = np.flatnonzero(mask)
        _, first = np.unique(self._entry_of[found], return_index=True)
        out = np.zeros(len(self), bool)
        out[found[first]] = True
        return out

    def _folded(self, mask: Mask) -> int:
        """How many findings have a rule among some."""
        return int(np.unique(self._entry_of[mask]).size) if self.entries else int(mask.sum())

    def variants(self, position: int, mask: Mask) -> list[int]:
        """Return the rules of a finding that are among some rules, in their order.

        Args:
            position: The position of one of them.
            mask: Which rules.
        """
        entry = self.entries[self._entry_of[position]] if self.entries else [position]
        return [at for at in entry if mask[at]]

    def positions(self, mask: Mask, *, sort: str = "", descending: bool = True) -> Ints:
        """Return the positions of the chosen rules in the order that is asked for.

        Args:
            mask: Which rules.
            sort: A measure or an extra column of numbers; an empty string keeps the order of the run.
            descending: Whether high values come first. Rules without a value come last either way.
        """
        if not sort:
            found = np.flatnonzero(mask)
            return found if descending else found[::-1]
        order = self.order(sort, descending=descending)
        return order[mask[order]]

    def order(self, sort: str, *, descending: bool) -> Ints:
        """Return all positions sorted by a measure.

        Args:
            sort: The measure.
            descending: Whether high values come first.

        Raises:
            ConfigError: If the rules have no such column of numbers.
        """
        return self._cache.get(("order", sort, descending), partial(self._sorted, sort, descending=descending))

    def counts(
        self, mask: Mask, wanted: RuleFilter, *, reviewed: Mapping[int, str] | None = None, about: Mask | None = None
    ) -> dict[str, Counter[str]]:
        """Return the choices of every facet with their numbers of findings.

        Of kinds, classes and properties a rule can have several, and a further choice narrows the rules: the numbers
        are those of the rules that remain. A class that every rule of the run has narrows nothing, and is listed only
        if it is chosen. Of the other facets a rule has one choice, and a further one widens: the numbers are those of
        the rules that meet all other conditions.

        Args:
            mask: The rules that meet all conditions.
            wanted: The conditions.
            reviewed: As in ``select``.
            about: As in ``select``.
        """
        out = {facet: self._signed_counts(facet, mask, wanted) for facet in FACETS}
        for facet in SINGLE:
            free = mask
            if wanted.chosen(facet):
                free = self.select(wanted.without(facet), reviewed=reviewed, about=about)
            out[facet] = self._single_counts(facet, free, reviewed)
        return out

    def rules_about(self, node: str, *, sensors: frozenset[str], patterns: frozenset[str]) -> Mask:
        """Return which rules speak of a node: by name, by a sensor there, or by a pattern that matches there.

        Args:
            node: The id of the node.
            sensors: The ids of its sensors.
            patterns: The texts of the patterns that match there.
        """
        hits = [node in one.places or not sensors.isdisjoint(one.sensors) for one in self._about]
        named = self.texts.carried(hits)
        matching = np.array([text in patterns for text, _ in self.rules.patterns] + [False])
        return np.asarray(named | matching[self._pattern_of])

    def _signed(self, facet: str, name: str) -> Mask:
        return self.texts.carried([name in about.named(facet) for about in self._about])

    def _single(self, facet: str, chosen: Sequence[str], reviewed: Mapping[int, str] | None) -> Mask:
        if facet == "review":
            return self._verdicts(chosen, reviewed or {})
        names, own = (
            (self.patterns, self._pattern_of) if facet == "pattern" else (self._conclusions, self._conclusion_of)
        )
        wanted = set(chosen)
        return np.array([name in wanted for name in names] or [False])[own]

    def _verdicts(self, chosen: Sequence[str], reviewed: Mapping[int, str]) -> Mask:
        out = np.full(len(self), UNREVIEWED in chosen)
        for position, verdict in reviewed.items():
            out[position] = (verdict or UNREVIEWED) in chosen
        return out

    def _within(self, name: str, bound: float) -> Mask:
        side, _, measure = name.partition("_")
        if side not in ("min", "max") or not measure:
            raise ConfigError(f"unknown filter '{name}'", hint="use min_<measure> or max_<measure>")
        if measure in MEASURES and measure not in self.rules.extras:
            return is_within(self.rules.counts, measure, bound, least=side == "min")
        values = self._numbers(measure)
        with np.errstate(invalid="ignore"):
            return np.asarray(values >= bound if side == "min" else values <= bound)

    def _numbers(self, name: str) -> npt.NDArray[np.float64]:
        """A measure or an extra column, if it holds numbers."""
        extras = {key for key, column in self.rules.extras.items() if np.asarray(column).dtype.kind in "biuf"}
        known = [*MEASURES, "antecedents", *sorted(extras)]
        if name not in known:
            hint = nearest(name, known) or "known: " + ", ".join(known)
            raise ConfigError(f"the rules have no measure '{name[:60]}'", hint=hint)
        return np.asarray(self.rules.measure(name), np.float64)

    def _sorted(self, name: str, *, descending: bool) -> Ints:
        values = self._numbers(name)
        # The sort is stable, and sorts NaN last.
        return np.argsort(-values if descending else values, kind="stable")

    @cached_property
    def _conclusions(self) -> list[str]:
        """The distinct quantities that rules conclude about."""
        used = np.unique(self.rules.consequents).tolist()
        return sorted({self._quantities[item] for item in used})

    @cached_property
    def _conclusion_of(self) -> npt.NDArray[np.int32]:
        at = {name: number for number, name in enumerate(self._conclusions)}
        own = np.array([at.get(name, 0) for name in self._quantities] or [0], np.int32)
        return own[self.rules.consequents]

    @cached_property
    def _signatures(self) -> tuple[npt.NDArray[np.int64], list[dict[str, frozenset[str]]]]:
        """Items that are about the same kinds, classes and properties have the same number; and what that is."""
        columns = [[about.named(facet) for about in self._about] for facet in FACETS]
        numbers: dict[tuple[tuple[str, ...], ...], int] = {}
        own = [numbers.setdefault(row, len(numbers)) for row in zip(*columns, strict=True)]
        about = [dict(zip(FACETS, map(frozenset, row), strict=True)) for row in numbers]
        return np.array(own, np.int64), about

    @cached_property
    def _groups(self) -> tuple[npt.NDArray[np.int64], Ints]:
        """Groups of rules whose items have the same signatures: the group of each rule, and the signatures of each."""
        own, about = self._signatures
        table = np.append(own, len(about))  # −1 has a signature of its own, which is about nothing
        rows = np.stack([table[column] for column in (*self.rules.antecedents.T, self.rules.consequents)], axis=1)
        rows.sort(axis=1)
        codes = np.zeros(len(self), np.int64)
        base, most = len(about) + 1, 1
        for column in rows.T:
            if most * base >= _INT63:
                known, codes = np.unique(codes, return_inverse=True)
                most = len(known)
            codes = codes * base + column
            most *= base
        if most <= _SMALL:  # a table of all codes is faster than sorting
            place = np.full(most, -1, np.int64)
            place[codes] = np.arange(len(codes))
            held = np.flatnonzero(place >= 0)
            number = np.zeros(most, np.int64)
            number[held] = np.arange(len(held))
            return number[codes], rows[place[held]]
        _, first, group = np.unique(codes, return_index=True, return_inverse=True)
        return group.reshape(-1), rows[first]

    @cached_property
    def _choices(self) -> dict[str, tuple[list[str], Ints, Ints]]:
        """Per facet: its names, and pairs of a name and a group that has it."""
        _, rows = self._groups
        _, about = self._signatures
        out = {}
        for facet in FACETS:
            names = sorted({name for signature in about for name in signature[facet]})
            has = np.zeros((len(about) + 1, len(names)), bool)
            at = {name: number for number, name in enumerate(names)}
            for number, signature in enumerate(about):
                has[number, [at[name] for name in signature[facet]]] = True
            pairs = [np.nonzero(has[rows[low : low + _AT_ONCE]].any(axis=1)) for low in range(0, len(rows), _AT_ONCE)]
            groups = [found[0] + number * _AT_ONCE for number, found in enumerate(pairs)]
            none = np.zeros(0, np.int64)
            out[facet] = (
                names,
                np.concatenate([none, *(found[1] for found in pairs)]),
                np.concatenate([none, *groups]),
            )
        return out

    def _signed_counts(self, facet: str, mask: Mask, wanted: RuleFilter) -> Counter[str]:
        group, rows = self._groups
        names, choices, groups = self._choices[facet]
        if self.entries:
            held = [mask & self._cache.get((facet, name), partial(self._signed, facet, name)) for name in names]
            counts = np.array([self._folded(each) for each in held], np.int64)
        else:
            sizes = np.bincount(group if mask.all() else group[mask], minlength=len(rows))
            counts = np.bincount(choices, weights=sizes[groups], minlength=len(names)).astype(np.int64)
        if facet == "class":
            counts[[at for at in self._common_classes if names[at] not in wanted.cls]] = 0
        return Counter(dict(zip(names, counts.tolist(), strict=True)))

    @cached_property
    def _common_classes(self) -> list[int]:
        """The classes that every rule has, by their numbers."""
        group, rows = self._groups
        names, choices, groups = self._choices["class"]
        sizes = np.bincount(group, minlength=len(rows))
        counts = np.bincount(choices, weights=sizes[groups], minlength=len(names))
        return [int(at) for at in np.flatnonzero(counts == len(self))]

    def _single_counts(self, facet: str, mask: Mask, reviewed: Mapping[int, str] | None) -> Counter[str]:
        if facet == "review":
            choices = ("accepted", "rejected", UNREVIEWED)
            said = {name: mask & self._verdicts((name,), reviewed or {}) for name in choices}
            return Counter({name: self._folded(held) for name, held in said.items()})
        names, own = (
            (self.patterns, self._pattern_of) if facet == "pattern" else (self._conclusions, self._conclusion_of)
        )
        if self.entries:
            return Counter({name: self._folded(mask & (own == at)) for at, name in enumerate(names)})
        counts = np.bincount(own if mask.all() else own[mask], minlength=len(names)).tolist()
        return Counter(dict(zip(names, counts, strict=True)))


def rank_choices(facet: Any, counts: Mapping[str, int], wanted: RuleFilter) -> Facet:
    """Return the choices of a facet that something has, the most frequent first; those that are chosen in any case.

    Args:
        facet: The name of the facet.
        counts: How many findings have each choice.
        wanted: The conditions.
    """
    chosen = wanted.chosen(facet)
    found = dict.fromkeys(chosen, 0) | {name: count for name, count in counts.items() if count or name in chosen}
    ranked = sorted(found.items(), key=lambda one: (one[0] not in chosen, -one[1], one[0]))
    listed = ranked[: max(MOST_CHOICES, len(chosen))]
    listed.sort(key=lambda one: (-one[1], one[0]))
    return {
        "name": facet,
        "choices": [{"name": name, "count": count} for name, count in listed],
        "more": len(ranked) - len(listed),
    }
