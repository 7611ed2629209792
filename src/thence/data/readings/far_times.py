"""Far times: rows whose years are far from those of nearly all others, such as 2091 or 1970 in data of 2019.

One of them would stretch the windows over decades or centuries of nothing. Years are counted, so that data that does
not fit in memory is checked in one pass over its times; what happens to these rows is decided by the caller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from thence.data.readings.frames import collect

__all__ = ["bulk_years", "count_years"]

LONGEST_GAP = 10
"""Years without a row beyond which rows may be far."""
FEW = 0.1  # share of the rows that may be far from the others; more are another period, not a mistake


def bulk_years(rows: Mapping[int, int]) -> tuple[int, int] | None:
    """Return the first and the last year of nearly all rows, if a few rows are far from these.

    Rows are far if more than ten years without a row, and more years than the others span, lie between them and the
    others.

    Args:
        rows: Number of rows by year.

    Examples:
        >>> bulk_years({2018: 500, 2019: 600, 2091: 1})
        (2018, 2019)
        >>> bulk_years({1990: 300, 2019: 600}) is None
        True
    """
    years = sorted(year for year, count in rows.items() if count)
    groups: list[list[int]] = []
    for year in years:
        if groups and year - groups[-1][-1] <= LONGEST_GAP:
            groups[-1].append(year)
        else:
            groups.append([year])
    if len(groups) < 2:
        return None
    most = max(groups, key=lambda group: sum(rows[year] for year in group))
    total, held = sum(rows.values()), sum(rows[year] for year in most)
    if not 0 < total - held <= max(1, FEW * total) or total < 4:
        return None
    span = most[-1] - most[0] + 1
    near = [g for g in groups if max(g[0] - most[-1], most[0] - g[-1]) <= max(LONGEST_GAP, span)]
    if len(near) == len(groups):
        return None
    return min(group[0] for group in near), max(group[-1] for group in near)


def count_years(parts: Sequence[pl.LazyFrame], *, source: str) -> dict[int, int]:
    """Count the rows of frames by the year of their column ``time``.

    Args:
        parts: The frames.
        source: Name of the data in messages.
    """
    years = pl.concat([part.select(pl.col("time").dt.year().alias("year")) for part in parts])
    found = collect(years.drop_nulls().group_by("year").len(), source=source)
    return {int(year): int(count) for year, count in found.iter_rows()}
