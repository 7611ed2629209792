"""Messages: what is read, and that nothing that a message holds can break a monitor or fill its memory."""

from __future__ import annotations

import json
import random
import string
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.examples import examples
from thence.checks.monitor.batches import MOST_STATES, Batch, Roster
from thence.checks.monitor.messages import REASONS, MessageFormat, parse_time, read_message
from thence.data.readers import read_sensors
from thence.data.readings.sensors import Sensor
from thence.errors import ConfigError

NOW = 1_704_067_200_000_000
SENSORS = (Sensor("flow", "flow"), Sensor("p1.valve", "valve", categorical=True))


def roster() -> Roster:
    return Roster(SENSORS, {"valve": ("closed", "open")})


def read(payload: bytes | str | Any, *, topic: str = "", form: MessageFormat | None = None) -> list[Any]:
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    return list(read_message(data, roster(), form or MessageFormat(), topic=topic, subscription="site/+/+", now=NOW))


@pytest.mark.parametrize(
    ("payload", "topic", "expected"),
    [
        ({"sensor": "flow", "time": "2023-01-01T00:00:00Z", "value": 2}, "", [(1_672_531_200_000_000, 0, 2.0)]),
        ({"sensor": "flow", "time": 1_672_531_200, "value": "2.5"}, "", [(1_672_531_200_000_000, 0, 2.5)]),
        ({"value": 2, "time": 1_672_531_200_000}, "site/a/flow", [(1_672_531_200_000_000, 0, 2.0)]),
        ({"value": "open", "time": 1_672_531_200}, "site/p1/valve", [(1_672_531_200_000_000, 1, 1.0)]),
        (3.5, "site/a/flow", [(NOW, 0, 3.5)]),
        (b"open", "site/p1/valve", [(NOW, 1, 1.0)]),
        ([{"sensor": "flow", "value": 1}, {"sensor": "x", "value": 1}], "", [(NOW, 0, 1.0), "unknown_sensor"]),
        ({"sensor": "flow", "time": "yesterday", "value": 2}, "", ["bad_time"]),
        ({"sensor": "flow", "time": "9999-12-31T23:59:59Z", "value": 2}, "", ["bad_time"]),
        ({"sensor": "flow", "time": "2024-01-01T01:00:00Z", "value": 2}, "", ["future"]),
        ({"sensor": "flow", "time": -5, "value": 2}, "", ["bad_time"]),
        ({"sensor": "flow", "value": None}, "", ["no_value"]),
        ({"sensor": "flow"}, "", ["no_value"]),
        ({"sensor": "flow", "value": "high"}, "", ["bad_value"]),
        ({"sensor": "flow", "value": {"a": 1}}, "", ["bad_value"]),
        (b'{"sensor": "flow", "value": NaN}', "", ["no_value"]),
        ({"sensor": "flow", "value": True}, "", ["bad_value"]),
        ({"sensor": "p1.valve", "value": True}, "", [(NOW, 1, 2.0)]),
        ({"sensor": "p1.valve", "value": "N/A"}, "", ["no_value"]),
        (b'{"sensor": "flow", "value": 1e999}', "", ["bad_value"]),
        ({"sensor": 7, "value": 1}, "", ["unknown_sensor"]),
        ({"value": 1}, "", ["no_sensor"]),
        ({"value": 1}, "site/a/b", ["unknown_sensor"]),
        (b"\xff\xfe", "site/a/flow", ["not_json"]),
        (b'{"sensor": "flow"', "", ["not_json"]),
        (b"[" * 100_000, "", ["too_large"]),
        (b"[" * 60_000, "", ["not_json"]),
        (b"", "site/a/flow", ["not_json"]),
        ([], "site/a/flow", ["no_value"]),
    ],
)
def test_a_message_is_readings_or_reasons(payload: Any, topic: str, expected: list[Any]) -> None:
    assert read(payload, topic=topic) == expected


def test_the_topic_names_the_sensor_as_told() -> None:
    form = MessageFormat(topic="{2}.{3}")
    assert read(b"closed", topic="site/p1/valve", form=form) == [(NOW, 1, 0.0)]
    assert read(b"closed", topic="p1", form=form) == ["no_sensor"]
    with pytest.raises(ConfigError, match="must have a level"):
        MessageFormat(topic="flow")


def test_keys_can_be_other_ones() -> None:
    form = MessageFormat(sensor="id", time="ts", value="v")
    assert read({"id": "flow", "ts": 1_672_531_200, "v": 4}, form=form) == [(1_672_531_200_000_000, 0, 4.0)]


@given(st.integers(10**15, 17 * 10**14))
def test_times_in_any_unit_are_one_time(microseconds: int) -> None:
    second = microseconds // 10**6
    assert {parse_time(second), parse_time(second * 10**3), parse_time(second * 10**9)} == {second * 10**6}
    assert parse_time(microseconds) == microseconds


@settings(max_examples=examples(300), deadline=None)
@given(st.one_of(st.binary(max_size=400), st.text(max_size=200).map(str.encode)))
def test_any_bytes_are_counted(payload: bytes) -> None:
    for one in read(payload, topic="site/p1/valve"):
        assert one in REASONS or (len(one) == 3 and one[1] in (0, 1))


def hostile(chance: random.Random) -> bytes:
    """A payload that is broken in one of many ways, or right."""
    value: Any = chance.choice(
        [1, -1.5, 1e308, "1e400", "open", "x" * 300, None, True, [], {}, [1, 2], "NaN", 10**400, "\u0000", "💧"]
    )
    time: Any = chance.choice(
        [NOW, NOW // 10**6, "2024-01-01", "2024-13-01", 10**30, -1, "x" * 100, None, [], 0.1, 1e300, True, "T", ""]
    )
    sensor: Any = chance.choice(["flow", "p1.valve", "nobody", 3, None, "", "flow\u0000", ["flow"], {"a": 1}])
    whole = {"sensor": sensor, "time": time, "value": value}
    kind = chance.randrange(8)
    if kind == 0:
        return bytes(chance.randrange(256) for _ in range(chance.randrange(80)))
    if kind == 1:
        return "".join(chance.choice(string.printable) for _ in range(chance.randrange(80))).encode()
    text = json.dumps([whole] * chance.randrange(4) if kind == 2 else whole).encode()
    if kind == 3:
        return text[: chance.randrange(len(text) + 1)]
    if kind == 4:
        at = chance.randrange(len(text))
        return text[:at] + bytes([chance.randrange(256)]) + text[at + 1 :]
    if kind == 5:
        return b"[" * chance.randrange(2_000) + text
    if kind == 6:
        return b'{"sensor":"p1.valve","value":"%d"}' % chance.randrange(10**6)
    return text


def test_ten_thousand_hostile_messages() -> None:
    chance = random.Random(0)
    known = roster()
    rows, reasons = [], 0
    for _ in range(10_000):
        topic = chance.choice(["site/a/flow", "site/p1/valve", "", "a" * 200, "//", "site/\u0000/x"])
        found = list(
            read_message(hostile(chance), known, MessageFormat(), topic=topic, subscription="site/+/+", now=NOW)
        )
        assert found, "every message is counted"
        for one in found:
            if isinstance(one, str):
                assert one in REASONS
                reasons += 1
            else:
                rows.append(one)
    assert reasons > 3_000 and len(rows) > 500
    assert len(known.names(1)) <= MOST_STATES
    batch = Batch.of(rows)
    assert (batch.values == batch.values).all() and abs(batch.values).max() < float("inf")


@given(
    st.one_of(
        st.sampled_from(
            [
                "1_000",
                "１２",
                "٣",
                "inf",
                "-Infinity",
                "nan",
                "NA",
                "1e5",
                "+.5",
                "5.",
                "0x1f",
                "1e999",
                "true",
                "True",
                "--1",
                "e5",
                "+",
                ".",
                "²",
                "1e",
                "null",
                "1e-400",
                "-0",
                "007",
            ]
        ),
        st.sampled_from(["", " 7 ", "1 2", "\u3000 7"]),
        st.text("0123456789+-.eE_ \u0663\uff11", max_size=6),
        st.floats().map(str),
    )
)
def test_text_is_a_number_where_a_file_would_have_one(text: str) -> None:
    """Messages took ``"1_000"``, digits of other scripts and ``true`` for numbers, as Python's ``float`` does."""
    times = [f"2023-01-0{day}" for day in range(1, 4)]
    frame = pl.DataFrame({"time": times, "flow": [text, "1.5", "2.25"]})
    data = read_sensors(frame, numeric="flow", on_error="repair", max_loss=1).to_polars()
    in_file = data.filter(pl.col("time").dt.day() == 1)["flow"].to_list()
    found = read({"sensor": "flow", "value": text})
    assert [one for one in found if not isinstance(one, str)] == [(NOW, 0, one) for one in in_file if one is not None]
