"""Names of patterns: their words, and where several have the same, what distinguishes them.

Names are for people to choose by, each different. Must not know rules, counts or requests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from thence.errors import PatternError
from thence.language.patterns import Pattern

__all__ = ["name_patterns"]

_MOST = 2
"""Differences that a name lists."""


def name_patterns(patterns: Sequence[tuple[str, str]]) -> list[str]:
    """Return a name of each pattern, each different.

    Args:
        patterns: The text of each pattern, and its words, which may be empty.

    Examples:
        >>> flow = "(p:Pipe), (flow_p:flow)-[in]->(p)"
        >>> near = flow + " | near: -[connected]-(Node).level"
        >>> name_patterns([(flow, "for every Pipe p"), (near, "for every Pipe p")])
        ['for every Pipe p', 'for every Pipe p (near)']
        >>> name_patterns([("", ""), ("anything", "")])
        ['a pattern', 'anything']
    """
    parsed = [_parse(text) for text, _ in patterns]
    words = [
        place or (pattern.english if pattern else "") or text or "a pattern"
        for (text, place), pattern in zip(patterns, parsed, strict=True)
    ]
    out: list[str] = []
    taken = Counter(words)
    for number, word in enumerate(words):
        same = [parsed[at] for at, other in enumerate(words) if other == word]
        differences = [_listed(found) for found in _differences(parsed[number], same)] if len(same) > 1 else []
        name = next((f"{word} ({text})" for text in differences if text), word)
        free, at = name, 2
        while free in out or (free != word and taken[free]):
            free, at = f"{name} ({at})", at + 1
        out.append(free)
    return out


def _parse(text: str) -> Pattern | None:
    try:
        return Pattern.parse(text)
    except PatternError:
        return None


def _differences(own: Pattern | None, same: Sequence[Pattern | None]) -> list[list[str]]:
    """Neighbours, then kinds of sensors, that a pattern has and not every one with the same words."""
    if own is None:
        return []
    others = [pattern for pattern in same if pattern is not None]
    neighbours = [{role.name for role in pattern.roles} for pattern in others]
    kinds = [{sensor.kind for sensor in pattern.sensors} for pattern in others]
    roles = dict.fromkeys(role.name for role in own.roles)
    sensors = dict.fromkeys(sensor.kind.replace("_", " ") for sensor in own.sensors)
    shared = {kind.replace("_", " ") for kind in set.intersection(*kinds)}
    return [
        [name for name in roles if name not in set.intersection(*neighbours)],
        [kind for kind in sensors if kind not in shared],
    ]


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST
    return ", ".join(names[:_MOST]) + (f" and {more} more" if more > 0 else "")
