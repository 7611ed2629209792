"""Keys: short texts that identify a rule, a law or a control in every run, process and version.

The key of a rule is a hash of what the rule says: its antecedent, its consequent and its pattern. Two rules have the
same key if and only if they are equal, whatever their counts are. The key of a law or a control leaves out the numbers
that are fitted anew in every run (bands, factors, thresholds), so that a review stays with the statement.
"""

from __future__ import annotations

import json
import math
import re
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from thence.language.items import Item
from thence.statements.controls.control import Control
from thence.statements.laws.law import Law
from thence.statements.rules.ruleset import Rule, RuleSet

__all__ = ["Keys", "control_key", "is_key", "key_of", "key_text", "law_key", "rule_key", "rule_keys"]

Keys = npt.NDArray[np.uint64]

_ALL = 1 << 64
_KEY = re.compile(r"[0-9a-f]{16}")
_RANGE = re.compile(r"(?<=[∈∉] )([\[(])([^\s,]+), ([^\s,]+?)([\])])")


def rule_key(rule: Rule) -> str:
    """Return the key of a rule: 16 hexadecimal digits.

    Args:
        rule: The rule.

    Examples:
        >>> from thence.language.items import Feature, Item
        >>> light, door = Item.is_(Feature("light"), "on"), Item.is_(Feature("door"), "open")
        >>> rule_key(Rule((door,), light))
        'a2f7948fbaa200d3'
        >>> rule_key(Rule((door, door), light)) == rule_key(Rule((door,), light)) != rule_key(Rule((light,), door))
        True
    """
    total = sum(_hash("if", _text_of(item)) for item in rule.antecedent)
    return key_text(total + _hash("then", _text_of(rule.consequent)) + _hash("in", rule.pattern))


def rule_keys(rules: RuleSet) -> Keys:
    """Return the keys of all rules as integers; each item is hashed once, so that a million rules take little time.

    Args:
        rules: The rules.

    Examples:
        >>> from thence.language.items import Feature, Item
        >>> from thence.statements.rules.measures import Counts
        >>> rule = Rule((Item.is_(Feature("door"), "open"),), Item.is_(Feature("light"), "on"))
        >>> rules = RuleSet.from_rules([rule], Counts.from_matrix([[10, 4, 5, 3]]))
        >>> [key_text(key) for key in rule_keys(rules)] == [rule_key(rule)]
        True
    """
    texts = [_text_of(item) for item in rules.items]
    # Position −1, which fills short antecedents, adds nothing.
    left = np.array([*(_hash("if", text) for text in texts), 0], np.uint64)
    right = np.array([_hash("then", text) for text in texts], np.uint64)
    patterns = np.array([*(_hash("in", text) for text, _ in rules.patterns), _hash("in", "")], np.uint64)
    rows = np.sort(rules.antecedents, axis=1)
    rows[:, 1:][rows[:, 1:] == rows[:, :-1]] = -1  # a repeated item counts once
    own = np.full(len(rules), -1, np.int32) if rules.pattern_of is None else rules.pattern_of
    # Sums of unsigned integers wrap around, which is what they should do here.
    total = left[rows].sum(axis=1, dtype=np.uint64) + patterns[own]
    return np.asarray(total + right[rules.consequents], np.uint64)


def _text_of(item: Item) -> str:
    """The text of an item whose ranges include their low end and exclude their high end, as in every version."""

    def half_open(found: re.Match[str]) -> str:
        low, high = float(found[2]), float(found[3])
        low = math.nextafter(low, math.inf) if found[1] == "(" else low
        high = math.nextafter(high, math.inf) if found[4] == "]" else high
        return f"[{low!r}, {high!r})"

    return _RANGE.sub(half_open, str(item))


def law_key(law: Law) -> str:
    """Return the key of a law: what it relates, where, and under which condition, without the fitted numbers.

    Args:
        law: The law.
    """
    sides = [[[sign, term.to_dict()] for sign, term in side] for side in (law.left, law.right)]
    condition = None if law.condition is None else law.condition.to_dict()
    return _key_of_data("law", [law.form, law.pattern, *sides, condition])


def control_key(control: Control) -> str:
    """Return the key of a control: which switch depends on which reading and premise, without the threshold.

    Args:
        control: The control.
    """
    switch = [control.actuator, control.from_state, control.to_state]
    premise = None if control.premise is None else str(control.premise)
    return _key_of_data("control", [*switch, control.sensor, control.direction, premise])


def key_of(one: Rule | Law | Control) -> str:
    """Return the key of a rule, a law or a control.

    Args:
        one: The rule, law or control.
    """
    return rule_key(one) if isinstance(one, Rule) else law_key(one) if isinstance(one, Law) else control_key(one)


def is_key(text: str) -> bool:
    """Return whether a text has the form of a key.

    Args:
        text: The text.

    Examples:
        >>> is_key("a2f7948fbaa200d3"), is_key("12")
        (True, False)
    """
    return isinstance(text, str) and _KEY.fullmatch(text) is not None


def key_text(key: int | np.uint64) -> str:
    """Return a key as text.

    Args:
        key: The key as an integer.

    Examples:
        >>> key_text(255)
        '00000000000000ff'
    """
    return f"{int(key) % _ALL:016x}"


def _key_of_data(kind: str, data: list[Any]) -> str:
    return key_text(_hash(kind, json.dumps(data, ensure_ascii=False, sort_keys=True)))


def _hash(kind: str, text: str) -> int:
    """A number of 64 bits; ``kind`` keeps equal texts in different parts of a rule apart."""
    # Names come from files and may hold what UTF-8 cannot.
    data = f"{kind}\0{text}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")
