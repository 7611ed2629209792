"""Quantities: which readings may be added, compared with each other, or compared with a property.

Units decide; where a unit is missing, the words of a name do. What has an arbitrary zero (temperatures, angles) is
never summed and never compared with 0, only with its own kind. This module knows names and units; it must not look at
readings.
"""

from __future__ import annotations

from thence.language.names import STATE_WORDS, name_words
from thence.statements.laws.terms import Combination, Term


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ARBITRARY_ZERO = frozenset({"°C", "°F", "degC", "degF", "deg_C", "deg_F", "DEG_C", "DEG_F", "C", "F", "°", "deg"})
"""Units whose 0 is a convention."""
_OF_ARBITRARY_ZERO = frozenset({"temperature", "temp", "angle", "direction", "azimuth", "date", "time", "hour"})
_EXTENSIVE = _words(
    """
    flow demand supply power energy consumption production generation load heat volume mass current charge rate
    count inflow outflow flux discharge intake
    """
)
"""Words of quantities of which the parts make a total."""
_INTENSIVE = _words(
    """
    pressure head level humidity speed voltage frequency concentration density quality ph co2 position valve
    damper opening efficiency factor ratio percent percentage fraction setpoint setting elevation brightness
    illuminance
    """
)
"""Words of quantities whose total over several places is no quantity."""
_LIMITS = _words(
    """
    nominal rated design maximum minimum max min upper lower high low limit threshold target set point setpoint
    sp setting default constant
    """
)
"""Words that say in which respect a property is a value of a quantity."""
_SETTINGS = frozenset({"setting", "setpoint", "sp"})
_HEIGHTS = frozenset({"elevation", "altitude", "height", "datum", "invert"})
_HEADS = frozenset({"head", "level", "pressure", "depth", "stage"})
_SHARES = frozenset({"%", "percent", "PERCENT", "1"})


def _quantity(name: str) -> frozenset[str]:
    """The words of a name that say which quantity it is."""
    return name_words(name) & (_OF_ARBITRARY_ZERO | _EXTENSIVE | _INTENSIVE)


def is_state(term: Term) -> bool:
    """Return whether a term without unit is a state: a number that stands for a word.

    Args:
        term: The term.
    """
    return not term.unit and bool(name_words(term.name) & STATE_WORDS)


def has_zero(term: Term) -> bool:
    """Return whether 0 means nothing of a quantity, so that its size and sign mean something.

    Args:
        term: The term.

    Examples:
        >>> has_zero(Term("reading", "flow", unit="m3/h")), has_zero(Term("reading", "t", unit="°C"))
        (True, False)
    """
    return term.change or not (term.unit in _ARBITRARY_ZERO or name_words(term.name) & _OF_ARBITRARY_ZERO)


def is_additive(term: Term) -> bool:
    """Return whether the readings of several places make a total.

    Args:
        term: The term.

    Examples:
        >>> [is_additive(Term("reading", kind)) for kind in ("flow", "temperature", "status", "pressure", "k1")]
        [True, False, False, False, False]
    """
    words = name_words(term.name)
    if not has_zero(term) or is_state(term) or term.unit in _SHARES:
        return False
    return bool(words & _EXTENSIVE) or (bool(term.unit) and not words & _INTENSIVE)


def is_sum(combination: Combination) -> bool:
    """Return whether a signed sum that may be 0 is one of quantities of the same dimension.

    Temperatures may be subtracted from each other; a sum of them depends on where their zero is.

    Args:
        combination: The signed terms, of one unit.
    """
    terms = [term for _, term in combination]
    if any(is_state(term) for term in terms):
        return False
    if not all(has_zero(term) for term in terms) and sum(sign for sign, _ in combination) != 0:
        return False
    first = terms[0]
    return bool(first.unit) or all(_is_kind(first.name, term.name) for term in terms[1:])


def _is_kind(one: str, other: str) -> bool:
    return one == other or (bool(_quantity(one)) and _quantity(one) == _quantity(other))


def is_value_of(fact: Term, term: Term) -> bool:
    """Return whether a property is a value of the quantity that a term reads: a setting, a limit, a nominal value.

    Args:
        fact: The property.
        term: The reading.

    Examples:
        >>> flow = Term("reading", "natural_gas_flow", unit="W")
        >>> names = ("nominal_efficiency", "max_flow", "setting", "area")
        >>> [is_value_of(Term("property", name), flow) for name in names]
        [False, True, True, False]
    """
    if is_state(term) or (fact.unit and fact.unit != term.unit):
        return False
    words, own = name_words(fact.name), name_words(term.name)
    if words & _HEIGHTS:
        return bool(own & {"head", "level"}) and words <= _HEIGHTS | _LIMITS | own and fact.unit == term.unit
    of = words - _LIMITS
    if of:
        return of <= own and (_quantity(fact.name) - _LIMITS == _quantity(term.name) - _LIMITS or of == own)
    return bool(words & _SETTINGS) or {"set", "point"} <= words


def is_height_for(name: str, term: Term) -> bool:
    """Return whether a property may be added to a reading of its node: an elevation to a pressure head or a level.

    Args:
        name: The name of the property.
        term: The reading, of the same unit.
    """
    return bool(name_words(name) & _HEIGHTS) and bool(name_words(term.name) & _HEADS)
