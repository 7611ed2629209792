"""Evidence cards of laws."""

from __future__ import annotations

from thence.report.evidence import Evidence
from thence.report.schema import Card

__all__ = ["make_law_card"]


def make_law_card(evidence: Evidence, position: int) -> Card | None:
    """Return the evidence for a law.

    Args:
        evidence: The data.
        position: The position of the law.
    """
    return None
