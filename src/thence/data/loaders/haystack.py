"""Graphs from Project Haystack: JSON of versions 3 and 4, Zinc and Trio.

A record is a node: its id without ``@``, its class from its markers, its other tags as properties. The class of a point
is put together from its markers (``discharge air temp sensor`` is a ``Supply_Air_Temperature_Sensor``), that of
equipment, spaces and sites has the name of Brick; the markers themselves are the property ``markers``. A reference is
an edge with the name of its tag (``equipRef``), if its target is a record; otherwise it is a property. Records with the
same id, in one file or several, are one node. This module reads models; histories are readings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thence._base.settings.documents import parse_json, read_text
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.ontology import brick_classes
from thence.data.graph.point_names import class_of_point, words_of
from thence.data.loaders.draft import Draft
from thence.data.loaders.loader import Loader, LoadOptions
from thence.errors import GraphError, quote

_EQUIPMENT = {
    "ahu": "AHU", "rtu": "Rooftop_Unit", "doas": "Dedicated_Outdoor_Air_System_Unit", "mau": "Makeup_Air_Unit",
    "vav": "VAV", "cav": "CAV", "fcu": "Fan_Coil_Unit", "unitVent": "Unit_Ventilator", "crac": "CRAC",
    "boiler": "Boiler", "chiller": "Chiller", "coolingTower": "Cooling_Tower", "heatExchanger": "Heat_Exchanger",
    "heatPump": "Heat_Pump", "pump": "Pump", "fan": "Fan", "damper": "Damper", "valve": "Valve", "vfd": "VFD",
    "radiator": "Radiator", "chilledBeam": "Chilled_Beam", "thermostat": "Thermostat", "tank": "Storage_Tank",
    "weatherStation": "Weather_Station", "luminaire": "Luminaire", "ups": "UPS", "coil": "Coil",
}  # fmt: skip
_SPACES = {
    "room": "Room",
    "floor": "Floor",
    "hvacZone": "HVAC_Zone",
    "zone": "HVAC_Zone",
    "lightingZone": "Lighting_Zone",
}
_METERS = {"elec": "Electrical_Meter", "gas": "Gas_Meter", "water": "Water_Meter", "naturalGas": "Gas_Meter"}
_GENERIC = frozenset(
    {"point", "his", "cur", "writable", "equip", "space", "site", "device", "hisCollect", "curTracksWrite"}
)
_CODES = {"m": "marker", "r": "ref", "n": "number", "s": "str", "u": "uri", "t": "dateTime", "d": "date", "h": "time",
          "c": "coord", "x": "xstr", "b": "bin", "-": "remove", "z": "na"}  # fmt: skip


@dataclass(frozen=True)
class Ref:
    """A reference to a record.

    Args:
        id: The id, without ``@``.
        dis: What it is called, if the file says so.
    """

    id: str
    dis: str = ""


class _Marker:
    """The value of a tag that is there or not."""


MARKER = _Marker()
Record = Mapping[str, Any]


def is_haystack(content: Any) -> bool:
    """Return whether the content of a JSON file is a grid or a list of records of Haystack.

    >>> is_haystack({"meta": {"ver": "3.0"}, "cols": [], "rows": []}), is_haystack({"nodes": [], "edges": []})
    (True, False)
    """
    if isinstance(content, dict):
        grid = isinstance(content.get("rows"), list) and ("cols" in content or "meta" in content)
        return grid or content.get("_kind") in ("grid", "dict")
    rows = [row for row in content[:20] if isinstance(row, dict)] if isinstance(content, list) else []
    values = [value for row in rows for value in row.values()]
    return any((isinstance(v, dict) and "_kind" in v) or v == "m:" for v in values) or any(
        isinstance(row.get("id"), str) and row["id"].startswith(("r:", "@")) for row in rows
    )


def graph_of(content: Any, *, where: str) -> KnowledgeGraph:
    """Return the graph of JSON content.

    Args:
        content: A grid, a record or a list of these.
        where: The name of the file, for messages.

    Raises:
        GraphError: If a record has no id, or there is none.

    Examples:
        >>> site, ahu = {"id": "r:s", "site": "m:"}, {"id": "r:a", "equip": "m:", "ahu": "m:", "siteRef": "r:s"}
        >>> graph = graph_of([site, ahu], where="example")
        >>> sorted(graph.labels), list(graph.edges)
        (['AHU', 'Site'], ['a siteRef s'])
    """
    return _graph([(f"record {n}", record) for n, record in enumerate(_json_records(content), start=1)], where)


def read(paths: Sequence[Path], options: LoadOptions) -> KnowledgeGraph:
    """Read files of Zinc, Trio and JSON together."""
    records: list[tuple[str, Record]] = []
    for path in paths:
        text = read_text(path, error=GraphError)
        if path.suffix.lower() == ".json" or text.lstrip()[:1] in ("{", "["):
            content = parse_json(text, where=str(path), error=GraphError)
            found = [(f"{path.name}, record {n}", one) for n, one in enumerate(_json_records(content), start=1)]
        elif path.suffix.lower() == ".trio":
            found = [(f"{path.name}, line {line}", record) for line, record in _trio_records(text)]
        else:
            found = [(f"{path.name}, line {line}", record) for line, record in _zinc_records(text, str(path))]
        records += found
    return _graph(records, ", ".join(map(str, paths)))


def _json_records(content: Any) -> Iterator[Record]:
    if isinstance(content, list):
        for one in content:
            yield from _json_records(one)
    elif isinstance(content, dict) and isinstance(content.get("rows"), list):
        yield from _json_records(content["rows"])
    elif isinstance(content, dict):
        yield {name: value for name, raw in content.items() if (value := _from_json(raw)) is not None}


def _from_json(raw: Any) -> Any:
    """A value of version 4 (``{"_kind": …}``) or 3 (``"n:21.5 °C"``); ``None`` for what is not a value."""
    if isinstance(raw, dict):
        kind, value = raw.get("_kind"), raw.get("val")
        return _typed(str(kind), value, str(raw.get("dis", "")))
    if isinstance(raw, list):
        return tuple(v for one in raw if isinstance(v := _from_json(one), (str, float, int))) or None
    if isinstance(raw, str) and raw[1:2] == ":" and raw[0] in _CODES:
        kind, text = _CODES[raw[0]], raw[2:]
        head, _, rest = text.partition(" ")
        return _typed(kind, head if kind in ("ref", "number") else text, rest)
    return raw


def _typed(kind: str, value: Any, rest: str) -> Any:
    if kind == "marker":
        return MARKER
    if kind == "ref":
        return Ref(str(value).removeprefix("@"), rest)
    if kind == "number":
        try:
            return float(value)
        except (TypeError, ValueError):
            return None
    return value if kind in ("str", "uri", "date", "dateTime", "time", "xstr", "symbol") else None


_SCALAR = re.compile(
    r"""\s*(?:
      (?P<ref>@[\w:.~\-]+)(?:\s+"(?P<dis>(?:[^"\\]|\\.)*)")?
    | "(?P<text>(?:[^"\\]|\\.)*)"
    | `(?P<uri>(?:[^`\\]|\\.)*)`
    | (?P<date>\d{4}-\d\d-\d\d(?:T\S+(?:\s+\w+)?)?)
    | (?P<time>\d\d:\d\d:\d\d(?:\.\d+)?)
    | (?P<number>-?\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)(?P<unit>[^\s,\d][^\s,]*)?
    | (?P<nested><<.*?>>|\[[^\]]*\]|\{[^}]*\}|\w+\([^)]*\))
    | (?P<word>\w+)
    )\s*""",
    re.VERBOSE | re.DOTALL,
)
_WORDS = {"M": MARKER, "T": True, "F": False, "true": True, "false": False}


def _from_zinc(found: re.Match[str] | None) -> Any:
    """A scalar of Zinc; ``None`` for what is missing or not one value."""
    if found is None:
        return None
    if found["ref"]:
        return Ref(found["ref"][1:], _unescaped(found["dis"] or ""))
    if found["text"] is not None:
        return _unescaped(found["text"])
    if found["number"]:
        return float(found["number"].replace("_", ""))
    return found["uri"] or found["date"] or found["time"] or _WORDS.get(found["word"] or "")


def _unescaped(text: str) -> str:
    text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)
    return re.sub(r"\\(.)", lambda found: {"n": "\n", "t": "\t", "r": "\r"}.get(found[1], found[1]), text)


def _zinc_cells(line: str, where: str) -> list[Any]:
    """The values of a row, or the first value of each head of a column."""
    cells: list[Any] = []
    at = 0
    while True:
        found = _SCALAR.match(line, at)
        cells.append(_from_zinc(found))
        at = found.end() if found else at
        if at >= len(line):
            return cells
        if line[at] != ",":
            raise GraphError(
                f"not valid Zinc at {quote(line[at : at + 20])}", where=where, hint="cells are separated by commas"
            )
        at += 1


def _zinc_heads(line: str) -> list[str]:
    # Heads of columns may have metadata, in which commas are within quotes.
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', "", line)
    return [head.split()[0] if head.split() else "" for head in bare.split(",")]


def _zinc_records(text: str, where: str) -> Iterator[tuple[int, Record]]:
    heads: list[str] | None = None
    begun = False
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            begun, heads = False, None
        elif line.startswith("ver:"):
            begun, heads = True, None
        elif not begun:
            raise GraphError(
                "not valid Zinc: a grid begins with its version",
                where=f"{where}, line {number}",
                hint='write ver:"3.0"',
            )
        elif heads is None:
            heads = _zinc_heads(line)
        else:
            cells = _zinc_cells(line, f"{where}, line {number}")
            if len(cells) > len(heads):
                raise GraphError(
                    f"the row has {len(cells)} cells, the header has {len(heads)}", where=f"{where}, line {number}"
                )
            yield number, {name: value for name, value in zip(heads, cells, strict=False) if value is not None}


def _trio_records(text: str) -> Iterator[tuple[int, Record]]:
    record: dict[str, Any] = {}
    first = 0
    for number, line in enumerate([*text.splitlines(), "---"], start=1):
        stripped = line.strip()
        if stripped.startswith("---"):
            if record:
                yield first, record
            record = {}
        elif stripped and not stripped.startswith("//") and line[:1] not in (" ", "\t"):
            first = first if record else number
            name, colon, value = stripped.partition(":")
            scalar = _SCALAR.fullmatch(value) if value.strip() else None
            if not colon:
                record[name] = MARKER
            elif (read := _from_zinc(scalar)) is not None:
                record[name] = read
            elif value.strip():
                record[name] = value.strip()


def _graph(records: Sequence[tuple[str, Record]], where: str) -> KnowledgeGraph:
    merged: dict[str, dict[str, Any]] = {}
    places: dict[str, str] = {}
    for place, record in records:
        if isinstance(own := record.get("id"), Ref):
            merged.setdefault(own.id, {}).update(record)
            places.setdefault(own.id, place)
            if own.dis:
                merged[own.id].setdefault("dis", own.dis)
    if not merged:
        raise GraphError("no record with an id in this Haystack file", where=where, hint="export the records, with ids")
    draft = Draft(where)
    for node, record in merged.items():
        markers = [name for name, value in record.items() if isinstance(value, _Marker)]
        properties = {
            name: value.id if isinstance(value, Ref) else value
            for name, value in record.items()
            if name != "id" and not isinstance(value, _Marker) and not (isinstance(value, Ref) and value.id in merged)
        }
        if markers:
            properties["markers"] = tuple(sorted(markers))
        label = _class_of(markers)
        draft.add_node(node, labels={label} if label else (), properties=properties, place=places[node])
        for name, value in record.items():
            if name != "id" and isinstance(value, Ref) and value.id in merged:
                draft.add_edge(None, node, value.id, labels={name}, properties={}, place=places[node])
    return draft.graph()


def _class_of(markers: Sequence[str]) -> str:
    """The class of a record by its markers; an empty string without any."""
    said = set(markers)
    if "point" in said:
        own = [word for marker in markers if marker not in _GENERIC for word in words_of(marker)]
        return class_of_point(own) or "Point"
    if "site" in said:
        return "Site"
    if "meter" in said:
        return next((name for marker, name in _METERS.items() if marker in said), "Meter")
    tables = (_EQUIPMENT, _SPACES) if "equip" in said or "space" not in said else (_SPACES, _EQUIPMENT)
    for table in tables:
        if found := next((name for marker, name in table.items() if marker in said), ""):
            return found
    names = ["_".join(word.title() for word in words_of(marker)) for marker in markers if marker not in _GENERIC]
    fallback = "Equipment" if "equip" in said else "Space" if "space" in said else ""
    return next((name for name in names if name in brick_classes()), fallback or next(iter(names), ""))


LOADER = Loader(read, suffixes=(".zinc", ".trio"), several=True)
