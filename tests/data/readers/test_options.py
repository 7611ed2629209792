"""Options of the wrong type, and texts that cannot be written: an error of ours, before anything is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.helpers.examples import examples
from thence.data.readers import read_sensors
from thence.data.readers.columns import check_template
from thence.data.readers.lines import check_encoding
from thence.errors import ConfigError, InputError, ThenceError

WRONG: dict[str, list[Any]] = {
    "units": [5, "m", ["a"], {"a": 5}, {5: "m"}, {"a": None}],
    "ignore": [5, [5], b"a", {"a": 1}, [None], [["a"]]],
    "time_format": [5, b"s", ["s"], "", "\ud800%Y", True],
    "encoding": [5, "", "utf-8\0", b"utf-8", "\ud800", "base64", "punycode", "undefined"],
    "name": [5, "{column", "{0}", "{column.x}", "{column[0]}", "{column:>9999999999}", "\ud800", "", b"{column}", "{}"],
    "sensor": [5, ["a"], "\ud800", b"a"],
    "value": [5, ["a"]],
    "time": [5, None, ["time"], "\ud800"],
    "timezone": [5, b"UTC", "../../etc/passwd", "\ud800", "UTC\0", ["UTC"], "Europe"],
    "separator": [5, "", b",", "ab", "é", "\ud800", ["a"]],
    "decimal": [5, b","],
    "header": ["yes", 5, "false"],
    "kind_pattern": [5, "(", ["a"], {5: "x"}, {"a": 5}, "\ud800"],
    "kinds": [5, ["a"], {5: "x"}],
    "categorical": [5, [5], [None], "\ud800"],
    "numeric": [5, {"a": 3}],
    "missing": [None, [None], [[1]], b"x", ["\ud800"]],
    "on_error": [5, None, ["raise"]],
    "max_loss": ["a", None, float("nan"), 5, True],
    "layout": [5, None, ["wide"]],
    "sheet": [5, [5]],
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("options") / "a.csv"
    file.write_text("time,a\n2020-01-01 00:00,1\n2020-01-02 00:00,2\n", encoding="utf-8")
    return file


@pytest.mark.parametrize(("option", "value"), [(option, value) for option, values in WRONG.items() for value in values])
def test_options_of_the_wrong_type_are_refused(path: Path, option: str, value: Any) -> None:
    """They ended in an AttributeError, a TypeError or a UnicodeEncodeError; a wide format filled the memory."""
    with pytest.raises(ConfigError) as caught:
        read_sensors(path, **{option: value})
    assert len(str(caught.value)) < 400


@settings(deadline=None, max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(sorted(WRONG)), st.one_of(st.text(st.characters(codec=None), max_size=5), st.integers(), st.none())
)
def test_any_value_of_an_option_is_used_or_refused(path: Path, option: str, value: Any) -> None:
    try:
        read_sensors(path, **{option: value})
    except ThenceError as error:
        str(error).encode("utf-8")


@pytest.mark.parametrize(
    "source", ["", "a\0b.csv", "x" * 5_000 + ".csv", "\ud800.csv", "[", b"a.csv", 5, None, [], [None]]
)
def test_sources_that_are_none(source: Any) -> None:
    """The empty path meant the folder one happens to be in; a long one was an OSError."""
    with pytest.raises(InputError) as caught:
        read_sensors(source)
    assert len(str(caught.value)) < 300


def test_templates_and_encodings_that_are_fine() -> None:
    for name in (None, "{column}", "{file}/{column} of {sheet}{kind}", "{{{column}}}"):
        check_template(name)
    for encoding in (None, "utf-8", "cp1252", "utf-16", "shift_jis"):
        check_encoding(encoding)
