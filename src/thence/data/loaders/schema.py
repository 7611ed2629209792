"""Ontologies as a schema in TOML or JSON (see the guide on knowledge graphs).

This module reads the file; ``Ontology.from_dict`` gives its content a meaning.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from thence._base.settings.documents import parse_toml, read_text
from thence.data.graph.ontology import Ontology
from thence.data.loaders.loader import Loader, LoadOptions
from thence.data.loaders.propertyjson import is_json_ld, read_json
from thence.errors import GraphError

__all__ = ["LOADER", "read"]


def read(paths: Sequence[Path], options: LoadOptions) -> Ontology:
    """Read a schema file; ``options.format`` is ``"toml"``, ``"json"``, or ``None`` to go by the suffix."""
    (path,) = paths
    if (options.format or path.suffix.lower().removeprefix(".")) == "json":
        content: Any = read_json(path)
        if is_json_ld(content):
            raise GraphError("this is JSON-LD, not a schema", where=str(path), hint="pass format='jsonld'")
    else:
        content = parse_toml(read_text(path, error=GraphError), where=str(path), error=GraphError)
    if not isinstance(content, dict):
        raise GraphError(
            f"a schema must be a table of classes, relations and properties, got {type(content).__name__}",
            where=str(path),
        )
    return Ontology.from_dict(content, where=str(path))


LOADER = Loader(read, suffixes=(".toml", ".json"))
