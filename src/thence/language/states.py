"""States: when two values mean the same state, however they are written.

A state may be read as an integer from one file, as a float or a truth value from another, and as text from a third:
``1``, ``1.0``, ``"1.00"``, ``True`` and ``"true"`` are one state. Everything that compares states compares their keys.
"""

from __future__ import annotations

import re

import numpy as np

_DECIMAL = re.compile(r"[+-]?(0|[1-9]\d*)(\.\d*)?([eE][+-]?\d+)?", re.ASCII)
"""Text that is a number. Text with leading zeros, such as ``"007"``, is a code and stays as it is."""
_TRUTH = {"true": "1", "false": "0"}
LARGEST_WHOLE = 1e15
"""Up to here a number that has no decimals is known to be whole."""
MOST_STATES = 10
"""Most different whole numbers that are read as states."""
_READINGS_PER_STATE = 10
LEAST_NUMBER = 10
"""Whole numbers from here on, such as set points of 20 and 22, are no states unless others of the sensor are below."""


def are_enough(values: int, readings: int, *, most: int = MOST_STATES) -> bool:
    """Whether whole numbers are states: few of them differ, and each could have been read often.

    Args:
        values: How many different ones there are.
        readings: Number of readings.
        most: Most different ones.

    Examples:
        >>> are_enough(2, 20), are_enough(2, 19), are_enough(1, 100), are_enough(11, 1000)
        (True, False, False, False)
    """
    return 2 <= values <= most and readings >= _READINGS_PER_STATE * values


def state_key(value: object) -> str:
    """Return a text that is the same for every spelling of a state, and differs between states.

    Args:
        value: A state: text, a number or a truth value.

    Examples:
        >>> {state_key(one) for one in (1, 1.0, "1", "1.00", True, "true", " 1 ")}
        {'1'}
        >>> state_key("open"), state_key(2.5), state_key("007")
        ('open', '2.5', '007')
    """
    if isinstance(value, (bool, np.bool_)):
        return "1" if value else "0"
    if isinstance(value, (int, float, np.integer, np.floating)):
        return _number_key(float(value))
    text = str(value).strip()
    if text.lower() in _TRUTH:
        return _TRUTH[text.lower()]
    return _number_key(float(text)) if _DECIMAL.fullmatch(text) else text


def _number_key(number: float) -> str:
    whole = number == int(number) if abs(number) < LARGEST_WHOLE else False
    return str(int(number)) if whole else repr(number)


def state_number(value: object) -> float | None:
    """Return the number that a state is, or ``None`` if it is not one.

    Args:
        value: A state: text, a number or a truth value.

    Examples:
        >>> state_number("1.00"), state_number(True), state_number("open")
        (1.0, 1.0, None)
    """
    key = state_key(value)
    return float(key) if _DECIMAL.fullmatch(key) else None
