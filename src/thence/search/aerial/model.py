"""Trained models: one network per block of a table, the meaning of the items that it was trained on, and both on disk.

A network knows items only by their position. Before it is used again, on further rows or to find rules, the table is
checked: pattern, features, categories and bins must be the same. On disk a model is a folder with one JSON file and one
safetensors file per network, nothing executable. Files of another format, truncated files and altered files are refused
with the name of the file: each has a checksum, which is also in the manifest of the folder. This module must not train
or search, nor import torch before a model is read or written.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thence._base.integrity.manifest import Entry, Manifest, save_manifest
from thence.errors import MiningError, RunError, quote
from thence.language.items import Interval, Value
from thence.search.torch_runtime import require_torch
from thence.tables.blocks import Block, Column
from thence.tables.transactions import TransactionTable

if TYPE_CHECKING:
    from torch import Tensor

    from thence.search.aerial.autoencoder import Autoencoder

FORMAT, VERSION, DESCRIPTION = "thence-aerial", 2, "model.json"


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
        meanings: A digest of the values of each column.
        pattern: The pattern of a lifted block as text, if there is one.
    """

    columns: NDArray[np.int64]
    features: tuple[str, ...]
    network: Autoencoder | None
    loss: float
    epochs: int
    reason: str | None = None
    meanings: tuple[str, ...] = ()
    pattern: str | None = None

    def require_pattern(self, block: Block) -> None:
        """Check that a block has the pattern of the model.

        Args:
            block: A block of a table.

        Raises:
            MiningError: If it has not.
        """
        if self.pattern != pattern_text(block):
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
        for feature, before, now in zip(self.features, self.meanings, digest_columns(block, columns), strict=True):
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
        target = Path(folder)
        described = [
            {
                "columns": block.columns.tolist(),
                "features": list(block.features),
                "loss": None if math.isnan(block.loss) else float(block.loss),
                "epochs": int(block.epochs),
                "reason": block.reason,
                "meanings": list(block.meanings),
                "pattern": block.pattern,
                "network": None if block.network is None else _store_network(block.network, target, at),
            }
            for at, block in enumerate(self.blocks)
        ]
        _write_description(target, described)

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
        return AerialModel(tuple(_read_block(stored, Path(folder)) for stored in _read_description(Path(folder))))


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


def _read_block(stored: dict[str, Any], folder: Path) -> BlockModel:
    try:
        network, reason, pattern = stored["network"], stored["reason"], stored["pattern"]
        block = BlockModel(
            columns=np.array(stored["columns"], dtype=np.int64),
            features=tuple(str(name) for name in stored["features"]),
            network=None if network is None else _read_network(network, folder),
            loss=math.nan if stored["loss"] is None else float(stored["loss"]),
            epochs=int(stored["epochs"]),
            reason=None if reason is None else str(reason),
            meanings=tuple(str(digest) for digest in stored["meanings"]),
            pattern=None if pattern is None else str(pattern),
        )
        count = len(block.features)
        if block.columns.shape != (count,) or (block.columns < 0).any() or len(block.meanings) != count:
            raise ValueError(f"columns and digests do not match {count} features")
        # With one softmax per node, the network has fewer softmaxes than columns.
        if block.network is not None and block.network.layout.n_features > count:
            raise ValueError(f"the network has {block.network.layout.n_features} features instead of {count}")
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise _damaged(folder / DESCRIPTION, f"invalid description of a block ({error!r})") from error
    return block


def _write_description(folder: Path, blocks: list[dict[str, Any]]) -> None:
    _make_folder(folder)
    content = {"format": FORMAT, "version": VERSION, "sha256": _digest(blocks), "blocks": blocks}
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    _write_file(folder / DESCRIPTION, text.encode("utf-8"))
    # Networks of an earlier, larger model may be in the folder; they are not part of this one.
    names = [DESCRIPTION, *(block["network"]["file"] for block in blocks if block["network"] is not None)]
    save_manifest(Manifest(folder, {name: Entry.of(folder / name) for name in names}))


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"cannot create the folder ({error.strerror})", where=str(folder)) from error


def _write_file(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise RunError(f"cannot write the file ({error.strerror})", where=str(path)) from error


def _digest(blocks: list[dict[str, Any]]) -> str:
    """Return a digest of the description, which contains the digests of the weights."""
    return hashlib.sha256(json.dumps(blocks, sort_keys=True).encode()).hexdigest()


def _read_description(folder: Path) -> list[dict[str, Any]]:
    path = folder / DESCRIPTION
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RunError(f"cannot read a stored network ({error.strerror})", where=str(path)) from error
    except (ValueError, RecursionError) as error:
        raise _damaged(path, f"not JSON ({quote(error)[1:-1]})") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise RunError("not a network of Aerial", where=str(path))
    if content.get("version") != VERSION:
        raise RunError(
            f"unsupported format version {content.get('version')}, expected {VERSION}",
            where=str(path),
            hint="read it with the release of thence that wrote it, or train the model again",
        )
    blocks = content.get("blocks")
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise _damaged(path, "the list of blocks is missing")
    if content.get("sha256") != _digest(blocks):
        raise _damaged(path, "the checksum of the description does not match")
    return blocks


def _store_network(model: Autoencoder, folder: Path, at: int) -> dict[str, Any]:
    from safetensors.torch import save
    from torch import float32

    _make_folder(folder)
    tensors = {
        name: tensor.detach().to("cpu", float32).contiguous()
        for name, tensor in zip(_names(len(model.hidden)), model.parameters(), strict=True)
    }
    content = save(tensors)
    name = f"network-{at}.safetensors"
    _write_file(folder / name, content)
    return {
        "file": name,
        "sha256": hashlib.sha256(content).hexdigest(),
        "cardinalities": model.layout.cardinalities.tolist(),
        "widths": list(model.widths),
        **({"linear_code": True} if model.linear_code else {}),
    }


def _read_network(stored: object, folder: Path) -> Autoencoder:
    from safetensors import SafetensorError
    from safetensors.torch import load

    path = folder / DESCRIPTION
    try:
        if not isinstance(stored, dict):
            raise TypeError("not an object")
        name, digest = str(stored["file"]), str(stored["sha256"])
        cardinalities = np.array(stored["cardinalities"], dtype=np.int64)
        widths = [int(width) for width in stored["widths"]]
        linear = bool(stored.get("linear_code", False))
        if cardinalities.ndim != 1 or (cardinalities < 0).any() or not widths:
            raise ValueError(f"cardinalities {cardinalities.tolist()}, widths {widths}")
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise _damaged(path, f"invalid description of a network ({error!r})") from error
    if Path(name).name != name:
        raise _damaged(path, f"{quote(name)} is not in this folder")
    path = folder / name
    if path.is_symlink():
        raise _damaged(path, "is a symbolic link")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RunError(f"cannot read the weights ({error.strerror})", where=str(path)) from error
    if hashlib.sha256(content).hexdigest() != digest:
        raise _damaged(path, "the checksum of the weights does not match")
    try:
        tensors = load(content)
    except SafetensorError as error:
        raise _damaged(path, f"not a safetensors file ({quote(error)[1:-1]})") from error
    return _assemble(tensors, cardinalities, widths, linear, path)


def _assemble(
    tensors: dict[str, Tensor], cardinalities: NDArray[np.int64], widths: list[int], linear: bool, path: Path
) -> Autoencoder:
    from torch import float32

    from thence.search.aerial.autoencoder import Autoencoder, Layout

    layout = Layout.of(cardinalities)
    sizes = [layout.n_items, *widths, layout.n_items]
    shapes: list[tuple[int, ...]] = [(sizes[0], sizes[1]), (sizes[1],)]
    for inputs, outputs in pairwise(sizes[1:]):
        shapes += [(outputs, inputs), (outputs,)]
    expected = dict(zip(_names(len(widths) - 1), shapes, strict=True))
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    if found != expected or any(tensor.dtype != float32 for tensor in tensors.values()):
        raise _damaged(path, "the shapes of the weights do not match the description")
    return Autoencoder.of(layout, [tensors[name] for name in expected], linear_code=linear)


def _names(hidden: int) -> list[str]:
    inner = [f"hidden.{number}.{part}" for number in range(hidden) for part in ("weight", "bias")]
    return ["entry.weight", "entry.bias", *inner, "exit.weight", "exit.bias"]


def _damaged(path: Path, why: str) -> RunError:
    return RunError(why, where=str(path), hint="the file is damaged or was edited; train the model again")
