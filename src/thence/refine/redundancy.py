"""Rules that nobody needs to read: trivia, mirror images, rules no better than a simpler or a more general one.

Each step is a function of its own from rules to fewer rules. All work on arrays of integers, so that a million rules
take seconds. What covers the data with the fewest rules is chosen in :mod:`thence.refine.coverage`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

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

__all__ = ["drop_covered", "drop_mirrored", "drop_trivia", "simplify"]

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
    """The rules with those that only rename the variables of a symmetric pattern into one another told once.

    Of such rules the one with the larger support is kept (then confidence, then text). Since a symmetric place is one
    embedding, the two are counted over the two readings of it and may differ.
    """
    best: dict[tuple[Any, ...], int] = {}
    drop = np.zeros(len(rules), bool)
    confidence = rules.measure("confidence")
    for part in parts_of(rules, table):
        pattern = part.block.pattern
        renamings = [] if pattern is None else _renamings(pattern)
        if not renamings:
            continue
        items = {rules.items[i]: place for place, i in enumerate(part.items.tolist())}
        maps = [_item_map(items, renaming) for renaming in renamings]
        for row, rule in enumerate(part.rules.tolist()):
            own = (int(part.right[row]), *(part.left[row][part.left[row] >= 0].tolist()))
            images = [own]
            for moved in maps:
                image = [moved[i] for i in own]
                if min(image) >= 0:
                    images.append((image[0], *sorted(image[1:])))
            key = (part.at, *min(images))
            other = best.setdefault(key, rule)
            if other != rule:
                worse = max(
                    (other, rule), key=lambda r: (-rules.counts.n_both[r], -confidence[r], str(rules.rule(r)), r)
                )
                drop[worse] = True
                best[key] = other + rule - worse
    return rules.take(np.flatnonzero(~drop))


def _renamings(pattern: Pattern) -> list[Mapping[str, str]]:
    """The symmetries of a pattern other than the identity, over node and sensor variables."""
    out = []
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
    out = np.full(len(items), -1, np.int64)
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
        return rules
    floor = float(rules.measure("confidence").min()) if min_confidence is None else min_confidence
    kept: list[RuleSet] = []
    todo = _distinct(rules)
    while len(todo):
        gain, best = _gains(todo, table, denominator)
        stays = (gain > _EPSILON) & (gain >= improvement - _EPSILON)
        kept.append(_with_gain(todo.take(stays), gain[stays]))
        # Every round shortens the antecedents, so this ends.
        successors = best.take(np.unique(best.extras["of"][~stays], return_index=True)[1]) if len(best) else best
        successors = best.take(_chosen(best, ~stays, floor)) if len(best) else best
        todo = _unseen(successors, kept)
    return replace(RuleSet.concat(kept), notes=rules.notes, facts=rules.facts, coverage_of=rules.coverage_of)
