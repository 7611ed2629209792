"""Errors show names from data as data: short, escaped, in an encoding that every terminal has."""

from __future__ import annotations

import pytest
from contextlib import AbstractContextManager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thence.errors import BindingError, GraphError, InputError, guard_reading, nearest, quote

HOSTILE = st.text(st.characters(codec=None), max_size=300)


@given(HOSTILE)
def test_a_quoted_name_is_short_and_harmless(name: str) -> None:
    shown = quote(name)
    assert shown[0] == shown[-1] == "'"
    assert len(shown) <= 80 * len("\\ud800") + 2
    shown.encode("utf-8")
    assert not any(ord(sign) < 32 or 127 <= ord(sign) < 160 for sign in shown)
    if name.isascii() and name.isprintable() and len(name) <= 80:
        assert shown == f"'{name}'"


@given(HOSTILE, HOSTILE)
def test_an_error_can_be_printed_whatever_it_names(message: str, where: str) -> None:
    """Raw escape sequences reached the terminal, and lone surrogates ended in a UnicodeEncodeError."""
    shown = str(InputError(message, where=where, hint=message))
    shown.encode("utf-8")
    assert "\x1b" not in shown and "\r" not in shown


def test_lines_of_a_message_stay_lines_and_places_are_one_line() -> None:
    error = InputError("first\nsecond", where="a\nb.csv")
    assert str(error) == "a\\nb.csv: first\nsecond"


def test_a_name_with_braces_is_no_format() -> None:
    assert nearest("{1}", ["{0}"]) == "did you mean '{0}'?"


def test_messages_have_a_bounded_size() -> None:
    """A graph with 30,000 mistakes gave an error of 30,000 lines; a long name one of 9,000 characters."""
    error = GraphError("\n  ".join(["30000 problems", *(f"line {n}" for n in range(30_000)), "nothing was loaded"]))
    lines = str(error).splitlines()
    assert len(lines) <= 61
    assert lines[-2].strip() == "… and 29,942 more"
    assert lines[-1].strip() == "nothing was loaded"
    assert len(str(GraphError("x" * 9_000, where="y" * 9_000, hint="z" * 9_000))) < 3_100


@pytest.mark.parametrize("raised", [KeyError("a"), RecursionError(), MemoryError(), OSError(36, "File name too long")])
def test_whatever_a_library_raises_is_told_as_our_error(raised: BaseException) -> None:
    with pytest.raises(GraphError, match=r"^plant\.json: cannot be read") as caught, _guarded():
        raise raised
    assert caught.value.__cause__ is raised


def test_a_panic_is_told_as_our_error() -> None:
    class PanicException(BaseException):  # as pyo3 raises it: not an Exception
        pass

    with pytest.raises(GraphError, match="PanicException: offset"), _guarded():
        raise PanicException("offset + length <= self.length")


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit])
def test_ctrl_c_passes_the_guard(raised: type[BaseException]) -> None:
    with pytest.raises(raised), _guarded():
        raise raised


def test_our_own_errors_pass_the_guard_unchanged() -> None:
    own = BindingError("a")
    with pytest.raises(BindingError) as caught, _guarded():
        raise own
    assert caught.value is own


def _guarded() -> AbstractContextManager[None]:
    return guard_reading(GraphError, where="plant.json")


class Panic(BaseException):
    """What compiled libraries raise: no ``Exception``."""


@pytest.mark.parametrize("foreign", [ValueError("bad\nmore"), Panic("bad"), RecursionError("bad"), KeyError()])
def test_the_door_lets_only_our_errors_out(foreign: BaseException) -> None:
    with pytest.raises(InputError, match=r"^a\.csv: cannot be read: (bad|KeyError)$"), door(InputError, where="a.csv"):
        raise foreign


@pytest.mark.parametrize("own", [ConfigError("ours"), KeyboardInterrupt(), SystemExit(3)])
def test_the_door_lets_ours_and_interrupts_pass(own: BaseException) -> None:
    with pytest.raises(type(own)), door(InputError, where="a.csv"):
        raise own


def test_a_foreign_message_is_cut() -> None:
    with pytest.raises(InputError) as caught, door(InputError):
        raise ValueError("x" * 10_000)
    assert len(str(caught.value)) < 300
