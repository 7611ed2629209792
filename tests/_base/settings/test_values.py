"""Checks of single values."""

from __future__ import annotations

from typing import Any

import pytest

from thence._base.settings.numbers import require_zone
from thence.errors import ConfigError


@pytest.mark.parametrize("name", ["UTC", "Europe/Berlin", "Etc/GMT-1"])
def test_known_time_zones(name: str) -> None:
    require_zone(name)


@pytest.mark.parametrize("name", ["Mars", "", "../etc/passwd", "Europe", "a\0b", None])
def test_unknown_time_zones(name: Any) -> None:
    with pytest.raises(ConfigError, match="'timezone' must be an IANA time zone, got"):
        require_zone(name)
