"""How many examples a test of a property takes."""

from __future__ import annotations

import os

__all__ = ["MOST", "examples"]

MOST = 25
"""Examples of one test in ``make test``; ``make test-all`` sets THENCE_EXAMPLES=all."""


def examples(wanted: int) -> int:
    """Return ``wanted``, or at most ``MOST`` unless THENCE_EXAMPLES is "all"."""
    return wanted if os.environ.get("THENCE_EXAMPLES") == "all" else min(wanted, MOST)
