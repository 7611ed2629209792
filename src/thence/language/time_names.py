"""Names of features of time: what ``lag:30min``, ``switch``, ``duration:open`` and ``within:30min:to:open`` say.

A feature of time says what a reading was, how it changes, how long it has lasted, or what follows. Its name is part of
the text form of items, so it never changes. This module reads names; ``thence.data.readings.derived`` makes the values.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

STATE_PREFIX = "state:"
"""Before the name of a feature of states, where the same kind also has numbers."""


class TimeForm(StrEnum):
    """The forms of features of time."""

    LAG = "lag"
    SWITCH = "switch"
    DURATION = "duration"
    WITHIN = "within"


class Tense(StrEnum):
    """Which time a feature is about, seen from its window."""

    PAST = "past"
    PRESENT = "present"
    FUTURE = "future"


class TimeName(NamedTuple):
    """The name of a feature of time, taken apart.

    Args:
        form: The form.
        length: How long ago, or how far ahead: ``"30min"``; empty if the form has no length.
        state: The state that lasts or follows; empty if the form has none. A switch has ``"0"`` if it is one between 0
            and other numbers.
        is_switch: Whether what follows is the switch to the state, not the state.
    """

    form: TimeForm
    length: str = ""
    state: str = ""
    is_switch: bool = False

    @property
    def tense(self) -> Tense:
        """Which time the feature is about: a switch is about the present, although it knows the window before."""
        if self.form is TimeForm.WITHIN:
            return Tense.FUTURE
        return Tense.PRESENT if self.form is TimeForm.SWITCH else Tense.PAST

    @property
    def derive(self) -> tuple[str, ...]:
        """What to ask for in ``derive=`` to have the feature in a table."""
        if self.form in (TimeForm.LAG, TimeForm.WITHIN):
            return (f"{self.form}:{self.length}", *(["switch"] if self.is_switch else []))
        return (str(self.form),)

    def __str__(self) -> str:
        if self.form is TimeForm.LAG:
            return f"lag:{self.length}"
        if self.form is TimeForm.DURATION:
            return f"duration:{self.state}"
        if self.form is TimeForm.WITHIN:
            return f"within:{self.length}:{'to' if self.is_switch else 'is'}:{self.state}"
        return f"switch:{self.state}" if self.state else "switch"


def parse_time_name(name: str) -> TimeName | None:
    """Take the name of a feature of time apart; ``None`` if it is another name.

    Args:
        name: The name of a feature.

    Examples:
        >>> parse_time_name("within:30min:to:open").state, parse_time_name("change") is None
        ('open', True)
    """
    form, _, rest = name.removeprefix(STATE_PREFIX).partition(":")
    if form == "switch" and rest in ("", "0"):
        return TimeName(TimeForm.SWITCH, state=rest)
    if form == "lag" and rest:
        return TimeName(TimeForm.LAG, rest)
    if form == "duration" and rest:
        return TimeName(TimeForm.DURATION, state=rest)
    if form == "within":
        length, _, what = rest.partition(":")
        verb, _, state = what.partition(":")
        if length and state and verb in ("is", "to"):
            return TimeName(TimeForm.WITHIN, length, state, verb == "to")
    return None
