"""Redundant rules: trivial ones, mirror images, rules that a more general one makes superfluous, and superfluous items.

Each step is a function from rules to fewer rules, and works on integer arrays, so that a million rules take seconds. A
rule is compared with its simpler versions, with the same consequent and fewer antecedent items, which are all counted,
whether or not a miner proposed them. The rules that cover the data are selected in ``thence.search.refine.cover``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import numpy.typing as npt

from thence._base.settings.threads import default_threads
from thence.data.graph.ontology import Ontology
from thence.language.items import Aspect, Feature, Item, Operator
from thence.language.patterns import Pattern
from thence.search.refine.encoding import EncodedRules, encode_rules, factorize_rows
from thence.statements.counting.recount import count_rules
from thence.statements.rules.bounds import as_fraction, is_within
from thence.statements.rules.measures import MEASURES, Counts
from thence.statements.rules.ruleset import RuleSet
from thence.tables.admissibility import trivial_columns
from thence.tables.bitmaps.bits import (
    Bools,
    Floats,
    Indices,
    Integer,
    Ints,
    as_kernel_array,
    helper,
    kernel,
    run_threads,
    split_range,
)
from thence.tables.transactions import TransactionTable


def drop_trivia(rules: RuleSet, table: TransactionTable, *, ontology: Ontology | None = None) -> RuleSet:
    """Drop rules that are true for reasons unrelated to the readings.

    A rule is trivial if

    - its consequent holds in every row in which it is known,
    - its consequent is about the same feature as an antecedent item,
    - two of its statements overlap by construction (aggregates of the same sensors, existential statements with more
      and with fewer conditions), or
    - its consequent follows from the ontology: a class from a subclass, from a property that only this class has, or
      from the domain or range of a relation.

    Args:
        rules: The rules.
        table: The table that the rules were mined from.
        ontology: Classes, relations and properties; without it the last condition is not checked.

    Examples:
        >>> import polars as pl
        >>> from thence.statements.counting.recount import recount
        >>> frame = pl.DataFrame({"a": ["x", "x", "y"], "b": ["u", "u", "v"], "c": ["k", "k", "k"]})
        >>> table = TransactionTable.from_frame(frame)
        >>> len(drop_trivia(recount(np.array([[0], [0]]), np.array([2, 4]), table), table))
        1
    """
    keep = np.ones(len(rules), bool)
    for encoded in encode_rules(rules, table):
        constant = np.array([column.is_constant for column in encoded.block.columns], bool)[encoded.column]
        counts = rules.counts[encoded.rules]
        trivial = constant[encoded.consequents] | (counts.n_consequent == counts.n)
        column = np.append(encoded.column, np.int32(-1))  # that of padding
        trivial |= (column[encoded.antecedents] == column[encoded.consequents][:, None]).any(axis=1)
        trivial |= _overlap(encoded, column)
        trivial |= _follow_from(ontology, encoded, rules)
        keep[encoded.rules[trivial]] = False
    return rules.take(np.flatnonzero(keep))


def _overlap(encoded: EncodedRules, column: Indices) -> Bools:
    """Return which rules have two items whose columns overlap by construction."""
    pairs = trivial_columns(encoded.block)
    if pairs is None:
        return np.zeros(len(encoded.rules), bool)
    padded = np.pad(pairs, ((0, 1), (0, 1)))
    left = column[encoded.antecedents]
    out = padded[left, column[encoded.consequents][:, None]].any(axis=1)
    for a, b in combinations(range(left.shape[1]), 2):
        out |= padded[left[:, a], left[:, b]]
    return np.asarray(out)


def _follow_from(ontology: Ontology | None, encoded: EncodedRules, rules: RuleSet) -> Bools:
    """Return which rules have an antecedent item that implies the consequent by the ontology alone."""
    out = np.zeros(len(encoded.rules), bool)
    if ontology is None:
        return out
    items = [rules.items[i] for i in encoded.items.tolist()]
    for claim in np.unique(encoded.consequents).tolist():
        if not _asserts_structure(items[claim]):
            continue
        own = np.flatnonzero(encoded.consequents == claim)
        feature = items[claim].feature
        implying = [a != claim and _implies(item, feature, ontology) for a, item in enumerate(items)]
        out[own] = np.array([*implying, False])[encoded.antecedents[own]].any(axis=1)
    return out


def _asserts_structure(item: Item) -> bool:
    """Whether an item states that a label or an edge exists."""
    return item.operator is Operator.EQ and item.value is True and item.feature.aspect in (Aspect.LABEL, Aspect.EDGE)


def _implies(item: Item, claim: Feature, ontology: Ontology) -> bool:
    """Whether an item implies a label or an edge."""
    feature = item.feature
    if claim.aspect is Aspect.EDGE:
        same_ends = (feature.subject, feature.other) == (claim.subject, claim.other)
        return _asserts_structure(item) and same_ends and ontology.is_relation(feature.name, claim.name)
    classes: frozenset[str] = frozenset()
    if feature.subject == claim.subject:
        if feature.aspect is Aspect.PROPERTY:
            classes = ontology.properties.get(feature.name, frozenset())
        elif _asserts_structure(item):
            relation = ontology.relations.get(feature.name) if feature.aspect is Aspect.EDGE else None
            classes = frozenset({feature.name}) if feature.aspect is Aspect.LABEL else frozenset()
            classes = relation.domain if relation is not None else classes
    elif feature.aspect is Aspect.EDGE and feature.other == claim.subject and _asserts_structure(item):
        known = ontology.relations.get(feature.name)
        classes = known.range if known is not None else classes
    return bool(classes) and all(ontology.is_a(name, claim.name) for name in classes)


def drop_mirrored(rules: RuleSet, table: TransactionTable) -> RuleSet:
    """Keep one of several rules that differ only by renaming the variables of a symmetric pattern.

    Mirror images say the same: rules are counted over every ordered embedding, so their counts are equal. The first by
    the keys of its items is kept.

    Args:
        rules: The rules.
        table: The table that the rules were mined from.
    """
    keep = np.ones(len(rules), bool)
    for encoded in encode_rules(rules, table):
        renamings = [] if encoded.block.pattern is None else _find_renamings(encoded.block.pattern)
        if not renamings:
            continue
        items = {rules.items[i]: place for place, i in enumerate(encoded.items.tolist())}
        # Items in the order of their keys, so that the choice does not depend on the order of columns or sensors.
        rank = np.full(len(items) + 1, -1, np.int64)
        for number, item in enumerate(sorted(items, key=lambda one: one.key)):
            rank[items[item]] = number
        images = [_sort_items(rank, encoded.consequents, encoded.antecedents)]
        for renaming in renamings:
            moved = _map_items(items, renaming)
            left, right = moved[encoded.antecedents], moved[encoded.consequents]
            # If the image uses an item that no rule uses, it is not in the set, and the rule is its own image.
            whole = (right >= 0) & ((left >= 0) == (encoded.antecedents >= 0)).all(axis=1)
            images.append(np.where(whole[:, None], _sort_items(rank, right, left), images[0]))
        ids = factorize_rows(np.concatenate(images))[0].reshape(len(images), -1)
        order = np.lexsort([ids[0], orbit := ids.min(axis=0)])
        repeated = np.diff(orbit[order], prepend=-1) == 0
        keep[encoded.rules[order[repeated]]] = False
    return rules.take(np.flatnonzero(keep))


def _sort_items(rank: Ints, consequents: npt.NDArray[Any], antecedents: npt.NDArray[Any]) -> Ints:
    """Return the rules as rows of ranks: the consequent, then the items of the antecedent in order."""
    return np.column_stack([rank[consequents], np.sort(rank[antecedents], axis=1)])


def _find_renamings(pattern: Pattern) -> list[Mapping[str, str]]:
    """Find the renamings of node and sensor variables, except the identity, that leave a pattern unchanged."""
    out: list[Mapping[str, str]] = []
    for mapping in pattern.automorphisms():
        slots: dict[tuple[str, str, bool, bool], list[str]] = {}
        for sensor in pattern.sensors:
            slots.setdefault((sensor.host, sensor.kind, sensor.optional, sensor.points), []).append(sensor.name)
        # The sensors of a host become those of its image, in every order.
        orders = [
            [dict(zip(names, order, strict=True)) for order in permutations(slots[mapping[slot[0]], *slot[1:]])]
            for slot, names in slots.items()
        ]
        for chosen in product(*orders):
            full = {**mapping, **{a: b for part in chosen for a, b in part.items()}}
            if any(a != b for a, b in full.items()):
                out.append(full)
    return out


def _map_items(items: Mapping[Item, int], renaming: Mapping[str, str]) -> Ints:
    """Return the number of the image of each item, −1 if no rule uses the image."""
    out = np.full(len(items) + 1, -1, np.int64)  # the last entry is the image of padding
    for item, place in items.items():
        feature = replace(
            item.feature,
            subject=renaming.get(item.feature.subject, item.feature.subject),
            other=renaming.get(item.feature.other, item.feature.other),
        )
        image = items.get(replace(item, feature=feature), -1)
        if image < 0 and feature.is_link:
            # An undirected link is named by its ends in one order.
            turned = replace(feature, subject=feature.other, other=feature.subject)
            image = items.get(replace(item, feature=turned), -1)
        out[place] = image
    return out


def drop_covered(rules: RuleSet, table: TransactionTable) -> RuleSet:
    """Drop rules that a more general rule makes superfluous.

    A rule is dropped if another one has the same consequent or a narrower one, is at least as confident, and holds
    wherever the rule holds: each of its antecedent items equals one of the rule's items or is wider. For every dropped
    rule such a rule remains, so coverage does not change.

    Args:
        rules: The rules.
        table: The table that the rules were mined from.

    Examples:
        >>> import polars as pl
        >>> from thence.statements.counting.recount import recount
        >>> frame = pl.DataFrame({"a": ["x", "x", "y"], "b": ["u", "u", "v"], "c": ["k", "l", "k"]})
        >>> table = TransactionTable.from_frame(frame)
        >>> len(drop_covered(recount(np.array([[0, 4], [0, -1]]), np.array([2, 2]), table), table))
        1
    """
    keep = np.ones(len(rules), bool)
    confidence = rules.measure("confidence")
    for encoded in encode_rules(rules, table):
        order = np.lexsort([*encoded.antecedents.T[::-1], encoded.consequents])
        left, right = encoded.antecedents[order], encoded.consequents[order]
        dominated = _find_dominated(left, right, confidence[encoded.rules[order]], encoded)
        keep[encoded.rules[order[dominated]]] = False
    return rules.take(np.flatnonzero(keep))


def _find_dominated(left: Indices, right: Indices, confidence: Floats, encoded: EncodedRules) -> Bools:
    """Find the rules, given in sorted order, that another one makes superfluous."""
    items, consequents = as_kernel_array(left.T, np.int32), as_kernel_array(right, np.int32)
    measured = as_kernel_array(confidence, np.float64)
    wider, narrower = _list_containment(encoded)
    out = np.zeros(len(right), bool)

    def search(span: tuple[int, int]) -> None:
        _mark_dominated(items, consequents, measured, *wider, *narrower, *span, out)

    run_threads(search, split_range(len(right), default_threads() * 4, least=1000))
    return out


def _list_containment(encoded: EncodedRules) -> tuple[tuple[Ints, Indices], tuple[Ints, Indices]]:
    """List, for each item, the items that hold wherever it does, and those that hold only where it does."""
    narrow, wide = [], []
    # Items are ordered by column.
    starts = np.flatnonzero(np.diff(encoded.column, prepend=-1))
    for first, end in zip(starts, np.append(starts[1:], len(encoded.column)), strict=True):
        own = np.arange(first, end)
        codes = encoded.codes[own].astype(np.int32)
        inside = codes @ codes.T == codes.sum(axis=1)[:, None]
        a, b = np.nonzero(inside)
        narrow.append(own[a])
        wide.append(own[b])
    narrower, wider = np.concatenate(narrow), np.concatenate(wide)
    return _group(narrower, wider, encoded), _group(wider, narrower, encoded)


def _group(of: Ints, other: Ints, encoded: EncodedRules) -> tuple[Ints, Indices]:
    """Return ``starts`` and ``others``: those of item ``i`` are ``others[starts[i] : starts[i + 1]]``."""
    order = np.lexsort([other, of])
    starts = np.searchsorted(of[order], np.arange(len(encoded.items) + 1))
    return as_kernel_array(starts, np.int64), as_kernel_array(other[order], np.int32)


@helper
def _search_sorted(column: Indices, value: Integer, low: Integer, high: Integer) -> Integer:
    """Return the first position in the sorted range ``low … high`` whose entry is not below a value."""
    while low < high:
        middle = (low + high) // 2
        if column[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@helper
def _insert(numbers: Indices, count: int, number: int) -> int:
    """Insert a number into the first ``count`` numbers, which are ascending and distinct; return the new count."""
    place = count
    while place > 0 and numbers[place - 1] > number:
        place -= 1
    if place > 0 and numbers[place - 1] == number:
        return count
    for at in range(count, place, -1):
        numbers[at] = numbers[at - 1]
    numbers[place] = number
    return count + 1


@kernel
def _mark_dominated(
    left: Indices,
    right: Indices,
    confidence: Floats,
    wider_start: Ints,
    wider: Indices,
    narrower_start: Ints,
    narrower: Indices,
    first: int,
    last: int,
    out: Bools,
) -> None:
    """Mark, in ``out``, the rules ``first … last`` that another one makes superfluous.

    ``left`` (one row per position in the antecedent, padding −1) and ``right`` hold all rules, sorted by consequent,
    then by items, padding first. ``wider[wider_start[i] : wider_start[i + 1]]`` are the items that hold wherever item
    ``i`` does, including ``i``, ascending; ``narrower`` are the items that hold only where ``i`` does. A rule is
    dominated if another one is at least as confident, each of whose items is at least as wide as an item of the rule
    and whose consequent is at least as narrow. The sorted rules form a trie, and only existing prefixes are visited.
    """
    width = left.shape[0]
    limit = 0
    for item in range(wider_start.size - 1):
        limit = max(limit, wider_start[item + 1] - wider_start[item])
    allowed = np.empty(limit * width + 1, np.int32)
    begin, end, choice = np.empty(width + 1, np.int64), np.empty(width + 1, np.int64), np.empty(width + 1, np.int64)
    for rule in range(first, last):
        count: Integer = np.int64(0)
        for place in range(width):
            item = left[place, rule]
            if item >= 0:
                for at in range(wider_start[item], wider_start[item + 1]):
                    count = _insert(allowed, count, wider[at])
        found = False
        for at in range(narrower_start[right[rule]], narrower_start[right[rule] + 1]):
            consequent = np.int64(narrower[at])
            begin[0] = _search_sorted(right, consequent, np.int64(0), right.size)
            end[0] = _search_sorted(right, consequent + 1, begin[0], right.size)
            choice[0] = -1
            depth = 0
            while depth >= 0 and not found:
                low, high = begin[depth], end[depth]
                if choice[depth] < 0:
                    # Rules that end here come first in the range.
                    while low < high and (depth == width or left[depth, low] < 0):
                        same = _is_same_rule(left, right, low, rule)
                        if confidence[low] >= confidence[rule] and (low < rule if same else True):
                            found = True
                            break
                        low += 1
                    begin[depth] = low
                    choice[depth] = 0 if depth == 0 else choice[depth - 1]
                if depth == width or low >= high or choice[depth] >= count:
                    depth -= 1
                    continue
                wide: Integer = np.int64(allowed[choice[depth]])
                choice[depth] += 1
                start = _search_sorted(left[depth], wide, low, high)
                stop = _search_sorted(left[depth], wide + 1, start, high)
                begin[depth] = start  # items are tried in ascending order
                if stop > start:
                    depth += 1
                    begin[depth], end[depth], choice[depth] = start, stop, -1
            if found:
                break
        out[rule] = found


@helper
def _is_same_rule(left: Indices, right: Indices, a: int, b: int) -> bool:
    same = right[a] == right[b]
    for place in range(left.shape[0]):
        same = same and left[place, a] == left[place, b]
    return bool(same)


def simplify(
    rules: RuleSet,
    table: TransactionTable,
    *,
    improvement: float = 0.0,
    min_confidence: float | None = None,
    denominator: str = "present",
) -> RuleSet:
    """Replace rules by their best simpler version unless they improve on all simpler versions.

    A simpler version has the same consequent and some of the antecedent items. The *improvement* of a rule is its
    confidence minus the highest confidence of all its simpler versions, including the one without items (the frequency
    of the consequent). Simpler versions are counted whether or not they are in the rule set.

    Args:
        rules: The rules to simplify.
        table: The table that the rules were mined from.
        improvement: Minimum improvement of a rule; it must also be above zero.
        min_confidence: Minimum confidence of a simpler version that replaces a rule; by default the lowest confidence
            of the given rules. A rule whose simpler versions do not reach it is dropped.
        denominator: Rows over which new rules are counted, as in ``count_rules``.

    Returns:
        The remaining rules, with their improvement in the column ``improvement``.

    Examples:
        >>> import polars as pl
        >>> from thence.statements.counting.recount import recount
        >>> frame = pl.DataFrame({"a": ["x", "x", "y"], "b": ["u", "u", "v"], "c": ["k", "l", "k"]})
        >>> table = TransactionTable.from_frame(frame)
        >>> rules = recount(np.array([[0, 4], [0, 5]]), np.array([2, 2]), table)
        >>> for rule in simplify(rules, table):
        ...     print(rule)
        (a).value = 'x' → (b).value = 'u'
    """
    if not len(rules):
        return _add_improvement(rules, np.zeros(0))
    floor = float(rules.measure("confidence").min()) if min_confidence is None else min_confidence
    family = _Subsets.of(rules)
    new = np.flatnonzero(family.origin < 0)
    counted = count_rules(family.to_rules(rules, new), table, denominator=denominator)
    counts = family.collect(rules, new, counted)
    gain, best = family.gains(MEASURES["confidence"](counts), MEASURES["consequent_support"](counts))
    sufficient = _is_improved(counts, best, as_fraction(improvement))
    confident = is_within(counts, "confidence", floor, least=True)
    final = family.of_rule
    while (moving := (final >= 0) & ~sufficient[final]).any():
        replacement = best[final[moving]]
        final[moving] = np.where((replacement >= 0) & confident[replacement], replacement, -1)
    chosen = np.unique(final[final >= 0])
    old, fresh = chosen[family.origin[chosen] >= 0], chosen[family.origin[chosen] < 0]
    old = old[np.argsort(family.origin[old])]
    pieces = [
        _add_improvement(rules.take(family.origin[old]), gain[old]),
        _add_improvement(counted.take(np.searchsorted(new, fresh)), gain[fresh]),
    ]
    return replace(RuleSet.concat(pieces), notes=rules.notes, facts=rules.facts, coverage_of=rules.coverage_of)


def add_simpler(
    rules: RuleSet, table: TransactionTable, *, min_confidence: float | None = None, denominator: str = "present"
) -> RuleSet:
    """Add all simpler versions of rules that are confident enough and more confident than no items at all.

    An exhaustive miner finds these anyway; a learning one may not. Add them before a significance test: it drops rules
    with a superfluous item, and the simpler version should be there to remain.

    Args:
        rules: The rules.
        table: The table that the rules were mined from.
        min_confidence: Minimum confidence of added rules; by default the lowest confidence of the given rules.
        denominator: Rows over which new rules are counted, as in ``count_rules``.

    Returns:
        The given rules, followed by the added ones.

    Examples:
        >>> import polars as pl
        >>> from thence.statements.counting.recount import recount
        >>> frame = pl.DataFrame({"a": ["x", "x", "y"], "b": ["u", "u", "v"], "c": ["k", "l", "k"]})
        >>> table = TransactionTable.from_frame(frame)
        >>> for rule in add_simpler(recount(np.array([[0, 4]]), np.array([2]), table), table):
        ...     print(rule)
        (a).value = 'x' ∧ (c).value = 'k' → (b).value = 'u'
        (a).value = 'x' → (b).value = 'u'
    """
    if not len(rules):
        return rules
    floor = float(rules.measure("confidence").min()) if min_confidence is None else min_confidence
    family = _Subsets.of(rules)
    new = np.flatnonzero(family.origin < 0)
    counted = count_rules(family.to_rules(rules, new), table, denominator=denominator)
    good = is_within(counted.counts, "confidence", floor, least=True) & (counted.measure("leverage") > 0)
    if not good.any():
        return rules
    more = RuleSet.concat([rules, counted.take(np.flatnonzero(good))])
    return replace(more, notes=rules.notes, facts=rules.facts, coverage_of=rules.coverage_of)


def _is_improved(counts: Counts, best: Ints, improvement: Fraction) -> Bools:
    """Return which versions improve on their best simpler version and on no items at all, compared in integers."""
    top, bottom = counts.n_both, np.maximum(counts.n_antecedent, 1)
    none = best < 0
    simpler_top = np.where(none, counts.n_consequent, top[best])
    simpler_bottom = np.where(none, np.maximum(counts.n, 1), bottom[best])
    out = np.ones(len(counts), bool)
    p, q = improvement.numerator, improvement.denominator
    wide = 2 * max(p, q) * int(counts.n.max(initial=1)) ** 2 >= 1 << 62
    for other_top, other_bottom in ((simpler_top, simpler_bottom), (counts.n_consequent, np.maximum(counts.n, 1))):
        a, b, c, d = (part.astype(object if wide else np.int64) for part in (top, bottom, other_top, other_bottom))
        more = a * d - c * b
        out &= np.asarray((more > 0) & (more * q >= p * b * d), dtype=bool)
    return out


def _add_improvement(rules: RuleSet, gain: Floats) -> RuleSet:
    return replace(rules, extras={**rules.extras, "improvement": gain})


@dataclass(frozen=True)
class _Subsets:
    """Rules and all their simpler versions, numbered in order of length.

    Args:
        pattern: The pattern of each version (−1: none).
        consequents: The consequent of each version.
        antecedents: The items of each version, ascending, padded with −1 at the end.
        parts: ``parts[u, k]`` is the number of version ``u`` without its ``k``-th item.
        origin: The first rule of the set that equals each version (−1: none).
        of_rule: The number of each rule of the set.
    """

    pattern: Ints
    consequents: Ints
    antecedents: Ints
    parts: Ints
    origin: Ints
    of_rule: Ints

    @staticmethod
    def of(rules: RuleSet) -> _Subsets:
        """Build all versions by removing one item at a time, from the longest rules down."""
        width = rules.antecedents.shape[1]
        many = len(rules.items)
        left = np.sort(np.where(rules.antecedents < 0, many, rules.antecedents), axis=1).astype(np.int64)
        length = (left < many).sum(axis=1)
        pattern = np.full(len(rules), -1) if rules.pattern_of is None else rules.pattern_of
        head = np.column_stack([pattern, rules.consequents]).astype(np.int64)
        levels: list[tuple[Ints, Ints, Ints, Ints]] = []
        above = np.zeros((0, width + 2), np.int64)
        for size in range(width, 0, -1):
            own = np.flatnonzero(length == size)
            rows = np.concatenate([np.column_stack([head[own], left[own, :size]]), above[:, : size + 2]])
            ids, first = factorize_rows(rows)
            origin = np.full(len(first), -1)
            origin[ids[: len(own)][::-1]] = own[::-1]  # the first of equal rules
            levels.append((rows[first], origin, own, ids))
            shorter = [np.delete(rows[first], 2 + k, axis=1) for k in range(size)]
            above = np.concatenate(shorter) if size > 1 else above
        return _number_versions(levels, width, len(rules))

    def to_rules(self, rules: RuleSet, chosen: Ints) -> RuleSet:
        """Return the chosen versions as rules without counts."""
        zero = np.zeros(len(chosen), np.int64)
        return RuleSet(
            rules.items,
            self.antecedents[chosen].astype(np.int32),
            self.consequents[chosen].astype(np.int32),
            Counts(zero, zero, zero, zero),
            patterns=rules.patterns,
            pattern_of=None if rules.pattern_of is None else self.pattern[chosen].astype(np.int32),
        )

    def collect(self, rules: RuleSet, new: Ints, counted: RuleSet) -> Counts:
        """Return the counts of all versions, taken from the given rules and from the newly counted ones."""
        position = np.empty(len(self.origin), np.int64)
        position[new] = len(rules) + np.arange(len(new))
        old = self.origin >= 0
        position[old] = self.origin[old]
        return Counts.concatenate([rules.counts, counted.counts])[position]

    def gains(self, confidence: Floats, frequency: Floats) -> tuple[Floats, Ints]:
        """Return the improvement of each version, and its best simpler version (−1: the one without items)."""
        top, holder = confidence.copy(), np.arange(len(confidence))
        gain, best = confidence - frequency, np.full(len(confidence), -1)
        size = (self.antecedents >= 0).sum(axis=1)
        for length in range(2, self.antecedents.shape[1] + 1):
            own = np.flatnonzero(size == length)
            parts = self.parts[own, :length]
            # The most confident simpler version; ties go to the shortest, which has the lowest number.
            order = np.lexsort([holder[parts], -top[parts]], axis=1)[:, :1]
            simpler = np.take_along_axis(parts, order, axis=1)[:, 0]
            best[own] = holder[simpler]
            gain[own] = confidence[own] - np.maximum(top[simpler], frequency[own])
            worse = top[simpler] >= confidence[own]
            top[own[worse]], holder[own[worse]] = top[simpler[worse]], holder[simpler[worse]]
        return gain, best


def _number_versions(levels: list[tuple[Ints, Ints, Ints, Ints]], width: int, n_rules: int) -> _Subsets:
    """Join the levels, which are given longest first, into one numbering, shortest first."""
    sizes = [len(rows) for rows, _, _, _ in levels]
    offset = np.cumsum([0, *sizes[::-1]])[:-1][::-1]
    total = sum(sizes)
    pattern, right, origin = (np.empty(total, np.int64) for _ in range(3))
    left, parts = np.full((total, width), -1, np.int64), np.full((total, width), -1, np.int64)
    of_rule = np.full(n_rules, -1, np.int64)  # a rule without items has nothing to improve on
    for at, (rows, firsts, own, ids) in enumerate(levels):
        span = slice(offset[at], offset[at] + len(rows))
        size = rows.shape[1] - 2
        pattern[span], right[span], origin[span] = rows[:, 0], rows[:, 1], firsts
        left[span, :size] = rows[:, 2:]
        of_rule[own] = offset[at] + ids[: len(own)]
        if at:
            # After the rules of this level come the rows made from the level above, ordered by the removed item.
            made = ids[len(own) :].reshape(size + 1, -1).T
            parts[offset[at - 1] : offset[at - 1] + len(made), : size + 1] = offset[at] + made
    return _Subsets(pattern, right, left, parts, origin, of_rule)
