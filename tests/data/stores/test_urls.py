"""URLs of stores: whatever the password is, it is in no text that is shown."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thence.data.stores.bolt import plain_properties, plain_value
from thence.data.stores.urls import credentials_of, is_url, mask, without_credentials

PASSWORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=6, max_size=20)
SCHEMES = st.sampled_from(["bolt", "neo4j+s", "sparql+https", "postgresql"])


@given(SCHEMES, PASSWORDS)
def test_a_password_is_read_back_and_never_shown(scheme: str, password: str) -> None:
    escaped = quote(password, safe="")
    url = f"{scheme}://someone:{escaped}@h.example:1234/d"
    bare, user, found = credentials_of(url)
    assert (user, found) == ("someone", password)
    assert bare == without_credentials(url) == f"{scheme}://h.example:1234/d"
    text = mask(f"failed: {url} with {password!r} and {escaped}", [password])
    assert escaped not in text
    assert "h.example:1234/d" in text or password in "h.example:1234/d"


@given(SCHEMES, st.text("ab:@/?#%1", min_size=1, max_size=8))
def test_a_password_that_is_not_escaped_is_not_recorded(scheme: str, password: str) -> None:
    shown = without_credentials(f"{scheme}://someone:Zx{password}Zy@h.example:1234/d")
    assert "someone" not in shown
    assert "Zx" not in shown
    assert "Zy" not in shown


@pytest.mark.parametrize("text", ["graph.ttl", "C://data/x", "/data/a", "", "a b://x", "://x"])
def test_paths_are_no_urls(text: str) -> None:
    assert not is_url(text)
    assert without_credentials(text) == text


def test_secrets_in_queries_and_settings() -> None:
    assert without_credentials("postgresql://h/d?user=me&password=s3cret&sslmode=require") == (
        "postgresql://h/d?user=me&sslmode=require"
    )
    assert mask("dbname=plant password='s3cret word' host=h") == "dbname=plant password=*** host=h"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.text(min_size=1, max_size=3), VALUES, max_size=4))
def test_values_of_servers_are_values_of_graphs(properties: dict[str, object]) -> None:
    from thence.data.graph.records import is_value

    found, problems = plain_properties(properties)
    assert not problems
    assert all(is_value(value) for value in found.values())
    missing = properties.keys() - found.keys()
    assert all(plain_value(properties[name]) is None for name in missing)
    for name, value in properties.items():
        if isinstance(value, str | bool | int):
            assert found[name] == value


def test_a_value_that_cannot_be_held_is_a_problem() -> None:
    _, problems = plain_properties({"a": object()})
    assert problems == ["property 'a' has the type 'object', which a graph cannot hold"]
