"""Settings that are declared with a range."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

import pytest

from thence._base.settings.typed import check_settings, number
from thence.errors import ConfigError


@dataclass(frozen=True)
class Part:
    count: int = number(2, least=1, most=9)
    share: float = number(0.5, least=0, most=1)
    rate: float | None = number(None, above=0)
    held_out: float = number(0.1, least=0, below=1)
    kind: Literal["mask", "noise"] = "mask"

    def __post_init__(self) -> None:
        check_settings(self)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"count": 0}, "count must be an integer from 1 to 9, got 0"),
        ({"count": 2.5}, "count must be an integer"),
        ({"count": True}, "count must be an integer"),
        ({"share": 1.5}, "share must lie between 0 and 1, got 1.5"),
        ({"share": None}, "share must be a finite number, got None"),
        ({"rate": 0}, "rate must be above 0, got 0"),
        ({"held_out": 1.0}, "held_out must be below 1, got 1.0"),
        ({"held_out": -1}, "held_out must be at least 0, got -1"),
        ({"kind": "salt"}, "'kind' must be one of 'mask', 'noise', got 'salt'"),
    ],
)
def test_values_outside_their_range_are_refused_by_name(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Part(**given)


def test_values_within_their_range_stay_as_they_are() -> None:
    assert Part(share=Decimal("0.8")).share == Decimal("0.8")  # type: ignore[arg-type]
    assert Part(rate=None).rate is None
