"""TOML: a mapping as text, and the line of a key in a text. Knows nothing of what the settings mean."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["line_of", "toml_text"]

_KEY_PART = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([A-Za-z0-9_-]+))\s*(\.)?""")


def toml_text(data: Mapping[str, Any]) -> str:
    """A mapping as TOML; keys whose value is ``None`` are left out, since TOML has no null.

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
    """The number of the line on which the key at ``path`` is set, or the nearest table around it; ``None`` if neither.

    >>> line_of('seed = 1\\n[windows]\\nevry = "1h"', ("windows", "evry"))
    3
    """
    best: tuple[int, int] | None = None
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if stripped.startswith("["):
            header = stripped.lstrip("[")
            table = here = _dotted(header) or ()
        elif (name := _dotted(stripped)) is not None and stripped[:1] not in ("#", ""):
            here = table + name
        else:
            continue
        depth = _shared(here, path)
        # The first line of the longest common path wins; a line about something else in the same table does not count.
        if depth == len(here) and depth and (best is None or depth > best[0]):
            best = (depth, number)
    return best[1] if best else None


def _dotted(text: str) -> tuple[str, ...] | None:
    """The dotted key at the start of a line, or ``None`` when the line does not start with one."""
    parts: list[str] = []
    at = 0
    while match := _KEY_PART.match(text, at):
        parts.append(next(group for group in match.groups()[:3] if group is not None))
        at = match.end()
        if not match.group(4):
            return tuple(parts) if text[at : at + 1] in ("=", "]") else None
    return None


def _shared(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    shared = 0
    for one, other in zip(a, b, strict=False):
        if one != other:
            break
        shared += 1
    return shared
