"""Text of any length is looked through in a time that grows with its length, not with its square."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from thence._base.settings.documents import _JSON_PARTS, _TOML_PARTS
from thence.data.loaders.csv_tables import parse_head
from thence.data.readers.excel import TITLE
from thence.data.readers.table import NUMBER
from thence.language.short_text import split_short

LONG = 100_000
SECONDS = 2.0  # squares of this length take minutes
LOOKED: dict[str, Callable[[], object]] = {
    "brackets in a column head": lambda: parse_head("[" * LONG),
    "spaces in a column head": lambda: parse_head("a" + " " * LONG + ":"),
    "spaces in the name of a sheet": lambda: TITLE.fullmatch(("a" + " " * LONG + "(").strip()),
    "a number that is none": lambda: NUMBER.fullmatch("1" * LONG + "x"),
    "figures in a constraint": lambda: split_short("1" * LONG),
    "spaces in a constraint": lambda: split_short("1 < a" + " " * LONG + "b"),
    "no name in a constraint": lambda: split_short("1 <" + " " * LONG),
    "quotes that are escaped": lambda: len(_JSON_PARTS.findall(b'"' + b'\\"' * LONG)),
    "TOML: quotes that are escaped": lambda: len(_TOML_PARTS.findall('"' + '\\"' * LONG)),
    "TOML: text that is never closed": lambda: len(_TOML_PARTS.findall('"""' + ' \\"""' * LONG)),
}


@pytest.mark.parametrize("what", LOOKED)
def test_long_text(what: str) -> None:
    begin = time.process_time()
    LOOKED[what]()
    assert time.process_time() - begin < SECONDS


@pytest.mark.parametrize(
    ("head", "parts"),
    [
        ("length", ("length", None, None)),
        ("length [m]", ("length", "m", None)),
        ("length [m] : number", ("length", "m", "number")),
        (" a [b] [c]", ("a [b]", "c", None)),
        ("a [[b]", ("a", "[b", None)),
        ("a]", ("a]", None, None)),
        ("[m]", ("", "m", None)),
        ("time: late", ("time: late", None, None)),
    ],
)
def test_column_heads(head: str, parts: tuple[str, str | None, str | None]) -> None:
    assert parse_head(head) == parts
