"""Verdicts on the claims of the paper, for the published numbers and for ours in every variant.

A verdict is about the means over the repeats; it also counts the repeats in which the claim holds. Only numbers are
compared here, nothing is run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from thence.experiments.files import VARIANTS, Claim
from thence.experiments.summary import Cell, Results, format_number

__all__ = ["Verdict", "check_claims"]

Pick = Callable[[Cell], float | None]


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds on one data set in one variant.

    Args:
        claim: The claim.
        dataset: Name of the data set.
        variant: The variant, such as ``"paper"`` or ``"corrected"``.
        held: ``"yes"``, ``"in part"`` or ``"no"``.
        numbers: The numbers that were compared, as text.
        repeats_held: Number of repeats in which the claim holds; ``None`` for published numbers.
        repeats: Number of repeats; ``None`` for published numbers.
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


def check_claims(results: Results) -> list[Verdict]:
    """Check every claim in ``results`` on every data set and variant that has the numbers for it."""
    out = []
    for claim in results.experiment.claims:
        for dataset in results.datasets:
            for variant in VARIANTS:
                verdict = _check_claim(results, claim, dataset, variant)
                if verdict is not None:
                    out.append(verdict)
    return out


def _check_claim(results: Results, claim: Claim, dataset: str, variant: str) -> Verdict | None:
    left = _find_cells(results, claim.left, claim.metric, dataset, variant)
    right = _find_cells(results, claim.right, claim.metric, dataset, variant) if claim.right else {}
    if not left or (claim.right and not (left.keys() & right.keys())):
        return None
    if claim.test in ("rising", "falling") and len(left) < 2:
        return None
    outcome = _evaluate(claim, left, right, lambda cell: cell.mean)
    assert outcome is not None
    held, text = outcome
    if variant == "paper":
        return Verdict(claim, dataset, variant, held, text, None, None)
    numbers = sorted(set.intersection(*(set(cell.values) for cell in (*left.values(), *right.values()))))
    single = [_evaluate(claim, left, right, lambda cell, n=n: cell.values.get(n)) for n in numbers]  # type: ignore[misc]
    return Verdict(
        claim, dataset, variant, held, text, sum(s is not None and s[0] == "yes" for s in single), len(single)
    )


def _find_cells(results: Results, row: str, metric: str, dataset: str, variant: str) -> dict[float | None, Cell]:
    found = {
        at: cell
        for name, at in results.keys(dataset)
        if name == row and (cell := results.cell(dataset, variant, (name, at), metric)) is not None
    }
    return dict(sorted(found.items(), key=lambda pair: -1.0 if pair[0] is None else pair[0]))


def _evaluate(
    claim: Claim, left: dict[float | None, Cell], right: dict[float | None, Cell], pick: Pick
) -> tuple[str, str] | None:
    """Return ``yes``, ``in part`` or ``no`` and the numbers as text; ``None`` if there is nothing to compare."""
    a = {at: value for at, cell in left.items() if (value := pick(cell)) is not None}
    b = {at: value for at, cell in right.items() if (value := pick(cell)) is not None}
    if claim.test in ("rising", "falling"):
        return _check_trend(claim, list(a.items()))
    common = [at for at in a if not claim.right or at in b]
    if not common:
        return None
    held = [_holds(claim, a[at], b.get(at)) for at in common]
    texts = [_format_pair(claim, at, a[at], b.get(at)) for at in common]
    return ("yes" if all(held) else "in part" if any(held) else "no"), "; ".join(texts)


def _holds(claim: Claim, left: float, right: float | None) -> bool:
    if claim.test == "at-least":
        return left >= claim.value
    if claim.test == "at-most":
        return left <= claim.value
    assert right is not None
    if claim.test == "greater":
        return left > claim.factor * right
    return right != 0 and claim.low <= left / right <= claim.high


def _format_pair(claim: Claim, at: float | None, left: float, right: float | None) -> str:
    place = "" if at is None else f"at {at:g}: "
    if right is None:
        return f"{place}{format_number(left, claim.metric)}"
    ratio = f" (× {left / right:.2g})" if right else ""
    return f"{place}{format_number(left, claim.metric)} against {format_number(right, claim.metric)}{ratio}"


def _check_trend(claim: Claim, points: Sequence[tuple[float | None, float]]) -> tuple[str, str] | None:
    """Return whether the points are monotone (yes), only the last beyond the first (in part), or neither (no)."""
    if len(points) < 2:
        return None
    sign = 1.0 if claim.test == "rising" else -1.0
    steps = [sign * (after - before) for (_, before), (_, after) in pairwise(points)]
    whole = sign * (points[-1][1] - points[0][1])
    held = "yes" if whole > 0 and min(steps) >= 0 else "in part" if whole > 0 else "no"
    return held, ", ".join(f"{at:g}: {format_number(value, claim.metric)}" for at, value in points)
