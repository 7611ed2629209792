"""States: one spelling for one state, however files write it, and whole numbers of which few differ."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thence as th
from thence.data.readers import read_sensors
from thence.data.readings.few_values import FewValues, choose_states
from thence.data.readings.frames import spell_states, spell_texts
from thence.data.readings.sensors import Sensor, SensorData
from thence.errors import InputError
from thence.language.states import state_key

START = datetime(2024, 1, 1, tzinfo=UTC)


def times(n: int) -> list[datetime]:
    return [START + timedelta(hours=k) for k in range(n)]


def spellings(number: int) -> list[object]:
    """Ways to write a whole number."""
    return [number, float(number), str(number), f"{number}.0", f"{number}.00", *([bool(number)] if number < 2 else [])]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=30), st.data())
def test_a_state_is_the_same_however_it_is_written(numbers: list[int], data: st.DataObject) -> None:
    written = [data.draw(st.sampled_from(spellings(number))) for number in numbers]
    texts = pl.DataFrame({"s": [str(value) for value in written]})
    assert texts.select(spell_states("s", pl.String())).to_series().to_list() == [str(n) for n in numbers]
    assert [state_key(value) for value in written] == [str(n) for n in numbers]
    for dtype in (pl.Int8, pl.UInt32, pl.Int64, pl.Float32, pl.Float64, pl.String):
        frame = pl.DataFrame({"s": pl.Series(numbers).cast(dtype)})
        assert frame.select(spell_states("s", dtype())).to_series().to_list() == [str(n) for n in numbers]


@given(st.lists(st.text(max_size=6) | st.floats(-1e6, 1e6).map(str), max_size=20))
def test_spelling_is_final_and_agrees_with_the_key(words: list[str]) -> None:
    frame = pl.DataFrame({"s": words}, schema={"s": pl.String})
    once = frame.select(spell_texts(pl.col("s")).alias("s"))
    again = once.select(spell_texts(pl.col("s")).alias("s"))
    assert once["s"].to_list() == again["s"].to_list()
    assert [state_key(word) for word in once["s"]] == [state_key(word) for word in words]


def files_of(folder: Path, states: list[int]) -> list[object]:
    """The same pump, as files and frames of many types."""
    moments, n = times(len(states)), len(states)
    typed = {dtype: pl.Series(states).cast(dtype) for dtype in (pl.Int64, pl.Float64, pl.Boolean, pl.Int8, pl.String)}
    out: list[object] = []
    for number, column in enumerate([*typed.values(), pl.Series([f"{s}.00" for s in states])]):
        frame = pl.DataFrame({"time": moments, "pump": column, "flow": [k / 7 for k in range(n)]})
        frame.write_csv(folder / f"{number}.csv")
        frame.write_parquet(folder / f"{number}.parquet")
        out += [frame, frame.lazy(), folder / f"{number}.csv", folder / f"{number}.parquet"]
        long = frame.select("time", pl.lit("pump").alias("sensor"), pl.col("pump").alias("value"))
        long.write_csv(folder / f"{number}-long.csv")
        long.write_parquet(folder / f"{number}-long.parquet")
        out += [folder / f"{number}-long.csv", folder / f"{number}-long.parquet"]
    return out


def test_a_pump_has_the_same_states_in_every_file(tmp_path: Path) -> None:
    states = [0, 1, 1, 0] * 12
    for source in files_of(tmp_path, states):
        text = isinstance(source, pl.DataFrame | pl.LazyFrame) and source.lazy().collect_schema()["pump"] == pl.String
        options = {"categorical": "pump*"} if text else {}
        data = read_sensors(source, **options)
        assert data.sensor("pump").categorical, source
        assert data.to_polars()["pump"].to_list() == [str(s) for s in states], source
        if "flow" in data.ids:
            assert not data.sensor("flow").categorical


def test_the_report_names_them_and_patterns_decide() -> None:
    frame = pl.DataFrame(
        {"time": times(60), "P_on": [0, 1] * 30, "V_on": [1, 2] * 30, "level": [k % 3 for k in range(60)]}
    )
    data = read_sensors(frame)
    assert [s.id for s in data.sensors if s.categorical] == ["P_on", "V_on", "level"]
    assert "whole numbers of which few differ, in 3 sensors: 'P_on', 'V_on', 'level'" in str(data.report)
    assert [s.id for s in read_sensors(frame, numeric="*_on").sensors if s.categorical] == ["level"]
    assert [s.id for s in read_sensors(frame, units={"level": "m"}).sensors if s.categorical] == ["P_on", "V_on"]
    tiny = frame.head(4)
    assert [s.id for s in read_sensors(tiny, categorical=["*_on"]).sensors if s.categorical] == ["P_on", "V_on"]
    with pytest.raises(InputError, match=r"numeric contains 'Q\*', but no column or sensor has this name"):
        read_sensors(frame, numeric=["Q*"])


def test_few_readings_many_values_fractions_and_constants_are_numbers() -> None:
    n = 200
    columns = {
        "few": [float(k) if k < 15 else None for k in [k % 2 for k in range(15)] + [99] * (n - 15)],
        "many": [k % 11 for k in range(n)],
        "halves": [k % 2 / 2 for k in range(n)],
        "constant": [1] * n,
    }
    data = read_sensors(pl.DataFrame({"time": times(n), **columns}))
    assert not any(sensor.categorical for sensor in data.sensors)


def test_a_kind_is_read_alike() -> None:
    """People in ten rooms: some rooms never hold more than three, yet a number of people is a number."""
    few, many = FewValues(True, frozenset({0.0, 1.0, 2.0}), 300), FewValues(False)
    assert choose_states({"a": few, "b": many}, {"a": "people", "b": "people"}) == frozenset()
    assert choose_states({"a": few, "b": many}, {"a": "people", "b": ""}) == {"a"}


def test_files_are_judged_together() -> None:
    parts = [
        pl.DataFrame({"time": [t + timedelta(days=30 * k) for t in times(90)], "x": [k * 6 + i % 6 for i in range(90)]})
        for k in range(2)
    ]
    assert not read_sensors(parts).sensor("x").categorical, "twelve different values in all"
    assert read_sensors(parts[0]).sensor("x").categorical


def test_frames_of_the_caller_spell_states_alike() -> None:
    frame = pl.DataFrame({"time": times(2), "a": [1.0, 0.0], "b": [True, False], "c": ["1.0", "FALSE"]})
    sensors = [Sensor(id, categorical=True) for id in "abc"]
    assert SensorData.from_wide(frame, sensors=sensors).to_polars().rows() == [
        (START, "1", "1", "1"),
        (START + timedelta(hours=1), "0", "0", "0"),
    ]


@pytest.mark.parametrize("layout", ["wide", "long"])
def test_states_and_numbers_change_places(layout: str) -> None:
    frame = pl.DataFrame({"time": times(3), "a": [1.0, 0.0, None], "b": ["1", "2", None]})
    data = read_sensors(frame, categorical="b")
    if layout == "long":
        rows = frame.unpivot(["a", "b"], index="time", variable_name="sensor")
        data = read_sensors(rows, categorical="b")
    changed = data.with_states(["a"], numbers=["b"])
    assert [sensor.categorical for sensor in changed.sensors] == [True, False]
    assert changed.to_polars()["a"].to_list()[:2] == ["1", "0"]
    assert changed.to_polars()["b"].to_list()[:2] == [1.0, 2.0]
    again = changed.with_states(["b"], numbers=["a"])
    assert again.to_polars().rows() == data.to_polars().rows()
    with pytest.raises(InputError, match="unknown sensor"):
        data.with_states(["c"])


def test_a_word_is_no_number() -> None:
    data = read_sensors(pl.DataFrame({"time": times(2), "door": ["open", "shut"]}))
    with pytest.raises(InputError, match="some states of 'door' are not numbers"):
        data.with_states(numbers=["door"])


def test_later_data_are_read_like_earlier_ones() -> None:
    """A pump that only ever runs later, and a level that shows two whole numbers later."""
    n = 60
    earlier = pl.DataFrame({"time": times(n), "pump": [k % 2 for k in range(n)], "level": [k / 7 for k in range(n)]})
    later = pl.DataFrame({"time": times(n), "pump": [True] * n, "level": [float(k % 2) for k in range(n)]})
    train = th.transactions(read_sensors(earlier), windows="1h", bins=3)
    test = th.transactions(read_sensors(later), windows="1h", bins=3, like=train)
    assert test.features == train.features
    pump = next(c for c in test.blocks[0].columns if c.feature.subject == "pump")
    assert {pump.values[code] for code in pump.codes[0].tolist()} == {"1"}
    level = [next(c for c in t.blocks[0].columns if c.feature.subject == "level") for t in (train, test)]
    assert level[0].values == level[1].values
