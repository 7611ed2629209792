"""Columns and sensors that are left out: by name, by pattern, and never by a misspelt one."""

from __future__ import annotations

import polars as pl
import pytest

from thence.data.readers import read_sensors
from thence.errors import InputError

TIMES = ["2024-01-01 00:00", "2024-01-01 01:00"]
WIDE = pl.DataFrame({"time": TIMES, "a": [1.5, 2.5], "a_flag": ["x", "y"], "b_flag": ["x", "y"], "c [m]": [1.5, 2.5]})
LONG = pl.DataFrame({"time": TIMES * 2, "sensor": ["a", "a", "b", "b"], "value": [1.5, 2.5, 3.5, 4.5]})


@pytest.mark.parametrize(
    ("ignore", "kept"),
    [
        (["a_flag"], ("a", "b_flag", "c [m]")),
        (["*_flag"], ("a", "c [m]")),
        ("?_flag", ("a", "c [m]")),
        (["*_flag", "c [m]"], ("a",)),
        (["c [[]m]", "b*"], ("a", "a_flag")),
    ],
)
def test_columns_are_left_out_by_name_or_pattern(ignore: list[str], kept: tuple[str, ...]) -> None:
    data = read_sensors(WIDE, ignore=ignore)
    assert data.ids == kept
    assert "ignored columns" in str(data.report)


def test_sensors_of_a_long_table_are_left_out_and_named() -> None:
    # A sensor of a long table could not be left out when reading: only columns could.
    data = read_sensors(LONG, ignore=["b*"])
    assert data.ids == ("a",)
    assert data.to_polars()["a"].to_list() == [1.5, 2.5]
    assert "ignored sensors: 'b'" in str(data.report)


@pytest.mark.parametrize("frame", [WIDE, LONG])
def test_a_name_that_nothing_has_is_an_error(frame: pl.DataFrame) -> None:
    with pytest.raises(InputError, match="ignore contains 'tim_', but no column or sensor has this name"):
        read_sensors(frame, ignore=["tim_"])


def test_not_every_sensor_can_be_left_out() -> None:
    with pytest.raises(InputError, match="every sensor is ignored"):
        read_sensors(LONG, ignore=["a", "b"])
