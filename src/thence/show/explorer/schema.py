"""The shape of the explorer's answers under ``/api``; rules, cards and drawings are those of the report.

Times are whole milliseconds since 1970 in UTC, missing numbers are ``None``. Holds no code.
"""

from __future__ import annotations

from typing import Literal, TypedDict

from thence.show.reports.schema import ControlRow, Count, LawRow, MeasureColumn, Mining, Review, RuleRow


class RunEntry(TypedDict):
    """A run that is open; the id is its position, and no path goes to the client."""

    id: int
    name: str
    rules: int
    laws: int
    controls: int
    enrichment: str
    saved: bool
    """Whether it is in a folder; reviews of a run in memory are lost when the explorer ends."""
    data: Literal["loading", "ready", "missing"]
    """Whether the readings behind the run are available: evidence, series and places need them."""
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
    measures: list[MeasureColumn]
    runs: list[RunEntry]
    monitors: list[Monitor]


class Outline(TypedDict):
    """How a run was mined."""

    mining: Mining
    notes: list[str]
    """What is not available, and why."""


class Facet(TypedDict):
    """One way to narrow the list, with the number of findings of each choice among those that remain."""

    name: Literal["kind", "class", "property", "pattern", "conclusion", "review"]
    choices: list[Count]
    more: int
    """Choices that are not listed, the least frequent."""


class Hit(TypedDict):
    """A place or a sensor that was found."""

    kind: Literal["place", "sensor"]
    id: str
    what: str
    node: str
    """The node whose page tells more; empty for a sensor that is bound to none."""


class FindingsPage(TypedDict):
    """A page of what a filter finds, in reading order; variants of one finding are in its row."""

    counts: dict[str, int]
    """How many there are of each kind: ``control``, ``law``, ``rule``, ``place``, ``sensor``."""
    variants: int
    """Rules that are shown as a variant of another one."""
    total: int
    """Those of the kinds that were asked for."""
    offset: int
    findings: list[RuleRow | LawRow | ControlRow]
    named: list[Hit]
    """Places and sensors: a page of them if they were asked for, otherwise the first ones that a search finds."""
    facets: list[Facet]
    milliseconds: float


class Here(TypedDict):
    """How a statement does at one node."""

    kind: str
    id: int
    sentence: str
    rows: int
    held: int
    exception: bool


class NodeDetail(TypedDict):
    """A node of the graph: what it is, its sensors, and what is known of it."""

    id: str
    classes: list[str]
    properties: list[list[str]]
    sensors: list[str]
    near: list[str]
    """Sensors at the neighbours of a node that has none itself: those of the points of an air handler or a room."""
    neighbours: list[str]
    here: list[Here]
    """Statements that apply at the node, exceptions first."""
    alerts: list[Alert]
    """Alerts of the monitors that are about the node or a sensor there, the latest first."""
    findings: int
    """Findings about the node: by name, by a sensor there, or by a pattern that matches there."""


class Scatter(TypedDict):
    """Measures of the rules of a filter, for a picture; a sample at even steps if there are many."""

    total: int
    ids: list[int]
    support: list[float | None]
    confidence: list[float | None]
    zhang: list[float | None]


class Envelope(TypedDict):
    """A series at a coarser resolution: the lowest and the highest reading of each span of time."""

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


class StatementChange(TypedDict):
    """A law or a control that one of two runs lacks, or that held otherwise."""

    kind: str
    part: Literal["gained", "lost", "changed"]
    sentence: str
    before: str
    """How often it held in the first run; empty if that lacks it."""
    after: str
    """How often it held in the second run; empty if that lacks it."""


class Comparison(TypedDict):
    """Rules, laws and controls of run ``a`` against those of run ``b``."""

    a: int
    b: int
    gained: list[RuleRow]
    lost: list[RuleRow]
    changed: list[Change]
    n_gained: int
    n_lost: int
    n_changed: int
    n_same: int
    statements: list[StatementChange]


class ReviewRequest(TypedDict):
    """A verdict on a rule, a law or a control; an empty verdict and an empty note take the review back."""

    key: str
    """Its key."""
    verdict: Literal["accepted", "rejected", ""]
    note: str


class Reviewed(TypedDict):
    """What was kept."""

    key: str
    review: Review | None


class Alert(TypedDict):
    """An alert of a monitor."""

    id: int
    monitor: int
    time: int
    kind: str
    sentence: str
    """The message of the monitor."""
    title: str
    """The message without the sentence of the rule and without times."""
    where: list[str]
    evidence: list[str]
    run: int | None
    """The open run that has the rule that it is about, if one has."""
    rule: int | None
    """The position of that rule."""
    key: str
    """The key of the rule, if the monitor names it."""
    says: str
    """The sentence of the rule, if the monitor gives it."""


class AlertPage(TypedDict):
    """Alerts after a given one, the oldest first."""

    alerts: list[Alert]
    last: int
    """The id to ask with next time."""
    forgotten: int
    """Alerts after the given one that are too old to be kept."""


class Problem(TypedDict):
    """Why a request was not answered, and what to do."""

    error: str
    hint: str
