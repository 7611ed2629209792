"""ARM-AE (Berteloot, Khoury & Durand 2023), written from its description.

An autoencoder whose layers are all as wide as the table has items learns to repeat rows. Rules are then read
backwards: an item put in is taken for a consequent, and what comes out highest for its antecedent. Nothing in the
network says that the items of a feature exclude each other (no softmax per feature), and nothing in its training asks
which items *follow* from which: copying the input is a perfect solution. Weak rules are to be expected; see the guide.

Where the description meets the contract of all miners, the contract holds: the items of a rule belong to different
features, and each rule is returned once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from thence.counting.recount import recount
from thence.errors import ConfigError
from thence.miners.base import BaseMiner
from thence.miners.flat import MAX_ROWS, canonical_order, flat_codes, one_hot, require_codes
from thence.miners.torch_runtime import one_thread
from thence.progress import Progress, silent
from thence.rules.constraints import Constraint
from thence.rules.ruleset import RuleSet
from thence.tables.admissible import item_masks, trivial_pairs
from thence.tables.transactions import Block, TransactionTable

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["ARMAE"]

Flags = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.int64]

LAYERS = 4
"""Two layers of encoder, two of decoder."""


@dataclass(frozen=True, kw_only=True)
class ARMAE(BaseMiner):
    """Association rules from an autoencoder read backwards.

    For every possible consequent the network grows ``rules_per_consequent`` antecedents item by item, up to
    ``max_antecedents``; what is there after each item is a rule. Two antecedents of one consequent may share at most
    the part ``likeness`` of their items. Nothing is thresholded: the exact counts say what the rules are worth.
    ``loss`` is what training minimises, the absolute error as published or the cross-entropy.

    >>> import polars as pl
    >>> table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "y"] * 50, "b": ["u", "v"] * 50}))
    >>> len(ARMAE(rules_per_consequent=1, max_antecedents=1).mine(table))
    4
    """

    name: ClassVar[str] = "arm-ae"
    order_free: ClassVar[bool] = True

    max_antecedents: int = 2
    rules_per_consequent: int = 2
    likeness: float = 0.8
    epochs: int = 2
    batch_size: int = 128
    learning_rate: float = 0.01
    loss: Literal["absolute", "cross-entropy"] = "absolute"
    antecedent: Constraint = None
    consequent: Constraint = None
    context_consequents: bool = False
    max_rows: int = MAX_ROWS
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("max_antecedents", "rules_per_consequent", "epochs", "batch_size"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ConfigError(f"{name} must be a whole number from 1 on, got {value!r}")
        if not 0 <= self.likeness <= 1:
            raise ConfigError(f"likeness must lie between 0 and 1, got {self.likeness!r}")
        if self.loss not in ("absolute", "cross-entropy"):
            raise ConfigError(f"unknown loss '{self.loss}'", hint="use 'absolute' or 'cross-entropy'")
        if not self.learning_rate > 0:
            raise ConfigError(f"learning_rate must be positive, got {self.learning_rate!r}")

    @classmethod
    def sized_like(cls, rules: RuleSet, **settings: Any) -> Self:
        """A miner with as many rules per consequent as some rules have per feature, as in the published comparison."""
        per_feature = len(rules) // max(int(rules.facts.get("n_features") or 1), 1)
        return cls(rules_per_consequent=max(per_feature, 1), **settings)

    def mine(self, table: TransactionTable, *, progress: Progress = silent) -> RuleSet:
        """Train on a table and read rules off the network; blocks of a lifted table have a network each."""
        require_codes(table, self.name)
        if table.n_rows == 0:
            return RuleSet.empty("the table has no rows to mine", *table.notes)
        return RuleSet.concat([self._mine_block(table, at, progress) for at in range(len(table.blocks))])

    def _mine_block(self, table: TransactionTable, at: int, progress: Progress) -> RuleSet:
        block = table.blocks[at]
        left, right = item_masks(
            block, antecedent=self.antecedent, consequent=self.consequent, context_consequents=self.context_consequents
        )
        # Items in an order of their own, so that the same table with its columns in another order has the same rules.
        items = canonical_order(block)
        items = items[block.minable[items]]
        left, right = left[items], right[items]
        if not left.any() or not right.any():
            return RuleSet.empty("no item may stand in an antecedent, or none as a consequent: constants never do")
        codes = flat_codes(block, max_rows=self.max_rows, miner=self.name)
        with one_thread():
            layers = self._train(block, codes, items, progress)
            antecedents, consequents = self._extract(layers, left, right, _apart(block, items))
        numbers = np.append(items, -1).astype(np.int32)
        return recount(table, at, numbers[antecedents], numbers[consequents])

    def _train(
        self, block: Block, codes: npt.NDArray[np.int16], items: Indices, progress: Progress
    ) -> list[tuple[Tensor, Tensor]]:
        import torch
        from torch.nn import functional

        measures: dict[str, Callable[[Tensor, Tensor], Tensor]]
        measures = {"absolute": functional.l1_loss, "cross-entropy": functional.binary_cross_entropy}
        measure = measures[self.loss]
        generator = torch.Generator().manual_seed(self.seed)
        layers = _fresh_layers(len(items), generator)
        parameters = [tensor.requires_grad_() for layer in layers for tensor in layer]
        optimiser = torch.optim.Adam(parameters, lr=self.learning_rate)
        steps = self.epochs * math.ceil(len(codes) / self.batch_size)
        for step, rows in enumerate(_batches(len(codes), self.batch_size, self.epochs, generator)):
            held = torch.from_numpy(one_hot(block, codes[rows], items)).float()
            loss = measure(_forward(layers, held), held)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            if step % 32 == 0:
                progress("training", step, steps, f"loss {float(loss.detach()):.4f}")
        progress("training", steps, steps)
        return [(weight.detach(), bias.detach()) for weight, bias in layers]

    def _extract(
        self, layers: list[tuple[Tensor, Tensor]], left: Flags, right: Flags, apart: Flags
    ) -> tuple[Indices, Indices]:
        """Grow antecedents for all consequents at once; positions of items, −1 where nothing could be added."""
        import torch

        consequents = np.flatnonzero(right)
        everyone = np.arange(len(consequents))
        width = self.max_antecedents
        earlier = np.full((len(consequents), self.rules_per_consequent, width), -1, np.int64)
        # First items with which no antecedent can be completed any more; without this the search would stand still.
        spent = np.zeros((len(consequents), len(left)), bool)
        found: list[Indices] = []
        for number in range(self.rules_per_consequent):
            grown = earlier[:, number]
            marked = torch.zeros(len(consequents), len(left))
            marked[everyone, consequents] = 1.0
            allowed = left[None, :] & apart[consequents]
            for depth in range(width):
                with torch.inference_mode():
                    output = _forward(layers, marked).numpy()
                open_to = allowed & ~_too_alike(grown, earlier[:, :number], len(left), self.likeness)
                if depth == 0:
                    open_to &= ~spent
                best = np.where(open_to, output, -np.inf).argmax(axis=1)
                best = np.where(open_to[everyone, best], best, -1)
                grown[:, depth] = best
                going = np.flatnonzero(best >= 0)
                marked[going, best[going]] = 1.0
                allowed[going] &= apart[best[going]]
                allowed[best < 0] = False
                # Descending, so that the −1 of antecedents that are still short comes last.
                antecedents = -np.sort(-grown[going], axis=1)
                found.append(np.concatenate([consequents[going, None], antecedents], axis=1))
            short = np.flatnonzero((grown[:, 0] >= 0) & (grown[:, -1] < 0))
            spent[short, grown[short, 0]] = True
            if (grown[:, 0] < 0).all():
                break
        rules = np.unique(np.concatenate(found), axis=0)
        return rules[:, 1:], rules[:, 0]


def _fresh_layers(width: int, generator: Any) -> list[tuple[Tensor, Tensor]]:
    """Equally wide layers with torch's usual uniform weights, drawn from a generator of their own."""
    import torch

    bound = 1 / math.sqrt(max(width, 1))
    shapes = [(width, width), (width,)] * LAYERS
    drawn = [(torch.rand(*shape, generator=generator) * 2 - 1) * bound for shape in shapes]
    return list(zip(drawn[::2], drawn[1::2], strict=True))


def _forward(layers: list[tuple[Tensor, Tensor]], held: Tensor) -> Tensor:
    import torch

    state = held
    for weight, bias in layers[:-1]:
        state = torch.tanh(torch.nn.functional.linear(state, weight, bias))
    weight, bias = layers[-1]
    return torch.sigmoid(torch.nn.functional.linear(state, weight, bias))


def _batches(n_rows: int, size: int, epochs: int, generator: Any) -> Iterator[Indices]:
    import torch

    for _ in range(epochs):
        order = torch.randperm(n_rows, generator=generator).numpy()
        for start in range(0, n_rows, size):
            yield order[start : start + size]


def _apart(block: Block, items: Indices) -> Flags:
    """Which pairs of items may stand in one rule: those of different features that do not say the same."""
    columns = block.column_of_item[items]
    out = columns[:, None] != columns[None, :]
    trivial = trivial_pairs(block)
    return np.asarray(out if trivial is None else out & ~trivial[np.ix_(items, items)])


def _too_alike(grown: Indices, earlier: Indices, n_items: int, likeness: float) -> Flags:
    """Which items would make an antecedent share more than the given part with an earlier one of its consequent.

    ``grown`` is consequents × items, ``earlier`` consequents × antecedents × items, both with −1 for no item.
    """
    out = np.zeros((len(grown), n_items + 1), bool)
    same = (grown[:, None, :, None] == earlier[:, :, None, :]) & (grown[:, None, :, None] >= 0)
    shared = same.any(axis=3).sum(axis=2)
    row, number = np.nonzero(shared + 1 > likeness * grown.shape[1])
    out[row[:, None], earlier[row, number]] = True
    return out[:, :-1]
