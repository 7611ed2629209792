"""Errors show names from data as data: short, escaped, in an encoding that every terminal has."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from thence.errors import InputError, nearest, quote

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
