"""From stored repeats to the table of an experiment: means and deviations beside the paper's numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from thence.experiments.files import METRICS, VARIANTS, Experiment
from thence.experiments.store import Repeat

__all__ = ["Cell", "Key", "Line", "Results", "summarise"]

Key = tuple[str, float | None]
"""A row of a table: its name, and the value of the parameter that is varied."""


@dataclass(frozen=True)
class Cell:
    """A metric of a row in one variant: a value per repeat, by the number of the repeat."""

    values: Mapping[int, float]

    @property
    def mean(self) -> float:
        """The mean over the repeats."""
        return math.fsum(self.values.values()) / len(self.values)

    @property
    def deviation(self) -> float | None:
        """The standard deviation over the repeats (n − 1); ``None`` for a single one."""
        if len(self.values) < 2:
            return None
        mean = self.mean
        return math.sqrt(math.fsum((v - mean) ** 2 for v in self.values.values()) / (len(self.values) - 1))

    def text(self, metric: str) -> str:
        """Mean ± deviation as tables show it."""
        deviation = self.deviation
        spread = "" if deviation is None else f" ± {number(deviation, metric)}"
        return f"{number(self.mean, metric)}{spread}"


def number(value: float, metric: str) -> str:
    """A number the way its metric is read."""
    if metric == "rules":
        return f"{value:,.0f}"
    if metric == "seconds":
        return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2g}"
    return f"{value:.3f}"


@dataclass(frozen=True)
class Line:
    """One line of the long table: a metric of a row, in all variants."""

    dataset: str
    row: str
    at: float | None
    metric: str
    paper: float | None
    cells: Mapping[str, Cell]


@dataclass(frozen=True)
class Results:
    """All numbers of an experiment."""

    experiment: Experiment
    datasets: tuple[str, ...]
    repeats: Mapping[str, int]
    cells: Mapping[tuple[str, str, Key, str], Cell]
    """By data set, variant (``paper`` among them), row and metric."""
    facts: Mapping[tuple[str, str, Key], Mapping[str, object]] = field(default_factory=dict)

    def cell(self, dataset: str, variant: str, key: Key, metric: str) -> Cell | None:
        """One cell, where it was measured or printed."""
        return self.cells.get((dataset, variant, key, metric))

    def stopped(self, dataset: str, variant: str, key: Key) -> bool:
        """Whether a search was stopped at a number of rules, so that there are more than counted."""
        return "stopped" in self.facts.get((dataset, variant, key), {})

    def keys(self, dataset: str) -> list[Key]:
        """The rows of a data set, in the order of the paper, then in the order of the works."""
        found = dict.fromkeys(key for name, _, key, _ in self.cells if name == dataset)
        order = list(dict.fromkeys(row for row, _ in found))
        return sorted(found, key=lambda key: (order.index(key[0]), -1.0 if key[1] is None else key[1]))

    def metrics(self) -> list[str]:
        """The metrics of the experiment that were measured or printed anywhere."""
        present = {metric for *_, metric in self.cells}
        return [metric for metric in self.experiment.metrics if metric in present]

    def lines(self) -> Iterable[Line]:
        """The long table."""
        for dataset in self.datasets:
            for key in self.keys(dataset):
                for metric in self.metrics():
                    paper = self.cell(dataset, "paper", key, metric)
                    own = {
                        variant: cell
                        for variant in VARIANTS[1:]
                        if (cell := self.cell(dataset, variant, key, metric)) is not None
                    }
                    if paper is not None or own:
                        yield Line(dataset, *key, metric, None if paper is None else paper.mean, own)


def summarise(experiment: Experiment, repeats: Iterable[Repeat], *, datasets: tuple[str, ...]) -> Results:
    """The results of an experiment from the repeats of its works."""
    values: dict[tuple[str, str, Key, str], dict[int, float]] = {}
    facts: dict[tuple[str, str, Key], dict[str, object]] = {}
    counts: dict[str, set[int]] = {dataset: set() for dataset in datasets}
    for line in experiment.published:
        if line.dataset in datasets:
            for metric, value in line.values.items():
                values[line.dataset, "paper", (line.row, line.at), metric] = {0: value}
    for repeat in sorted(repeats, key=lambda r: (experiment.work.index(r.work), r.repeat)):
        counts[repeat.dataset].add(repeat.repeat)
        for record in repeat.records:
            row = experiment.rows.get(record["row"]) if experiment.rows else record["row"]
            if row is None:
                continue
            key = (row, _at(experiment, repeat, record))
            known = facts.setdefault((repeat.dataset, record["variant"], key), {})
            known |= {name: value for name, value in record["facts"].items() if name not in known}
            measured = {**record["values"], "seconds": record["seconds"]}
            for metric in METRICS:
                if measured.get(metric) is not None:
                    held = values.setdefault((repeat.dataset, record["variant"], key, metric), {})
                    held[repeat.repeat] = measured[metric]
    cells = {where: Cell(held) for where, held in values.items()}
    return Results(experiment, datasets, {name: len(seen) for name, seen in counts.items()}, cells, facts)


def _at(experiment: Experiment, repeat: Repeat, record: Mapping[str, object]) -> float | None:
    if not experiment.at_sensors:
        value = record["at"]
        return None if value is None else float(value)  # type: ignore[arg-type]
    return float(repeat.made_with["sensors"])
