"""The option ``sensors`` of data sets: which kinds of sensors to load."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from thence.errors import ConfigError, nearest

__all__ = ["choose_kinds"]


def choose_kinds(sensors: str | Iterable[str], *, known: Sequence[str]) -> frozenset[str]:
    """Return the kinds of sensors asked for: "all", one kind, or several.

    >>> sorted(choose_kinds("all", known=("pressure", "flow"))), choose_kinds("flow", known=("pressure", "flow"))
    (['flow', 'pressure'], frozenset({'flow'}))
    """
    if sensors == "all":
        return frozenset(known)
    chosen = frozenset((sensors,) if isinstance(sensors, str) else sensors)
    for kind in sorted(chosen.difference(known)):
        raise ConfigError(
            f"this data set has no '{kind}' sensors; kinds are {', '.join(known)}", hint=nearest(kind, known)
        )
    if not chosen:
        raise ConfigError("no kind of sensor was asked for", hint=f"kinds are {', '.join(known)}")
    return chosen
