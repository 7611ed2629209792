"""What numbers mean: states if few whole numbers differ, such as 0 and 1, and codes such as −999 for no reading.

A sensor reads states if all its readings are whole numbers, between 2 and 10 of them differ, and there are at least 10
readings for each of these; what has a unit is not looked at. Sensors of one kind are read alike: if one of them reads
other numbers, all read numbers; if the others read states, so does one that never changes. Columns in memory are
looked at as a whole. Of a file that is only scanned, the first rows rule out nearly all sensors; the columns of the
others are read once.

Codes are noted and not removed: only the user knows what a number means. A number is noted if it is one that is used
as a code, is the lowest or highest of its sensor, occurs again, and is farther from all other readings than these are
from each other. Only what is in memory is looked at.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from thence.data.readers.columns import TypedTable
from thence.data.readings.cleaning import quote_names
from thence.data.readings.frames import collect, spell_numbers
from thence.language.states import LARGEST_WHOLE, MOST_STATES, are_enough

SAMPLE_ROWS = 100_000
MOST_COLUMNS = 256  # of one query: planning takes longer than reading where there are thousands


@dataclass(frozen=True)
class FewValues:
    """What the readings of a sensor are, as far as it matters for states.

    Args:
        whole: Whether all readings are whole numbers and few of them differ.
        values: The different readings, if they are.
        count: Number of readings.
    """

    whole: bool = True
    values: frozenset[float] = field(default_factory=frozenset)
    count: int = 0

    def merged(self, other: FewValues) -> FewValues:
        """Return what the readings of two files together are."""
        values = self.values | other.values
        return FewValues(self.whole and other.whole and len(values) <= MOST_STATES, values, self.count + other.count)

    @property
    def is_state(self) -> bool:
        """Whether these readings by themselves are states."""
        return self.whole and are_enough(len(self.values), self.count)

    @property
    def is_constant(self) -> bool:
        """Whether there is at most one whole number."""
        return self.whole and len(self.values) < 2


def find_few_values(parts: Iterable[TypedTable], ids: Iterable[str]) -> dict[str, FewValues]:
    """Find what numeric sensors read, over all tables.

    Args:
        parts: The typed tables.
        ids: The sensors to look at.
    """
    wanted = dict.fromkeys(ids)
    found: dict[str, FewValues] = {}
    for part in parts:
        # A sensor that some file has ruled out needs no further look.
        own = [id for id in part.categorical if id in wanted and found.get(id, FewValues()).whole]
        for id, few in _look(part, own).items():
            found[id] = found[id].merged(few) if id in found else few
    return found


def states_by_kind(found: Mapping[str, FewValues], kinds: Mapping[str, str]) -> frozenset[str]:
    """Choose the sensors that read states, so that the sensors of a kind are read alike.

    Args:
        found: What each sensor reads.
        kinds: The kind of each sensor, empty if unknown.

    Examples:
        >>> pump, stuck = FewValues(True, frozenset({0.0, 1.0}), 50), FewValues(True, frozenset({1.0}), 50)
        >>> sorted(states_by_kind({"a": pump, "b": stuck, "c": stuck}, {"a": "pump", "b": "pump", "c": ""}))
        ['a', 'b']
    """
    groups: dict[str, list[str]] = {}
    for id in found:
        groups.setdefault(f"kind {kinds[id]}" if kinds.get(id) else f"sensor {id}", []).append(id)
    chosen: set[str] = set()
    for ids in groups.values():
        together = FewValues()
        for id in ids:
            together = together.merged(found[id])
        alike = together.whole and all(found[id].is_state or found[id].is_constant for id in ids)
        if alike and any(found[id].is_state for id in ids):
            chosen.update(ids)
    return frozenset(chosen)


def read_as_states(part: TypedTable, ids: frozenset[str]) -> TypedTable:
    """Return a table in which the numbers of some sensors are states.

    Args:
        part: The table.
        ids: The sensors.
    """
    own = [id for id in part.categorical if id in ids and not part.categorical[id]]
    if not own:
        return part
    if part.wide:
        frame = part.frame.with_columns(spell_numbers(pl.col(id).cast(pl.Float64)).alias(id) for id in own)
    else:
        chosen = pl.col("sensor").cast(pl.String).is_in(own)
        known = "state" in part.frame.collect_schema()
        other = pl.col("state") if known else pl.lit(None, pl.String)
        state = pl.when(chosen).then(spell_numbers(pl.col("value"))).otherwise(other)
        frame = part.frame.with_columns(pl.when(~chosen).then(pl.col("value")).alias("value"), state.alias("state"))
    return replace(part, frame=frame, categorical={**part.categorical, **dict.fromkeys(own, True)})


def _look(part: TypedTable, ids: Sequence[str]) -> dict[str, FewValues]:
    look = _look_at_columns if part.wide else _look_at_rows
    if known := part.table.measured:
        others = replace(part, table=replace(part.table, measured=frozenset()))
        found = _look(others, [id for id in ids if id not in known])
        return found | {id: FewValues(False) for id in ids if id in known}
    if part.table.in_memory:
        return look(part.frame, ids, part.table.name, in_memory=True)
    first = look(part.frame.head(SAMPLE_ROWS), ids, part.table.name)
    left = [id for id in ids if first.get(id, FewValues()).whole]
    return {id: FewValues(False) for id in ids} | (look(part.frame, left, part.table.name) if left else {})


def _whole(number: pl.Expr) -> pl.Expr:
    """Whether all finite numbers of an expression are whole; missing and infinite values do not count."""
    return ((number.round() == number) & (number.abs() <= LARGEST_WHOLE) | ~number.is_finite()).all()


def column_batches(
    frame: pl.LazyFrame, ids: Sequence[str], source: str, *, in_memory: bool
) -> Iterator[tuple[Sequence[str], pl.LazyFrame]]:
    """Yield some sensors at a time, with a frame of their columns.

    To plan a query takes time for every column of its frame, so that of a table in memory has no others.

    Args:
        frame: A wide frame.
        ids: The sensors.
        source: Name of the source, for messages.
        in_memory: Whether the frame is in memory.
    """
    if len(ids) <= MOST_COLUMNS:
        if ids:
            yield ids, frame
        return
    columns = {one.name: one for one in collect(frame, source=source).get_columns()} if in_memory else {}
    for start in range(0, len(ids), MOST_COLUMNS):
        some = ids[start : start + MOST_COLUMNS]
        yield some, pl.DataFrame([columns[id] for id in some]).lazy() if in_memory else frame


def _look_at_columns(
    frame: pl.LazyFrame, ids: Sequence[str], source: str, *, in_memory: bool = False
) -> dict[str, FewValues]:
    found: dict[str, FewValues] = {}
    for some, part in column_batches(frame, ids, source, in_memory=in_memory):
        found |= _look_at_some(part, some, source)
    return found


def _look_at_some(frame: pl.LazyFrame, ids: Sequence[str], source: str) -> dict[str, FewValues]:
    numbers = {id: pl.col(id).cast(pl.Float64) for id in ids}
    row = collect(frame.select(_whole(numbers[id]).alias(str(k)) for k, id in enumerate(ids)), source=source).row(0)
    out = {id: FewValues(bool(whole)) for id, whole in zip(ids, row, strict=True)}
    kept = [id for id in ids if out[id].whole]
    if kept:
        present = {id: numbers[id].filter(numbers[id].is_finite()) for id in kept}
        query = frame.select(
            *(present[id].unique().head(MOST_STATES + 1).implode().alias(f"{k} values") for k, id in enumerate(kept)),
            *(present[id].count().alias(f"{k} count") for k, id in enumerate(kept)),
        )
        found = collect(query, source=source).row(0)
        for k, id in enumerate(kept):
            out[id] = _few(list(found[k]), int(found[len(kept) + k]))
    return out


def _look_at_rows(
    frame: pl.LazyFrame, ids: Sequence[str], source: str, *, in_memory: bool = False
) -> dict[str, FewValues]:
    if not ids:
        return {}
    value = pl.col("value").cast(pl.Float64)
    rows = frame.select(pl.col("sensor").cast(pl.String), value).filter(pl.col("sensor").is_in(list(ids)))
    rows = rows.filter(pl.col("value").is_finite())
    numbers = rows.group_by("sensor").agg(
        _whole(pl.col("value")).alias("whole"),
        pl.col("value").unique().head(MOST_STATES + 1).alias("values"),
        pl.col("value").count().alias("count"),
    )
    found = collect(numbers, source=source)
    out = {id: FewValues() for id in ids}
    for sensor, whole, values, count in found.iter_rows():
        out[sensor] = _few(values, count) if whole else FewValues(False)
    return out


def _few(values: list[float], count: int) -> FewValues:
    return FewValues(len(values) <= MOST_STATES, frozenset(value + 0.0 for value in values), count)


LEAST_TIMES = 2
_SAME_DIGITS = [int(digit * length) for digit in "789" for length in range(2, 7)]
_PLAIN = [*_SAME_DIGITS, 99.9, 99.99, 999.9, 999.99, 9999.9, 9900, 99900, 6999, 7999, 32767, 32768, 65535, 1e30]
CODES = frozenset(float(sign * code) for code in _PLAIN for sign in (1, -1))


def note_codes(parts: Iterable[TypedTable], ids: Collection[str]) -> list[str]:
    """Return notes about numbers that look like codes.

    Args:
        parts: The typed tables.
        ids: The sensors that read numbers.
    """
    found: dict[float, set[str]] = {}
    for part in parts:
        own = [id for id in part.categorical if id in ids]
        for id, numbers in _numbers(part, own) if part.table.in_memory and own else ():
            for code in CODES.intersection((numbers.min(), numbers.max())):
                others = numbers.filter(numbers.is_finite() & (numbers != code)).to_numpy()
                if (numbers == code).sum() < LEAST_TIMES or not others.size:
                    continue
                low, high = others.min(), others.max()
                if min(abs(code - low), abs(code - high)) > high - low:
                    found.setdefault(code, set()).add(id)
    return [_describe_code(value, sorted(sensors)) for value, sensors in sorted(found.items())]


def _numbers(part: TypedTable, ids: Sequence[str]) -> Iterator[tuple[str, pl.Series]]:
    """Yield the readings of sensors; of long tables, only of those whose lowest or highest reading is a code."""
    source = part.table.name
    if part.wide:
        frame = collect(part.frame.select(ids), source=source)
        yield from ((id, frame[id].cast(pl.Float64)) for id in ids)
        return
    value = pl.col("value").cast(pl.Float64)
    rows = part.frame.select(pl.col("sensor").cast(pl.String), value)
    ends = rows.group_by("sensor").agg(pl.col("value").min().alias("low"), pl.col("value").max().alias("high"))
    likely = {id for id, low, high in collect(ends, source=source).iter_rows() if low in CODES or high in CODES}
    chosen = rows.filter(pl.col("sensor").is_in(list(likely.intersection(ids))))
    for (id,), group in collect(chosen, source=source).group_by("sensor") if likely else ():
        yield str(id), group["value"]


def _describe_code(value: float, sensors: Sequence[str]) -> str:
    named = f"sensor {quote_names(sensors)}" if len(sensors) == 1 else f"{len(sensors)} sensors: {quote_names(sensors)}"
    return f"{value:g} looks like a code and not like a reading; missing={value:g} would leave it out of {named}"
