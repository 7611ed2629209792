"""Numbers that look like codes for missing readings are noted, and kept."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from thence.data.readers import read_sensors
from thence.errors import InputError

TIMES = [datetime(2024, 1, 1) + timedelta(minutes=k) for k in range(100)]


def with_codes(code: float, *, every: int = 10, scale: float = 0.25) -> list[float]:
    return [code if k % every == 0 else 20 + scale * k for k in range(100)]


def codes_of(frame: pl.DataFrame, **options: object) -> list[str]:
    data = read_sensors(frame, **options)  # type: ignore[arg-type]
    return [note for note in data.report.notes if "looks like a code" in note]


@pytest.mark.parametrize("code", [-999.0, 9999.0, -9900.0, 32767.0, -99.9])
def test_a_code_is_noted_and_kept(code: float) -> None:
    frame = pl.DataFrame({"time": TIMES, "a": with_codes(code), "b": with_codes(21.0)})
    assert codes_of(frame) == [
        f"{code:g} looks like a code and not like a reading; missing={code:g} would leave it out of sensor 'a'"
    ]
    assert read_sensors(frame).to_polars()["a"].to_list() == frame["a"].to_list()
    assert codes_of(frame, missing=[code]) == []


def test_numbers_add_to_the_usual_words(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("time,a\n2024-01-01 00:00,NA\n2024-01-01 00:01,-999\n2024-01-01 00:02,5.5\n")
    assert read_sensors(path, missing=-999).to_polars()["a"].to_list() == [None, None, 5.5]
    with pytest.raises(InputError, match="'NA' is not a number"):
        read_sensors(path, missing=["-999", "none"])


def test_sensors_of_a_long_table_are_named_together() -> None:
    rows = [(time, id, with_codes(-999.0)[k]) for k, time in enumerate(TIMES) for id in ("a", "b")]
    rows += [(time, "c", float(k)) for k, time in enumerate(TIMES)]
    frame = pl.DataFrame(rows, schema=["time", "sensor", "value"], orient="row")
    assert [note.partition("out of ")[2] for note in codes_of(frame)] == ["2 sensors: 'a', 'b'"]


@pytest.mark.parametrize(
    "values",
    [
        with_codes(-999.0, every=100),  # once
        with_codes(99.9, scale=0.8),  # near the others
        with_codes(-998.0),
        [-999.0] * 100,  # nothing to compare with
        [k * 20.0 for k in range(49)] + [999.0] * 51,
    ],
)
def test_what_is_not_noted(values: list[float]) -> None:
    assert codes_of(pl.DataFrame({"time": TIMES, "a": values})) == []
