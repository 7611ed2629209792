"""Payloads of devices as readings: names, times, values; nothing that JSON can hold raises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.examples import examples
from thence.data.readers import read_sensors
from thence.data.readers.payloads import is_diagnostic, readings_of, units_of
from thence.errors import InputError

KEYS = st.sampled_from(["n", "bn", "v", "vb", "bt", "t", "metrics", "name", "value", "topic", "payload", "id", "x", ""])
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
JSON = st.recursive(
    LEAVES, lambda one: st.lists(one, max_size=4) | st.dictionaries(KEYS, one, max_size=4), max_leaves=12
)


@given(message=JSON)
@settings(max_examples=examples(300), deadline=None)
def test_no_message_raises(message: Any) -> None:
    for reading in readings_of(message, name="device"):
        assert reading.sensor and (reading.value is None or isinstance(reading.value, (int, float, str, bool)))
    units_of(message)


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        ({"boiler": {"supply": 61.2, "pump": {"state": "on"}}}, [("boiler.supply", 61.2), ("boiler.pump.state", "on")]),
        ({"deviceId": "a7", "t": 21.5, "h": 40}, [("a7.t", 21.5), ("a7.h", 40)]),
        ({"sensor": "a7", "value": 3, "unit": "bar"}, [("a7", 3)]),
        ({"values": [1, 2]}, [("values.0", 1), ("values.1", 2)]),
        ([{"name": "p", "value": 1}, {"name": "q", "value": None}], [("p", 1), ("q", None)]),
        ({"topic": "a/b", "payload": '{"on": true}'}, [("a/b.on", True)]),
        (
            {"metrics": [{"name": "x", "isNull": True}, {"name": "y", "boolean_value": False}]},
            [("x", None), ("y", False)],
        ),
        ([{"bn": "u:", "bu": "V", "bv": 10, "v": 2}, {"n": "s", "vs": "ok"}], [("u:", 12), ("u:s", "ok")]),
    ],
)
def test_names_and_values(message: Any, wanted: list[tuple[str, Any]]) -> None:
    assert [(reading.sensor, reading.value) for reading in readings_of(message)] == wanted


def test_times_that_count_from_now_need_a_now() -> None:
    pack = [{"n": "a", "t": -10, "v": 1}]
    assert readings_of(pack)[0].time is None and readings_of(pack, now=2e9)[0].time == 2e9 - 10
    assert readings_of([{"n": "a", "v": 1}])[0].time is None


def test_what_is_said_of_the_device_is_left_out_of_files_unless_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = [{"ts": 1_700_000_000 + 60 * k, "t": 20 + k / 7, "rssi": -70 - k % 3} for k in range(40)]
    path.write_text("\n".join(map(json.dumps, lines)))
    data = read_sensors(path)
    assert data.ids == ("t",) and "left out what messages say about the device itself: 'rssi'" in str(data.report)
    assert read_sensors(path, numeric=["rssi"]).ids == ("rssi", "t")
    assert is_diagnostic("x.rssi") and not is_diagnostic("rssi_room.t")


def test_a_line_that_is_no_json_is_an_error_or_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"time": "2024-01-01T00:00Z", "a": 1.5}\n{"time": "2024\n{"time": 1704070800, "a": 2.5}\n')
    with pytest.raises(InputError, match="line 2: no JSON in this line"):
        read_sensors(path)
    data = read_sensors(path, on_error="repair")
    assert data.report.count("bad-line") == 1
    assert [time.hour for time in data.to_polars()["time"]] == [0, 1]
