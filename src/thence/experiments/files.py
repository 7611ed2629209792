"""Experiment files: what an experiment does, the numbers that the paper printed, and the claims it drew from them.

Files are read strictly: an unknown key, a published number of an unknown data set or a claim about an unknown metric
is an error that names the file and the line. Nothing is run here.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

from thence.errors import ConfigError, nearest
from thence.settings.typed import Location, build, refuse_unknown

__all__ = [
    "METRICS",
    "TESTS",
    "VARIANTS",
    "Claim",
    "Experiment",
    "Parameters",
    "Published",
    "Source",
    "experiment_names",
    "read_experiment",
    "read_setup",
]

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
"""What is measured of a rule set; ``seconds`` alone depends on the machine."""

VARIANTS = ("paper", "faithful", "corrected", "lifted")
TESTS = ("greater", "between", "at-least", "at-most", "rising", "falling")
FOLDER = Path(__file__).parent


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """Every parameter of every experiment; what each is for and why it has its default is in the guide."""

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

    def __post_init__(self) -> None:
        for name in (
            "similarity",
            "min_confidence",
            "fallback_min_support",
            "least_min_support",
            "least_published_support",
            "likeness",
        ):
            if not 0 < getattr(self, name) <= 1:
                raise ConfigError(f"'{name}' must be above 0 and at most 1, got {getattr(self, name)}")
        for name in ("sensors", "bins", "antecedents", "epochs", "batch_size", "population", "evaluations"):
            if getattr(self, name) < 1:
                raise ConfigError(f"'{name}' must be at least 1, got {getattr(self, name)}")


@dataclass(frozen=True, kw_only=True)
class Source:
    """A data set as the experiments use it, and how it differs from what the paper used."""

    label: str
    published_as: str = ""
    difference: str = ""
    window: str = "30min"
    options: Mapping[str, Any] = field(default_factory=dict)
    quick_options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Published:
    """One line of a table of the paper; ``at`` is the value of the parameter that the table varies."""

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
        """The printed numbers by metric."""
        found = {name: getattr(self, name, None) for name in METRICS}
        return {name: value for name, value in found.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A statement of the paper in a form that can be checked on numbers.

    ``greater``: the metric of ``left`` exceeds ``factor`` times that of ``right``, at every ``at`` they share.
    ``between``: their ratio lies from ``low`` to ``high``. ``at-least`` and ``at-most``: it is compared with ``value``.
    ``rising`` and ``falling``: along ``at``.
    """

    id: str
    text: str
    test: str
    metric: str
    left: str
    right: str = ""
    factor: float = 1.0
    low: float = 0.0
    high: float = 0.0
    value: float = 0.0

    def __post_init__(self) -> None:
        if self.test not in TESTS:
            raise ConfigError(f"unknown 'test' {self.test!r}", hint=nearest(self.test, TESTS) or ", ".join(TESTS))
        if self.metric not in METRICS:
            raise ConfigError(
                f"unknown 'metric' {self.metric!r}", hint=nearest(self.metric, METRICS) or ", ".join(METRICS)
            )
        if (self.test in ("greater", "between")) != bool(self.right):
            raise ConfigError(f"a claim of the form '{self.test}' {'needs' if not self.right else 'has no'} 'right'")
        if self.test == "between" and not self.low < self.high:
            raise ConfigError(f"'low' must lie below 'high', got {self.low} and {self.high}")


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One experiment: which work it reads, what it shows, what the paper printed and claimed.

    ``rows`` chooses and renames the rows of its works; ``at_sensors`` makes the number of sensors the varied parameter.
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
    published: tuple[Published, ...] = field(default=())
    claims: tuple[Claim, ...] = field(default=())

    def settle(self, *, quick: bool = False, changes: Mapping[str, Any] | None = None) -> Parameters:
        """All parameters: the common ones, overridden by the experiment's own, its quick ones if asked, and changes."""
        common, _ = read_setup()
        overrides = {**self.parameters, **(self.quick if quick else {}), **(changes or {})}
        return build(Parameters, {**common, **overrides}, Location(f"{self.id}.toml", "", ("parameters",)))


def experiment_names() -> tuple[str, ...]:
    """The ids of all experiments.

    >>> experiment_names()
    ('1.1', '1.2', '2.1', '2.2', '3', '4', '5', '6')
    """
    found = [path.stem for path in FOLDER.glob("*.toml") if path.stem != "setup"]
    return tuple(sorted(found, key=lambda name: [int(part) for part in name.split(".")]))


@cache
def read_experiment(name: str) -> Experiment:
    """An experiment by its id.

    >>> read_experiment("2.2").title
    'Rule quality of all algorithms'
    """
    names = experiment_names()
    if name not in names:
        raise ConfigError(
            f"there is no experiment '{name}'", hint=nearest(name, names) or "there are: " + ", ".join(names)
        )
    return parse_experiment(FOLDER / f"{name}.toml")


@cache
def read_setup() -> tuple[dict[str, Any], dict[str, Source]]:
    """The common parameters and the data sets."""
    path = FOLDER / "setup.toml"
    data, place = _toml(path)
    refuse_unknown(data, ("parameters", "datasets"), place)
    table = place.inside("datasets")
    sources = {name: build(Source, entry, table.inside(name)) for name, entry in data["datasets"].items()}
    build(Parameters, data["parameters"], place.inside("parameters"))
    return data["parameters"], sources


def _toml(path: Path) -> tuple[dict[str, Any], Location]:
    text = path.read_text(encoding="utf-8")
    try:
        return tomllib.loads(text), Location(path.name, text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"this is not TOML: {error}", where=path.name) from error


def parse_experiment(path: Path) -> Experiment:
    """Read and check one file."""
    from thence.experiments.procedures import PROCEDURES

    data, place = _toml(path)
    _, sources = read_setup()
    plain = {key: value for key, value in data.items() if key not in ("published", "claims")}
    published = [build(Published, entry, place.inside("published")) for entry in data.get("published", [])]
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
                hint = nearest(value, allowed) or "there are: " + ", ".join(allowed)
                raise place.error(key, f"'{key}' names '{value}', which does not exist", hint=hint)
    if path.stem != made.id:
        raise place.error("id", f"the file of experiment '{made.id}' is called {path.name}")
    for what, seen in (
        ("published", [f"{entry.dataset}, {entry.row}, {entry.at}" for entry in published]),
        ("claims", [claim.id for claim in claims]),
    ):
        twice = {entry for entry in seen if seen.count(entry) > 1}
        if twice:
            raise place.error(what, f"'{what}' lists {', '.join(sorted(twice))} twice")
    values = {entry.name: getattr(made, entry.name) for entry in fields(Experiment)}
    whole = Experiment(**{**values, "published": tuple(published), "claims": tuple(claims)})
    whole.settle()
    whole.settle(quick=True)
    return whole


def as_mapping(parameters: Parameters, names: tuple[str, ...]) -> dict[str, Any]:
    """Some parameters in the form in which JSON gives them back."""
    values = asdict(parameters)
    return {name: list(values[name]) if isinstance(values[name], tuple) else values[name] for name in names}
