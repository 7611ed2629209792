"""Terms: the quantities that laws are about, such as the total flow of the pipes that end at a junction.

A term is a reading at the place itself or at its one neighbour in a role, the total of the readings of all neighbours
in a role, or a property. A property may be added to a reading of the same node (pressure plus elevation), and a reading
may be taken by its change per hour. This module holds the types; it computes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias


@dataclass(frozen=True, slots=True, order=True)
class Term:
    """A quantity at a place.

    Args:
        form: ``"reading"``, ``"total"`` over the neighbours in a role, ``"property"``, or ``"sensor"`` for a sensor
            that each place names itself, wherever it is.
        name: The kind of the sensors, or the name of the property; of a sensor without kind, its id.
        role: The name of the role in the pattern; an empty string for the place itself. Of a sensor, its name in the
            formula of the law.
        unit: The unit.
        plus: A property of the same node that is added to the reading; an empty string for none.
        change: Whether the term is the change of the reading per hour, until the next window.

    Examples:
        >>> flow = Term("total", "flow", role="Pipes that end there", unit="m3/h")
        >>> Term.from_dict(flow.to_dict()) == flow
        True
    """

    form: Literal["reading", "total", "property", "sensor"]
    name: str
    role: str = ""
    unit: str = ""
    plus: str = ""
    change: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that differ from their defaults, ready for JSON."""
        full = {"form": self.form, "name": self.name, "role": self.role, "unit": self.unit, "plus": self.plus}
        known = {key: value for key, value in full.items() if value or key in ("form", "name")}
        return {**known, "change": True} if self.change else known

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> Term:
        """Return the term of ``to_dict``.

        Args:
            record: The fields.
        """
        return Term(**record)


Combination: TypeAlias = tuple[tuple[int, Term], ...]
"""A signed sum of terms: (1 or −1, term) each; an empty one is 0."""


ON_OFF = 0.5
"""Between the two numbers of a state that reads 0 or 1."""


@dataclass(frozen=True, slots=True, order=True)
class Condition:
    """Which rows or places a law is about.

    Args:
        form: ``"state"`` for rows in which a sensor of the place reads a state, ``"above"`` for those in which it
            reads more than a number, ``"property"`` for places with a property value, ``"without"`` for places that
            have no sensor of a kind.
        name: The kind of the sensor, or the name of the property.
        value: The state or value, as text; empty for ``"without"``.
        unit: The unit of the number of ``"above"``.
        at: Where the sensor is, if that is not the place itself.

    Examples:
        >>> Condition.from_dict({"form": "state", "name": "status", "value": "closed"}).value
        'closed'
    """

    form: Literal["state", "above", "property", "without"]
    name: str
    value: str = ""
    unit: str = ""
    at: str = ""

    @property
    def is_of_places(self) -> bool:
        """Whether the condition is about places and not about rows."""
        return self.form in ("property", "without")

    def to_dict(self) -> dict[str, str]:
        """Return the fields, ready for JSON."""
        fixed = {"form": self.form, "name": self.name, "value": self.value}
        return {**fixed, **{name: text for name, text in (("unit", self.unit), ("at", self.at)) if text}}

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> Condition:
        """Return the condition of ``to_dict``.

        Args:
            record: The fields.
        """
        return Condition(**record)
