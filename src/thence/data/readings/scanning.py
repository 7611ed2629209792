"""Scanning of readings that need not fit in memory: batches in file order, or series by series in bounded blocks.

Every scan counts what it finds (gaps, infinities, duplicates, rows out of order), so lazily scanned data gets the same
checks as a frame in memory, only later; the rules are those of ``thence.data.readings.cleaning``. Hashing the sensor
name of every row costs more than reading all other columns, so equal names are recognised by the 16-byte views with
which Arrow refers to strings. This module takes typed lazy frames (see ``SensorData``) and plain arrays; it decides
nothing about windows or sensor kinds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt
import polars as pl

from thence.data.readings.cleaning import (
    KEEP_LAST,
    KEEP_LAST_OR_RENAME,
    MAX_LOSS,
    ErrorPolicy,
    OnError,
    conflict_error,
    count_late,
    drop_rows_without_time,
    place_of,
    report_silent,
)
from thence.data.readings.findings import Finding
from thence.data.readings.frames import collect, iter_batches
from thence.errors import InputError, nearest

NAME_BATCH_ROWS = 1_000_000
PLAIN_BATCHES = 3
MOST_NAMES = 1 << 16
UNKNOWN = np.iinfo(np.uint32).max

UInt32Array = npt.NDArray[np.uint32]


class NameCoder:
    """Encodes columns of names as positions in a list of names.

    Args:
        names: The known names.
        source: Name of the data in messages.

    Examples:
        >>> NameCoder(["a", "b"], source="frame").codes(pl.Series(["b", "a", "b"])).tolist()
        [1, 0, 1]
    """

    def __init__(self, names: Sequence[str], *, source: str) -> None:
        self._positions = {name: k for k, name in enumerate(names)}
        self._source = source
        self._lookup = np.empty(0, dtype=np.uint32)

    def codes(self, column: pl.Series) -> UInt32Array:
        """Return the position of each name.

        Raises:
            InputError: If a name is missing or not in the list.
        """
        if column.null_count():
            raise missing_name_error(self._source)
        if column.dtype == pl.String:
            parts = [self._text_codes(chunk) for chunk in column.get_chunks()]
            return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, dtype=np.uint32), *parts])
        return self._category_codes(column)

    def _category_codes(self, column: pl.Series) -> UInt32Array:
        """Map physical codes, which mean the same category in every batch."""
        physical = column.to_physical().to_numpy()
        top = int(physical.max()) + 1 if physical.size else 0
        if top <= self._lookup.size:
            codes: UInt32Array = self._lookup[physical]
            if not (codes == UNKNOWN).any():
                return codes
        names = column.unique()
        lookup: UInt32Array = np.full(max(top, self._lookup.size), UNKNOWN, dtype=np.uint32)
        lookup[: self._lookup.size] = self._lookup
        lookup[names.to_physical().to_numpy()] = self._positions_of(names.cast(pl.String))
        self._lookup = lookup
        found: UInt32Array = lookup[physical]
        return found

    def _text_codes(self, chunk: pl.Series) -> UInt32Array:
        views = _views(chunk)
        if views is not None:
            grouped = _group(views, most=max(4 * len(self._positions), 1024))
            if grouped is not None:
                return self._recode(chunk[grouped[0]], grouped[1])
        distinct = chunk.unique()
        return self._recode(distinct, chunk.cast(pl.Enum(distinct)).to_physical().to_numpy())

    def _recode(self, names: pl.Series, codes: npt.NDArray[np.unsignedinteger]) -> UInt32Array:
        positions: UInt32Array = self._positions_of(names)[codes]
        return positions

    def _positions_of(self, names: pl.Series) -> UInt32Array:
        positions = self._positions
        listed = names.to_list()
        for name in listed:
            if name not in positions:
                raise InputError(
                    f"unknown sensor '{name}' in a row; {len(positions)} sensors are known",
                    where=self._source,
                    hint=nearest(str(name), positions),
                )
        return np.array([positions[name] for name in listed], dtype=np.uint32)


def missing_name_error(source: str) -> InputError:
    """Return the error for rows without a sensor name."""
    return InputError("some rows have no sensor name", where=source, hint="drop these rows or fill in the name")


def distinct_names(lazy: pl.LazyFrame, column: str, *, source: str) -> list[str | None]:
    """Return the distinct names of a column, sorted, with ``None`` first if a row has no name.

    The column is read once, in batches.

    Args:
        lazy: The frame.
        column: The column of names.
        source: Name of the data in messages.

    Examples:
        >>> distinct_names(pl.LazyFrame({"s": ["b", "a", None, "b"]}), "s", source="frame")
        [None, 'a', 'b']
    """
    found: set[str | None] = set()
    seen = np.zeros(0, dtype=bool)
    batches = iter_batches(lazy.select(column), rows=NAME_BATCH_ROWS, ordered=False, source=source)
    for number, batch in enumerate(batches):
        for chunk in batch[column].get_chunks():
            if _is_category(chunk.dtype) and not chunk.null_count():
                names, seen = _new_categories(chunk, seen)
            else:
                # Compiling the kernel does not pay for the first few batches.
                views = _views(chunk) if number >= PLAIN_BATCHES else None
                grouped = _group(views, most=MOST_NAMES) if views is not None else None
                names = chunk.unique() if grouped is None else chunk[grouped[0]]
            found.update(names.cast(pl.String).to_list())
    return sorted(found, key=lambda name: (name is not None, name or ""))


def _is_category(dtype: pl.DataType) -> bool:
    return dtype == pl.Categorical or isinstance(dtype, pl.Enum)


def _new_categories(chunk: pl.Series, seen: npt.NDArray[np.bool_]) -> tuple[pl.Series, npt.NDArray[np.bool_]]:
    """Return the categories that no earlier chunk had, and the updated mask of categories seen."""
    physical = chunk.to_physical().to_numpy()
    top = int(physical.max()) + 1 if physical.size else 0
    if top > seen.size:
        seen = np.concatenate([seen, np.zeros(top - seen.size, dtype=bool)])
    fresh = ~seen[physical]
    seen[physical] = True
    return (chunk.filter(pl.Series(fresh)).unique() if fresh.any() else chunk.clear()), seen


def _views(chunk: pl.Series) -> npt.NDArray[np.int64] | None:
    """Return the 16-byte string view of each row, or ``None`` if the column is not stored as views."""
    if chunk.dtype != pl.String or not chunk.len() or chunk.null_count():
        return None
    array = chunk.to_arrow(compat_level=pl.CompatLevel.newest())
    buffers = array.buffers()
    if str(array.type) != "string_view" or buffers[1] is None:
        return None
    pairs = np.frombuffer(buffers[1], dtype=np.int64).reshape(-1, 2)
    return pairs[array.offset : array.offset + len(array)]


def _group(views: npt.NDArray[np.int64], *, most: int) -> tuple[npt.NDArray[np.int64], UInt32Array] | None:
    """Return the first row of each distinct view and the group of each row; ``None`` for more than ``most`` views.

    Equal views are equal strings. Long strings may be stored more than once, so two groups can have the same name.
    """
    from thence.data.readings.window_kernels import group_views

    firsts = np.empty(most, dtype=np.int64)
    codes = np.empty(len(views), dtype=np.uint32)
    n_groups = group_views(views, firsts, codes)
    return None if n_groups < 0 else (firsts[:n_groups], codes)


LONGEST_GAP = 10
"""Years without a row beyond which rows may be far."""
FEW = 0.1  # share of the rows that may be far from the others; more are another period, not a mistake
BATCH_ROWS = 1_000_000
BLOCK_CELLS = 16_000_000
YEAR = 365 * 86_400 * 10**6

Int64Array = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Readings:
    """Typed lazy frames and what a scan must know about them.

    Args:
        parts: A single frame in long layout; in wide layout one frame per file, since files may have different columns.
        layout: ``"wide"`` or ``"long"``.
        on_error: Whether to raise or to repair.
        source: Name of the data in messages.
        max_loss: Share of the rows or readings that a repair may lose.
        lasting: Sensors whose readings last until their next one.
        ends: Times at which sensors of a long table are known to have no reading, by sensor, in order.
        timezone: The time zone of the clock of the readings, if it is known.
        counters: Sensors that are counters and whose readings are rates.
        breaks: The last time of a run of readings and the first of the next one, where no window spans both.
    """

    parts: tuple[pl.LazyFrame, ...]
    layout: str
    on_error: OnError
    source: str
    max_loss: float = MAX_LOSS
    lasting: frozenset[str] = frozenset()
    ends: Mapping[str, Int64Array] = field(default_factory=dict)
    breaks: tuple[tuple[int, int], ...] = ()
    timezone: str = ""
    counters: frozenset[str] = frozenset()

    @property
    def lazy(self) -> pl.LazyFrame:
        """All parts as one frame."""
        return self.parts[0] if len(self.parts) == 1 else pl.concat(self.parts, how="diagonal")

    @property
    def policy(self) -> ErrorPolicy:
        """The error policy; rows of a scan have no numbers."""
        hint = KEEP_LAST_OR_RENAME if len(self.parts) > 1 else KEEP_LAST
        return ErrorPolicy(self.on_error, self.source, hint=hint, max_loss=self.max_loss)


@dataclass(frozen=True)
class Series:
    """The readings of one sensor: times strictly increase, values are finite.

    Args:
        position: Position of the sensor among those scanned.
        times: Microseconds since 1970.
        values: Numbers, or codes of states.
        categories: The states that the codes index; empty for numbers.
    """

    position: int
    times: Int64Array
    values: npt.NDArray[np.generic]
    categories: tuple[str, ...] = ()


@dataclass
class ScanCounts:
    """What a scan has found so far: rows, and counts ``per_sensor``.

    Args:
        n_sensors: Number of sensors scanned.
        bad_times: Rows without a usable time.
        disordered_rows: Rows of wide frames earlier than a previous row.
    """

    n_sensors: int
    bad_times: int = 0
    disordered_rows: int = 0
    per_sensor: Int64Array = field(init=False)

    def __post_init__(self) -> None:
        from thence.data.readings.window_kernels import N_COUNTS

        self.per_sensor = np.zeros((self.n_sensors, N_COUNTS), dtype=np.int64)

    def findings(self, ids: Sequence[str]) -> list[Finding]:
        """Return the counts as findings; ``ids`` are the sensors in the order of their positions."""
        from thence.data.readings import window_kernels as k

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
        for what, column in named.items():
            counts = self.per_sensor[:, column]
            found += [Finding(what, int(counts[at]), ids[at]) for at in np.flatnonzero(counts).tolist()]
        silent = np.flatnonzero(self.per_sensor[:, k.READINGS] == 0)
        return report_silent(found, [ids[at] for at in silent.tolist()])


def time_bounds(readings: Readings) -> tuple[int, int] | None:
    """Return the first and last time of any row in microseconds, or ``None`` without rows."""
    time = pl.col("time")
    times = pl.concat([part.select("time") for part in readings.parts])
    query = times.select(time.min().alias("first"), time.max().alias("last"))
    first, last = collect(query, source=readings.source).select(pl.all().to_physical()).row(0)
    return None if first is None else (first, last)


def find_far(readings: Readings, policy: ErrorPolicy) -> tuple[tuple[int, int], int] | None:
    """Find rows that are years away from nearly all others, and raise if they may not be dropped.

    One of them would make windows over decades or centuries of nothing.

    Args:
        readings: The readings to scan; a second pass over the times is made only if they span more than ten years.
        policy: Whether to raise or to repair, and how messages refer to a row.

    Returns:
        The first and the last year of the other rows, and the number of far ones; ``None`` without far rows.
    """
    bounds = time_bounds(readings)
    if bounds is None or bounds[1] - bounds[0] <= LONGEST_GAP * YEAR:
        return None
    years = pl.concat([part.select(pl.col("time").dt.year().alias("year")) for part in readings.parts])
    counted = collect(years.drop_nulls().group_by("year").len(), source=readings.source)
    counts = {int(year): int(count) for year, count in counted.iter_rows()}
    bulk = bulk_years(counts)
    if bulk is None:
        return None
    total = sum(counts.values())
    lost = sum(count for year, count in counts.items() if not bulk[0] <= year <= bulk[1])
    if policy.on_error == "raise":
        raise _far_error(readings, bulk, lost, total, policy)
    policy.refuse("far-time", lost, total)
    return bulk, lost


def _far_error(readings: Readings, bulk: tuple[int, int], lost: int, total: int, policy: ErrorPolicy) -> InputError:
    """Return the error for rows that are years away from all others."""
    far = ~pl.col("time").dt.year().is_between(*bulk)
    pieces = (part.with_row_index("_at").filter(far).head(1) for part in readings.parts)
    first = next(piece for part in pieces if (piece := collect(part, source=readings.source)).height)
    others = f"{bulk[0]}" if bulk[0] == bulk[1] else f"{bulk[0]} to {bulk[1]}"
    rows = f"{lost:,} row{'s are' if lost > 1 else ' is'} years away from the other {total - lost:,}"
    return InputError(
        f"{rows}, which are of {others}: {first['time'][0]:%Y-%m-%d %H:%M} UTC",
        where=place_of(first, int(first["_at"][0]) if "_row" not in first.columns else 0, policy),
        hint=policy.advise(
            "far-time", lost, total, "correct the time, or pass on_error='repair' to drop such rows and count them"
        ),
    )


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


def _iter_rows(
    readings: Readings, ids: Sequence[str], counts: ScanCounts
) -> Iterator[tuple[Int64Array, npt.NDArray[np.uint32], FloatArray]]:
    """Yield times, sensor positions and values of a long frame, batch by batch in file order."""
    coder = NameCoder(ids, source=readings.source)
    query = _rows_of(readings.lazy, ids, "value")
    for batch in iter_batches(query, rows=BATCH_ROWS, ordered=True, source=readings.source):
        timed = _drop_untimed(batch, readings, counts)
        yield (
            timed["time"].to_physical().to_numpy(),
            coder.codes(timed["sensor"]),
            timed["value"].to_numpy(),
        )


def stream_windows(
    readings: Readings,
    ids: Sequence[str],
    counts: ScanCounts,
    *,
    start: int,
    every: int,
    ops: npt.NDArray[np.int8],
    main: FloatArray,
    other: FloatArray,
    sizes: npt.NDArray[np.int32],
) -> bool:
    """Add all numeric readings of a long frame to windows in one pass.

    Args:
        readings: Readings in long layout.
        ids: Sensors of the columns of the arrays.
        counts: Updated with what the pass finds.
        start: Start of the first window in microseconds.
        every: Length of a window in microseconds.
        ops: Code of the aggregate of each sensor.
        main: Windows × sensors, updated in place.
        other: The largest value per window, for ranges; updated in place.
        sizes: Number of readings per window, for means and counts; updated in place.

    Returns:
        False if rows are not in time order per sensor. Duplicates among unordered rows cannot be detected here, so the
        arrays are then invalid and the caller must scan series by series.
    """
    from thence.data.readings.window_kernels import CONFLICTING, DISORDERED, add_readings

    latest = np.full(len(ids), np.iinfo(np.int64).min)
    latest_value = np.full(len(ids), np.nan)
    for times, codes, values in _iter_rows(readings, ids, counts):
        add_readings(
            times, codes, values, start, every, ops, main, other, sizes, latest, latest_value, counts.per_sensor
        )
        if counts.per_sensor[:, (DISORDERED, CONFLICTING)].any():
            return False
    return True


def check_readings(readings: Readings, numeric: Sequence[str], states: Sequence[str]) -> list[Finding]:
    """Scan all readings once and return the findings.

    Args:
        readings: The readings to check.
        numeric: Ids of the numeric sensors.
        states: Ids of the categorical sensors.
    """
    from thence.data.readings.window_kernels import COUNT

    of_numbers, of_states = ScanCounts(len(numeric)), ScanCounts(len(states))
    bounds = time_bounds(readings)
    ordered = False
    if readings.layout == "long" and bounds is not None:
        ordered = stream_windows(
            readings,
            numeric,
            of_numbers,
            start=bounds[0],
            every=bounds[1] - bounds[0] + 1,
            ops=np.full(len(numeric), COUNT, dtype=np.int8),
            main=np.empty((0, 0)),
            other=np.empty((0, 0)),
            sizes=np.zeros((1, len(numeric)), dtype=np.int32),
        )
    if not ordered:
        of_numbers = ScanCounts(len(numeric))
        for _ in iter_numbers(readings, numeric, of_numbers):
            pass
    for _ in iter_states(readings, states, of_states):
        pass
    return merge_findings(readings, (numeric, of_numbers), (states, of_states))


def merge_findings(readings: Readings, *scans: tuple[Sequence[str], ScanCounts]) -> list[Finding]:
    """Return the findings of several scans of the same readings; whole rows of a wide frame are counted once.

    Args:
        readings: The readings scanned.
        scans: The ids and the counts of each scan.
    """
    if readings.layout == "wide":
        for what in ("bad_times", "disordered_rows"):
            most = max(getattr(counts, what) for _, counts in scans)
            for i, (_, counts) in enumerate(scans):
                setattr(counts, what, most if i == 0 else 0)
    _refuse_large_losses(readings, [counts for _, counts in scans])
    return [finding for ids, counts in scans for finding in counts.findings(ids)]


def _refuse_large_losses(readings: Readings, scans: Sequence[ScanCounts]) -> None:
    """Raise if the repairs of the scans lose too many rows or readings."""
    from thence.data.readings.window_kernels import CONFLICTING

    per_sensor = np.concatenate([counts.per_sensor for counts in scans])
    if not per_sensor.size:
        return
    cells = int(per_sensor.sum())
    rows = cells if readings.layout == "long" else int(per_sensor.sum(axis=1).max())
    bad = sum(counts.bad_times for counts in scans)
    readings.policy.refuse("bad-time", bad, rows + bad)
    readings.policy.refuse("conflicting", int(per_sensor[:, CONFLICTING].sum()), cells)


def iter_numbers(readings: Readings, ids: Sequence[str], counts: ScanCounts) -> Iterator[Series]:
    """Yield the numeric sensors one by one, sorted and without duplicates; only a block of them is in memory.

    Args:
        readings: The readings to scan.
        ids: Ids of the numeric sensors.
        counts: Updated with what the scan finds.
    """
    scan = _wide_blocks if readings.layout == "wide" else _long_blocks
    for position, times, column in scan(readings, ids, "value", counts):
        values = column.to_numpy().astype(np.float64, copy=False)
        finite = np.isfinite(values)
        _count_gaps(counts, position, int(np.isnan(values).sum()), int(np.isinf(values).sum()))
        yield _clean_series(readings, counts, ids[position], position, times[finite], values[finite])


def iter_states(readings: Readings, ids: Sequence[str], counts: ScanCounts) -> Iterator[Series]:
    """Yield the categorical sensors one by one, as codes of their sorted categories.

    Args:
        readings: The readings to scan.
        ids: Ids of the categorical sensors.
        counts: Updated with what the scan finds.
    """
    scan = _wide_blocks if readings.layout == "wide" else _long_blocks
    for position, times, column in scan(readings, ids, "state", counts):
        categories = column.drop_nulls().unique().sort()
        codes = column.cast(pl.Enum(categories)).to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
        present = codes >= 0
        _count_gaps(counts, position, int((~present).sum()), 0)
        names = tuple(categories.to_list())
        yield _clean_series(readings, counts, ids[position], position, times[present], codes[present], names)


def _count_gaps(counts: ScanCounts, position: int, missing: int, infinite: int) -> None:
    from thence.data.readings.window_kernels import INFINITE, MISSING

    counts.per_sensor[position, MISSING] += missing
    counts.per_sensor[position, INFINITE] += infinite


def _clean_series(
    readings: Readings,
    counts: ScanCounts,
    name: str,
    position: int,
    times: Int64Array,
    values: npt.NDArray[np.generic],
    categories: tuple[str, ...] = (),
) -> Series:
    """Sort one series by time and keep the last of several readings at one time."""
    from thence.data.readings.window_kernels import CONFLICTING, DISORDERED, READINGS, REPEATED

    if (times[1:] < times[:-1]).any():
        counts.per_sensor[position, DISORDERED] += count_late(times)
        order = np.argsort(times, kind="stable")
        times, values = times[order], values[order]
    again = times[1:] == times[:-1]
    if again.any():
        last = np.append(~again, True)
        group = np.concatenate(([0], np.cumsum(~again)))
        unique = values[last]
        sizes = np.bincount(group)
        clash = np.bincount(group, weights=values != unique[group]) > 0
        if clash.any() and readings.on_error == "raise":
            at = group == np.flatnonzero(clash)[0]
            given = values[at].tolist()
            pair = [given[0], next(value for value in given if value != given[0])]
            when = EPOCH + timedelta(microseconds=int(times[at][0]))
            shown = [categories[v] if categories else v for v in pair]
            lost = int((sizes[clash] - 1).sum())
            raise conflict_error(name, when, shown, readings.policy, lost=lost, total=times.size)
        counts.per_sensor[position, CONFLICTING] += int((sizes[clash] - 1).sum())
        counts.per_sensor[position, REPEATED] += int((sizes[~clash] - 1).sum())
        times, values = times[last], unique
    counts.per_sensor[position, READINGS] += times.size
    return Series(position, times, values, categories)


def _drop_untimed(frame: pl.DataFrame, readings: Readings, counts: ScanCounts) -> pl.DataFrame:
    timed, lost = drop_rows_without_time(frame, readings.policy)
    counts.bad_times += lost
    return timed


_Raw = Iterator[tuple[int, Int64Array, pl.Series]]


def _wide_blocks(readings: Readings, ids: Sequence[str], _: str, counts: ScanCounts) -> _Raw:
    """Yield the columns of wide frames, reading as many at a time as fit into a block, from the parts that have them.

    Rows of a part are counted once, however many times it is read.
    """
    if not ids:
        return
    columns = [set(part.collect_schema()) for part in readings.parts]
    rows = [int(collect(part.select(pl.len()), source=readings.source).item()) for part in readings.parts]
    unread = dict(enumerate(readings.parts))

    def read(number: int, names: Sequence[str]) -> tuple[Int64Array, pl.DataFrame]:
        part, found = readings.parts[number], ScanCounts(0)
        frame = _drop_untimed(collect(part.select("time", *names), source=readings.source), readings, found)
        times = frame["time"].to_physical().to_numpy()
        late = count_late(times)
        if unread.pop(number, None) is not None:
            counts.bad_times += found.bad_times
            counts.disordered_rows += late
        if not late:
            return times, frame
        order = np.argsort(times, kind="stable")
        return times[order], frame[order]

    parts_of: dict[str, list[int]] = {name: [] for name in ids}
    for number, has in enumerate(columns):
        for name in has.intersection(parts_of):
            parts_of[name].append(number)
    for first, after in _blocks([sum(rows[number] for number in parts_of[id]) for id in ids]):
        names = ids[first:after]
        pieces: dict[str, list[tuple[Int64Array, pl.Series]]] = {name: [] for name in names}
        for number in sorted({number for name in names for number in parts_of[name]}):
            wanted = [name for name in names if name in columns[number]]
            times, frame = read(number, wanted)
            for name in wanted:
                pieces[name].append((times, frame[name]))
        for offset, name in enumerate(names):
            yield first + offset, *_concatenate(pieces.pop(name))
    for number in list(unread):
        read(number, [])


def _blocks(sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and the next position of as many sensors as fit into a block, at least one."""
    first = 0
    while first < len(sizes):
        after, total = first + 1, sizes[first]
        while after < len(sizes) and total + sizes[after] <= BLOCK_CELLS:
            total += sizes[after]
            after += 1
        yield first, after
        first = after


def _concatenate(pieces: Sequence[tuple[Int64Array, pl.Series]]) -> tuple[Int64Array, pl.Series]:
    """Concatenate the columns of one sensor from several files in time order."""
    if len(pieces) == 1:
        return pieces[0]
    times = np.concatenate([times for times, _ in pieces])
    cells = pl.concat([column for _, column in pieces])
    if (times[1:] >= times[:-1]).all():
        return times, cells
    order = np.argsort(times, kind="stable")
    return times[order], cells[order]


def _long_blocks(readings: Readings, ids: Sequence[str], column: str, counts: ScanCounts) -> _Raw:
    """Yield the rows of a long frame sensor by sensor, reading as many sensors at a time as fit into a block."""
    if not ids:
        return
    counted = collect(readings.lazy.group_by("sensor").agg(pl.len()), source=readings.source)
    sizes = dict.fromkeys(ids, 0) | dict(counted.with_columns(pl.col("sensor").cast(pl.String)).iter_rows())
    for first, after in _blocks([sizes[id] for id in ids]):
        names = ids[first:after]
        query = _rows_of(readings.lazy, names, column, only=len(names) < len(ids))
        frame = _drop_untimed(collect(query, source=readings.source), readings, counts)
        positions = NameCoder(names, source=readings.source).codes(frame["sensor"])
        # numpy sorts 16-bit integers by counting, which is stable and linear.
        order = np.argsort(positions.astype(np.uint16) if len(names) < 65_536 else positions, kind="stable")
        ends = np.cumsum(np.bincount(positions, minlength=after - first))
        times, cells = frame["time"].to_physical().to_numpy()[order], frame[column][order]
        for k, end in enumerate(ends):
            begin = 0 if k == 0 else ends[k - 1]
            yield first + k, times[begin:end], cells[begin:end]


def _rows_of(lazy: pl.LazyFrame, ids: Sequence[str], column: str, *, only: bool = False) -> pl.LazyFrame:
    """Select times, sensors and one column; filter by sensor only if there may be rows of other sensors."""
    if only or "state" in lazy.collect_schema():
        lazy = lazy.filter(pl.col("sensor").is_in(list(ids)))
    return lazy.select("time", "sensor", column)
