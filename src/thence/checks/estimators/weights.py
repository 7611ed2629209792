"""Weights of rows as repetitions of rows, so that rules with weights are counted in integers as all others are.

A row of weight 3 counts as three rows, and one of weight 0 as none. Weights that are no integers are scaled so that
the smallest of them becomes a small integer, or rounded if no such scale is found.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from thence.errors import ConfigError

FloatArray = npt.NDArray[np.float64]

_LARGEST_FACTOR = 64
_LEAST_ROOM, _ROOM = 100_000, 5  # repetitions: at least so many, or so many times the rows


def row_weights(
    sample_weight: Any,
    class_weight: Mapping[Any, float] | str | None,
    classes: npt.NDArray[Any],
    codes: npt.NDArray[np.int64],
) -> FloatArray | None:
    """Return the weight of each row: that of the row times that of its class; ``None`` if neither is given.

    Args:
        sample_weight: The weight of each row, one for all, or ``None``.
        class_weight: Weights by class, ``"balanced"`` for the inverse of their frequencies, or ``None``.
        classes: The class labels.
        codes: The class of each row, as a position in ``classes``.

    Raises:
        ValueError: If there is not one weight per row, or one is negative, infinite or missing, or all are 0.
        ConfigError: If ``class_weight`` is neither a mapping nor ``"balanced"``.

    Examples:
        >>> row_weights(None, "balanced", np.array(["a", "b"]), np.array([0, 0, 0, 1])).round(2).tolist()
        [0.67, 0.67, 0.67, 2.0]
    """
    if sample_weight is None and class_weight is None:
        return None
    weights = np.ones(len(codes)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    weights = np.full(len(codes), float(weights)) if weights.ndim == 0 else weights
    if weights.shape != (len(codes),):
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(len(codes),)}!")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("sample_weight must hold finite numbers of at least 0")
    if not (weights > 0).any():
        raise ValueError("sample_weight must hold a weight that is not zero")
    if class_weight is None:
        return np.asarray(weights)
    if isinstance(class_weight, Mapping):
        by_class = np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])
        if not np.isfinite(by_class).all() or (by_class < 0).any():
            raise ConfigError("weights of classes must be finite numbers of at least 0")
    elif class_weight == "balanced":
        shares = np.bincount(codes, weights=weights, minlength=len(classes))
        by_class = weights.sum() / (len(classes) * np.where(shares > 0, shares, 1.0))
    else:
        raise ConfigError(f"class_weight must be 'balanced' or a mapping, got {class_weight!r}")
    return np.asarray(weights * by_class[codes])


def repetitions(weights: FloatArray) -> npt.NDArray[np.int64]:
    """Return how often each row counts.

    Args:
        weights: The weights; 0 is a row that does not count.

    Examples:
        >>> repetitions(np.array([3.0, 0.0, 1.0])).tolist(), repetitions(np.array([0.5, 0.75])).tolist()
        ([3, 0, 1], [2, 3])
    """
    most = max(_ROOM * len(weights), _LEAST_ROOM)
    if (weights == np.round(weights)).all() and weights.sum() <= most:
        return weights.astype(np.int64)
    relative = weights / weights[weights > 0].min()
    for factor in range(1, _LARGEST_FACTOR + 1):
        scaled = relative * factor
        if scaled.sum() > most:
            break
        if np.allclose(scaled, np.round(scaled), rtol=0, atol=1e-9 * factor):
            return np.asarray(np.round(scaled), np.int64)
    rounded = np.round(weights * (most / weights.sum())).astype(np.int64)
    return np.asarray(np.where(weights > 0, np.maximum(rounded, 1), 0), np.int64)
