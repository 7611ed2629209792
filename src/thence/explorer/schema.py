"""The shape of the explorer's answers under ``/api``; the rules, cards and drawings are those of ``thence.report``.

Times are whole milliseconds since 1970 in UTC, missing numbers are ``None``. Holds no code.
"""

from __future__ import annotations

from typing import Literal, TypedDict

from thence.report.schema import Count, LawRow, RuleRow

__all__ = [
    "Alert",
    "Change",
    "Comparison",
    "Envelope",
    "Facet",
    "Job",
    "Monitor",
    "NodeDetail",
    "Problem",
    "RulePage",
    "RunEntry",
    "Runs",
    "SeriesPage",
]


class RunEntry(TypedDict):
    """A run that is open; the id is its position, and no path goes to the client."""

    id: int
    name: str
    rules: int
    laws: int
    controls: int
    enrichment: str
    data: Literal["loading", "ready", "missing"]
    """Whether the readings behind the run are at hand: evidence, series and mining need them."""
    why: str
    """Why they are not, in words."""


class Monitor(TypedDict):
    """A monitor that is watched."""

    id: int
    name: str
    alerts: int
    last: int | None
    health: dict[str, str]


class Runs(TypedDict):
    """What is open."""

    version: str
    runs: list[RunEntry]
    monitors: list[Monitor]


class Facet(TypedDict):
    """One way to narrow the rules, with the number of rules of each choice among those that remain."""

    name: Literal["kind", "class", "property", "pattern", "conclusion", "review"]
    choices: list[Count]


class RulePage(TypedDict):
    """A page of rules."""

    total: int
    offset: int
    rules: list[RuleRow]
    facets: list[Facet]
    milliseconds: float


class NodeDetail(TypedDict):
    """A node of the graph: what it is, its sensors, and what is known of it."""

    id: str
    name: str
    classes: list[str]
    properties: list[list[str]]
    sensors: list[str]
    neighbours: list[str]
    laws: list[LawRow]
    rules: int


class Envelope(TypedDict):
    """A series at a coarser resolution: the lowest and the highest reading of each stretch of time."""

    sensor: str
    name: str
    kind: str
    unit: str
    states: list[str]
    times: list[int]
    low: list[float | None]
    high: list[float | None]


class SeriesPage(TypedDict):
    """Series over a period, at the resolution that was asked for."""

    start: int
    end: int
    series: list[Envelope]


class Change(TypedDict):
    """A rule that both runs have, with its confidence and support in each."""

    rule: RuleRow
    other: RuleRow


class Comparison(TypedDict):
    """Rules of run ``a`` against those of run ``b``."""

    a: int
    b: int
    gained: list[RuleRow]
    lost: list[RuleRow]
    changed: list[Change]
    n_gained: int
    n_lost: int
    n_changed: int
    n_same: int


class Job(TypedDict):
    """A search that runs in the background."""

    id: str
    state: Literal["running", "done", "failed", "cancelled"]
    stage: str
    share: float | None
    """How much is done, between 0 and 1; ``None`` while that is not known."""
    message: str
    run: int | None
    """The run that it made, once it is done."""


class Alert(TypedDict):
    """An alert of a monitor."""

    id: int
    monitor: int
    time: int
    kind: str
    sentence: str
    where: list[str]
    evidence: list[str]


class Problem(TypedDict):
    """Why a request was not answered, and what to do."""

    error: str
    hint: str
