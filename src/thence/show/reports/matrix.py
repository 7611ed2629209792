"""Which quantities imply which: the rules from each quantity to each other, by number, best rule and confidence."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thence._base.display.plots import quantity
from thence.show.reports.numbers import finite
from thence.show.reports.schema import Matrix, MatrixCell
from thence.statements.rules.ruleset import RuleSet

Ints = npt.NDArray[np.int64]

MOST = 30
"""Quantities of a matrix; those of most rules are kept."""


def build_matrix(rules: RuleSet, *, most: int = MOST) -> Matrix:
    """Return the matrix of quantities: a cell for each pair that some rule leads from and to.

    A rule with several conditions is in a cell for each of them, one that holds both ways in both directions. The best
    rule of a cell is the one with the highest Zhang's metric, then support.

    Args:
        rules: The rules.
        most: The largest number of quantities; those of most rules are kept.

    Examples:
        >>> import thence as th
        >>> rules = th.mine(th.datasets.load("toy"), windows="1h", bins=3, progress="off", confirm=False).rules
        >>> build_matrix(rules)["quantities"][:3]
        ['flow', 'pressure', 'highest pressure']
    """
    if not len(rules):
        return Matrix(quantities=[], cells=[])
    names = [quantity(item.feature) for item in rules.items]
    known = list(dict.fromkeys(names))
    number = {name: at for at, name in enumerate(known)}
    of_item = np.array([*(number[name] for name in names), -1], np.int64)
    given, then, owners = _pairs(rules, of_item)
    width = len(known)
    often = np.bincount(given, minlength=width) + np.bincount(then[then != given], minlength=width)
    ranked = sorted(np.flatnonzero(often).tolist(), key=lambda one: (-int(often[one]), known[one]))[:most]
    place = np.full(width, -1, np.int64)
    place[ranked] = np.arange(len(ranked))
    source, target = place[given], place[then]
    shown = (source >= 0) & (target >= 0)
    cells, owners = source[shown] * len(ranked) + target[shown], owners[shown]
    # The sort is stable: of equal rules the first is the best.
    best_first = np.lexsort([-rules.measure("support"), -np.nan_to_num(rules.measure("zhang"))])
    rank = np.empty(len(rules), np.int64)
    rank[best_first] = np.arange(len(rules))
    counts = np.bincount(cells, minlength=len(ranked) ** 2)
    best = np.full(len(counts), len(rules), np.int64)
    np.minimum.at(best, cells, rank[owners])
    confidence = rules.measure("confidence")
    found = [
        MatrixCell(
            source=cell // len(ranked),
            target=cell % len(ranked),
            rules=int(counts[cell]),
            best=int(best_first[best[cell]]),
            confidence=finite(confidence[best_first[best[cell]]]),
        )
        for cell in np.flatnonzero(counts).tolist()
    ]
    return Matrix(quantities=[known[one] for one in ranked], cells=found)


def _pairs(rules: RuleSet, of_item: Ints) -> tuple[Ints, Ints, Ints]:
    """The pairs of quantities of each rule, each once per rule: from which, to which, and the rule."""
    left, right = np.sort(of_item[rules.antecedents], axis=1), of_item[rules.consequents]
    left[:, 1:][left[:, 1:] == left[:, :-1]] = -1  # a quantity of several conditions counts once
    owner, column = np.nonzero(left >= 0)
    given, then = left[owner, column], right[owner]
    if "both_ways" in rules.extras:
        both = np.nan_to_num(np.asarray(rules.extras["both_ways"], float)).astype(bool)
        back = both[owner] & (given != then)
        given, then = np.concatenate([given, then[back]]), np.concatenate([then, given[back]])
        owner = np.concatenate([owner, owner[back]])
    return given, then, owner
