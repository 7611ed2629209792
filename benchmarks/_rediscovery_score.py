"""Scores of rediscovery: proposed controls against the true ones, and which law of physics a found law states.

Pure functions over plain records; nothing is loaded or searched here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from thence.lab.datasets.library import TrueControl

LEAST_ACTIONS = 10
"""How often a control has to have acted to count."""
TOLERANCE = 0.05
"""The largest error of a threshold, as a share of the range of the reading."""
PER_CONTROL = 5
"""How many proposals per true control are looked at."""


@dataclass(frozen=True)
class Condition:
    """A condition of a proposal.

    Args:
        sensor: The sensor; empty for the time of day.
        direction: ``"above"`` or ``"below"`` the threshold; ``None`` for the time of day.
        threshold: The threshold in the unit of the sensor, or the hour of the day.
    """

    sensor: str
    direction: str | None
    threshold: float


@dataclass(frozen=True)
class Proposal:
    """What a miner says about a switch.

    Args:
        actuator: The sensor of the status.
        status: The status that follows.
        conditions: Conditions, of which any may be the true one: a bin has two ends, an antecedent several items.
        text: The sentence.
    """

    actuator: str
    status: str
    conditions: tuple[Condition, ...]
    text: str = ""


@dataclass(frozen=True)
class Score:
    """How well proposals agree with the true controls.

    Args:
        controls: True controls that acted often enough.
        recalled: How many of these are among the best proposals.
        looked_at: The number of best proposals.
        true: How many of these state a true control.
        errors: The error of the threshold of each recalled control, as a share of the range of the reading, by the
            first proposal that states it.
    """

    controls: int
    recalled: int
    looked_at: int
    true: int
    errors: tuple[float, ...]

    @property
    def recall(self) -> float:
        """Share of the controls that are recalled; NaN if there are none."""
        return self.recalled / self.controls if self.controls else math.nan

    @property
    def precision(self) -> float:
        """Share of the best proposals that state a true control; NaN if there are none."""
        return self.true / self.looked_at if self.looked_at else math.nan

    @property
    def error(self) -> float:
        """The median error of the thresholds; NaN if nothing is recalled."""
        return median(self.errors) if self.errors else math.nan


def add_scores(scores: Iterable[Score]) -> Score:
    """Return the score of several networks together."""
    listed = list(scores)
    return Score(
        sum(one.controls for one in listed),
        sum(one.recalled for one in listed),
        sum(one.looked_at for one in listed),
        sum(one.true for one in listed),
        tuple(error for one in listed for error in one.errors),
    )


def threshold_error(proposal: Proposal, control: TrueControl) -> float:
    """Return how far a proposal is from a true control, as a share of the range of the reading.

    Infinite if actuator, status, sensor or direction differ.
    """
    if (proposal.actuator, proposal.status) != (control.actuator, control.status):
        return math.inf
    errors = [
        _distance(condition, control)
        for condition in proposal.conditions
        if (condition.sensor, condition.direction) == (control.sensor, control.direction)
    ]
    return min(errors, default=math.inf)


def _distance(condition: Condition, control: TrueControl) -> float:
    apart = abs(condition.threshold - control.threshold)
    if control.by_clock:
        apart = min(apart % 24, -apart % 24)
    return apart / control.sensor_range if control.sensor_range > 0 else math.inf


def score_controls(proposals: Sequence[Proposal], truth: Iterable[TrueControl]) -> Score:
    """Compare proposals, best first, with the true controls.

    Args:
        proposals: What a miner says about switches, best first.
        truth: All controls of the network, with the number of their actions. Those that acted ``LEAST_ACTIONS`` times
            count for the recall; a proposal is true if it states any of them.
    """
    known = tuple(truth)
    counted = [control for control in known if control.acted >= LEAST_ACTIONS]
    best = proposals[: PER_CONTROL * len(counted)]
    errors = []
    for control in counted:
        close = [error for one in best if (error := threshold_error(one, control)) <= TOLERANCE]
        errors += close[:1]
    true = sum(any(threshold_error(one, control) <= TOLERANCE for control in known) for one in best)
    return Score(len(counted), len(errors), len(best), true, tuple(errors))


PHYSICS = {
    "mass balance": "mass balance of junctions",
    "tank": "level change of tanks against net inflow",
    "closed": "closed link, no flow",
    "head": "sign of the flow against the difference of heads",
    "check valve": "check valves let water through one way only",
    "reducing valve": "pressure behind a reducing valve",
}
"""The six laws of physics that a water network obeys."""


def physics_of(law: Any) -> str | None:
    """Return which law of physics a found law states, by its form and its terms; ``None`` if none of ``PHYSICS``.

    Args:
        law: A ``thence.statements.laws.law.Law``.
    """
    kinds = {term.name for term in law.terms if term.form != "property"}
    totals = any(term.form == "total" for term in law.terms)
    changes = any(term.change for term in law.terms)
    facts = {term.name for term in law.terms if term.form == "property"}
    lifted = {term.plus for term in law.terms if term.plus}
    state = law.condition.value if law.condition is not None and law.condition.form == "state" else ""
    fact = law.condition.name if law.condition is not None and law.condition.form == "property" else ""
    if law.form == "equal" and totals and not changes and kinds <= {"flow", "demand"} and "flow" in kinds:
        return "mass balance"
    if law.form == "proportional" and changes and {"level", "flow"} <= kinds:
        return "tank"
    if law.form in ("equal", "at_most") and state == "closed" and kinds == {"flow"}:
        return "closed"
    if law.form == "sign" and kinds == {"flow", "pressure"} and lifted == {"elevation"}:
        return "head"
    if law.form == "at_least" and kinds == {"flow"} and (fact == "check_valve" or "check_valve" in law.pattern):
        return "check valve"
    if law.form in ("equal", "at_most") and kinds == {"pressure"} and facts == {"setting"}:
        return "reducing valve"
    return None
