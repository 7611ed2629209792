"""The class of a point from words about it: markers, a description, a quantity kind and a medium.

Models say in different ways what a point reads: Brick by a class, Haystack by markers, ASHRAE 223P by a quantity kind
and a medium, points lists by a description. Here all become the name of a class of Brick, so that the same quantity has
the same kind whoever wrote the model. Words that name no known quantity become a class of their own, never a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from thence.data.graph.ontology import brick_classes

_SYNONYMS = {
    "temp": "temperature", "tmp": "temperature", "sp": "setpoint", "setpt": "setpoint", "cmd": "command",
    "sts": "status", "stat": "status", "state": "status", "run": "status", "running": "status",
    "discharge": "supply", "leaving": "supply", "entering": "return", "outdoor": "outside", "ambient": "outside",
    "room": "zone", "space": "zone", "indoor": "zone", "zn": "zone", "airflow": "air flow", "volumetric": "",
    "volume": "", "rate": "", "humid": "humidity", "rh": "humidity", "relative": "", "elec": "electric",
    "electrical": "electric", "electricity": "electric", "pos": "position", "valves": "valve", "occupied": "occupancy",
    "htg": "heating", "clg": "cooling", "heat": "heating", "cool": "cooling", "vlv": "valve", "dmpr": "damper",
    "press": "pressure", "feedback": "sensor", "oat": "outside air temperature", "delta": "differential",
    "concentration": "", "active": "", "consumption": "usage", "usage": "usage", "motorized": "", "actual": "",
    "effective": "", "current": "current", "level": "level",
}  # fmt: skip
_PLACES = ("outside", "return", "mixed", "supply", "exhaust", "zone")
_WATERS = ("hot", "chilled", "condenser")
_QUANTITIES = ("temperature", "humidity", "co2", "pressure", "flow", "power", "energy", "speed", "position", "level")
_AIR = frozenset({"temperature", "humidity", "flow", "co2", "pressure"})
_MACHINES = ("fan", "pump", "boiler", "chiller", "compressor")
_NOISE = frozenset(
    {"point", "his", "cur", "writable", "of", "the", "in", "at", "value", "a", "and", "on", "off", "for"}
)


def words_of(text: str) -> list[str]:
    """Return the words of a text or a name in lower case, without numbers.

    >>> words_of("Supply air temperature set point"), words_of("ZoneTemp_2")
    (['supply', 'air', 'temperature', 'setpoint'], ['zone', 'temp'])
    """
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text.replace("CO2", "Co2 ").replace("CO₂", "Co2 "))
    split = re.sub(r"\bset[\s_-]*point\b", "setpoint", split, flags=re.IGNORECASE)
    found = re.findall(r"co2|[^\W\d_]+", split.lower())
    return [word for word in found if word]


def class_of_point(words: Iterable[str], *, role: str = "Sensor") -> str:
    """Return the class of a point that some words describe; an empty string without words.

    Args:
        words: Words in lower case, such as those of ``words_of``, or the markers of Haystack.
        role: What the point is if no word says so: ``"Sensor"`` or ``"Command"``.

    Examples:
        >>> class_of_point(["discharge", "air", "temp", "sensor"]), class_of_point(["heating", "valve", "cmd"])
        ('Supply_Air_Temperature_Sensor', 'Heating_Command')
        >>> class_of_point(words_of("Hot water return temperature")), class_of_point(["illuminance"])
        ('Hot_Water_Return_Temperature_Sensor', 'Illuminance_Sensor')
    """
    spelled = [part for word in words for part in _SYNONYMS.get(word, word).split() if part not in _NOISE]
    if not spelled:
        return ""
    said = set(spelled)
    if "setpoint" in said:
        role = "Setpoint"
    elif "command" in said:
        role = "Command"
    elif "status" in said:
        role = "Status"
    elif "sensor" in said:
        role = "Sensor"
    return _known(_machine_names(said, role)) or _known(_quantity_names(said, role)) or _own_name(spelled, role)


def _known(names: list[str]) -> str:
    """The first name that Brick has, else the first one."""
    classes = brick_classes()
    return next((name for name in names if name in classes), names[0] if names else "")


def _machine_names(said: set[str], role: str) -> list[str]:
    """The names of the position of a damper or a valve, or of the state or speed of a machine."""
    if said & {"damper", "valve"} and role != "Setpoint":
        role = "Command" if role == "Status" else role
        if "valve" in said and role == "Command" and said & {"heating", "cooling"}:
            return ["Heating_Command" if "heating" in said else "Cooling_Command"]
        part = "Damper" if "damper" in said else "Valve"
        return [f"{part}_Position_{role}"]
    if said.isdisjoint({*_QUANTITIES} - {"speed"}):
        for machine in _MACHINES:
            if machine in said and "speed" in said:
                return [f"{machine.title()}_Speed_{role}", f"Speed_{role}"]
            if machine in said:
                return [f"{machine.title()}_{'Status' if role == 'Sensor' else role}"]
    return []


def _quantity_names(said: set[str], role: str) -> list[str]:
    quantity = next((name for name in _QUANTITIES if name in said), "")
    if not quantity:
        return [f"Occupancy_{role}"] if "occupancy" in said else []
    name = "CO2" if quantity == "co2" else quantity.title()
    where = next((place.title() for place in _PLACES if place in said), "")
    if quantity in ("power", "energy"):
        if quantity == "energy" or "usage" in said:
            return _joined(["Electrical" if "electric" in said else "", "Energy_Usage", role], ["Energy", role])
        sort = "Electric" if "electric" in said else "Thermal" if said & {"thermal", "heating"} else ""
        return _joined([sort, "Power", role], ["Power", role])
    if said & {"water", *_WATERS[1:]}:
        sort = next((f"{word.title()}_Water" for word in _WATERS if word in said), "Water")
        return _joined([sort, where, name, role], [where, sort, name, role])
    if "gas" in said:
        return [f"Natural_Gas_{name}_{role}"]
    differential = "Differential" if "differential" in said else "Static" if "static" in said else ""
    if quantity in _AIR and (where or "air" in said):
        names = _joined([where, "Air", differential, name, role], [where, name, role])
        return [*names, "CO2_Sensor"] if quantity == "co2" and where == "Zone" and role == "Sensor" else names
    if quantity in ("level", "position") or "wind" in said:
        return []
    return _joined([differential, name, role])


def _joined(*parts: list[str]) -> list[str]:
    return ["_".join(filter(None, part)) for part in parts]


def _own_name(spelled: list[str], role: str) -> str:
    roles = {"sensor", "setpoint", "command", "status"}
    words = [word for word in dict.fromkeys(spelled) if word not in roles]
    return "_".join([*(word.title() for word in words), role])


def is_point(labels: Iterable[str]) -> bool:
    """Return whether one of the classes of a node is one of points: by Brick, or by its last word.

    >>> is_point({"Zone_Air_Temperature_Sensor"}), is_point({"IAQ_Sensor_Equipment"}), is_point({"CoolingCommand"})
    (True, False, True)
    """
    return any(
        label == "Point" or "Point" in brick_classes().get(label, ()) or _ends_as_point(label) for label in labels
    )


_OUTDOORS = ("outside_", "outdoor_", "weather_")
_OF_AIR = ("temperature", "humidity", "enthalpy", "dewpoint", "pressure")
_WEATHER = frozenset({
    "solar_radiance", "solar_irradiance", "solar_radiation", "global_horizontal_irradiance", "irradiance", "wind_speed",
    "wind_direction", "rain", "rainfall", "precipitation", "rain_sensor",
})  # fmt: skip


def reads_weather(kind: str) -> bool:
    """Return whether sensors of a kind read the weather, which is the same for everything at a site.

    >>> reads_weather("outside_air_temperature"), reads_weather("outside_air_flow"), reads_weather("wind_speed")
    (True, False, True)
    """
    return (kind.startswith(_OUTDOORS) and kind.endswith(_OF_AIR)) or kind in _WEATHER


def is_weather(labels: Iterable[str]) -> bool:
    """Return whether one of the classes of a node is one of points that read the weather.

    >>> is_weather({"Outside_Air_Temperature_Sensor"})
    True
    """
    return any(reads_weather(label.removesuffix("_Sensor").lower()) for label in labels)


_POINT_WORDS = frozenset({"point", "sensor", "actuator", "setpoint", "command", "status", "alarm", "parameter"})


def _ends_as_point(label: str) -> bool:
    words = re.findall(r"[^\W\d_]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", label).lower())
    return bool(words) and words[-1] in _POINT_WORDS and label not in brick_classes()
