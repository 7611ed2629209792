"""Write ``src/types.ts`` from the typed dicts of report, explorer and search: one description for both sides.

Run ``python frontend/make_types.py`` after a change of the schema. With ``--check`` nothing is written, and the exit
status is 1 if the file is not what would be written.
"""

from __future__ import annotations

import sys
import types
import typing
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from thence.show.explorer import schema as explorer_schema
from thence.show.reports import schema as report_schema
from thence.statements import search as search_schema

TARGET = Path(__file__).parent / "src" / "types.ts"
_PLAIN = {int: "number", float: "number", str: "string", bool: "boolean", type(None): "null", Any: "unknown"}


def typescript(hint: Any) -> str:
    """Return the TypeScript of a type hint."""
    origin, args = get_origin(hint), get_args(hint)
    if hint in _PLAIN:
        return _PLAIN[hint]
    if origin is Literal:
        return " | ".join(f'"{value}"' for value in args)
    if origin in (Union, types.UnionType):
        return " | ".join(dict.fromkeys(map(typescript, args)))
    if origin is list:
        inner = typescript(args[0])
        return f"({inner})[]" if " | " in inner else f"{inner}[]"
    if origin is dict:
        return f"Record<{typescript(args[0])}, {typescript(args[1])}>"
    if origin is typing.NotRequired:
        return typescript(args[0])
    if isinstance(hint, type) and typing.is_typeddict(hint):
        return hint.__name__
    raise TypeError(f"no TypeScript for {hint}")


def interface(name: str, kind: type) -> str:
    """Return a typed dict as an interface."""
    hints = get_type_hints(kind, include_extras=True)
    lines = [
        f"  {key}{'?' if get_origin(hint) is typing.NotRequired else ''}: {typescript(hint)};"
        for key, hint in hints.items()
    ]
    return "\n".join([f"export interface {name} {{", *lines, "}"])


def render() -> str:
    """Return the whole file."""
    parts = ["// Made by frontend/make_types.py from the schemas of the report and the explorer; do not edit."]
    for module in (search_schema, report_schema, explorer_schema):
        own = {name: kind for name, kind in vars(module).items() if getattr(kind, "__module__", "") == module.__name__}
        parts += [interface(name, kind) for name, kind in sorted(own.items()) if typing.is_typeddict(kind)]
    return "\n\n".join(parts) + "\n"


def main() -> int:
    """Write the file, or check it."""
    text = render()
    if "--check" in sys.argv:
        return 0 if TARGET.is_file() and TARGET.read_text(encoding="utf-8") == text else 1
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
