"""The small ontology schema in TOML or JSON (see the guide on knowledge graphs)."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from thence.errors import GraphError
from thence.graph.loaders.propertyjson import is_json_ld, load_json
from thence.graph.ontology import Ontology

__all__ = ["read"]


def read(path: Path) -> Ontology:
    """Read a schema file into an ontology."""
    if path.suffix.lower() == ".json":
        content: Any = load_json(path)
        if is_json_ld(content):
            raise GraphError("this is JSON-LD", where=str(path), hint="give format='jsonld'")
    else:
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise GraphError(f"this is not valid TOML: {error}", where=str(path)) from error
        except OSError as error:
            raise GraphError(f"cannot be read ({error.strerror})", where=str(path)) from error
    if not isinstance(content, dict):
        raise GraphError("a schema is a table of classes, relations and properties", where=str(path))
    return Ontology.from_dict(content, where=str(path))
