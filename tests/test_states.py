"""States: every spelling of a state has the same key, and different states have different keys."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thence.language.states import state_key, state_number

WHOLE = st.integers(-(10**9), 10**9)


@given(WHOLE)
def test_spellings_of_a_whole_number_are_one_state(number: int) -> None:
    spellings = [
        number,
        float(number),
        np.int64(number),
        np.float64(number),
        str(number),
        f"{number}.0",
        f" {number}.00 ",
    ]
    assert {state_key(one) for one in spellings} == {str(number)}


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_and_its_text_are_one_state(number: float) -> None:
    assert state_key(number) == state_key(repr(number))
    assert state_number(repr(number)) == number


@given(st.one_of(st.text(), st.floats(allow_nan=False), WHOLE, st.booleans()))
def test_a_key_is_its_own_key(value: object) -> None:
    assert state_key(state_key(value)) == state_key(value)


@given(WHOLE, WHOLE)
def test_different_numbers_are_different_states(a: int, b: int) -> None:
    assert (state_key(a) == state_key(f"{b}.0")) is (a == b)


@pytest.mark.parametrize("one", [1, 1.0, "1", "1.00", True, np.True_, "true", "True", " TRUE ", np.int8(1), "1e0"])
def test_truth_is_one(one: object) -> None:
    assert state_key(one) == "1"
    assert state_number(one) == 1.0


@pytest.mark.parametrize("text", ["007", "open", "1,5", "--", "1 2", "inf", "nan", "0x1", "yes", "1_000", "１２"])
def test_codes_and_words_stay_text(text: str) -> None:
    assert state_key(text) == text


def test_words_differ_by_case_and_infinity_is_no_trouble() -> None:
    assert state_key("Open") != state_key("open")
    assert state_key(math.inf) == "inf"
    assert state_number("open") is None
