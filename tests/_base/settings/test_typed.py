"""Types of settings: what is accepted, what is converted, and what an error says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from thence._base.settings.typed import Location, build, check_keywords, check_types
from thence.errors import ConfigError


@dataclass(frozen=True)
class Example:
    count: int
    name: str = ""
    share: float | None = None
    names: tuple[str, ...] = ()
    rows: tuple[tuple[int, ...], ...] = ()
    mode: Literal["a", "b"] = "a"
    flag: bool | float = False
    table: Mapping[str, int] = field(default_factory=dict)
    words: str | Iterable[str] = ""
    anything: Any = None


def test_lists_become_tuples_and_integers_floats() -> None:
    built = build(
        Example, {"count": 1, "share": 1, "names": ["x"], "rows": [[1, 2], []], "table": {"y": 2}}, Location()
    )
    assert built == Example(1, share=1.0, names=("x",), rows=((1, 2), ()), table={"y": 2})
    assert isinstance(built.share, float)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("count", "1", "an integer"),
        ("count", True, "an integer"),
        ("name", 3, "a string"),
        ("share", "x", "a number"),
        ("names", "x", "a list of strings"),
        ("rows", [1], "a list, each element a list of integers"),
        ("mode", "c", "one of 'a', 'b'"),
        ("flag", "x", "a boolean or a number"),
        ("table", 3, "a table"),
        ("words", 5, "a string or a list of strings"),
        ("words", ["a", 5], "a string or a list of strings"),
        ("words", b"a", "a string or a list of strings"),
        ("words", "\ud800", "a string or a list of strings"),
    ],
)
def test_a_value_of_the_wrong_type_is_named_by_its_python_type(name: str, value: Any, expected: str) -> None:
    location = Location("job.toml", f"[part]\n{name} = 0", ("part",))
    for check in (lambda: build(Example, {"count": 1, name: value}, location), lambda: _check(name, value, location)):
        with pytest.raises(ConfigError) as caught:
            check()
        assert str(caught.value) == f"job.toml, line 2, [part]: '{name}' must be {expected}, got {value!r}"


def _check(name: str, value: Any, location: Location) -> None:
    check_types(Example, {name: value}, location)


def test_missing_and_unknown_keys_are_errors() -> None:
    with pytest.raises(ConfigError, match="'count' is missing"):
        build(Example, {}, Location())
    with pytest.raises(ConfigError, match=r"unknown setting 'cout' \(did you mean 'count'\?\)"):
        build(Example, {"cout": 1}, Location())
    with pytest.raises(ConfigError, match="'part' must be a table, got 3"):
        build(Example, 3, Location(path=("part",)))


def test_keywords_are_those_of_the_function_that_are_not_passed_otherwise() -> None:
    def read(source: str, *, encoding: str = "") -> None: ...

    def read_all(source: str, **options: Any) -> None: ...

    check_keywords(read, {"encoding": "utf-8"}, Location(), without=["source"])
    check_keywords(read_all, {"any": "thing"}, Location(), without=["source"])
    with pytest.raises(ConfigError, match=r"unknown setting 'source' \(known: encoding\)"):
        check_keywords(read, {"source": "x"}, Location(), without=["source"])


def test_a_seed_is_not_negative() -> None:
    def draw(*, seed: int = 0) -> None: ...

    with pytest.raises(ConfigError, match="'seed' must be an integer >= 0, got -1"):
        check_types(draw, {"seed": -1})
