"""Networks on disk: a folder with one JSON file and one safetensors file per network, nothing executable.

Files of another format, truncated files and altered files are refused with the name of the file: each has a checksum,
which is also in the manifest of the folder. This module must not
train or search.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load as tensors_from_bytes
from safetensors.torch import save as bytes_from_tensors
from torch import Tensor, float32

from thence._base.integrity.manifest import Entry, Manifest, save_manifest
from thence.errors import RunError, quote
from thence.search.aerial.autoencoder import Autoencoder, Layout

__all__ = ["load", "load_blocks", "save", "save_blocks"]

FORMAT = "thence-aerial"
VERSION = 2
"""Version 1 had no digests of the columns and of the description. It can still be read."""
DESCRIPTION = "model.json"


class Stored(Protocol):
    """What is stored for one block of a table; ``BlockModel`` documents the fields."""

    @property
    def columns(self) -> NDArray[np.int64]: ...
    @property
    def features(self) -> tuple[str, ...]: ...
    @property
    def network(self) -> Autoencoder | None: ...
    @property
    def loss(self) -> float: ...
    @property
    def epochs(self) -> int: ...
    @property
    def reason(self) -> str | None: ...
    @property
    def meanings(self) -> tuple[str, ...] | None: ...
    @property
    def pattern(self) -> str | None: ...


def save(model: Autoencoder, folder: Path) -> None:
    """Write one network to a folder, overwriting an earlier one.

    Args:
        model: The network.
        folder: The folder, which is created if needed.

    Raises:
        RunError: If the folder cannot be written.

    Examples:
        >>> import tempfile
        >>> from thence.search.aerial.autoencoder import initialise
        >>> folder = Path(tempfile.mkdtemp())
        >>> save(initialise([2, 3], widths=(4, 2)), folder)
        >>> load(folder).widths
        (4, 2, 4)
    """
    _write_description(folder, [{"network": _store_network(model, folder, 0)}])


def load(folder: Path) -> Autoencoder:
    """Read a network that ``save`` wrote; raise ``RunError`` if there is none in the folder or a file is damaged."""
    blocks = _read_description(folder)
    if len(blocks) != 1:
        raise RunError(f"expected one network, found {len(blocks)}", where=str(folder / DESCRIPTION))
    return _read_network(blocks[0].get("network"), folder)


def save_blocks(blocks: Sequence[Stored], folder: Path) -> None:
    """Write the networks of all blocks of a table to a folder, overwriting earlier ones.

    Args:
        blocks: The blocks, such as ``BlockModel`` objects.
        folder: The folder, which is created if needed.

    Raises:
        RunError: If the folder cannot be written.
    """
    described = []
    for at, block in enumerate(blocks):
        described.append(
            {
                "columns": block.columns.tolist(),
                "features": list(block.features),
                "loss": None if math.isnan(block.loss) else float(block.loss),
                "epochs": int(block.epochs),
                "reason": block.reason,
                "meanings": None if block.meanings is None else list(block.meanings),
                "pattern": block.pattern,
                "network": None if block.network is None else _store_network(block.network, folder, at),
            }
        )
    _write_description(folder, described)


def load_blocks(folder: Path) -> list[dict[str, Any]]:
    """Read the fields of every block that ``save_blocks`` wrote to a folder, as keyword arguments of ``BlockModel``."""
    blocks = []
    for stored in _read_description(folder):
        try:
            network, meanings = stored["network"], stored.get("meanings")
            found = {
                "columns": np.array(stored["columns"], dtype=np.int64),
                "features": tuple(str(name) for name in stored["features"]),
                "network": None if network is None else _read_network(network, folder),
                "loss": math.nan if stored["loss"] is None else float(stored["loss"]),
                "epochs": int(stored["epochs"]),
                "reason": None if stored["reason"] is None else str(stored["reason"]),
                "meanings": None if meanings is None else tuple(str(digest) for digest in meanings),
                "pattern": None if stored.get("pattern") is None else str(stored["pattern"]),
            }
            _check_lengths(found)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise _damaged(folder / DESCRIPTION, f"invalid description of a block ({error!r})") from error
        blocks.append(found)
    return blocks


def _check_lengths(block: dict[str, Any]) -> None:
    """Check that columns, features, digests and network have the same length."""
    columns, count = block["columns"], len(block["features"])
    if columns.shape != (count,) or (columns < 0).any():
        raise ValueError(f"columns {columns.tolist()} do not match {count} features")
    if block["meanings"] is not None and len(block["meanings"]) != count:
        raise ValueError(f"{len(block['meanings'])} digests do not match {count} features")
    # With one softmax per node, the network has fewer softmaxes than columns.
    if block["network"] is not None and block["network"].layout.n_features > count:
        raise ValueError(f"the network has {block['network'].layout.n_features} features instead of {count}")


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
    if content.get("version") not in (1, VERSION):
        raise RunError(
            f"unsupported format version {content.get('version')}, expected at most {VERSION}",
            where=str(path),
            hint="read it with a newer release of thence",
        )
    blocks = content.get("blocks")
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise _damaged(path, "the list of blocks is missing")
    if content["version"] != 1 and content.get("sha256") != _digest(blocks):
        raise _damaged(path, "the checksum of the description does not match")
    return blocks


def _store_network(model: Autoencoder, folder: Path, at: int) -> dict[str, Any]:
    _make_folder(folder)
    tensors = {
        name: tensor.detach().to("cpu", float32).contiguous()
        for name, tensor in zip(_names(len(model.hidden)), model.parameters(), strict=True)
    }
    content = bytes_from_tensors(tensors)
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
        tensors = tensors_from_bytes(content)
    except SafetensorError as error:
        raise _damaged(path, f"not a safetensors file ({quote(error)[1:-1]})") from error
    return replace(_assemble(tensors, cardinalities, widths, path), linear_code=linear)


def _assemble(
    tensors: dict[str, Tensor], cardinalities: NDArray[np.int64], widths: list[int], path: Path
) -> Autoencoder:
    layout = Layout.of(cardinalities)
    sizes = [layout.n_items, *widths, layout.n_items]
    shapes: list[tuple[int, ...]] = [(sizes[0], sizes[1]), (sizes[1],)]
    for inputs, outputs in pairwise(sizes[1:]):
        shapes += [(outputs, inputs), (outputs,)]
    expected = dict(zip(_names(len(widths) - 1), shapes, strict=True))
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    if found != expected or any(tensor.dtype != float32 for tensor in tensors.values()):
        raise _damaged(path, "the shapes of the weights do not match the description")
    ordered = [tensors[name] for name in expected]
    inner = ordered[2:-2]
    pairs = tuple((inner[i], inner[i + 1]) for i in range(0, len(inner), 2))
    return Autoencoder(layout, ordered[0], ordered[1], pairs, ordered[-2], ordered[-1])


def _names(hidden: int) -> list[str]:
    inner = [f"hidden.{number}.{part}" for number in range(hidden) for part in ("weight", "bias")]
    return ["entry.weight", "entry.bias", *inner, "exit.weight", "exit.bias"]


def _damaged(path: Path, why: str) -> RunError:
    return RunError(why, where=str(path), hint="the file is damaged or was edited; train the model again")
