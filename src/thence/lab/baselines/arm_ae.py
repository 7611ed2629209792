"""ARM-AE (Berteloot, Khoury & Durand 2023), written from its description.

An autoencoder with layers as wide as the number of items learns to reconstruct rows. Rules are then read backwards: an
input item becomes the consequent, and the items with the highest outputs its antecedent. Nothing in the network says
that the items of a feature exclude each other (there is no softmax per feature), and nothing in its training rewards
finding which items *follow* from which: copying the input is a perfect solution. Expect weak rules; see the guide.

Where the description and the contract of all miners differ, the contract applies: the items of a rule belong to
different features, and each rule is returned once. ``ARMAE.published`` follows the released code of the paper instead,
which trains with batches of one row, 87,600 steps for a year of half hours in five epochs. A step of torch consists
mostly of calls; for such batches forward pass, gradient and Adam are one compiled function (``RowTrainer``), and the
gradient of a weight, a product of two numbers, is never stored. The numbers are those of torch but for rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast

import numba
import numpy as np
import numpy.typing as npt

from thence._base.progress import Progress, silent
from thence._base.settings.numbers import MOST_ANTECEDENTS
from thence._base.settings.typed import number
from thence.errors import ConfigError
from thence.language.constraints import Constraint
from thence.search.base import BaseMiner
from thence.search.codes import MAX_ROWS, encode_one_hot, expand_codes, order_items, require_codes
from thence.search.torch_runtime import one_thread, require_torch
from thence.statements.counting.recount import recount
from thence.statements.rules.ruleset import RuleSet
from thence.tables.admissibility import item_masks, trivial_pairs
from thence.tables.blocks import Block
from thence.tables.transactions import TransactionTable

if TYPE_CHECKING:
    from torch import Tensor

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

    max_antecedents: int = number(2, least=1, most=MOST_ANTECEDENTS)
    rules_per_consequent: int = number(2, least=1)
    likeness: float = number(0.8, least=0, most=1)
    epochs: int = number(2, least=1)
    batch_size: int = number(128, least=1)
    learning_rate: float = number(0.01, above=0)
    loss: Literal["absolute", "cross-entropy"] = "absolute"
    layers: int = number(4, least=1)
    output: Literal["sigmoid", "tanh"] = "sigmoid"
    one_per_feature: bool = True
    unique: bool = True
    antecedent: Constraint = None
    consequent: Constraint = None
    context_consequents: bool = False
    max_rows: int = MAX_ROWS
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.output == "tanh" and self.loss == "cross-entropy":
            raise ConfigError("cross-entropy needs outputs from 0 to 1", hint="use output='sigmoid'")

    @classmethod
    def published(cls, **changes: Any) -> Self:
        """Make a miner with the settings of the released code of the paper, which differ from the paper's text.

        Six layers, each with tanh, trained row by row; two antecedents per consequent, and a rule after each of their
        items: four rules per item, of which one is a duplicate. That code reads bins only, so pass a table without
        properties.

        Args:
            **changes: Settings that override all others, so that the effect of each can be measured alone.

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
        for turn in range(self.rules_per_consequent):
            grown = earlier[:, turn]
            marked = torch.zeros(len(consequents), len(left))
            marked[everyone, consequents] = 1.0
            allowed = left[None, :] & apart[consequents]
            for depth in range(width):
                with torch.inference_mode():
                    output = _forward(layers, marked, self.output).numpy()
                open_to = allowed & ~_too_alike(grown, earlier[:, :turn], len(left), self.likeness)
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
