"""Rules that nobody needs to read: trivia, mirror images, rules no better than a simpler or a more general one.

Each step is a function of its own from rules to fewer rules. All work on arrays of integers, so that a million rules
take seconds. What covers the data with the fewest rules is chosen in :mod:`thence.refine.coverage`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import numpy.typing as npt

from ..bits import default_threads, run_threads, shared, spans
from ..constraints import trivial_pairs
from ..counting import count_rules_of
from ..items import Aspect, Feature, Item, Operator
from ..measures import Counts
from ..ontology import Ontology
from ..patterns import Pattern
from ..rules import RuleSet
from ..transactions import Block, TransactionTable
from ._parts import Part, parts_of, row_ids
from ._rule_kernels import dominated_rules

__all__ = ["drop_covered", "drop_mirrored", "drop_trivia", "simplify", "with_simpler"]

Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

# Differences of confidences are compared with this much room for rounding.
_EPSILON = 1e-12


def drop_trivia(rules: RuleSet, table: TransactionTable, *, ontology: Ontology | None = None) -> RuleSet:
    """The rules without those that are true for reasons that have nothing to do with the readings.

    Dropped are rules whose consequent holds in every row in which it is known; whose consequent is about the same
    feature as the antecedent; that put two statements together of which one says what the other does (aggregates of
    the same sensors, existential statements with more and with fewer conditions); and, with an ``ontology``, those
    whose consequent follows from it: a class from a subclass, from a property that only the class has, or from the
    domain or range of a relation.

    >>> import polars as pl
    >>> from thence.counting import recount
    >>> frame = pl.DataFrame({"a": ["x", "x", "y"], "b": ["u", "u", "v"], "c": ["k", "k", "k"]})
    >>> table = TransactionTable.from_frame(frame)
    >>> len(drop_trivia(recount(table, 0, np.array([[0], [0]]), np.array([2, 4])), table))
    1
    """
    keep = np.ones(len(rules), bool)
    for part in parts_of(rules, table):
        constant = np.array([column.is_constant for column in part.block.columns], bool)[part.column]
        counts = rules.counts[part.rules]
        dull = constant[part.right] | (counts.n_consequent == counts.n)
        pairs = _column_pairs(part.block)[part.column][:, part.column]
        same = part.column[:, None] == part.column
        implied = _implied(part, rules, ontology)
        dull |= _any_pair(part, pairs, among_antecedents=True)
        dull |= _any_pair(part, same | implied, among_antecedents=False)
        keep[part.rules[dull]] = False
    return rules.take(np.flatnonzero(keep))


def _column_pairs(block: Block) -> Bools:
    """Which columns say the same as another one, so that they must not stand in one rule."""
    pairs = trivial_pairs(block)
    size = len(block.columns)
    if pairs is None:
        return np.zeros((size, size), bool)
    first = block.offsets[:-1]
    return np.asarray(pairs[first][:, first])


def _any_pair(part: Part, pairs: Bools, *, among_antecedents: bool) -> Bools:
    """Which rules have an item of the antecedent paired with the consequent, or, if asked, with another one."""
    padded = np.pad(pairs, ((0, 1), (0, 1)))
    left, width = part.left, part.left.shape[1]
    out = padded[left, part.right[:, None]].any(axis=1)
    if among_antecedents:
        for a, b in combinations(range(width), 2):
            out |= padded[left[:, a], left[:, b]]
    return np.asarray(out)


def _implied(part: Part, rules: RuleSet, ontology: Ontology | None) -> Bools:
    """``out[a, b]``: item ``a`` implies item ``b`` by the ontology alone."""
    out = np.zeros((len(part.items), len(part.items)), bool)
    if ontology is None:
        return out
    items = [rules.items[i] for i in part.items.tolist()]
    claims = [b for b in np.unique(part.right).tolist() if _is_true(items[b])]
    for b in claims:
        for a, item in enumerate(items):
            out[a, b] = a != b and _follows(item, items[b].feature, ontology)
    return out


def _is_true(item: Item) -> bool:
    return item.operator is Operator.EQ and item.value is True and item.feature.aspect in (Aspect.LABEL, Aspect.EDGE)


def _follows(item: Item, claim: Feature, ontology: Ontology) -> bool:
    """Whether an item makes a label or an edge certain."""
    feature = item.feature
    if claim.aspect is Aspect.EDGE:
        same_ends = (feature.subject, feature.other) == (claim.subject, claim.other)
        return _is_true(item) and same_ends and ontology.is_relation(feature.name, claim.name)
    classes: frozenset[str] = frozenset()
    if feature.subject == claim.subject:
        if feature.aspect is Aspect.PROPERTY:
            classes = ontology.properties.get(feature.name, frozenset())
        elif _is_true(item):
            relation = ontology.relations.get(feature.name) if feature.aspect is Aspect.EDGE else None
            classes = frozenset({feature.name}) if feature.aspect is Aspect.LABEL else frozenset()
            classes = relation.domain if relation is not None else classes
    elif feature.aspect is Aspect.EDGE and feature.other == claim.subject and _is_true(item):
        known = ontology.relations.get(feature.name)
        classes = known.range if known is not None else classes
    return bool(classes) and all(ontology.is_a(name, claim.name) for name in classes)


def drop_mirrored(rules: RuleSet, table: TransactionTable) -> RuleSet:
    """The rules, with those told once that only rename the variables of a symmetric pattern into one another.

    Of such rules the one with the larger support is kept (then confidence, then the order of their items). A symmetric
    place is one embedding, so the two are counted over the two readings of it and may differ.
    """
    keep = np.ones(len(rules), bool)
    confidence = rules.measure("confidence")
    for part in parts_of(rules, table):
        renamings = [] if part.block.pattern is None else _renamings(part.block.pattern)
        if not renamings:
            continue
        items = {rules.items[i]: place for place, i in enumerate(part.items.tolist())}
        images = [np.column_stack([part.right, np.sort(part.left, axis=1)])]
        for renaming in renamings:
            moved = _item_map(items, renaming)
            left, right = moved[part.left], moved[part.right]
            # Where the image uses an item that no rule uses, the rule stands for itself.
            whole = (right >= 0) & ((left >= 0) == (part.left >= 0)).all(axis=1)
            images.append(np.where(whole[:, None], np.column_stack([right, np.sort(left, axis=1)]), images[0]))
        ids = row_ids(np.concatenate(images))[0].reshape(len(images), -1)
        order = np.lexsort(
            [ids[0], -confidence[part.rules], -rules.counts.n_both[part.rules], orbit := ids.min(axis=0)]
        )
        repeated = np.diff(orbit[order], prepend=-1) == 0
        keep[part.rules[order[repeated]]] = False
    return rules.take(np.flatnonzero(keep))


def _renamings(pattern: Pattern) -> list[Mapping[str, str]]:
    """The symmetries of a pattern other than the identity, over node and sensor variables."""
    out: list[Mapping[str, str]] = []
    for mapping in pattern.automorphisms():
        full = dict(mapping)
        taken: set[str] = set()
        for sensor in pattern.sensors:
            host = mapping[sensor.host]
            image = next(
                (s.name for s in pattern.sensors if s.host == host and s.kind == sensor.kind and s.name not in taken),
                sensor.name,
            )
            taken.add(image)
            full[sensor.name] = image
        if any(a != b for a, b in full.items()):
            out.append(full)
    return out


def _item_map(items: Mapping[Item, int], renaming: Mapping[str, str]) -> Ints:
    """For each item the number of its image, −1 where no rule uses that one."""
    out = np.full(len(items) + 1, -1, np.int64)  # the last entry is the image of padding
    for item, place in items.items():
        feature = replace(
            item.feature,
            subject=renaming.get(item.feature.subject, item.feature.subject),
            other=renaming.get(item.feature.other, item.feature.other),
        )
        out[place] = items.get(replace(item, feature=feature), -1)
    return out


def simplify(
    rules: RuleSet,
    table: TransactionTable,
    *,
    improvement: float = 0.0,
    min_confidence: float | None = None,
    denominator: str = "present",
) -> RuleSet:
    """Let rules give way to simpler ones that are as good: the same consequent, some of the items left out.

    The *improvement* of a rule is its confidence minus the highest confidence among all its simpler versions, the one
    without any items (how frequent the consequent is) included; all of them are counted, in the set or not. A rule
    stays when its improvement is above zero and at least ``improvement``. Otherwise its best simpler version takes its
    place, as far as that reaches ``min_confidence`` (by default the lowest confidence among the rules). What stays has
    its improvement in the column ``improvement``.

    >>> import polars as pl
    >>> from thence.counting import recount
    >>> frame = pl.DataFrame({"a": ["x", "x", "y"], "b": ["u", "u", "v"], "c": ["k", "l", "k"]})
    >>> table = TransactionTable.from_frame(frame)
    >>> rules = recount(table, 0, np.array([[0, 4], [0, 5]]), np.array([2, 2]))
    >>> for rule in simplify(rules, table):
    ...     print(rule)
    (a).value = 'x' → (b).value = 'u'
    """
    if not len(rules):
        return _with_gain(rules, np.zeros(0))
    floor = float(rules.measure("confidence").min()) if min_confidence is None else min_confidence
    family = _Subsets.of(rules)
    new = np.flatnonzero(family.origin < 0)
    counted = count_rules_of(table, family.rules(rules, new), denominator=denominator)
    confidence, frequency = (family.measured(m, rules, new, counted) for m in ("confidence", "consequent_support"))
    gain, best = family.gains(confidence, frequency)
    stays = (gain > _EPSILON) & (gain >= improvement - _EPSILON)
    final = family.of_rule
    while (moving := (final >= 0) & ~stays[final]).any():
        heir = best[final[moving]]
        final[moving] = np.where((heir >= 0) & (confidence[heir] >= floor), heir, -1)
    chosen = np.unique(final[final >= 0])
    old, fresh = chosen[family.origin[chosen] >= 0], chosen[family.origin[chosen] < 0]
    old = old[np.argsort(family.origin[old])]
    pieces = [
        _with_gain(rules.take(family.origin[old]), gain[old]),
        _with_gain(counted.take(np.searchsorted(new, fresh)), gain[fresh]),
    ]
    return replace(RuleSet.concat(pieces), notes=rules.notes, facts=rules.facts, coverage_of=rules.coverage_of)


def with_simpler(
    rules: RuleSet, table: TransactionTable, *, min_confidence: float | None = None, denominator: str = "present"
) -> RuleSet:
    """The rules, and all their simpler versions that reach a confidence and are better than having no items at all.

    An exhaustive miner finds these anyway; one that learns need not. They are wanted before a test of significance, in
    which a rule with a superfluous item goes and its simpler version should be there to stay.

    >>> import polars as pl
    >>> from thence.counting import recount
    >>> frame = pl.DataFrame({"a": ["x", "x", "y"], "b": ["u", "u", "v"], "c": ["k", "l", "k"]})
    >>> table = TransactionTable.from_frame(frame)
    >>> for rule in with_simpler(recount(table, 0, np.array([[0, 4]]), np.array([2])), table):
    ...     print(rule)
    (a).value = 'x' ∧ (c).value = 'k' → (b).value = 'u'
    (a).value = 'x' → (b).value = 'u'
    """
    if not len(rules):
        return rules
    floor = float(rules.measure("confidence").min()) if min_confidence is None else min_confidence
    family = _Subsets.of(rules)
    counted = count_rules_of(table, family.rules(rules, np.flatnonzero(family.origin < 0)), denominator=denominator)
    confidence = counted.measure("confidence")
    good = (confidence >= floor) & (confidence > counted.measure("consequent_support"))
    if not good.any():
        return rules
    more = RuleSet.concat([rules, counted.take(np.flatnonzero(good))])
    return replace(more, notes=rules.notes, facts=rules.facts, coverage_of=rules.coverage_of)


def _with_gain(rules: RuleSet, gain: Floats) -> RuleSet:
    return replace(rules, extras={**rules.extras, "improvement": gain})


@dataclass(frozen=True)
class _Subsets:
    """Rules and all their simpler versions, numbered from the shortest on.

    ``left`` are the items of each (ascending, padding −1 last), ``parts[u, k]`` is the number of version ``u`` without
    its ``k``-th item, ``origin[u]`` a rule of the set that is this one (−1: none) and ``of_rule`` the number of each
    rule of the set.
    """

    pattern: Ints
    right: Ints
    left: Ints
    parts: Ints
    origin: Ints
    of_rule: Ints

    @staticmethod
    def of(rules: RuleSet) -> _Subsets:
        """All versions, made by leaving out one item at a time from the longest rules down."""
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
            ids, first = row_ids(rows)
            origin = np.full(len(first), -1)
            origin[ids[: len(own)][::-1]] = own[::-1]  # the first of equal rules
            levels.append((rows[first], origin, own, ids))
            shorter = [np.delete(rows[first], 2 + k, axis=1) for k in range(size)]
            above = np.concatenate(shorter) if size > 1 else above
        return _numbered(levels, width, len(rules))

    def rules(self, rules: RuleSet, chosen: Ints) -> RuleSet:
        """Some versions as rules, without counts."""
        zero = np.zeros(len(chosen), np.int64)
        return RuleSet(
            rules.items,
            self.left[chosen].astype(np.int32),
            self.right[chosen].astype(np.int32),
            Counts(zero, zero, zero, zero),
            patterns=rules.patterns,
            pattern_of=None if rules.pattern_of is None else self.pattern[chosen].astype(np.int32),
        )

    def measured(self, measure: str, rules: RuleSet, new: Ints, counted: RuleSet) -> Floats:
        """A measure of all versions, from the rules and the newly counted others."""
        out = np.empty(len(self.origin))
        out[new] = counted.measure(measure)
        old = self.origin >= 0
        out[old] = rules.measure(measure)[self.origin[old]]
        return out

    def gains(self, confidence: Floats, frequency: Floats) -> tuple[Floats, Ints]:
        """The improvement of each version over all simpler ones, and the best of those (−1: the one without items)."""
        top, holder = confidence.copy(), np.arange(len(confidence))
        gain, best = confidence - frequency, np.full(len(confidence), -1)
        size = (self.left >= 0).sum(axis=1)
        for length in range(2, self.left.shape[1] + 1):
            own = np.flatnonzero(size == length)
            parts = self.parts[own, :length]
            # The most confident, and of equals the shortest, which has the lowest number.
            order = np.lexsort([holder[parts], -top[parts]], axis=1)[:, :1]
            simpler = np.take_along_axis(parts, order, axis=1)[:, 0]
            best[own] = holder[simpler]
            gain[own] = confidence[own] - np.maximum(top[simpler], frequency[own])
            worse = top[simpler] >= confidence[own]
            top[own[worse]], holder[own[worse]] = top[simpler[worse]], holder[simpler[worse]]
        return gain, best


def _numbered(levels: list[tuple[Ints, Ints, Ints, Ints]], width: int, n_rules: int) -> _Subsets:
    """Join the levels, which come longest first, into one numbering from the shortest on."""
    sizes = [len(rows) for rows, _, _, _ in levels]
    offset = np.cumsum([0, *sizes[::-1]])[:-1][::-1]
    total = sum(sizes)
    pattern, right, origin = (np.empty(total, np.int64) for _ in range(3))
    left, parts = np.full((total, width), -1, np.int64), np.full((total, width), -1, np.int64)
    of_rule = np.empty(n_rules, np.int64)
    for at, (rows, firsts, own, ids) in enumerate(levels):
        span = slice(offset[at], offset[at] + len(rows))
        size = rows.shape[1] - 2
        pattern[span], right[span], origin[span] = rows[:, 0], rows[:, 1], firsts
        left[span, :size] = rows[:, 2:]
        of_rule[own] = offset[at] + ids[: len(own)]
        if at:
            # The rows made from the level above follow the rules of this one, one item left out after the other.
            made = ids[len(own) :].reshape(size + 1, -1).T
            parts[offset[at - 1] : offset[at - 1] + len(made), : size + 1] = offset[at] + made
    return _Subsets(pattern, right, left, parts, origin, of_rule)


def drop_covered(rules: RuleSet, table: TransactionTable) -> RuleSet:
    """The rules without those that a more general one makes superfluous.

    A rule goes when another one has the same consequent or a narrower one, holds wherever it does (each of its items
    is one of the rule's, or wider), and is at least as confident. Every rule that goes leaves such a one behind, so
    coverage stays as it was.

    >>> import polars as pl
    >>> from thence.counting import recount
    >>> frame = pl.DataFrame({"a": ["x", "x", "y"], "b": ["u", "u", "v"], "c": ["k", "l", "k"]})
    >>> table = TransactionTable.from_frame(frame)
    >>> len(drop_covered(recount(table, 0, np.array([[0, 4], [0, -1]]), np.array([2, 2])), table))
    1
    """
    keep = np.ones(len(rules), bool)
    confidence = rules.measure("confidence")
    for part in parts_of(rules, table):
        order = np.lexsort([*part.left.T[::-1], part.right])
        left, right = part.left[order], part.right[order]
        dominated = _dominated(left, right, confidence[part.rules[order]], part)
        keep[part.rules[order[dominated]]] = False
    return rules.take(np.flatnonzero(keep))


def _dominated(left: Indices, right: Indices, confidence: Floats, part: Part) -> Bools:
    """Which of the sorted rules another one makes superfluous."""
    items, consequents = shared(left.T, np.int32), shared(right, np.int32)
    measured = shared(confidence, np.float64)
    wider, narrower = _containment(part)
    out = np.zeros(len(right), bool)

    def search(span: tuple[int, int]) -> None:
        dominated_rules(items, consequents, measured, *wider, *narrower, *span, out)

    run_threads(search, spans(len(right), default_threads() * 4, least=1000))
    return out


def _containment(part: Part) -> tuple[tuple[Ints, Indices], tuple[Ints, Indices]]:
    """For each item the items that hold wherever it does, and those that hold only where it does, as flat lists."""
    narrow, wide = [], []
    for column in np.unique(part.column).tolist():
        own = np.flatnonzero(part.column == column)
        codes = part.codes[own].astype(np.int32)
        inside = codes @ codes.T == codes.sum(axis=1)[:, None]
        a, b = np.nonzero(inside)
        narrow.append(own[a])
        wide.append(own[b])
    return _flat(np.concatenate(narrow), np.concatenate(wide), part), _flat(
        np.concatenate(wide), np.concatenate(narrow), part
    )


def _flat(of: Ints, other: Ints, part: Part) -> tuple[Ints, Indices]:
    order = np.lexsort([other, of])
    starts = np.searchsorted(of[order], np.arange(len(part.items) + 1))
    return shared(starts, np.int64), shared(other[order], np.int32)
