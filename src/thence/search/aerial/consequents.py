"""Find consequents: the items of other features above the threshold (lines 11 to 13 of Algorithm 1).

Only combinations that passed the gate come here, and only the output rows of features that may be a consequent are
computed: all of them, or the neighbours of the combination. On the CPU a compiled loop looks for likely classes. A
search that keeps only the most probable rules looks at a sketch of the outputs first, on a graphics processor at the
outputs in half precision. This module must not enumerate combinations.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray
from torch import Tensor

from thence.search.aerial.antecedents import PassedBatch
from thence.search.aerial.autoencoder import UNSURE, QueryNetwork
from thence.search.neighbours import Neighbours
from thence.search.torch_runtime import one_thread, product_precision

LEAST_STATES = 512
"""The fewest states from which their main directions can be estimated."""
LEAST_WIDTH, LEAST_CELLS = 96, 1000
"""Smaller networks gain nothing from a sketch."""
STEP, LARGEST_SHARE = 16, 3
"""Numbers of dimensions are tried in these steps, up to a third of the width."""
TOLERABLE = 0.25
"""The largest error of a typical feature, as a share of the lead."""


@dataclass(frozen=True, eq=False)
class Sketch:
    """A few directions of the states, and the outputs along them.

    Args:
        centre: Mean state.
        directions: Orthonormal directions, width × dimensions.
        weight: Output weights along the directions, cells × dimensions.
        bias: Outputs at the centre.
        apart: Features × classes × classes: the error of the difference of two logits, per unit of distance.
    """

    centre: Tensor  # (width,)
    directions: Tensor  # (width, dimensions)
    weight: Tensor  # (cells, dimensions)
    bias: Tensor  # (cells,), at the centre
    apart: NDArray[np.float32]  # (features, classes, classes): error of one logit against another, per distance

    @cached_property
    def loose(self) -> NDArray[np.float32]:
        """The largest entry of ``apart`` per feature."""
        return np.asarray(self.apart.max(axis=(1, 2), initial=0.0))

    @staticmethod
    def of(states: Tensor, weight: Tensor, bias: Tensor, *, classes: int, lead: float) -> Sketch | None:
        """Make the smallest sketch that is accurate enough for typical states, or ``None`` if it would not help.

        Args:
            states: Typical states.
            weight: Output weights class by class: the first class of all features, then the second, and so on.
            bias: Output biases in the same order.
            classes: The number of classes of each feature.
            lead: By how much the logit of a likely class exceeds the others.
        """
        width = states.shape[1]
        if width < LEAST_WIDTH or len(weight) < LEAST_CELLS:
            return None
        centre = states.mean(dim=0)
        directions = torch.linalg.eigh(torch.cov(states.T)).eigenvectors.flip(1)
        for dimensions in range(STEP, width // LARGEST_SHARE + 1, STEP):
            few = directions[:, :dimensions].contiguous()
            sketch = Sketch.along(few, centre, weight, bias, classes=classes)
            _, reach = sketch.logits(states[:LEAST_STATES])
            if np.median(sketch.loose) * np.median(reach) <= TOLERABLE * lead:
                return sketch
        return None

    @staticmethod
    def along(directions: Tensor, centre: Tensor, weight: Tensor, bias: Tensor, *, classes: int) -> Sketch:
        """Make a sketch along given orthonormal directions; the other arguments are those of ``of``."""
        along = weight @ directions
        rest = (weight - along @ directions.T).view(classes, -1, weight.shape[1]).transpose(0, 1)
        apart = torch.cdist(rest, rest, compute_mode="donot_use_mm_for_euclid_dist")
        return Sketch(centre, directions, along, torch.addmv(bias, weight, centre), apart.numpy())

    def logits(self, states: Tensor) -> tuple[Tensor, NDArray[np.float32]]:
        """Return approximate logits of all cells, and the distance of each state from the directions."""
        moved = states - self.centre
        along = moved @ self.directions
        reach = (moved - along @ self.directions.T).norm(dim=1)
        return torch.addmm(self.bias, along, self.weight.T), reach.numpy()


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


Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

LEAD_ROUNDING = np.float32(1e-3)
"""Tolerance for rounding errors when leads are compared; classes that pass are checked again."""


@njit(nogil=True, cache=True, fastmath={"nnan", "nsz", "contract", "reassoc", "arcp"}, error_model="numpy")
def find_likely_classes(
    logits: Floats,
    own: Ints,
    allowed: NDArray[np.bool_],
    lead: float,
    threshold: float,
    loose: Floats,
    apart: Floats,
    reach: Floats,
    states: Floats,
    weight: Floats,
    bias: Floats,
) -> tuple[Ints, Ints, Floats]:
    """Find every class whose softmax is above a threshold of at least one half.

    If ``reach`` is not empty, the logits are approximate: in row ``r``, the lead of one class of feature ``f`` over
    another may be wrong by ``apart[f, one, other] * reach[r]``, and at most by ``loose[f] * reach[r]``. Classes that
    may be above the threshold are then computed again from ``states``, ``weight`` and ``bias``.

    Args:
        logits: Logits, rows × classes × features.
        own: Features to ignore in each row, −1 for none.
        allowed: Which classes may be returned, classes × features.
        lead: The logit of the threshold.
        threshold: The threshold.
        loose: Largest error per feature, or empty.
        apart: Error per feature and pair of classes, or empty.
        reach: Factor of the error per row, or empty if the logits are exact.
        states: Last hidden states, one per row.
        weight: Output weights, class by class.
        bias: Output biases, class by class.

    Returns:
        Row, cell (class by class) and softmax of each class found.
    """
    rows, classes, count = logits.shape
    approximate = len(reach) > 0
    first, second = np.empty(count, np.float32), np.empty(count, np.float32)
    fresh = np.empty(classes, np.float32)
    room = 256
    at, cells, shares = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.float32)
    found = 0
    for row in range(rows):
        one = logits[row]
        for feature in range(count):
            first[feature] = one[0, feature]
            second[feature] = -np.inf
        for code in range(1, classes):
            line = one[code]
            for feature in range(count):
                value = line[feature]
                lower = min(first[feature], value)
                first[feature] = max(first[feature], value)
                second[feature] = max(second[feature], lower)
        wanted = np.float32(lead) - LEAD_ROUNDING
        for feature in range(count):
            slack = loose[feature] * reach[row] if approximate else np.float32(0.0)
            if not first[feature] - second[feature] > wanted - slack:
                continue
            taken = False
            for slot in range(own.shape[1]):
                taken |= own[row, slot] == feature
            if taken:
                continue
            if approximate and slack < wanted and classes > 1:
                # No other class can then lead by that much, and the bound for this pair applies.
                best, next_best = _first_two(one, feature)
                bound = apart[feature, best, next_best] * reach[row]
                if not one[best, feature] - one[next_best, feature] > wanted - bound:
                    continue
            if approximate:
                for code in range(classes):
                    cell = code * count + feature
                    total = np.float32(0.0)
                    for place in range(states.shape[1]):
                        total += weight[cell, place] * states[row, place]
                    fresh[code] = total + bias[cell]
            else:
                for code in range(classes):
                    fresh[code] = one[code, feature]
            best = 0
            for code in range(1, classes):
                if fresh[code] > fresh[best]:
                    best = code
            total = np.float32(0.0)
            for code in range(classes):
                total += np.exp(fresh[code] - fresh[best])
            share = np.float32(1.0) / total
            if not share > threshold or not allowed[best, feature]:
                continue
            if found == room:
                room *= 2
                at, cells, shares = _longer(at, room), _longer(cells, room), _longer(shares, room)
            at[found], cells[found], shares[found] = row, best * count + feature, share
            found += 1
    return at[:found], cells[:found], shares[:found]


@njit(nogil=True, cache=True)
def _first_two(logits: Floats, feature: int) -> tuple[int, int]:
    """Return the class with the highest logit of a feature, and the next."""
    best, next_best = (0, 1) if logits[0, feature] >= logits[1, feature] else (1, 0)
    for code in range(2, len(logits)):
        value = logits[code, feature]
        if value > logits[best, feature]:
            best, next_best = code, best
        elif value > logits[next_best, feature]:
            next_best = code
    return best, next_best


@njit(nogil=True, cache=True)
def _longer(array, room):  # type: ignore[no-untyped-def]
    longer = np.empty(room, array.dtype)
    longer[: len(array)] = array
    return longer


Numbers = NDArray[np.int64]

SHARED_CELLS = 1 << 20
"""From this many outputs on, the work is spread over threads."""

LOOKED_CELLS = 4096
"""Blocks of fewer outputs gain nothing from a first look in half precision."""

LOOK_BYTES = 2
"""Memory for each feature of each combination during a first look, with what is left of it afterwards."""

FLOAT_STEP = 2.0**-22
"""More than the rounding of a probability to single precision."""


@dataclass(frozen=True, eq=False)
class Consequents:
    """Pairs of a combination and its consequent.

    Args:
        rows: The row of the combination in its batch.
        items: The item that is implied.
        probability: The network's probability of that item.
    """

    rows: NDArray[np.int64]
    items: NDArray[np.int64]
    probability: NDArray[np.float32]

    @staticmethod
    def concat(parts: list[Consequents]) -> Consequents:
        """Concatenate pairs, ordered by combination and then by item."""
        rows = np.concatenate([part.rows for part in parts] or [np.empty(0, np.int64)])
        items = np.concatenate([part.items for part in parts] or [np.empty(0, np.int64)])
        probability = np.concatenate([part.probability for part in parts] or [np.empty(0, np.float32)])
        # One key sorts faster than two, and most of the time the pairs are in order already.
        keys = rows * (int(items.max(initial=0)) + 1) + items
        if (keys[1:] > keys[:-1]).all():
            return Consequents(rows, items, probability)
        order = np.argsort(keys, kind="stable")
        return Consequents(rows[order], items[order], probability[order])


@dataclass(frozen=True, eq=False)
class _Block:
    """Output rows of some features with the same number of classes, class by class."""

    features: NDArray[np.int64]
    items: NDArray[np.int64]  # (classes, features)
    weight: Tensor  # (classes * features, width)
    bias: Tensor
    ok: NDArray[np.bool_]  # (classes, features)

    @cached_property
    def first_look(self) -> FirstLook | None:
        """The outputs in half precision, if that is worth while on this device."""
        if self.weight.device.type != "cuda" or len(self.weight) < LOOKED_CELLS:
            return None
        return FirstLook.of(self.weight, self.bias, classes=len(self.items))


@dataclass(frozen=True, eq=False)
class ConsequentSearch:
    """The search for consequents.

    Args:
        network: The network to query.
        consequent_ok: For each item, whether it may be a consequent.
        near: Which features may appear together, or ``None`` if all may.
        batch_bytes: Memory for one batch of outputs.
        sketches: One sketch per block of outputs, or none at all.
        sketched_at: The threshold that the sketches were made for.
        as_released: Whether an item at the threshold is a consequent, and the other values of a marked feature may be.
    """

    network: QueryNetwork
    consequent_ok: NDArray[np.bool_]
    near: Neighbours | None
    batch_bytes: int
    sketches: tuple[Sketch | None, ...] = ()  # one per block, once there are any
    sketched_at: float = 0.0
    as_released: bool = False

    @cached_property
    def features(self) -> NDArray[np.int64]:
        """The features that have an item which may be a consequent."""
        return np.unique(self.network.layout.feature_of_item[self.consequent_ok])

    @cached_property
    def blocks(self) -> list[_Block]:
        """The output rows of all these features."""
        return self._blocks(self.features)

    def with_sketches(self, passed: PassedBatch, threshold: float) -> ConsequentSearch:
        """Return a search that first looks at fewer dimensions, if that saves work at this threshold.

        Args:
            passed: A batch of combinations, whose states the sketches are made from.
            threshold: The threshold for consequents from now on.
        """
        if self.near is not None or self.network.device.type != "cpu" or len(passed.items) < LEAST_STATES:
            return self
        # A higher threshold needs fewer dimensions: try again each time its distance to one has halved.
        if 1.0 - threshold > 0.5 * (1.0 - self.sketched_at):
            return self
        sketches = tuple(
            Sketch.of(passed.states, block.weight, block.bias, classes=len(block.items), lead=_lead(threshold))
            for block in self.blocks
        )
        return replace(self, sketches=sketches, sketched_at=threshold)

    def find(
        self, passed: PassedBatch, threshold: float, *, settle: bool = True, floor: float = 0.0, keep: int | None = None
    ) -> Consequents:
        """Return the items above the threshold for every combination of a batch.

        Args:
            passed: The combinations.
            threshold: The threshold.
            settle: Whether values close to the threshold are decided in double precision; otherwise some items below
                it may be returned, and some above it left out, within ``UNSURE``.
            floor: Items with a lower probability may be left out, if values are not settled.
            keep: How many of the most probable items are wanted; others may be left out then. By default all.
        """
        if not len(passed.items) or not len(self.features):
            return Consequents.concat([])
        with product_precision("highest"):
            if self.near is not None:
                return Consequents.concat(self._around(self.features, passed, self.near, threshold))
            every = np.arange(len(passed.items))
            sketches = self.sketches or (None,) * len(self.blocks)
            parts = [
                part
                for block, sketch in zip(self.blocks, sketches, strict=True)
                for part in self._ask_all(block, passed, every, threshold, sketch, settle, floor, keep)
            ]
            return Consequents.concat(parts)

    def _around(
        self, features: NDArray[np.int64], passed: PassedBatch, near: Neighbours, threshold: float
    ) -> list[Consequents]:
        """Search near each combination; those with the same first feature share their candidate features."""
        layout = self.network.layout
        marked = layout.feature_of_item[passed.items]
        parts = []
        for feature in np.unique(marked[:, 0]):
            rows = np.flatnonzero(marked[:, 0] == feature)
            candidates = np.intersect1d(near.of_feature(int(feature)), features, assume_unique=True)
            for block in self._blocks(candidates):
                for part in self._ask(block, passed, rows, threshold):
                    target = layout.feature_of_item[part.items]
                    fits = np.ones(len(target), np.bool_)
                    for slot in range(1, marked.shape[1]):
                        fits &= near.together(marked[part.rows, slot], target)
                    parts.append(Consequents(part.rows[fits], part.items[fits], part.probability[fits]))
        return parts

    def _blocks(self, features: NDArray[np.int64]) -> list[_Block]:
        layout = self.network.layout
        blocks = []
        for classes in np.unique(layout.cardinalities[features]):
            members = features[layout.cardinalities[features] == classes]
            items = layout.offsets[members] + np.arange(classes)[:, None]
            rows = torch.from_numpy(items.reshape(-1)).to(self.network.device)
            ok = self.consequent_ok[items]
            blocks.append(_Block(members, items, self.network.exit[rows], self.network.exit_bias[rows], ok))
        return blocks

    def _ask_all(
        self,
        block: _Block,
        passed: PassedBatch,
        rows: NDArray[np.int64],
        threshold: float,
        sketch: Sketch | None,
        settle: bool,
        floor: float,
        keep: int | None,
    ) -> list[Consequents]:
        """Search whole output rows; if only the most probable items are wanted, after a first look if that helps."""
        look = block.first_look if keep is not None and floor >= 0.5 and not settle else None
        if look is None or keep is None or self.as_released:
            return self._ask(block, passed, rows, threshold, sketch, settle=settle)
        parts, step = [], max(1, self.batch_bytes // (LOOK_BYTES * block.items.shape[1]))
        place_of_item = torch.from_numpy(self._positions(block)[self.network.layout.feature_of_item])
        places, items = place_of_item.to(self.network.device), torch.from_numpy(passed.items)
        for low in range(0, len(rows), step):
            part = slice(low, low + step)
            own = places[items[part].to(self.network.device)]
            row, cell, values = _looked(block, look, passed.states[part], own, floor, keep)
            parts.append(Consequents(rows[part][row], block.items.reshape(-1)[cell], values))
            if len(values) >= keep:
                floor = max(floor, float(values.min()))
        return parts

    def _positions(self, block: _Block) -> NDArray[np.int64]:
        """Return the place of each feature among those of a block, −1 for others."""
        position = np.full(self.network.layout.n_features, -1, np.int64)
        position[block.features] = np.arange(len(block.features))
        return position

    def _ask(
        self,
        block: _Block,
        passed: PassedBatch,
        rows: NDArray[np.int64],
        threshold: float,
        sketch: Sketch | None = None,
        *,
        settle: bool = True,
    ) -> list[Consequents]:
        """Search whole output rows for some combinations, a bounded number of cells at a time."""
        layout = self.network.layout
        classes, count = block.items.shape
        position = self._positions(block)
        search = _compiled if self.network.device.type == "cpu" and threshold - UNSURE >= 0.5 else _above
        shared = search is _compiled and len(rows) * classes * count >= SHARED_CELLS

        def ask(part: NDArray[np.int64]) -> Consequents:
            states = passed.states[torch.from_numpy(part).to(self.network.device)]
            own = position[layout.feature_of_item[passed.items[part]]]
            if self.as_released:
                own = np.full_like(own, -1)
            row, cell, values = search(block, states, own, threshold - UNSURE, sketch)
            items = block.items.reshape(-1)[cell]
            if self.as_released:
                others = (passed.items[part[row]] != items[:, None]).all(axis=1)
                row, items, values = row[others], items[others], values[others]
            if not settle:
                return Consequents(part[row], items, values)
            return self._decide(passed, part[row], items, values, threshold)

        step = max(1, self.batch_bytes // (16 * classes * count))
        pieces = [rows[low : low + step] for low in range(0, len(rows), step)]
        if not shared:
            return [ask(piece) for piece in pieces]
        from thence.tables.bitmaps.bits import run_threads

        with one_thread():
            return run_threads(ask, pieces)

    def _decide(
        self,
        passed: PassedBatch,
        rows: NDArray[np.int64],
        items: NDArray[np.int64],
        values: NDArray[np.float32],
        threshold: float,
    ) -> Consequents:
        """Keep items above the threshold (or at it); values close to it are computed again in double precision."""
        keep = values >= threshold if self.as_released else values > threshold
        close = np.flatnonzero(np.abs(values - threshold) <= UNSURE)
        if len(close):
            exact = self.network.exact
            states = exact.states(passed.items[rows[close]])
            found = exact.marked_probability(states, items[close])
            keep[close] = (found >= threshold if self.as_released else found > threshold).cpu().numpy()
        return Consequents(rows[keep], items[keep], values[keep])


def _lead(threshold: float) -> float:
    """Return by how much the logit of a class must exceed all others of its feature to be above a threshold."""
    return math.log(threshold / (1.0 - threshold)) if threshold < 1.0 else math.inf


Hits = tuple[Numbers, Numbers, NDArray[np.float32]]
"""Row, cell (class by class) and softmax of the classes above a threshold."""


def _compiled(block: _Block, states: Tensor, own: Numbers, threshold: float, sketch: Sketch | None) -> Hits:
    """Find the classes above a threshold of at least one half, on the CPU."""
    classes, count = block.items.shape
    if sketch is None:
        logits = torch.addmm(block.bias, states, block.weight.T)
        loose = reach = np.empty(0, np.float32)
        apart = np.empty((0, 0, 0), np.float32)
    else:
        logits, reach = sketch.logits(states)
        loose, apart = sketch.loose, sketch.apart
    return find_likely_classes(
        logits.view(len(states), classes, count).numpy(),
        own,
        block.ok,
        _lead(threshold),
        threshold,
        loose,
        apart,
        reach,
        states.numpy(),
        block.weight.numpy(),
        block.bias.numpy(),
    )


def _looked(block: _Block, look: FirstLook, states: Tensor, own: Tensor, floor: float, keep: int) -> Hits:
    """Find the classes at or above a floor of at least one half, or the ``keep`` most probable, after a first look."""
    row, feature = look.candidates(states, min(floor, 1.0 - FLOAT_STEP) - FLOAT_STEP)
    free = (own[row] != feature.unsqueeze(1)).all(dim=1)
    row, feature = row[free], feature[free]
    code, share = look.again(states, row, feature)
    high = share >= floor
    if not block.ok.all():
        high &= torch.from_numpy(block.ok).to(states.device)[code, feature]
    if int(high.sum()) > keep:
        high &= share >= torch.where(high, share, 0.0).topk(keep).values[-1]
    row, cell = row[high], (code * block.items.shape[1] + feature)[high]
    return row.cpu().numpy(), cell.cpu().numpy(), share[high].cpu().numpy()


def _above(block: _Block, states: Tensor, own: Numbers, threshold: float, _: Sketch | None) -> Hits:
    """Find the classes above any threshold, on any device."""
    classes, count = block.items.shape
    logits = torch.addmm(block.bias, states, block.weight.T).view(len(states), classes, count)
    # Features of other blocks are written to a spare column.
    places = torch.from_numpy(np.where(own < 0, count, own)).to(logits.device)
    free = torch.ones(len(states), count + 1, dtype=torch.bool, device=logits.device).scatter_(1, places, False)[:, :-1]
    ok = None if block.ok.all() else torch.from_numpy(block.ok).to(logits.device)
    if threshold < 0.5:
        probability = torch.softmax(logits, dim=1)
        hits = (probability > threshold) & free.unsqueeze(1)
        if ok is not None:
            hits &= ok
        found = torch.nonzero(hits.view(-1)).squeeze(1)
        row, cell = np.divmod(found.cpu().numpy(), classes * count)
        return row, cell, probability.view(-1)[found].cpu().numpy()
    # Only the most likely class can be above one half: one number per feature decides, and most features end here.
    highest = logits.amax(dim=1)
    share = (logits - highest.unsqueeze(1)).exp_().sum(dim=1).reciprocal_()
    at, feature = torch.nonzero((share > threshold) & free, as_tuple=True)
    code = logits[at, :, feature].argmax(dim=1)
    if ok is not None:
        allowed = ok[code, feature]
        at, feature, code = at[allowed], feature[allowed], code[allowed]
    return at.cpu().numpy(), (code * count + feature).cpu().numpy(), share[at, feature].cpu().numpy()
