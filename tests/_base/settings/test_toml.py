"""Writing TOML, and finding the line of a key."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thence._base.settings.documents import line_of, toml_text

values = st.recursive(
    st.one_of(st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), values, max_size=5))
def test_what_is_written_reads_back(data: dict[str, Any]) -> None:
    assert tomllib.loads(toml_text(data)) == data


def test_nothing_is_left_out_but_none() -> None:
    assert tomllib.loads(toml_text({"a": None, "b": {"c": None}, "d": ()})) == {"b": {}, "d": []}


TEXT = """\
# windows = "not here"
seed = 1
input.sensors = "a.csv"

[windows] # a comment
every = "1h"
"odd key" = 2
text = '''
evry = "inside a text"
'''

[miner.antecedent]
kind = "flow"
inline = { a = 1, b = 2 }
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("seed",), 2),
        (("input", "sensors"), 3),
        (("windows",), 5),
        (("windows", "every"), 6),
        (("windows", "odd key"), 7),
        (("miner", "antecedent", "kind"), 13),
        (("miner", "antecedent", "inline", "b"), 14),
        (("windows", "unknown"), 5),
        (("nowhere",), None),
    ],
)
def test_the_line_of_a_key_or_of_the_table_around_it(path: tuple[str, ...], line: int | None) -> None:
    assert line_of(TEXT, path) == line
