"""Alerts: what a monitor has to say, as JSON lines with a sentence for people.

Every alert has a number. After a restart alerts that may not have been delivered are sent again with the same number.
This module words alerts; it decides and sends nothing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np

from thence._base.display.percent import percent
from thence.checks.monitor.health import DRIFTED, HOLDS, MISSING, SILENT, Change
from thence.data.readings.durations import format_duration
from thence.errors import attempt
from thence.statements.constants import Constant
from thence.statements.statement import Statement

_NAMED = 5  # places that a message names


@dataclass(frozen=True)
class Alert:
    """Something that an operator should know.

    Args:
        number: 1, 2, 3, … in the order in which alerts were raised.
        kind: ``"drifted"``, ``"recovered"``, ``"silent"``, ``"missing"``, ``"violated"``, ``"changed"`` or
            ``"alarm"``.
        time: The end of the windows that it rests on, UTC.
        message: One or two sentences.
        details: What a program may want to know.

    Examples:
        >>> print(Alert(1, "silent", "2024-01-02T00:00:00Z", "Rule 3 did not apply.", {"rule": 3}).to_json())
        {"alert": 1, "kind": "silent", "time": "2024-01-02T00:00:00Z", "rule": 3, "message": "Rule 3 did not apply."}
    """

    number: int
    kind: str
    time: str
    message: str
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the alert as JSON can hold it."""
        return {
            "alert": self.number,
            "kind": self.kind,
            "time": self.time,
            **{name: _finite(value) for name, value in self.details.items()},
            "message": self.message,
        }

    def to_json(self) -> str:
        """Return the alert as one line of JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Alert:
        """Create an alert from what ``to_dict`` returned.

        Args:
            data: The mapping.
        """
        own = ("alert", "kind", "time", "message")
        number, kind, time, message = (data[name] for name in own)
        return Alert(number, kind, time, message, {name: value for name, value in data.items() if name not in own})


def _finite(value: Any) -> Any:
    """JSON has no NaN."""
    if isinstance(value, Mapping):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def format_time(microseconds: int) -> str:
    """Return a time as in ISO 8601, in UTC.

    Args:
        microseconds: Microseconds since 1970.

    Examples:
        >>> format_time(0)
        '1970-01-01T00:00:00Z'
    """
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)).isoformat().replace("+00:00", "Z")


class Watched(NamedTuple):
    """What an alert is about.

    Args:
        number: Its number among those of its kind, from 1.
        statement: The rule, law or control, with its counts when it was found.
        is_used: Whether it is watched, given its review.
    """

    number: int
    statement: Statement
    is_used: bool = True

    @property
    def name(self) -> str:
        """Its kind and number, such as ``"Rule 3"``."""
        return f"{self.statement.kind.capitalize()} {self.number}"

    def describe(self) -> dict[str, Any]:
        """Return its number, its key and its sentence."""

        def words() -> dict[str, Any]:
            return {"key": self.statement.key, "sentence": self.statement.sentence()}

        def unworded(why: str) -> dict[str, Any]:
            return {"key": "", "sentence": f"could not be worded: {why}"}

        return {self.statement.kind: self.number, **attempt("the sentence of a rule", words, unworded)}


def tell_change(
    change: Change, watched: Watched, *, bound: float, end: int, block: int, number: int, n_blocks: int
) -> Alert | None:
    """Word a change of the status of a rule; ``None`` if it needs no alert.

    Args:
        change: The change.
        watched: The rule.
        bound: The confidence that the rule is tested against.
        end: The end of the last block in microseconds.
        block: Length of a block in microseconds.
        number: Number of the alert.
        n_blocks: Number of blocks since the monitor started.
    """
    details = watched.describe()
    sentence = details["sentence"]
    then = watched.statement.counts.share
    used = change.satisfied + change.violated
    now = change.satisfied / used if used else math.nan
    period = format_duration(block * min(change.blocks, n_blocks))
    name = watched.name
    numbers = {
        "confidence_mined": round(then, 6),
        "confidence_now": round(now, 6),
        "bound": round(bound, 6),
        "applied": used,
        "violated": change.violated,
        "period": period,
    }
    held, before = percent(now, digits=1), percent(then, digits=1)
    right = f"right in {held} of {used:,} cases in the last {period}; when it was mined, in {before}"
    if change.now == DRIFTED:
        details |= {**numbers, "evidence": round(math.exp(min(change.evidence, 700)), 1)}
        return Alert(
            number, "drifted", format_time(end), f"{name} no longer holds: {sentence}. It was {right}.", details
        )
    if change.before == DRIFTED and change.now == HOLDS:
        return Alert(
            number,
            "recovered",
            format_time(end),
            f"{name} holds again: {sentence}. It was {right}.",
            details | numbers,
        )
    if change.now == SILENT:
        message = f"{name} did not apply in the last {period}: its condition never held. {_sentence(sentence)}"
        return Alert(number, "silent", format_time(end), message, details | {"period": period})
    if change.now == MISSING:
        message = f"{name} could not be checked in the last {period}: its readings are missing. {_sentence(sentence)}"
        return Alert(number, "missing", format_time(end), message, details | {"period": period})
    return None


def tell_violation(
    watched: Watched, *, start: int, every: int, places: Sequence[str], n_places: int, number: int
) -> Alert:
    """Word that a rule has begun to be violated.

    Args:
        watched: The rule.
        start: Start of the window in microseconds.
        every: Length of a window in microseconds.
        places: Names of places where it is violated; none if the rule is about the whole system.
        n_places: Number of these places.
        number: Number of the alert.
    """
    details = watched.describe()
    sentence = details["sentence"]
    more = f" and {n_places - _NAMED} more" if n_places > _NAMED else ""
    where = f" at {', '.join(places[:_NAMED])}{more}" if places else ""
    if places:
        details |= {"places": list(places[:_NAMED]), "n_places": n_places}
    message = f"{watched.name} is violated{where} from {format_time(start)} on: {sentence}."
    return Alert(number, "violated", format_time(start + every), message, details)


def tell_changed(constant: Constant, value: str | float, *, start: int, every: int, number: int) -> Alert:
    """Word that a sensor reads what it never read.

    Args:
        constant: What it always read.
        value: What it reads.
        start: Start of the window in microseconds.
        every: Length of a window in microseconds.
        number: Number of the alert.
    """
    sentence = constant.describe_change(constant.word_of(value), np.datetime64(start, "us"))
    details = {"sensor": constant.sensor, "key": constant.key, "always": constant.value, "reads": value}
    message = f"Never seen before: {sentence}."
    return Alert(number, "changed", format_time(start + every), message, details)


def _sentence(text: str) -> str:
    return f"It says: {text}."
