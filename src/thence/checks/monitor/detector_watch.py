"""A detector on windows that come one after the other: its alarms, each told once when it begins.

A detector scores a stretch of time. Here it scores the last windows again every hour, as many as its memory needs, and
says what is new in them. When it does so depends on the numbers of the windows alone, not on how they came.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from thence.checks.detect.detection import Detection
from thence.checks.detect.detector import Detector
from thence.checks.monitor.batches import Roster
from thence.checks.monitor.history import Complete
from thence.checks.monitor.statement_watch import RecentWindows
from thence.data.graph.system import System
from thence.data.readings.durations import format_duration, parse_duration
from thence.data.readings.sensors import SensorData
from thence.errors import ConfigError, attempt

HOUR = 3_600_000_000
_MEMORIES, _RETIREMENTS = 10, 1.5  # how many of them the windows that are kept cover
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
        memory = parse_duration(detector.memory)
        retire = 0 if detector.retire_after is None else parse_duration(detector.retire_after)
        self._kept = round((_MEMORIES * memory + _RETIREMENTS * retire) / every) + 1
        self._apart = max(1, round(memory / every))
        self._hop = max(1, HOUR // every)
        self.scored = self.last_alarm = -(2**62)
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
        for frame in range(start, stop):
            number = int(windows.numbers[frame])
            if len(self.numbers) and number // self._hop != self.numbers[-1] // self._hop:
                out += self._score(frame, anchor)
            self.append(windows, frame, frame + 1, kept=self._kept)
            if number % self._hop == self._hop - 1:
                out += self._score(frame, anchor)
        return out

    def _score(self, frame: int, anchor: int) -> list[Alarmed]:
        """Score the windows that are kept, and look for alarms in those that were not scored before."""
        new = self.numbers > self.scored
        if not new.any():
            return []
        self.scored = int(self.numbers[-1])
        detection = self._detector.detect(replace(self._system, sensors=self._readings(anchor)))
        scores = dict(zip(detection.readings.times.astype(np.int64).tolist(), detection.scores.tolist(), strict=True))
        self.score = detection.scores[-1] if len(detection.scores) else float("nan")
        out: list[Alarmed] = []
        for number in self.numbers[new].tolist():
            start = number * self._every + anchor
            if scores.get(start, 0.0) <= 1:
                continue
            if number - self.last_alarm > self._apart:
                out.append(Alarmed(frame, start, *_told(detection, start, scores[start])))
            self.last_alarm = number
        return out

    def _readings(self, anchor: int) -> SensorData:
        starts = (self.numbers * self._every + anchor).view("datetime64[us]")
        columns: dict[str, pl.Series] = {"time": pl.Series(starts).dt.replace_time_zone("UTC")}
        for at, sensor in enumerate(self.roster.sensors):
            if sensor.categorical:
                names = np.array([*self.roster.names(at), None], object)
                columns[sensor.id] = pl.Series(names[self.codes[:, at]].tolist(), dtype=pl.String)
            else:
                columns[sensor.id] = pl.Series(self.values[:, at], nan_to_null=True)
        return SensorData.from_wide(pl.DataFrame(columns), sensors=self.roster.sensors)

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return numbers for JSON, and arrays: all that is needed to go on."""
        return {"scored": self.scored, "last_alarm": self.last_alarm}, super().to_arrays()[1]

    def restore(self, numbers: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from what ``to_arrays`` returned.

        Args:
            numbers: The numbers.
            arrays: The arrays.
        """
        super().restore(numbers, arrays)
        self.scored, self.last_alarm = int(numbers["scored"]), int(numbers["last_alarm"])


def _told(detection: Detection, start: int, score: float) -> tuple[str, dict[str, Any]]:
    """Return the message and the details of an alarm."""

    def explained() -> tuple[str, dict[str, Any]]:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=start)
        told = detection.explain(moment).to_dict()
        return _message(told), {name: told[name] for name in ("score", "places", "reasons", "others", "failures")}

    def unexplained(why: str) -> tuple[str, dict[str, Any]]:
        facts = {"score": round(score, 4), "places": [], "reasons": [], "others": 0}
        told = {**facts, "failures": [f"could not be explained: {why}"]}
        return _message(told), told

    return attempt("the message of an alarm", explained, unexplained)


def _message(told: Mapping[str, Any]) -> str:
    """Return one line: the score, the place, what is violated, and what could not be explained."""
    where = f", most likely at {told['places'][0]}" if told["places"] else ""
    reasons = [f"{one['statement']} (violated at {one['place']})" for one in told["reasons"][:_SHOWN]]
    why = f" Violated: {'; '.join(reasons)}." if reasons else ""
    failed = "".join(f" {failure[:1].upper()}{failure[1:]}." for failure in told["failures"])
    return f"Alarm: score {told['score']:.2f} times the threshold{where}.{why}{failed}"
