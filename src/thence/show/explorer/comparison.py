"""Two runs compared: rules gained, lost and changed. Rules are the same if they say the same; counts may differ.

Pure functions over rule sets and their keys.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thence.statements.rules.ruleset import RuleSet

__all__ = ["Differences", "compare_rules"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Differences:
    """What became of the rules of one set in another.

    Args:
        gained: Positions of rules of the second set that the first lacks, in order.
        lost: Positions of rules of the first set that the second lacks, in order.
        changed: Positions in both sets of rules whose confidence or support differs, the largest difference of the
            confidence first.
        same: Number of rules that are in both sets with the same confidence and support.
    """

    gained: Ints
    lost: Ints
    changed: Ints
    same: int


def compare_rules(a: RuleSet, b: RuleSet) -> Differences:
    """Compare two rule sets. A rule that a set has several times counts once, where it comes first.

    Args:
        a: The first set.
        b: The second set.

    Examples:
        >>> import thence as th
        >>> rules = th.mine(th.datasets.load("toy"), windows="1h", bins=3, progress="off").rules
        >>> found = compare_rules(rules, rules[1:])
        >>> found.gained.tolist(), found.lost.tolist(), len(found.changed), found.same == len(rules) - 1
        ([], [0], 0, True)
    """
    (known_a, at_a), (known_b, at_b) = (np.unique(own, return_index=True) for own in (a.keys, b.keys))
    at = np.searchsorted(known_b, known_a)
    found = np.zeros(len(known_a), bool)
    inside = at < len(known_b)
    found[inside] = known_b[at[inside]] == known_a[inside]
    in_b = at[found]
    new = np.ones(len(known_b), bool)
    new[in_b] = False
    gained, lost = np.sort(at_b[new]), np.sort(at_a[~found])
    both = np.stack([at_a[found], at_b[in_b]], axis=1)
    before, after = a.counts[both[:, 0]], b.counts[both[:, 1]]
    # Ratios of integers are compared crosswise, so nothing is rounded.
    confidence = _differ(before.n_both, before.n_antecedent, after.n_both, after.n_antecedent)
    support = _differ(before.n_both, before.n, after.n_both, after.n)
    changed = both[confidence | support]
    change = np.abs(a.measure("confidence")[changed[:, 0]] - b.measure("confidence")[changed[:, 1]])
    order = np.lexsort([changed[:, 0], -np.nan_to_num(change, nan=np.inf)])
    return Differences(gained, lost, changed[order], len(both) - len(changed))


def _differ(
    top: npt.NDArray[np.int64],
    bottom: npt.NDArray[np.int64],
    other_top: npt.NDArray[np.int64],
    other: npt.NDArray[np.int64],
) -> npt.NDArray[np.bool_]:
    """Where two ratios of integers differ; 0/0 is the same as 0/0 only."""
    most = max((int(part.max(initial=0)) for part in (top, bottom, other_top, other)), default=0)
    kind: npt.DTypeLike = np.int64 if most < 1 << 31 else object
    left, right = top.astype(kind) * other, other_top.astype(kind) * bottom
    return np.asarray((left != right) | ((bottom == 0) != (other == 0)), bool)
