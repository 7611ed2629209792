"""A first look at the outputs in half precision, with a bound on the error.

A search that keeps only the most probable rules needs features in which one class has nearly the whole probability.
Half precision shows which features have no such class, several times as fast as single precision; the few others are
computed again. Shifts of the states and of the weights of a feature, which change no probability, keep the error small.
This module must not decide what a rule is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec

import torch
from torch import Tensor

__all__ = ["FirstLook"]

ROUNDING = 1.6 * 2.0**-9
"""Error of the difference of two logits per unit of the two norms that are multiplied. Rounding both factors to half
precision (11 bits) changes each of the two logits by at most 2⁻¹⁰ of the product of the norms, rounding their product
by 2⁻¹¹, and 256 sums in single precision by 2⁻¹⁵; what is left of the 1.6 is for the shifts."""
LARGEST = 6e4
"""Half precision ends at 65,504."""
SMALLEST = 1e-4
"""Allowance for what does not grow with the norms: the rounding of biases, and of numbers near zero, which have fewer
bits."""
NEAR_ONE = 4e-6
"""More than the error of a sum of powers near one in single precision."""
PRODUCT_CELLS, TILE_CELLS = 1 << 29, 1 << 26
"""The most products in memory at once: in half precision with the kernel, and in single precision without."""
MOST_ROWS = 1 << 15
"""The most rows that the kernel takes at once."""
AGAIN_CELLS = 1 << 28
"""The most numbers that are copied to compute features again."""


@dataclass(frozen=True, eq=False)
class FirstLook:
    """Output weights in half precision, and what is needed to compute a feature again.

    Args:
        half: Weights less their mean over the classes of a feature, classes × features × width.
        loose: Error of the difference of two logits per feature and unit of distance from the centre of the states.
        weight: The weights in double precision, features × classes × width.
        bias: The biases in double precision, features × classes.
    """

    half: Tensor
    loose: Tensor
    weight: Tensor
    bias: Tensor

    @staticmethod
    def of(weight: Tensor, bias: Tensor, *, classes: int) -> FirstLook | None:
        """Prepare output weights, or return ``None`` if half precision cannot hold them.

        Args:
            weight: Output weights class by class: the first class of all features, then the second, and so on.
            bias: Output biases in the same order.
            classes: The number of classes of each feature.
        """
        double = weight.double().view(classes, -1, weight.shape[1])
        apart = double - double.mean(dim=0)
        if not float(apart.abs().amax()) < LARGEST:
            return None
        loose = ROUNDING * apart.norm(dim=2).amax(dim=0)
        lines = double.transpose(0, 1).contiguous()
        return FirstLook(apart.half(), loose.float(), lines, bias.double().view(classes, -1).T.contiguous())

    def candidates(self, states: Tensor, share: float) -> tuple[Tensor, Tensor]:
        """Return the rows and features where a class may have at least this share, in order; none is missed.

        Args:
            states: The states.
            share: A share of at least one half.
        """
        centre = states.mean(dim=0)
        moved = (states - centre) * math.log2(math.e)
        at_centre = (self.weight @ centre.double() + self.bias).T
        at_centre = (at_centre - at_centre.mean(dim=0)) * math.log2(math.e)
        others = (1.0 - share) / share * (1.0 + SMALLEST)
        found = _mark(moved, self.half, at_centre.float().contiguous(), self.loose, others)
        row, feature = torch.nonzero(found, as_tuple=True)
        return row, feature

    def again(self, states: Tensor, row: Tensor, feature: Tensor) -> tuple[Tensor, Tensor]:
        """Return the most likely class of some rows and features, and its probability, from sums in double precision.

        Args:
            states: The states.
            row: The row of each pair.
            feature: The feature of each pair.
        """
        step = max(1, AGAIN_CELLS // (self.weight.shape[1] * self.weight.shape[2]))
        codes, shares = [feature.new_empty(0)], [states.new_empty(0)]
        for low in range(0, len(row), step):
            here, there = row[low : low + step], feature[low : low + step]
            logits = torch.bmm(self.weight[there], states[here].double().unsqueeze(-1)).squeeze(-1)
            share, code = torch.softmax(logits + self.bias[there], dim=1).max(dim=1)
            codes.append(code)
            shares.append(share.to(states.dtype))
        return torch.cat(codes), torch.cat(shares)


def _mark(moved: Tensor, weight: Tensor, bias: Tensor, loose: Tensor, others: float) -> Tensor:
    """Mark the features of each row in which all classes but one may have a small share: see ``mark_likely``."""
    reach, half = moved.norm(dim=1), moved.half()
    small = float(reach.amax() * loose.amax()) < LARGEST * ROUNDING
    if half.device.type == "cuda" and small and find_spec("triton") is not None:
        from thence.search.aerial.device_kernels import mark_likely

        classes, count, width = weight.shape
        lines, found = weight.view(-1, width).T, torch.empty(len(half), count, dtype=torch.int8, device=half.device)
        with _long_sums():
            for rows in _pieces(len(half), min(PRODUCT_CELLS // (classes * count), MOST_ROWS)):
                products = torch.mm(half[rows], lines).view(-1, classes, count)
                mark_likely(products, bias, reach[rows], loose, others, NEAR_ONE, found[rows])
        return found
    marked = []
    for rows in _pieces(len(half), TILE_CELLS // len(loose)):
        highest = torch.full((len(half[rows]), len(loose)), -torch.inf, device=half.device)
        total = torch.zeros_like(highest)
        for part, shift in zip(weight, bias, strict=True):
            value = torch.addmm(shift, half[rows].float(), part.float().T)
            power = (highest - value).abs_().neg_().exp2_()
            total = torch.where(value > highest, total * power + 1.0, total + power)
            highest = torch.maximum(highest, value)
        marked.append(total <= 1.0 + NEAR_ONE + others * torch.exp2(reach[rows, None] * loose))
    return torch.cat(marked)


def _pieces(rows: int, most: int) -> list[slice]:
    """Cut rows into slices of at most so many, or of one."""
    return [slice(low, low + max(1, most)) for low in range(0, rows, max(1, most))]


@contextmanager
def _long_sums() -> Iterator[None]:
    """Add products of half precision in single precision inside the context, whatever the global setting is."""
    settings = torch.backends.cuda.matmul
    chosen = settings.allow_fp16_reduced_precision_reduction
    settings.allow_fp16_reduced_precision_reduction = False
    try:
        yield
    finally:
        settings.allow_fp16_reduced_precision_reduction = chosen
