"""What can be said: features, items, patterns and known rules, their text and their sentences. Reads no data.

Examples:
    >>> import thence as th
    >>> flow = th.language.Feature("s1", label="flow")
    >>> str(th.Item.among(flow, th.language.Interval(23, 31)))
    '(s1:flow).value ∈ [23.0, 31.0)'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from thence._base.lazy import lazy_names

if TYPE_CHECKING:
    from thence.language.items import Feature as Feature
    from thence.language.items import Interval as Interval
    from thence.language.known import KnownRule as KnownRule
    from thence.language.patterns import Pattern as Pattern

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "language.items": ("Feature", "Interval"),
        "language.known": ("KnownRule",),
        "language.patterns": ("Pattern",),
    },
)
