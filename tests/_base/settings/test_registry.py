"""Parts by name: built-in ones, plug-ins, and what is wrong with a plug-in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.distributions import add_distribution
from thence._base.settings.registry import Registry
from thence.errors import ConfigError

NUMBERS = Registry("number", {"pi": "math:pi"}, group="test.numbers", of=float)


@pytest.fixture(autouse=True)
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    points = {
        "half": "registry_plugin:HALF",
        "word": "registry_plugin:WORD",
        "gone": "registry_plugin:GONE",
        "lost": "no_such_module:X",
        "pi": "registry_plugin:HALF",
    }
    add_distribution(tmp_path, "registry_plugin", "HALF = 0.5\nWORD = 'half'\n", {"test.numbers": points})
    monkeypatch.syspath_prepend(str(tmp_path))


def test_a_part_of_the_package_wins_over_a_plug_in() -> None:
    assert NUMBERS.names() == ("pi", "half", "word", "gone", "lost")
    assert NUMBERS.load("pi") > 3
    assert NUMBERS.load("half") == 0.5
    assert "half" in NUMBERS and "third" not in NUMBERS


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("hal", r"unknown number 'hal' \(did you mean 'half'\?\)"),
        ("word", "entry point 'word = registry_plugin:WORD' of the group 'test.numbers': must be a float, got a str"),
        ("gone", "entry point 'gone = .*': cannot be imported .*reinstall that package"),
        ("lost", "entry point 'lost = .*': cannot be imported .*no_such_module"),
    ],
)
def test_what_is_wrong_is_said(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        NUMBERS.load(name)


@pytest.mark.parametrize(
    ("module", "told"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("def broken(:", "SyntaxError"),
        ("raise BaseException('panic')", "BaseException: panic"),
    ],
)
def test_a_plug_in_that_fails_when_it_is_imported_is_named(
    module: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only ImportError and AttributeError were told; others ended in a traceback."""
    name = f"broken_plugin_{abs(hash(module))}"
    add_distribution(tmp_path, name, module, {"test.numbers": {"broken": f"{name}:X"}})
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ConfigError, match="fails when it is imported") as caught:
        NUMBERS.load("broken")
    assert told in str(caught.value)
    assert "update or remove that package" in str(caught.value)
