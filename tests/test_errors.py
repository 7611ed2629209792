"""Errors show names from data as data: short, escaped, in an encoding that every terminal has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.failures import logged_failures, no_failures
from thence.errors import ConfigError, GraphError, InputError, ThenceError, attempt, nearest, quote, reported_as

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
    assert len(str(GraphError("\n".join(["x" * 900] * 60)))) < 4_200, "many long lines gave 9,248 characters"
    assert str(GraphError("\n".join(["a"] * 60))) == "\n".join(["a"] * 60)


class Panic(BaseException):
    """What compiled libraries raise: no ``Exception``."""


@pytest.mark.parametrize("foreign", [ValueError("bad\nmore"), Panic("bad"), OSError(5, "bad"), KeyError()])
def test_the_door_lets_only_our_errors_out(foreign: BaseException) -> None:
    with (
        pytest.raises(InputError, match=r"^a\.csv: cannot be read: (bad|KeyError)$"),
        reported_as(InputError, where="a.csv"),
    ):
        raise foreign


@pytest.mark.parametrize("own", [ConfigError("ours"), KeyboardInterrupt(), SystemExit(3)])
def test_the_door_lets_ours_and_interrupts_pass(own: BaseException) -> None:
    with pytest.raises(type(own)), reported_as(InputError, where="a.csv"):
        raise own


def test_a_foreign_message_is_cut() -> None:
    with pytest.raises(InputError) as caught, reported_as(InputError):
        raise ValueError("x" * 10_000)
    assert len(str(caught.value)) < 300


def test_endless_words_and_places_are_quoted_in_part() -> None:
    error = ThenceError(f"bad value '{'x' * 9_000}'", where="y" * 9_000 + ", line 3", hint=f"not {'z' * 300}")
    assert error.message == f"bad value '{'x' * 78}…'"
    assert error.where is not None and len(error.where) < 410 and error.where.endswith("y, line 3")
    assert error.hint is not None and len(error.hint) < 90
    path = "/".join(["folder"] * 30)
    assert ThenceError(f"see {path}").message == f"see {path}"


def test_an_interrupt_stays_one_even_if_python_turns_it_into_an_error() -> None:
    class Interrupting:
        def __set_name__(self, owner: type, name: str) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), reported_as(InputError):
        type("Made", (), {"field": Interrupting()})  # before Python 3.12 this raises a RuntimeError
    with pytest.raises(KeyboardInterrupt), reported_as(InputError):
        raise RuntimeError("a class") from KeyboardInterrupt()


class Panic(BaseException):
    """As compiled libraries raise it."""


def raise_(error: BaseException) -> str:
    raise error


def test_what_fails_after_a_verdict_is_logged_and_replaced() -> None:
    for error, reason in ((ValueError("a\x1b\nb"), "a\\x1b"), (Panic("lost"), "lost"), (InputError("no"), "no")):
        with logged_failures() as records:
            assert attempt("a text", lambda error=error: raise_(error), lambda why: why) == reason  # type: ignore[misc]
        assert [record.getMessage() for record in records] == [f"a text failed: {reason}"]
        assert records[0].exc_info is not None and records[0].exc_info[1] is error
    with no_failures():
        assert attempt("a text", lambda: "text", lambda why: why) == "text"
        for stop in (KeyboardInterrupt(), SystemExit(2)):
            with pytest.raises(type(stop)):
                attempt("a text", lambda stop=stop: raise_(stop), lambda why: why)  # type: ignore[misc]
