"""Problems with requests: why one was not answered and what to do, with a status of HTTP.

Must not import the web framework.
"""

from __future__ import annotations

from thence.errors import ConfigError
from thence.show.explorer.schema import Problem


class NotFoundError(ConfigError):
    """A run, rule, node, sensor or monitor that was asked for does not exist; answered with status 404."""


class RequestError(Exception):
    """A request that cannot be answered.

    Args:
        error: What was wrong.
        hint: What to do.
        status: The status of HTTP.

    Examples:
        >>> RequestError("there is no run 7", hint="ask /api/runs", status=404).to_dict()
        {'error': 'there is no run 7', 'hint': 'ask /api/runs'}
    """

    def __init__(self, error: str, *, hint: str = "", status: int = 400) -> None:
        super().__init__(error)
        self.error, self.hint, self.status = error, hint, status

    def to_dict(self) -> Problem:
        """Return the problem as it is sent to the client."""
        return {"error": self.error, "hint": self.hint}
