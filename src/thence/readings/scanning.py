"""Walk over readings without holding them all: batches in file order, or series by series in bounded blocks.

Every walk counts what it meets (gaps, infinities, repetitions, rows out of order), so that a lazily scanned Parquet
set gets the same checks as a frame in memory, later. This module decides nothing about windows or sensor kinds; it
takes a typed lazy frame (see ``SensorData``) and plain arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt
import polars as pl

from thence.errors import InputError
from thence.readings.cleaning import OnError
from thence.readings.findings import Finding
from thence.readings.name_codes import NameCoder

__all__ = [
    "Readings",
    "Series",
    "Tally",
    "audit",
    "batches",
    "collect",
    "contradiction",
    "iter_numbers",
    "iter_states",
    "merged_findings",
    "stream_windows",
    "time_bounds",
]

BATCH_ROWS = 1_000_000
BLOCK_CELLS = 16_000_000

Int64Array = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Readings:
    """Typed lazy frames and what a walk must know about them.

    A long table is a single part; the files of a wide one may have different columns and stay apart.
    """

    parts: tuple[pl.LazyFrame, ...]
    layout: str
    on_error: OnError
    source: str

    @property
    def lazy(self) -> pl.LazyFrame:
        """All parts as one frame."""
        return self.parts[0] if len(self.parts) == 1 else pl.concat(self.parts, how="diagonal")


@dataclass(frozen=True)
class Series:
    """One sensor's readings: times strictly increasing, values finite (or state codes with their categories)."""

    position: int
    times: Int64Array
    values: npt.NDArray[np.generic]
    categories: tuple[str, ...] = ()


@dataclass
class Tally:
    """What a walk has met so far, by position of the sensor."""

    n_sensors: int
    bad_times: int = 0
    disordered_rows: int = 0
    counts: Int64Array = field(init=False)

    def __post_init__(self) -> None:
        from thence.readings.window_kernels import TALLIES

        self.counts = np.zeros((self.n_sensors, TALLIES), dtype=np.int64)

    def findings(self, ids: Sequence[str]) -> list[Finding]:
        """The tally as findings of a report."""
        from thence.readings import window_kernels as k

        found = [
            Finding(what, count)
            for what, count in (("bad-time", self.bad_times), ("disordered", self.disordered_rows))
            if count
        ]
        named = {
            "missing": k.MISSING,
            "infinite": k.INFINITE,
            "disordered": k.DISORDERED,
            "repeated": k.REPEATED,
            "conflicting": k.CONFLICTING,
        }
        silent = self.counts[:, k.READINGS] == 0
        for what, column in named.items():
            counts = self.counts[:, column].copy()
            if what == "missing":
                counts[silent] = 0  # a sensor that never reads is one finding, not a million missing cells
            found += [Finding(what, int(counts[at]), ids[at]) for at in np.flatnonzero(counts).tolist()]
        return found + [Finding("silent", 1, ids[at]) for at in np.flatnonzero(silent).tolist()]


def collect(lazy: pl.LazyFrame, *, source: str) -> pl.DataFrame:
    """Collect with the streaming engine; a file that cannot be read to its end is named."""
    try:
        return lazy.collect(engine="streaming")
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"cannot be read: {_first_line(error)}", where=source) from error


def time_bounds(readings: Readings) -> tuple[int, int] | None:
    """First and last time of any row in microseconds, or ``None`` without rows."""
    time = pl.col("time")
    times = pl.concat([part.select("time") for part in readings.parts])
    query = times.select(time.min().alias("first"), time.max().alias("last"))
    first, last = collect(query, source=readings.source).select(pl.all().to_physical()).row(0)
    return None if first is None else (first, last)


def batches(
    readings: Readings, ids: Sequence[str], tally: Tally
) -> Iterator[tuple[Int64Array, npt.NDArray[np.uint32], FloatArray]]:
    """Times, sensor positions and values of a long frame, batch by batch in the order of the file."""
    coder = NameCoder(ids, source=readings.source)
    query = _rows_of(readings.lazy, ids, "value")
    try:
        for batch in query.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True, lazy=True):
            batch = _with_times(batch, readings, tally)
            yield (
                batch["time"].to_physical().to_numpy(),
                coder.codes(batch["sensor"]),
                batch["value"].to_numpy(),
            )
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"cannot be read: {_first_line(error)}", where=readings.source) from error


def stream_windows(
    readings: Readings,
    ids: Sequence[str],
    tally: Tally,
    *,
    start: int,
    every: int,
    ops: npt.NDArray[np.int8],
    main: FloatArray,
    other: FloatArray,
    counts: npt.NDArray[np.int32],
) -> bool:
    """Add all numeric readings of a long frame to windows in one pass; false if they came out of order.

    After false the arrays are worthless (a repetition among unordered rows cannot be seen here) and the series have
    to be walked one by one.
    """
    from thence.readings.window_kernels import CONFLICTING, DISORDERED, add_readings

    latest = np.full(len(ids), np.iinfo(np.int64).min)
    latest_value = np.full(len(ids), np.nan)
    for times, codes, values in batches(readings, ids, tally):
        add_readings(times, codes, values, start, every, ops, main, other, counts, latest, latest_value, tally.counts)
        if tally.counts[:, (DISORDERED, CONFLICTING)].any():
            return False
    return True


def audit(readings: Readings, numeric: Sequence[str], states: Sequence[str]) -> list[Finding]:
    """Everything that a full pass finds, without keeping anything."""
    from thence.readings.window_kernels import COUNT

    numbers, categories = Tally(len(numeric)), Tally(len(states))
    bounds = time_bounds(readings)
    ordered = False
    if readings.layout == "long" and bounds is not None:
        ordered = stream_windows(
            readings,
            numeric,
            numbers,
            start=bounds[0],
            every=bounds[1] - bounds[0] + 1,
            ops=np.full(len(numeric), COUNT, dtype=np.int8),
            main=np.empty((0, 0)),
            other=np.empty((0, 0)),
            counts=np.zeros((1, len(numeric)), dtype=np.int32),
        )
    if not ordered:
        numbers = Tally(len(numeric))
        for _ in iter_numbers(readings, numeric, numbers):
            pass
    for _ in iter_states(readings, states, categories):
        pass
    return merged_findings(readings, (numeric, numbers), (states, categories))


def merged_findings(readings: Readings, *walks: tuple[Sequence[str], Tally]) -> list[Finding]:
    """The findings of several walks over the same frame; what concerns whole rows of a wide frame counts once."""
    if readings.layout == "wide":
        for what in ("bad_times", "disordered_rows"):
            most = max(getattr(tally, what) for _, tally in walks)
            for i, (_, tally) in enumerate(walks):
                setattr(tally, what, most if i == 0 else 0)
    return [finding for ids, tally in walks for finding in tally.findings(ids)]


def iter_numbers(readings: Readings, ids: Sequence[str], tally: Tally) -> Iterator[Series]:
    """The numeric sensors one by one, sorted and free of repetitions; only a block of them is in memory."""
    walk = _wide_blocks if readings.layout == "wide" else _long_blocks
    for position, times, column in walk(readings, ids, "value", tally):
        values = column.to_numpy().astype(np.float64, copy=False)
        finite = np.isfinite(values)
        _count_gaps(tally, position, int(np.isnan(values).sum()), int(np.isinf(values).sum()))
        yield _settle(readings, tally, ids[position], position, times[finite], values[finite])


def iter_states(readings: Readings, ids: Sequence[str], tally: Tally) -> Iterator[Series]:
    """The categorical sensors one by one, as codes into their sorted categories."""
    walk = _wide_blocks if readings.layout == "wide" else _long_blocks
    for position, times, column in walk(readings, ids, "state", tally):
        categories = column.drop_nulls().unique().sort()
        codes = column.cast(pl.Enum(categories)).to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
        present = codes >= 0
        _count_gaps(tally, position, int((~present).sum()), 0)
        names = tuple(categories.to_list())
        yield _settle(readings, tally, ids[position], position, times[present], codes[present], names)


def _count_gaps(tally: Tally, position: int, missing: int, infinite: int) -> None:
    from thence.readings.window_kernels import INFINITE, MISSING

    tally.counts[position, MISSING] += missing
    tally.counts[position, INFINITE] += infinite


def _settle(
    readings: Readings,
    tally: Tally,
    name: str,
    position: int,
    times: Int64Array,
    values: npt.NDArray[np.generic],
    categories: tuple[str, ...] = (),
) -> Series:
    from thence.readings.window_kernels import CONFLICTING, DISORDERED, READINGS, REPEATED

    if (times[1:] < times[:-1]).any():
        tally.counts[position, DISORDERED] += int((times[1:] < np.maximum.accumulate(times)[:-1]).sum())
        order = np.argsort(times, kind="stable")
        times, values = times[order], values[order]
    again = times[1:] == times[:-1]
    if again.any():
        last = np.append(~again, True)
        group = np.concatenate(([0], np.cumsum(~again)))
        kept = values[last]
        sizes = np.bincount(group)
        clash = np.bincount(group, weights=values != kept[group]) > 0
        if clash.any() and readings.on_error == "raise":
            at = group == np.flatnonzero(clash)[0]
            said = values[at].tolist()
            pair = [said[0], next(value for value in said if value != said[0])]
            raise contradiction(readings, name, int(times[at][0]), [categories[v] if categories else v for v in pair])
        tally.counts[position, CONFLICTING] += int((sizes[clash] - 1).sum())
        tally.counts[position, REPEATED] += int((sizes[~clash] - 1).sum())
        times, values = times[last], kept
    tally.counts[position, READINGS] += times.size
    return Series(position, times, values, categories)


def contradiction(readings: Readings, name: str, time: int, values: Sequence[object]) -> InputError:
    """The error for two different readings of one sensor at one time."""
    when = (EPOCH + timedelta(microseconds=time)).isoformat()
    hint = "read with on_error='repair' to keep the last one"
    if len(readings.parts) > 1:
        hint += ", or with name='{file}/{column}' if these are different sensors"
    shown = " and ".join(repr(value) for value in values)
    return InputError(f"sensor '{name}' has two readings at {when}: {shown}", where=readings.source, hint=hint)


def _with_times(frame: pl.DataFrame, readings: Readings, tally: Tally) -> pl.DataFrame:
    empty = frame["time"].null_count()
    if not empty:
        return frame
    if readings.on_error == "raise":
        raise InputError(
            f"{empty:,} rows have no usable time",
            where=readings.source,
            hint="check time_format and timezone, or read with on_error='repair' to leave these rows out",
        )
    tally.bad_times += empty
    return frame.filter(pl.col("time").is_not_null())


_Raw = Iterator[tuple[int, Int64Array, pl.Series]]


def _wide_blocks(readings: Readings, ids: Sequence[str], _: str, tally: Tally) -> _Raw:
    """Columns of wide frames, as many at a time as fit into a block (a Parquet file reads only those)."""
    if not ids:
        return
    columns = [set(part.collect_schema()) for part in readings.parts]
    n_rows = sum(collect(part.select(pl.len()), source=readings.source).item() for part in readings.parts)
    width = max(1, BLOCK_CELLS // max(1, n_rows))
    for first in range(0, len(ids), width):
        names = ids[first : first + width]
        pieces: dict[str, list[tuple[Int64Array, pl.Series]]] = {name: [] for name in names}
        block = Tally(0)
        for part, has in zip(readings.parts, columns, strict=True):
            wanted = [name for name in names if name in has]
            frame = _with_times(collect(part.select("time", *wanted), source=readings.source), readings, block)
            times = frame["time"].to_physical().to_numpy()
            late = times[1:] < np.maximum.accumulate(times)[:-1]
            block.disordered_rows += int(late.sum())
            order = np.argsort(times, kind="stable") if late.any() else None
            for name in wanted:
                column = frame[name]
                pieces[name].append((times, column) if order is None else (times[order], column[order]))
        # Rows are the same for every block of columns: what concerns rows counts once.
        tally.bad_times = max(tally.bad_times, block.bad_times)
        tally.disordered_rows = max(tally.disordered_rows, block.disordered_rows)
        for offset, name in enumerate(names):
            yield first + offset, *_joined(pieces[name])


def _joined(pieces: Sequence[tuple[Int64Array, pl.Series]]) -> tuple[Int64Array, pl.Series]:
    """The column of one sensor from several files, in the order of time."""
    if len(pieces) == 1:
        return pieces[0]
    times = np.concatenate([times for times, _ in pieces])
    cells = pl.concat([column for _, column in pieces])
    if (times[1:] >= times[:-1]).all():
        return times, cells
    order = np.argsort(times, kind="stable")
    return times[order], cells[order]


def _long_blocks(readings: Readings, ids: Sequence[str], column: str, tally: Tally) -> _Raw:
    """Rows of a long frame sensor by sensor, as many sensors at a time as fit into a block."""
    if not ids:
        return
    counted = collect(readings.lazy.group_by("sensor").agg(pl.len()), source=readings.source)
    sizes = dict.fromkeys(ids, 0) | dict(counted.with_columns(pl.col("sensor").cast(pl.String)).iter_rows())
    first = 0
    while first < len(ids):
        after, rows = first + 1, sizes[ids[first]]
        while after < len(ids) and rows + sizes[ids[after]] <= BLOCK_CELLS:
            rows += sizes[ids[after]]
            after += 1
        names = ids[first:after]
        query = _rows_of(readings.lazy, names, column, only=len(names) < len(ids))
        frame = _with_times(collect(query, source=readings.source), readings, tally)
        positions = NameCoder(names, source=readings.source).codes(frame["sensor"])
        # Sixteen bits sort by counting, which is stable and takes one pass.
        order = np.argsort(positions.astype(np.uint16) if len(names) < 65_536 else positions, kind="stable")
        ends = np.cumsum(np.bincount(positions, minlength=after - first))
        times, cells = frame["time"].to_physical().to_numpy()[order], frame[column][order]
        for k, end in enumerate(ends):
            begin = 0 if k == 0 else ends[k - 1]
            yield first + k, times[begin:end], cells[begin:end]
        first = after


def _rows_of(lazy: pl.LazyFrame, ids: Sequence[str], column: str, *, only: bool = False) -> pl.LazyFrame:
    """Times, sensors and one column of cells of these sensors; other sensors are there if some read states."""
    if only or "state" in lazy.collect_schema():
        lazy = lazy.filter(pl.col("sensor").is_in(list(ids)))
    return lazy.select("time", "sensor", column)


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
