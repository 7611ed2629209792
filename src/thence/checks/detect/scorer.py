"""The one engine that scores windows: of a whole later time at once, or of some windows after others.

What is remembered between windows is a ``ScoreState``, so that the scores are the same however the windows come.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from thence.checks.detect.calibration import Calibration
from thence.checks.detect.evidence import EvidenceTally, EvidenceTarget, join_tallies
from thence.checks.detect.residuals import ResidualChecks, Residuals, ResidualState, Signals, hours_of
from thence.data.graph.system import System
from thence.data.readings.windows import WindowedReadings

Floats = npt.NDArray[np.float64]

NEVER_SEEN = "state, never seen"
_NEW_STATE = 2.0  # the score of a state that normal time never had


class Tallied(Protocol):
    """Statements that can be violated: rules, laws, ranges or controls."""

    def tally(self, readings: WindowedReadings, system: System) -> EvidenceTally:
        """Return the evidence of all frames."""
        ...


@dataclass
class ScoreState:
    """What is remembered between one window and the next.

    Args:
        hour: The last window in hours; NaN before the first.
        targets: What statements are about.
        smoothed: The smoothed share of violated statements about each of them.
        residual: What is remembered of residuals.
    """

    hour: float
    targets: tuple[EvidenceTarget, ...]
    smoothed: Floats
    residual: ResidualState

    @staticmethod
    def new(residuals: ResidualChecks | None) -> ScoreState:
        """Return the state before the first window.

        Args:
            residuals: The residuals, if there are any.
        """
        columns = 0 if residuals is None else len(residuals.columns)
        return ScoreState(np.nan, (), np.zeros(0), ResidualState.new(columns))

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return what JSON can hold, and arrays."""
        hour = None if np.isnan(self.hour) else self.hour
        residual = {f"residual_{name}": one for name, one in self.residual.to_arrays().items()}
        return {"hour": hour, "targets": [list(one) for one in self.targets]}, {"smoothed": self.smoothed, **residual}

    @staticmethod
    def from_arrays(record: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> ScoreState:
        """Return the state of ``to_arrays``.

        Args:
            record: What JSON can hold.
            arrays: The arrays.
        """
        start = "residual_"
        inner = {name.removeprefix(start): one for name, one in arrays.items() if name.startswith(start)}
        return ScoreState(
            np.nan if record["hour"] is None else float(record["hour"]),
            tuple(EvidenceTarget(*one) for one in record["targets"]),
            np.array(arrays["smoothed"]),
            ResidualState.from_arrays(inner),
        )


class Scored(NamedTuple):
    """Scores with all that they come from.

    Args:
        scores: The score of each frame, in units of the threshold.
        channels: The channels.
        tally: The evidence of statements.
        smoothed: The smoothed share of violated statements, targets × frames.
        signals: What residuals say; ``None`` if there are none.
        residuals: Readings, errors and usual errors; ``None`` if there are none.
        new_states: Frames × sensors with states: whether the state was never seen in normal time.
    """

    scores: Floats
    channels: dict[str, Floats]
    tally: EvidenceTally
    smoothed: Floats
    signals: Signals | None
    residuals: Residuals | None
    new_states: dict[str, npt.NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class Scorer:
    """What a detector has learned, as far as scores follow from it.

    Args:
        statements: The statements of each family.
        residuals: The residuals, if there are any.
        states: The states of each sensor in normal time, as far as a new one would be news.
        calibration: What is usual in normal time.
        retire: Hours after which a slow drift becomes the new reference; ``None`` for never.
    """

    statements: Sequence[Tallied]
    residuals: ResidualChecks | None
    states: Mapping[str, tuple[str, ...]]
    calibration: Calibration
    retire: float | None = None

    def score(
        self,
        readings: WindowedReadings,
        system: System,
        state: ScoreState,
        *,
        new: slice = slice(None),
        steps: Floats | None = None,
    ) -> Scored:
        """Return the scores of some windows, and remember what later ones need.

        Args:
            readings: The windows, and maybe some before and after them, which statements look at.
            system: The system that they belong to.
            state: What is remembered; it is changed.
            new: The windows to score; they come after those of the state.
            steps: What readings are rounded to; by default it is looked at.
        """
        hours = hours_of(readings)[new]
        frames = len(hours)
        whole = join_tallies([one.tally(readings, system) for one in self.statements], len(readings))
        tally = EvidenceTally(whole.targets, whole.applicable[:, new], whole.violated[:, new])
        smoothed = np.zeros((len(tally.targets), frames))
        if frames:
            before = None if np.isnan(state.hour) else (state.hour, self._aligned(state, tally.targets))
            smoothed = self.calibration.smooth(tally.shares, hours, before)
            state.hour, state.targets, state.smoothed = float(hours[-1]), tally.targets, smoothed[:, -1]
        channels = self.calibration.channels(tally.targets, smoothed)
        signals = found = None
        if self.residuals is not None and frames:
            signals, found = self.residuals.advance(state.residual, readings, new=new, steps=steps, retire=self.retire)
            channels |= self.residuals.channels(signals)
        news = self._new_states(readings, new)
        scores = self.calibration.score(channels, frames)
        for flags in news.values():
            scores = np.where(flags, np.maximum(scores, _NEW_STATE), scores)
        if news:
            channels[NEVER_SEEN] = np.any(list(news.values()), axis=0) * _NEW_STATE
        return Scored(scores, channels, tally, smoothed, signals, found, news)

    @staticmethod
    def _aligned(state: ScoreState, targets: tuple[EvidenceTarget, ...]) -> Floats:
        if state.targets == targets:
            return state.smoothed
        known = dict(zip(state.targets, state.smoothed.tolist(), strict=True))
        return np.array([known.get(target, 0.0) for target in targets])

    def _new_states(self, readings: WindowedReadings, new: slice) -> dict[str, npt.NDArray[np.bool_]]:
        out = {}
        for id, (codes, known) in readings.states.items():
            if id in self.states:
                unseen = np.array([name not in self.states[id] for name in known] + [False], bool)
                if unseen.any():
                    out[id] = unseen[codes[new]]
        return out


def known_states(readings: WindowedReadings) -> dict[str, tuple[str, ...]]:
    """Return the states of each sensor, if all of them were seen in the first half: then a further one is news.

    Args:
        readings: Normal readings.
    """
    out = {}
    for id, (codes, known) in readings.states.items():
        early = set(codes[: len(codes) // 2].tolist()) - {-1}
        every = set(codes.tolist()) - {-1}
        if early and early == every:
            out[id] = tuple(known[code] for code in sorted(every))
    return out
