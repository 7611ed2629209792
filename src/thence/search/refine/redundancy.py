"""Redundant rules: trivial ones, mirror images, and rules that a more general one makes superfluous.

Each step is a function from rules to fewer rules, and works on integer arrays, so that a million rules take seconds.
Nothing is counted here. Superfluous items are removed in ``thence.search.refine.simplification``; the rules that cover
the data are selected in ``thence.search.refine.cover``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import numpy.typing as npt

from thence._base.settings.threads import default_threads
from thence.data.graph.ontology import Ontology
from thence.language.items import Aspect, Feature, Item, Operator
from thence.language.patterns import Pattern
from thence.search.refine.encoding import EncodedRules, encode_rules, factorize_rows
from thence.statements.rules.ruleset import RuleSet
from thence.tables.admissibility import trivial_columns
from thence.tables.bitmaps.bits import Integer, as_kernel_array, helper, kernel, run_threads, split_range
from thence.tables.transactions import TransactionTable

__all__ = ["drop_covered", "drop_mirrored", "drop_trivia"]

Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


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
