"""Numbers of ``docs/results``: the cells and verdicts of its CSV files, and the tables that its stored repeats give.

Nothing is written to the pages here; ``findings.py`` does that.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path

from thence.lab.experiments.files import experiment_names, read_experiment
from thence.lab.experiments.page import write_tables
from thence.lab.experiments.results import Repeat, check_claims, summarise

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
NOTHING = "–"

Key = tuple[str, str, str, float | None]
"""Experiment, data set, row, and the value of the varied parameter."""


@dataclass(frozen=True)
class Number:
    """A number of the results.

    Args:
        metric: What it measures, such as ``support``.
        mean: The mean over the repeats, or the number of the paper.
        deviation: The standard deviation over the repeats; ``None`` for a single one and for the paper.
        repeats: Number of repeats; ``None`` for the paper.
        is_bound: Whether a search was cut off, so that the true number is higher.
    """

    metric: str
    mean: float
    deviation: float | None = None
    repeats: int | None = None
    is_bound: bool = False

    def show(self, style: str = "") -> str:
        """Return the number as text.

        Args:
            style: A format such as ``.3f``; ``%``, ``±`` (with the deviation), ``sd`` (the deviation), ``n`` (the
                number of repeats), or nothing: two decimals, or what suits rules and seconds.
        """
        if style == "n":
            return NOTHING if self.repeats is None else str(self.repeats)
        if style == "sd":
            return NOTHING if self.deviation is None else format_value(self.deviation, self.metric)
        if style == "%":
            return f"{self.mean:.0%}"
        sign = "≥ " if self.is_bound and self.metric in ("rules", "seconds") else ""
        if style == "±":
            spread = "" if self.deviation is None else f" ± {format_value(self.deviation, self.metric)}"
            return f"{sign}{format_value(self.mean, self.metric)}{spread}"
        return sign + (f"{self.mean:{style}}" if style else format_value(self.mean, self.metric))


def format_value(value: float, metric: str) -> str:
    """Return a value as text: rules as integers, seconds and ratios with two digits, all others with two decimals."""
    if metric == "rules":
        return f"{value:,.1f}" if 0 < value < 10 and value != round(value) else f"{value:,.0f}"
    if metric in ("seconds", "ratio"):
        return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2g}"
    return f"{value:.2f}"


@dataclass(frozen=True)
class ResultNumbers:
    """The numbers of a folder of results.

    Args:
        folder: The folder, such as ``docs/results``.
    """

    folder: Path = RESULTS

    @cached_property
    def _cells(self) -> Mapping[tuple[Key, str], Mapping[str, str]]:
        found = {}
        for path in sorted([*self.folder.glob("*/table.csv"), *self.folder.glob("*/times.csv")]):
            for line in read_csv(path):
                at_name = list(line)[2]
                at = float(line[at_name]) if line[at_name] else None
                found[(path.parent.name, line["dataset"], line["row"], at), line["metric"]] = line
        return found

    @cached_property
    def _verdicts(self) -> Mapping[tuple[str, str, str, str], Mapping[str, str]]:
        return {
            (path.parent.name, line["claim"], line["dataset"], line["variant"]): line
            for path in sorted(self.folder.glob("*/claims.csv"))
            for line in read_csv(path)
        }

    @cached_property
    def repeats(self) -> tuple[Repeat, ...]:
        """Every stored repeat."""
        names = [field.name for field in fields(Repeat)]
        with (self.folder / "repeats.jsonl").open(encoding="utf-8") as lines:
            return tuple(Repeat(**{name: stored[name] for name in names}) for stored in map(json.loads, lines))

    @cached_property
    def _bounds(self) -> frozenset[tuple[Key, str]]:
        found = set()
        for name in experiment_names():
            experiment = read_experiment(name)
            for repeat in self.repeats:
                if repeat.work not in experiment.work:
                    continue
                for record in repeat.records:
                    row = experiment.rows.get(record["row"]) if experiment.rows else record["row"]
                    if row is not None and "stopped" in record["facts"]:
                        at = float(repeat.made_with["sensors"]) if experiment.at_sensors else record["at"]
                        found.add(((name, repeat.dataset, row, at), record["variant"]))
        return frozenset(found)

    def find(
        self, experiment: str, dataset: str, row: str, metric: str, variant: str, *, at: float | None = None
    ) -> Number | None:
        """Return a number; ``None`` if it was neither measured nor published.

        Args:
            experiment: Id of the experiment.
            dataset: Name of the data set.
            row: Name of the row.
            metric: The metric.
            variant: The variant.
            at: Value of the varied parameter.
        """
        key = (experiment, dataset, row, at)
        line = self._cells.get((key, metric), {})
        if variant == "paper":
            return Number(metric, float(line["paper"])) if line.get("paper") else None
        if not line.get(f"{variant}_mean"):
            return None
        deviation = line[f"{variant}_sd"]
        return Number(
            metric,
            float(line[f"{variant}_mean"]),
            float(deviation) if deviation else None,
            int(line[f"{variant}_repeats"]),
            (key, variant) in self._bounds,
        )

    def has_row(self, experiment: str, row: str) -> bool:
        """Return whether an experiment has a row of this name, or will have it when it is run again."""
        if row in read_experiment(experiment).rows.values():
            return True
        return any(key[0] == experiment and key[2] == row for key, _ in self._cells)

    def rows(self, experiment: str, dataset: str) -> list[str]:
        """Return the rows of an experiment that were measured on a data set, in the order of its table.

        Args:
            experiment: Id of the experiment.
            dataset: Name of the data set.
        """
        return list(dict.fromkeys(key[2] for key, _ in self._cells if key[:2] == (experiment, dataset)))

    def variants(self, experiment: str, row: str) -> list[str]:
        """Return the variants in which a row was measured.

        Args:
            experiment: Id of the experiment.
            row: Name of the row.
        """
        lines = [line for (key, _), line in self._cells.items() if (key[0], key[2]) == (experiment, row)]
        names = dict.fromkeys(name.removesuffix("_mean") for line in lines for name in line if name.endswith("_mean"))
        return [name for name in names if any(line[f"{name}_mean"] for line in lines)]

    def verdict(self, experiment: str, claim: str, dataset: str, variant: str) -> Mapping[str, str]:
        """Return the line of ``claims.csv``; empty if the claim was not checked there."""
        return self._verdicts.get((experiment, claim, dataset, variant), {})

    def claim_text(self, experiment: str, claim: str) -> str:
        """Return a claim as a sentence; empty if there is no such claim."""
        return next((line["text"] for key, line in self._verdicts.items() if key[:2] == (experiment, claim)), "")


def read_csv(path: Path) -> Iterator[dict[str, str]]:
    """Yield the lines of a CSV file by column."""
    with path.open(encoding="utf-8", newline="") as lines:
        yield from csv.DictReader(lines)


def write_result_tables(numbers: ResultNumbers, folder: Path) -> None:
    """Write the tables and verdicts that the stored repeats give to ``folder``; figures and pages are left alone."""
    for name in experiment_names():
        experiment = read_experiment(name)
        own = [one for one in numbers.repeats if one.work in experiment.work and one.dataset in experiment.datasets]
        if own:
            (folder / name).mkdir(parents=True, exist_ok=True)
            results = summarise(experiment, own, datasets=experiment.datasets)
            write_tables(results, check_claims(results), folder / name)
