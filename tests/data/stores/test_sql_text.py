"""Names and values in SQL: whatever they hold, they stay names and values."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thence.data.stores.databases import condition, identifier, literal, qualified, split_name
from thence.data.stores.sql import ContentHash
from thence.errors import ConfigError

duckdb: Any = pytest.importorskip("duckdb")
NAMES = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), min_size=1, max_size=20)


@given(NAMES, NAMES)
def test_quoted_names_are_read_as_they_are(column: str, value: str) -> None:
    relation = duckdb.sql(f"SELECT {literal(value)} AS {identifier(column)}")
    assert relation.columns == [column] and relation.fetchall() == [(value,)]
    assert relation.filter(condition({column: value})).fetchall() == [(value,)]
    assert relation.filter(condition({column: {"!=": value}})).fetchall() == []


@given(st.lists(NAMES, min_size=1, max_size=3))
def test_names_of_tables_are_split_as_they_are_joined(parts: list[str]) -> None:
    assert split_name(qualified(parts)) == tuple(parts)


@pytest.mark.parametrize("name", ["", "a\x00b", "\ud800"])
def test_what_no_database_has_as_a_name(name: str) -> None:
    with pytest.raises(ConfigError):
        identifier(name)


@pytest.mark.parametrize("text", ["", ".a", "a.", "a..b", '"a', '"a"b', "a.b.c.d"])
def test_what_is_no_name_of_a_table(text: str) -> None:
    with pytest.raises(ConfigError):
        split_name(text)


def test_conditions_of_every_kind() -> None:
    assert condition({"a": []}) == "FALSE" and condition({"a": [None]}) == '"a" IS NULL'
    assert condition({"a": [1, None]}) == '("a" IN (1) OR "a" IS NULL)' and condition({}) == ""
    with pytest.raises(ConfigError, match="no comparison"):
        condition({"a": {"; DROP": 1}})
    with pytest.raises(ConfigError, match="a condition needs"):
        condition({"a": object()})


CELLS = st.tuples(st.one_of(st.none(), st.floats()), st.one_of(st.none(), st.sampled_from("abc")))


@given(st.lists(CELLS, max_size=20), st.randoms())
def test_the_hash_of_rows_depends_on_the_rows_alone(rows: list[Any], random: Any) -> None:
    def hashed(some: list[Any], *, cut: int = 0) -> str:
        found = ContentHash()
        for part in (some[:cut], some[cut:]):
            columns = {
                "v": pa.array([row[0] for row in part], pa.float64()),
                "s": pa.array([r[1] for r in part], pa.string()),
            }
            found.add(pa.RecordBatch.from_pydict(columns))
        return found.hex()

    mixed = random.sample(rows, len(rows))
    assert hashed(rows) == hashed(mixed, cut=len(rows) // 2)
    assert hashed([*rows, (1.5, "d")]) != hashed(rows)
    assert hashed([*rows, (1.5, "d")]) != hashed([*rows, (1.5, "e")])
