"""Which place and which period a card shows, and why, in words. Plain arrays only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thence.show.reports.periods import Chosen

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Aim:
    """What a card is to show; what is not given is chosen.

    Args:
        spot: The number of the place.
        node: The id of a node; the first place that it belongs to is shown. Without effect if there is none.
        moment: A moment in milliseconds since 1970; the period around it is shown.
    """

    spot: int | None = None
    node: str = ""
    moment: int | None = None


ANYWHERE = Aim()
"""The place and the period that show a statement best."""


def best_place(rows: Ints, held: Ints, *, keeps: Bools, parts: Ints | None = None) -> int | None:
    """Choose a place that keeps a statement and breaks it now and then, with about as many rows as any.

    Args:
        rows: Rows of each place in which the statement applies.
        held: Rows of these in which it holds.
        keeps: Whether the place keeps the statement.
        parts: Number of series that make up the statement at each place; more of them show more.

    Returns:
        The place with the highest share among those with at least half as many rows as the largest; of equal ones that
        with most parts, then with most rows. ``None`` if the statement applies nowhere.

    Examples:
        >>> rows, held = np.array([100, 90, 80, 7]), np.array([100, 89, 70, 6])
        >>> best_place(rows, held, keeps=np.array([True, True, True, False]))
        1
    """
    candidates = np.flatnonzero(keeps & (rows > 0))
    if not len(candidates):
        candidates = np.flatnonzero(held > 0)
    if not len(candidates):
        candidates = np.flatnonzero(rows > 0)
    if not len(candidates):
        return None
    large = candidates[2 * rows[candidates] >= rows[candidates].max()]
    failing = large[rows[large] > held[large]]
    large = failing if len(failing) else large
    size = np.zeros(len(rows), np.int64) if parts is None else parts
    order = np.lexsort((large, -rows[large], -size[large], -held[large] / rows[large]))
    return int(large[order[0]])


def tell_choice(rows: Ints, held: Ints, *, chosen: int, period: Chosen, held_shown: int, broken_shown: int) -> str:
    """Say why a place and a period are shown: how the statement does there, and how it does in all.

    Args:
        rows: Rows of each place in which the statement applies.
        held: Rows of these in which it holds.
        chosen: The place that is shown.
        period: The period that is shown.
        held_shown: Windows of the period in which it holds at the place.
        broken_shown: Windows of the period in which it is broken there.

    Examples:
        >>> rows, held = np.array([100, 90]), np.array([100, 89])
        >>> print(tell_choice(rows, held, chosen=1, period=Chosen(0, 9, "week"), held_shown=8, broken_shown=1))
        One of 2 places where it applies; here it holds in 89 of 90 windows. In this week it holds in 8 and fails in 1.
    """
    places = int((rows > 0).sum())
    where = ""
    if places > 1:
        own, kept = int(rows[chosen]), int(held[chosen])
        share = f"all {own:,} windows" if own == kept else f"{kept:,} of {own:,} windows"
        here = "here it applies in one window" if own == 1 else f"here it holds in {share}"
        where = f"One of {places:,} places where it applies; {here}. "
    when = tell_period(period)
    count = held_shown + broken_shown
    if not count:
        said = "does not apply"
    elif not broken_shown:
        said = f"holds in all {count:,} windows in which it applies" if count > 1 else "applies once, and holds"
    elif not held_shown:
        said = f"fails in all {count:,} windows in which it applies" if count > 1 else "applies once, and fails"
    else:
        said = f"holds in {held_shown:,} and fails in {broken_shown:,}"
        said += "" if where else f" of the {count:,} windows in which it applies"
    total = int((rows - held).sum())
    of_all = f"; in all it fails in {total:,} of {int(rows.sum()):,}" if total > broken_shown else ""
    return f"{where}{when} it {said}{of_all}."


def tell_period(period: Chosen) -> str:
    """Say which period is shown.

    Args:
        period: The period.

    Examples:
        >>> tell_period(Chosen(0, 9, "week")), tell_period(Chosen(0, 9, "3 days")), tell_period(Chosen(0, 9, ""))
        ('In this week', 'In these 3 days', 'In the whole time')
    """
    if not period.length:
        return "In the whole time"
    return f"In {'these' if period.length[0].isdigit() else 'this'} {period.length}"
