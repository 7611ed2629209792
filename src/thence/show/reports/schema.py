"""The shape of ``report.json``: what the page of a run is drawn from.

Every part is a plain dict that JSON can hold. Times are whole milliseconds since 1970 in UTC, missing numbers are
``None``. The front end's types are made from these by ``frontend/make_types.py``; a test compares them. Holds no code.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from thence.statements.search import SearchIndex


class Count(TypedDict):
    """How often a name occurs."""

    name: str
    count: int


class Kind(TypedDict):
    """One kind of sensor: how many, in which unit, over which range."""

    kind: str
    unit: str
    sensors: int
    readings: int
    missing: float | None
    """The share of the windows without a reading."""
    low: float | None
    median: float | None
    high: float | None
    states: list[str]
    """The names of the states, if the kind has states instead of numbers."""


class GapsRow(TypedDict):
    """How much of the time one sensor or one kind was there."""

    name: str
    present: list[float | None]
    """The share of the windows with a reading, for each span between two of the edges; ``None`` outside of the time
    of a site that has its own."""


class Gaps(TypedDict):
    """Where readings are missing, as a picture: rows over spans of time."""

    by: Literal["sensor", "kind"]
    edges: list[int]
    rows: list[GapsRow]


class GraphSummary(TypedDict):
    """How large the graph is and what is in it."""

    nodes: int
    edges: int
    classes: list[Count]
    relations: list[Count]


class SystemPart(TypedDict):
    """What went in."""

    name: str
    sites: list[str]
    sensors: int
    readings: int
    start: int | None
    end: int | None
    step_seconds: float | None
    recorded_seconds: float | None
    """The time in which there is any reading: less than from start to end if the recording pauses."""
    kinds: list[Kind]
    gaps: Gaps | None
    graph: GraphSummary | None


class DrawnNode(TypedDict):
    """A node of the drawing."""

    id: str
    x: float
    y: float
    """Between 0 and 1, downwards."""
    name: str
    group: str
    """The class by which it is coloured."""
    classes: list[str]
    sensors: list[str]
    kinds: list[str]


class DrawnEdge(TypedDict):
    """An edge of the drawing; the ends are positions in the list of nodes."""

    source: int
    target: int
    relation: str


class Drawing(TypedDict):
    """The graph as it is drawn."""

    nodes: list[DrawnNode]
    edges: list[DrawnEdge]
    groups: list[Count]
    aspect: float
    """Width divided by height."""
    placed_by: Literal["coordinates", "layout"]
    left_out: int
    """Nodes that are not drawn."""
    why: str
    """Which nodes these are, as a sentence; empty if none."""


class Stage(TypedDict):
    """A stage of the work and its seconds."""

    name: str
    seconds: float


class Mining(TypedDict):
    """How the rules were found."""

    enrichment: str
    windows: str
    bins: str
    miner: str
    settings: list[list[str]]
    """Name and value of what decides the result, in words."""
    transactions: int | None
    features: int | None
    items: int | None
    rules: int
    rules_found: int
    data_coverage: float | None
    complete: bool
    stages: list[Stage]
    notes: list[str]


class Review(TypedDict):
    """What a person said of a rule, a law or a control."""

    verdict: Literal["accepted", "rejected", ""]
    note: str


class MeasureColumn(TypedDict):
    """A measure that pages show of each rule."""

    name: str
    label: str
    help: str
    percent: bool


class RuleRow(TypedDict):
    """A rule: its sentence, its measures, its exact counts."""

    kind: Literal["rule"]
    id: int
    """Its position in the rules of the run."""
    members: list[int]
    """The rules of this finding: itself and its variants."""
    key: str
    """What identifies the rule in every run."""
    sentence: str
    formal: str
    conditions: list[str]
    conclusion: str
    likewise: list[str]
    """Rules of the same family that are shown with this one, by their values."""
    shown_with: int | None
    """The rule of the same family that is shown in its place."""
    also: list[str]
    place: str
    pattern: str
    quantities_if: list[str]
    quantity_then: str
    kinds: list[str]
    measures: dict[str, float | None]
    """The measures of ``measure_columns``, by name."""
    n: int
    n_antecedent: int
    n_consequent: int
    n_both: int
    places: str
    """Where it holds and where not, in words; empty for rules about the whole system."""
    review: Review | None
    card: str | None
    """The evidence card, by its key."""


class KnownRow(TypedDict):
    """A rule that was known before anything was mined, with its exact counts."""

    name: str
    """What people call it; may be empty."""
    sentence: str
    formal: str
    confidence: float | None
    n_antecedent: int
    n_both: int


class LawRow(TypedDict):
    """A law of the plant."""

    kind: Literal["law"]
    id: int
    members: list[int]
    """The law itself."""
    key: str
    """What identifies the law in every run."""
    sentence: str
    in_full: str
    """The sentence with its figures."""
    kinds: list[str]
    rows: int
    held: int
    share: float | None
    later_share: float | None
    places: int
    places_held: int
    exceptions: list[str]
    review: Review | None
    card: str | None


class ControlRow(TypedDict):
    """What makes an actuator switch by one reading or by the time of day: one control, or one for each state."""

    kind: Literal["control"]
    id: int
    """The position of the first one in the controls of the run."""
    members: list[int]
    """The controls of this finding."""
    key: str
    """What identifies the first one in every run."""
    keys: list[str]
    sentence: str
    name: str
    """What switches: "Pump 335"."""
    events: list[str]
    """What it does when: "starts below 5.21 m", one for each control."""
    where: str
    """Where it is measured: "in Tank 1"; empty for times of day."""
    switches: int
    explained: int
    kinds: list[str]
    actuator: str
    sensor: str
    review: Review | None
    card: str | None


class Fact(TypedDict):
    """One of the few sentences worth knowing."""

    kind: Literal["law", "control", "rule"]
    id: int
    sentence: str
    figures: str
    """How sure it is, in words: "in 4,031 of 4,031 hours, at 31 places"."""
    review: Review | None
    card: str | None


class MatrixCell(TypedDict):
    """The rules from one quantity to another."""

    source: int
    target: int
    rules: int
    best: int
    """The id of the best rule."""
    confidence: float | None


class Matrix(TypedDict):
    """Which quantities imply which."""

    quantities: list[str]
    cells: list[MatrixCell]


class NodeShare(TypedDict):
    """The share of the time at a node that the rules speak of; the node is a position in the drawing."""

    node: int
    share: float


class Coverage(TypedDict):
    """How much of the data the rules speak of, over time and over places."""

    edges: list[int]
    share: list[float | None]
    nodes: list[NodeShare]
    places: list[Count]
    """Places by the number of rules that apply there."""


class Band(TypedDict):
    """What a rule says of a series: the range, or the states."""

    side: Literal["if", "then"]
    low: float | None
    high: float | None
    states: list[str]
    text: str


class Trace(TypedDict):
    """A series at full resolution over the period that a card shows."""

    name: str
    sensor: str
    kind: str
    unit: str
    node: str
    role: str
    """What it is in the rule, in words: "the flow of the pipe"."""
    times: list[int]
    values: list[float | None]
    """Numbers, or positions in ``states``."""
    states: list[str]
    bands: list[Band]


class Span(TypedDict):
    """A span of time."""

    start: int
    end: int


class History(TypedDict):
    """How often a rule applied and held, over the whole period and all places."""

    edges: list[int]
    applied: list[int]
    held: list[int]


class PlaceShare(TypedDict):
    """How a rule or a law does in one place."""

    spot: int
    """The number of the place, by which its evidence can be asked for."""
    name: str
    rows: int
    held: int
    share: float | None
    low: float | None
    """The lower end of the interval of the share."""
    exception: bool
    nodes: list[str]


class Card(TypedDict):
    """The evidence for a rule, a law or a control."""

    key: str
    about: Literal["law", "control", "rule"]
    id: int
    place: str
    """The place that is shown, in words."""
    spot: int | None
    """Its number among the places; ``None`` if there is only the whole system."""
    violations: list[int]
    """The moments at which it begins to be violated at this place, over the whole time; at most 1,000."""
    why: str
    """Why this place and this period are shown, in words."""
    traces: list[Trace]
    held: list[Span]
    violated: list[Span]
    history: History | None
    """``None`` for a law of so many rows that they are not counted again."""
    places: list[PlaceShare]
    """Exceptions first, then the places with most rows. Empty for rules about the whole system."""
    n_places: int
    """All places where it applies."""
    nodes: list[str]
    edges: list[list[str]]
    switches: NotRequired[list[int]]
    """The moments at which the actuator of a control switched."""
    columns: NotRequired[dict[str, str]]
    """What ``COLUMNS`` add, by their headings."""


class AppliedRule(TypedDict):
    """A rule on later data."""

    id: int
    sentence: str
    verdict: str
    before: float | None
    after: float | None
    rows: int
    violated: int


class Applied(TypedDict):
    """What became of the rules on later data or at another site."""

    name: str
    start: int | None
    end: int | None
    verdicts: list[Count]
    rules: list[AppliedRule]
    edges: list[int]
    held: list[float | None]
    sentences: list[str]


class Alarm(TypedDict):
    """An alarm: when, how strong, where, and why."""

    start: int
    end: int
    score: float
    sentence: str
    reasons: list[str]
    located: list[list[str | float]]
    """Node and weight, the most suspect first."""


class Detected(TypedDict):
    """The score over time and the alarms."""

    name: str
    times: list[int]
    score: list[float | None]
    """Of very many windows, the highest score of each span that begins at a time."""
    threshold: float
    alarms: list[Alarm]


class Report(TypedDict):
    """All that the page of a run shows."""

    format: int
    title: str
    headline: str
    """What the system is, for people who do not know its name."""
    made: int
    version: str
    run: str
    system: SystemPart | None
    drawing: Drawing | None
    mining: Mining
    facts: list[Fact]
    measures: list[MeasureColumn]
    rules: list[RuleRow]
    rules_left_out: int
    known: list[KnownRow]
    laws: list[LawRow]
    controls: list[ControlRow]
    search: SearchIndex
    """The texts in which the page looks up words."""
    matrix: Matrix
    coverage: Coverage | None
    cards: list[Card]
    applied: list[Applied]
    detected: list[Detected]
    notes: list[str]
    """What the report could not show, and why."""
