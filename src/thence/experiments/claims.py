"""Whether a claim of the paper holds: on the paper's own numbers, and on ours in every variant.

A verdict is about the means over the repeats. In how many single repeats the claim holds is said beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from thence.experiments.files import VARIANTS, Claim
from thence.experiments.summary import Cell, Results, number

__all__ = ["Verdict", "judge"]

Pick = Callable[[Cell], float | None]


@dataclass(frozen=True)
class Verdict:
    """What became of a claim on one data set in one variant."""

    claim: Claim
    dataset: str
    variant: str
    held: str
    numbers: str
    repeats_held: int | None
    repeats: int | None

    @property
    def share(self) -> str:
        """In how many repeats the claim held, in words."""
        return "" if self.repeats is None else f"{self.repeats_held} of {self.repeats}"


def judge(results: Results) -> list[Verdict]:
    """Every claim of an experiment, on every data set and in every variant in which it can be checked."""
    out = []
    for claim in results.experiment.claims:
        for dataset in results.datasets:
            for variant in VARIANTS:
                verdict = _judge(results, claim, dataset, variant)
                if verdict is not None:
                    out.append(verdict)
    return out


def _judge(results: Results, claim: Claim, dataset: str, variant: str) -> Verdict | None:
    left = _series(results, claim.left, claim.metric, dataset, variant)
    right = _series(results, claim.right, claim.metric, dataset, variant) if claim.right else {}
    if not left or (claim.right and not (left.keys() & right.keys())):
        return None
    if claim.test in ("rising", "falling") and len(left) < 2:
        return None
    outcome = _check(claim, left, right, lambda cell: cell.mean)
    assert outcome is not None
    held, text = outcome
    if variant == "paper":
        return Verdict(claim, dataset, variant, held, text, None, None)
    numbers = sorted(set.intersection(*(set(cell.values) for cell in (*left.values(), *right.values()))))
    single = [_check(claim, left, right, lambda cell, n=n: cell.values.get(n)) for n in numbers]  # type: ignore[misc]
    return Verdict(
        claim, dataset, variant, held, text, sum(s is not None and s[0] == "yes" for s in single), len(single)
    )


def _series(results: Results, row: str, metric: str, dataset: str, variant: str) -> dict[float | None, Cell]:
    found = {
        at: cell
        for name, at in results.keys(dataset)
        if name == row and (cell := results.cell(dataset, variant, (name, at), metric)) is not None
    }
    return dict(sorted(found.items(), key=lambda pair: -1.0 if pair[0] is None else pair[0]))


def _check(
    claim: Claim, left: dict[float | None, Cell], right: dict[float | None, Cell], pick: Pick
) -> tuple[str, str] | None:
    """``yes``, ``in part`` or ``no``, and the numbers behind it."""
    a = {at: value for at, cell in left.items() if (value := pick(cell)) is not None}
    b = {at: value for at, cell in right.items() if (value := pick(cell)) is not None}
    if claim.test in ("rising", "falling"):
        return _along(claim, list(a.items()))
    shared = [at for at in a if not claim.right or at in b]
    if not shared:
        return None
    held = [_compare(claim, a[at], b.get(at)) for at in shared]
    texts = [_text(claim, at, a[at], b.get(at)) for at in shared]
    return ("yes" if all(held) else "in part" if any(held) else "no"), "; ".join(texts)


def _compare(claim: Claim, left: float, right: float | None) -> bool:
    if claim.test == "at-least":
        return left >= claim.value
    if claim.test == "at-most":
        return left <= claim.value
    assert right is not None
    if claim.test == "greater":
        return left > claim.factor * right
    return right != 0 and claim.low <= left / right <= claim.high


def _text(claim: Claim, at: float | None, left: float, right: float | None) -> str:
    place = "" if at is None else f"at {at:g}: "
    if right is None:
        return f"{place}{number(left, claim.metric)}"
    ratio = f" (× {left / right:.2g})" if right else ""
    return f"{place}{number(left, claim.metric)} against {number(right, claim.metric)}{ratio}"


def _along(claim: Claim, points: Sequence[tuple[float | None, float]]) -> tuple[str, str] | None:
    """Monotone all the way, only from end to end, or not at all."""
    if len(points) < 2:
        return None
    sign = 1.0 if claim.test == "rising" else -1.0
    steps = [sign * (after - before) for (_, before), (_, after) in pairwise(points)]
    whole = sign * (points[-1][1] - points[0][1])
    held = "yes" if whole > 0 and min(steps) >= 0 else "in part" if whole > 0 else "no"
    return held, ", ".join(f"{at:g}: {number(value, claim.metric)}" for at, value in points)
