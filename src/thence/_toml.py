"""TOML out, and the line of a key in TOML text.

The standard library reads TOML but neither writes it nor says where a key stood; configuration files need both.
Knows nothing of what the settings mean.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["dumps", "line_of"]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_KEY_PART = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([A-Za-z0-9_-]+))\s*(\.)?""")


def dumps(data: Mapping[str, Any]) -> str:
    """A mapping of texts, numbers, truth values, lists and mappings as TOML; ``None`` is left out.

    >>> print(dumps({"seed": 1, "windows": {"every": "30min", "derive": ["change"]}}), end="")
    seed = 1
    <BLANKLINE>
    [windows]
    every = "30min"
    derive = ["change"]
    """
    blocks = ["".join(f"{line}\n" for line in lines) for lines in _tables(data, ())]
    return "\n".join(block for block in blocks if block)


def _tables(data: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[list[str]]:
    present = {key: value for key, value in data.items() if value is not None}
    plain = {key: value for key, value in present.items() if not isinstance(value, Mapping)}
    nested = {key: value for key, value in present.items() if isinstance(value, Mapping)}
    lines = [f"{_key(key)} = {_value(value)}" for key, value in plain.items()]
    if path and (lines or not nested):
        lines.insert(0, f"[{'.'.join(map(_key, path))}]")
    yield lines
    for key, value in nested.items():
        yield from _tables(value, (*path, key))


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _text(text: str) -> str:
    # JSON's escapes are TOML's; only DEL, which TOML wants escaped, passes through json.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return "nan" if math.isnan(value) else repr(value)
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(key)} = {_value(v)}" for key, v in value.items() if v is not None)
        return f"{{{inner}}}"
    if isinstance(value, (list, tuple, set, frozenset)):
        members = sorted(value) if isinstance(value, (set, frozenset)) else value
        return f"[{', '.join(_value(member) for member in members)}]"
    raise TypeError(f"TOML cannot hold {value!r}")


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
