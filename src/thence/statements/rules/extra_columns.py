"""The extra columns that rules may carry beside their measures: which there are, where they come from, what is better.

A measure is a function of the counts of a rule (``thence.statements.rules.measures``); an extra column is not, and is
added by a step that knows more: a lifted table, a miner, or refinement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Origin = Literal["lifted", "miner", "assurance", "redundancy", "significance", "digest", "exceptions", "confirmation"]


@dataclass(frozen=True)
class ExtraColumn:
    """One extra column.

    Args:
        origin: What adds the column.
        lower_is_better: Whether sorting puts low values first.
        of_table: Whether the values belong to one table, so that they are dropped when rules are counted on another.
    """

    origin: Origin
    lower_is_better: bool = False
    of_table: bool = True


EXTRA_COLUMNS: Mapping[str, ExtraColumn] = MappingProxyType(
    {
        "support_time": ExtraColumn("lifted"),
        "support_embeddings": ExtraColumn("lifted"),
        "places": ExtraColumn("lifted"),
        "confidence_low": ExtraColumn("lifted"),
        "confidence_spread": ExtraColumn("lifted", lower_is_better=True),
        "probability": ExtraColumn("miner", of_table=False),
        "joint_confidence": ExtraColumn("miner", of_table=False),
        "assured_confidence": ExtraColumn("assurance"),
        "improvement": ExtraColumn("redundancy"),
        "both_ways": ExtraColumn("digest"),
        "also_known_as": ExtraColumn("digest", of_table=False),
        "where": ExtraColumn("digest"),
        "places_judged": ExtraColumn("exceptions"),
        "places_held": ExtraColumn("exceptions"),
        "except": ExtraColumn("exceptions"),
        "confirmed_confidence": ExtraColumn("confirmation"),
        "confirmed_rows": ExtraColumn("confirmation"),
        "confirmed_occasions": ExtraColumn("confirmation"),
        "p_value": ExtraColumn("significance", lower_is_better=True),
        "p_adjusted": ExtraColumn("significance", lower_is_better=True),
        "p_simpler": ExtraColumn("significance", lower_is_better=True),
        "p_drift": ExtraColumn("significance", lower_is_better=True),
    }
)


def columns_from(origin: Origin) -> tuple[str, ...]:
    """Return the names of the extra columns that a step adds.

    >>> columns_from("significance")
    ('p_value', 'p_adjusted', 'p_simpler', 'p_drift')
    """
    return tuple(name for name, column in EXTRA_COLUMNS.items() if column.origin == origin)
