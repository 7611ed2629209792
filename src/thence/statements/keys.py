"""Keys: short texts that identify a rule, a law, a control or a range in every run, process and version.

A key is a hash of what a statement says. The key of a rule is that of its antecedent, its consequent and its pattern,
whatever its counts are. Numbers that are fitted anew in every run (bands, factors, thresholds) are no part of a key, so
that a review stays with the statement.
"""

from __future__ import annotations

import json
import math
import re
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from thence.language.items import Item

Keys = npt.NDArray[np.uint64]

_ALL = 1 << 64
_KEY = re.compile(r"[0-9a-f]{16}")
_RANGE = re.compile(r"(?<=[∈∉] )([\[(])([^\s,]+), ([^\s,]+?)([\])])")


def is_key(text: str) -> bool:
    """Return whether a text has the form of a key.

    Args:
        text: The text.

    Examples:
        >>> is_key("a2f7948fbaa200d3"), is_key("12")
        (True, False)
    """
    return isinstance(text, str) and _KEY.fullmatch(text) is not None


def key_text(key: int | np.uint64) -> str:
    """Return a key as text.

    Args:
        key: The key as an integer.

    Examples:
        >>> key_text(255)
        '00000000000000ff'
    """
    return f"{int(key) % _ALL:016x}"


def key_of_data(kind: str, data: list[Any]) -> str:
    """Return the key of a statement that is described by a list that JSON can hold.

    Args:
        kind: The kind of the statement.
        data: What it says, without the numbers that are fitted.

    Examples:
        >>> key_of_data("law", ["equal"]) == key_of_data("law", ["equal"]) != key_of_data("control", ["equal"])
        True
    """
    return key_text(hash_text(kind, json.dumps(data, ensure_ascii=False, sort_keys=True)))


def hash_text(kind: str, text: str) -> int:
    """Return a number of 64 bits.

    Args:
        kind: Keeps equal texts in different parts of a statement apart.
        text: The text.
    """
    # Names come from files and may hold what UTF-8 cannot.
    data = f"{kind}\0{text}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")


def item_key_text(item: Item) -> str:
    """Return the text of an item whose ranges include their low end and exclude their high end, as in every version.

    Args:
        item: The item.
    """

    def half_open(found: re.Match[str]) -> str:
        low, high = float(found[2]), float(found[3])
        low = math.nextafter(low, math.inf) if found[1] == "(" else low
        high = math.nextafter(high, math.inf) if found[4] == "]" else high
        return f"[{low!r}, {high!r})"

    return _RANGE.sub(half_open, str(item))
