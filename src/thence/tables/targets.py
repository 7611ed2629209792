"""Targets: the columns towards which the bins of all others are cut, and their states row by row.

This module looks columns up and numbers their states; the cuts are made by the binning method.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from thence.errors import ConfigError, nearest
from thence.language.items import Aspect, Feature
from thence.tables.discretization import Discretizer, fit_binning, is_supervised

Ints = npt.NDArray[np.int64]


def find_targets(towards: str, features: Sequence[Feature]) -> list[int]:
    """Return the positions of the features that a target names: a column, a sensor, or all sensors of a kind.

    Args:
        towards: The id of a sensor or column, or a kind.
        features: The features.

    Raises:
        ConfigError: If it is empty, or names none of them; the hint suggests the nearest.

    Examples:
        >>> find_targets("status", [Feature("p1", label="status"), Feature("f1", label="flow")])
        [0]
    """
    readings = [(at, f) for at, f in enumerate(features) if f.aspect is Aspect.MEASUREMENT and not f.name]
    names = sorted({name for _, f in readings for name in (f.subject, f.label) if name})
    if not towards:
        raise ConfigError("the binning method needs a target", hint="give towards='…': a column, a sensor or a kind")
    found = [at for at, f in readings if f.subject == towards] or [at for at, f in readings if f.label == towards]
    if not found:
        hint = nearest(towards, names) or "known: " + ", ".join(names[:20])
        raise ConfigError(f"no column, sensor or kind is called '{towards}' (towards)", hint=hint)
    return found


def number_states(numbers: npt.NDArray[np.float64], *, categorical: bool, bins: int) -> Ints:
    """Return the state of a target in each row: its category, or its bin of equal count; −1 where it is missing.

    Args:
        numbers: The readings; of a categorical feature, positions in its categories.
        categorical: Whether they are categories.
        bins: Number of bins of a numeric target.

    Examples:
        >>> number_states(np.array([1.0, 2.0, np.nan, 4.0]), categorical=False, bins=2).tolist()
        [0, 1, -1, 1]
    """
    if categorical:
        return np.where(np.isnan(numbers), -1, numbers).astype(np.int64)
    return fit_binning(numbers, bins=bins).encode(numbers).astype(np.int64)


def classes_by_key(
    discretizer: Discretizer, states: Sequence[Ints], keys: Iterable[str], targets: Iterable[str]
) -> Mapping[str, Ints] | None:
    """Return the classes for ``Discretizer.fit``: those of all targets, once for each column that a key joins.

    Args:
        discretizer: The discretizer.
        states: The states of each target.
        keys: The key of each column of numbers, in the order in which the numbers of a key are joined.
        targets: The keys of the targets, which get bins of equal count.

    Returns:
        The classes by key; ``None`` if the method of the discretizer does not use any.

    Examples:
        >>> made = Discretizer(method="entropy", towards="pump")
        >>> classes_by_key(made, [np.array([0, 1])], ["flow", "flow", "level"], ["level"])["flow"].tolist()
        [[0, 1, 0, 1]]
    """
    if not is_supervised(discretizer.method):
        return None
    own = set(targets)
    matrix = np.stack(list(states))
    parts: dict[str, list[Ints]] = {}
    for key in keys:
        if key not in own:
            parts.setdefault(key, []).append(matrix)
    return {key: np.concatenate(several, axis=1) for key, several in parts.items()}
