"""Trained models: one network per block of a table, and the meaning of the items that it was trained on.

A network knows items only by their position. Before it is used again, on further rows or to find rules, the table is
checked: pattern, features, categories and bins must be the same. This module must not train, search or import torch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thence.errors import MiningError
from thence.language.items import Interval, Value
from thence.search.torch_runtime import require_torch
from thence.tables.blocks import Block, Column
from thence.tables.transactions import TransactionTable

if TYPE_CHECKING:
    from thence.search.aerial.autoencoder import Autoencoder

__all__ = ["AerialModel", "BlockModel", "digest_columns", "pattern_text"]


@dataclass(frozen=True, eq=False)
class BlockModel:
    """The network of one block: its columns, its weights, and how training went.

    Args:
        columns: The columns of the block that the network was trained on.
        features: The features of these columns.
        network: The network, or ``None`` if nothing could be learned.
        loss: The loss of the weights that were kept.
        epochs: The number of epochs.
        reason: Why there is no network, or a remark about it, such as very few rows.
        meanings: A digest of the values of each column, or ``None`` in models stored by old versions.
        pattern: The pattern of a lifted block as text, if there is one.
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
        """Check that a block has the pattern of the model.

        Args:
            block: A block of a table.

        Raises:
            MiningError: If it has not.
        """
        if self.meanings is not None and self.pattern != pattern_text(block):
            raise MiningError(
                f"the model was trained on {_name_pattern(self.pattern)}, but this block of the table has"
                f" {_name_pattern(pattern_text(block))}",
                hint="train and extract on the same kind of table",
            )

    def places(self, block: Block) -> NDArray[np.int64]:
        """Find the columns of the network in a block.

        Args:
            block: A block of a table, whose columns may be in another order.

        Returns:
            The indices of the columns, in the order of the network.

        Raises:
            MiningError: If a feature is missing, or has other categories or bins than in training.
        """
        self.require_pattern(block)
        columns = self._named(block)
        # Models stored by old versions only know the number of values.
        current = digest_columns(block, columns) if self.meanings else [str(block.columns[c].n_codes) for c in columns]
        known = self.meanings or tuple(map(str, self.network.layout.cardinalities if self.network else ()))
        for feature, before, now in zip(self.features, known, current, strict=True):
            if before != now:
                raise MiningError(
                    f"the model was trained on other categories or bins of '{feature}'",
                    hint="use the bins of the first table (like=…), or train a new model",
                )
        return columns

    def _named(self, block: Block) -> NDArray[np.int64]:
        """Find the columns by the names of their features, in the order of the network."""
        names = [str(column.feature) for column in block.columns]
        if tuple(names[c] for c in self.columns.tolist() if c < len(names)) == self.features:
            return self.columns
        place = {name: at for at, name in enumerate(names)}
        for feature in self.features:
            if feature not in place:
                raise MiningError(
                    f"the table has no feature '{feature}', which the model was trained on",
                    hint="train a new model",
                )
        if len(place) < len(names):
            raise MiningError("the table has duplicate features", hint="train a new model on unique features")
        return np.array([place[feature] for feature in self.features], np.int64)


@dataclass(frozen=True, eq=False)
class AerialModel:
    """A trained model of Aerial: one network per block of the table.

    Args:
        blocks: The networks.
    """

    blocks: tuple[BlockModel, ...]

    @property
    def loss(self) -> float:
        """The mean loss over the blocks that were trained."""
        known = [block.loss for block in self.blocks if block.network is not None]
        return float(np.mean(known)) if known else float("nan")

    def require_blocks(self, table: TransactionTable) -> None:
        """Check that a table has as many blocks as the model.

        Args:
            table: The table.

        Raises:
            MiningError: If it has not.
        """
        if len(self.blocks) != len(table.blocks):
            raise MiningError(
                f"the model was trained on {len(self.blocks)} blocks, but the table has {len(table.blocks)}",
                hint="train and extract on the same kind of table",
            )

    def save(self, folder: str | Path) -> None:
        """Write the model to a folder (safetensors and JSON, nothing executable).

        Args:
            folder: The folder, which is created if needed. A model in it is overwritten.

        Raises:
            RunError: If the folder cannot be written.
            MissingExtraError: If torch or safetensors is not installed.
        """
        require_torch(extra="aerial", also=("safetensors", "safetensors.torch"))
        from thence.search.aerial.storage import save_blocks

        save_blocks(self.blocks, Path(folder))

    @staticmethod
    def load(folder: str | Path) -> AerialModel:
        """Read a model that ``save`` wrote.

        Args:
            folder: The folder.

        Raises:
            RunError: If the folder has no model, or a file is damaged.
            MissingExtraError: If torch or safetensors is not installed.
        """
        require_torch(extra="aerial", also=("safetensors", "safetensors.torch"))
        from thence.search.aerial.storage import load_blocks

        return AerialModel(tuple(BlockModel(**fields) for fields in load_blocks(Path(folder))))


def digest_columns(block: Block, columns: Sequence[int] | NDArray[np.int64]) -> tuple[str, ...]:
    """Return a digest of the values of each of some columns of a block."""
    return tuple(_digest_column(block.columns[c]) for c in columns)


def pattern_text(block: Block) -> str | None:
    """Return the pattern of a lifted block as text, or ``None`` for other blocks."""
    return None if block.pattern is None else str(block.pattern)


def _digest_column(column: Column) -> str:
    text = "\n".join(_text(value) for value in column.values)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _text(value: Value | Interval) -> str:
    """Return a value as text, the same for equal values: 1 and 1.0 are equal, 1 and "1" are not."""
    if isinstance(value, Interval):
        return f"[{float(value.low)!r}, {float(value.high)!r})"
    if isinstance(value, str):
        return repr(str(value))
    return str(bool(value)) if isinstance(value, (bool, np.bool_)) else repr(float(value))


def _name_pattern(pattern: str | None) -> str:
    return "no pattern" if pattern is None else f"the pattern {pattern}"
