"""JSON lines as source tables: one message, record or SenML pack in each line, read into memory.

What a message says is the job of ``.payloads``. Readings of the radio and the device itself are left out and noted.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from thence.data.readers.lines import read_utf8
from thence.data.readers.payloads import Value, is_diagnostic, readings_of, units_of
from thence.data.readers.table import ReadOptions, SourceTable
from thence.data.readings.cleaning import quote_names
from thence.data.readings.findings import Finding
from thence.errors import InputError

_SECONDS, _FINER = 1e11, {"ms": 1e14, "us": 1e17, "ns": 1e20}


def read_json_lines(path: Path, options: ReadOptions) -> list[SourceTable]:
    """Read a file with a message in each line; a reader as described in ``.files``."""
    where = str(path)
    data, notes = read_utf8(path, options.encoding)
    names: list[str] = []
    times: list[Any] = []
    values: list[Value] = []
    lines: list[int] = []
    units: dict[str, str] = {}
    left_out: dict[str, None] = {}
    lost = total = 0
    for number, line in enumerate(data.decode("utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        total += 1
        try:
            message = json.loads(line)
        except (ValueError, RecursionError) as error:
            lost += 1
            if options.on_error == "raise":
                raise InputError(
                    f"no JSON in this line: {error}",
                    where=f"{where}, line {number}",
                    hint="correct the line, or pass on_error='repair' to skip such lines",
                ) from error
            continue
        units.update(units_of(message))
        for reading in readings_of(message):
            if is_diagnostic(reading.sensor) and not _is_wanted(reading.sensor, options):
                left_out[reading.sensor.rpartition(".")[2]] = None
                continue
            names.append(reading.sensor)
            times.append(reading.time)
            values.append(reading.value)
            lines.append(number)
    options.policy(where).refuse("bad-line", lost, total)
    if left_out:
        notes = (*notes, f"left out what messages say about the device itself: {quote_names(left_out)}")
    frame = pl.DataFrame([_times(times), pl.Series("sensor", names, dtype=pl.String), _values(values)])
    return [
        SourceTable(
            frame.lazy() if names else pl.LazyFrame(),
            where,
            title=path.name.partition(".")[0],
            text_file=True,
            place=lambda row: f"line {lines[row]}",
            findings=(Finding("bad-line", lost, where=where),) if lost else (),
            notes=notes,
            kinds={sensor: ("", unit) for sensor, unit in units.items()},
        )
    ]


def _is_wanted(sensor: str, options: ReadOptions) -> bool:
    return options.is_numeric(sensor) or options.is_categorical(sensor)


def _times(times: Sequence[Any]) -> pl.Series:
    """Return times as they are if they are of one type, and otherwise Unix times among others as seconds in text."""
    if all(isinstance(time, str) or time is None for time in times):
        return pl.Series("time", times, dtype=pl.String)
    seconds = [_seconds(time) if isinstance(time, (int, float)) else time for time in times]
    if any(isinstance(time, str) for time in seconds):
        stamps = pl.Series([time if isinstance(time, float) else None for time in seconds], dtype=pl.Float64)
        iso = (stamps * 1e6).cast(pl.Int64).cast(pl.Datetime("us")).dt.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_list()
        return pl.Series("time", [own or time for own, time in zip(iso, seconds, strict=True)], dtype=pl.String)
    return pl.Series("time", seconds, dtype=pl.Float64)


def _seconds(time: float) -> float | None:
    """Return a Unix time in seconds, whatever its unit; its size tells which it is."""
    if not math.isfinite(time):
        return None
    finer = (least for least in _FINER.values() if abs(time) < least)
    return float(time) if abs(time) < _SECONDS else time * _SECONDS / next(finer, math.inf)


def _values(values: Sequence[Value]) -> pl.Series:
    if all(value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)) for value in values):
        return pl.Series("value", [None if value is None else float(value) for value in values], dtype=pl.Float64)
    texts = [json.dumps(value) if isinstance(value, (int, float)) else value for value in values]
    return pl.Series("value", texts, dtype=pl.String)
