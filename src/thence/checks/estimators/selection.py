"""Selection of rules that classify: those needed so that every row is right several times.

Rules are taken from the most trusted on. A rule is kept if it is right about a row that fewer than ``covers`` kept
rules are right about. This is the coverage step of associative classifiers (CBA with one cover, CMAR with several).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["select_covering"]

BoolArray = npt.NDArray[np.bool_]


def select_covering(
    order: Sequence[int],
    applies: Callable[[int], BoolArray],
    says: npt.NDArray[np.int64],
    classes: npt.NDArray[np.int64],
    *,
    covers: int,
) -> tuple[list[int], BoolArray]:
    """Select rules until every row that can be is right ``covers`` times.

    Args:
        order: The rules, the most trusted first.
        applies: Returns the rows to which a rule applies.
        says: The class that each rule concludes.
        classes: The class of each row.
        covers: How many kept rules shall be right about a row.

    Returns:
        The kept rules in order, and whether each row is one to which a kept rule applies.

    Examples:
        >>> masks = [np.array([True, True, False]), np.array([True, False, False]), np.array([False, False, True])]
        >>> says, classes = np.array([0, 0, 1]), np.array([0, 0, 1])
        >>> kept, reached = select_covering([0, 1, 2], masks.__getitem__, says, classes, covers=1)
        >>> kept, reached.tolist()
        ([0, 2], [True, True, True])
    """
    needed = np.full(len(classes), covers, np.int64)
    reached = np.zeros(len(classes), bool)
    kept: list[int] = []
    for rule in order:
        if not (needed > 0).any():
            break
        rows = applies(rule)
        right = rows & (classes == says[rule])
        if (right & (needed > 0)).any():
            kept.append(rule)
            needed[right] -= 1
            reached |= rows
    return kept, reached
