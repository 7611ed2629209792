"""ARM-AE (Berteloot, Khoury & Durand 2023), written from its description.

An autoencoder with layers as wide as the number of items learns to reconstruct rows. Rules are then read backwards: an
input item becomes the consequent, and the items with the highest outputs its antecedent. Nothing in the network says
that the items of a feature exclude each other (there is no softmax per feature), and nothing in its training rewards
finding which items *follow* from which: copying the input is a perfect solution. Expect weak rules; see the guide.

Where the description and the contract of all miners differ, the contract applies: the items of a rule belong to
different features, and each rule is returned once. ``ARMAE.published`` follows the released code of the paper instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from thence._base.progress import Progress, silent
from thence._base.settings.numbers import MOST_ANTECEDENTS, require_integer
from thence.errors import ConfigError
from thence.lab.baselines.arm_ae_steps import RowTrainer
from thence.language.constraints import Constraint
from thence.search.base import BaseMiner
from thence.search.codes import MAX_ROWS, encode_one_hot, expand_codes, order_items, require_codes
from thence.search.torch_runtime import one_thread, require_torch
from thence.statements.counting.recount import recount
from thence.statements.rules.ruleset import RuleSet
from thence.tables.admissibility import item_masks, trivial_pairs
from thence.tables.transactions import Block, TransactionTable

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["ARMAE"]

Flags = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.int64]

# Rows that are written out at once for training row by row.
_CHUNK = 4096


@dataclass(frozen=True, kw_only=True)
class ARMAE(BaseMiner):
    """Mine rules with an autoencoder that is read backwards (Berteloot, Khoury & Durand 2023).

    For every possible consequent the network grows antecedents item by item; the antecedent after each item gives a
    rule. There are no thresholds: the exact counts show the quality of the rules. Needs torch
    (``pip install 'thence[baselines]'``).

    Args:
        max_antecedents: The largest number of antecedent items.
        rules_per_consequent: How many antecedents to grow for each consequent.
        likeness: The largest share of items that two antecedents of one consequent may have in common, from 0 to 1.
        epochs: Number of passes over the rows.
        batch_size: Rows per step of training.
        learning_rate: Learning rate of Adam.
        loss: What training minimises: ``"absolute"`` error, as published, or ``"cross-entropy"``.
        layers: Number of layers.
        output: The function of the output layer: ``"sigmoid"`` or ``"tanh"``. The other layers have tanh.
        one_per_feature: Whether the items of a rule belong to different features. Otherwise two bins of one sensor may
            meet in a rule, which then never holds.
        unique: Whether each rule is returned once. Otherwise a rule with one antecedent is returned again for each
            antecedent that begins with it.
        antecedent: Which items may be in an antecedent.
        consequent: Which items may be a consequent.
        context_consequents: Whether constants and graph context may be consequents.
        max_rows: The largest number of rows of a block to write out; longer tables are refused.
        seed: Random seed.

    Raises:
        ConfigError: If a setting has an impossible value.

    Examples:
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
    layers: int = 4
    output: Literal["sigmoid", "tanh"] = "sigmoid"
    one_per_feature: bool = True
    unique: bool = True
    antecedent: Constraint = None
    consequent: Constraint = None
    context_consequents: bool = False
    max_rows: int = MAX_ROWS
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("max_antecedents", "rules_per_consequent", "epochs", "batch_size", "layers"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ConfigError(f"{name} must be an integer of at least 1, got {value!r}")
        require_integer("max_antecedents", self.max_antecedents, most=MOST_ANTECEDENTS)
        if not 0 <= self.likeness <= 1:
            raise ConfigError(f"likeness must be from 0 to 1, got {self.likeness!r}")
        if self.loss not in ("absolute", "cross-entropy"):
            raise ConfigError(f"unknown loss '{self.loss}'", hint="use 'absolute' or 'cross-entropy'")
        if self.output not in ("sigmoid", "tanh"):
            raise ConfigError(f"unknown output '{self.output}'", hint="use 'sigmoid' or 'tanh'")
        if self.output == "tanh" and self.loss == "cross-entropy":
            raise ConfigError("cross-entropy needs outputs from 0 to 1", hint="use output='sigmoid'")
        if not self.learning_rate > 0:
            raise ConfigError(f"learning_rate must be positive, got {self.learning_rate!r}")

    @classmethod
    def published(cls, **changes: Any) -> Self:
        """Make a miner with the settings of the released code of the paper, which differ from the paper's text.

        Six layers, each with tanh, trained row by row; two antecedents per consequent, and a rule after each of their
        items: four rules per item, of which one is a duplicate. That code reads bins only, so pass a table without
        properties.

        Args:
            **changes: Settings that override all others, so that the effect of each can be told alone.

        Raises:
            ConfigError: If a setting has an impossible value.

        Examples:
            >>> ARMAE.published(epochs=1).layers
            6
        """
        chosen: dict[str, Any] = {
            "max_antecedents": 2,
            "rules_per_consequent": 2,
            "likeness": 0.8,
            "epochs": 5,
            "batch_size": 1,
            "learning_rate": 1e-4,
            "loss": "absolute",
            "layers": 6,
            "output": "tanh",
            "one_per_feature": False,
            "unique": False,
            "context_consequents": True,
        }
        return cls(**(chosen | changes))

    @classmethod
    def sized_like(cls, rules: RuleSet, **settings: Any) -> Self:
        """Make a miner with as many rules per consequent as some rules have per feature, as published.

        Args:
            rules: The rules to compare with.
            **settings: Other settings of the miner.

        Raises:
            ConfigError: If a setting has an impossible value.
        """
        per_feature = len(rules) // max(int(rules.facts.get("n_features") or 1), 1)
        return cls(rules_per_consequent=max(per_feature, 1), **settings)

    def mine(self, table: TransactionTable, *, progress: Progress = silent) -> RuleSet:
        """Train a network per block of a table and return its rules, with exact counts.

        Args:
            table: A discretized table.
            progress: Called as training advances.

        Raises:
            MissingExtraError: If torch is not installed.
            MiningError: If the table is of another kind, or has too many rows.
        """
        require_codes(table, self.name)
        require_torch(extra="baselines")
        if table.n_rows == 0:
            return RuleSet.empty("the table has no rows to mine", *table.notes)
        return RuleSet.concat([self._mine_block(table, at, progress) for at in range(len(table.blocks))])

    def _mine_block(self, table: TransactionTable, at: int, progress: Progress) -> RuleSet:
        block = table.blocks[at]
        left, right = item_masks(
            block, antecedent=self.antecedent, consequent=self.consequent, context_consequents=self.context_consequents
        )
        # Items are ordered by feature, so that the order of the columns in the table does not change the rules.
        items = order_items(block)
        items = items[block.minable[items]]
        left, right = left[items], right[items]
        if not left.any() or not right.any():
            return RuleSet.empty("no item may be in an antecedent, or none may be a consequent (constants never may)")
        codes = expand_codes(block, max_rows=self.max_rows, miner=self.name)
        with one_thread():
            layers = self._train(block, codes, items, progress)
            apart = _apart(block, items) if self.one_per_feature else ~np.eye(len(items), dtype=bool)
            antecedents, consequents = self._extract(layers, left, right, apart)
        numbers = np.append(items, -1).astype(np.int32)
        return recount(numbers[antecedents], numbers[consequents], table, block=at)

    def _train(
        self, block: Block, codes: npt.NDArray[np.int16], items: Indices, progress: Progress
    ) -> list[tuple[Tensor, Tensor]]:
        import torch
        from torch.nn import functional

        generator = torch.Generator().manual_seed(self.seed)
        layers = _fresh_layers(len(items), self.layers, generator)
        batches = _batches(len(codes), self.batch_size, self.epochs, generator)
        if self.batch_size == 1 and self.loss == "absolute":
            return self._train_rows(layers, block, codes, items, batches, progress)
        measures: dict[str, Callable[[Tensor, Tensor], Tensor]]
        measures = {"absolute": functional.l1_loss, "cross-entropy": functional.binary_cross_entropy}
        measure = measures[self.loss]
        parameters = [tensor.requires_grad_() for layer in layers for tensor in layer]
        optimiser = torch.optim.Adam(parameters, lr=self.learning_rate)
        steps = self.epochs * math.ceil(len(codes) / self.batch_size)
        for step, rows in enumerate(batches):
            held = torch.from_numpy(encode_one_hot(block, codes[rows], items)).float()
            loss = measure(_forward(layers, held, self.output), held)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            if step % 32 == 0:
                progress("training", step, steps, f"loss {float(loss.detach()):.4f}")
        progress("training", steps, steps)
        return [(weight.detach(), bias.detach()) for weight, bias in layers]

    def _train_rows(
        self,
        layers: list[tuple[Tensor, Tensor]],
        block: Block,
        codes: npt.NDArray[np.int16],
        items: Indices,
        batches: Iterator[Indices],
        progress: Progress,
    ) -> list[tuple[Tensor, Tensor]]:
        """Train with batches of one row in compiled code."""
        import torch

        trainer = RowTrainer(
            np.stack([weight.numpy() for weight, _ in layers]),
            np.stack([bias.numpy() for _, bias in layers]),
            learning_rate=self.learning_rate,
            tanh_output=self.output == "tanh",
        )
        steps, done = self.epochs * len(codes), 0
        while len(rows := np.array([int(row[0]) for row in islice(batches, _CHUNK)], np.int64)):
            trainer.train(encode_one_hot(block, codes[rows], items))
            done += len(rows)
            progress("training", done, steps)
        trained = zip(torch.from_numpy(trainer.weights), torch.from_numpy(trainer.biases), strict=True)
        return [(weight, bias) for weight, bias in trained]

    def _extract(
        self, layers: list[tuple[Tensor, Tensor]], left: Flags, right: Flags, apart: Flags
    ) -> tuple[Indices, Indices]:
        """Grow antecedents for all consequents at once; return positions of items, −1 where none could be added."""
        import torch

        consequents = np.flatnonzero(right)
        everyone = np.arange(len(consequents))
        width = self.max_antecedents
        earlier = np.full((len(consequents), self.rules_per_consequent, width), -1, np.int64)
        # First items with which no antecedent can be completed any more; otherwise they would be tried again and again.
        spent = np.zeros((len(consequents), len(left)), bool)
        found: list[Indices] = []
        for number in range(self.rules_per_consequent):
            grown = earlier[:, number]
            marked = torch.zeros(len(consequents), len(left))
            marked[everyone, consequents] = 1.0
            allowed = left[None, :] & apart[consequents]
            for depth in range(width):
                with torch.inference_mode():
                    output = _forward(layers, marked, self.output).numpy()
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
                # Descending, so that the −1 of shorter antecedents comes last.
                antecedents = -np.sort(-grown[going], axis=1)
                found.append(np.concatenate([consequents[going, None], antecedents], axis=1))
            short = np.flatnonzero((grown[:, 0] >= 0) & (grown[:, -1] < 0))
            spent[short, grown[short, 0]] = True
            if (grown[:, 0] < 0).all():
                break
        rules = np.concatenate(found)
        if self.unique:
            rules = np.unique(rules, axis=0)
        return rules[:, 1:], rules[:, 0]


def _fresh_layers(width: int, count: int, generator: Any) -> list[tuple[Tensor, Tensor]]:
    """Make layers of equal width with torch's default uniform weights, drawn from a given generator."""
    import torch

    bound = 1 / math.sqrt(max(width, 1))
    shapes = [(width, width), (width,)] * count
    drawn = [(torch.rand(*shape, generator=generator) * 2 - 1) * bound for shape in shapes]
    return list(zip(drawn[::2], drawn[1::2], strict=True))


def _forward(layers: list[tuple[Tensor, Tensor]], held: Tensor, output: str) -> Tensor:
    import torch

    state = held
    for weight, bias in layers[:-1]:
        state = torch.tanh(torch.nn.functional.linear(state, weight, bias))
    weight, bias = layers[-1]
    return {"sigmoid": torch.sigmoid, "tanh": torch.tanh}[output](torch.nn.functional.linear(state, weight, bias))


def _batches(n_rows: int, size: int, epochs: int, generator: Any) -> Iterator[Indices]:
    import torch

    for _ in range(epochs):
        order = torch.randperm(n_rows, generator=generator).numpy()
        for start in range(0, n_rows, size):
            yield order[start : start + size]


def _apart(block: Block, items: Indices) -> Flags:
    """Return which pairs of items may be in the same rule: those of different features that do not imply each other."""
    columns = block.column_of_item[items]
    out = columns[:, None] != columns[None, :]
    trivial = trivial_pairs(block)
    return np.asarray(out if trivial is None else out & ~trivial[np.ix_(items, items)])


def _too_alike(grown: Indices, earlier: Indices, n_items: int, likeness: float) -> Flags:
    """Return which items would make an antecedent too similar to an earlier one of the same consequent.

    ``grown`` is consequents × items, ``earlier`` consequents × antecedents × items, both with −1 for no item.
    """
    out = np.zeros((len(grown), n_items + 1), bool)
    same = (grown[:, None, :, None] == earlier[:, :, None, :]) & (grown[:, None, :, None] >= 0)
    shared = same.any(axis=3).sum(axis=2)
    row, number = np.nonzero(shared + 1 > likeness * grown.shape[1])
    out[row[:, None], earlier[row, number]] = True
    return out[:, :-1]
