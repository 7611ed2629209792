"""Settings of the search for laws."""

from __future__ import annotations

from dataclasses import dataclass

from thence._base.settings.numbers import require_integer, require_number, require_share
from thence.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class LawSettings:
    """What counts as a law.

    Args:
        min_confidence: A law is reported if the share of later rows in which it holds reaches this, by its lower bound.
        fit_share: Share of the time, from the beginning, on which bands and factors are fitted.
        max_spread: Greatest width of a band (on either side), as a share of the central spread of its parts.
        max_parts: Greatest number of terms in a sum.
        max_exceptions: Greatest share of the places at which a law may fail; they are listed.
        max_laws: Greatest number of laws.
        min_rows: Smallest number of rows in the later part.

    Examples:
        >>> LawSettings(min_confidence=2)
        Traceback (most recent call last):
        ...
        thence.errors.ConfigError: min_confidence must lie between 0 and 1, got 2
    """

    min_confidence: float = 0.99
    fit_share: float = 0.6
    max_spread: float = 0.1
    max_parts: int = 3
    max_exceptions: float = 0.1
    max_laws: int = 20
    min_rows: int = 50

    def __post_init__(self) -> None:
        for name in ("min_confidence", "fit_share", "max_exceptions"):
            require_share(name, getattr(self, name))
        if not 0 < self.fit_share < 1:
            raise ConfigError(f"fit_share must be above 0 and below 1, got {self.fit_share!r}", hint="use 0.6")
        require_number("max_spread", self.max_spread)
        if self.max_spread <= 0:
            raise ConfigError(f"max_spread must be above 0, got {self.max_spread!r}", hint="use 0.1")
        for name, least in (("max_parts", 2), ("max_laws", 1), ("min_rows", 1)):
            require_integer(name, getattr(self, name), least=least)
