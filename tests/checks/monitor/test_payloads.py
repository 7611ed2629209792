"""Payloads of the field: Sparkplug B with births and aliases, zigbee2mqtt, nested objects and SenML packs."""

from __future__ import annotations

import contextlib
import json
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.examples import examples
from thence.checks.monitor.batches import Roster
from thence.checks.monitor.messages import REASONS, MessageFormat, read_message
from thence.checks.monitor.sources.mqtt import Broker, MqttSource
from thence.data.readers.sparkplug import MOST_ALIASES, Births, Topic, decode, parse_topic
from thence.data.readings.sensors import Sensor

NOW = 1_704_067_200_000_000
ROSTER = ("hall.temperature", "hall.vent.state", "roof:t", "roof:rain", "pump.Speed", "Level", "plant/gw/pump/Open")


def roster() -> Roster:
    states = {"hall.vent.state", "roof:rain", "plant/gw/pump/Open"}
    return Roster(tuple(Sensor(name, categorical=name in states) for name in ROSTER))


def read(payload: Any, *, topic: str, subscription: str = "#", births: Births | None = None) -> list[Any]:
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    known = roster()
    found = read_message(data, known, MessageFormat(), topic=topic, subscription=subscription, now=NOW, births=births)
    return [one if isinstance(one, str) else (one[0], ROSTER[one[1]], one[2]) for one in found]


@pytest.mark.parametrize(
    ("payload", "topic", "expected"),
    [
        (
            {"temperature": 21.5, "linkquality": 80, "battery": 97, "last_seen": "2023-12-31T23:00:00Z"},
            "zigbee2mqtt/hall",
            [(NOW - 3_600_000_000, "hall.temperature", 21.5)],
        ),
        ({"temperature": 21.5, "vent": {"state": "ON"}}, "zigbee2mqtt/hall", ["hall.temperature", "hall.vent.state"]),
        ({"temperature": 20, "time": 1_704_067_000}, "home/hall", [(NOW - 200_000_000, "hall.temperature", 20.0)]),
        ({"temperature": 20, "soil": 3}, "home/hall", ["hall.temperature", "unknown_sensor"]),
        ({"linkquality": 80}, "home/hall", ["unknown_sensor"]),
        ({"temperature": "warm"}, "home/hall", ["bad_value"]),
        ({"temperature": None}, "home/hall", ["no_value"]),
        (
            [
                {"bn": "roof:", "bt": 1_704_067_000, "n": "t", "u": "Cel", "v": 17.5},
                {"n": "t", "t": 60, "v": 17.75},
                {"n": "rain", "vb": True},
            ],
            "senml/station",
            [
                (NOW - 200_000_000, "roof:t", 17.5),
                (NOW - 140_000_000, "roof:t", 17.75),
                (NOW - 200_000_000, "roof:rain", 0.0),
            ],
        ),
        ([{"n": "roof:t", "t": -30, "v": 17.5}], "senml/station", [(NOW - 30_000_000, "roof:t", 17.5)]),
        ([{"n": "roof:t", "bv": 0.5, "v": 10**400}], "senml/station", ["bad_value"]),
    ],
)
def test_wide_nested_and_senml_messages_are_readings(payload: Any, topic: str, expected: list[Any]) -> None:
    """Regression: a message of several quantities was 'no_value', and so was a SenML pack."""
    found = read(payload, topic=topic)
    assert len(found) == len(expected)
    for one, want in zip(found, expected, strict=True):
        # Of some readings only the sensor is given.
        assert (one[1] if isinstance(one, tuple) and isinstance(want, str) else one) == want


def varint(value: int) -> bytes:
    out = b""
    while True:
        value, low = value >> 7, value & 0x7F
        out += bytes([low | (0x80 if value else 0)])
        if not value:
            return out


def field(number: int, value: Any) -> bytes:
    """A field of a protobuf message: integers as varints, floats of 64 bits, text and bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value & (2**64 - 1))
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def payload(*metrics: dict[int, Any], timestamp: int | None = NOW // 1000) -> bytes:
    listed = b"".join(field(2, b"".join(field(k, v) for k, v in one.items())) for one in metrics)
    return (b"" if timestamp is None else field(1, timestamp)) + listed + field(3, 5)


def test_data_by_alias_is_named_by_the_birth() -> None:
    births = Births()
    birth = payload(
        {1: "Speed", 2: 4, 4: 10, 13: 40.5},
        {1: "Open", 2: 5, 4: 11, 14: 1},
        {1: "Node Control/Rebirth", 4: 11, 14: 0},
        {1: "bdSeq", 4: 8, 11: 3},
    )
    early = read(payload({2: 4, 13: 41.0}), topic="spBv1.0/plant/DDATA/gw/pump", births=births)
    assert early == ["no_birth"]
    found = read(birth, topic="spBv1.0/plant/DBIRTH/gw/pump", births=births)
    assert found == [(NOW, "pump.Speed", 40.5), (NOW, "plant/gw/pump/Open", 0.0)]
    later = payload({2: 4, 3: NOW // 1000 - 500, 13: 41.0}, {2: 5, 7: 1})
    found = read(later, topic="spBv1.0/plant/DDATA/gw/pump", births=births)
    assert found == [(NOW - 500_000, "pump.Speed", 41.0), "no_value"]
    again = Births()
    again.restore(json.loads(json.dumps(births.to_dict())))
    assert read(later, topic="spBv1.0/plant/DDATA/gw/pump", births=again) == found
    # A new birth of the node makes the aliases of its devices invalid, and another node has aliases of its own.
    assert read(later, topic="spBv1.0/plant/DDATA/other/pump", births=births) == ["no_birth", "no_birth"]
    read(payload({1: "bdSeq", 4: 8, 11: 4}), topic="spBv1.0/plant/NBIRTH/gw", births=births)
    assert read(later, topic="spBv1.0/plant/DDATA/gw/pump", births=births) == ["no_birth", "no_birth"]


def test_messages_without_readings_are_silent_and_others_are_rejected() -> None:
    for kind in ("NDEATH", "DDEATH", "NCMD", "DCMD"):
        assert read(payload({1: "Level", 13: 1.0}), topic=f"spBv1.0/plant/{kind}/gw") == []
    assert read(payload({1: "Level", 13: 1.0}), topic="spBv1.0/plant/NDATA/gw") == [(NOW, "Level", 1.0)]
    assert read(b"\x12\xff", topic="spBv1.0/plant/NDATA/gw") == ["not_sparkplug"]
    assert read(payload({1: "Depth", 13: 1.0}), topic="spBv1.0/plant/NDATA/gw") == ["unknown_sensor"]
    assert parse_topic("spBv1.0/STATE/host") is None and parse_topic("spBv1.0/a/NDATA/b") == Topic(
        "a", "NDATA", "b", ""
    )


@pytest.mark.parametrize(
    ("datatype", "fields", "expected"),
    [
        (1, {10: 0xFF}, -1),  # Int8
        (1, {10: 0xFFFFFFFF}, -1),  # as Eclipse Tahu sends it
        (2, {10: 0x8000}, -32768),
        (3, {10: 0x7FFFFFFF}, 2**31 - 1),
        (4, {11: 2**64 - 5}, -5),
        (5, {10: 0xFF}, 255),
        (8, {11: 2**63}, 2**63),
        (10, {13: 0.1}, 0.1),
        (11, {14: 1}, True),
        (12, {15: "läuft"}, "läuft"),
        (9, {}, None),
    ],
)
def test_every_type_of_value_is_decoded(datatype: int, fields: dict[int, Any], expected: Any) -> None:
    metric = {1: "x", 4: datatype, **fields, 9: b"\x08\x01"}
    births, topic = Births(), Topic("g", "NBIRTH", "n", "")
    (found,) = births.complete(decode(payload(metric)), topic)
    assert found["value"] == expected and type(found["value"]) is type(expected)


def test_a_float_of_32_bits_has_the_digits_it_was_sent_with() -> None:
    data = field(2, field(1, "t") + bytes([12 << 3 | 5]) + struct.pack("<f", 21.3))
    assert decode(data)["metrics"] == [{"name": "t", "value": 21.3}]


@settings(max_examples=examples(300), deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_a_payload_or_refused(data: bytes) -> None:
    with contextlib.suppress(ValueError):
        decode(data)
    for one in read(data, topic="spBv1.0/plant/NBIRTH/gw", births=Births()):
        assert one in REASONS or len(one) == 3


def test_aliases_cannot_fill_the_memory() -> None:
    births, topic = Births(), Topic("g", "DBIRTH", "n", "d")
    births.complete({"metrics": [{"name": f"m{at}", "alias": at} for at in range(MOST_ALIASES)]}, topic)
    assert len(births) <= MOST_ALIASES + 1


def test_births_survive_a_restart_of_the_monitor() -> None:
    class Quiet(Broker):
        def client(self, client_id: str, *, keep_session: bool) -> Any:
            class Client:
                def __getattr__(self, name: str) -> Any:
                    return lambda *_, **__: None

            return Client()

    def source() -> MqttSource:
        return MqttSource(Quiet("gateway", 1883), "spBv1.0/#", roster(), MessageFormat())

    class Message:
        mid, qos = 1, 0

        def __init__(self, topic: str, payload: bytes) -> None:
            self.topic, self.payload = topic, payload

    first = source()
    first._on_message(None, None, Message("spBv1.0/plant/NBIRTH/gw", payload({1: "Level", 2: 9, 4: 10, 13: 1.0})))
    delivery = first._gather()
    assert delivery.batch.values.tolist() == [1.0]
    second = source()
    second._births.restore(json.loads(json.dumps(delivery.position))["births"])
    second._on_message(None, None, Message("spBv1.0/plant/NDATA/gw", payload({2: 9, 13: 2.0})))
    assert second._gather().batch.values.tolist() == [2.0]
