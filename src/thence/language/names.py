"""What the name or kind of a sensor says of its readings: states, set points, angles.

Only words are looked at. A name that says nothing is no evidence of anything.
"""

from __future__ import annotations

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FILLERS = _words("sensor value reading measured actual of the its")
STATE_WORDS = _words(
    """
    status state mode command cmd alarm flag occupancy occupied motion presence enable enabled switch on off open
    closed contact door window fault schedule run running runs lights
    """
)
"""Words of quantities that are states, if the same name has no word of a measure."""
_MEASURES = _words(
    """
    temperature temp pressure flow level head demand speed position percent percentage humidity power energy current
    voltage frequency setpoint sp count number rate total brightness illuminance co2 concentration density time
    duration hours
    """
)
_SETPOINTS = frozenset({"setpoint", "setpoints", "stpt", "stp", "setpt", "sp", "target"})
_ENDS_OF_SETPOINTS = re.compile(r"(?:^|[^a-z])[a-z]{1,4}sp$")
_ANGLES = frozenset({"direction", "azimuth", "heading", "yaw", "nacelle", "wd", "winddir", "dir"})
DEGREES = frozenset({"°", "deg", "degree", "degrees", "DEG", "unit:DEG"})
"""Units of angles."""


def name_words(name: str) -> frozenset[str]:
    """Return the words of a kind or property, in lower case.

    Args:
        name: The name.

    Examples:
        >>> sorted(name_words("maxFlow_sensor")), sorted(name_words("Zone Air Temperature"))
        (['flow', 'max'], ['air', 'temperature', 'zone'])
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return frozenset(re.findall(r"[a-z]+[0-9]*|[0-9]+", spaced.lower())) - _FILLERS


def means_state(*names: str) -> bool:
    """Return whether names say that what they name is a state, and nothing else.

    Args:
        *names: The id of a sensor, its kind.

    Examples:
        >>> means_state("fan_on_off_status"), means_state("Damper_Position_Command"), means_state("P_J12")
        (True, False, False)
    """
    words = frozenset().union(*map(name_words, names))
    return bool(words & STATE_WORDS) and not words & _MEASURES


def means_measure(name: str) -> bool:
    """Return whether a name says that what it names is a number.

    Args:
        name: The id of a sensor, or its kind.
    """
    return bool(name_words(name) & _MEASURES)


def means_setpoint(*names: str) -> bool:
    """Return whether names say that what they name is set: a reference, and no measurement.

    Args:
        *names: The id of a sensor, its kind.

    Examples:
        >>> [means_setpoint(one) for one in ("s1.vav1.zsp", "Cooling Setpoint", "climate.room_target", "setting")]
        [True, True, True, False]
    """
    for name in names:
        words = name_words(name)
        if words == {"target"}:
            continue  # of a plain table: what rules conclude
        if words & _SETPOINTS or {"set", "point"} <= words or _ENDS_OF_SETPOINTS.search(name.lower()):
            return True
    return False


def means_angle(*names: str) -> bool:
    """Return whether names say that what they name is a direction.

    Args:
        *names: The id of a sensor, its kind.

    Examples:
        >>> means_angle("Wind Direction (°)"), means_angle("Pitch (°)")
        (True, False)
    """
    words = [name_words(name) for name in names]
    return any(one & _ANGLES for one in words) and not any(one & _MEASURES - {"position"} for one in words)
