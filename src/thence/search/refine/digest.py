"""The digest: the few rules that a person should read first, each fact once.

A rule explains the readings that its consequent is about, in the rows in which it holds. It is worth the information
that it gives about them: little if the consequent is nearly always true, much if it is rare and the rule is reliable.
Rules are selected greedily, the one that explains most that is not explained yet comes next, so that rules about the
same readings compete, whichever pattern they come from, and every quantity gets its turn.

A law of one system can be written in several patterns: of each pipe and the junction that it starts at, of each
junction and the pipe that starts there, or of both as variables. Two rules state the same fact if, place by place,
their antecedents hold in the same frames and their consequents are the same test of the same series. This module
selects and orders rules; it counts none.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from thence._base.progress import Progress, silent
from thence._base.settings.threads import default_threads
from thence.errors import ConfigError
from thence.language.items import Item, Role
from thence.language.time_names import Tense
from thence.search.refine.encoding import EncodedRules, encode_rules
from thence.statements.rules.families import family_keys, is_aggregate
from thence.statements.rules.ruleset import RuleSet
from thence.tables.bitmaps.bits import (
    Bools,
    Floats,
    Indices,
    Ints,
    Words,
    as_kernel_array,
    kernel,
    run_threads,
    split_range,
)
from thence.tables.blocks import Block, Column
from thence.tables.transactions import TransactionTable

Hashes = npt.NDArray[np.uint64]

_CHUNK = 1 << 22
_PRIME = np.uint64(0x9E3779B97F4A7C15)


def fact_numbers(parts: list[EncodedRules], n_rules: int) -> tuple[Hashes, Hashes]:
    """Return two numbers per rule: of the fact that it states, and of the fact that its converse states.

    Rules state the same fact if and only if their numbers are equal (up to collisions of 64-bit hashes, whose
    probability is below 10⁻⁷ for a million rules). The number of the converse is 0 for rules that have none: those with
    several items in the antecedent.

    Args:
        parts: The rules, encoded block by block.
        n_rules: Number of rules in the rule set.
    """
    facts, converses = np.zeros(n_rules, np.uint64), np.zeros(n_rules, np.uint64)
    for encoded in parts:
        for rules, pairs in _hash_parts(encoded):
            facts[rules] = _sum_distinct(pairs[0])
            converses[rules] = _sum_distinct(pairs[1])
        several = (encoded.antecedents >= 0).sum(axis=1) != 1
        converses[encoded.rules[several]] = 0
    return facts, converses


def _hash_parts(encoded: EncodedRules) -> Iterator[tuple[npt.NDArray[np.int64], Hashes]]:
    """Yield some of the rules at a time, with their hashes (2 × rules × embeddings)."""
    bank = encoded.bank
    words, row_of = as_kernel_array(bank.words, np.uint64), as_kernel_array(bank.row_of, np.int32)
    hashes = _hash_rows(words)
    step = max(1, _CHUNK // max(1, bank.n_embeddings))
    for first in range(0, len(encoded.rules), step):
        part = slice(first, first + step)
        left = as_kernel_array(encoded.numbers[encoded.antecedents[part]], np.int32)
        right = as_kernel_array(encoded.numbers[encoded.consequents[part]], np.int32)
        pairs = np.zeros((2, len(right), bank.n_embeddings), np.uint64)
        run_threads(
            partial(_hash_span, words, row_of, hashes, left, right, pairs),
            split_range(len(right), default_threads() * 4, least=16),
        )
        yield encoded.rules[part], pairs


def _sum_distinct(pairs: Hashes) -> Hashes:
    """Return the sum of the distinct hashes of each row: the order and number of places do not matter."""
    pairs = np.sort(pairs, axis=1)
    pairs[:, 1:][pairs[:, 1:] == pairs[:, :-1]] = 0
    return np.asarray(pairs.sum(axis=1, dtype=np.uint64))


def _hash_span(
    words: Words,
    row_of: Indices,
    hashes: Hashes,
    left: Indices,
    right: Indices,
    out: Hashes,
    span: tuple[int, int],
) -> None:
    _hash_pairs(words, row_of, hashes, left, right, *span, out)


@kernel
def _hash_rows(words: Words) -> Hashes:
    """Return a hash per bitmap; that of an empty bitmap is 0."""
    out = np.zeros(words.shape[0], np.uint64)
    for row in range(words.shape[0]):
        state = np.uint64(0)
        for word in range(words.shape[1]):
            if words[row, word] != 0:
                mixed = (words[row, word] + np.uint64(word + 1) * _PRIME) * np.uint64(0xBF58476D1CE4E5B9)
                state += (mixed ^ (mixed >> np.uint64(29))) * _PRIME
        out[row] = state
    return out


@kernel
def _hash_pairs(
    words: Words,
    row_of: Indices,
    hashes: Hashes,
    left: Indices,
    right: Indices,
    first: int,
    last: int,
    out: Hashes,
) -> None:
    """Hash antecedent and consequent of each rule in each embedding, 0 where the antecedent never holds."""
    width = left.shape[1]
    for rule in range(first, last):
        length = 0
        while length < width and left[rule, length] >= 0:
            length += 1
        for embedding in range(row_of.shape[1]):
            held = np.uint64(0)
            if length == 1:
                held = hashes[row_of[left[rule, 0], embedding]]
            else:
                for word in range(words.shape[1]):
                    value = words[1, word]
                    for place in range(length):
                        value &= words[row_of[left[rule, place], embedding], word]
                    if value != 0:
                        mixed = (value + np.uint64(word + 1) * _PRIME) * np.uint64(0xBF58476D1CE4E5B9)
                        held += (mixed ^ (mixed >> np.uint64(29))) * _PRIME
            then = hashes[row_of[right[rule], embedding]]
            if held != 0 and then != 0:
                one = (held ^ (held >> np.uint64(31))) * _PRIME + then
                two = (then ^ (then >> np.uint64(31))) * _PRIME + held
                out[0, rule, embedding] = (one ^ (one >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                out[1, rule, embedding] = (two ^ (two >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)


Rows = npt.NDArray[np.int32]

LEAST_INFORMATION = 0.15
"""In bits per row in which the antecedent holds."""
MOST_FREQUENT = 2 / 3
"""A consequent that holds in a larger share of the rows anyway is not worth a rule."""
LEAST_GAIN = 0.001
"""A rule must add this share of what the rules before it explain."""
MOST_ALIKE = 5
"""Rules about the same features that are listed; more of them would only repeat the law at other values."""
MOST_OTHERS = 5
"""Sentences for the same fact that are kept."""
SAME_SERIES = 0.9
"""Rules of two patterns are about the same if they read the same series at this share of the places."""
FEW_PLACES = 3
"""A rule that applies in fewer places than this counts less, if its pattern has more of them."""
FEW_CONTEXTS = 5
"""A rule with a property in its antecedent must apply in this many places: of a few places there is nearly always a
property that distinguishes them from the others."""
AGGREGATE_WORTH = 0.25
"""What an aggregate over several sensors counts, since it mostly repeats what holds for each of them."""
_CACHED_WORDS = 1 << 15  # words of bitmaps that are looked at at a time
_CANDIDATES = 20_000
_PER_CONSEQUENT = 200


def digest(
    rules: RuleSet,
    table: TransactionTable,
    *,
    at_most: int = 50,
    min_confidence: float = 0.0,
    converses: bool = True,
    progress: Progress = silent,
) -> RuleSet:
    """Select the rules to read first: informative, each fact once, in an order to be read in.

    Rules whose consequent is nearly always true are left out. Of rules that state the same fact in different patterns
    the shortest sentence stays, and the column ``also_known_as`` lists the others, one per line. A rule that also holds
    in the other direction is listed once, and the column ``both_ways`` says so. The column ``where`` names the places
    of a lifted rule that applies in one to three of many. The rules that remain are selected greedily by the
    information about readings that no earlier rule explains, and of rules that consist of the same items one. First
    comes the best rule about each set of features, then further rules about the same ones.

    Args:
        rules: The rules to select from.
        table: The table that the rules were mined from.
        at_most: Maximum number of rules.
        min_confidence: Minimum confidence of the other direction for ``both_ways``.
        converses: Whether to mention the other direction at all; ``False`` if only some consequents are of interest.
        progress: Callback that reports progress.

    Raises:
        ConfigError: If ``at_most`` is below 1.

    Examples:
        >>> import polars as pl
        >>> from thence.search.exact.miner import Exact
        >>> frame = pl.DataFrame({"pump": ["on", "off"] * 10, "flow": [7.0, 0.0] * 10, "site": ["a"] * 20})
        >>> table = TransactionTable.from_frame(frame, bins=2)
        >>> for rule in digest(Exact().mine(table), table, min_confidence=0.8):
        ...     print(rule.english)
        if flow is 7, then pump is on, and vice versa
    """
    if at_most < 1:
        raise ConfigError(f"a digest needs at least 1 rule, got {at_most!r}")
    confidence, bits = rules.measure("confidence"), information(rules)
    length = rules.measure("antecedents")
    with np.errstate(invalid="ignore", divide="ignore"):
        worth = np.where(confidence > 0, bits / confidence, 0.0) / (1 + 0.5 * (length - 1))
    rare_enough = rules.measure("consequent_support") <= MOST_FREQUENT
    informative = np.flatnonzero((bits >= LEAST_INFORMATION) & rare_enough)
    if not len(informative):
        return _empty(rules)
    chosen = informative[_candidates(rules, informative, worth)]
    rules, worth = rules.take(chosen), worth[chosen]
    parts = encode_rules(rules, table)
    worth = worth * _trust_in_places(rules, parts)
    both_ways = _both_ways(rules, parts, min_confidence) if converses else np.zeros(len(rules), bool)
    leader, alike = _same_facts(rules, parts, both_ways)
    cells = _ExplainedCells(parts, both_ways)
    order = _select(rules, cells, worth, np.flatnonzero(leader == np.arange(len(rules))), at_most, progress)
    others = [_others(rules, int(r), alike) for r in order]
    selected = rules.take(order)
    extras = {**selected.extras, "both_ways": both_ways[order], "also_known_as": np.array(others, dtype=np.str_)}
    if "places" in extras:
        extras["where"] = np.array([_names_of_places(*cells.part_of[int(r)]) for r in order], dtype=np.str_)
    return replace(selected, extras=extras, ordered=True, grouped=True)


def information(rules: RuleSet) -> Floats:
    """Return how much each antecedent says about the consequent, in bits per row in which it holds.

    It is the Kullback–Leibler divergence of the confidence from the base rate, as in the J-measure; 0 for rules whose
    consequent is not more frequent than without the antecedent.

    Args:
        rules: The rules.

    Examples:
        >>> from thence.language.items import Feature, Item
        >>> from thence.statements.rules.measures import Counts
        >>> from thence.statements.rules.ruleset import Rule
        >>> rule = Rule((Item.is_(Feature("door"), "open"),), Item.is_(Feature("light"), "on"))
        >>> information(RuleSet.from_rules([rule], Counts.from_matrix([[8, 2, 2, 2]]))).tolist()
        [2.0]
    """
    counts = rules.counts
    with np.errstate(invalid="ignore", divide="ignore"):
        base = np.asarray(counts.n_consequent / counts.n, np.float64)
        confidence = rules.measure("confidence")
        held = np.where(confidence > 0, confidence * np.log2(confidence / base), 0.0)
        failed = np.where(confidence < 1, (1 - confidence) * np.log2((1 - confidence) / (1 - base)), 0.0)
        return np.asarray(np.where(confidence > base, np.nan_to_num(held + failed), 0.0))


def _empty(rules: RuleSet) -> RuleSet:
    none = rules.take(np.zeros(0, np.int64))
    extras = {"both_ways": np.zeros(0, bool), "also_known_as": np.zeros(0, np.str_), "where": np.zeros(0, np.str_)}
    none = replace(none, extras={**none.extras, **extras}, ordered=True, grouped=True)
    if not len(rules):
        return none
    note = (
        f"no rule is worth reading first: the consequents of all {len(rules):,} are nearly as frequent without the"
        " antecedent"
    )
    return replace(none, notes=(*rules.notes, note))


def _candidates(rules: RuleSet, informative: Ints, worth: Floats) -> Ints:
    """The positions of the rules that can be selected: the best of each consequent, if there are very many."""
    if len(informative) <= _CANDIDATES:
        return np.arange(len(informative))
    gain = (rules.counts.n_both * worth)[informative]
    consequents = rules.consequents[informative]
    order = np.lexsort((-gain, consequents))
    ordered = consequents[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    rank = np.arange(len(order)) - np.repeat(starts, np.diff(np.r_[starts, len(order)]))
    best = order[rank < _PER_CONSEQUENT]
    return np.sort(best[np.argsort(-gain[best], kind="stable")[:_CANDIDATES]])


def _trust_in_places(rules: RuleSet, parts: list[EncodedRules]) -> Floats:
    """Return a factor from 0 to 1: lower for rules that apply in few of many places."""
    out = np.ones(len(rules))
    if "places" not in rules.extras:
        return out
    places = np.asarray(rules.extras["places"], np.float64)
    for encoded in parts:
        enough = min(FEW_PLACES, encoded.block.n_embeddings)
        out[encoded.rules] = np.minimum(places[encoded.rules] / enough, 1.0)
        static = np.append(encoded.static, False)  # padding
        in_context = static[encoded.antecedents].any(axis=1)
        several = np.append([is_aggregate(encoded.block.columns[c].feature) for c in encoded.column], False)
        of_several = several[encoded.antecedents].any(axis=1) | several[encoded.consequents]
        out[encoded.rules[of_several & (places[encoded.rules] < enough)]] = 0.0
        out[encoded.rules[in_context & (places[encoded.rules] < FEW_CONTEXTS)]] = 0.0
    return out


def _both_ways(rules: RuleSet, parts: list[EncodedRules], min_confidence: float) -> Bools:
    """Which rules hold in the other direction too: their confidence is n_both / n_consequent of the same counts."""
    counts = rules.counts
    with np.errstate(invalid="ignore", divide="ignore"):
        back = np.asarray(counts.n_both / counts.n_consequent)
    out = (rules.measure("antecedents") == 1) & (back >= max(min_confidence, 0.5))
    for encoded in parts:
        reading = np.array([not c.context and c.feature.role is not Role.TIME for c in encoded.block.columns], bool)
        reading &= ~np.array([c.is_static for c in encoded.block.columns], bool)
        # What was is never a conclusion, and what will be is never given.
        tenses = [None if c.feature.time is None else c.feature.time.tense for c in encoded.block.columns]
        reading &= np.array([tense is not Tense.PAST for tense in tenses], bool)
        future = np.array([tense is Tense.FUTURE for tense in tenses], bool)
        out[encoded.rules] &= reading[encoded.column[encoded.antecedents[:, 0]]]
        out[encoded.rules] &= ~future[encoded.column[encoded.consequents]]
    return np.asarray(out)


def _same_facts(rules: RuleSet, parts: list[EncodedRules], both_ways: Bools) -> tuple[Ints, dict[int, list[int]]]:
    """Return the rule that stands for the fact of each rule, and all rules of each fact that has several."""
    facts, converses = fact_numbers(parts, len(rules))
    # Of a rule that holds both ways, either direction is the same fact.
    either = np.minimum(facts, converses)
    joined = {fact: one for r in np.flatnonzero(both_ways) for one in [either[r]] for fact in (facts[r], converses[r])}
    number = np.array([joined.get(fact, fact) for fact in facts], np.uint64)
    _, group = np.unique(number, return_inverse=True)
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(group[order]) > 0])
    leader = np.arange(len(rules))
    alike: dict[int, list[int]] = {}
    for start, end in zip(starts, np.r_[starts[1:], len(order)], strict=True):
        if end - start > 1:
            members = order[start:end].tolist()
            # Most differ in the number of items; sentences are long to make.
            simple = [(not both_ways[r], *_complexity(rules, r)) for r in members]
            least = min(simple)
            ties = [r for r, one in zip(members, simple, strict=True) if one == least]
            shortest = min(ties, key=lambda r: _length(rules, r)) if len(ties) > 1 else ties[0]
            leader[members] = shortest
            alike[shortest] = members
    return leader, alike


def _length(rules: RuleSet, number: int) -> tuple[int, int, int, bool, str]:
    """The order of sentences for the same fact: short ones first, and a conclusion about one sensor before others.

    "In its highest fifth" says which way things go, and comes before a range in between.
    """
    sentence, consequent = rules.rule(number).english, rules.items[rules.consequents[number]]
    return *_complexity(rules, number), len(sentence), is_aggregate(consequent.feature), sentence


def _complexity(rules: RuleSet, number: int) -> tuple[int, int]:
    """The number of items in the antecedent, and of ranges in between."""
    items = [rules.items[i] for i in rules.antecedents[number] if i >= 0]
    return len(items), sum(_is_between(item) for item in (*items, rules.items[rules.consequents[number]]))


def _is_between(item: Item) -> bool:
    """Whether an item is about a range of ranks that neither begins nor ends with all others."""
    interval = item.interval if item.feature.relative else None
    return interval is not None and interval.low > 0 and interval.high < 1


def _others(rules: RuleSet, number: int, alike: dict[int, list[int]]) -> str:
    """The sentences of a fact in other patterns, or about other features of a plain table, one per line."""
    if number not in alike:
        return ""

    def about(rule: int) -> object:
        if rules.pattern_of is not None:
            return int(rules.pattern_of[rule])
        return frozenset(rules.items[i].feature for i in (*rules.antecedents[rule], rules.consequents[rule]) if i >= 0)

    shortest: dict[object, int] = {about(number): number}
    for rule in sorted(alike[number], key=lambda r: _length(rules, r)):
        shortest.setdefault(about(rule), rule)
    # Patterns that differ in what they leave open read alike.
    own = replace(rules.rule(number), both_ways=False).english
    others = [text for text in dict.fromkeys(rules.rule(r).english for r in shortest.values()) if text != own]
    return "\n".join(others[:MOST_OTHERS])


def _names_of_places(encoded: EncodedRules, at: int) -> str:
    """The names of the places in which a rule applies, if there are few; each is named by its nodes."""
    block, bank = encoded.block, encoded.bank
    items = encoded.numbers[[int(i) for i in encoded.antecedents[at] if i >= 0]]
    known = bank.present_of[encoded.column[encoded.consequents[at]]]
    rows = np.concatenate([bank.row_of[items], known[None, :]])
    held = [
        place
        for place in np.flatnonzero((rows != 0).all(axis=0)).tolist()
        if np.bitwise_and.reduce(bank.words[rows[:, place]], axis=0).any()
    ]
    if block.pattern is None or not 0 < len(held) <= FEW_PLACES or len(held) == block.n_embeddings:
        return ""
    nodes = len(block.pattern.nodes)
    return ", ".join(" – ".join(block.embeddings[place][:nodes]) for place in held)


class _ExplainedCells:
    """The readings that rules explain: one bitmap over frames per series.

    Args:
        parts: The rules, encoded block by block.
        both_ways: Whether each rule explains the readings of its antecedent too.
    """

    def __init__(self, parts: list[EncodedRules], both_ways: Bools) -> None:
        self.part_of = {int(rule): (encoded, at) for encoded in parts for at, rule in enumerate(encoded.rules.tolist())}
        self.both_ways = both_ways
        self._numbers: dict[object, int] = {}
        self._digests: dict[tuple[int, int], bytes] = {}
        self._series: dict[tuple[int, int], Ints] = {}
        self._orders: dict[tuple[int, int], tuple[Ints, Ints, Ints]] = {}
        width = max((encoded.bank.words.shape[1] for encoded in parts), default=1)
        self._explained = np.zeros((0, width), np.uint64)  # by the number of the series

    def new(self, rule: int, *, take: bool = False, alone: bool = False) -> float:
        """Count the readings that a rule explains and no earlier one does; one of an aggregate counts less.

        Args:
            rule: The rule.
            take: Whether the readings become explained.
            alone: Whether to count also what earlier rules explain.
        """
        encoded, at = self.part_of[rule]
        bank = encoded.bank
        items = [int(i) for i in encoded.antecedents[at] if i >= 0] + [int(encoded.consequents[at])]
        rows = bank.row_of[encoded.numbers[items]]
        known = (rows != 0).all(axis=0)
        sides = [items[-1], items[0]] if self.both_ways[rule] else [items[-1]]
        total = 0.0
        for item in sides:
            column = int(encoded.column[item])
            worth = AGGREGATE_WORTH if is_aggregate(encoded.block.columns[column].feature) else 1.0
            places, series, starts = self._places_of(encoded, column)
            self._make_room()
            if not known.all():
                places, series, starts = _by_series(places[known[places]], series[known[places]])
            total += worth * self._count_new(bank.words, rows[:, places], series, starts, take=take, alone=alone)
        return total

    def _count_new(self, words: Hashes, rows: Rows, series: Ints, starts: Ints, *, take: bool, alone: bool) -> int:
        """Count what is new in the series of some places, given in the order of the series.

        A few places are looked at at a time, so that their bitmaps stay in the cache of a processor.
        """
        ends, width = np.append(starts[1:], len(series)), words.shape[1]

        def count(groups: tuple[int, int]) -> int:
            chosen = slice(*groups)
            low = starts[chosen][0]
            part = rows[:, low : ends[chosen][-1]]
            held = words[part[0]]
            for row in part[1:]:
                held &= words[row]
            joined = held if len(held) == len(starts[chosen]) else np.bitwise_or.reduceat(held, starts[chosen] - low)
            numbers = series[starts[chosen]]
            added = joined if alone else joined & ~self._explained[numbers, :width]
            if take:
                self._explained[numbers, :width] |= joined
            return int(np.bitwise_count(added).sum(dtype=np.int64))

        return sum(run_threads(count, split_range(len(starts), -(-len(series) * width // _CACHED_WORDS))))

    def _make_room(self) -> None:
        """Make a bitmap for each series that has a number."""
        missing = len(self._numbers) - len(self._explained)
        if missing > 0:
            more = np.zeros((missing, self._explained.shape[1]), np.uint64)
            self._explained = np.concatenate([self._explained, more])

    def readings_of(self, rule: int) -> Hashes:
        """Return the distinct sets of series that the features of a rule read, one hash per place."""
        encoded, at = self.part_of[rule]
        items = [int(i) for i in encoded.antecedents[at] if i >= 0] + [int(encoded.consequents[at])]
        series = np.sort([self._series_of(encoded, int(encoded.column[item])) for item in items], axis=0)
        mixed = np.zeros(series.shape[1], np.uint64)
        with np.errstate(over="ignore"):
            for row in series.astype(np.uint64):
                mixed = (mixed ^ row) * _PRIME + (row << np.uint64(7))
        return np.unique(mixed)

    def _places_of(self, encoded: EncodedRules, column: int) -> tuple[Ints, Ints, Ints]:
        """The embeddings in the order of the series that they read in a column, these, and where each series starts."""
        key = (encoded.at, column)
        if key not in self._orders:
            series = self._series_of(encoded, column)
            order = np.argsort(series, kind="stable")
            self._orders[key] = _by_series(order, series[order])
        return self._orders[key]

    def _series_of(self, encoded: EncodedRules, column: int) -> Ints:
        """The number of the series that each embedding reads in a column, the same in all blocks."""
        key = (encoded.at, column)
        if key not in self._series:
            names = self._names(encoded.block, encoded.block.columns[column])
            self._series[key] = np.array([self._numbers.setdefault(name, len(self._numbers)) for name in names])
        return self._series[key]

    def _names(self, block: Block, column: Column) -> Iterable[object]:
        feature = column.feature
        if is_aggregate(feature):
            # Total, mean, lowest and highest of the same sensors are listed once.
            return [(feature.reads, names[:1]) for names in block.embeddings]
        series = np.broadcast_to(column.series, (block.n_embeddings,)).tolist()
        return [self._digest(column, one) for one in series]

    def _digest(self, column: Column, series: int) -> bytes:
        key = (id(column.codes), series)
        if key not in self._digests:
            codes = b"" if series < 0 else np.ascontiguousarray(column.codes[series]).tobytes()
            self._digests[key] = blake2b(codes, digest_size=16).digest()
        return self._digests[key]


def _by_series(places: Ints, series: Ints) -> tuple[Ints, Ints, Ints]:
    """Places in the order of their series, these series, and where each of them starts."""
    changes = np.ones(len(series), bool)
    changes[1:] = series[1:] != series[:-1]
    return places, series, np.flatnonzero(changes)


def _select(
    rules: RuleSet, cells: _ExplainedCells, worth: Floats, candidates: Ints, at_most: int, progress: Progress
) -> Ints:
    """Select rules greedily; return them in the order in which they should be read.

    What a rule adds can only shrink, so what it added earlier is an upper bound and only the best one is recomputed.
    """
    sides = np.where(cells.both_ways, 2.0, 1.0)
    bound = rules.counts.n_both * worth * sides
    tie = rules._tie_break
    heap = [(-float(bound[r]), int(tie[r]), int(r)) for r in candidates]
    heapq.heapify(heap)
    features = family_keys(rules)
    taken: defaultdict[object, int] = defaultdict(int)
    said: dict[tuple[object, ...], int] = {}
    held = np.stack([rules.counts.n, rules.counts.n_antecedent, rules.counts.n_consequent], axis=1)
    sets: set[object] = set()
    about: dict[object, Hashes | None] = {}
    together: set[frozenset[str]] = set()
    found: list[tuple[int, float]] = []
    total = 0.0
    while heap and len(found) < at_most:
        _, _, rule = heapq.heappop(heap)
        n, left, right = (int(count) for count in held[rule])
        # "Off if and only if 0" says that it is on if and only if it is not 0.
        complements = [(features[rule], n, n - left, n - right), (features[rule], n, n - right, n - left)]
        listed = next((said[one] for one in complements if one in said), None) if cells.both_ways[rule] else None
        if listed is not None and _length(rules, rule) < _length(rules, found[listed][0]):
            found[listed] = (rule, found[listed][1])
        if taken[features[rule]] >= MOST_ALIKE or listed is not None or _key(rules, rule) in sets:
            continue
        gain = cells.new(rule) * float(worth[rule])
        if heap and -gain > heap[0][0]:
            if gain > 0:
                heapq.heappush(heap, (-gain, int(tie[rule]), rule))
            continue
        if gain <= LEAST_GAIN * total or gain == 0:
            break
        several, kinds = _kinds(rules, rule)
        if not _is_new(rule, features, cells, about) or (several and kinds in together):
            continue
        if cells.both_ways[rule] and not several:
            together.add(kinds)
        cells.new(rule, take=True)
        if cells.both_ways[rule]:
            said[features[rule], n, left, right] = len(found)
        total += gain
        sets.add(_key(rules, rule))
        found.append((rule, cells.new(rule, alone=True) * float(worth[rule])))
        taken[features[rule]] += 1
        progress("selecting", len(found), at_most)
    progress("selecting", at_most, at_most)
    return _reading_order(rules, found, features)


def _kinds(rules: RuleSet, rule: int) -> tuple[bool, frozenset[str]]:
    """Whether all of a rule is about several of the same sensors at once, and the kinds of sensor that it is about.

    Where the flow of each link is 0 if and only if its status is, the mean flow of some links is, too.
    """
    sides = [rules.items[i].feature for i in (*rules.antecedents[rule], rules.consequents[rule]) if i >= 0]
    groups = {feature.name.partition(" of ")[2] for feature in sides}
    several = len(groups) == 1 and all(map(is_aggregate, sides))
    single = len(sides) == 2 and not any(feature.name for feature in sides)
    return several, frozenset(feature.label for feature in sides) if several or single else frozenset()


def _is_new(rule: int, features: Sequence[object], cells: _ExplainedCells, about: dict[object, Hashes | None]) -> bool:
    """Whether no rule of another pattern was listed about the same series; what each rule is about is remembered.

    "The pressure of the Node it ends at" of a Link and "the pressure of j" where a Pipe ends at j are the same series.
    """
    if features[rule] not in about:
        own = cells.readings_of(rule)
        listed = [others for others in about.values() if others is not None]
        common = (len(np.intersect1d(own, one, assume_unique=True)) / min(len(own), len(one)) for one in listed)
        about[features[rule]] = None if any(share >= SAME_SERIES for share in common) else own
    return about[features[rule]] is not None


def _key(rules: RuleSet, rule: int) -> tuple[int, frozenset[int]]:
    """The pattern and the items of a rule: the same items in another direction say little more."""
    pattern = -1 if rules.pattern_of is None else int(rules.pattern_of[rule])
    return pattern, frozenset([int(rules.consequents[rule]), *(int(i) for i in rules.antecedents[rule] if i >= 0)])


def _reading_order(rules: RuleSet, found: list[tuple[int, float]], features: Sequence[object]) -> Ints:
    """Order rules by what each explains alone, the first about each set of features before all further ones.

    Of those about the same features, simple sentences come first: "in its highest fifth" before a range in between.
    """
    about: defaultdict[object, list[tuple[int, float]]] = defaultdict(list)
    for rule, merit in found:
        about[features[rule]].append((rule, merit))
    turns: list[tuple[int, float, int]] = []
    for alike in about.values():
        best = max(merit for _, merit in alike)
        ordered = sorted((rule for rule, _ in alike), key=lambda r: _length(rules, r))
        turns += [(turn, -best, rule) for turn, rule in enumerate(ordered)]
    return np.array([rule for _, _, rule in sorted(turns)], np.int64)
