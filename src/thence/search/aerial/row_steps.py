"""Compiled training steps on noisy rows, for small batches and for several ones in one softmax.

The released code of the paper makes one step of the optimiser per row and puts all properties of a node into one
softmax, so that a block of outputs has several ones. A step on a single row is far shorter than the calls of a library
for tensors; here a step is one compiled function. It computes what ``loss.compute_gradients`` and ``adam.Adam``
compute, and the tests compare it with autograd. This module must not know about tables or rules.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from thence.search.aerial.loss import CLOSEST

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


class StepSettings(NamedTuple):
    """What is constant during training.

    Args:
        sizes: Widths of all layers: items, hidden layers, items.
        softmax_starts: The first item of each softmax, and the number of items.
        column_starts: The first item of each column, and the number of items.
        unknown: The input of each item if its column is missing.
        linear_layer: The hidden layer without tanh, counted from 0; −1 if there is none.
        batch: Rows per step of the optimiser.
        scale: Factor of the loss of a row: 1, or one divided by the number of items.
        weight_decay: Weight decay of Adam.
        decays: Decay rates of Adam's running means.
        epsilon: Added to the denominator of Adam.
    """

    sizes: Ints
    softmax_starts: Ints
    column_starts: Ints
    unknown: Floats
    linear_layer: int
    batch: int
    scale: float
    weight_decay: float
    decays: tuple[float, float]
    epsilon: float


@njit(nogil=True, cache=True, fastmath={"nnan", "nsz", "contract", "reassoc", "arcp"}, error_model="numpy")
def make_steps(
    codes: Ints,
    noise: Floats,
    flat: Floats,
    mean: Floats,
    square: Floats,
    count: int,
    rates: Floats,
    given: StepSettings,
) -> float:
    """Make the steps of some rows, one after the other, and change the weights in place.

    Args:
        codes: Codes of the rows (rows × columns), −1 where a value is missing.
        noise: Noise to add to the input (rows × items).
        flat: All weights and biases in one buffer, layer by layer. The weights of the first layer are items × width,
            those of the others outputs × inputs.
        mean: Adam's running mean of the gradient.
        square: Adam's running mean of the squared gradient.
        count: The number of steps made before.
        rates: The learning rate of each step.
        given: What is constant.

    Returns:
        The sum over the steps of the mean loss per known output.
    """
    n_rows = len(codes)
    sizes = given.sizes
    n_items = sizes[0]
    n_layers = len(sizes) - 1
    widest = sizes.max()
    states = np.zeros((n_layers, widest), np.float32)  # states[k]: output of layer k, input of layer k + 1
    starts = np.zeros(n_layers + 1, np.int64)
    for layer in range(n_layers):
        starts[layer + 1] = starts[layer] + sizes[layer] * sizes[layer + 1] + sizes[layer + 1]
    gradient = np.zeros(len(flat), np.float32)
    dense = np.zeros(n_items, np.float32)
    target = np.zeros(n_items, np.bool_)
    known = np.zeros(n_items, np.bool_)
    out = np.zeros(n_items, np.float32)
    back, before = np.zeros(widest, np.float32), np.zeros(widest, np.float32)
    total = 0.0
    for step in range(len(rates)):
        low = step * given.batch
        high = min(low + given.batch, n_rows)
        gradient[:] = 0.0
        loss, cells = 0.0, 0
        factor = np.float32(given.scale / (high - low))
        for row in range(low, high):
            _corrupt(
                codes[row], noise[row], given.column_starts, given.softmax_starts, given.unknown, dense, target, known
            )
            _forward(dense, flat, starts, sizes, given.linear_layer, states, out)
            loss += _answer(out, target, known, given.softmax_starts, factor)
            cells += known.sum()
            _backward(dense, out, flat, starts, sizes, given.linear_layer, states, back, before, gradient)
        total += loss / max(cells, 1)
        _adam(
            flat, mean, square, gradient, rates[step], count + step + 1, given.weight_decay, given.decays, given.epsilon
        )
    return total


@njit(nogil=True, cache=True)
def _corrupt(
    codes: Ints,
    noise: Floats,
    column_starts: Ints,
    softmax_starts: Ints,
    unknown: Floats,
    dense: Floats,
    target: NDArray[np.bool_],
    known: NDArray[np.bool_],
) -> None:
    """Write the noisy input of a row, clipped to [0, 1], and its target.

    A softmax is known if any of its columns is; a missing column among others, such as a property that a node does not
    have, is all zeros then.
    """
    target[:] = False
    known[:] = False
    block = 0
    for column in range(len(codes)):
        while block + 2 < len(softmax_starts) and softmax_starts[block + 1] <= column_starts[column]:
            block += 1
        if codes[column] >= 0:
            target[column_starts[column] + codes[column]] = True
            known[softmax_starts[block] : softmax_starts[block + 1]] = True
    for item in range(len(dense)):
        if not known[item]:
            dense[item] = unknown[item]
            continue
        value = noise[item] + (np.float32(1.0) if target[item] else np.float32(0.0))
        dense[item] = min(max(value, np.float32(0.0)), np.float32(1.0))


@njit(nogil=True, cache=True, fastmath={"nnan", "nsz", "contract", "reassoc", "arcp"}, error_model="numpy")
def _forward(
    dense: Floats, flat: Floats, starts: Ints, sizes: Ints, linear_layer: int, states: Floats, out: Floats
) -> None:
    """Write the hidden states and the logits of a row."""
    n_items, width = sizes[0], sizes[1]
    bias = starts[0] + n_items * width
    first = states[0]
    for k in range(width):
        first[k] = flat[bias + k]
    for item in range(n_items):
        value = dense[item]
        if value != 0.0:
            weights = flat[starts[0] + item * width : starts[0] + (item + 1) * width]
            for k in range(width):
                first[k] += value * weights[k]
    n_layers = len(sizes) - 1
    for layer in range(n_layers):
        inputs, outputs = sizes[layer], sizes[layer + 1]
        last = layer == n_layers - 1
        if layer > 0:
            bias = starts[layer] + inputs * outputs
            for k in range(outputs):
                weights = flat[starts[layer] + k * inputs : starts[layer] + (k + 1) * inputs]
                value = np.float32(0.0)
                for j in range(inputs):
                    value += weights[j] * states[layer - 1, j]
                value += flat[bias + k]
                if last:
                    out[k] = value
                else:
                    states[layer, k] = value
        if not last and layer != linear_layer:
            for k in range(outputs):
                states[layer, k] = math.tanh(states[layer, k])


@njit(nogil=True, cache=True, error_model="numpy")
def _answer(
    out: Floats, target: NDArray[np.bool_], known: NDArray[np.bool_], softmax: Ints, factor: np.float32
) -> float:
    """Replace the logits of a row by the gradient of its loss, and return the loss, summed over the known items."""
    loss = 0.0
    closest = np.float32(CLOSEST)
    for block in range(len(softmax) - 1):
        low, high = softmax[block], softmax[block + 1]
        if low == high:
            continue
        largest = out[low]
        for item in range(low + 1, high):
            largest = max(largest, out[item])
        total = np.float32(0.0)
        for item in range(low, high):
            out[item] = np.exp(out[item] - largest)
            total += out[item]
        # Of dL/dp · p, the sum over the block; the gradient of a logit is dL/dp · p minus p times this sum.
        pull = np.float32(0.0)
        for item in range(low, high):
            share = out[item] / total
            if not known[item]:
                continue
            if target[item]:
                loss -= math.log(max(share, closest))
                pull -= np.float32(1.0)
            else:
                rest = max(np.float32(1.0) - share, closest)
                loss -= math.log(rest)
                pull += share / rest
        for item in range(low, high):
            share = out[item] / total
            own = np.float32(0.0)
            if known[item]:
                own = np.float32(-1.0) if target[item] else share / max(np.float32(1.0) - share, closest)
            out[item] = factor * (own - share * pull)
    return loss


@njit(nogil=True, cache=True, fastmath={"nnan", "nsz", "contract", "reassoc", "arcp"}, error_model="numpy")
def _backward(
    dense: Floats,
    out: Floats,
    flat: Floats,
    starts: Ints,
    sizes: Ints,
    linear_layer: int,
    states: Floats,
    back: Floats,
    before: Floats,
    gradient: Floats,
) -> None:
    """Add the gradients of a row, given those of its logits in ``out``."""
    n_layers = len(sizes) - 1
    for layer in range(n_layers - 1, 0, -1):
        inputs, outputs = sizes[layer], sizes[layer + 1]
        bias = starts[layer] + inputs * outputs
        before[:inputs] = 0.0
        for k in range(outputs):
            if layer == n_layers - 1:
                pull = out[k]
            elif layer == linear_layer:
                pull = back[k]
            else:
                pull = back[k] * (np.float32(1.0) - states[layer, k] * states[layer, k])
            gradient[bias + k] += pull
            weights = flat[starts[layer] + k * inputs : starts[layer] + (k + 1) * inputs]
            own = gradient[starts[layer] + k * inputs : starts[layer] + (k + 1) * inputs]
            for j in range(inputs):
                own[j] += pull * states[layer - 1, j]
                before[j] += pull * weights[j]
        back[:inputs] = before[:inputs]
    width = sizes[1]
    for k in range(width):
        if linear_layer != 0:
            back[k] *= np.float32(1.0) - states[0, k] * states[0, k]
        gradient[starts[0] + sizes[0] * width + k] += back[k]
    for item in range(sizes[0]):
        value = dense[item]
        if value != 0.0:
            own = gradient[starts[0] + item * width : starts[0] + (item + 1) * width]
            for k in range(width):
                own[k] += value * back[k]


@njit(nogil=True, cache=True, fastmath={"nnan", "nsz", "contract", "reassoc", "arcp"}, error_model="numpy")
def _adam(
    flat: Floats,
    mean: Floats,
    square: Floats,
    gradient: Floats,
    rate: float,
    count: int,
    weight_decay: float,
    decays: tuple[float, float],
    epsilon: float,
) -> None:
    """Make one step of Adam, as ``thence.search.aerial.training`` does."""
    size = np.float32(rate / (1.0 - decays[0] ** count))
    root = np.float32(1.0 / math.sqrt(1.0 - decays[1] ** count))
    keep, add = np.float32(decays[0]), np.float32(1.0 - decays[0])
    keep_square, add_square = np.float32(decays[1]), np.float32(1.0 - decays[1])
    decay, least = np.float32(weight_decay), np.float32(epsilon)
    for k in range(len(flat)):
        pull = gradient[k] + decay * flat[k]
        mean[k] = keep * mean[k] + add * pull
        square[k] = keep_square * square[k] + add_square * pull * pull
        flat[k] -= size * mean[k] / (np.sqrt(square[k]) * root + least)
