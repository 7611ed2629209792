"""Decimal signs: whether the numbers of a text table have decimal commas or decimal points.

Tables of readings and of graphs are judged by the same evidence; their readers decide what to do if it is contradictory
or ambiguous.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

__all__ = ["DecimalSign", "detect_decimal_sign", "may_be_thousands"]

GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")


@dataclass(frozen=True)
class DecimalSign:
    """The decimal sign of a table, and the evidence for it.

    Args:
        sign: ``","`` or ``"."``.
        comma: A number with a comma, or ``None`` if there is none. Such numbers contradict the sign ``"."``.
        point: A number with a point, if there are also numbers with a comma.
        ambiguous: Whether the sign may separate thousands in every number that has it (``12,500``).
    """

    sign: str
    comma: str | None = None
    point: str | None = None
    ambiguous: bool = False


def detect_decimal_sign(separator: str, numbers: Callable[[str], Iterator[str]]) -> DecimalSign:
    """Detect the decimal sign of a table; points win over commas.

    Args:
        separator: The separator of the columns; a comma cannot also be the decimal sign.
        numbers: Returns the cells that are numbers and contain the given sign.

    Examples:
        >>> cells = ["1,5", "20,125"]
        >>> detect_decimal_sign(";", lambda sign: (cell for cell in cells if sign in cell)).sign
        ','
    """
    comma = None if separator == "," else next(iter(numbers(",")), None)
    if comma is None:
        return DecimalSign(".")
    point = next(iter(numbers(".")), None)
    sign = "," if point is None else "."
    return DecimalSign(sign, comma, point, may_be_thousands(numbers(sign)))


def may_be_thousands(numbers: Iterable[str]) -> bool:
    """Return whether the sign in each of these numbers may separate thousands.

    Examples:
        >>> may_be_thousands(["12,500"]), may_be_thousands(["12,500", "0,5"])
        (True, False)
    """
    return all(GROUPED.fullmatch(number) for number in numbers)
