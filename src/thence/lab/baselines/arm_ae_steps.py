"""Training of ARM-AE on one row at a time, in compiled code.

The released code of the paper trains with batches of one row, 87,600 steps for a year of half hours in five epochs. A
step of torch consists mostly of calls; here forward pass, gradient and Adam are one function, and the gradient of a
weight, a product of two numbers, is never stored. The numbers are those of torch but for rounding.

This module works on plain arrays; it must not know tables, items or torch.
"""

from __future__ import annotations

from typing import Any, cast

import numba
import numpy as np
import numpy.typing as npt

__all__ = ["RowTrainer"]

Singles = npt.NDArray[np.float32]

_DECAY_MEAN = 0.9
_DECAY_SQUARE = 0.999
_EPSILON = 1e-8


class RowTrainer:
    """Layers of equal width, trained by Adam on the absolute error of one row after the other.

    Args:
        weights: Layers × outputs × inputs.
        biases: Layers × outputs.
        learning_rate: Learning rate of Adam.
        tanh_output: Whether the output is a tanh, like the other layers, or a sigmoid.

    Examples:
        >>> trainer = RowTrainer(np.zeros((2, 3, 3)), np.zeros((2, 3)), learning_rate=0.1, tanh_output=True)
        >>> trainer.train(np.array([[1.0, 0.0, 0.0]]))
        >>> [round(float(bias), 3) for bias in trainer.biases[1]]
        [0.1, 0.0, 0.0]
    """

    def __init__(
        self, weights: npt.ArrayLike, biases: npt.ArrayLike, *, learning_rate: float, tanh_output: bool
    ) -> None:
        # Inputs first, so that the innermost loops of both passes run over neighbours in memory.
        self._weights = np.ascontiguousarray(np.swapaxes(np.asarray(weights, np.float32), 1, 2))
        self.biases: Singles = np.array(biases, np.float32)
        self._moments = [np.zeros_like(self._weights) for _ in range(2)] + [np.zeros_like(self.biases) for _ in "mv"]
        self._learning_rate = learning_rate
        self._tanh_output = tanh_output
        self._steps = 0

    @property
    def weights(self) -> Singles:
        """The weights: layers × outputs × inputs."""
        return np.ascontiguousarray(np.swapaxes(self._weights, 1, 2))

    def train(self, rows: npt.ArrayLike) -> None:
        """Take one step for each row.

        Args:
            rows: Rows × items, 1 where an item holds and else 0.
        """
        held = np.ascontiguousarray(rows, np.float32)
        _train(held, self._weights, self.biases, *self._moments, self._steps, self._learning_rate, self._tanh_output)
        self._steps += len(held)


def _compiled(function: Any) -> Any:
    # Sums may be added up in any order: otherwise they are not computed several numbers at a time.
    options: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    return cast(Any, numba.njit)(fastmath={"reassoc", "contract", "nsz"}, **options)(function)


@_compiled
def _train(
    rows: Singles,
    weights: Singles,
    biases: Singles,
    mean: Singles,
    square: Singles,
    bias_mean: Singles,
    bias_square: Singles,
    steps: int,
    learning_rate: float,
    tanh_output: bool,
) -> None:
    n_layers, width = biases.shape
    one = np.float32(1.0)
    states = np.empty((n_layers + 1, width), np.float32)
    slope, before = np.empty(width, np.float32), np.empty(width, np.float32)
    keep, new = np.float32(_DECAY_MEAN), np.float32(1.0 - _DECAY_MEAN)
    keep2, new2 = np.float32(_DECAY_SQUARE), np.float32(1.0 - _DECAY_SQUARE)
    epsilon = np.float32(_EPSILON)
    for row in range(len(rows)):
        states[0] = rows[row]
        for layer in range(n_layers):
            out = states[layer + 1]
            out[:] = biases[layer]
            for j in range(width):
                given = states[layer, j]
                if given != 0:
                    for i in range(width):
                        out[i] += given * weights[layer, j, i]
            for i in range(width):
                if layer < n_layers - 1 or tanh_output:
                    out[i] = np.tanh(out[i])
                else:
                    out[i] = one / (one + np.exp(-out[i]))
        for i in range(width):
            reached = states[n_layers, i]
            wrong = np.sign(reached - rows[row, i]) / np.float32(width)
            slope[i] = wrong * (one - reached * reached if tanh_output else reached * (one - reached))
        step = steps + row + 1
        rate = np.float32(learning_rate / (1.0 - _DECAY_MEAN**step))
        scale = np.float32(1.0 / np.sqrt(1.0 - _DECAY_SQUARE**step))
        for back in range(n_layers):
            layer = n_layers - 1 - back
            for j in range(width):
                given = states[layer, j]
                total = np.float32(0.0)
                for i in range(width):
                    total += weights[layer, j, i] * slope[i]
                before[j] = total * (one - given * given)
                for i in range(width):
                    gradient = given * slope[i]
                    m = keep * mean[layer, j, i] + new * gradient
                    v = keep2 * square[layer, j, i] + new2 * gradient * gradient
                    mean[layer, j, i] = m
                    square[layer, j, i] = v
                    weights[layer, j, i] -= rate * m / (np.sqrt(v) * scale + epsilon)
            for i in range(width):
                m = keep * bias_mean[layer, i] + new * slope[i]
                v = keep2 * bias_square[layer, i] + new2 * slope[i] * slope[i]
                bias_mean[layer, i] = m
                bias_square[layer, i] = v
                biases[layer, i] -= rate * m / (np.sqrt(v) * scale + epsilon)
            slope[:] = before
