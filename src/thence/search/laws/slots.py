"""Slots: what each sensor may be in a form, from its unit, its kind, its name and its place.

A kind or a class says most; where a system has neither, the abbreviations do that engineers use in names (``oat``,
``satsp``, ``ZN-T``). What is outdoors drives a plant and is never concluded. This module knows words and units; it must
not look at readings.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from thence.data.graph.discovery import Carriers
from thence.data.graph.sensor_kinds import plain_name
from thence.data.readings.sensors import Sensor
from thence.statements.laws.dimensions import (
    ENERGY,
    NUMBER,
    POWER,
    TEMPERATURE,
    VOLUME_FLOW,
    Dimension,
    find_unit,
    times,
)

_ABBREVIATIONS: dict[str, str] = {
    "oat": "outdoor air temperature", "oa": "outdoor air", "odt": "outdoor temperature", "tout": "outdoor temperature",
    "sat": "supply air temperature", "sa": "supply air", "dat": "supply air temperature", "da": "supply air",
    "rat": "return air temperature", "ra": "return air", "mat": "mixed air temperature", "ma": "mixed air",
    "oad": "outdoor air damper", "satsp": "supply air temperature setpoint", "datsp": "supply air temperature setpoint",
    "zt": "zone temperature", "zn": "zone", "zsp": "zone temperature setpoint", "zd": "zone damper", "zf": "zone flow",
    "hws": "hot water supply", "hwr": "hot water return", "chws": "chilled water supply",
    "chwr": "chilled water return", "hw": "hot water", "chw": "chilled water", "hv": "heating valve",
    "cv": "cooling valve", "hwst": "hot water supply temperature", "hwrt": "hot water return temperature",
    "chwst": "chilled water supply temperature", "chwrt": "chilled water return temperature",
    "sup": "supply", "ret": "return", "rtn": "return", "retn": "return", "sp": "setpoint", "stpt": "setpoint",
    "setp": "setpoint", "spt": "setpoint", "temp": "temperature", "tmp": "temperature", "t": "temperature",
    "kw": "power kilowatt", "w": "power", "kwh": "energy", "wh": "energy", "mwh": "energy", "pwr": "power",
    "elec": "electric", "sts": "status", "stat": "status", "s": "status", "run": "status", "pos": "position",
    "damp": "damper", "dmpr": "damper", "dpr": "damper", "vlv": "valve", "press": "pressure", "lvl": "level",
    "m3h": "flow", "m3": "volume", "lps": "flow", "gpm": "flow", "cfm": "flow", "rh": "humidity", "spd": "speed",
    "discharge": "supply", "leaving": "supply", "entering": "return", "outside": "outdoor", "ambient": "outdoor",
    "weather": "outdoor", "room": "zone", "space": "zone", "outlet": "supply", "inlet": "return", "mix": "mixed",
    "setting": "setpoint", "target": "setpoint", "usage": "use", "air": "air", "cmd": "command", "flw": "flow",
}  # fmt: skip
_ROLES = frozenset({
    "supply", "return", "mixed", "outdoor", "zone", "static", "exhaust", "heating", "cooling", "hot", "chilled",
    "condenser", "source", "ground", "tank", "domestic",
})  # fmt: skip
_QUANTITIES = (
    "temperature", "humidity", "pressure", "energy", "volume", "power", "flow", "level", "speed", "damper", "valve",
    "position", "irradiance", "wind", "co2", "head", "current", "voltage",
)  # fmt: skip
_POSITIONS = frozenset({"damper", "valve", "position"})
_STATES = frozenset({"status", "state", "mode", "occupancy", "occupied", "enable", "enabled", "on"})
_BY_DIMENSION: dict[Dimension, str] = {
    TEMPERATURE: "temperature",
    POWER: "power",
    ENERGY: "energy",
    VOLUME_FLOW: "flow",
    (0, 1, -1, 0, 0): "flow",
    (3, 0, 0, 0, 0): "volume",
    (-1, 1, -2, 0, 0): "pressure",
    (0, 0, 0, 0, 1): "current",
}
_DRIVERS = frozenset({"temperature", "humidity", "irradiance", "wind"})
_SEPARATED = re.compile(r"^(.+)[./: |]([^./: |]+)$")
_VAGUE = frozenset({
    "quantifiable_observable_property_reading", "quantifiable_actuatable_property_reading", "sensor", "value",
    "enumerated_observable_property_reading", "enumerated_actuatable_property_reading", "number", "reading", "point",
})  # fmt: skip
_FEW = 40
"""Sensors of a system without graph and without common names up to which all count as one place."""


@dataclass(frozen=True)
class Slot:
    """What a sensor may be in a form.

    Args:
        id: The id of the sensor.
        name: What it is called in a sentence: its kind, or its id if it has none.
        unit: Its unit.
        dimension: What the unit measures; ``None`` if that is not known.
        quantity: What it measures, in a word; empty if that is not known.
        roles: What distinguishes it from others of the quantity: supply, return, outdoor.
        is_setpoint: Whether it is a set point.
        is_driver: Whether it drives the plant from outside, as the weather does.
        is_state: Whether its name is that of a state.
        place: Where it is: its unit in the graph, or what its name begins with; empty if that is not known.
        near: Places next to it, with its own.
        site: The site that it belongs to.
        node: The id of its node; empty without a graph.
        words: All words of its kind and name.
    """

    id: str
    name: str
    unit: str = ""
    dimension: Dimension | None = None
    quantity: str = ""
    roles: frozenset[str] = frozenset()
    is_setpoint: bool = False
    is_driver: bool = False
    is_state: bool = False
    place: str = ""
    near: frozenset[str] = frozenset()
    site: str = ""
    node: str = ""
    words: frozenset[str] = field(default_factory=frozenset)

    def is_near(self, other: Slot) -> bool:
        """Return whether another sensor is at the same place or next to it.

        Args:
            other: The other sensor.
        """
        if self.site != other.site:
            return False
        return not self.place or not other.place or other.place in self.near or self.place in other.near

    def is_with(self, other: Slot) -> bool:
        """Return whether another sensor is at the same place.

        Args:
            other: The other sensor.
        """
        return self.site == other.site and self.place == other.place

    def is_alike(self, other: Slot) -> bool:
        """Return whether both measure the same quantity in the same unit.

        Args:
            other: The other sensor.
        """
        if self.unit != other.unit or not (self.quantity or self.unit):
            return False
        return self.quantity == other.quantity


def split_words(text: str) -> frozenset[str]:
    """Return the words of a name, with abbreviations written out.

    Args:
        text: The name.

    Examples:
        >>> sorted(split_words("AHU-1 OA-T")), sorted(split_words("hw_sup_sp"))
        (['ahu', 'air', 'outdoor', 'temperature'], ['hot', 'setpoint', 'supply', 'water'])
        >>> sorted(split_words("DaTempSp"))
        ['air', 'setpoint', 'supply', 'temperature']
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    found: set[str] = set()
    for part in re.findall(r"[a-zA-Z]+[0-9]*[a-zA-Z]*", spaced):
        plain = part.lower()
        known = (
            _ABBREVIATIONS.get(plain) or _ABBREVIATIONS.get(plain.rstrip("0123456789")) or plain.rstrip("0123456789")
        )
        found.update(known.split())
    if {"flow", "temperature"} <= found:  # what British engineers call a supply
        found = (found - {"flow"}) | {"supply"}
    if {"set", "point"} <= found:
        found = (found - {"set", "point"}) | {"setpoint"}
    return frozenset(found)


def type_sensors(sensors: Sequence[Sensor], carriers: Carriers, sites: Iterable[str] = ("",)) -> list[Slot]:
    """Return what each sensor may be in a form.

    Args:
        sensors: The sensors.
        carriers: The graph and the nodes that carry sensors; without nodes if there is no graph.
        sites: The names of the sites; one empty string for a single system.

    Examples:
        >>> from thence.statements.laws.sensor_places import no_carriers
        >>> sensors = [Sensor("ahu1.oat"), Sensor("ahu1.satsp"), Sensor("ahu1.fan")]
        >>> oat, satsp, fan = type_sensors(sensors, no_carriers())
        >>> oat.is_driver, satsp.is_setpoint, satsp.quantity, sorted(satsp.roles), fan.place
        (True, True, 'temperature', ['supply'], 'ahu1')
    """
    several = set(sites) != {""}
    node_of = _nodes(carriers)
    stems = _stems(sensors)
    kinds = Counter(
        (stems.get(s.id, ("", ""))[0], carriers.units.node_of.get(s.id, node_of.get(s.id, "")), s.kind) for s in sensors
    )
    out = []
    for sensor in sensors:
        stem, local = stems.get(sensor.id, ("", sensor.id))
        node = node_of.get(sensor.id, "")
        place = carriers.units.node_of.get(sensor.id) or _owner(node, carriers) or stem
        alone = kinds[stem, carriers.units.node_of.get(sensor.id, node), sensor.kind] == 1
        role = carriers.units.role_of.get(sensor.id, "")
        name = role or (sensor.kind if sensor.kind and alone and plain_name(sensor.kind) not in _VAGUE else "")
        out.append(_typed(sensor, name or (local if stem else sensor.id), local, place, node, carriers, several))
    return out


def _typed(sensor: Sensor, name: str, local: str, place: str, node: str, carriers: Carriers, several: bool) -> Slot:
    unit = find_unit(sensor.unit)
    classes = carriers.index.graph.node(node).labels if node else frozenset()
    points = [
        label for label in classes if plain_name(label).split("_")[-1] in ("sensor", "setpoint", "status", "command")
    ]
    words = split_words(" ".join([sensor.kind, local, carriers.units.role_of.get(sensor.id, ""), *points]))
    quantity = _quantity(words, unit.dimension if unit is not None else None)
    is_setpoint = "setpoint" in words
    outdoor = "outdoor" in words or {"irradiance", "wind"} & words or "outdoor" in split_words(place)
    site = sensor.id.partition("/")[0] if several else ""
    return Slot(
        sensor.id,
        name,
        sensor.unit,
        None if unit is None else unit.dimension,
        quantity,
        words & _ROLES,
        is_setpoint,
        bool(outdoor) and quantity in _DRIVERS and not is_setpoint,
        bool(words & _STATES) and not unit,
        place,
        _around(place, carriers),
        site,
        node,
        words,
    )


def _quantity(words: frozenset[str], dimension: Dimension | None) -> str:
    if dimension is not None and dimension != NUMBER:
        if dimension == (1, 0, 0, 0, 0):
            return next((word for word in ("level", "head", "pressure") if word in words), "")
        return _BY_DIMENSION.get(dimension, "")
    found = next((word for word in _QUANTITIES if word in words), "")
    if not found and "fan" in words and dimension is not None:
        return "speed"
    return "position" if found in _POSITIONS else found


def _nodes(carriers: Carriers) -> dict[str, str]:
    at_nodes = carriers.own if carriers.own is not None else carriers.sensors
    ids = carriers.index.ids
    return {id: ids[node] for nodes in at_nodes.values() for node, found in nodes.items() for id in found}


def _owner(node: str, carriers: Carriers) -> str:
    """The node that a point belongs to, or the node itself."""
    if not node:
        return ""
    graph = carriers.index.graph
    labels = [plain_name(label).split("_")[-1] for label in graph.node(node).labels]
    if not any(label in ("sensor", "setpoint", "status", "command", "point", "property") for label in labels):
        return node
    around = {edge.source for edge in graph.in_edges(node)} | {edge.target for edge in graph.out_edges(node)}
    return next(iter(around)) if len(around) == 1 else node


def _around(place: str, carriers: Carriers) -> frozenset[str]:
    graph = carriers.index.graph
    if place not in graph:
        return frozenset({place})
    around = {edge.source for edge in graph.in_edges(place)} | {edge.target for edge in graph.out_edges(place)}
    return frozenset({place, *around})


def _stems(sensors: Sequence[Sensor]) -> dict[str, tuple[str, str]]:
    """What the name of each sensor begins with, and the rest, where several begin alike."""
    parts = {}
    for sensor in sensors:
        found = _SEPARATED.match(sensor.id)
        if found:
            parts[sensor.id] = (found[1], found[2])
    shared = Counter(stem for stem, _ in parts.values())
    return {id: (stem, local) for id, (stem, local) in parts.items() if shared[stem] > 1}


def by_place(slots: Iterable[Slot]) -> Mapping[str, list[Slot]]:
    """Return the slots of each place.

    Args:
        slots: The slots.
    """
    out: defaultdict[str, list[Slot]] = defaultdict(list)
    for slot in slots:
        out[slot.place].append(slot)
    return out


def dimension_of_change(dimension: Dimension | None) -> Dimension | None:
    """Return the dimension of the change of a quantity over time.

    Args:
        dimension: The dimension of the quantity.
    """
    return None if dimension is None else times(dimension, (0, 0, 1, 0, 0), -1)
