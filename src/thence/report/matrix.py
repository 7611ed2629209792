"""Which quantities imply which: the rules from each quantity to each other, by number, best rule and confidence."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

from thence.display.plots import quantity
from thence.report.numbers import finite
from thence.report.schema import Matrix, MatrixCell
from thence.rules.ruleset import RuleSet

__all__ = ["build_matrix"]

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
        >>> rules = th.mine(th.datasets.load("toy"), windows="1h", bins=3, progress="off").rules
        >>> build_matrix(rules)["quantities"]
        ['pressure', 'flow']
    """
    if not len(rules):
        return Matrix(quantities=[], cells=[])
    names = [quantity(item.feature) for item in rules.items]
    known = list(dict.fromkeys(names))
    number = {name: at for at, name in enumerate(known)}
    of_item = np.array([*(number[name] for name in names), -1], np.int64)
    pairs, owners = _pairs(rules, of_item, len(known))
    best_first = np.lexsort([np.arange(len(rules)), -rules.measure("support"), -np.nan_to_num(rules.measure("zhang"))])
    rank = np.empty(len(rules), np.int64)
    rank[best_first] = np.arange(len(rules))
    order = np.lexsort([rank[owners], pairs])
    pairs, owners = pairs[order], owners[order]
    cells, first, counts = np.unique(pairs, return_index=True, return_counts=True)
    often: Counter[int] = Counter()
    for cell, count in zip(cells.tolist(), counts.tolist(), strict=True):
        for one in {cell // len(known), cell % len(known)}:
            often[one] += count
    kept = {
        one: at for at, (one, _) in enumerate(sorted(often.items(), key=lambda pair: (-pair[1], known[pair[0]]))[:most])
    }
    confidence = rules.measure("confidence")
    found = [
        MatrixCell(
            source=kept[cell // len(known)],
            target=kept[cell % len(known)],
            rules=count,
            best=int(owners[at]),
            confidence=finite(confidence[owners[at]]),
        )
        for cell, at, count in zip(cells.tolist(), first.tolist(), counts.tolist(), strict=True)
        if cell // len(known) in kept and cell % len(known) in kept
    ]
    return Matrix(
        quantities=[known[one] for one in kept],
        cells=sorted(found, key=lambda cell: (cell["source"], cell["target"])),
    )


def _pairs(rules: RuleSet, of_item: Ints, width: int) -> tuple[Ints, Ints]:
    """The pairs of quantities of each rule, as numbers of cells, each once per rule, and the rule of each."""
    left, right = of_item[rules.antecedents], of_item[rules.consequents]
    owner, column = np.nonzero(left >= 0)
    given, then = left[owner, column], right[owner]
    cells = given * width + then
    if "both_ways" in rules.extras:
        back = np.nan_to_num(np.asarray(rules.extras["both_ways"], float)).astype(bool)[owner]
        cells = np.concatenate([cells, then[back] * width + given[back]])
        owner = np.concatenate([owner, owner[back]])
    unique = np.unique(owner * np.int64(width * width) + cells)
    return unique % (width * width), unique // (width * width)
