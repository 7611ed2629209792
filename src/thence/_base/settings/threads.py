"""How many threads this process may use."""

from __future__ import annotations

import os
import re

from thence.errors import ConfigError, quote

MOST_THREADS = 1024
"""The largest number that the environment variable may ask for."""


def default_threads() -> int:
    """Return how many threads to use: what ``THENCE_THREADS`` says, or one per processor that this process may use.

    Raises:
        ConfigError: If the environment variable ``THENCE_THREADS`` is not a number from 1 to 1,024.

    Examples:
        >>> default_threads() >= 1
        True
    """
    given = os.environ.get("THENCE_THREADS", "")
    if given:
        if not re.fullmatch("[0-9]{1,4}", given) or not 1 <= int(given) <= MOST_THREADS:
            raise ConfigError(
                f"the environment variable THENCE_THREADS is {quote(given)}, which is not a valid number of threads",
                hint=f"set it to a number from 1 to {MOST_THREADS:,}, or unset it for one per processor",
            )
        return int(given)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
