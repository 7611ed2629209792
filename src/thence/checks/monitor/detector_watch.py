"""A detector on windows that come one after the other: its alarms, each told once when it begins.

The scores are those of ``Detector.detect`` on the whole: the same engine goes on from what it remembers. A window is
scored when the next one is there, since whether a law holds may depend on it, so nothing depends on how windows come.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from thence.checks.detect.causes import Cause
from thence.checks.detect.detection import Detection
from thence.checks.detect.detector import Detector
from thence.checks.detect.residuals import columns_of
from thence.checks.detect.scorer import ScoreState
from thence.checks.monitor.batches import Roster
from thence.checks.monitor.history import Complete
from thence.checks.monitor.statement_watch import RecentWindows
from thence.data.graph.system import System
from thence.data.readings.derived import derive_values
from thence.data.readings.durations import format_duration
from thence.data.readings.findings import ReadReport
from thence.data.readings.sensors import SensorData
from thence.data.readings.windows import WindowedReadings
from thence.errors import ConfigError, attempt

HOUR = 3_600_000_000
_BEFORE = 200  # windows before the new ones that statements and derived values may look at
_STEPS_AFTER = 200  # windows after which it is known how the readings are rounded
_MEMORIES = 10  # that the windows of an explanation cover
_SHOWN = 3


@dataclass(frozen=True)
class Alarmed:
    """An alarm that begins.

    Args:
        frame: Position of the window with which it became known.
        start: Start of the first window with an alarm, in microseconds.
        message: What is violated, and where.
        details: What a program may want to know.
    """

    frame: int
    start: int
    message: str
    details: Mapping[str, Any]


class DetectorWatch(RecentWindows):
    """The state of a detector.

    Args:
        detector: A detector that has learned.
        system: The graph and the binding around the sensors.
        roster: The sensors.
        every: Length of a window in microseconds.
        aggregates: The aggregate of each sensor.

    Raises:
        ConfigError: If the detector has not learned, or learned from other windows.
    """

    def __init__(
        self, detector: Detector, system: System, roster: Roster, *, every: int, aggregates: tuple[str, ...]
    ) -> None:
        if not detector.fitted:
            raise ConfigError("the detector has not learned yet", hint="call fit first, or pass one that was saved")
        learned = round(detector.calibration.every * HOUR)
        if learned != every:
            raise ConfigError(
                f"the detector has learned from windows of {format_duration(learned)}, but the rules are about windows "
                f"of {format_duration(every)}",
                hint="use the same windows for both",
            )
        if not set(aggregates) <= {"mean", "mode"}:
            raise ConfigError("a detector has learned from means, but the windows of the run have other aggregates")
        super().__init__(roster)
        self._detector, self._system, self._every = detector, system, every
        self._scorer = detector.scorer(every_statement=False)
        scale = detector.calibration.scale
        self._apart = max(1, round(scale.memory / scale.every))
        self._explained_by = round(max(_MEMORIES * scale.memory, 1.5 * scale.slow) / scale.every) + 1
        self._state = ScoreState.new(self._scorer.residuals)
        self._steps = None if self._scorer.residuals is None else self._scorer.residuals.expected.steps
        self.seen = 0
        self.last_alarm = -(2**62)
        self.score = float("nan")

    def push(self, windows: Complete, start: int, stop: int, anchor: int) -> list[Alarmed]:
        """Add windows, and return the alarms that begin in those that were scored now.

        Args:
            windows: Windows, of which some are new.
            start: The first new one.
            stop: The one after the last.
            anchor: A moment at which a window starts, in microseconds.
        """
        out: list[Alarmed] = []
        first = start
        while first < stop:
            # How the readings are rounded is looked at after the same window however many come at once.
            last = min(stop, first + max(_STEPS_AFTER - self.seen, 0)) if self.seen < _STEPS_AFTER else stop
            out += self._push(windows, first, last, anchor)
            first = last
        return out

    def _push(self, windows: Complete, start: int, stop: int, anchor: int) -> list[Alarmed]:
        new, had_one = stop - start, len(self.numbers) > 0
        self.append(windows, start, stop, kept=new + 1 + max(_BEFORE, self._explained_by))
        self.seen += new
        n = len(self.numbers)
        first = n - new - had_one  # the last window of the push before was not scored yet
        readings = self._windowed(slice(max(first - _BEFORE, 0), n), anchor)
        offset = max(first - _BEFORE, 0)
        scored = self._scorer.score(
            readings, self._system, self._state, new=slice(first - offset, n - 1 - offset), steps=self._steps
        )
        if self.seen == _STEPS_AFTER and self._scorer.residuals is not None:
            residuals = self._scorer.residuals
            self._steps = residuals.steps_of(columns_of(readings, residuals.columns))
        out: list[Alarmed] = []
        for at in np.flatnonzero(scored.scores > 1).tolist():
            number = int(self.numbers[first + at])
            if number - self.last_alarm > self._apart:
                known_with = stop - (n - (first + at + 1))
                score = float(scored.scores[at])
                out.append(Alarmed(known_with, number * self._every + anchor, *self._told(first + at, score, anchor)))
            self.last_alarm = number
        if len(scored.scores):
            self.score = float(scored.scores[-1])
        return out

    def _windowed(self, chosen: slice, anchor: int) -> WindowedReadings:
        """Windows as they are, with what rules derive from them."""
        sensors, config = self.roster.sensors, self._detector.config
        times = (self.numbers[chosen] * self._every + anchor).view("datetime64[us]")
        values = self.values[chosen][:, [at for at, sensor in enumerate(sensors) if not sensor.categorical]]
        states = {
            sensor.id: (self.codes[chosen, at], self.roster.names(at))
            for at, sensor in enumerate(sensors)
            if sensor.categorical
        }
        derived = derive_values(
            config.windows.derive or (),
            times=times,
            sensors=sensors,
            values=values,
            states=states,
            every=self._every,
            timezone=config.windows.timezone,
        )
        return WindowedReadings(
            times=times,
            sensors=sensors,
            values=values,
            states=states,
            derived=derived.numbers,
            every=timedelta(microseconds=self._every),
            aggregates={},
            report=ReadReport(),
            derived_states=derived.states,
        )

    def _told(self, at: int, score: float, anchor: int) -> tuple[str, dict[str, Any]]:
        """The message and the details of an alarm, from the windows before it and one after it."""
        chosen = slice(max(at + 2 - self._explained_by, 0), at + 2)
        start = int(self.numbers[at]) * self._every + anchor

        def explained() -> tuple[str, dict[str, Any]]:
            detection = self._detector.detect(replace(self._system, sensors=self._readings(chosen, anchor)))
            return _told(detection, start, score)

        return attempt("the message of an alarm", explained, lambda why: _unexplained(score, why))

    def _readings(self, chosen: slice, anchor: int) -> SensorData:
        starts = (self.numbers[chosen] * self._every + anchor).view("datetime64[us]")
        columns: dict[str, pl.Series] = {"time": pl.Series(starts).dt.replace_time_zone("UTC")}
        for at, sensor in enumerate(self.roster.sensors):
            if sensor.categorical:
                names = np.array([*self.roster.names(at), None], object)
                columns[sensor.id] = pl.Series(names[self.codes[chosen, at]].tolist(), dtype=pl.String)
            else:
                columns[sensor.id] = pl.Series(self.values[chosen, at], nan_to_null=True)
        return SensorData.from_wide(pl.DataFrame(columns), sensors=self.roster.sensors)

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return numbers for JSON, and arrays: all that is needed to go on."""
        record, arrays = self._state.to_arrays()
        numbers = {"seen": self.seen, "last_alarm": self.last_alarm, "state": record}
        steps = {} if self._steps is None else {"steps": self._steps}
        return numbers, {**super().to_arrays()[1], **steps, **{f"score_{name}": one for name, one in arrays.items()}}

    def restore(self, numbers: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from what ``to_arrays`` returned.

        Args:
            numbers: The numbers.
            arrays: The arrays.
        """
        super().restore(numbers, arrays)
        self.seen, self.last_alarm = int(numbers["seen"]), int(numbers["last_alarm"])
        self._steps = arrays["steps"].copy() if "steps" in arrays else None
        start = "score_"
        inner = {name.removeprefix(start): one for name, one in arrays.items() if name.startswith(start)}
        self._state = ScoreState.from_arrays(numbers["state"], inner)


def _told(detection: Detection, start: int, score: float) -> tuple[str, dict[str, Any]]:
    """Return the message and the details of an alarm."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=start)
    told = detection.explain(moment).to_dict()
    facts = {name: told[name] for name in ("places", "reasons", "others", "failures")}
    cause = detection.cause_at(moment)
    named = {} if cause is None else {"kind_of_alarm": cause.kind, "cause": str(cause)}
    return _message(score, facts, cause), {"score": round(score, 4), **named, **facts}


def _unexplained(score: float, why: str) -> tuple[str, dict[str, Any]]:
    facts: dict[str, Any] = {"places": [], "reasons": [], "others": 0, "failures": [f"could not be explained: {why}"]}
    return _message(score, facts, None), {"score": round(score, 4), **facts}


def _message(score: float, told: Mapping[str, Any], cause: Cause | None) -> str:
    """Return one line: the score, the place, what is off, what is violated, and what could not be explained."""
    where = f", most likely at {told['places'][0]}" if told["places"] and cause is None else ""
    what = "" if cause is None else f" {cause}."
    reasons = [
        f"{one['statement']} (violated at {one['place']})" for one in told["reasons"] if one["family"] != "residual"
    ]
    why = f" Violated: {'; '.join(reasons[:_SHOWN])}." if reasons else ""
    failed = "".join(f" {failure[:1].upper()}{failure[1:]}." for failure in told["failures"])
    return f"Alarm: score {score:.2f} times the threshold{where}.{what}{why}{failed}"
