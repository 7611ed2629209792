"""The results of an experiment: means and standard deviations over stored repeats, with the published numbers.

Nothing is run or written here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from thence.lab.experiments.files import METRICS, VARIANTS, Experiment
from thence.lab.experiments.store import Repeat

__all__ = ["Cell", "Results", "RowKey", "TableLine", "summarise"]

RowKey = tuple[str, float | None]
"""A row of a table: its name, and the value of the varied parameter."""


@dataclass(frozen=True)
class Cell:
    """The values of one metric of a row in one variant.

    Args:
        values: The value of each repeat, by the number of the repeat.
    """

    values: Mapping[int, float]

    @property
    def mean(self) -> float:
        """The mean over the repeats."""
        return math.fsum(self.values.values()) / len(self.values)

    @property
    def deviation(self) -> float | None:
        """The sample standard deviation over the repeats; ``None`` for a single repeat."""
        if len(self.values) < 2:
            return None
        mean = self.mean
        return math.sqrt(math.fsum((v - mean) ** 2 for v in self.values.values()) / (len(self.values) - 1))

    def quantile(self, share: float) -> float:
        """Return a quantile over the repeats, interpolated between neighbouring values.

        Args:
            share: The share of repeats below it, from 0 to 1.

        Examples:
            >>> Cell({0: 1.0, 1: 2.0, 2: 4.0}).quantile(0.75)
            3.0
        """
        ordered = sorted(self.values.values())
        place = share * (len(ordered) - 1)
        below = math.floor(place)
        above = min(below + 1, len(ordered) - 1)
        return ordered[below] + (place - below) * (ordered[above] - ordered[below])

    def text(self, metric: str) -> str:
        """Return mean ± standard deviation as text, in the format of ``metric``."""
        deviation = self.deviation
        spread = "" if deviation is None else f" ± {format_number(deviation, metric)}"
        return f"{format_number(self.mean, metric)}{spread}"


def format_number(value: float, metric: str) -> str:
    """Return a value as text, in the format of ``metric``."""
    if metric == "rules":
        return f"{value:,.0f}"
    if metric == "seconds":
        return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2g}"
    return f"{value:.3f}"


@dataclass(frozen=True)
class TableLine:
    """One line of the long table: a metric of a row in all variants.

    Args:
        dataset: Name of the data set.
        row: Name of the row.
        at: Value of the varied parameter.
        metric: The metric.
        paper: The published number; ``None`` if there is none.
        cells: Our values by variant.
    """

    dataset: str
    row: str
    at: float | None
    metric: str
    paper: float | None
    cells: Mapping[str, Cell]


@dataclass(frozen=True)
class Results:
    """All numbers of an experiment.

    Args:
        experiment: The experiment.
        datasets: Names of the data sets.
        repeats: Number of repeats of each data set.
        cells: Values by data set, variant (``"paper"`` is one), row and metric.
        facts: Derived settings by data set, variant and row.
    """

    experiment: Experiment
    datasets: tuple[str, ...]
    repeats: Mapping[str, int]
    cells: Mapping[tuple[str, str, RowKey, str], Cell]
    facts: Mapping[tuple[str, str, RowKey], Mapping[str, object]] = field(default_factory=dict)

    def cell(self, dataset: str, variant: str, key: RowKey, metric: str) -> Cell | None:
        """Return one cell; ``None`` if the number was neither measured nor published."""
        return self.cells.get((dataset, variant, key, metric))

    def stopped(self, dataset: str, variant: str, key: RowKey) -> bool:
        """Return whether a search stopped at its maximum number of rules, so that there are more than it counted."""
        return "stopped" in self.facts.get((dataset, variant, key), {})

    def keys(self, dataset: str) -> list[RowKey]:
        """Return the rows of a data set, in the order of the paper, then in the order of the procedures."""
        found = dict.fromkeys(key for name, _, key, _ in self.cells if name == dataset)
        order = list(dict.fromkeys(row for row, _ in found))
        return sorted(found, key=lambda key: (order.index(key[0]), -1.0 if key[1] is None else key[1]))

    def metrics(self) -> list[str]:
        """Return the metrics of the experiment that were measured or published."""
        present = {metric for *_, metric in self.cells}
        return [metric for metric in self.experiment.metrics if metric in present]

    def lines(self) -> Iterable[TableLine]:
        """Yield the lines of the long table."""
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
                        yield TableLine(dataset, *key, metric, None if paper is None else paper.mean, own)


def summarise(experiment: Experiment, repeats: Iterable[Repeat], *, datasets: tuple[str, ...]) -> Results:
    """Summarise the repeats of the procedures of an experiment.

    Args:
        experiment: The experiment.
        repeats: Repeats of its procedures.
        datasets: Names of the data sets to include.
    """
    values: dict[tuple[str, str, RowKey, str], dict[int, float]] = {}
    facts: dict[tuple[str, str, RowKey], dict[str, object]] = {}
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
            key = (row, _find_varied_value(experiment, repeat, record))
            known = facts.setdefault((repeat.dataset, record["variant"], key), {})
            known |= {name: value for name, value in record["facts"].items() if name not in known}
            measured = {**record["values"], "seconds": record["seconds"]}
            for metric in METRICS:
                if measured.get(metric) is not None:
                    held = values.setdefault((repeat.dataset, record["variant"], key, metric), {})
                    held[repeat.repeat] = measured[metric]
    cells = {where: Cell(held) for where, held in values.items()}
    return Results(experiment, datasets, {name: len(seen) for name, seen in counts.items()}, cells, facts)


def _find_varied_value(experiment: Experiment, repeat: Repeat, record: Mapping[str, object]) -> float | None:
    if not experiment.at_sensors:
        value = record["at"]
        return None if value is None else float(value)  # type: ignore[arg-type]
    return float(repeat.made_with["sensors"])
