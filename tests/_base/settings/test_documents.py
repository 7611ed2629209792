"""Documents from anywhere: JSON, TOML and XML are read whole and within limits, or refused with an error of ours."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thence._base.settings.documents import DEEPEST, check_json_depth, check_xml, parse_json, parse_toml, read_text
from thence.errors import ConfigError, GraphError

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
LAUGHS = b'<!DOCTYPE a [<!ENTITY b "ha"><!ENTITY c "&b;&b;">]><a>&c;</a>'


@given(VALUES)
def test_json_within_the_limits_is_read_as_python_reads_it(value: object) -> None:
    text = json.dumps(value)
    try:
        text.encode("utf-8")
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return
    assert parse_json(text, where="a.json", error=GraphError) == value


@given(st.text(alphabet='[]{}",:\\ab1 \n', max_size=60))
def test_any_text_is_json_or_an_error_of_ours(text: str) -> None:
    try:
        expected = json.loads(text)
    except json.JSONDecodeError:
        with pytest.raises(GraphError):
            parse_json(text, where="a.json", error=GraphError)
        return
    try:
        assert parse_json(text, where="a.json", error=GraphError) == expected
    except GraphError as error:
        assert "twice" in str(error)


@given(st.text(alphabet="[]{}\"'=.#ab1 \n", max_size=60))
def test_any_text_is_toml_or_an_error_of_ours(text: str) -> None:
    try:
        expected = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        with pytest.raises(ConfigError):
            parse_toml(text, where="a.toml", error=ConfigError)
        return
    assert parse_toml(text, where="a.toml", error=ConfigError) == expected


@pytest.mark.parametrize("levels", [DEEPEST + 1, 100_000])
@pytest.mark.parametrize(("begin", "end"), [("[", "]"), ('{"a":', "}")])
def test_deep_json_is_refused(levels: int, begin: str, end: str) -> None:
    """It ended in RecursionError, and in a crash of the process within the parser of JSON-LD."""
    text = "\n" + begin * levels + "1" + end * levels
    with pytest.raises(GraphError, match=r"a\.json, line 2: nested more than 100 levels deep"):
        parse_json(text, where="a.json", error=GraphError)


def test_nesting_up_to_the_limit_is_read() -> None:
    text = "[" * DEEPEST + "]" * DEEPEST
    parse_json(text, where="a.json", error=GraphError)
    parse_toml(f"a = {text}", where="a.toml", error=ConfigError)
    check_json_depth(b'["' + b"[" * 500 + b'"]' * 1, where="a", error=GraphError)  # brackets in a string


@pytest.mark.parametrize(
    "text",
    ["a=" + "[" * 100_000, "a=" + "{a=" * 20_000, "a" + ".a" * 100_000 + "=1", "[a" + ".a" * 100_000 + "]"],
)
def test_deep_toml_is_refused(text: str) -> None:
    """It ended in RecursionError; a key of 100,000 parts took 25 s and all memory."""
    with pytest.raises(ConfigError, match="nested more than 100 levels deep"):
        parse_toml(text, where="a.toml", error=ConfigError)


def test_dots_and_brackets_in_strings_and_comments_are_not_nesting() -> None:
    text = f'a = """\n{"." * 500}\n{"[" * 500}"""\n# {"[" * 500}{"." * 500}\nb = "{"." * 500}"\n'
    assert parse_toml(text, where="a.toml", error=ConfigError) == tomllib.loads(text)


def test_numbers_with_thousands_of_digits_are_refused() -> None:
    with pytest.raises(GraphError, match="has 5,000 digits"):
        parse_json("9" * 5_000, where="a.json", error=GraphError)
    with pytest.raises(ConfigError, match="too many digits"):
        parse_toml("a = " + "9" * 5_000, where="a.toml", error=ConfigError)


def test_half_a_character_is_refused() -> None:
    with pytest.raises(GraphError, match=r"line 2: .*ud800 is half of a character"):
        parse_json('{"a":\n"\\ud800"}', where="a.json", error=GraphError)
    assert parse_json('"\\ud83d\\ude00"', where="a.json", error=GraphError) == "😀"


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (LAUGHS, "the entity 'c' names another file or entity"),
        (b'<!DOCTYPE a [<!ENTITY b SYSTEM "/etc/passwd">]><a>&b;</a>', "names another file"),
        (b'<!DOCTYPE a [<!ENTITY % b "x">]><a/>', "names another file"),
        (b'<!DOCTYPE a [<!ENTITY b "' + b"x" * 300 + b'">]><a/>', "more than 256 characters"),
        (b'<!DOCTYPE a SYSTEM "a.dtd"><a>&b;</a>', "'b' is not declared in this file"),
        (b'<?xml version="1.0" encoding="no-such"?><a/>', "the encoding that the file names cannot be read"),
        (b"<a>\n<b></a>", "line 2: not valid XML"),
        (b"<a>" * 50 + b"</a>" * 50, "nested more than 20 levels deep"),
    ],
)
def test_xml_with_dangers_is_refused(raw: bytes, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        check_xml(raw, where="a.xml", error=GraphError, deepest=20)


def test_short_entities_are_allowed() -> None:
    """Editors of ontologies write them for namespaces."""
    check_xml(b'<!DOCTYPE a [<!ENTITY owl "http://x.org/owl#">]><a b="&owl;C"/>', where="a.owl", error=GraphError)


def test_text_in_another_encoding_names_the_line(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_bytes(b'a = 1\nb = "\xff"')
    with pytest.raises(ConfigError, match=r"a\.toml, line 2: not UTF-8 text"):
        read_text(tmp_path / "a.toml", error=ConfigError)
    (tmp_path / "b.toml").write_bytes(b"\xef\xbb\xbfa = 1")
    assert read_text(tmp_path / "b.toml", error=ConfigError) == "a = 1"


@pytest.mark.parametrize("name", ["x" * 5_000, "a\0b"])
def test_impossible_names_are_told_as_our_errors(name: str) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_text(Path(name), error=ConfigError)
