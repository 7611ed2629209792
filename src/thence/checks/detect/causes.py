"""What an alarm is about: one cause, with its place, its quantity, how far it is off and what would be normal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from thence.checks.detect.evidence import Broken, EvidenceTarget, Reading
from thence.checks.detect.residuals import SLOW, ResidualChecks, Residuals
from thence.checks.detect.scorer import NEVER_SEEN, Scored
from thence.data.graph.system import System
from thence.data.readings.windows import WindowedReadings
from thence.language.english import format_number, format_unit

Floats = npt.NDArray[np.float64]
AlarmKind = Literal["process", "sensor", "never seen", "control", "law"]

_SEEN_BY_OTHERS = 0.7  # share of the spread of a sensor that the others explain, so that it can be told to be wrong
_STILL = 6  # frames without any change: stuck, if normal time never had half as many in a row
_QUIET = 3.0  # usual errors
_LASTS = 2.0  # times what is usual of errors that last
_SAYS_MOST = {"state": 3, "law": 2, "control": 1}
_TRIED = 5  # columns that may be to blame


@dataclass(frozen=True)
class Cause:
    """What an alarm is about.

    Args:
        kind: A process that is not as it was, a sensor that is wrong, a state that was never seen, a control or a law
            that is violated.
        place: The node; the sensor where there is no graph.
        sensor: The sensor; empty if it is a law that is violated.
        text: What is off, by how much, and what would be normal.
    """

    kind: AlarmKind
    place: str
    sensor: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"


def node_of(sensor: str, system: System) -> str:
    """Return the node of a sensor, empty if it has none.

    Args:
        sensor: The id of the sensor.
        system: The system.
    """
    return "" if system.binding is None else str(system.binding.get(sensor, ""))


def name_quantity(sensor: str, system: System, readings: WindowedReadings) -> tuple[str, str]:
    """Return the place of a sensor, and what it measures in words.

    Args:
        sensor: The id of the sensor.
        system: The system.
        readings: Windows, which know the kinds of sensors.
    """
    node = node_of(sensor, system)
    kind = next((one.kind for one in readings.sensors if one.id == sensor), "")
    alone = node and system.binding is not None and len(system.binding.sensors_at(node)) == 1
    known = [one for one in readings.sensors if one.kind == kind and node_of(one.id, system) == node]
    quantity = kind if node and kind and (alone or len(known) == 1) else sensor
    return node or sensor, quantity


def amount(value: float, unit: str) -> str:
    """Return a number with three digits and its unit.

    Args:
        value: The number.
        unit: The unit.

    Examples:
        >>> amount(32.1457, "l/s")
        '32.1 L/s'
    """
    return f"{format_number(float(f'{value:.3g}'))}{' ' + format_unit(unit) if unit else ''}"


def expected_value(value: float, unusual: float, unit: str) -> str:
    """Return an expected value with as many digits as the usual error allows.

    Args:
        value: The value.
        unusual: The usual error.
        unit: The unit.
    """
    digits = 2 - int(np.floor(np.log10(unusual))) if unusual > 0 else 6
    rounded = round(value, min(max(digits, 0), 9))
    return f"{format_number(float(f'{rounded:.6g}'))}{' ' + format_unit(unit) if unit else ''}"


def describe_residual(checks: ResidualChecks, scored: Scored, column: int, frame: int, unit: str) -> str:
    """Return in words what a column reads, what is expected, and the usual error.

    Args:
        checks: What is expected.
        scored: The scores.
        column: The number of the column.
        frame: The number of the frame.
        unit: The unit of the sensor.
    """
    assert scored.residuals is not None
    found = scored.residuals
    value, error = float(found.values[frame, column]), float(found.errors[frame, column])
    usual = float(found.units[frame, column])
    state = checks.columns[column][1]
    if state:
        share = float(np.clip(value - error, 0, 1))
        return f"is {'' if value else 'not '}{state}; given the other sensors, {state} is expected to {share:.0%}"
    return (
        f"reads {expected_value(value, usual, unit)}; given the other sensors "
        f"{expected_value(value - error, usual, unit)} is expected; usual error {amount(usual, unit)}"
    )


def describe_lasting(checks: ResidualChecks, scored: Scored, column: int, frame: int, unit: str) -> str:
    """Return in words how far a column has been off for a day, on average.

    Args:
        checks: What is expected.
        scored: The scores.
        column: The number of the column.
        frame: The number of the frame.
        unit: The unit of the sensor.
    """
    assert scored.residuals is not None
    found, state = scored.residuals, checks.columns[column][1]
    since = max(frame + 1 - round(checks.scale.slow / checks.scale.every), 0)
    errors = found.errors[since : frame + 1, column]
    mean = float(errors[~np.isnan(errors)].mean()) if (~np.isnan(errors)).any() else 0.0
    usual = float(checks.slow[column] * found.units[frame, column])
    lasted = f"on average over {(frame + 1 - since) * checks.scale.every:.3g} h"
    if state:
        return f"is {state} {'more' if mean > 0 else 'less'} often than the other sensors let expect, {lasted}"
    return (
        f"is {amount(abs(mean), unit)} {'higher' if mean > 0 else 'lower'} than the other sensors let expect, "
        f"{lasted}; usual {amount(usual, unit)}"
    )


def residual_reasons(
    checks: ResidualChecks, scored: Scored, readings: WindowedReadings, system: System, frame: int, most: int = 3
) -> list[Broken]:
    """Return the columns that are out of the ordinary in a frame, in words; the first most.

    Args:
        checks: What is expected.
        scored: The scores.
        readings: The windows.
        system: The system that they belong to.
        frame: The number of the frame.
        most: The greatest number of columns.
    """
    assert scored.residuals is not None and scored.signals is not None
    found, unit_of = scored.residuals, {sensor.id: sensor.unit for sensor in readings.sensors}
    standard = np.nan_to_num(found.errors[frame] / found.units[frame])
    lasting = np.abs(scored.signals.slow[:, frame])
    speaks = np.maximum(np.abs(standard) / checks.clip, lasting / _QUIET / 2)
    out: list[Broken] = []
    for column in np.argsort(-speaks, kind="stable")[:most].tolist():
        sudden = np.abs(standard[column]) > _QUIET
        one_of_many = scored.scores[frame] > 1 and not out  # an alarm may be the sum of small errors
        if np.isnan(found.values[frame, column]) or not (sudden or lasting[column] > _LASTS or one_of_many):
            continue
        sensor, state = checks.columns[column]
        place, quantity = name_quantity(sensor, system, readings)
        usual, most_seen = float(found.units[frame, column]), float(checks.most[column])
        unit = unit_of.get(sensor, "")
        describe = describe_residual if sudden or not len(checks.slow) else describe_lasting
        how_far = amount(most_seen * usual, "" if state else unit)
        normal = f"never more than {how_far} off in {int(checks.rows[column]):,} windows"
        out.append(
            Broken(
                "residual",
                f"the {quantity} {describe(checks, scored, column, frame, unit)}",
                place,
                () if state else (Reading(sensor, float(found.values[frame, column]), unit),),
                "",
                int(checks.rows[column]),
                0,
                (),
                EvidenceTarget("residual", sensor, node_of(sensor, system)),
                normal if abs(standard[column]) > most_seen else f"up to {how_far} off",
            )
        )
    return out


def residual_cause(
    checks: ResidualChecks,
    scored: Scored,
    readings: WindowedReadings,
    system: System,
    frame: int,
    channel: str,
) -> Cause:
    """Return the cause of an alarm that residuals raise.

    Args:
        checks: What is expected.
        scored: The scores.
        readings: The windows.
        system: The system that they belong to.
        frame: The frame that says most.
        channel: The channel that raises it.
    """
    assert scored.residuals is not None and scored.signals is not None
    found = scored.residuals
    slow = channel == SLOW
    column = int(np.argmax(np.abs(scored.signals.slow[:, frame]))) if slow else _blamed(checks, found, frame)
    sensor, state = checks.columns[column]
    place, quantity = name_quantity(sensor, system, readings)
    unit = next((one.unit for one in readings.sensors if one.id == sensor), "")
    kind: AlarmKind = "process"
    if slow:
        text = f"{quantity} {describe_lasting(checks, scored, column, frame, unit)}"
    else:
        text = f"{quantity} {describe_residual(checks, scored, column, frame, unit)}"
    still = 0 if state else _still(found.values[:, column], frame)
    if still >= _STILL and checks.expected.scale[column] > 0 and still > 2 * checks.longest_still[column]:
        kind, text = "sensor", f"{text}; it has not changed for {still * checks.scale.every:.3g} h"
    elif not state and channel != SLOW and _alone(checks, found, frame, column):
        kind, text = "sensor", f"{text}; without it the others agree with one another"
    return Cause(kind, place, sensor, text)


def _blamed(checks: ResidualChecks, found: Residuals, frame: int) -> int:
    """The column without which the others fit best: what is wrong with one shows in those that it tells about."""
    frames = slice(max(frame - 2, 0), frame + 1)
    off = np.nan_to_num(np.abs(found.errors[frames] / found.units[frames])).max(axis=0, initial=0.0)
    tried = np.argsort(-off, kind="stable")[:_TRIED].tolist()
    clock = found.clock[frames]
    left = [(np.minimum(_without(checks, found.values[frames], clock, at), checks.clip) ** 2).sum() for at in tried]
    return int(tried[int(np.argmin(left))])


def _without(checks: ResidualChecks, values: Floats, clock: Floats, column: int) -> Floats:
    """How far the other columns are off, in usual errors, if one is left out."""
    rest = values.copy()
    rest[:, column] = np.nan
    return np.asarray(np.nan_to_num(np.abs(checks.expected.residuals(rest, clock))).max(axis=0, initial=0.0))


def _still(values: Floats, frame: int) -> int:
    """The number of frames up to one in which nothing has changed."""
    changed = np.flatnonzero(values[: frame + 1] != values[frame])
    return frame - int(changed[-1]) if len(changed) else frame + 1


def _alone(checks: ResidualChecks, found: Residuals, frame: int, column: int) -> bool:
    """Whether the others determine a sensor, and agree with one another if it is left out."""
    spread = checks.expected.scale[column]
    if not spread or (checks.expected.unit[column] / spread) ** 2 > 1 - _SEEN_BY_OTHERS:
        return False
    frames = slice(max(frame - 2, 0), frame + 1)
    off = _without(checks, found.values[frames], found.clock[frames], column)
    return bool((off <= np.maximum(checks.clip / 2, _QUIET)).all())


def new_state_cause(scored: Scored, readings: WindowedReadings, system: System, frame: int) -> Cause:
    """Return the cause of an alarm about a state that was never seen.

    Args:
        scored: The scores.
        readings: The windows.
        system: The system that they belong to.
        frame: The frame.
    """
    sensor = next(id for id, flags in scored.new_states.items() if flags[frame])
    codes, known = readings.states[sensor]
    place, quantity = name_quantity(sensor, system, readings)
    return Cause("never seen", place, sensor, f"{quantity} is '{known[codes[frame]]}', which normal time never had")


def leading_channel(scored: Scored, thresholds: dict[str, float], first: int, last: int) -> str:
    """Return the channel that says most about some frames.

    What was never seen says most; then laws and controls, which name a place by themselves, if they are an alarm; then
    whatever goes farthest beyond its threshold.

    Args:
        scored: The scores.
        thresholds: The thresholds.
        first: The first frame.
        last: The last frame.
    """

    def reach(name: str) -> tuple[int, float]:
        values = scored.channels[name][first : last + 1]
        amount = float(values.max(initial=0.0)) / (1.0 if name == NEVER_SEEN else thresholds.get(name, np.inf))
        rank = _SAYS_MOST.get(name.partition(",")[0], 0) if amount > 1 else -1
        return rank, amount

    return max(scored.channels, key=reach)
