"""Experiment files: the parameters of an experiment, the numbers that the paper reports, and its claims.

Files are read strictly: an unknown key, data set or metric is an error that names the file and the line. Nothing is run
here.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, Literal

from thence._base.settings.typed import Location, build, refuse_unknown
from thence.errors import ConfigError, nearest

METRICS = (
    "rules",
    "support",
    "rule_coverage",
    "confidence",
    "zhang",
    "data_coverage",
    "static_consequents",
    "seconds",
)
"""Metrics of a rule set; only ``seconds`` depends on the machine."""

VARIANT_LABELS = {
    "paper": "paper",
    "published": "ours, published",
    "faithful": "ours, faithful",
    "corrected": "ours, corrected",
    "lifted": "ours, lifted",
}
VARIANTS = tuple(VARIANT_LABELS)
"""Sources of numbers: the paper, and our variants of its methods (see ``experiments.procedures``)."""
TESTS = (
    "greater",
    "highest",
    "between",
    "at-least",
    "at-most",
    "rising",
    "falling",
    "level",
    "power",
    "as-published",
)
FOLDER = Path(__file__).parent


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """Parameters of all experiments; ``docs/records/experiments.md`` describes each one and explains its default."""

    sensors: int
    bins: int
    binning: str
    scope: str
    lifted_scope: str
    hops: int
    lifted_hops: int
    min_embeddings: int
    antecedents: int
    similarity: float
    similarities: tuple[float, ...]
    min_confidence: float
    fallback_min_support: float
    least_min_support: float
    least_published_support: float
    released_min_support: float
    noise: float
    epochs: int
    batch_size: int
    learning_rate: float
    weight_decay: float
    training_rows: int
    population: int
    evaluations: int
    algorithms: tuple[str, ...]
    likeness: float
    most_per_consequent: int
    arm_ae_epochs: int
    arm_ae_batch_size: int
    max_rules: int
    sweep_antecedents: tuple[int, ...] = ()
    sweep_min_supports: tuple[float, ...] = ()
    sweep_antecedents_min_support: float = 0.1
    sweep_supports_antecedents: int = 3
    mlxtend_antecedents: int = 2
    aerial_antecedents: tuple[int, ...] = ()
    aerial_full_search: int = 2
    sweep_evaluations: tuple[int, ...] = ()
    sweep_max_rules: int = 1_000_000_000
    ablation_evaluations: int = 10_000
    complexity_sensors: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name in (
            "similarity",
            "min_confidence",
            "fallback_min_support",
            "least_min_support",
            "least_published_support",
            "released_min_support",
            "likeness",
        ):
            if not 0 < getattr(self, name) <= 1:
                raise ConfigError(f"'{name}' must be above 0 and at most 1, got {getattr(self, name)}")
        for name in ("sensors", "bins", "antecedents", "epochs", "batch_size", "population", "evaluations"):
            if getattr(self, name) < 1:
                raise ConfigError(f"'{name}' must be at least 1, got {getattr(self, name)}")


@dataclass(frozen=True, kw_only=True)
class DatasetSetup:
    """How the experiments use a data set.

    Args:
        label: Name of the data set in tables.
        published_as: Name of the data set in the paper.
        difference: How the data differ from those of the paper.
        window: Length of a window.
        sensor_type: Whether the released code bins the readings of a ``"kind"`` of sensors together, or those of each
            ``"sensor"`` alone.
        options: Options of ``datasets.load``.
        quick_options: Options of ``datasets.load`` for quick runs.
    """

    label: str
    published_as: str = ""
    difference: str = ""
    window: str = "30min"
    sensor_type: Literal["kind", "sensor"] = "kind"
    options: Mapping[str, Any] = field(default_factory=dict)
    quick_options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class PublishedRow:
    """One row of a table of the paper.

    Args:
        dataset: Name of the data set.
        row: Name of the row.
        at: Value of the parameter that the table varies.
        rules: Number of rules.
        support: Mean support.
        rule_coverage: Mean rule coverage.
        confidence: Mean confidence.
        zhang: Mean of Zhang's metric.
        data_coverage: Data coverage.
        seconds: Execution time.
    """

    dataset: str
    row: str
    at: float | None = None
    rules: float | None = None
    support: float | None = None
    rule_coverage: float | None = None
    confidence: float | None = None
    zhang: float | None = None
    data_coverage: float | None = None
    seconds: float | None = None

    @property
    def values(self) -> dict[str, float]:
        """The numbers that the paper reports, by metric."""
        found = {name: getattr(self, name, None) for name in METRICS}
        return {name: value for name, value in found.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim in a form that can be checked.

    Where several rows are given, the claim is about each of them: it holds in part if it holds for some of them.

    Args:
        id: Identifier of the claim.
        text: The claim as a sentence.
        headline: Whether the summary at the top of the page lists it.
        test: The kind of test. ``greater``: the metric of ``left`` exceeds ``factor`` times that of ``right``, at every
            value of the varied parameter that both have. ``highest``: the metric of ``left`` exceeds that of every row
            in ``right``. ``between``: the ratio of ``left`` to ``right`` is between ``low`` and ``high``. ``at-least``
            and ``at-most``: the metric of ``left`` is compared with ``value``. ``rising`` and ``falling``: the metric
            of ``left`` rises or falls with the varied parameter. ``level``: its highest value is at most ``factor``
            times its lowest. ``power``: it grows as a power of the varied parameter, with an exponent between ``low``
            and ``high``. ``as-published``: it differs from the number of the paper by at most ``value``, a share of
            that number for rules and seconds.
        metric: The metric to compare.
        left: The row or rows that the claim is about.
        right: The row or rows to compare with; for ``greater``, ``highest`` and ``between`` only.
        left_at: Value of the varied parameter at which ``left`` is taken; by default every value.
        right_at: Value of the varied parameter at which ``right`` is taken; by default that of ``left``.
        instead: Rows that replace others, by variant, where the others have nothing to compare.
        variants: Variants in which the claim is checked; all of them by default.
        factor: Factor of ``greater`` and ``level``.
        low: Lower bound of ``between`` and ``power``.
        high: Upper bound of ``between`` and ``power``.
        value: Bound of ``at-least``, ``at-most`` and ``as-published``.
    """

    id: str
    text: str
    test: str
    metric: str
    left: str | tuple[str, ...]
    right: str | tuple[str, ...] = ()
    left_at: float | None = None
    right_at: float | None = None
    instead: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    variants: tuple[str, ...] = ()
    factor: float = 1.0
    low: float = 0.0
    high: float = 0.0
    value: float = 0.0
    headline: bool = False

    def __post_init__(self) -> None:
        if self.test not in TESTS:
            raise ConfigError(f"unknown 'test' {self.test!r}", hint=nearest(self.test, TESTS) or ", ".join(TESTS))
        if self.metric not in METRICS:
            raise ConfigError(
                f"unknown 'metric' {self.metric!r}", hint=nearest(self.metric, METRICS) or ", ".join(METRICS)
            )
        if (self.test in ("greater", "highest", "between")) != bool(self.right):
            raise ConfigError(
                f"a claim with test '{self.test}' {'needs' if not self.right else 'must not have'} 'right'"
            )
        if self.test == "highest" and len(self.left_rows) > 1:
            raise ConfigError("a claim with test 'highest' must have one row as 'left'")
        if self.test in ("between", "power") and not self.low < self.high:
            raise ConfigError(f"'low' must be less than 'high', got {self.low} and {self.high}")
        for key, given in (("instead", tuple(self.instead)), ("variants", self.variants)):
            for variant in given:
                if variant not in VARIANTS:
                    hint = nearest(variant, VARIANTS) or ", ".join(VARIANTS)
                    raise ConfigError(f"unknown variant {variant!r} in '{key}'", hint=hint)

    @property
    def left_rows(self) -> tuple[str, ...]:
        """The rows that the claim is about."""
        return (self.left,) if isinstance(self.left, str) else self.left

    @property
    def right_rows(self) -> tuple[str, ...]:
        """The rows to compare with."""
        if not self.right:
            return ()
        return (self.right,) if isinstance(self.right, str) else self.right


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One experiment of the paper, with the published numbers and claims.

    Args:
        id: Identifier, which is also the name of the file.
        title: Title.
        source: Where the paper reports it.
        question: The question that it answers.
        work: Names of the procedures that it reads (see ``experiments.procedures``).
        metrics: Metrics that its tables show.
        at: Name of the parameter that it varies; empty if there is none.
        at_sensors: Whether the varied parameter is the number of sensors.
        figure: Which figures to draw; by default charts of the table.
        datasets: Names of its data sets.
        statements: Results that the paper states in its text only.
        rows: Rows of the procedures to show, and their names in the table; all rows if empty.
        parameters: Parameters that differ from ``setup.toml``.
        quick: Parameters of quick runs.
        published: Numbers that the paper reports.
        claims: Claims of the paper.
    """

    id: str
    title: str
    source: str
    question: str
    work: tuple[str, ...]
    metrics: tuple[str, ...]
    at: str = ""
    at_sensors: bool = False
    figure: str = ""
    datasets: tuple[str, ...] = ("hanoi", "ltown", "lbnl-ahu")
    statements: tuple[str, ...] = ()
    rows: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    quick: Mapping[str, Any] = field(default_factory=dict)
    published: tuple[PublishedRow, ...] = field(default=())
    claims: tuple[Claim, ...] = field(default=())

    def resolve_parameters(self, *, quick: bool = False, changes: Mapping[str, Any] | None = None) -> Parameters:
        """Return the parameters of the experiment.

        Args:
            quick: Whether the parameters of quick runs override those of the experiment.
            changes: Parameters that override all others.
        """
        common, _ = read_setup()
        overrides = {**self.parameters, **(self.quick if quick else {}), **(changes or {})}
        return build(Parameters, {**common, **overrides}, Location(f"{self.id}.toml", "", ("parameters",)))


def experiment_names() -> tuple[str, ...]:
    """Return the ids of all experiments.

    >>> experiment_names()
    ('1.1', '1.2', '2.1', '2.2', '3', '4', '5', '6', 'ablation', 'complexity')
    """
    found = [path.stem for path in FOLDER.glob("*.toml") if path.stem != "setup"]
    return tuple(sorted(found, key=_order_names))


def _order_names(name: str) -> tuple[list[int], str]:
    """Experiments of the paper come first, by number; ours follow by name."""
    parts = name.split(".")
    return ([int(part) for part in parts], "") if all(part.isdigit() for part in parts) else ([1 << 30], name)


@cache
def read_experiment(name: str) -> Experiment:
    """Read an experiment of this package.

    Args:
        name: Id of the experiment.

    Raises:
        ConfigError: There is no such experiment.

    Examples:
        >>> read_experiment("2.2").title
        'Rule quality of all algorithms'
    """
    names = experiment_names()
    if name not in names:
        raise ConfigError(f"unknown experiment '{name}'", hint=nearest(name, names) or "known: " + ", ".join(names))
    return parse_experiment(FOLDER / f"{name}.toml")


@cache
def read_setup() -> tuple[dict[str, Any], dict[str, DatasetSetup]]:
    """Read ``setup.toml``: the default parameters, and the data sets by name."""
    path = FOLDER / "setup.toml"
    data, place = _read_toml(path)
    refuse_unknown(data, ("parameters", "datasets"), place)
    table = place.inside("datasets")
    sources = {name: build(DatasetSetup, entry, table.inside(name)) for name, entry in data["datasets"].items()}
    build(Parameters, data["parameters"], place.inside("parameters"))
    return data["parameters"], sources


def _read_toml(path: Path) -> tuple[dict[str, Any], Location]:
    text = path.read_text(encoding="utf-8")
    try:
        return tomllib.loads(text), Location(path.name, text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"not a valid TOML file: {error}", where=path.name) from error


def parse_experiment(path: Path) -> Experiment:
    """Read and check the experiment file at ``path``."""
    from thence.lab.experiments.procedures import PROCEDURES

    data, place = _read_toml(path)
    _, sources = read_setup()
    plain = {key: value for key, value in data.items() if key not in ("published", "claims")}
    published = [build(PublishedRow, entry, place.inside("published")) for entry in data.get("published", [])]
    claims = [build(Claim, entry, place.inside("claims")) for entry in data.get("claims", [])]
    made = build(Experiment, plain, place)
    known = [entry.name for entry in fields(Parameters)]
    for section in ("parameters", "quick"):
        refuse_unknown(getattr(made, section), known, place.inside(section))
    for key, allowed, chosen in (
        ("work", tuple(PROCEDURES), made.work),
        ("metrics", METRICS, made.metrics),
        ("datasets", tuple(sources), made.datasets),
        ("published", tuple(sources), tuple(entry.dataset for entry in published)),
    ):
        for value in chosen:
            if value not in allowed:
                hint = nearest(value, allowed) or "known: " + ", ".join(allowed)
                raise place.error(key, f"unknown value '{value}' of '{key}'", hint=hint)
    if path.stem != made.id:
        raise place.error("id", f"'id' must be the name of the file, '{path.stem}', got '{made.id}'")
    for what, seen in (
        ("published", [f"{entry.dataset}, {entry.row}, {entry.at}" for entry in published]),
        ("claims", [claim.id for claim in claims]),
    ):
        duplicates = {entry for entry in seen if seen.count(entry) > 1}
        if duplicates:
            raise place.error(what, f"'{what}' has duplicates: {', '.join(sorted(duplicates))}")
    values = {entry.name: getattr(made, entry.name) for entry in fields(Experiment)}
    whole = Experiment(**{**values, "published": tuple(published), "claims": tuple(claims)})
    whole.resolve_parameters()
    whole.resolve_parameters(quick=True)
    return whole


def select_parameters(parameters: Parameters, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the ``parameters`` with these ``names``, with lists instead of tuples, as JSON stores them."""
    values = asdict(parameters)
    return {name: list(values[name]) if isinstance(values[name], tuple) else values[name] for name in names}
