"""Which numbers of a table are states: few whole ones, such as 0 and 1.

What is read as states is decided in ``thence.data.readings.few_values``; what has a unit is not looked at. Columns in
memory are looked at as a whole. Of a file that is only scanned, the first rows rule out nearly all sensors; the columns
of the others are read once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import polars as pl

from thence.data.readers.columns import TypedTable
from thence.data.readings.few_values import FewValues, look_at_columns, look_at_rows
from thence.data.readings.frames import spell_numbers

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
