"""Settings of the search for controls."""

from __future__ import annotations

from dataclasses import dataclass

from thence._base.settings.numbers import require_integer, require_share, require_zone
from thence.errors import ConfigError

LEAST_SWITCHES = 6
"""Three switches to find a threshold on and three to confirm it."""


@dataclass(frozen=True, kw_only=True)
class ControlSettings:
    """Settings of ``search_controls``.

    Args:
        min_switches: The number of times that an actuator has to switch, at least 6: half of the switches are used to
            find the threshold and half to confirm it.
        min_explained: The share of the switches that a control has to explain.
        min_followed: The share of the crossings of the threshold that the switch has to follow.
        numbers: Whether numeric sensors that are 0 part of the time count as actuators. ``None`` uses them only if no
            sensor of states switches often enough.
        timezone: The time zone of times of day.

    Examples:
        >>> ControlSettings(min_switches=10).min_followed
        0.8
    """

    min_switches: int = LEAST_SWITCHES
    min_explained: float = 0.5
    min_followed: float = 0.8
    numbers: bool | None = None
    timezone: str = "UTC"

    def __post_init__(self) -> None:
        require_integer("min_switches", self.min_switches, least=LEAST_SWITCHES)
        require_share("min_explained", self.min_explained)
        require_share("min_followed", self.min_followed)
        if not self.min_explained > 0:
            raise ConfigError(f"min_explained must be above 0, got {self.min_explained!r}")
        if self.numbers is not None and not isinstance(self.numbers, bool):
            raise ConfigError(f"numbers must be True, False or None, got {self.numbers!r}")
        require_zone(self.timezone)
