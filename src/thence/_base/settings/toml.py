"""TOML: write a mapping as text, and find the line of a key. Must not know what the settings mean."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import takewhile
from typing import Any

__all__ = ["line_of", "toml_text"]

_KEY_PART = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([A-Za-z0-9_-]+))\s*(\.)?""")


def toml_text(data: Mapping[str, Any]) -> str:
    """Return a mapping as TOML. Keys whose value is ``None`` are left out, since TOML has no null.

    >>> print(toml_text({"seed": 1, "windows": {"every": "30min", "derive": ["change"], "end": None}}), end="")
    seed = 1
    <BLANKLINE>
    [windows]
    every = "30min"
    derive = ["change"]
    """
    import tomlkit

    return tomlkit.dumps(_without_none(data))


def _without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_none(inner) for key, inner in value.items() if inner is not None}
    return [_without_none(member) for member in value] if isinstance(value, (list, tuple)) else value


def line_of(text: str, path: tuple[str, ...]) -> int | None:
    """Return the number of the line that sets the key at ``path``, or else that starts the innermost table around it.

    Args:
        text: The TOML text.
        path: The keys that lead to the value.

    Returns:
        The line number from 1, or ``None`` if neither the key nor a table around it is in the text.

    Examples:
        >>> line_of('seed = 1\\n[windows]\\nevry = "1h"', ("windows", "evry"))
        3
    """
    best: tuple[int, int] | None = None
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if stripped.startswith("["):
            header = stripped.lstrip("[")
            table = here = _dotted_key(header) or ()
        elif (name := _dotted_key(stripped)) is not None and stripped[:1] not in ("#", ""):
            here = table + name
        else:
            continue
        depth = _common_length(here, path)
        # The first line with the longest common path wins; another key in the same table does not count.
        if depth == len(here) and depth and (best is None or depth > best[0]):
            best = (depth, number)
    return best[1] if best else None


def _dotted_key(text: str) -> tuple[str, ...] | None:
    """The dotted key at the start of a line, or ``None`` if the line does not start with one."""
    parts: list[str] = []
    at = 0
    while match := _KEY_PART.match(text, at):
        parts.append(next(group for group in match.groups()[:3] if group is not None))
        at = match.end()
        if not match.group(4):
            return tuple(parts) if text[at : at + 1] in ("=", "]") else None
    return None


def _common_length(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    """How many keys two paths have in common from the start."""
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False))))
