"""Controls as English sentences, with units. This module only formats text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from thence.language.english import (
    format_clause,
    format_number,
    format_sensor,
    format_state,
    format_unit,
    names_a_point,
)
from thence.language.items import Feature, Item, Role
from thence.language.names import name_words
from thence.statements.controls.switches import OFF

if TYPE_CHECKING:
    from thence.statements.controls.control import Control

_VERBS = {
    "open": "opens",
    "opened": "opens",
    "closed": "closes",
    "close": "closes",
    "shut": "closes",
    "on": "switches on",
    "off": "switches off",
    "running": "starts",
    "started": "starts",
    "stopped": "stops",
}
_NUMBERED = (
    (frozenset({"pump", "fan", "compressor", "motor", "chiller", "boiler", "run", "running"}), ("stops", "starts")),
    (frozenset({"light", "lights", "lighting", "lamp", "lamps", "heater", "off"}), ("switches off", "switches on")),
)
"""Verbs of states that are written as 0 and 1, by the words of names."""
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_STATUS = frozenset({"", "status", "state", "command", "position", "mode"})
"""Kinds of state sensors that are named by their node alone: "Pump 335 closes"."""


def format_time(seconds: float) -> str:
    """Format a time of day.

    Args:
        seconds: The time in seconds after midnight.

    Examples:
        >>> format_time(3600), format_time(54_045)
        ('01:00', '15:00:45')
    """
    minutes, rest = divmod(round(seconds), 60)
    text = f"{minutes // 60:02d}:{minutes % 60:02d}"
    return f"{text}:{rest:02d}" if rest else text


def format_control(control: Control, *, counts: bool = True) -> str:
    """Format one control.

    Args:
        control: The control.
        counts: Whether the sentence also says how often it was seen.
    """
    return f"{format_event(control)} {_cause(control, counts=counts)}{_together(control)}"


def format_event(control: Control) -> str:
    """Format what happens: ``Pump 335 closes``.

    Args:
        control: The control.
    """
    return f"{_subject(control)} {_event(control)}"


def format_cause(control: Control) -> str:
    """Format when it happens, without counts: ``when the level of Tank 1 rises above 5.82 m``.

    Args:
        control: The control.
    """
    return _cause(control, counts=False)


def format_controls(controls: Sequence[Control], *, counts: bool = True) -> list[str]:
    """Format controls, those of one actuator and one reading in one sentence, in the order of their thresholds.

    Args:
        controls: The controls, in the order in which they are to be read.
        counts: Whether the sentences also say how often each control was seen.
    """
    lines = []
    for members in group_controls(controls):
        first, *others = sorted((controls[at] for at in members), key=lambda one: one.threshold)
        days = _common_days([first, *others])
        text = f"{format_event(first)} {_cause(first, counts=counts, days=not days)}"
        for other in others:
            cause = _cause(other, again=True, counts=counts, days=not days)
            text += f"{',' if len(others) > 1 else ''} and {_event(other)} {cause}"
        lines.append(text + days + _together(first))
    return lines


def _common_days(controls: Sequence[Control]) -> str:
    """The days of the week that all of several times have in common: ``, Monday to Friday``."""
    premises = {one.premise for one in controls}
    premise = next(iter(premises))
    if len(controls) < 2 or len(premises) > 1 or premise is None or controls[0].sensor_feature is not None:
        return ""
    return _premise(premise)


def group_controls(controls: Sequence[Control]) -> list[list[int]]:
    """Return the positions of controls that are in one sentence, in the order of ``format_controls``.

    Args:
        controls: The controls.
    """
    groups: dict[tuple[str, str], list[int]] = {}
    for at, control in enumerate(controls):
        groups.setdefault((control.actuator, control.sensor), []).append(at)
    return list(groups.values())


def _subject(control: Control) -> str:
    feature = control.actuator_feature
    kind = feature.label.replace("_", " ")
    if not feature.place:
        return format_sensor(feature.subject, feature.unit)
    if kind.lower() in _STATUS or names_a_point(feature.place, kind):
        return feature.place
    return f"the {kind} of {feature.place}"


def _event(control: Control) -> str:
    if control.numeric:
        return "stops" if control.to_state == OFF else "starts"
    verb = _VERBS.get(control.to_state.lower()) or _numbered_verb(control)
    return verb or f"changes from {control.from_state} to {control.to_state}"


def _numbered_verb(control: Control) -> str:
    """The verb of a switch between 0 and 1, which are off and on where the names say that something runs or lights."""
    feature = control.actuator_feature
    words = name_words(f"{feature.place} {feature.label} {feature.subject}")
    verbs = next((verbs for known, verbs in _NUMBERED if words & known), None)
    return verbs[control.to_state == "1"] if verbs and {control.from_state, control.to_state} == {"0", "1"} else ""


def _reading(feature: Feature) -> str:
    kind = feature.label.replace("_", " ")
    if not feature.place:
        return format_sensor(feature.subject, feature.unit)
    if names_a_point(feature.place, kind):
        return feature.place
    return f"the {kind or feature.subject} of {feature.place}"


def _cause(control: Control, *, again: bool = False, counts: bool = True, days: bool = True) -> str:
    premise = "" if control.premise is None else _premise(control.premise)
    counted = f" ({_counts(control)})" if counts else ""
    if control.sensor_feature is None:
        return f"at {format_time(control.threshold)}{premise if days else ''}{counted}"
    unit = _unit(control.sensor_feature)
    name = "it" if again else _reading(control.sensor_feature)
    if control.smoothed > 1 and not again:
        name += f", averaged over {control.smoothed} windows,"
    verb = "rises above" if control.direction == "above" else "falls below"
    return f"when {name} {verb} {format_number(control.threshold)}{unit}{premise}{counted}"


def _counts(control: Control) -> str:
    """How often a control was seen, and how sure its threshold is."""
    counts = control.tally
    times = f"{counts.explained:,} of {counts.switches:,} times"
    if control.sensor_feature is None:
        days = f"{counts.followed:,} of {counts.crossings:,} days"
        if control.high > control.low:
            days = f"between {format_time(control.low)} and {format_time(control.high)}; {days}"
        return days if counts.explained == counts.switches else f"{days}; {times}"
    return f"{_interval_text(control, _unit(control.sensor_feature))}{times}"


def format_details(controls: Sequence[Control]) -> str:
    """Format what the sentence of controls leaves out: crossings, switches near the threshold, and the later part.

    Args:
        controls: The controls of one sentence.

    Examples:
        >>> format_details([])
        ''
    """
    lines = []
    for one in controls:
        tally, later, parts = one.tally, one.later, []
        if one.sensor_feature is not None:
            parts.append(f"{tally.followed:,} of {tally.crossings:,} crossings followed")
        if tally.near:
            parts.append(f"{tally.near:,} of the switches within one step of the threshold")
        if later.switches:
            parts.append(f"found on the earlier part alone, {later.explained:,} of {later.switches:,} later times")
        lines.append(f"{_event(one)}: {', '.join(parts)}" if len(controls) > 1 else ", ".join(parts))
    return "; ".join(line for line in lines if line)


def _unit(feature: Feature) -> str:
    return f" {format_unit(feature.unit)}" if feature.unit else ""


def _premise(item: Item) -> str:
    """Format a second condition: `` while Pump 3 is open``, `` from 22:00 to 06:00``, ``, Monday to Friday``."""
    feature = item.feature
    if feature.role is not Role.TIME:
        owner = feature.place or format_sensor(feature.subject, feature.unit)
        return f" while {format_state('status', str(item.value), owner) or f'{owner} is {item.value}'}"
    interval = item.interval or item.negated().interval
    if interval is None:
        return f" while {format_clause(item)}"
    if feature.name == "weekday":
        first, last = int(interval.low), int(interval.high) - 1
        return f", {_DAYS[first]} to {_DAYS[last]}" if last > first else f", on {_DAYS[first]}s"
    ends = (interval.low, interval.high) if item.interval is not None else (interval.high, interval.low)
    start, end = (format_time(3600 * hour) for hour in ends)
    return f" from {start} to {end}"


def _interval_text(control: Control, unit: str) -> str:
    """Format the interval of a threshold, rounded outwards to two digits of its width."""
    width = control.high - control.low
    if not width > 0:
        return ""
    digits = max(0, 1 - math.floor(math.log10(width)))
    scale = 10.0**digits
    low, high = math.floor(control.low * scale) / scale, math.ceil(control.high * scale) / scale
    return f"between {format_number(low)} and {format_number(high)}{unit}; "


def _together(control: Control) -> str:
    if not control.together:
        return ""
    names = list(control.together)
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return f"; {listed} {'switches' if len(names) == 1 else 'switch'} at the same moments"
