"""Codes: numbers that are written where there is no reading, such as −999.

A number is like a code if it is the lowest or highest of its sensor, occurs again, is farther from its nearest
neighbour than any others are from theirs, and either is whole and has a sign or size that no other has, or is one that
is used as a code. What several sensors share is left out; what only one has is noted, since only the user knows what it
means. 0 is never a code. Of what is only scanned, the first rows are looked at.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from thence.data.readers.columns import TypedTable
from thence.data.readings.cleaning import quote_names
from thence.data.readings.few_values import column_batches
from thence.data.readings.frames import collect

SAMPLE_ROWS = 100_000
LEAST_TIMES = 2
LEAST_OTHERS = 10  # different readings beside a code
LEAST_SENSORS = 2
MUCH_LARGER = 4
HUGE = 1e9
_SAME_DIGITS = [int(digit * length) for digit in "789" for length in range(3, 7)]
_PLAIN = [*_SAME_DIGITS, 99, 99.9, 99.99, 999.9, 999.99, 9999.9, 9900, 99900, 6999, 7999, 32767, 32768, 65535]
CODES = frozenset([*(float(sign * code) for code in _PLAIN for sign in (1, -1)), -77.0, -88.0])
"""Numbers that are often used as codes."""


@dataclass(frozen=True)
class Codes:
    """Numbers that are like codes.

    Args:
        shared: By sensor, the codes that it shares with others.
        single: By number, the one sensor that has it.
    """

    shared: Mapping[str, frozenset[float]]
    single: Mapping[float, str]

    def without(self, part: TypedTable) -> tuple[TypedTable, dict[float, int]]:
        """Return a table without the shared codes, and how many readings of each code were left out.

        Args:
            part: The table.
        """
        own = {id: codes for id in part.categorical if (codes := self.shared.get(id))}
        if not own:
            return part, {}
        if part.wide:
            hit = {id: pl.col(id).is_in(list(codes)).fill_null(False) for id, codes in own.items()}
            kept = [pl.when(~hit[id]).then(pl.col(id)).alias(id) for id in own]
            counts = [(pl.col(id) == code).sum().alias(f"{code!r} {id}") for id in own for code in own[id]]
        else:
            value, name = pl.col("value"), pl.col("sensor").cast(pl.String)
            groups: dict[float, list[str]] = {}
            for id, codes in own.items():
                for code in codes:
                    groups.setdefault(code, []).append(id)
            hits = {code: (value == code) & name.is_in(ids) for code, ids in groups.items()}
            kept = [pl.when(~pl.any_horizontal(*hits.values()).fill_null(False)).then(value).alias("value")]
            counts = [hit.sum().alias(f"{code!r} ") for code, hit in hits.items()]
        found: dict[float, int] = {}
        if part.table.in_memory:
            row = collect(part.frame.select(counts), source=part.table.name).row(0, named=True)
            for key, count in row.items():
                code = float(key.partition(" ")[0])
                found[code] = found.get(code, 0) + int(count or 0)
        return replace(part, frame=part.frame.with_columns(kept)), found

    def notes(self, counts: Mapping[float, int], *, removed: bool) -> list[str]:
        """Return what to know about the codes.

        Args:
            counts: How many readings of each code were left out.
            removed: Whether shared codes were left out.
        """
        sensors: dict[float, list[str]] = {}
        for id, codes in self.shared.items():
            for code in codes:
                sensors.setdefault(code, []).append(id)
        out = []
        for code, ids in sorted(sensors.items()):
            some = f"{counts[code]:,} readings of " if counts.get(code) else ""
            named = f"{some}{len(ids)} sensors: {quote_names(sorted(ids))}"
            out.append(
                f"{code:g} read as missing, a code far from all other readings, in {named} (codes=False keeps it)"
                if removed
                else _advice(code, named)
            )
        return out + [_advice(code, f"sensor {quote_names([id])}") for code, id in sorted(self.single.items())]


def _advice(code: float, named: str) -> str:
    return f"{code:g} looks like a code and not like a reading; missing={code:g} would leave it out of {named}"


def find_codes(parts: Sequence[TypedTable], ids: Collection[str]) -> Codes:
    """Find numbers that are like codes.

    Args:
        parts: The typed tables.
        ids: The sensors that read numbers.
    """
    ends: dict[str, tuple[float, float]] = {}
    for part in parts:
        for id, low, high in _ends(part, [id for id in part.categorical if id in ids]):
            known = ends.get(id, (low, high))
            ends[id] = (min(low, known[0]), max(high, known[1]))
    likely = {id: {end for end in found if _may_be_code(end)} for id, found in ends.items()}
    likely = {id: found for id, found in likely.items() if found}
    numbers: dict[str, list[pl.Series]] = {}
    for part in parts:
        for id, series in _readings(part, [id for id in part.categorical if id in likely]):
            numbers.setdefault(id, []).append(series)
    seen = {id: pl.concat(series).to_numpy() for id, series in numbers.items()}
    apart: dict[float, list[tuple[str, bool]]] = {}
    for id, codes in likely.items():
        for code in codes:
            found = _stands_apart(code, seen[id])
            if found is not None:
                apart.setdefault(code, []).append((id, found))
    shared = {code for code, found in apart.items() if len(found) >= LEAST_SENSORS and any(alone for _, alone in found)}
    own = {id: frozenset(code for code in codes & shared if _may_share(code, seen[id])) for id, codes in likely.items()}
    single = {
        code: found[0][0]
        for code, found in apart.items()
        if code not in shared and code in CODES and len(found) == 1 and found[0][1]
    }
    return Codes({id: codes for id, codes in own.items() if codes}, single)


def _may_be_code(end: float) -> bool:
    return end in CODES or abs(end) >= HUGE or (end < 0 and end == round(end))


def _stands_apart(code: float, numbers: npt.NDArray[np.float64]) -> bool | None:
    """Whether a number is farther from all others than these are from each other; ``None`` if it is like them."""
    others = np.unique(numbers[numbers != code])
    if (numbers == code).sum() < LEAST_TIMES or len(others) < LEAST_OTHERS or not _is_odd(code, others):
        return None
    gap = min(abs(code - others[0]), abs(code - others[-1]))
    if gap <= np.diff(others).max():
        return None
    return bool(gap > others[-1] - others[0])


def _may_share(code: float, numbers: npt.NDArray[np.float64]) -> bool:
    """Whether a number that is a code of other sensors may be one of this sensor, which may have no other readings."""
    others = np.unique(numbers[numbers != code])
    return not len(others) or _is_odd(code, others)


def _is_odd(code: float, others: npt.NDArray[np.float64]) -> bool:
    """Whether no other number has such a sign or size, or the number is one that is used as a code."""
    outside = not others[0] <= code <= others[-1]
    other_sign = code < 0 <= others[0]
    larger = abs(code) > MUCH_LARGER * max(abs(others[0]), abs(others[-1]))
    return outside and (code in CODES or other_sign or larger)


def _ends(part: TypedTable, ids: Sequence[str]) -> Iterator[tuple[str, float, float]]:
    """Yield the lowest and the highest reading of each sensor."""
    frame, source = _looked_at(part), part.table.name
    if not ids:
        return
    if part.wide:
        found: list[tuple[str, float | None, float | None]] = []
        for some, columns in column_batches(frame, ids, source, in_memory=part.table.in_memory):
            cells = [pl.col(id).cast(pl.Float64) for id in some]
            cells = [cell.filter(cell.is_finite()) for cell in cells]
            lows = [cell.min().alias(f"low {k}") for k, cell in enumerate(cells)]
            highs = [cell.max().alias(f"high {k}") for k, cell in enumerate(cells)]
            row = collect(columns.select(*lows, *highs), source=source).row(0)
            found += zip(some, row, row[len(some) :], strict=False)
    else:
        value = pl.col("value").cast(pl.Float64)
        rows = frame.select(pl.col("sensor").cast(pl.String), value).filter(pl.col("value").is_finite())
        grouped = rows.group_by("sensor").agg(pl.col("value").min().alias("low"), pl.col("value").max().alias("high"))
        found = [row for row in collect(grouped, source=source).iter_rows() if row[0] in ids]
    yield from ((id, low, high) for id, low, high in found if low is not None and high is not None)


def _readings(part: TypedTable, ids: Sequence[str]) -> Iterator[tuple[str, pl.Series]]:
    """Yield the finite readings of sensors."""
    frame, source = _looked_at(part), part.table.name
    if not ids:
        return
    if part.wide:
        cells = collect(frame.select(pl.col(id).cast(pl.Float64) for id in ids), source=source)
        yield from ((id, cells[id].filter(cells[id].is_finite().fill_null(False))) for id in ids)
        return
    rows = frame.select(pl.col("sensor").cast(pl.String), pl.col("value").cast(pl.Float64))
    rows = rows.filter(pl.col("value").is_finite() & pl.col("sensor").is_in(list(ids)))
    yield from ((str(id), group["value"]) for (id,), group in collect(rows, source=source).group_by("sensor"))


def _looked_at(part: TypedTable) -> pl.LazyFrame:
    return part.frame if part.table.in_memory else part.frame.head(SAMPLE_ROWS)
