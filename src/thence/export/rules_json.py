"""Rules as JSON: complete, exact, readable, one rule per line; reads back.

Items are listed once, with their units and places, under their exact text; rules name them by that text. Counts are
integers, measures are given for convenience and recomputed when the file is read. Equal rules give equal bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from thence.errors import InputError
from thence.export.columns import COUNTS, MAIN_MEASURES, Columns, counts_from, json_number
from thence.rules.items import Item
from thence.rules.ruleset import RuleSet

__all__ = ["MOST_SENTENCES", "read", "records", "write"]

FORMAT = "thence rules"
VERSION = 1
MOST_SENTENCES = 100_000
"""A larger set is written without sentences, unless they are asked for: they would be most of the file."""


def write(rules: RuleSet, path: Path, *, english: bool | None = None) -> None:
    """Write a rule set, with a sentence per rule unless there are very many."""
    if english is None:
        english = len(rules) <= MOST_SENTENCES
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(_lines(rules, english=english))


def _lines(rules: RuleSet, *, english: bool) -> Iterator[str]:
    columns = Columns.of(rules)
    facts = {**rules.facts, "data_coverage": rules.data_coverage}
    head: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "count": len(rules),
        "facts": facts,
        "notes": list(rules.notes),
        "extras": list(rules.extras),
        "patterns": dict(sorted(rules.patterns)),
    }
    yield "{\n"
    for key, value in head.items():
        yield f"{_dump(key)}: {_dump(value)},\n"
    yield '"items": {'
    texts = [_dump(text) for text in columns.texts]
    for at, item in enumerate(columns.items):
        yield f"{',' if at else ''}\n{texts[at]}: {_dump(item.to_dict())}"
    yield '\n},\n"rules": ['
    for at, rule in enumerate(_rules(columns, texts, english=english)):
        yield f"{',' if at else ''}\n{rule}"
    yield "\n]\n}\n"


def _rules(columns: Columns, texts: list[str], *, english: bool) -> Iterator[str]:
    """One object per rule, put together by hand: the texts are encoded once, not once per rule."""
    rules = columns.rules
    counts = np.stack([np.asarray(getattr(rules.counts, name), np.int64) for name in COUNTS], axis=1).tolist()
    measures = np.stack([rules.measure(name) for name in MAIN_MEASURES], axis=1).tolist()
    extras = {name: np.asarray(values).tolist() for name, values in rules.extras.items()}
    sentences = columns.english() if english else iter(())
    places = {text: _dump(text) for text, _ in rules.patterns}
    for r, antecedent in enumerate(columns.antecedent_lists):
        left = ", ".join([texts[i] for i in antecedent])
        parts = [f'"antecedent": [{left}]', f'"consequent": {texts[columns.consequents[r]]}']
        if pattern := columns.pattern(r)[0]:
            parts.append(f'"pattern": {places[pattern]}')
        if english:
            parts.append(f'"english": {_dump(next(sentences))}')
        parts += [f'"{name}": {value}' for name, value in zip(COUNTS, counts[r], strict=True)]
        parts += [f'"{name}": {_number(value)}' for name, value in zip(MAIN_MEASURES, measures[r], strict=True)]
        if extras:
            own = {name: _clean(values[r]) for name, values in extras.items()}
            parts.append(f'"extras": {_dump(own)}')
        yield "{" + ", ".join(parts) + "}"


def records(rules: RuleSet) -> list[dict[str, Any]]:
    """The rules as they stand in the file, one mapping each."""
    columns = Columns.of(rules)
    texts = [_dump(text) for text in columns.texts]
    return [json.loads(line) for line in _rules(columns, texts, english=True)]


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _number(value: float) -> str:
    known = json_number(value)
    return "null" if known is None else repr(known)


def _clean(value: Any) -> Any:
    return json_number(value) if isinstance(value, float) else value


def read(path: Path) -> RuleSet:
    """Read a rule set back."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, UnicodeDecodeError) as error:
        raise InputError(f"this is not JSON ({error})", where=str(path)) from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InputError("these are not rules written by Thence", where=str(path))
    if data["version"] > VERSION:
        raise InputError(
            f"the file has version {data['version']}, this Thence reads up to {VERSION}",
            where=str(path),
            hint="update Thence",
        )
    numbers = {text: at for at, text in enumerate(data["items"])}
    listed = data["rules"]
    width = max((len(rule["antecedent"]) for rule in listed), default=1)
    antecedents = np.full((len(listed), max(width, 1)), -1, np.int32)
    for r, rule in enumerate(listed):
        antecedents[r, : len(rule["antecedent"])] = [numbers[text] for text in rule["antecedent"]]
    patterns = tuple(data["patterns"].items())
    order = {text: at for at, (text, _) in enumerate(patterns)}
    return RuleSet(
        tuple(Item.from_dict(item) for item in data["items"].values()),
        antecedents,
        np.array([numbers[rule["consequent"]] for rule in listed], np.int32),
        counts_from({name: [rule[name] for rule in listed] for name in COUNTS}),
        patterns,
        np.array([order.get(rule.get("pattern", ""), -1) for rule in listed], np.int32) if patterns else None,
        {name: _extra([rule["extras"][name] for rule in listed]) for name in data["extras"]},
        data["facts"],
        tuple(data["notes"]),
    )


def _extra(values: list[Any]) -> np.ndarray[Any, Any]:
    if all(value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)) for value in values):
        whole = all(isinstance(value, int) for value in values)
        return np.array([np.nan if v is None else v for v in values], dtype=np.int64 if whole else np.float64)
    return np.array(values)
