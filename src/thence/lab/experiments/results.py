"""Results of the experiments: stored repeats, their means and deviations, and verdicts on the claims of the paper.

There is one JSON file per repeat, written in one step when the repeat is complete. It carries its own checksum, and the
settings of the repeat. Loading a repeat that was changed, or has other settings, is an error that says so, so that
repeats are never mixed. Times are stored beside the measured values, not among them.

A verdict is about the means over the repeats; it also counts the repeats in which the claim holds. A search that was
cut off at its maximum number of rules gives a lower bound instead of a number, and so there is no verdict.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from itertools import pairwise
from pathlib import Path
from statistics import fmean, linear_regression, stdev
from typing import Any

import numpy as np

from thence._base.atomic import new_file
from thence._base.integrity.checksums import CHECKSUM, read_sealed, seal
from thence.errors import RunError, quote
from thence.lab.experiments.files import METRICS, VARIANTS, Claim, Experiment

FORMAT = 1
_DELETE = "delete the file; the repeat is then run again"
_TYPES: Mapping[str, type] = {"work": str, "dataset": str, "repeat": int, "sensors": list, "records": list}


@dataclass(frozen=True)
class Repeat:
    """One repeat of a procedure; its fields are the keys of the stored file.

    Args:
        work: Name of the procedure.
        dataset: Name of the data set, or a configuration file.
        repeat: Number of the repeat.
        made_with: Settings that determine the records.
        sensors: Ids of the sampled sensors.
        records: Measurements of rule sets.
        environment: Versions and machine.
    """

    work: str
    dataset: str
    repeat: int
    made_with: Mapping[str, Any]
    sensors: tuple[str, ...]
    records: tuple[Mapping[str, Any], ...]
    environment: Mapping[str, Any]


@dataclass(frozen=True)
class ResultStore:
    """The repeats that are stored in a folder.

    Args:
        folder: The folder.
    """

    folder: Path

    def path(self, procedure: str, dataset: str, repeat: int) -> Path:
        """Return the file of a repeat, whether it exists or not."""
        name = Path(dataset).stem if dataset.endswith(".toml") else dataset
        return self.folder / "repeats" / procedure / name / f"{repeat:03d}.json"

    def count_repeats(self) -> int:
        """Return the highest number of a stored repeat plus one; 0 if nothing is stored."""
        found = [int(p.stem) for p in self.folder.glob("repeats/*/*/*.json") if p.stem.isdigit()]
        return max(found, default=-1) + 1

    def save(self, repeat: Repeat) -> Path:
        """Write a repeat in one step and return its file."""
        target = self.path(repeat.work, repeat.dataset, repeat.repeat)
        record = seal({"format": FORMAT, **asdict(repeat)})
        text = json.dumps(record, indent=1, ensure_ascii=False, sort_keys=True)
        with new_file(target) as draft:
            draft.write_text(text + "\n", encoding="utf-8")
        return target

    def load(self, procedure: str, dataset: str, repeat: int, made_with: Mapping[str, Any]) -> Repeat | None:
        """Load a repeat.

        Args:
            procedure: Name of the procedure.
            dataset: Name of the data set, or a configuration file.
            repeat: Number of the repeat.
            made_with: Settings that the repeat must have.

        Returns:
            The repeat; ``None`` if it is not stored.

        Raises:
            RunError: The file cannot be read, was changed, or is a repeat of other data or with other settings.
        """
        path = self.path(procedure, dataset, repeat)
        try:
            data, _ = read_sealed(path, hint=_DELETE)
        except FileNotFoundError:
            return None
        data.pop(CHECKSUM, None)
        if data.pop("format", None) != FORMAT:
            raise RunError("not a repeat that this version can read", where=str(path), hint=_DELETE)
        found = _build(data, path)
        if found.dataset != dataset:
            raise RunError(
                f"this repeat is of the data set {quote(found.dataset)}, not {quote(dataset)}",
                where=str(path),
                hint="use another folder with out= (--out)",
            )
        if (found.work, found.repeat) != (procedure, repeat):
            raise RunError(
                f"this file is repeat {found.repeat} of {quote(found.work)}, not repeat {repeat} of {quote(procedure)}",
                where=str(path),
                hint="the file was renamed or copied; delete it, and the repeat is run again",
            )
        differing = _find_differences(found.made_with, json.loads(json.dumps(made_with)))
        if differing:
            raise RunError(
                f"this repeat has other settings: {differing}",
                where=str(path),
                hint="use another folder with out= (--out), or delete these repeats",
            )
        return found


def _build(data: Mapping[str, Any], path: Path) -> Repeat:
    """The repeat that a file holds."""
    types: dict[str, type] = {field.name: _TYPES.get(field.name, dict) for field in fields(Repeat)}
    wrong = [name for name, type_ in types.items() if not isinstance(data.get(name), type_)]
    wrong += sorted(data.keys() - types.keys())
    if not wrong and not all(isinstance(record, dict) for record in data["records"]):
        wrong = ["records"]
    if wrong:
        raise RunError(f"not a repeat: {quote(wrong[0])} is missing or wrong", where=str(path), hint=_DELETE)
    return Repeat(**{**data, "sensors": tuple(data["sensors"]), "records": tuple(data["records"])})


def _find_differences(stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    before, now = _flatten(stored), _flatten(wanted)
    names = sorted({*before, *now})
    found = [f"{n} was {before.get(n)}, is {now.get(n)}" for n in names if before.get(n) != now.get(n)]
    return "; ".join(found[:3]) + (" …" if len(found) > 3 else "")


def _flatten(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings with nested mappings, such as hashes of files, flattened to dotted keys."""
    out: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            out |= {f"{name}.{key}": inner for key, inner in value.items()}
        else:
            out[name] = value
    return out


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
        return fmean(self.values.values())

    @property
    def deviation(self) -> float | None:
        """The sample standard deviation over the repeats; ``None`` for a single repeat."""
        return None if len(self.values) < 2 else stdev(self.values.values(), self.mean)

    def quantile(self, share: float) -> float:
        """Return a quantile over the repeats, interpolated between neighbouring values.

        Args:
            share: The share of repeats below it, from 0 to 1.

        Examples:
            >>> Cell({0: 1.0, 1: 2.0, 2: 4.0}).quantile(0.75)
            3.0
        """
        return float(np.quantile(list(self.values.values()), share))

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


NO_VERDICT = "–"
"""What ``ClaimVerdict.held`` is where a number is a lower bound only."""
_OF_ONE_ROW = ("rising", "falling", "level", "power")
_RELATIVE = ("rules", "seconds")

Key = tuple[str, float | None]
Side = Mapping[Key, Cell]
Pick = Callable[[Cell], float | None]
Outcome = tuple[list[str], list[str]]
"""Whether parts of a claim hold (``yes``, ``in part``, ``no``), and their numbers as text."""


@dataclass(frozen=True)
class ClaimVerdict:
    """Whether a claim holds on one data set in one variant.

    Args:
        claim: The claim.
        dataset: Name of the data set.
        variant: The variant, such as ``"paper"`` or ``"corrected"``.
        held: ``"yes"``, ``"in part"``, ``"no"``, or ``"–"`` where a search was cut off.
        numbers: The numbers that were compared, as text; ``≥`` before those of searches that were cut off.
        repeats_held: Number of repeats in which the claim holds; ``None`` for published numbers and without a verdict.
        repeats: Number of repeats; ``None`` for published numbers and without a verdict.
    """

    claim: Claim
    dataset: str
    variant: str
    held: str
    numbers: str
    repeats_held: int | None
    repeats: int | None

    @property
    def share(self) -> str:
        """Repeats in which the claim holds, as text; empty for published numbers."""
        return "" if self.repeats is None else f"{self.repeats_held} of {self.repeats}"


@dataclass(frozen=True)
class _Case:
    """What a claim is checked on: its cells in one variant of one data set.

    Args:
        claim: The claim.
        left: Cells of the rows that the claim is about.
        right: Cells of the rows to compare with.
        paper: Published cells of the rows of ``left``; for ``as-published`` only.
        bounds: Cells that are lower bounds, by row and value of the varied parameter.
    """

    claim: Claim
    left: Side
    right: Side
    paper: Side
    bounds: frozenset[Key]

    def format_value(self, key: Key, value: float, *, named: bool) -> str:
        """Return a value as text, after the name of its row if it is ``named``."""
        sign = "≥ " if key in self.bounds and self.claim.metric in _RELATIVE else ""
        name = f"{key[0]} " if named else ""
        return f"{name}{sign}{format_number(value, self.claim.metric)}"


def check_claims(results: Results) -> list[ClaimVerdict]:
    """Check every claim in ``results`` on every data set and variant that has the numbers for it."""
    out = []
    for claim in results.experiment.claims:
        for dataset in results.datasets:
            for variant in claim.variants or VARIANTS:
                verdict = _check_claim(results, claim, dataset, variant)
                if verdict is not None:
                    out.append(verdict)
    return out


def _check_claim(results: Results, claim: Claim, dataset: str, variant: str) -> ClaimVerdict | None:
    case = _find_case(results, claim, dataset, variant)
    outcome = None if case is None else _evaluate(case, lambda cell: cell.mean)
    if case is None or outcome is None:
        return None
    text = "; ".join(outcome[1])
    if variant in claim.instead:
        text = f"{', '.join(claim.instead[variant].values())}: {text}"
    if case.bounds:
        return ClaimVerdict(claim, dataset, variant, NO_VERDICT, text, None, None)
    held = _join(outcome[0])
    if variant == "paper":
        return ClaimVerdict(claim, dataset, variant, held, text, None, None)
    numbers = sorted(set.intersection(*(set(cell.values) for cell in (*case.left.values(), *case.right.values()))))
    single = [_evaluate(case, lambda cell, n=n: cell.values.get(n)) for n in numbers]  # type: ignore[misc]
    in_all = sum(one is not None and _join(one[0]) == "yes" for one in single)
    return ClaimVerdict(claim, dataset, variant, held, text, in_all, len(single))


def _join(held: Sequence[str]) -> str:
    return "yes" if set(held) == {"yes"} else "no" if set(held) == {"no"} else "in part"


def _find_case(results: Results, claim: Claim, dataset: str, variant: str) -> _Case | None:
    """Return the cells of a claim; ``None`` if there is nothing to compare."""
    replaced = claim.instead.get(variant, {})
    rows, others = ([replaced.get(row, row) for row in side] for side in (claim.left_rows, claim.right_rows))
    left = _find_cells(results, rows, claim, dataset, variant, claim.left_at)
    right = _find_cells(results, others, claim, dataset, variant, claim.right_at)
    paper: Side = {}
    if claim.test == "as-published":
        paper = {} if variant == "paper" else _find_cells(results, rows, claim, dataset, "paper", claim.left_at)
        left = {key: cell for key, cell in left.items() if key in paper}
    if claim.right_rows:
        pairs = list(_pair(claim, left, right))
        left = {key: left[key] for key in dict.fromkeys(one for one, _ in pairs)}
        right = {key: right[key] for key in dict.fromkeys(other for _, other in pairs)}
    if not left:
        return None
    bounds = frozenset(key for key in (*left, *right) if results.stopped(dataset, variant, key))
    return _Case(claim, left, right, paper, bounds)


def _find_cells(
    results: Results, rows: Sequence[str], claim: Claim, dataset: str, variant: str, at: float | None
) -> Side:
    found = {
        key: cell
        for key in results.keys(dataset)
        if key[0] in rows
        and at in (None, key[1])
        and (cell := results.cell(dataset, variant, key, claim.metric)) is not None
    }
    order = sorted(found, key=lambda key: (rows.index(key[0]), -math.inf if key[1] is None else key[1]))
    return {key: found[key] for key in order}


def _pair(claim: Claim, left: Iterable[Key], right: Iterable[Key]) -> Iterable[tuple[Key, Key]]:
    """Yield the cells to compare: at the same value of the varied parameter, unless the claim gives the values."""
    fixed = claim.left_at is not None or claim.right_at is not None
    others = list(right)
    for one in left:
        yield from ((one, other) for other in others if fixed or one[1] == other[1])


def _evaluate(case: _Case, pick: Pick) -> Outcome | None:
    """Return what holds and the numbers as text; ``None`` if there is nothing to compare."""
    left = {key: value for key, cell in case.left.items() if (value := pick(cell)) is not None}
    right = {key: value for key, cell in case.right.items() if (value := pick(cell)) is not None}
    test = case.claim.test
    if test in _OF_ONE_ROW:
        outcome = _check_curves(case, left)
    elif test == "as-published":
        outcome = _check_published(case, left)
    elif test == "highest":
        outcome = _check_highest(case, left, right)
    elif case.claim.right_rows:
        outcome = _check_pairs(case, left, right)
    else:
        outcome = _check_bound(case, left)
    return outcome if outcome[0] else None


def _check_bound(case: _Case, left: Mapping[Key, float]) -> Outcome:
    claim = case.claim
    named = len(claim.left_rows) > 1
    held = [value >= claim.value if claim.test == "at-least" else value <= claim.value for value in left.values()]
    texts = [_place(key[1]) + case.format_value(key, value, named=named) for key, value in left.items()]
    return _words(held), texts


def _check_pairs(case: _Case, left: Mapping[Key, float], right: Mapping[Key, float]) -> Outcome:
    claim = case.claim
    pairs = [(one, other) for one, other in _pair(claim, left, right) if left[one] or right[other]]
    held = []
    for one, other in pairs:
        a, b = left[one], right[other]
        held.append(a > claim.factor * b if claim.test == "greater" else b != 0 and claim.low <= a / b <= claim.high)
    if claim.left_at is not None or claim.right_at is not None:
        sides = (dict.fromkeys(one for one, _ in pairs), dict.fromkeys(other for _, other in pairs))
        texts = [" against ".join(_list_values(case, side) for side in sides)] if pairs else []
    else:
        texts = [_format_pair(case, one, left[one], other, right[other]) for one, other in pairs]
    return _words(held), texts


def _format_pair(case: _Case, one: Key, a: float, other: Key, b: float) -> str:
    first = case.format_value(one, a, named=len(case.claim.left_rows) > 1)
    second = case.format_value(other, b, named=len(case.claim.right_rows) > 1)
    comparable = a >= 0 and b > 0 and not case.bounds & {one, other}
    return f"{_place(one[1])}{first} against {second}" + (f" (× {_format_ratio(a / b)})" if comparable else "")


def _list_values(case: _Case, keys: Iterable[Key]) -> str:
    """Return the means of cells as text, each after its row where there are several, and before its place."""
    named = len({row for row, _ in keys}) > 1
    cells = {**case.right, **case.left}
    return ", ".join(case.format_value(key, cells[key].mean, named=named) + _after(key[1]) for key in keys)


def _format_ratio(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.2g}"


def _check_highest(case: _Case, left: Mapping[Key, float], right: Mapping[Key, float]) -> Outcome:
    held, texts = [], []
    for one, value in left.items():
        others = {key: other for key, other in right.items() if key[1] == one[1]}
        if len(others) < len(case.claim.right_rows):
            continue
        held.append(all(value > other for other in others.values()))
        beside = ", ".join(case.format_value(key, other, named=True) for key, other in others.items())
        texts.append(f"{_place(one[1])}{case.format_value(one, value, named=True)} against {beside}")
    return _words(held), texts


def _check_published(case: _Case, left: Mapping[Key, float]) -> Outcome:
    claim = case.claim
    named = len(claim.left_rows) > 1
    held, texts = [], []
    for key, value in left.items():
        paper = case.paper[key].mean
        held.append(abs(value - paper) <= claim.value * (paper if claim.metric in _RELATIVE else 1.0))
        name = f"{key[0]} " if named else ""
        ours, theirs = case.left[key].text(claim.metric), format_number(paper, claim.metric)
        texts.append(f"{_place(key[1])}{name}{ours} (paper {theirs})")
    return _words(held), texts


def _check_curves(case: _Case, left: Mapping[Key, float]) -> Outcome:
    """Check every row against the varied parameter; rows with a single value are left out."""
    rows = dict.fromkeys(row for row, _ in left)
    held, texts = [], []
    for row in rows:
        points = [(at, value) for (name, at), value in left.items() if name == row and at is not None]
        if len(points) < 2:
            continue
        shown = [f"{at:,g}: {case.format_value((row, at), value, named=False)}" for at, value in points]
        word, note = _check_curve(case.claim, points)
        held.append(word)
        texts.append(f"{row}: " * (len(case.claim.left_rows) > 1) + ", ".join(shown) + note)
    return held, texts


def _check_curve(claim: Claim, points: Sequence[tuple[float, float]]) -> tuple[str, str]:
    """Return whether one row fulfils ``claim``, and a note on how."""
    if claim.test == "level":
        lowest, highest = (choose(value for _, value in points) for choose in (min, max))
        ratio = f" (highest / lowest: {highest / lowest:.2g})" if lowest > 0 else ""
        return _words([highest <= claim.factor * lowest])[0], ratio
    if claim.test == "power":
        if any(at <= 0 or value <= 0 for at, value in points):
            return "no", " (no exponent: not all numbers are above 0)"
        exponent = _fit_exponent(points)
        return _words([claim.low <= exponent <= claim.high])[0], f" (exponent {exponent:.2f})"
    sign = 1.0 if claim.test == "rising" else -1.0
    steps = [sign * (after - before) for (_, before), (_, after) in pairwise(points)]
    whole = sign * (points[-1][1] - points[0][1])
    return "yes" if whole > 0 and min(steps) >= 0 else "in part" if whole > 0 else "no", ""


def _fit_exponent(points: Sequence[tuple[float, float]]) -> float:
    """Return the slope of a straight line through the logarithms, by least squares."""
    return linear_regression([math.log(at) for at, _ in points], [math.log(value) for _, value in points]).slope


def _words(held: Iterable[bool]) -> list[str]:
    return ["yes" if one else "no" for one in held]


def _place(at: float | None) -> str:
    return "" if at is None else f"at {at:,g}: "


def _after(at: float | None) -> str:
    return "" if at is None else f" at {at:,g}"
