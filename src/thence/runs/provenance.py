"""Provenance of a run: versions, machine, and hashes of what was read, ready for JSON.

No time stamp enters anything by which two equal runs are compared.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import platform
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.tables.transactions import FeatureTable, TransactionTable

_PACKAGES = ("numpy", "numba", "polars", "pyarrow", "torch", "wntr", "pyoxigraph")
_CHUNK = 1 << 20


def environment(*, seed: int) -> dict[str, Any]:
    """Return versions, machine and time.

    >>> sorted(environment(seed=3))[:3]
    ['cores', 'created', 'machine']
    """
    return {
        "thence": _version("thence"),
        "seed": seed,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        # Only packages that this process has loaded can affect the result.
        "packages": {name: _version(name) for name in _PACKAGES if name in sys.modules},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def hash_files(paths: str | Iterable[str]) -> list[dict[str, Any]]:
    """Return path, size and SHA-256 of every file behind paths, folders and globs, sorted by path.

    >>> hash_files("/no/such/file-*.csv")
    []
    """
    found: set[Path] = set()
    for given in [paths] if isinstance(paths, str) else paths:
        path = Path(given)
        if path.is_dir():
            found.update(inner for inner in path.rglob("*") if inner.is_file())
        elif path.is_file():
            found.add(path)
        else:
            matches = glob.glob(given, recursive=True)  # noqa: PTH207 (Path.glob takes no absolute pattern)
            found.update(Path(match) for match in matches if Path(match).is_file())
    return [{"path": str(path), "bytes": path.stat().st_size, "sha256": _sha256(path)} for path in sorted(found)]


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def hash_graph(graph: KnowledgeGraph) -> str:
    """Return one hash over nodes, edges and units of a graph, whatever their order.

    >>> from thence.data.graph.knowledge_graph import Node
    >>> one, two = Node("a"), Node("b", properties={"length": 3})
    >>> hash_graph(KnowledgeGraph([one, two])) == hash_graph(KnowledgeGraph([two, one]))
    True
    """
    content = graph.to_dict()
    digest = hashlib.sha256()
    for part in ("nodes", "edges"):
        texts = sorted(json.dumps(one, sort_keys=True, ensure_ascii=True) for one in content[part])
        digest.update("\n".join([part, *texts, ""]).encode("ascii"))
    digest.update(json.dumps(content["property_units"], sort_keys=True).encode("ascii"))
    return digest.hexdigest()


def hash_binding(binding: Mapping[str, str]) -> str:
    """Return one hash over a binding, whatever its order.

    >>> hash_binding({"f1": "Pipe 1"}) == hash_binding({"f1": "Pipe 2"})
    False
    """
    return hashlib.sha256(json.dumps(sorted(binding.items())).encode("ascii")).hexdigest()


def hash_table(table: TransactionTable | FeatureTable) -> str:
    """Return one hash over everything that a miner reads: features, values and codes.

    >>> import polars as pl
    >>> one = TransactionTable.from_frame(pl.DataFrame({"a": [1, 2]}))
    >>> hash_table(one) == hash_table(TransactionTable.from_frame(pl.DataFrame({"a": [1, 2]})))
    True
    """
    digest = hashlib.sha256()
    if isinstance(table, FeatureTable):
        digest.update(repr([str(f) for f in table.features]).encode())
        digest.update(repr(table.categories).encode())
        digest.update(np.ascontiguousarray(table.numbers).data)
        return digest.hexdigest()
    for block in table.blocks:
        digest.update(f"{block.n_frames} {block.n_embeddings} {block.pattern}".encode())
        for column in block.columns:
            digest.update(f"{column.feature} {[str(value) for value in column.values]} {column.minable}".encode())
            digest.update(np.ascontiguousarray(column.codes).data)
            digest.update(np.ascontiguousarray(column.series).data)
    return digest.hexdigest()
