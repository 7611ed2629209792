"""Verdicts on the claims of the paper, for the published numbers and for ours in every variant.

A verdict is about the means over the repeats; it also counts the repeats in which the claim holds. A search that was
cut off at its maximum number of rules gives a lower bound instead of a number, and so there is no verdict. Only numbers
are compared here, nothing is run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from thence.lab.experiments.files import VARIANTS, Claim
from thence.lab.experiments.summary import Cell, Results, format_number

__all__ = ["NO_VERDICT", "Verdict", "check_claims"]

NO_VERDICT = "–"
"""What ``Verdict.held`` is where a number is a lower bound only."""
_OF_ONE_ROW = ("rising", "falling", "level", "power")
_RELATIVE = ("rules", "seconds")

Key = tuple[str, float | None]
Side = Mapping[Key, Cell]
Pick = Callable[[Cell], float | None]
Outcome = tuple[list[str], list[str]]
"""Whether parts of a claim hold (``yes``, ``in part``, ``no``), and their numbers as text."""


@dataclass(frozen=True)
class Verdict:
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


def check_claims(results: Results) -> list[Verdict]:
    """Check every claim in ``results`` on every data set and variant that has the numbers for it."""
    out = []
    for claim in results.experiment.claims:
        for dataset in results.datasets:
            for variant in claim.variants or VARIANTS:
                verdict = _check_claim(results, claim, dataset, variant)
                if verdict is not None:
                    out.append(verdict)
    return out


def _check_claim(results: Results, claim: Claim, dataset: str, variant: str) -> Verdict | None:
    case = _find_case(results, claim, dataset, variant)
    outcome = None if case is None else _evaluate(case, lambda cell: cell.mean)
    if case is None or outcome is None:
        return None
    text = "; ".join(outcome[1])
    if variant in claim.instead:
        text = f"{', '.join(claim.instead[variant].values())}: {text}"
    if case.bounds:
        return Verdict(claim, dataset, variant, NO_VERDICT, text, None, None)
    held = _join(outcome[0])
    if variant == "paper":
        return Verdict(claim, dataset, variant, held, text, None, None)
    numbers = sorted(set.intersection(*(set(cell.values) for cell in (*case.left.values(), *case.right.values()))))
    single = [_evaluate(case, lambda cell, n=n: cell.values.get(n)) for n in numbers]  # type: ignore[misc]
    in_all = sum(one is not None and _join(one[0]) == "yes" for one in single)
    return Verdict(claim, dataset, variant, held, text, in_all, len(single))


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
    x, y = [math.log(at) for at, _ in points], [math.log(value) for _, value in points]
    mean_x, mean_y = math.fsum(x) / len(x), math.fsum(y) / len(y)
    across = math.fsum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return across / math.fsum((a - mean_x) ** 2 for a in x)


def _words(held: Iterable[bool]) -> list[str]:
    return ["yes" if one else "no" for one in held]


def _place(at: float | None) -> str:
    return "" if at is None else f"at {at:,g}: "


def _after(at: float | None) -> str:
    return "" if at is None else f" at {at:,g}"
