"""How many examples a test of a property takes: few and always the same, or all and new ones in ``make test-all``."""

from __future__ import annotations

import os

MOST = 25
TAKES_ALL = os.environ.get("THENCE_EXAMPLES") == "all"
"""Set by ``make test-all``."""


def examples(wanted: int) -> int:
    """Return the number of examples of a test: ``wanted``, or at most ``MOST``."""
    return wanted if TAKES_ALL else min(wanted, MOST)
