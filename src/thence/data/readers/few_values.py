"""What numbers mean: states if few whole numbers differ, such as 0 and 1, and codes such as −999 for no reading.

What is read as states is decided in ``thence.data.readings.few_values``; what has a unit is not looked at. Columns in
memory are looked at as a whole. Of a file that is only scanned, the first rows rule out nearly all sensors; the columns
of the others are read once.

Codes are noted and not removed: only the user knows what a number means. A number is noted if it is one that is used
as a code, is the lowest or highest of its sensor, occurs again, and is farther from all other readings than these are
from each other. Only what is in memory is looked at.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

import polars as pl

from thence.data.readers.columns import TypedTable
from thence.data.readings.cleaning import quote_names
from thence.data.readings.few_values import FewValues, look_at_columns, look_at_rows
from thence.data.readings.frames import collect, spell_numbers

SAMPLE_ROWS = 100_000


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
    look = look_at_columns if part.wide else look_at_rows
    if known := part.table.measured:
        others = replace(part, table=replace(part.table, measured=frozenset()))
        found = _look(others, [id for id in ids if id not in known])
        return found | {id: FewValues(False) for id in ids if id in known}
    if part.table.in_memory:
        return look(part.frame, ids, part.table.name, in_memory=True)
    first = look(part.frame.head(SAMPLE_ROWS), ids, part.table.name)
    left = [id for id in ids if first.get(id, FewValues()).whole]
    return {id: FewValues(False) for id in ids} | (look(part.frame, left, part.table.name) if left else {})


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
