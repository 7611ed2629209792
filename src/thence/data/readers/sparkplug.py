"""Sparkplug B: the payloads of MQTT gateways, decoded from protobuf into the objects that ``.payloads`` reads.

Only the fields of a payload and of its metrics that say what was measured are decoded (Sparkplug 3.0, section 6.4);
templates, data sets and properties are skipped. A birth (NBIRTH, DBIRTH) names the metrics of a node or device; later
messages may give their aliases alone, so births are kept. Nothing here raises but ``ValueError``, for bytes that are
no payload.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

NAMESPACE = "spBv1.0"
BIRTHS, DATA = ("NBIRTH", "DBIRTH"), ("NDATA", "DDATA")
MOST_ALIASES = 100_000
"""Metrics of births that are kept; further ones are read only if they are named."""
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_NAME, _ALIAS, _TIMESTAMP, _DATATYPE, _IS_NULL = 1, 2, 3, 4, 7
_INT, _LONG, _FLOAT, _DOUBLE, _BOOLEAN, _STRING = 10, 11, 12, 13, 14, 15
_SIGNED = {1: 8, 2: 16, 3: 32, 4: 64}
"""Bits of the types of signed integers, which are sent as unsigned ones."""
_LONGEST_NAME = 256


class Topic(NamedTuple):
    """The topic of a Sparkplug message.

    Args:
        group: The group.
        kind: The kind of message, such as ``"DDATA"``.
        node: The edge node.
        device: The device; empty for the node itself.
    """

    group: str
    kind: str
    node: str
    device: str

    @property
    def owner(self) -> str:
        """The edge node, within which aliases are unique."""
        return f"{self.group}/{self.node}"


def parse_topic(topic: str) -> Topic | None:
    """Return the parts of a topic, or ``None`` if it is not one of Sparkplug B.

    Args:
        topic: The topic of a message.

    Examples:
        >>> parse_topic("spBv1.0/plant/DDATA/gateway/pump")
        Topic(group='plant', kind='DDATA', node='gateway', device='pump')
        >>> parse_topic("plant/pump/flow") is None
        True
    """
    parts = topic.split("/")
    if parts[0] != NAMESPACE or not 4 <= len(parts) <= 5:
        return None
    return Topic(parts[1], parts[2], parts[3], parts[4] if len(parts) == 5 else "")


class Births:
    """The names and types of metrics by their alias, as births have told them.

    Examples:
        >>> births = Births()
        >>> birth = {"metrics": [{"name": "Speed", "alias": 7, "datatype": 3, "int_value": 0xFFFFFFFE}]}
        >>> topic = Topic("plant", "DBIRTH", "gateway", "pump")
        >>> births.complete(birth, topic)[0]["value"]
        -2
        >>> births.complete({"metrics": [{"alias": 7, "int_value": 3}]}, topic._replace(kind="DDATA"))
        [{'name': 'Speed', 'value': 3}]
        >>> births.complete({"metrics": [{"alias": 8, "int_value": 3}]}, topic._replace(kind="DDATA"))
        [{'name': '', 'value': 3}]
    """

    def __init__(self) -> None:
        self._known: dict[str, dict[str, tuple[str, int]]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._known.values()))

    def complete(self, payload: Mapping[str, Any], topic: Topic) -> list[dict[str, Any]]:
        """Return the metrics of a payload with their names and values; the name is empty if no birth has told it.

        Args:
            payload: The payload as ``decode`` returns it.
            topic: Its topic.
        """
        if topic.kind == "NBIRTH":
            self._known.pop(topic.owner, None)  # a birth of the node makes all aliases of it invalid
        known = self._known.setdefault(topic.owner, {})
        out = []
        for metric in payload["metrics"]:
            keys = [f"#{metric['alias']}"] if "alias" in metric else []
            keys += [f"{topic.device}/{metric['name']}"] if "name" in metric else []
            name, datatype = next((known[key] for key in keys if key in known), ("", 0))
            name, datatype = metric.get("name", name), metric.get("datatype", datatype)
            if topic.kind in BIRTHS and name and len(self) < MOST_ALIASES:
                known.update((key, (name, datatype)) for key in keys)
            own = {"name": name, "value": _value_of(metric, datatype)}
            out.append(own | ({"timestamp": metric["timestamp"]} if "timestamp" in metric else {}))
        return out

    def to_dict(self) -> dict[str, Any]:
        """Return the births as a dict that JSON can hold."""
        return {owner: {key: list(one) for key, one in known.items()} for owner, known in self._known.items()}

    def restore(self, data: Mapping[str, Any]) -> None:
        """Take over the births that ``to_dict`` returned.

        Args:
            data: The births.
        """
        self._known = {owner: {key: (str(n), int(t)) for key, (n, t) in one.items()} for owner, one in data.items()}


def _value_of(metric: Mapping[str, Any], datatype: int) -> Any:
    if metric.get("is_null"):
        return None
    whole = metric.get("int_value", metric.get("long_value"))
    if whole is not None:
        bits = _SIGNED.get(datatype, 0)
        low = whole & ((1 << bits) - 1)
        return low - (1 << bits) if bits and low >> (bits - 1) else low if bits else whole
    return metric.get("value")


def decode(payload: bytes) -> dict[str, Any]:
    """Decode a payload.

    Args:
        payload: The bytes of a message.

    Returns:
        ``metrics`` as a list, and ``timestamp`` in milliseconds if it has one. A metric has those of ``name``,
        ``alias``, ``timestamp``, ``datatype`` and ``is_null`` that are sent, and ``int_value``, ``long_value`` or, for
        all other types, ``value``.

    Raises:
        ValueError: If the bytes are no payload of Sparkplug B.

    Examples:
        >>> decode(bytes.fromhex("08d08603" "120a" "0a024f6e" "1801" "200b" "7001"))
        {'metrics': [{'name': 'On', 'timestamp': 1, 'datatype': 11, 'value': True}], 'timestamp': 50000}
    """
    out: dict[str, Any] = {"metrics": []}
    for number, wire, value in _fields(payload):
        if number == 1 and wire == _VARINT:
            out["timestamp"] = value
        elif number == 2 and wire == _BYTES:
            out["metrics"].append(_metric(value))
    return out


def _metric(data: bytes) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for number, wire, value in _fields(data):
        if number == _NAME and wire == _BYTES:
            out["name"] = value[:_LONGEST_NAME].decode("utf-8")
        elif number == _STRING and wire == _BYTES:
            out["value"] = value.decode("utf-8")
        elif number == _FLOAT and wire == _FIXED32:
            # As many digits as a float of 32 bits has: 21.3, not 21.299999237060547.
            out["value"] = float(f"{struct.unpack('<f', value)[0]:.7g}")
        elif number == _DOUBLE and wire == _FIXED64:
            out["value"] = struct.unpack("<d", value)[0]
        elif wire == _VARINT and number == _BOOLEAN:
            out["value"] = bool(value)
        elif wire == _VARINT and number == _IS_NULL:
            out["is_null"] = bool(value)
        elif wire == _VARINT and number in _WHOLE:
            out[_WHOLE[number]] = value
    return out


_WHOLE = {_ALIAS: "alias", _TIMESTAMP: "timestamp", _DATATYPE: "datatype", _INT: "int_value", _LONG: "long_value"}


def _fields(data: bytes) -> Iterator[tuple[int, int, Any]]:
    """Yield the fields of a protobuf message: number, wire type, and an integer or bytes."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        if not number:
            raise ValueError("a field has the number 0")
        if wire == _VARINT:
            value, at = _varint(data, at)
            yield number, wire, value
            continue
        if wire not in (_FIXED64, _BYTES, _FIXED32):
            raise ValueError(f"a field has the wire type {wire}")
        size = 8 if wire == _FIXED64 else 4
        if wire == _BYTES:
            size, at = _varint(data, at)
        if at + size > len(data):
            raise ValueError("a field goes beyond the end")
        yield number, wire, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """An integer of up to 64 bits in base 128, and the position after it."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise ValueError("a number goes beyond the end")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at
    raise ValueError("a number has more than 64 bits")
