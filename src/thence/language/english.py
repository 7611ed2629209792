"""Items and rules as English sentences, with units.

Numbers are printed as they are, with all their digits: a sentence selects the same rows as its items, and different
bin edges never look alike. Ranks, which no reading is compared with, are rounded. This module only formats text.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Collection, Sequence
from decimal import Decimal
from typing import NamedTuple

from thence.language.items import Aspect, Feature, Interval, Item, Operator, Role, Value, just_below
from thence.language.names import means_measure
from thence.language.time_names import STATE_PREFIX, TimeForm

_UNITS = {
    "l/s": "L/s",
    "l/min": "L/min",
    "l": "L",
    "degf": "°F",
    "degc": "°C",
    "deg c": "°C",
    "deg f": "°F",
    "deg_c": "°C",
    "deg_f": "°F",
}
_POWER = re.compile(r"\bm\^?([23])\b")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_COMPARISONS = {
    Operator.EQ: "",
    Operator.NE: "not ",
    Operator.LT: "below ",
    Operator.LE: "at most ",
    Operator.GT: "above ",
    Operator.GE: "at least ",
}
_CALENDAR_COMPARISONS = {
    Operator.EQ: "{}",
    Operator.NE: "not {}",
    Operator.LT: "before {}",
    Operator.LE: "{} or before",
    Operator.GT: "after {}",
    Operator.GE: "from {} on",
}
_SHORT_DIGITS, _MOST_DIGITS = 6, 12
_SMALLEST_PLAIN, _LARGEST_PLAIN = 1e-6, 1e15
"""Numbers beyond these have an exponent."""
_POINTS = frozenset({"sensor", "command", "setpoint", "status", "alarm", "meter"})
"""Words in the names of nodes that are measuring points."""
_STATUS = frozenset({"status", "state", "command", "cmd", "enable", "enabled", "run", "running", "on", "off"})
"""Words of kinds that say no more than that the rest of the kind has states."""
_WHOLE = frozenset({"status", "state"})
"""Kinds of which the states are those of the node itself."""
_UNCLEAR = frozenset({"valve", "damper", "door", "window", "contact", "alarm", "fault", "mode", "flag", "signal"})
"""Words of kinds of which 0 and 1 may be anything."""
_SWITCHED = {"0": "off", "1": "on"}
_SAID = frozenset({"on", "off", "open", "opened", "closed", "shut", "running", "stopped", "active"})
"""States that can be said of a thing."""
_DURATIONS = {"30min": "half an hour", "1h": "an hour", "1d": "a day", "7d": "a week"}
_DURATION_UNITS = {"us": "microsecond", "ms": "millisecond", "s": "second", "min": "minute", "h": "hour", "d": "day"}
_FRACTIONS = {2: "half", 3: "third", 4: "quarter", 5: "fifth", 10: "tenth"}


def format_number(value: float, *, minus: str = "−") -> str:
    """Format a number with all its digits, thousands separated; what is printed is the number itself.

    Args:
        value: The number.
        minus: The sign of negative numbers; ``"-"`` in what people paste.

    Examples:
        >>> format_number(999.987), format_number(-0.5), format_number(12000.0), format_number(1.5e-9)
        ('999.987', '−0.5', '12,000', '1.5e−9')
    """
    if math.isinf(value):
        return "∞" if value > 0 else f"{minus}∞"
    if value and not _SMALLEST_PLAIN <= abs(value) < _LARGEST_PLAIN:
        digits, _, exponent = f"{Decimal(repr(float(value))).normalize():e}".partition("e")
        return f"{digits}e{int(exponent)}".replace("-", minus)
    text = f"{Decimal(repr(float(value))):,f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text.replace("-", minus)


def format_short(value: float, width: float = math.inf) -> str:
    """Format a number for a sentence: one of more than twelve digits with six, or as many as show its range.

    Readings and bins have fewer, and are printed as they are; more are those of a mean, such as a third.

    Args:
        value: The number.
        width: Width of the range of which it is an end, of which at least a thousandth is shown.

    Examples:
        >>> format_short(1 / 3), format_short(-2.999995), format_short(101325 + 1 / 3, 0.2)
        ('0.333333', '−2.999995', '101,325.3333')
    """
    if len(Decimal(repr(float(value))).normalize().as_tuple().digits) <= _MOST_DIGITS or math.isinf(value):
        return format_number(value)
    digits = _SHORT_DIGITS - 1 - math.floor(math.log10(abs(value)))
    if 0 < width < math.inf:
        digits = max(digits, 3 - math.floor(math.log10(width)))
    return format_number(round(value, digits) if digits < 300 else value)


def format_unit(unit: str) -> str:
    """Return a unit as it is printed: ``m³/h`` for ``m3/h``.

    Args:
        unit: The unit.

    Examples:
        >>> format_unit("m3/h"), format_unit("W/m^2"), format_unit("degC"), format_unit("l/s")
        ('m³/h', 'W/m²', '°C', 'L/s')
    """
    return _UNITS.get(unit.lower()) or _POWER.sub(lambda found: "m" + "²³"[found[1] == "3"], unit)


def _range_text(interval: Interval, unit: str) -> str:
    """Format a range: by the value that it stands for, or by its ends."""
    if interval.at is not None:
        return f"{format_short(interval.at)}{unit}"
    after, last = just_below(interval.low), just_below(interval.high)
    width = interval.high - interval.low
    begin = f"at least {format_short(interval.low, width)}" if after is None else f"above {format_short(after, width)}"
    end = f"below {format_short(interval.high, width)}" if last is None else f"at most {format_short(last, width)}"
    # Beyond the largest float there is nothing.
    from_below, to_above = interval.low <= -sys.float_info.max, interval.high >= sys.float_info.max
    if from_below or to_above:
        return "any number" if from_below and to_above else f"{end if from_below else begin}{unit}"
    if after is not None or last is not None:
        return f"{begin} {'but' if last is None else 'and'} {end}{unit}"
    low, high = format_short(interval.low, width), format_short(interval.high, width)
    dash = " to " if "−" in low + high else "–"
    return f"{low}{dash}{high}{unit}"


def _rank_text(interval: Interval) -> str:
    """Format a range of ranks: ``[0.8, 1)`` is the highest fifth of the sensor's own history."""
    low, high = max(interval.low, 0.0), min(interval.high, 1.0)
    if high - low < 1e-9:
        return f"at its {_percentile(min(low, 1.0))} percentile"
    parts = round(1 / (high - low))
    fraction = _FRACTIONS.get(parts) if abs(parts * (high - low) - 1) < 1e-9 else None
    if low == 0.0:
        return f"in its lowest {fraction}" if fraction else f"in its lowest {_percent(high)} %"
    if high == 1.0:
        return f"in its highest {fraction}" if fraction else f"in its highest {_percent(1 - low)} %"
    if fraction and parts % 2 and abs(low + high - 1) < 1e-9:
        return f"in its middle {fraction}"
    return f"between its {_percentile(low)} and {_percentile(high)} percentile"


def _percent(share: float) -> str:
    """Format a share as a percentage with four digits: 1/3 is ``33.33``."""
    return format_number(float(f"{100 * share:.4g}"))


def _percentile(rank: float) -> str:
    """Format a rank as a percentile: ``0.1`` is ``10th``."""
    text = _percent(rank)
    ending = {"1": "st", "2": "nd", "3": "rd"}.get(text[-1], "th")
    return text + ("th" if text.endswith(("11", "12", "13")) else ending)


def format_test(item: Item) -> str:
    """Format the test of an item, e.g. ``23–31 m³/h`` or ``at least 0.4 m``.

    Examples:
        >>> format_test(Item.among(Feature("s", label="flow", unit="m3/h"), Interval(23, 31)))
        '23–31 m³/h'
    """
    feature = item.feature
    if feature.time is not None and feature.time.form is not TimeForm.LAG:
        return _event_test(item)
    unit = f" {format_unit(feature.unit)}" if feature.unit else ""
    if feature.relative:
        interval = item.interval or item.negated().interval
        if interval is not None:
            text = _rank_text(interval)
            return text if item.interval is not None else f"not {text}"
        if isinstance(item.value, (str, frozenset)):
            # Values that are too frequent to have a rank are named by the value.
            several = sorted(item.value, key=str) if isinstance(item.value, frozenset) else [item.value]
            negation = "not " if item.operator in (Operator.NE, Operator.NOT_IN) else ""
            return negation + " or ".join(str(value).replace("-", "−") for value in several) + unit
    if feature.role is Role.TIME:
        return _calendar_text(item)
    negation = "not " if item.operator is Operator.NOT_IN else ""
    if isinstance(item.value, Interval):
        return negation + _range_text(item.value, unit)
    if isinstance(item.value, frozenset):
        return negation + "one of " + ", ".join(sorted(_member_text(value) for value in item.value))
    if isinstance(item.value, float):
        return f"{_COMPARISONS[item.operator]}{format_number(item.value)}{unit}"
    return f"{_COMPARISONS[item.operator]}{item.value}"


def _event_test(item: Item) -> str:
    """Format the test of a switch, of a duration, or of what follows, without the reading that it is about."""
    time = item.feature.time
    assert time is not None
    if time.form is TimeForm.SWITCH:
        if item.value == "not 0" and item.operator is Operator.EQ:
            return "switching from 0"
        return "not switching" if _is_denied(item) else f"switching to {_switch_target(item)}"
    if time.form is TimeForm.DURATION:
        return f"{'not ' if _is_denied(item) else ''}{_other_than(time.state)}{_lasting(item)}"
    what = f"switching to {_other_than(time.state)}" if time.is_switch else _other_than(time.state)
    return f"{'not ' if _is_denied(item) else ''}{what} within the next {_ahead(time.length)}"


def _is_denied(item: Item) -> bool:
    """Whether an item says that something does not switch, last or follow."""
    return item.value is (item.operator is Operator.NE)


def _switch_target(item: Item) -> str:
    """The states that a sensor switches to."""
    if isinstance(item.value, bool):
        return "another state"
    members = item.value if isinstance(item.value, frozenset) else [item.value]
    several = sorted(str(member) for member in members if not isinstance(member, bool))
    negation = "a state other than " if item.operator in (Operator.NE, Operator.NOT_IN) else ""
    return negation + " or ".join(map(_other_than, several))


def _other_than(state: str) -> str:
    """The name of a state; a number that is not at rest is other than 0."""
    return "other than 0" if state == "not 0" else state


def _lasting(item: Item) -> str:
    """For how long a state has lasted: ``for 2–4 h``; nothing if any time will do."""
    if isinstance(item.value, bool):
        return ""
    interval = item.interval or item.negated().interval
    if interval is None:
        members = item.value if isinstance(item.value, frozenset) else {item.value}
        known = sorted(_member_text(one) for one in members if not isinstance(one, Interval))
        other = "other than " if item.operator in (Operator.NE, Operator.NOT_IN) else ""
        return f" for {other}{' or '.join(known)} h"
    low, high = (_hours(end) if math.isfinite(end) else None for end in (interval.low, interval.high))
    if low is None or high is None:
        text = f"at least {_joined(low)}" if low else f"less than {_joined(high)}" if high else "any time"
    else:
        text = f"{low[0]}–{_joined(high)}" if low[1] == high[1] else f"{_joined(low)} to {_joined(high)}"
    return f" for {'' if item.interval is not None else 'other than '}{text}"


def _hours(hours: float) -> tuple[str, str]:
    """A number of hours in its largest whole unit."""
    for unit, size in (("d", 24.0), ("h", 1.0), ("min", 1 / 60)):
        if hours >= size and abs(hours / size - round(hours / size)) < 1e-9 and not (unit == "d" and hours < 48):
            return format_number(round(hours / size)), unit
    return format_number(float(f"{hours * 3600:.6g}")), "s"


def _joined(amount: tuple[str, str] | None) -> str:
    assert amount is not None
    number, unit = amount
    return f"{number} days" if unit == "d" else f"{number} {unit}"


def _spelled(length: str) -> str:
    """A duration in words: ``1h30min`` is ``1 hour 30 minutes``."""
    parts = re.findall(r"(\d+)([a-z]+)", length)
    return " ".join(f"{n} {_DURATION_UNITS.get(unit, unit)}{'' if n == '1' else 's'}" for n, unit in parts) or length


def _ago(length: str) -> str:
    return f"{_DURATIONS.get(length) or _spelled(length)} ago"


def _ahead(length: str) -> str:
    """A duration after "within the next": ``hour``, ``30 minutes``."""
    return _spelled(length).removeprefix("1 ") if re.fullmatch(r"1[a-z]+", length) else _spelled(length)


def _event(item: Item, subject: str) -> str:
    """Format a switch, a duration, or what follows, as a clause about ``the status in p``."""
    time = item.feature.time
    assert time is not None
    if time.form is TimeForm.DURATION:
        if _is_denied(item):
            return f"{subject} is not {_other_than(time.state)}"
        lasting = _lasting(item)
        return f"{subject} {'has been' if lasting else 'is'} {_other_than(time.state)}{lasting}"
    if time.form is TimeForm.SWITCH:
        return f"{subject} {_switching(item)}"
    denied = _is_denied(item)
    if time.is_switch:
        verb = _switching_to(time.state, denied=denied)
    else:
        state = _other_than(time.state)
        verb = f"is never {state}" if denied else f"is {state} at some time"
    return f"within the next {_ahead(time.length)} {subject} {verb}"


def _switching(item: Item) -> str:
    """The predicate of a switch: ``switches to open``, ``becomes 0``."""
    time = item.feature.time
    rests = time is not None and bool(time.state)
    if isinstance(item.value, bool):
        denied = _is_denied(item)
        if rests:
            return "neither becomes 0 nor stops being 0" if denied else "becomes 0 or stops being 0"
        return "does not switch" if denied else "switches"
    if item.operator is Operator.EQ and (rests or item.value == "not 0"):
        return _switching_to(str(item.value), denied=False)
    return f"switches to {_switch_target(item)}"


def _switching_to(state: str, *, denied: bool) -> str:
    if state == "0":
        return "does not become 0" if denied else "becomes 0"
    if state == "not 0":
        return "does not stop being 0" if denied else "stops being 0"
    return f"{'does not switch' if denied else 'switches'} to {state}"


def _member_text(value: Value) -> str:
    return format_number(value) if isinstance(value, float) else str(value)


def _calendar_text(item: Item) -> str:
    def name(value: float) -> str:
        return _DAYS[int(value) % 7] if item.feature.name == "weekday" else f"{int(value)}:00"

    negation = "not " if item.operator is Operator.NOT_IN else ""
    if isinstance(item.value, Interval):
        if not math.isfinite(item.value.low - item.value.high):
            return f"{negation}any"  # both ends are open; a range with one open end is a comparison
        return f"{negation}from {name(item.value.low)} to before {name(item.value.high)}"
    if isinstance(item.value, frozenset):
        names = ", ".join(name(value) for value in sorted(v for v in item.value if isinstance(v, float)))
        return f"{negation}one of {names}"
    if isinstance(item.value, float):
        return _CALENDAR_COMPARISONS[item.operator].format(name(item.value))
    return str(item.value)


def format_sensor(id: str, unit: str) -> str:
    """Return the id of a sensor without its unit in brackets, which is told with its readings.

    Args:
        id: The id.
        unit: The unit of the sensor.

    Examples:
        >>> format_sensor("GHI (W/m^2)", "W/m^2"), format_sensor("GHI (W/m^2)", ""), format_sensor("pump", "m")
        ('GHI', 'GHI (W/m^2)', 'pump')
    """
    ends = (f"({unit})", f"[{unit}]") if unit else ()
    return next((bare for end in ends if id.endswith(end) and (bare := id.removesuffix(end).rstrip(" _-"))), id)


def _sensor_name(feature: Feature) -> str:
    kind = feature.label.replace("_", " ")
    if feature.role is Role.SENSOR and not feature.place:
        return format_sensor(feature.subject, feature.unit)
    if names_a_point(feature.place, kind):
        return feature.place
    noun = f"{kind} sensor" if kind else f"sensor {feature.subject}"
    return f"the {noun} in {feature.place}" if feature.place else f"the {kind or feature.subject}"


def names_a_point(place: str, kind: str) -> bool:
    """Return whether the node of a sensor is the measuring point itself, as in Brick.

    Args:
        place: The node.
        kind: The kind of the sensor.

    Examples:
        >>> names_a_point("Supply_Air_Temperature_Sensor", "temperature"), names_a_point("Pump 3", "status")
        (True, False)
    """
    words = {word.lower() for word in re.findall(r"[A-Za-z][a-z]*", place)}
    return bool(words & _POINTS) or bool(words & set(kind.lower().split()))


def _measurement(item: Item, context: str, it: str = "") -> str:
    feature = item.feature
    if item.is_presence:
        return feature.subject
    if feature.role is Role.ALL:
        clauses = [
            _measurement(one, "", it) if one.feature.aspect is Aspect.MEASUREMENT else _other(one, (), it)
            for one in feature.where
        ]
        return " and ".join(clauses)
    if feature.role is Role.TIME:
        noun = {"hour": "the hour of day", "weekday": "the day"}.get(feature.name, feature.name)
        return f"{noun} is {format_test(item)}"
    if feature.role is Role.SOME:
        return _statement(item)
    earlier = ""
    if feature.time is not None:
        if feature.time.form is not TimeForm.LAG:
            return _event(item, _reading_of(feature, it) + context)
        earlier = f" {_ago(feature.time.length)}"
    if feature.role is Role.VARIABLE:
        if not earlier and (state := _state_clause(item, context, it)):
            return state
        verb = "was" if earlier else "is"
        return f"{_variable_reading(feature, it)}{context} {verb} {format_test(item)}{earlier}"
    if not earlier and (state := _state_clause(item, context)):
        return state
    subject = _sensor_name(feature) + context
    if feature.name == "change":
        return f"the change of {subject} is {format_test(item)}"
    # A column of a plain table is no sensor: its value is, and does not read, something.
    plain = not (feature.label or feature.place or feature.unit)
    present, past = ("is", "was") if feature.relative or plain else ("reads", "read")
    return f"{subject} {past if earlier else present} {format_test(item)}{earlier}"


def _state_clause(item: Item, context: str, it: str = "") -> str:
    """Format the state of a thing as that of the thing: ``Pump 3 is on``; nothing if it is no plain state of a node."""
    feature = item.feature
    owner = feature.place or (feature.subject if feature.role is Role.VARIABLE else "")
    plain = not (feature.reads or feature.name not in ("value", "") or feature.relative)
    if not (plain and owner and isinstance(item.value, str) and item.operator in (Operator.EQ, Operator.NE)):
        return ""
    if feature.role is not Role.VARIABLE and names_a_point(owner, feature.label.replace("_", " ")):
        return ""
    said = format_state(feature.label, item.value, "" if owner == it else owner + context, item.operator is Operator.NE)
    return said if owner != it or not context else ""


def format_state(kind: str, state: str, owner: str = "", denied: bool = False, whose: str = "its") -> str:
    """Format the state of a thing whose kind says that it has states; an empty text if it says less than the state.

    Args:
        kind: The kind of the sensor.
        state: The state.
        owner: The node of the sensor; the place of the statement, "it", if empty.
        denied: Whether it is not in the state.
        whose: What comes before a thing without an owner.

    Examples:
        >>> format_state("status", "1", "Pump 3"), format_state("fan_status", "0")
        ('Pump 3 is on', 'its fan is off')
        >>> format_state("fan_status", "On", whose="the")
        'the fan is on'
        >>> format_state("valve_status", "closed", "V"), format_state("valve_status", "1", "V")
        ('the valve of V is closed', '')
        >>> format_state("status", "open", "p", denied=True), format_state("on_off_status", "1", "Boiler 1")
        ('p is not open', 'the on off status of Boiler 1 is on')
    """
    words = kind.replace("_", " ").split()
    rest = [word for word in words if word.lower() not in _STATUS]
    if len(rest) == len(words) or means_measure(kind):
        return ""
    clear = not _UNCLEAR & {word.lower() for word in rest}
    said = (_SWITCHED.get(state, "") if clear else "") or (state if state.lower() in _SAID else "")
    if not said:
        return ""
    if not rest and kind.lower() not in _WHOLE:
        rest = words
    thing = " ".join(word if word.isupper() else word.lower() for word in rest)
    subject = (f"the {thing} of {owner}" if owner else f"{whose} {thing}") if thing else owner or "it"
    return f"{subject} is {'not ' if denied else ''}{said.lower()}"


def _reading_of(feature: Feature, it: str) -> str:
    """Name what a sensor reads: ``the status of Pump 1`` switches, its sensor does not."""
    if feature.role is Role.VARIABLE:
        return _variable_reading(feature, it)
    kind = feature.label.replace("_", " ")
    if not feature.place or not kind or names_a_point(feature.place, kind):
        return _sensor_name(feature)
    return f"the {kind} of {feature.place}"


def _variable_reading(feature: Feature, it: str) -> str:
    """Format a reading of a variable: ``the flow of p``, ``its flow``, or an aggregate of its neighbours."""
    kind = feature.label.replace("_", " ") or "reading"
    if feature.reads:
        aggregate, _, members = feature.name.partition(" of ")
        if aggregate == "difference":
            first, _, second = members.partition(" minus ")
            return f"the {kind} of {first} minus that of {second}"
        return f"the {kind} of {members}" if aggregate == "value" else f"the {aggregate} {kind} of {members}"
    change = "change of the " if feature.name == "change" else ""
    state = " state" if feature.name == "state" or feature.name.startswith(STATE_PREFIX) else ""
    owner = feature.place or feature.subject
    if owner == it:
        return f"{'the change of ' if change else ''}its {kind}{state}"
    return f"the {change}{kind}{state} of {owner}"


def _statement(item: Item) -> str:
    """Format an existential item; its last condition is on the reading, the others are on the node."""
    feature = item.feature
    *facts, reading = feature.where
    inner = ", ".join(_fact(i, {feature.label}) for i in facts)
    quantifier = "no" if item.operator is Operator.NE else "some"
    host = f" in {with_article(feature.subject)}" if feature.subject else ""
    time = reading.feature.time
    if time is not None and time.form is not TimeForm.LAG:
        where = f" in {quantifier} {feature.subject}{f' ({inner})' if inner else ''}" if feature.subject else ""
        noun = feature.label.replace("_", " ")
        return _event(reading, f"the {noun}{where}" if where else f"{quantifier} {noun}")
    earlier = "" if time is None else f" {_ago(time.length)}"
    verb = "changes by" if feature.name == "change" else "read" if earlier else "reads"
    noun = f"{feature.label.replace('_', ' ')} sensor"
    return f"{quantifier} {noun}{host}{f' ({inner})' if inner else ''} {verb} {format_test(reading)}{earlier}"


def with_article(noun: str) -> str:
    """Put "a" or "an" before the name of a class, by the sound of its first letters.

    Examples:
        >>> [with_article(noun) for noun in ("Office", "Room", "AHU", "VAV", "HVAC_Zone", "Unit", "Outdoor_Area")]
        ['an Office', 'a Room', 'an AHU', 'a VAV', 'an HVAC_Zone', 'a Unit', 'an Outdoor_Area']
    """
    word = re.split(r"[^A-Za-z]+", noun.strip())[0]
    # Letters of which the name begins with a vowel: an HVAC zone, an RTU; AHU and the like are spelt out as well.
    spelt = len(word) > 1 and word.isupper() and (word[0] in "AEFHILMNORSX")
    spoken = not word.isupper() and re.match(r"(?i)[aeio]|u(?!ni|ti|se|s[ae]|r[ao]n)|hour|honou?r", word) is not None
    return f"{'an' if spelt or spoken else 'a'} {noun}"


def _fact(item: Item, kinds: Collection[str]) -> str:
    """Format a property of a node; one that is called like a reading of the rule is said to be recorded."""
    name = item.feature.name.replace("_", " ")
    recorded = "recorded " if name.lower() in {kind.replace("_", " ").lower() for kind in kinds} else ""
    if not item.feature.where:
        return f"{recorded}{name} {format_test(item)}"
    (test,) = item.feature.where
    denied = item.operator is Operator.NE
    if test.is_numeric:
        return f"{'no' if denied else 'some'} {recorded}{name} of {format_test(test)}"
    return f"{recorded}{name} {'not ' if denied else ''}including {format_test(test)}"


def _other(item: Item, kinds: Collection[str] = (), it: str = "") -> str:
    feature = item.feature
    own = "it" if it and feature.subject == it else feature.subject
    denied = item.operator is Operator.NE
    if feature.aspect is Aspect.PROPERTY:
        if feature.is_link:
            relation = f"{feature.label.replace('_', ' ')} " if feature.label else ""
            return f"the {relation}link between {own} and {feature.other} has {_fact(item, kinds)}"
        subject = own if feature.role is not Role.EDGE else f"edge {feature.subject}"
        return f"{subject} has {_fact(item, kinds)}"
    verb = "is not" if denied else "is"
    if feature.aspect is Aspect.LABEL:
        return f"{own} {verb} {with_article(feature.name)}"
    return f"{own} {verb} linked to {feature.other} by {feature.name}"


def format_clause(item: Item, pattern: str = "") -> str:
    """Format an item as a clause of a sentence.

    Args:
        item: The item.
        pattern: Description of the place of a lifted rule; what belongs to its only variable is called "its".

    Examples:
        >>> format_clause(Item.is_(Feature("door"), "open"))
        'door is open'
    """
    it = _only_variable(pattern).variable
    return _measurement(item, "", it) if item.feature.aspect is Aspect.MEASUREMENT else _other(item, (), it)


def format_place(pattern: str) -> str:
    """Format the place of a lifted rule, which comes before its sentence; a variable that stands alone needs no name.

    Args:
        pattern: Description of the place of a lifted rule.

    Examples:
        >>> places = ["for every Pipe p", "for one AHU a", "for one Pipe p (Pipe 3)"]
        >>> for place in (*places, "for every Pipe p, Node n where p is connected to n"):
        ...     print(format_place(place))
        for every Pipe
        for the AHU (one place)
        for Pipe 3 (one place)
        for every Pipe p, Node n where p is connected to n
    """
    place = _only_variable(pattern)
    if not place.variable:
        return pattern
    if place.quantifier == "every":
        return f"for every {place.label}"
    named = place.name if place.name.lower() != place.label.lower() else ""
    return f"for {named or f'the {place.label}'} (one place)"


class _Place(NamedTuple):
    """A place with a single variable; all parts are empty for others."""

    quantifier: str = ""
    label: str = ""
    variable: str = ""
    name: str = ""


def _only_variable(pattern: str) -> _Place:
    found = re.fullmatch(r"for (every|one) (.+?) (\S+)(?: \((.+)\))?", pattern, re.S)
    if found is None or " where " in found[2] or ", " in found[2]:
        return _Place()
    return _Place(found[1], found[2], found[3], found[4] or "")


def format_rule(antecedent: Sequence[Item], consequent: Item, pattern: str = "", *, both_ways: bool = False) -> str:
    """Format a rule as a sentence.

    Properties of a node follow, in brackets, the first reading of a sensor in that node; beside an aggregate, which is
    of other nodes, and in a place with a single variable, whose readings are "its", they are clauses of their own. A
    property that is called like a reading of the rule is "recorded": the recorded level of a tank is not what its
    sensor reads.

    Args:
        antecedent: Items of the antecedent.
        consequent: The consequent.
        pattern: Description of the place of a lifted rule; it comes first.
        both_ways: Whether to add that the rule also holds in the other direction.

    Examples:
        >>> flow = Feature("f", label="flow", unit="m3/h", place="Pipe 28")
        >>> size = Feature("Pipe 28", Aspect.PROPERTY, "length", role=Role.NODE, unit="m")
        >>> level = Feature("t", label="level", unit="m", place="Tank")
        >>> antecedent = [Item.among(flow, Interval(23, 31)), Item.among(size, Interval(843, 895))]
        >>> print(format_rule(antecedent, Item.compare(level, ">=", 4.0)).replace(", then", ",\\nthen"))
        if the flow sensor in Pipe 28 (length 843–895 m) reads 23–31 m³/h,
        then the level sensor in Tank reads at least 4 m
    """
    readings = [item for item in antecedent if item.feature.aspect is Aspect.MEASUREMENT]
    kinds = {item.feature.label for item in (*readings, consequent) if item.feature.aspect is Aspect.MEASUREMENT}
    it = _only_variable(pattern).variable
    places = {item.feature.place for item in readings if item.feature.place and not item.feature.reads} - {it}
    facts: dict[str, list[Item]] = {}
    loose: list[Item] = []
    for item in antecedent:
        if item.feature.aspect is Aspect.PROPERTY and not item.feature.is_link and item.feature.subject in places:
            facts.setdefault(item.feature.subject, []).append(item)
        elif item.feature.aspect is not Aspect.MEASUREMENT:
            loose.append(item)

    clauses = []
    for item in readings:
        known = [] if item.feature.reads else facts.pop(item.feature.place, [])
        inner = ", ".join(_fact(i, kinds) for i in known)
        clauses.append(_measurement(item, f" ({inner})" if inner else "", it))
    clauses += [_other(item, kinds, it) for item in loose]
    switches = any(i.feature.time is not None and i.feature.time.form is TimeForm.SWITCH for i in readings)
    given = f"{'when' if switches else 'if'} {' and '.join(clauses)}"
    text = f"{given}, then {format_clause(consequent, pattern)}" + (", and vice versa" if both_ways else "")
    return f"{format_place(pattern)}: {text}" if pattern else text
