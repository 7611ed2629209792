"""Evidence cards of controls: the reading, its threshold, and the actuator that switches.

Switches are explained by ``thence.statements.controls.counting``, so that a card marks the switches that were counted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from thence.language.english import format_number, format_unit
from thence.language.items import Role
from thence.show.reports.choosing import ANYWHERE, Aim, tell_period
from thence.show.reports.evidence import Evidence
from thence.show.reports.periods import Chosen, add_up, as_milliseconds, begins_of, choose_period, join_frames
from thence.show.reports.schema import Band, Card, Trace
from thence.show.reports.traces import FeatureSeries, as_trace, bands_of, sensor_series
from thence.statements.controls.control import Control, Controls
from thence.statements.controls.counting import explain_switches
from thence.statements.controls.sentences import format_time, group_controls


def make_control_card(evidence: Evidence, position: int, aim: Aim = ANYWHERE) -> Card | None:
    """Return the evidence for a control, with the others of its actuator and its reading.

    Args:
        evidence: The data.
        position: The position of the control in the controls of the run.
        aim: What to show.

    Returns:
        The card; ``None`` if the actuator or the sensor has no readings.
    """
    controls = evidence.material.run.controls
    if controls is None:
        return None
    group = next(group for group in group_controls(controls) if position in group)
    own = [controls[at] for at in group]
    readings = evidence.readings
    drawn = _draw(evidence, own)
    after, known, broken_at = _explain_all(evidence, own, controls)
    if not len(after) or not drawn:
        return None
    held, broken, read = (np.zeros(len(readings), bool) for _ in range(3))
    held[after[known]] = True
    broken[after[broken_at]] = True
    read |= ~np.isnan(drawn[0][0].values)
    switched = np.zeros(len(readings), np.int64)
    np.add.at(switched, after, 1)
    kept = np.zeros(len(readings), np.int64)
    np.add.at(kept, after[known], 1)
    period = choose_period(readings.times, readings.every, held=held, violated=broken, known=read, around=aim.moment)
    cut = slice(period.start, period.stop)
    traces: list[Trace] = [
        as_trace(series, bands, times=readings.times, start=period.start, stop=period.stop) for series, bands in drawn
    ]
    inside = np.sort(after[(after >= period.start) & (after < period.stop)])
    nodes = evidence.linked([node for series, _ in drawn for node in series.nodes])
    return {
        "key": f"control-{group[0]}",
        "about": "control",
        "id": group[0],
        "spot": None,
        "violations": begins_of(broken, readings.times, readings.every),
        "place": " – ".join(dict.fromkeys(series.node or series.name for series, _ in drawn)),
        "why": _why(period, len(inside), int(kept[cut].sum()), len(after), int(known.sum())),
        "traces": traces,
        "held": join_frames(held[cut], readings.times, readings.every, first=period.start),
        "violated": join_frames(broken[cut], readings.times, readings.every, first=period.start),
        "history": add_up([(readings.times, switched, kept)], readings.every),
        "places": [],
        "n_places": 0,
        "nodes": nodes,
        "edges": evidence.edges_among(nodes),
        "switches": as_milliseconds(readings.times[inside]).tolist(),
    }


def _explain_all(
    evidence: Evidence, own: Sequence[Control], controls: Controls
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """The switches of several controls, as ``_explain`` has them, each once: two of them may be about one change."""
    found: dict[tuple[str, str], tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_], npt.NDArray[np.bool_]]] = {}
    for control in own:
        change = (control.from_state, control.to_state)
        after, known, broken = _explain(evidence, control, controls)
        if change in found:
            known, broken = known | found[change][1], broken & found[change][2]
        found[change] = after, known, broken
    after, known, broken = (np.concatenate(parts) for parts in zip(*found.values(), strict=True))
    return after, known, broken


def _explain(
    evidence: Evidence, control: Control, controls: Controls
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return the first window after each switch, which of them the control explains, and which no control explains.

    What another control of the same change explains is not explained by this one if it was counted so.
    """
    zone = evidence.material.run.config.windows.timezone
    after, known = explain_switches(control, evidence.readings, timezone=zone)
    by_others = np.zeros(len(after), bool)
    for other in controls:
        same = (other.actuator, other.from_state, other.to_state)
        if other is not control and same == (control.actuator, control.from_state, control.to_state):
            by_others |= explain_switches(other, evidence.readings, timezone=zone)[1]
    broken = ~(known | by_others)
    if int(known.sum()) > control.tally.explained:
        known = known & ~by_others
    return after, known, broken


def _draw(evidence: Evidence, controls: Sequence[Control]) -> list[tuple[FeatureSeries, list[Band]]]:
    """The reading with its thresholds, second conditions, and the actuator; empty if one has no readings.

    Args:
        evidence: The data.
        controls: Controls of one actuator by one reading.
    """
    out: list[tuple[FeatureSeries, list[Band]]] = []
    first = controls[0]
    if first.sensor_feature is not None:
        reading = sensor_series(evidence, first.sensor)
        if reading is None:
            return []
        out.append((reading, [_threshold(control) for control in controls]))
    premises = dict.fromkeys(one.premise for one in controls if one.premise is not None)
    for premise in premises:
        if premise.feature.role is not Role.TIME:
            other = sensor_series(evidence, premise.feature.subject)
            if other is not None:
                out.append((other, bands_of(premise, "if", other, held=np.zeros(len(other.values), bool))))
    actuator = sensor_series(evidence, first.actuator)
    if actuator is None:
        return []
    return [*out, (actuator, [_state(control, actuator) for control in controls])]


def _threshold(control: Control) -> Band:
    """The threshold at which the actuator switches, as a line."""
    unit = f" {format_unit(control.unit)}" if control.unit else ""
    value = format_number(control.threshold)
    text = f"{'rises' if control.direction == 'above' else 'falls'} {control.direction} {value}{unit}"
    return {"side": "if", "low": control.threshold, "high": control.threshold, "states": [], "text": text}


def _state(control: Control, actuator: FeatureSeries) -> Band:
    """The state that the actuator switches to."""
    clock = "" if control.sensor_feature is not None else f" at {format_time(control.threshold)}"
    text = f"switches to {control.to_state}{clock}"
    if not control.numeric:
        return {"side": "then", "low": None, "high": None, "states": [control.to_state], "text": text}
    if control.to_state == "0":
        return {"side": "then", "low": 0.0, "high": 0.0, "states": [], "text": f"becomes 0{clock}"}
    read = actuator.values[~np.isnan(actuator.values) & (actuator.values != 0)]
    ends = [None, None] if not read.size else [float(read.min()), float(read.max())]
    return {"side": "then", "low": ends[0], "high": ends[1], "states": [], "text": f"stops being 0{clock}"}


def _why(period: Chosen, switches: int, held: int, of_all: int, explained: int) -> str:
    """Why this period is shown, in words."""
    times = "once" if switches == 1 else f"{switches:,} times"
    if held == switches:
        each = "as the control says" if switches == 1 else "each time as the control says"
    else:
        each = f"{held:,} of them as the control says" if switches > 1 else "and not as the control says"
    return f"{tell_period(period)} it switches {times}, {each}; in all {explained:,} of {of_all:,} times."
