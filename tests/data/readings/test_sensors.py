"""SensorData: selection, periods, frames in and out, immutability."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.examples import examples
from thence.data.readings.findings import Finding, ReadReport
from thence.data.readings.sensors import Sensor, SensorData, as_utc
from thence.errors import InputError

HOURS = [datetime(2024, 1, 1, h, tzinfo=UTC) for h in range(4)]
SENSORS = [Sensor("p1", "pressure", "m"), Sensor("q1", "flow", "m3/h"), Sensor("door", "state", categorical=True)]


def wide() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "time": HOURS,
            "p1": [1.0, None, 3.0, 4.0],
            "q1": [None, None, 0.0, 5.0],
            "door": ["open", None, "shut", "open"],
        }
    )


def long() -> pl.DataFrame:
    numbers = wide().unpivot(["p1", "q1"], index="time", variable_name="sensor", value_name="value")
    states = wide().unpivot(["door"], index="time", variable_name="sensor", value_name="state")
    return pl.concat([numbers, states], how="diagonal").select("time", "sensor", "value", "state")


def make(layout: str, *, lazy: bool = False) -> SensorData:
    if layout == "wide":
        return SensorData.from_wide(wide().lazy() if lazy else wide(), sensors=SENSORS)
    return SensorData.from_long(long().lazy() if lazy else long(), sensors=SENSORS)


LAYOUTS = [(layout, lazy) for layout in ("wide", "long") for lazy in (False, True)]


@pytest.mark.parametrize(("layout", "lazy"), LAYOUTS)
def test_every_layout_gives_the_same_wide_frame(layout: str, lazy: bool) -> None:
    frame = make(layout, lazy=lazy).to_polars()
    assert frame.columns == ["time", "p1", "q1", "door"]
    assert frame.schema["time"] == pl.Datetime("us", "UTC")
    # A long table has no row where nothing was read at all.
    expected = (
        wide() if layout == "wide" else wide().filter(pl.any_horizontal(pl.col("p1", "q1", "door").is_not_null()))
    )
    assert frame.equals(expected)


@pytest.mark.parametrize(("layout", "lazy"), LAYOUTS)
def test_periods_are_half_open_and_partition_the_readings(layout: str, lazy: bool) -> None:
    data = make(layout, lazy=lazy)
    before, after = data.upto(HOURS[2]), data.between(HOURS[2])
    assert before.to_polars()["p1"].to_list()[0] == 1.0
    assert after.to_polars()["p1"].to_list() == [3.0, 4.0]
    assert before.to_polars().height + after.to_polars().height == data.to_polars().height
    assert data.between(HOURS[2], HOURS[3]).to_polars()["q1"].to_list() == [0.0]
    assert data.sensors == before.sensors == after.sensors


@pytest.mark.parametrize(("layout", "lazy"), LAYOUTS)
def test_select_keeps_the_given_order(layout: str, lazy: bool) -> None:
    data = make(layout, lazy=lazy).select(["q1", "p1"])
    assert data.ids == ("q1", "p1") and len(data) == 2
    assert data.to_polars().columns == ["time", "q1", "p1"]
    assert data.select("p1").ids == ("p1",)
    with pytest.raises(InputError, match=r"unknown sensor 'dor'.*did you mean 'door'"):
        make(layout).select(["dor"])


@pytest.mark.parametrize(("layout", "lazy"), LAYOUTS)
def test_span_and_summary(layout: str, lazy: bool) -> None:
    data = make(layout, lazy=lazy)
    assert data.span == (HOURS[0], HOURS[3])
    assert data.select("q1").span == (HOURS[2], HOURS[3])
    assert data.upto(HOURS[0]).span is None
    facts = data.describe()
    assert facts["readings"] == 3 + 2 + 3
    assert facts["kinds"] == {"flow": 1, "pressure": 1, "state": 1} and facts["categorical"] == 1
    assert "3 sensors (1 flow, 1 pressure, 1 state)" in data.summary()


def test_times_of_any_kind_and_zone() -> None:
    noon = datetime(2024, 1, 31, 12, tzinfo=UTC)
    for time in (
        "2024-01-31T12:00",
        "2024-01-31 13:00+01:00",
        noon,
        noon.replace(tzinfo=None),
        np.datetime64(noon.replace(tzinfo=None)),
    ):
        assert as_utc(time) == noon
    assert as_utc(date(2024, 1, 31)) == noon - timedelta(hours=12)
    nonsense: list[Any] = ["yesterday", 5]
    for word in nonsense:
        with pytest.raises(InputError, match="is not a time"):
            as_utc(word)
    frame = pl.DataFrame({"time": [datetime(2024, 7, 1, 12)], "a": [1.0]})
    local = frame.with_columns(pl.col("time").dt.replace_time_zone("Europe/Berlin").dt.cast_time_unit("ns"))
    assert SensorData.from_wide(local).to_polars()["time"][0] == datetime(2024, 7, 1, 10, tzinfo=UTC)


def test_kinds_and_units() -> None:
    data = make("wide").with_kinds({"p1": ("level", "cm"), "q1": "demand"})
    assert data.sensor("p1") == Sensor("p1", "level", "cm") and data.sensor("q1") == Sensor("q1", "demand", "m3/h")
    assert repr(data) == "SensorData(3 sensors: 1 demand, 1 level, 1 state; wide)"
    with pytest.raises(InputError, match="unknown sensor 'p9'"):
        data.with_kinds({"p9": "level"})


def test_two_sensors_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="duplicate sensor id 'p1'"):
        SensorData.from_wide(wide(), sensors=[*SENSORS, Sensor("p1")])
    with pytest.raises(InputError, match="unknown sensor 'q1' in a row; 2 sensors are known"):
        SensorData.from_long(long(), sensors=[SENSORS[0], SENSORS[2]])


def test_it_does_not_change() -> None:
    data, frame = make("wide"), wide()
    for name in ("sensors", "layout", "report", "anything"):
        with pytest.raises(AttributeError):
            setattr(data, name, ())
    SensorData.from_wide(frame.reverse())
    assert frame.equals(wide())


def test_to_pandas() -> None:
    pd = pytest.importorskip("pandas")
    frame = make("long").to_pandas()
    assert isinstance(frame.index, pd.DatetimeIndex) and str(frame.index.tz) == "UTC" and frame.index.name == "time"
    assert math.isnan(frame["q1"].iloc[0]) and frame["p1"].tolist() == [1.0, 3.0, 4.0]


def test_sensors_of_a_long_frame_are_found() -> None:
    data = SensorData.from_long(long())
    assert data.sensors == (Sensor("door", categorical=True), Sensor("p1"), Sensor("q1"))


def test_columns_that_are_not_there() -> None:
    with pytest.raises(InputError, match=r"no column 'time'; columns are 'Time', 'a'.*did you mean 'Time'"):
        SensorData.from_wide(pl.DataFrame({"Time": HOURS, "a": [1.0] * 4}))
    with pytest.raises(InputError, match="no column 'value'"):
        SensorData.from_long(pl.DataFrame({"time": HOURS, "sensor": ["a"] * 4}))
    with pytest.raises(InputError, match="column 'time' must hold datetimes, got String"):
        SensorData.from_wide(pl.DataFrame({"time": ["2024"], "a": [1.0]}))
    with pytest.raises(InputError, match=r"column 'seen' must hold numbers or categories, got Datetime"):
        SensorData.from_wide(wide().with_columns(seen=pl.col("time")))
    extra = SensorData.from_wide(wide(), sensors=SENSORS[:1])
    assert "ignored columns without a sensor: 'door', 'q1'" in str(extra.report)


def test_frames_with_different_columns_join_on_time() -> None:
    left = pl.DataFrame({"time": HOURS[:3], "a": [1.0, 2.0, 3.0]})
    right = pl.DataFrame({"time": HOURS[1:], "b": [5.0, None, 7.0]})
    for frames in ([left, right], [left.lazy(), right.lazy()]):
        data = SensorData.from_wide(frames)
        assert data.to_polars()["a"].to_list() == [1.0, 2.0, 3.0, None]
        assert data.to_polars()["b"].to_list() == [None, 5.0, None, 7.0]
        report = data.check().report
        # Only b's own empty cell is missing: neither frame has gaps where the other has rows.
        assert [(f.what, f.count, f.sensor) for f in report.findings] == [("missing", 1, "b")]
        assert data.select("b").span == (HOURS[1], HOURS[3])


cells = st.one_of(st.none(), st.integers(-3, 3).map(float), st.sampled_from([math.nan, math.inf]))


@given(rows=st.lists(st.tuples(st.integers(0, 6), cells, cells), max_size=25))
@settings(max_examples=examples(60), deadline=None)
def test_repair_loses_nothing_that_it_does_not_count(rows: list[tuple[int, Any, Any]]) -> None:
    """Finite cells = readings kept + repeated + contradicting; the last reading of a time wins; wide equals long."""
    times = [datetime(2024, 1, 1) + timedelta(minutes=minute) for minute, _, _ in rows]
    schema: Any = {"time": pl.Datetime("us"), "a": pl.Float64, "b": pl.Float64}
    frame = pl.DataFrame({"time": times, "a": [a for _, a, _ in rows], "b": [b for _, _, b in rows]}, schema=schema)
    sensors = [Sensor("a"), Sensor("b")]
    from_wide = SensorData.from_wide(frame, sensors=sensors, on_error="repair")
    molten = frame.unpivot(["a", "b"], index="time", variable_name="sensor", value_name="value")
    from_long = SensorData.from_long(molten, sensors=sensors, on_error="repair")
    for data in (from_wide, from_long):
        for k, id in enumerate(("a", "b"), start=1):
            finite = [(row[0], row[k]) for row in rows if row[k] is not None and math.isfinite(row[k])]
            kept = dict(finite)
            column = data.to_polars().select("time", id).drop_nulls()
            assert column[id].to_list() == [kept[minute] for minute in sorted(kept)]
            lost = data.report.count("repeated", sensor=id) + data.report.count("conflicting", sensor=id)
            assert lost == len(finite) - len(kept)
            endless = sum(row[k] is not None and math.isinf(row[k]) for row in rows)
            assert data.report.count("infinite", sensor=id) == endless
            assert data.report.count("silent", sensor=id) == (not kept)
        assert data.to_polars()["time"].is_sorted()


def test_report_merges_and_prints() -> None:
    report = ReadReport((Finding("missing", 3, "a", "f.csv"),), pending=("infinite",))
    assert "not checked yet" in str(report) and "sensor 'a'" in str(report)
    done = report.extended([Finding("bad-time", 2, where="g.csv")], notes=["n"]).completed(
        [Finding("infinite", 1, "a")]
    )
    assert (done.count("missing"), done.count("bad-time"), done.count("infinite")) == (3, 2, 1)
    assert done.pending == () and done.notes == ("n",)
    assert done.to_dict()["findings"][0] == {"what": "missing", "count": 3, "sensor": "a", "where": "f.csv"}  # type: ignore[index]
    assert str(ReadReport()) == "nothing to report"
    with pytest.raises(KeyError, match="unknown finding 'nonsense'"):
        done.count("nonsense")


def test_sensor_data_can_be_pickled() -> None:
    # Unpickling failed: the attributes of an immutable object could not be set.
    import pickle

    import thence as th

    data = th.datasets.load("toy")
    copy = pickle.loads(pickle.dumps(data))
    assert copy.sensors.sensors == data.sensors.sensors
    assert copy.sensors.to_polars().equals(data.sensors.to_polars())
    assert dict(copy.graph.nodes) == dict(data.graph.nodes)


def test_an_unknown_kind_or_unit_may_be_none():
    assert Sensor("a", kind=None, unit=None) == Sensor("a")
