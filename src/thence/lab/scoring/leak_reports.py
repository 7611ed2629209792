"""BattLeDIM's score of leak reports: true positives near a leak, and the water saved less the cost of crews."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from thence.errors import InputError

__all__ = ["BattLeDIMScore", "LeakFlow", "battledim", "pipe_distances"]

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
