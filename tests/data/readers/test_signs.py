"""Separators, decimal signs and missing values: what could change or lose a number is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from thence.data.readers import read_sensors
from thence.errors import ConfigError, InputError

MINUTES = [f"2020-01-{1 + m // 1440:02} {m // 60 % 24:02}:{m % 60:02}" for m in range(1500)]


def write(folder: Path, *lines: str, name: str = "a.csv") -> Path:
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def values(source: Any, **options: Any) -> list[Any]:
    data = read_sensors(source, **options)
    return data.to_polars()[data.ids[0]].to_list()


def fails(source: Any, *words: str, **options: Any) -> None:
    with pytest.raises(InputError) as caught:
        read_sensors(source, **options)
    for word in words:
        assert word in str(caught.value), str(caught.value)


def test_a_point_far_below_the_decimal_commas(tmp_path: Path) -> None:
    """Beyond the thousand rows that types are told by, 1.234 was read as a number with a decimal point."""
    rows = [f"{time};{k}" for k, time in enumerate(MINUTES[1:-1])]
    path = write(tmp_path, "time;a", f"{MINUTES[0]};1,5", *rows, f"{MINUTES[-1]};1.234")
    for on_error in ("raise", "repair"):
        fails(path, "decimal commas ('1,5') and decimal points ('1.234')", on_error=on_error)
    fails(path, "line 1501: column 'a': '1.234' is not a number", decimal=",")
    assert values(path, decimal=",", on_error="repair")[-1] is None


def test_points_in_dates_are_no_decimal_signs(tmp_path: Path) -> None:
    path = write(tmp_path, "time;a", "31.01.2020 00:00:00.000;1,5", "31.01.2020 00:01:00.000;7")
    assert values(path) == [1.5, 7.0]


def test_commas_that_may_stand_between_thousands(tmp_path: Path) -> None:
    """12,500 and 987 were read as 12.5 and 987 without a word."""
    path = write(tmp_path, "time\ta", f"{MINUTES[0]}\t12,500", f"{MINUTES[1]}\t987", name="f.tsv")
    for on_error in ("raise", "repair"):
        fails(path, "the comma in '12,500' may be decimal or separate thousands", "decimal=','", on_error=on_error)
    assert values(path, decimal=",") == [12.5, 987.0]
    fails(path, "'12,500' is not a number", decimal=".")
    for clear in ("0,125", "1,5", "1234,500"):
        read = values(write(tmp_path, "time;a", f"{MINUTES[0]};12,500", f"{MINUTES[1]};{clear}"))
        assert read == [12.5, float(clear.replace(",", "."))]


@pytest.mark.parametrize("header", [["time;a"], []])
def test_ragged_lines_do_not_make_a_separator_of_the_decimal_comma(tmp_path: Path, header: list[str]) -> None:
    """Two lines too long of fifty, and the comma became the separator: all readings were lost when repairing."""
    rows = [f"{time};7,5{';x' if k in (7, 9) else ''}" for k, time in enumerate(MINUTES[:50])]
    path = write(tmp_path, *header, *rows)
    fails(path, f"line {8 + len(header)}: expected 2 fields, got 3", "the separator is ';'")
    data = read_sensors(path, on_error="repair")
    assert data.to_polars()[data.ids[0]].to_list() == [7.5] * 50 and data.report.count("ragged") == 2


def test_a_source_without_a_reading_is_an_error(tmp_path: Path) -> None:
    fails(write(tmp_path, "time", MINUTES[0]), "no column of readings", separator=";", on_error="repair")
    no_time = write(tmp_path, "time,a", "soon,1", "later,2")
    fails(no_time, "no readings left", time_format="%Y", on_error="repair")
    no_sensor = write(tmp_path, "time,sensor,value", f"{MINUTES[0]},,1")
    fails(no_sensor, "no readings left", on_error="repair")


@pytest.mark.parametrize("separator", [r"\s+", ";;", "§", "", '"', "a"])
def test_separators_that_cannot_be(tmp_path: Path, separator: str) -> None:
    with pytest.raises(ConfigError, match="separator must be a single character"):
        read_sensors(write(tmp_path, "time,a", f"{MINUTES[0]},1"), separator=separator)
    with pytest.raises(ConfigError, match=r"decimal must be ',' or '\.', got 'x'"):
        read_sensors(write(tmp_path, "time,a", f"{MINUTES[0]},1"), decimal="x")


@pytest.mark.parametrize("missing", ["-999", ["-999"], -999, [-999.0, "n/a"]])
@pytest.mark.parametrize("cell", ["-999", "-999.0"])
def test_numbers_that_stand_for_no_reading(tmp_path: Path, missing: Any, cell: str) -> None:
    """A text was taken letter by letter (so 9 went missing and -999 stayed), and columns of numbers kept -999.0."""
    path = write(tmp_path, "time,a", f"{MINUTES[0]},9", f"{MINUTES[1]},{cell}")
    frames = [
        pl.DataFrame({"time": MINUTES[:2], "a": ["9", cell]}),
        pl.DataFrame({"time": MINUTES[:2], "a": [9, -999]}),
        pl.DataFrame({"time": MINUTES[:2], "a": [9.0, -999.0]}),
        pl.DataFrame({"time": MINUTES[:2], "sensor": ["a", "a"], "value": [9.0, -999.0]}),
    ]
    frames[0].write_parquet(tmp_path / "texts.parquet")
    frames[2].write_parquet(tmp_path / "floats.parquet")
    sources = [path, *frames, *(frame.lazy() for frame in frames), *tmp_path.glob("*.parquet")]
    for source in sources:
        assert [cell for cell in values(source, missing=missing) if cell is not None] == [9.0]
        states = values(source, missing=missing, categorical=["a"])
        assert [cell for cell in states if cell is not None] == ["9"]
        assert read_sensors(source, missing=missing).check().report.count("missing") == 1


def test_missing_numbers_of_other_types(tmp_path: Path) -> None:
    single = pl.DataFrame({"time": MINUTES[:2], "a": pl.Series([9.0, -999.9], dtype=pl.Float32)})
    assert values(single, missing="-999.9") == [9.0, None]
    assert values(write(tmp_path, "time;a", f"{MINUTES[0]};9,5", f"{MINUTES[1]};-999,0"), missing="-999") == [9.5, None]
    states = write(tmp_path, "time,a", f"{MINUTES[0]},open", f"{MINUTES[1]},-999.0")
    assert values(states, missing="-999") == ["open", None]
