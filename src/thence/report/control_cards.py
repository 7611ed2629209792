"""Evidence cards of controls."""

from __future__ import annotations

from thence.report.evidence import Evidence
from thence.report.schema import Card

__all__ = ["make_control_card"]


def make_control_card(evidence: Evidence, position: int) -> Card | None:
    """Return the evidence for a control.

    Args:
        evidence: The data.
        position: The position of the control.
    """
    return None
