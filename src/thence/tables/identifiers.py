"""Columns of a frame that no rule can use: ids, free text and times. They are left out, and named with the reason.

Only columns whose values (nearly) all differ are ids: a rule about one of them would be about one row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from thence.tables.frames import to_text

if TYPE_CHECKING:
    import polars as pl

MIN_ROWS = 20
"""In shorter frames, values that all differ say nothing."""


def find_unusable(frame: pl.DataFrame, *, keep: frozenset[str] = frozenset()) -> dict[str, str]:
    """Return the columns that no rule can use, with the reason.

    Args:
        frame: The frame.
        keep: Columns that are used whatever they hold.

    Examples:
        >>> import polars as pl
        >>> names = [f"n{i}" for i in range(20)]
        >>> find_unusable(pl.DataFrame({"id": range(20), "name": names, "size": [0.5, 1.5] * 10}))
        {'id': 'counts the rows', 'name': '20 different texts in 20 rows'}
    """
    reasons = {}
    for series in frame.get_columns():
        reason = None if series.name in keep else _reason(series)
        if reason is not None:
            reasons[series.name] = reason
    return reasons


def _reason(series: pl.Series) -> str | None:
    if series.dtype.is_temporal():
        return "times"
    present = series.drop_nulls()
    if series.dtype.is_nested() or len(present) < MIN_ROWS or series.dtype.is_float():
        return None
    if series.dtype.is_integer():
        distinct = present.n_unique()
        span = int(present.max()) - int(present.min())  # type: ignore[arg-type]
        return "counts the rows" if distinct == len(present) == span + 1 else None
    distinct = to_text(present).n_unique()
    return f"{distinct:,} different texts in {len(present):,} rows" if 2 * distinct > len(present) else None


def describe_unusable(reasons: Mapping[str, str]) -> list[str]:
    """Return a note that names the columns that were left out; none if there are none.

    Examples:
        >>> describe_unusable({"id": "counts the rows"})
        ["left out: 'id' (counts the rows)"]
    """
    if not reasons:
        return []
    shown = [f"'{name}' ({reason})" for name, reason in reasons.items()]
    return ["left out: " + ", ".join(shown[:10]) + (f" and {len(shown) - 10} more" if len(shown) > 10 else "")]
