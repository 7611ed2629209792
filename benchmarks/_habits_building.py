"""One building with the same readings, written in twelve habits of models: what ``habits.py`` compares.

An air handling unit with a fan and a heating coil feeds VAV boxes, each of which feeds a room; a boiler feeds a hot
water loop, which feeds the air handling unit; a weather station reads the outdoor temperature. All is made up. A writer
gets the building and a folder, and writes the readings and the model as files.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

START = datetime(2024, 1, 8, tzinfo=UTC)
PREFIXES = """@prefix brick: <https://brickschema.org/schema/Brick#> .
@prefix ref: <https://brickschema.org/schema/Brick/ref#> .
@prefix bacnet: <http://data.ashrae.org/bacnet/2020#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix unit: <http://qudt.org/vocab/unit/> .
@prefix qudt: <http://qudt.org/schema/qudt/> .
@prefix quantitykind: <http://qudt.org/vocab/quantitykind/> .
@prefix s223: <http://data.ashrae.org/standard223#> .
@prefix ex: <urn:example:site#> .
"""


@dataclass(frozen=True)
class Point:
    """A point: its name, class of Brick, holder, markers of Haystack, units and quantity of QUDT, words and part."""

    name: str
    label: str
    holder: str
    markers: str
    unit: tuple[str, str] = ("", "")
    quantity: str = ""
    words: str = ""
    part: str = ""


@dataclass(frozen=True)
class Building:
    """A building with its readings, in windows of half an hour."""

    points: tuple[Point, ...]
    classes: dict[str, str]
    feeds: tuple[tuple[str, str], ...]
    times: tuple[datetime, ...]
    readings: dict[str, np.ndarray[Any, Any]]


CELSIUS, PERCENT, FLOW, GAS = ("°C", "DEG_C"), ("%", "PERCENT"), ("L/s", "L-PER-SEC"), ("m³/h", "M3-PER-HR")


def make_building(seed: int, *, days: int = 28, boxes: int = 6) -> Building:
    """Make a building: half-hourly readings of some days."""
    rng = np.random.default_rng(seed)
    hours = np.arange(days * 48) / 2
    weekday = (hours // 24) % 7 < 5
    fan = (weekday & (hours % 24 >= 7) & (hours % 24 < 18)).astype(float)
    slow = np.interp(hours, np.arange(0, days * 24 + 1, 24), rng.normal(0, 4, days + 1))
    oat = 8 + slow + 5 * np.sin((hours % 24 - 9) / 24 * 2 * math.pi) + rng.normal(0, 0.2, len(hours))
    satsp = np.clip(18 - (oat - 5) / 3, 13, 18)
    sat = np.where(fan > 0, satsp, 20) + rng.normal(0, 0.15, len(hours))
    hv = fan * np.clip(60 - 4 * oat, 0, 100)
    hwst = np.clip(70 - 1.5 * oat, 35, 80) + rng.normal(0, 0.3, len(hours))
    hwrt = hwst - 4 - 0.1 * hv + rng.normal(0, 0.2, len(hours))
    found = {"oat": oat, "satsp": satsp, "sat": sat, "fan": fan, "hv": hv, "hwst": hwst, "hwrt": hwrt}
    found["gas"] = 0.5 * (hwst - hwrt) + rng.normal(0, 0.02, len(hours))
    points = [
        Point("oat", "Outside_Air_Temperature_Sensor", "Weather_1", "outside air temp sensor", CELSIUS, "Temperature",
              "outside air temperature"),
        Point("sat", "Supply_Air_Temperature_Sensor", "AHU_1", "discharge air temp sensor", CELSIUS, "Temperature",
              "supply air temperature"),
        Point("satsp", "Supply_Air_Temperature_Setpoint", "AHU_1", "discharge air temp sp", CELSIUS, "Temperature",
              "supply air temperature set point"),
        Point("fan", "Fan_Status", "AHU_1", "fan run sensor", words="fan status", part="Fan"),
        Point("hv", "Heating_Command", "AHU_1", "heating valve cmd", PERCENT, "DimensionlessRatio",
              "heating valve position", "Heating_Coil"),
        Point("hwst", "Hot_Water_Supply_Temperature_Sensor", "Hot_Water_Loop_1", "hot water leaving temp sensor",
              CELSIUS, "Temperature", "hot water supply temperature"),
        Point("hwrt", "Hot_Water_Return_Temperature_Sensor", "Hot_Water_Loop_1", "hot water entering temp sensor",
              CELSIUS, "Temperature", "hot water return temperature"),
        Point("gas", "Natural_Gas_Flow_Sensor", "Boiler_1", "natural gas flow sensor", GAS, "VolumeFlowRate",
              "natural gas flow"),
    ]  # fmt: skip
    classes = {
        "AHU_1": "AHU",
        "Hot_Water_Loop_1": "Hot_Water_Loop",
        "Boiler_1": "Boiler",
        "Weather_1": "Weather_Station",
    }
    feeds = [("Boiler_1", "Hot_Water_Loop_1"), ("Hot_Water_Loop_1", "AHU_1")]
    total = np.zeros(len(hours))
    for k in range(1, boxes + 1):
        classes |= {f"VAV_{k}": "VAV", f"Room_{k}": "Room"}
        feeds += [("AHU_1", f"VAV_{k}"), (f"VAV_{k}", f"Room_{k}")]
        load = 0.25 * k + 0.12 * (oat - 8) + rng.normal(0, 0.15, len(hours))
        zt = np.where(fan > 0, 22 + 0.25 * load, 19.5 + 0.05 * (oat - 8)) + rng.normal(0, 0.05, len(hours))
        zd = fan * np.clip(25 + 12 * load, 15, 100)
        zf = 3 * zd + fan * rng.normal(0, 0.5, len(hours))
        total += zf
        found |= {f"zt{k}": zt, f"zd{k}": zd, f"zf{k}": zf}
        points += [
            Point(f"zt{k}", "Zone_Air_Temperature_Sensor", f"Room_{k}", "zone air temp sensor", CELSIUS, "Temperature",
                  "zone air temperature"),
            Point(f"zd{k}", "Damper_Position_Command", f"VAV_{k}", "damper cmd", PERCENT, "DimensionlessRatio",
                  "damper position"),
            Point(f"zf{k}", "Supply_Air_Flow_Sensor", f"VAV_{k}", "discharge air flow sensor", FLOW, "VolumeFlowRate",
                  "supply air flow"),
        ]  # fmt: skip
    found["flow"] = total + fan * rng.normal(0, 1, len(hours))
    points.append(Point("flow", "Supply_Air_Flow_Sensor", "AHU_1", "discharge air flow sensor", FLOW, "VolumeFlowRate",
                        "supply air flow"))  # fmt: skip
    times = tuple(START + timedelta(hours=float(hour)) for hour in hours)
    return Building(
        tuple(points), classes, tuple(feeds), times, {name: np.round(one, 2) for name, one in found.items()}
    )


def write_readings(building: Building, folder: Path, column: Callable[[Point], str]) -> Path:
    """Write a table of all readings, with the columns that a habit calls them by."""
    path = folder / "readings.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["time", *(column(point) for point in building.points)])
        series = [building.readings[point.name] for point in building.points]
        for at, time in enumerate(building.times):
            table.writerow([time.strftime("%Y-%m-%dT%H:%M:%SZ"), *(f"{one[at]:g}" for one in series)])
    return path


def _brick_things(building: Building) -> Iterator[str]:
    yield "ex:Building a brick:Building ."
    for name, label in building.classes.items():
        yield f"ex:{name} a brick:{label} ."
        if label == "Room":
            yield f"ex:Building brick:hasPart ex:{name} ."
        else:
            yield f"ex:{name} brick:hasLocation ex:Building ."


def _typed(point: Point, id: str, *more: str) -> str:
    said = [f"a brick:{point.label}", *more]
    if point.unit[1]:
        said.append(f"brick:hasUnit unit:{point.unit[1]}")
    return f"ex:{id} {' ; '.join(said)} ."


def _brick(folder: Path, lines: Sequence[str]) -> list[Path]:
    path = folder / "model.ttl"
    path.write_text(PREFIXES + "\n".join(lines) + "\n", encoding="utf-8")
    return [path]


Written = tuple[Path, list[Path]]


def has_point(building: Building, folder: Path) -> Written:
    """``hasPoint`` and ``feeds``; columns are the names of the points."""
    lines = [*_brick_things(building)]
    lines += [f"ex:{a} brick:feeds ex:{b} ." for a, b in building.feeds]
    for point in building.points:
        lines += [_typed(point, point.name), f"ex:{point.holder} brick:hasPoint ex:{point.name} ."]
    return write_readings(building, folder, lambda point: point.name), _brick(folder, lines)


def is_point_of(building: Building, folder: Path) -> Written:
    """``isPointOf`` and ``isFedBy``; columns in capitals with other separators."""
    lines = [*_brick_things(building)]
    lines += [f"ex:{b} brick:isFedBy ex:{a} ." for a, b in building.feeds]
    for point in building.points:
        lines.append(_typed(point, f"{point.holder}.{point.name}", f"brick:isPointOf ex:{point.holder}"))
    readings = write_readings(building, folder, lambda point: f"{point.holder} {point.name}".upper().replace("_", "-"))
    return readings, _brick(folder, lines)


def both_ways(building: Building, folder: Path) -> Written:
    """Every relation in both directions, ids without a meaning, and labels that are the columns."""
    lines = [*_brick_things(building)]
    lines += [f"ex:{a} brick:feeds ex:{b} . ex:{b} brick:isFedBy ex:{a} ." for a, b in building.feeds]
    for at, point in enumerate(building.points):
        label = f'rdfs:label "{point.holder} {point.words} {at}"'
        lines += [_typed(point, f"p{7919 * (at + 1)}", label, f"brick:isPointOf ex:{point.holder}")]
        lines += [f"ex:{point.holder} brick:hasPoint ex:p{7919 * (at + 1)} ."]
    names = {point: f"{point.holder} {point.words} {at}" for at, point in enumerate(building.points)}
    return write_readings(building, folder, names.__getitem__), _brick(folder, lines)


def has_part(building: Building, folder: Path) -> Written:
    """Points by ``hasPart``, of parts of equipment too."""
    lines = [*_brick_things(building)]
    lines += [f"ex:{a} brick:feeds ex:{b} ." for a, b in building.feeds]
    for point in building.points:
        holder = point.holder
        if point.part:
            holder = f"{point.holder}_{point.part}"
            lines += [f"ex:{holder} a brick:{point.part} .", f"ex:{point.holder} brick:hasPart ex:{holder} ."]
        lines += [_typed(point, point.name), f"ex:{holder} brick:hasPart ex:{point.name} ."]
    return write_readings(building, folder, lambda point: point.name), _brick(folder, lines)


def in_locations(building: Building, folder: Path) -> Written:
    """Points of rooms by their location, others as parts; ``isLocationOf`` and ``isPartOf``."""
    lines = [*_brick_things(building)]
    lines += [f"ex:{a} brick:feeds ex:{b} ." for a, b in building.feeds]
    for point in building.points:
        lines.append(_typed(point, point.name))
        room = building.classes[point.holder] == "Room"
        lines.append(
            f"ex:{point.holder} brick:isLocationOf ex:{point.name} ."
            if room
            else f"ex:{point.name} brick:isPartOf ex:{point.holder} ."
        )
    return write_readings(building, folder, lambda point: point.name), _brick(folder, lines)


def time_series(building: Building, folder: Path) -> Written:
    """Time series references on nodes of their own; columns are their ids."""
    lines = [*_brick_things(building), 'ex:db a ref:Database ; rdfs:label "readings.csv" .']
    lines += [f"ex:{a} brick:feeds ex:{b} ." for a, b in building.feeds]
    series = {point: f"ts-{1000 + 37 * at}" for at, point in enumerate(building.points)}
    for at, point in enumerate(building.points):
        way = "ref:hasExternalReference" if at % 2 else "ref:hasTimeseriesReference"
        stored = f'{way} [ a ref:TimeseriesReference ; ref:hasTimeseriesId "{series[point]}" ; ref:storedAt ex:db ]'
        lines += [_typed(point, f"u{at}", stored), f"ex:{point.holder} brick:hasPoint ex:u{at} ."]
    return write_readings(building, folder, series.__getitem__), _brick(folder, lines)


def bacnet(building: Building, folder: Path) -> Written:
    """References to objects of BACnet; columns are their names."""
    lines = [*_brick_things(building)]
    lines += [f"ex:{a} brick:feeds ex:{b} ." for a, b in building.feeds]
    names = {point: f"B17-{point.holder}-{point.name}".upper() for point in building.points}
    for at, point in enumerate(building.points):
        said = f'bacnet:object-identifier "analog-value,{at}" ; bacnet:object-name "{names[point]}"'
        reference = f"ref:hasExternalReference [ a ref:BACnetReference ; {said} ]"
        lines += [_typed(point, f"b{at}", reference), f"ex:{point.holder} brick:hasPoint ex:b{at} ."]
    return write_readings(building, folder, names.__getitem__), _brick(folder, lines)


def _records(building: Building) -> list[dict[str, Any]]:
    """The records of Haystack, with markers as ``None``."""
    records: list[dict[str, Any]] = [{"id": "@s", "dis": "Site", "site": None, "tz": "UTC"}]
    supplied: dict[str, list[str]] = {}
    for source, target in building.feeds:
        supplied.setdefault(target, []).append(source)
    sources = {"VAV": "airRef", "AHU": "hotWaterRef", "Hot_Water_Loop": "hotWaterRef"}
    markers = {"Weather_Station": "weatherStation", "Hot_Water_Loop": "hotWaterLoop"}
    for name, label in building.classes.items():
        record: dict[str, Any] = {"id": f"@s.{name}", "dis": name, "siteRef": "@s"}
        record |= dict.fromkeys(("space", "room") if label == "Room" else ("equip", markers.get(label, label.lower())))
        if label in sources:
            record[sources[label]] = f"@s.{supplied[name][0]}"
        if label == "VAV":
            record["spaceRef"] = next(f"@s.{b}" for a, b in building.feeds if a == name)
        records.append(record)
    for point in building.points:
        record = {"id": f"@s.{point.holder}.{point.name}", "dis": f"{point.holder} {point.words}", "siteRef": "@s"}
        room = building.classes[point.holder] == "Room"
        record["spaceRef" if room else "equipRef"] = f"@s.{point.holder}"
        record |= dict.fromkeys(("point", "his", *point.markers.split()))
        record |= {"kind": "Number", "tz": "UTC"} | ({"unit": point.unit[0]} if point.unit[0] else {})
        records.append(record)
    return records


def _history(building: Building, folder: Path) -> Path:
    return write_readings(building, folder, lambda point: f"s.{point.holder}.{point.name}")


def haystack_json_4(building: Building, folder: Path) -> Written:
    """Project Haystack, JSON of version 4."""

    def coded(value: Any) -> Any:
        if value is None:
            return {"_kind": "marker"}
        return {"_kind": "ref", "val": value[1:]} if value.startswith("@") else value

    rows = [{name: coded(value) for name, value in record.items()} for record in _records(building)]
    path = folder / "model.json"
    path.write_text(json.dumps({"_kind": "grid", "meta": {"ver": "3.0"}, "cols": [], "rows": rows}), encoding="utf-8")
    return _history(building, folder), [path]


def haystack_json_3(building: Building, folder: Path) -> Written:
    """Project Haystack, JSON of version 3."""

    def coded(value: Any) -> str:
        return "m:" if value is None else f"r:{value[1:]} Name" if value.startswith("@") else f"s:{value}"

    rows = [{name: coded(value) for name, value in record.items()} for record in _records(building)]
    cols = [{"name": name} for name in dict.fromkeys(name for row in rows for name in row)]
    path = folder / "model.json"
    path.write_text(json.dumps({"meta": {"ver": "2.0"}, "cols": cols, "rows": rows}), encoding="utf-8")
    return _history(building, folder), [path]


def haystack_zinc(building: Building, folder: Path) -> Written:
    """Project Haystack, Zinc, with the equipment once more as Trio."""
    records = _records(building)
    names = list(dict.fromkeys(name for record in records for name in record))

    def coded(value: Any) -> str:
        return "M" if value is None else value if value.startswith("@") else json.dumps(value, ensure_ascii=False)

    rows = [",".join(coded(record[name]) if name in record else "" for name in names) for record in records]
    zinc, trio = folder / "model.zinc", folder / "equips.trio"
    zinc.write_text("\n".join(['ver:"3.0"', ",".join(names), *rows]) + "\n", encoding="utf-8")
    equips = [record for record in records if "equip" in record]
    texts = ["\n".join(n if v is None else f"{n}:{coded(v)}" for n, v in record.items()) for record in equips]
    trio.write_text("\n---\n".join(texts) + "\n", encoding="utf-8")
    return _history(building, folder), [zinc, trio]


def s223(building: Building, folder: Path) -> Written:
    """ASHRAE 223P: connection points, ducts and pipes, properties."""
    classes = {"AHU": "AirHandlingUnit", "VAV": "SingleDuctTerminal", "Room": "PhysicalSpace", "Boiler": "Boiler"}
    lines = ["ex:Building a s223:PhysicalSpace ."]
    for name, label in building.classes.items():
        lines.append(f"ex:{name} a s223:{classes.get(label, label.replace('_', ''))} .")
        if label == "Room":
            lines.append(f"ex:{name}_air a s223:DomainSpace . ex:{name} s223:encloses ex:{name}_air .")
            lines.append(f"ex:Building s223:contains ex:{name} .")
        else:
            lines.append(f"ex:{name} s223:hasPhysicalLocation ex:Building .")
    inside = {name: f"{name}_air" if label == "Room" else name for name, label in building.classes.items()}
    for source in dict.fromkeys(source for source, _ in building.feeds):
        medium = "Fluid-Air" if source.startswith(("AHU", "VAV")) else "Fluid-HotWater"
        way = f"{'duct' if medium == 'Fluid-Air' else 'pipe'}_{source}"
        lines += [f"ex:{source}_out a s223:OutletConnectionPoint ; s223:hasMedium s223:{medium} .",
                  f"ex:{way} a s223:{way[:4].title()} ; s223:hasMedium s223:{medium} .",
                  f"ex:{source} s223:cnx ex:{source}_out . ex:{source}_out s223:cnx ex:{way} ."]  # fmt: skip
        for target in (target for one, target in building.feeds if one == source):
            lines += [f"ex:{target}_in a s223:InletConnectionPoint ; s223:hasMedium s223:{medium} .",
                      f"ex:{way} s223:cnx ex:{target}_in . ex:{inside[target]} s223:cnx ex:{target}_in ."]  # fmt: skip
    for point in building.points:
        acts = point.label.endswith(("Command", "Setpoint"))
        kind = "QuantifiableActuatableProperty" if acts else "QuantifiableObservableProperty"
        holder, said = inside[point.holder], [f'rdfs:label "{point.words}"']
        if point.quantity:
            said += [f"qudt:hasQuantityKind quantitykind:{point.quantity}", f"qudt:hasUnit unit:{point.unit[1]}"]
        else:
            kind = "EnumeratedObservableProperty"
            said.append("s223:hasEnumerationKind s223:EnumerationKind-RunStatus")
        if point.label.endswith("Setpoint"):
            said.append("s223:hasAspect s223:Aspect-Setpoint")
        elif point.holder in ("AHU_1", "VAV_1", "Hot_Water_Loop_1") and not acts and point.quantity:
            holder = f"{point.holder}_out"
        if point.name == "gas":
            said.append("s223:ofMedium s223:Gas-NaturalGas")
        lines += [f"ex:{point.name} a s223:{kind} ; {' ; '.join(said)} .",
                  f"ex:{holder} s223:hasProperty ex:{point.name} ."]  # fmt: skip
    return write_readings(building, folder, lambda point: point.name), _brick(folder, lines)


def points_list(building: Building, folder: Path) -> Written:
    """A list of points with descriptions, and a list of which equipment feeds which."""
    points, equipment = folder / "points.csv", folder / "equipment.csv"
    with points.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["Register", "Name", "Equipment", "Class", "Unit"])
        for at, point in enumerate(building.points):
            table.writerow([40001 + at, f"{point.holder} {point.name}", point.holder, point.label, point.unit[0]])
    with equipment.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("source", "relation", "target"), *((a, "feeds", b) for a, b in building.feeds)])
    registers = {point: str(40001 + at) for at, point in enumerate(building.points)}
    return write_readings(building, folder, registers.__getitem__), [points, equipment]


HABITS: dict[str, Callable[[Building, Path], Written]] = {
    "Brick, hasPoint": has_point,
    "Brick, isPointOf": is_point_of,
    "Brick, both ways, labels": both_ways,
    "Brick, hasPart, parts": has_part,
    "Brick, locations": in_locations,
    "Brick, time series": time_series,
    "Brick, BACnet": bacnet,
    "Haystack, JSON 4": haystack_json_4,
    "Haystack, JSON 3": haystack_json_3,
    "Haystack, Zinc and Trio": haystack_zinc,
    "ASHRAE 223P": s223,
    "points list": points_list,
}
