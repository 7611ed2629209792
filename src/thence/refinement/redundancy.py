"""Rules that nobody needs to read: trivia, mirror images, rules that a more general one makes superfluous.

Each step is a function of its own from rules to fewer rules. All work on arrays of integers, so that a million rules
take seconds. Superfluous items are left out in ``thence.refinement.simpler``, and what covers the data with the fewest
rules is chosen in ``thence.refinement.cover``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations

import numpy as np
import numpy.typing as npt

from thence.bitmaps.bits import default_threads, run_threads, shared, spans
from thence.graph.ontology import Ontology
from thence.graph.patterns import Pattern
from thence.refinement.parts import Part, parts_of, row_ids
from thence.refinement.rule_kernels import dominated_rules
from thence.rules.items import Aspect, Feature, Item, Operator
from thence.rules.ruleset import RuleSet
from thence.tables.admissible import trivial_pairs
from thence.tables.transactions import Block, TransactionTable

__all__ = ["drop_covered", "drop_mirrored", "drop_trivia"]

Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


def drop_trivia(rules: RuleSet, table: TransactionTable, *, ontology: Ontology | None = None) -> RuleSet:
    """The rules without those that are true for reasons that have nothing to do with the readings.

    Dropped are rules whose consequent holds in every row in which it is known; whose consequent is about the same
    feature as the antecedent; that put two statements together of which one says what the other does (aggregates of
    the same sensors, existential statements with more and with fewer conditions); and, with an ``ontology``, those
    whose consequent follows from it: a class from a subclass, from a property that only the class has, or from the
    domain or range of a relation.

    >>> import polars as pl
    >>> from thence.counting.recount import recount
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


def drop_covered(rules: RuleSet, table: TransactionTable) -> RuleSet:
    """The rules without those that a more general one makes superfluous.

    A rule goes when another one has the same consequent or a narrower one, holds wherever it does (each of its items
    is one of the rule's, or wider), and is at least as confident. Every rule that goes leaves such a one behind, so
    coverage stays as it was.

    >>> import polars as pl
    >>> from thence.counting.recount import recount
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
