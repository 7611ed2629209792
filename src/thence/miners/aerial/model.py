"""What training leaves behind: a network per block, and what the items meant that it was trained on.

A network knows items by their place only. Before it is used again, on further rows or to find rules, the table has to
show that its places mean the same: pattern, features, categories and bins. This module neither trains nor searches.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from thence.errors import MiningError
from thence.miners.aerial.autoencoder import Autoencoder
from thence.rules.items import Interval, Value
from thence.tables.blocks import Block, Column
from thence.tables.transactions import TransactionTable

__all__ = ["AerialModel", "BlockModel", "meanings"]

AGAIN = "use the bins of the first table (like=…), or train a new model"


@dataclass(frozen=True, eq=False)
class BlockModel:
    """The network of one block: which columns it knows, its weights, and how training went.

    ``meanings`` has a digest of the values of every column; it and ``pattern`` are ``None`` where they are not known,
    as in models that were stored before there were any. ``reason`` says why there is no network, or what there is
    to say about one: that its rows were very few, or that the last ones taught it nothing.
    """

    columns: NDArray[np.int64]
    features: tuple[str, ...]
    network: Autoencoder | None
    loss: float
    epochs: int
    reason: str | None = None
    meanings: tuple[str, ...] | None = None
    pattern: str | None = None

    def require_pattern(self, block: Block) -> None:
        """Refuse a block that is about something else."""
        if self.meanings is not None and self.pattern != pattern_of(block):
            raise MiningError(
                f"the model was trained on {_about(self.pattern)}, this block of the table is about"
                f" {_about(pattern_of(block))}",
                hint="train and extract on the same kind of table",
            )

    def places(self, block: Block) -> NDArray[np.int64]:
        """Where the columns of the network stand in a block, which has to mean the same by them."""
        self.require_pattern(block)
        columns = self._named(block)
        # Old models know the number of values only.
        told = meanings(block, columns) if self.meanings else tuple(str(block.columns[c].n_codes) for c in columns)
        known = self.meanings or tuple(map(str, self.network.layout.cardinalities if self.network else ()))
        for feature, before, now in zip(self.features, known, told, strict=True):
            if before != now:
                raise MiningError(f"the model was trained on other categories or bins of '{feature}'", hint=AGAIN)
        return columns

    def _named(self, block: Block) -> NDArray[np.int64]:
        """The columns by the names of their features, in the order of the network."""
        names = [str(column.feature) for column in block.columns]
        if tuple(names[c] for c in self.columns.tolist() if c < len(names)) == self.features:
            return self.columns
        place = {name: at for at, name in enumerate(names)}
        for feature in self.features:
            if feature not in place:
                raise MiningError(
                    f"the model was trained on other features than the table has: '{feature}' is missing",
                    hint="train a new model",
                )
        if len(place) < len(names):
            raise MiningError("the model was trained on other features than the table has", hint="train a new model")
        return np.array([place[feature] for feature in self.features], np.int64)


@dataclass(frozen=True, eq=False)
class AerialModel:
    """What ``Aerial.train`` learnt: a network per block of the table."""

    blocks: tuple[BlockModel, ...]

    @property
    def loss(self) -> float:
        """Mean loss over the blocks that were trained."""
        known = [block.loss for block in self.blocks if block.network is not None]
        return float(np.mean(known)) if known else float("nan")

    def require_blocks(self, table: TransactionTable) -> None:
        """Refuse a table with another number of blocks."""
        if len(self.blocks) != len(table.blocks):
            raise MiningError(
                f"the model was trained on {len(self.blocks)} blocks, the table has {len(table.blocks)}",
                hint="train and extract on the same kind of table",
            )

    def save(self, folder: str | Path) -> None:
        """Write the networks to a folder (safetensors and JSON, nothing executable)."""
        from thence.miners.aerial.storage import save_blocks

        save_blocks(self.blocks, Path(folder))

    @staticmethod
    def load(folder: str | Path) -> AerialModel:
        """Read what ``save`` wrote."""
        from thence.miners.aerial.storage import load_blocks

        return AerialModel(tuple(BlockModel(**fields) for fields in load_blocks(Path(folder))))


def meanings(block: Block, columns: Sequence[int] | NDArray[np.int64]) -> tuple[str, ...]:
    """A digest of what the codes of each column stand for."""
    return tuple(_meaning(block.columns[c]) for c in columns)


def pattern_of(block: Block) -> str | None:
    """The pattern of a lifted block as text."""
    return None if block.pattern is None else str(block.pattern)


def _meaning(column: Column) -> str:
    text = "\n".join(_text(value) for value in column.values)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _text(value: Value | Interval) -> str:
    """A value as text, the same for equal values: 1 and 1.0 are, 1 and "1" are not."""
    if isinstance(value, Interval):
        return f"[{float(value.low)!r}, {float(value.high)!r})"
    if isinstance(value, str):
        return repr(str(value))
    return str(bool(value)) if isinstance(value, (bool, np.bool_)) else repr(float(value))


def _about(pattern: str | None) -> str:
    return "a table without patterns" if pattern is None else f"the pattern {pattern}"
