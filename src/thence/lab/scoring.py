"""Scores of detectors, as the field defines them: leaks, attacks, faults; pure functions over arrays.

Labels and alarms are arrays of 0 and 1 (or booleans), one value per step; a step is a sampling interval.

Examples:
    >>> from thence import scoring
    >>> label = [0, 0, 0, 0, 1, 1, 1, 1, 0, 0]
    >>> alarm = [0, 0, 0, 0, 0, 1, 1, 1, 1, 0]
    >>> scoring.f1_score(label, alarm).f1
    0.75
    >>> scoring.detection_score(label, alarm).score.__round__(3)
    0.771
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from thence.errors import ConfigError, InputError

_Bools: TypeAlias = npt.NDArray[np.bool_]


def _as_flags(values: Any, *, name: str) -> _Bools:
    """Return values as booleans; refuse anything but 0 and 1 in one dimension."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise InputError(f"{name} must be one value per step, got an array of {array.ndim} dimensions")
    try:
        numbers = array.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be 0 or 1 (or booleans), got {array.dtype}") from None
    wrong = ~np.isin(numbers, (0.0, 1.0))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise InputError(f"{name} must be 0 or 1 (or booleans), got {array[at]} at step {at}")
    return np.asarray(numbers == 1.0)


def _flag_pair(labels: Any, alarms: Any) -> tuple[_Bools, _Bools]:
    """Return labels and alarms as booleans of the same length."""
    y, a = _as_flags(labels, name="labels"), _as_flags(alarms, name="alarms")
    if len(y) != len(a):
        raise InputError(f"labels and alarms must have the same number of steps, got {len(y)} and {len(a)}")
    return y, a


def _find_events(flags: _Bools) -> list[tuple[int, int]]:
    """Return the spans of steps that are on, as (first, last), both included.

    >>> _find_events(np.array([True, False, True, True]))
    [(0, 0), (2, 3)]
    """
    padded = np.concatenate(([False], flags, [False]))
    change = np.flatnonzero(padded[1:] != padded[:-1])
    return [(int(first), int(after) - 1) for first, after in zip(change[::2], change[1::2], strict=True)]


def _share(part: float, whole: float) -> float:
    """Return ``part / whole``; NaN where ``whole`` is 0."""
    return part / whole if whole else float("nan")


@dataclass(frozen=True, slots=True)
class PointScore:
    """Counts of steps, and the rates that follow; NaN where a rate is 0/0.

    Args:
        true_positives: Steps with a label and an alarm.
        false_positives: Steps with an alarm only.
        false_negatives: Steps with a label only.
    """

    true_positives: int
    false_positives: int
    false_negatives: int

    @property
    def precision(self) -> float:
        """Share of the alarmed steps that are labelled."""
        return _share(self.true_positives, self.true_positives + self.false_positives)

    @property
    def recall(self) -> float:
        """Share of the labelled steps that are alarmed."""
        return _share(self.true_positives, self.true_positives + self.false_negatives)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        tp = self.true_positives
        return _share(2 * tp, 2 * tp + self.false_positives + self.false_negatives)


def f1_score(labels: Any, alarms: Any, *, adjust_above: float | None = None) -> PointScore:
    """Score alarms step by step.

    Args:
        labels: 1 where there is an event.
        alarms: 1 where there is an alarm.
        adjust_above: Point adjustment: an event of which more than this share of the steps is alarmed counts as alarmed
            in all its steps. With 0, one alarm is enough: this flatters, since random alarms hit long events.
            ``None`` for the plain score.

    Examples:
        >>> label = [1] * 20 + [0] * 80
        >>> alarm = [1] + [0] * 19 + [1, 1] + [0] * 78
        >>> round(f1_score(label, alarm).f1, 3), round(f1_score(label, alarm, adjust_above=0).f1, 3)
        (0.087, 0.952)
    """
    if adjust_above is not None and not 0 <= adjust_above <= 1:
        raise ConfigError(f"adjust_above must be between 0 and 1, got {adjust_above}")
    y, a = _flag_pair(labels, alarms)
    if adjust_above is not None:
        a = a.copy()
        for first, last in _find_events(y):
            event = a[first : last + 1]
            if event.sum() > adjust_above * len(event):
                event[:] = True
    return PointScore(int((y & a).sum()), int((~y & a).sum()), int((y & ~a).sum()))


Bias = Literal["flat", "front", "back"]


@dataclass(frozen=True, slots=True)
class RangeScore:
    """Precision and recall over ranges; NaN without alarms or without events.

    Args:
        precision: Mean over the ranges of alarms.
        recall: Mean over the events.
    """

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return _share(2 * self.precision * self.recall, self.precision + self.recall)


def range_f1_score(
    labels: Any,
    alarms: Any,
    *,
    existence: float = 0.0,
    bias: Bias = "flat",
    fragments: Literal["ignore", "reciprocal"] = "ignore",
) -> RangeScore:
    """Score alarms range by range.

    Args:
        labels: 1 where there is an event.
        alarms: 1 where there is an alarm.
        existence: Part of the recall of an event that any overlap earns; the rest is earned by its size.
        bias: Which steps of an event count most: ``"flat"`` for all alike, ``"front"`` or ``"back"``.
        fragments: ``"reciprocal"`` divides what the size earns by the number of ranges that overlap it.

    Examples:
        >>> label = [10 <= step <= 19 for step in range(30)]
        >>> alarm = [12 <= step <= 14 or 18 <= step <= 22 for step in range(30)]
        >>> score = range_f1_score(label, alarm)
        >>> score.recall, score.precision, round(score.f1, 3)
        (0.5, 0.7, 0.583)
    """
    if not 0 <= existence <= 1:
        raise ConfigError(f"existence must be between 0 and 1, got {existence}")
    if bias not in _WEIGHTS:
        raise ConfigError(f"bias must be 'flat', 'front' or 'back', got {bias!r}")
    if fragments not in ("ignore", "reciprocal"):
        raise ConfigError(f"fragments must be 'ignore' or 'reciprocal', got {fragments!r}")
    y, a = _flag_pair(labels, alarms)
    split = fragments == "reciprocal"
    return RangeScore(
        precision=_mean_overlap(a, y, existence=0.0, bias=bias, split=split),
        recall=_mean_overlap(y, a, existence=existence, bias=bias, split=split),
    )


_WEIGHTS: dict[Bias, Callable[[int], Any]] = {
    "flat": lambda length: np.ones(length),
    "front": lambda length: np.arange(length, 0, -1),
    "back": lambda length: np.arange(1, length + 1),
}


def _mean_overlap(of: _Bools, by: _Bools, *, existence: float, bias: Bias, split: bool) -> float:
    scores = []
    for first, last in _find_events(of):
        hit = by[first : last + 1]
        weights = _WEIGHTS[bias](len(hit))
        pieces = len(_find_events(hit))
        size = float(weights[hit].sum() / weights.sum()) / (pieces if split and pieces > 1 else 1)
        scores.append(existence * (pieces > 0) + (1 - existence) * size)
    return _share(sum(scores), len(scores))


@dataclass(frozen=True, slots=True)
class DetectionScore:
    """The score S and its parts; NaN where it is undefined. A detector that always alarms has 0.75: quote ``tnr`` too.

    Args:
        score: S.
        time_score: 1 less the mean time to detection as a share of the attack.
        class_score: Mean of ``tpr`` and ``tnr``.
        tpr: Share of the steps under attack that are alarmed.
        tnr: Share of the other steps that are not.
        delays: Steps from the start of each attack to its first alarm; ``None`` for attacks without.
    """

    score: float
    time_score: float
    class_score: float
    tpr: float
    tnr: float
    delays: tuple[int | None, ...]


def detection_score(
    labels: Any, alarms: Any, *, gamma: float = 0.5, length: Literal["steps", "last-first"] = "steps"
) -> DetectionScore:
    """Score alarms by time to detection and by step: S = γ · S_TTD + (1 − γ) · (TPR + TNR) / 2.

    Args:
        labels: 1 while there is an attack.
        alarms: 1 where there is an alarm.
        gamma: Weight of the time to detection.
        length: How long an attack is: its number of ``"steps"``, or one less (``"last-first"``); then an attack of one
            step has the delay 0 if it is found, else 1.

    Examples:
        >>> silent = detection_score([0, 1, 1, 0], [0, 0, 0, 0])
        >>> silent.score, silent.time_score, silent.tnr
        (0.25, 0.0, 1.0)
    """
    if length not in ("steps", "last-first"):
        raise ConfigError(f"length must be 'steps' or 'last-first', got {length!r}")
    if not 0 <= gamma <= 1:
        raise ConfigError(f"gamma must be between 0 and 1, got {gamma}")
    y, a = _flag_pair(labels, alarms)
    delays: list[int | None] = []
    shares: list[float] = []
    for first, last in _find_events(y):
        found = np.flatnonzero(a[first : last + 1])
        whole = max(last - first + (length == "steps"), 1)
        delays.append(int(found[0]) if len(found) else None)
        shares.append(min(int(found[0]) / whole, 1.0) if len(found) else 1.0)
    time_score = 1 - _share(math.fsum(shares), len(shares))
    tpr, tnr = _share(int((y & a).sum()), int(y.sum())), _share(int((~y & ~a).sum()), int((~y).sum()))
    class_score = (tpr + tnr) / 2
    score = gamma * time_score + (1 - gamma) * class_score
    return DetectionScore(score, time_score, class_score, tpr, tnr, tuple(delays))


@dataclass(frozen=True, slots=True)
class FaultDetection:
    """How a fault was detected.

    Args:
        fault: The fault: the value that was given for its steps; ``None`` for the time without a fault.
        events: Spans of steps with it.
        found: Spans of these with an alarm.
        steps: Steps with it.
        alarmed: Steps of these with an alarm.
        delays: Steps from the start of each span that was found to its first alarm.
    """

    fault: Hashable | None
    events: int
    found: int
    steps: int
    alarmed: int
    delays: tuple[int, ...]

    @property
    def alarmed_share(self) -> float:
        """Share of its steps with an alarm."""
        return _share(self.alarmed, self.steps)


def detection_by_fault(faults: Sequence[Hashable | None], alarms: Any) -> tuple[FaultDetection, ...]:
    """Return how each fault was detected, and how much alarm there was without one.

    Args:
        faults: The fault of each step, such as ``"leaking valve, 40 %"``; ``None`` without a fault.
        alarms: 1 where there is an alarm.

    Returns:
        One record per fault in the order of first appearance, then one for the steps without a fault, if there are any.

    Examples:
        >>> for one in detection_by_fault([None, "stuck", "stuck", None, "stuck"], [0, 0, 1, 1, 0]):
        ...     print(one.fault, one.events, one.found, one.alarmed_share.__round__(2), one.delays)
        stuck 2 1 0.33 (1,)
        None 2 1 0.5 (0,)
    """
    a = _as_flags(alarms, name="alarms")
    if len(faults) != len(a):
        raise InputError(f"faults and alarms must have the same number of steps, got {len(faults)} and {len(a)}")
    names: list[Hashable | None] = [*dict.fromkeys(fault for fault in faults if fault is not None)]
    if any(fault is None for fault in faults):
        names.append(None)
    number = {name: at for at, name in enumerate(names)}
    codes = np.array([number[fault] for fault in faults], np.int64)
    out = []
    for name, code in number.items():
        mine = codes == code
        events = _find_events(mine)
        first = [np.flatnonzero(a[start : end + 1]) for start, end in events]
        delays = tuple(int(found[0]) for found in first if len(found))
        out.append(FaultDetection(name, len(events), len(delays), int(mine.sum()), int((mine & a).sum()), delays))
    return tuple(out)


@dataclass(frozen=True, slots=True)
class LeakDBScore:
    """LeakDB's scores over all scenarios together; rates in percent, NaN where they are 0/0.

    Args:
        true_positives: Steps with a leak and an alarm.
        false_positives: Steps with an alarm and no leak.
        false_negatives: Steps with a leak and no alarm.
        true_negatives: Steps with neither.
        early: The score of each event, from 0 to 1, in the order of scenarios and time.
    """

    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int
    early: tuple[float, ...]

    @property
    def f1(self) -> float:
        """F1 in percent."""
        tp = self.true_positives
        return 100 * _share(2 * tp, 2 * tp + self.false_positives + self.false_negatives)

    @property
    def true_positive_rate(self) -> float:
        """Share of the steps with a leak that have an alarm, in percent."""
        return 100 * _share(self.true_positives, self.true_positives + self.false_negatives)

    @property
    def true_negative_rate(self) -> float:
        """Share of the steps without a leak that have no alarm, in percent."""
        return 100 * _share(self.true_negatives, self.true_negatives + self.false_positives)

    @property
    def early_detection(self) -> float:
        """Mean score of the events, in percent: 100 if each has an alarm from its first step on."""
        return 100 * _share(math.fsum(self.early), len(self.early))


def leakdb(
    labels: Sequence[Any],
    alarms: Sequence[Any],
    *,
    alpha: float = 5.0,
    extra_steps: int = 10,
    min_share: float = 0.75,
    inclusive: bool = False,
) -> LeakDBScore:
    """Score alarms as LeakDB does.

    Counts are pooled over all steps of all scenarios. An event from step s to e scores
    ``2 / (1 + exp(alpha · D / w))`` if more than ``min_share`` of the steps from the first alarm to the end of its
    window are alarmed, else 0. The window ends ``extra_steps`` after e or at the end of the series, D counts the steps
    from s to the first alarm in it, and w is its length less one. Leaks that overlap are one event; an event that
    begins or ends with the series is an event.

    Args:
        labels: One array of 0 and 1 per scenario: 1 while there is a leak.
        alarms: One array of 0 and 1 per scenario.
        alpha: How fast the score falls: 5 in LeakDB's code, 6 in the article.
        extra_steps: Steps after an event in which an alarm still counts; LeakDB's 10 are 5 hours.
        min_share: Share of alarmed steps that an event needs from its first alarm on.
        inclusive: Whether exactly ``min_share`` is enough ("at least", as in the article) or not ("more than", as in
            the code).

    Examples:
        >>> first = leakdb([[0, 0, 0, 0, 1, 1, 1, 1, 0, 0]], [[0, 0, 0, 0, 0, 1, 1, 1, 1, 0]])
        >>> first.true_positives, first.false_positives, first.f1
        (3, 1, 75.0)
    """
    if len(labels) != len(alarms):
        raise InputError(
            f"labels and alarms must have the same number of scenarios, got {len(labels)} and {len(alarms)}"
        )
    if len(labels) and np.ndim(labels[0]) == 0:
        raise InputError(
            "labels must be a list of arrays, one per scenario", hint="pass [labels] and [alarms] for a single scenario"
        )
    counts = np.zeros(4, np.int64)
    early: list[float] = []
    for one_label, one_alarm in zip(labels, alarms, strict=True):
        y, a = _flag_pair(one_label, one_alarm)
        counts += [(y & a).sum(), (~y & a).sum(), (y & ~a).sum(), (~y & ~a).sum()]
        early += [
            _score_event(a, first, last, alpha, extra_steps, min_share, inclusive) for first, last in _find_events(y)
        ]
    tp, fp, fn, tn = (int(count) for count in counts)
    return LeakDBScore(tp, fp, fn, tn, tuple(early))


def _score_event(
    alarm: _Bools, first: int, last: int, alpha: float, extra: int, min_share: float, inclusive: bool
) -> float:
    end = min(last + extra, len(alarm) - 1)
    found = np.flatnonzero(alarm[first : end + 1])
    if not len(found):
        return 0.0
    delay, width = int(found[0]), end - first
    alarmed, left = len(found), width - delay + 1
    enough = alarmed >= min_share * left if inclusive else alarmed > min_share * left
    if not enough:
        return 0.0
    return 2 / (1 + math.exp(alpha * delay / width)) if delay else 1.0


Pipe = tuple[str, str, float]


@dataclass(frozen=True, eq=False)
class LeakFlow:
    """A leak as BattLeDIM describes it.

    Args:
        pipe: The pipe that leaks.
        flow: Its outflow in m³/h, one value per step; 0 before it starts and after its repair.
        start: The first step; by default the first with an outflow.
        end: The last step before the repair; by default the last with an outflow.
    """

    pipe: str
    flow: Any
    start: int | None = None
    end: int | None = None

    @property
    def period(self) -> tuple[int, int]:
        """First and last step, both included."""
        on = np.flatnonzero(np.asarray(self.flow) > 0)
        if not len(on) and (self.start is None or self.end is None):
            raise InputError(f"the leak in pipe {self.pipe} has no outflow", hint="pass its start and end")
        first = int(on[0]) if self.start is None else self.start
        return first, int(on[-1]) if self.end is None else self.end


@dataclass(frozen=True, slots=True)
class BattLeDIMScore:
    """BattLeDIM's score of a list of reports.

    Args:
        total: The score in €, rounded to cents.
        true_positives: Reports that claimed a leak.
        false_positives: Reports that matched no leak.
        false_negatives: Leaks that no report claimed.
        scores: The score in € of each report, in the order in which they were given; 0 for reports that are ignored.
        claimed: The number of the leak that each report claimed, ``None`` for none.
    """

    total: float
    true_positives: int
    false_positives: int
    false_negatives: int
    scores: tuple[float, ...]
    claimed: tuple[int | None, ...]


def battledim(
    reports: Iterable[tuple[str, int]],
    leaks: Sequence[LeakFlow],
    pipes: Mapping[str, Pipe],
    *,
    radius: float = 300.0,
    water_price: float = 0.80,
    crew_cost: float = 500.0,
    steps_per_hour: float = 12.0,
) -> BattLeDIMScore:
    """Score leak reports as BattLeDIM 2020 does.

    A report matches a leak if it lies between its start and its end and within ``radius``, all inclusive; there is no
    limit on the delay. It then scores the price of the water that leaks from then on, less ``crew_cost`` times its
    distance as a share of ``radius``, which may be negative. Reports are taken in time order, and each claims the
    nearest leak not claimed yet (of equally near ones the first in the list). A report that matches claimed leaks only
    scores 0; one that matches none costs ``crew_cost``. As in the published code, the sum of the water starts one step
    before the report.

    Args:
        reports: Pairs of a pipe and a step, counted from 0; those with a negative step are ignored.
        leaks: The leaks.
        pipes: Of each pipe the nodes at its ends and its length in m.
        radius: Greatest distance in m between report and leak.
        water_price: Price of water in € per m³.
        crew_cost: Cost of a crew in €.
        steps_per_hour: Steps per hour.

    Examples:
        >>> leak = LeakFlow("p1", [6.0 if 1000 <= step < 2200 else 0.0 for step in range(3000)])
        >>> battledim([("p1", 1000)], [leak], {"p1": ("a", "b", 100.0)}).total
        480.0
    """
    given = list(reports)
    for pipe in (*(pipe for pipe, _ in given), *(leak.pipe for leak in leaks)):
        if pipe not in pipes:
            raise InputError(f"no pipe '{pipe}' among the pipes of the network")
    periods = [leak.period for leak in leaks]
    flows = [np.asarray(leak.flow, np.float64) for leak in leaks]
    scores, claimed = [0.0] * len(given), [None] * len(given)  # type: tuple[list[float], list[int | None]]
    taken: set[int] = set()
    wrong = 0
    for number in sorted(range(len(given)), key=lambda number: given[number][1]):
        pipe, step = given[number]
        if step < 0:
            continue
        near = pipe_distances(pipe, pipes, most=radius)
        matched = [
            (near[leak.pipe], at)
            for at, (leak, (start, end)) in enumerate(zip(leaks, periods, strict=True))
            if start <= step <= end and near.get(leak.pipe, math.inf) <= radius
        ]
        free = [match for match in matched if match[1] not in taken]
        if free:
            distance, at = min(free)
            taken.add(at)
            claimed[number] = at
            water = float(flows[at][max(step - 1, 0) :].sum()) / steps_per_hour
            scores[number] = water_price * water - distance / radius * crew_cost
        elif not matched:
            wrong += 1
            scores[number] = -crew_cost
    return BattLeDIMScore(
        total=round(math.fsum(scores), 2),
        true_positives=len(taken),
        false_positives=wrong,
        false_negatives=len(leaks) - len(taken),
        scores=tuple(scores),
        claimed=tuple(claimed),
    )


def pipe_distances(pipe: str, pipes: Mapping[str, Pipe], *, most: float = math.inf) -> dict[str, float]:
    """Return the distance in m from one pipe to all others: 0 to itself, else from middle to middle along pipes.

    Args:
        pipe: The pipe.
        pipes: Of each pipe the nodes at its ends and its length in m.
        most: Pipes further away are left out.

    Examples:
        >>> pipe_distances("a", {"a": ("1", "2", 100), "b": ("2", "3", 40), "c": ("3", "4", 10)})
        {'a': 0.0, 'b': 70.0, 'c': 95.0}
    """
    beside: dict[str, list[tuple[str, float]]] = {}
    for start, end, length in pipes.values():
        beside.setdefault(start, []).append((end, length))
        beside.setdefault(end, []).append((start, length))
    first, second, own = pipes[pipe]
    reached = {first: 0.0, second: 0.0}
    queue = [(0.0, first), (0.0, second)]
    while queue:
        so_far, node = heapq.heappop(queue)
        if so_far > reached[node]:
            continue
        for neighbour, length in beside[node]:
            further = so_far + length
            if further <= most and further < reached.get(neighbour, math.inf):
                reached[neighbour] = further
                heapq.heappush(queue, (further, neighbour))
    out = {}
    for name, (start, end, length) in pipes.items():
        between = min(reached.get(start, math.inf), reached.get(end, math.inf))
        distance = 0.0 if name == pipe else between + own / 2 + length / 2
        if distance <= most and math.isfinite(distance):
            out[name] = distance
    return out
