"""An alert of a monitor as the explorer shows it: when, where, and what it rests on, in words.

Reads one line of the monitor's file. Must not look up rules or runs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from thence._base.display.percent import percent
from thence.show.explorer.schema import Alert
from thence.statements.keys import is_key

_LONGEST = 2_000
_TOLD = frozenset(
    {"alert", "kind", "time", "message", "places", "n_places", "nodes", "located", "rule", "key", "sentence", "reasons"}
    | {"confidence_mined", "confidence_now", "bound", "applied", "violated", "period", "evidence", "score", "others"}
    | {"law", "control"}
)
"""Fields that are shown in words, or not at all."""
_MOMENT = re.compile(r" from \d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d) on\b")


def read_alert(data: Any, *, number: int, monitor: int) -> Alert:
    """Return an alert of the file; the run and the rule are yet to be looked up.

    Args:
        data: A line of the file, read as JSON.
        number: The id of the alert.
        monitor: The id of the monitor.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: If it is no alert.

    Examples:
        >>> line = {"kind": "silent", "time": "2024-01-02T00:00:00Z", "rule": 3, "period": "2 d", "message": "x"}
        >>> alert = read_alert(line, number=1, monitor=0)
        >>> alert["rule"], alert["evidence"]
        (2, ['It did not apply in the last 2 d.'])
    """
    time = datetime.fromisoformat(str(data["time"]).replace("Z", "+00:00"))
    if time.tzinfo is None:
        raise ValueError("no time zone")
    where = [*_texts(data.get("places")), *_texts(data.get("nodes")), *_texts(data.get("located"))]
    kind, key, rule = str(data["kind"]), data.get("key"), data.get("rule")
    return {
        "id": number,
        "monitor": monitor,
        "time": round(time.timestamp() * 1000),
        "kind": kind[:_LONGEST],
        "sentence": str(data["message"])[:_LONGEST],
        "title": _title(str(data["message"]), str(data.get("sentence", "")))[:_LONGEST],
        "where": [text[:_LONGEST] for text in dict.fromkeys(where)],
        "evidence": [text[:_LONGEST] for text in _evidence(kind, data)],
        "run": None,
        # Monitors count rules from 1.
        "rule": rule - 1 if type(rule) is int and rule >= 1 else None,
        "key": key if isinstance(key, str) and is_key(key) else "",
        "says": str(data.get("sentence", ""))[:_LONGEST],
    }


def _title(message: str, says: str) -> str:
    """The beginning of a message, up to the sentence of the rule; the whole message if that leaves nothing."""
    before = message.partition(says)[0] if says else message
    short = _MOMENT.sub("", before).strip().removesuffix("It says:").rstrip(" :")
    return short or message


def _evidence(kind: str, data: Mapping[str, Any]) -> Iterator[str]:
    """What an alert rests on, as sentences; what is not known is shown as it is."""
    yield from _texts(data.get("reasons"))
    yield from _texts(data.get("failures"))
    period = f" in the last {data['period']}" if isinstance(data.get("period"), str) else ""
    applied, violated, now = (_number(data.get(name)) for name in ("applied", "violated", "confidence_now"))
    if applied and violated is not None:
        share = f" ({percent(now, digits=1)})" if now is not None else ""
        yield f"It was right in {applied - violated:,.0f} of {applied:,.0f} cases{share}{period}."
    elif kind == "silent" and period:
        yield f"It did not apply{period}."
    elif kind == "missing" and period:
        yield f"Its readings are missing{period}."
    elif period:
        yield f"Period: {data['period']}."
    mined, bound = _number(data.get("confidence_mined")), _number(data.get("bound"))
    if mined is not None:
        asked = f"; the test asks for {percent(bound, digits=1)}" if bound is not None else ""
        yield f"When it was mined, it was right in {percent(mined, digits=1)}{asked}."
    if (growth := _number(data.get("evidence"))) is not None:
        yield f"Evidence against it: a bet on violations has grown {growth:,.1f} times."
    if (score := _number(data.get("score"))) is not None:
        yield f"Score: {score:,.3g}; an alarm is a score above 1."
    places, named = _number(data.get("n_places")), len(_texts(data.get("places")))
    if places is not None and places > named:
        verb = "is" if named == 1 else "are"
        yield f"It is violated at {places:,.0f} places, of which {named} {verb} named."
    if others := _texts(data.get("others")):
        yield f"Also: {', '.join(others)}."
    for name, value in data.items():
        if name not in _TOLD and isinstance(value, (str, int, float)) and not isinstance(value, bool):
            yield f"{name.replace('_', ' ')}: {value}"


def _number(value: Any) -> float | None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if number and math.isfinite(value) else None


def _texts(value: Any) -> list[str]:
    """A list of texts, or of records that have a statement or begin with a text."""
    if not isinstance(value, list):
        return []
    out = []
    for one in value:
        first = one
        if isinstance(one, dict):
            first = one.get("statement") or next(iter(one.values()), None)
        elif isinstance(one, list):
            first = next(iter(one), None)
        if isinstance(first, str):
            out.append(first)
    return out
