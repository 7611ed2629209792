"""Kernels for graphics processors: loss and gradient of many softmaxes, centred rows, and likely classes.

Each replaces several passes over a large array by one. They are written in Triton, which comes with torch on Linux;
callers look for it first, and compute the same with tensors if it is missing. This module must not know about networks,
tables or rules.
"""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

# Triton has no types, and is not installed everywhere. Without it this module can be read, but not used.
_there = find_spec("triton") is not None
triton: Any = importlib.import_module("triton") if _there else SimpleNamespace(jit=lambda function: function)
tl: Any = importlib.import_module("triton.language") if _there else None

ROWS, FEATURES, WARPS = 16, 32, 2
"""Rows and features of one program of ``answer_group``, and its threads by 32."""
LOOKED = 512
"""Features of one program of ``mark_likely``."""


def answer_group(
    logits: Tensor, codes: Tensor, features: Tensor, *, start: int, classes: int, closest: float, sums: Tensor
) -> Tensor:
    """Replace the logits of some features by the gradient of the mean binary cross-entropy of a row.

    Args:
        logits: Rows × items, which are overwritten. The items of the group are consecutive, class by class.
        codes: The target of each feature, rows × features, −1 where it is missing.
        features: The features of the group.
        start: The first item of the group.
        classes: The number of classes of each feature.
        closest: Probabilities are kept this far from 0 and 1.
        sums: Blocks of ``ROWS`` rows × items; the sums of the gradients over each block are written there.

    Returns:
        The loss, and the number of features with a target.
    """
    rows, n_items = logits.shape
    count = len(features)
    grid = (triton.cdiv(count, FEATURES), triton.cdiv(rows, ROWS))
    loss_sums = torch.empty(grid[1], grid[0], 2, device=logits.device)
    _answer[grid](
        logits,
        codes,
        features,
        sums,
        loss_sums,
        rows,
        codes.shape[1],
        n_items,
        start,
        count,
        classes,
        1.0 / rows,
        closest,
        tall=ROWS,
        broad=FEATURES,
        num_warps=WARPS,
    )
    return loss_sums.sum(dim=(0, 1), dtype=torch.float64)


@triton.jit  # type: ignore[untyped-decorator]
def _answer(  # type: ignore[no-untyped-def]
    logits,
    codes,
    features,
    sums,
    loss_sums,
    rows,
    n_features,
    n_items,
    start,
    count,
    classes,
    scale,
    closest,
    tall: tl.constexpr,
    broad: tl.constexpr,
):
    place = tl.program_id(0) * broad + tl.arange(0, broad)
    row = (tl.program_id(1) * tall + tl.arange(0, tall)).to(tl.int64)
    inside = place < count
    valid = (row < rows)[:, None] & inside[None, :]
    feature = tl.load(features + place, mask=inside, other=0)
    code = tl.load(codes + row[:, None] * n_features + feature[None, :], mask=valid, other=-1).to(tl.int32)
    first = logits + row[:, None] * n_items + start + place[None, :]
    highest = tl.full([tall, broad], -float("inf"), tl.float32)
    total = tl.zeros([tall, broad], tl.float32)
    for number in range(classes):
        value = tl.load(first + number * count, mask=valid, other=0.0)
        power = tl.exp(-tl.abs(value - highest))
        total = tl.where(value > highest, total * power + 1.0, total + power)
        highest = tl.maximum(highest, value)
    over = 1.0 / total
    pull = tl.full([tall, broad], -1.0, tl.float32)
    # One logarithm per feature. The product cannot vanish: shares add up to one, so that at most one rest is small.
    likelihood = tl.full([tall, broad], 1.0, tl.float32)
    for number in range(classes):
        share = tl.exp(tl.load(first + number * count, mask=valid, other=0.0) - highest) * over
        rest = tl.maximum(1.0 - share, closest)
        target = code == number
        pull += tl.where(target, 0.0, share / rest)
        likelihood *= tl.where(target, tl.maximum(share, closest), rest)
    known = tl.where(code >= 0, 1.0, 0.0)
    factor = known * scale
    for number in range(classes):
        share = tl.exp(tl.load(first + number * count, mask=valid, other=0.0) - highest) * over
        own = tl.where(code == number, -1.0, share / tl.maximum(1.0 - share, closest))
        gradient = (own - share * pull) * factor
        tl.store(first + number * count, gradient, mask=valid)
        added = sums + tl.program_id(1).to(tl.int64) * n_items + start + number * count + place
        tl.store(added, tl.sum(gradient, axis=0), mask=inside)
    place_of_sums = loss_sums + (tl.program_id(1) * tl.num_programs(0) + tl.program_id(0)) * 2
    tl.store(place_of_sums, tl.sum(tl.sum(-tl.log(likelihood) * known, axis=1), axis=0))
    tl.store(place_of_sums + 1, tl.sum(tl.sum(known, axis=1), axis=0))


def centre_rows(matrix: Tensor, offsets: Tensor) -> None:
    """Subtract the mean row of each block of rows from its rows, in place.

    Args:
        matrix: The rows.
        offsets: The first row of each block, and the number of rows.
    """
    width = matrix.shape[1]
    broad = min(1024, triton.next_power_of_2(width))
    _centre[(len(offsets) - 1, triton.cdiv(width, broad))](matrix, offsets, width, broad=broad)


@triton.jit  # type: ignore[untyped-decorator]
def _centre(matrix, offsets, width, broad: tl.constexpr):  # type: ignore[no-untyped-def]
    low = tl.load(offsets + tl.program_id(0))
    high = tl.load(offsets + tl.program_id(0) + 1)
    along = tl.program_id(1) * broad + tl.arange(0, broad)
    inside = along < width
    total = tl.zeros([broad], tl.float32)
    for row in range(low, high):
        total += tl.load(matrix + row * width + along, mask=inside, other=0.0)
    mean = total / (high - low).to(tl.float32)
    for row in range(low, high):
        at = matrix + row * width + along
        tl.store(at, tl.load(at, mask=inside, other=0.0) - mean, mask=inside)


def mark_likely(
    products: Tensor, bias: Tensor, reach: Tensor, loose: Tensor, others: float, near_one: float, found: Tensor
) -> None:
    """Mark the features of each row in which the classes but the most likely one have a small share.

    Logits are powers of two here: the logits that others use, divided by the natural logarithm of two.

    Args:
        products: The logits without their biases, rows × classes × features; at most 65,535 rows.
        bias: Classes × features.
        reach: Allowance per row.
        loose: Allowance per feature; the two are multiplied, and are an error of the difference of two logits.
        others: The share of all other classes, divided by that of the most likely one.
        near_one: Allowance for the sum of the powers, of which the largest is one.
        found: One byte per row and feature, set to 1 where the other classes have at most that share, within the
            allowances, and to 0 elsewhere.
    """
    rows, classes, count = products.shape
    grid = (triton.cdiv(count, LOOKED), rows)
    _mark[grid](products, bias, reach, loose, found, count, classes, others, 1.0 + near_one, broad=LOOKED)


@triton.jit  # type: ignore[untyped-decorator]
def _mark(  # type: ignore[no-untyped-def]
    products, bias, reach, loose, found, count, classes, others, one, broad: tl.constexpr
):
    feature = tl.program_id(0) * broad + tl.arange(0, broad)
    row = tl.program_id(1).to(tl.int64)
    inside = feature < count
    highest = tl.full([broad], -float("inf"), tl.float32)
    total = tl.zeros([broad], tl.float32)
    for code in range(classes):
        cell = code * count + feature
        value = tl.load(products + row * classes * count + cell, mask=inside, other=0.0).to(tl.float32)
        value += tl.load(bias + cell, mask=inside, other=0.0)
        # The sum of the powers, divided by the largest: one power per class.
        power = tl.exp2(-tl.abs(value - highest))
        total = tl.where(value > highest, total * power + 1.0, total + power)
        highest = tl.maximum(highest, value)
    allowed = tl.exp2(tl.load(reach + row) * tl.load(loose + feature, mask=inside, other=0.0))
    tl.store(found + row * count + feature, (total <= one + others * allowed).to(tl.int8), mask=inside)
