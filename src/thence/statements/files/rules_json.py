"""Rules as JSON: complete, exact and readable, one rule per line; can be read back.

Items are listed once, with their units and places, under their exact text; rules refer to them by that text. Counts
are integers. Measures are written for convenience and recomputed when the file is read. Equal rules give equal bytes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
import numpy.typing as npt

from thence._base.settings.documents import parse_json, read_text
from thence.errors import InputError, ThenceError, quote
from thence.statements.files.columns import Columns, counts_from, facts_and_notes, item_from, require_places
from thence.statements.files.format import Format
from thence.statements.rules.measures import MEASURES
from thence.statements.rules.ruleset import COUNT_FIELDS, RuleSet

_MARK = "thence rules"
_VERSION = 1
_MOST_SENTENCES = 100_000


def write(rules: RuleSet, path: Path, *, english: bool | None = None) -> None:
    """Write a rule set.

    Args:
        rules: The rules to write.
        path: The file to write.
        english: Whether to add the sentence of each rule; by default up to 100,000 rules, since the sentences of more
            rules would be most of the file.
    """
    if english is None:
        english = len(rules) <= _MOST_SENTENCES
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(_lines(rules, english=english))


def _lines(rules: RuleSet, *, english: bool) -> Iterator[str]:
    columns = Columns.of(rules)
    head: dict[str, Any] = {
        "format": _MARK,
        "version": _VERSION,
        "count": len(rules),
        "facts": columns.facts,
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
    for at, line in enumerate(_rule_lines(columns, texts, english=english)):
        yield f"{',' if at else ''}\n{line}"
    yield "\n]\n}\n"


def _rule_lines(columns: Columns, texts: list[str], *, english: bool) -> Iterator[str]:
    """One JSON object per rule, assembled from parts so that each item text is encoded once, not once per rule."""
    rules = columns.rules
    names = [measure.name for measure in MEASURES.shown("file")]
    measures = np.stack([rules.measure(name) for name in names], axis=1).tolist()
    sentences = columns.english() if english else iter(())
    patterns = {text: _dump(text) for text, _ in rules.patterns}
    per_rule = zip(columns.antecedent_lists, columns.counts(), columns.extras(), strict=True)
    for r, (antecedent, counts, extras) in enumerate(per_rule):
        left = ", ".join([texts[i] for i in antecedent])
        parts = [f'"antecedent": [{left}]', f'"consequent": {texts[columns.consequents[r]]}']
        if pattern := columns.pattern(r)[0]:
            parts.append(f'"pattern": {patterns[pattern]}')
        if english:
            parts.append(f'"english": {_dump(next(sentences))}')
        parts += [f'"{name}": {count}' for name, count in counts.items()]
        # Faster than JSON's own encoder, and the same digits.
        numbers = [repr(value) if math.isfinite(value) else "null" for value in measures[r]]
        parts += [f'"{name}": {number}' for name, number in zip(names, numbers, strict=True)]
        if extras:
            parts.append(f'"extras": {_dump({name: _finite(value) for name, value in extras.items()})}')
        yield "{" + ", ".join(parts) + "}"


def records(rules: RuleSet) -> list[dict[str, Any]]:
    """The rules as ``write`` puts them into the file, one mapping each."""
    columns = Columns.of(rules)
    texts = [_dump(text) for text in columns.texts]
    return [json.loads(line) for line in _rule_lines(columns, texts, english=True)]


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    """JSON has neither NaN nor infinity; both become null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read(path: Path) -> RuleSet:
    """Read a rule set that ``write`` wrote."""
    data = parse_json(read_text(path, error=InputError), where=str(path), error=InputError)
    if not isinstance(data, dict) or data.get("format") != _MARK:
        raise InputError("not a rules file written by Thence", where=str(path))
    if data["version"] > _VERSION:
        raise InputError(
            f"the file has format version {data['version']}, this version of Thence reads up to {_VERSION}",
            where=str(path),
            hint="update Thence",
        )
    listed, extras, patterns = data["rules"], data["extras"], data["patterns"]
    if data.get("count", len(listed)) != len(listed):
        raise ValueError(f"the file has {len(listed):,} rules, but says {quote(data['count'])}")
    if not all(isinstance(text, str) for text in (*patterns, *patterns.values())):
        raise ValueError("'patterns' must have a string for each pattern")
    items = []
    for text, record in data["items"].items():
        with _reading(lambda text=text: f"item {quote(text)}"):  # type: ignore[misc]
            items.append(item_from(record, text=text))
    numbers = {text: at for at, text in enumerate(data["items"])}
    order = {text: at for at, text in enumerate(patterns)} | {"": -1}
    width = max((len(rule["antecedent"]) for rule in listed), default=1)
    antecedents = np.full((len(listed), max(width, 1)), -1, np.int32)
    consequents, pattern_of = np.empty(len(listed), np.int32), np.empty(len(listed), np.int32)
    r = 0
    with _reading(lambda: f"rule {r + 1}"):
        for r, rule in enumerate(listed):
            antecedents[r, : len(rule["antecedent"])] = [numbers[text] for text in rule["antecedent"]]
            consequents[r] = numbers[rule["consequent"]]
            pattern_of[r] = order[rule.get("pattern", "")]
            if rule.get("extras", {}).keys() != set(extras):
                raise ValueError("'extras' has other columns than the file")
        counts = {name: [rule[name] for rule in listed] for name in COUNT_FIELDS}
    rules = RuleSet(
        tuple(items),
        antecedents,
        consequents,
        counts_from(counts),
        tuple(patterns.items()),
        pattern_of if patterns else None,
        {name: _extra_column(name, [rule["extras"][name] for rule in listed]) for name in extras},
        *facts_and_notes(data),
    )
    return require_places(rules)


@contextmanager
def _reading(part: Callable[[], str]) -> Iterator[None]:
    """Turn whatever is wrong within a block into a ``ValueError`` that says in which part of the file it is.

    Args:
        part: Returns the part that is being read, such as ``rule 7``.

    Examples:
        >>> with _reading(lambda: "rule 7"):
        ...     {}["antecedent"]
        Traceback (most recent call last):
        ValueError: rule 7: 'antecedent' is missing
    """
    try:
        yield
    except KeyError as error:
        raise ValueError(f"{part()}: {quote(error.args[0])} is missing") from error
    except (ThenceError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise ValueError(f"{part()}: {error}") from error


def _extra_column(name: str, values: Sequence[Any]) -> npt.NDArray[Any]:
    """A column from the values of a file of rules: of numbers, of strings or of booleans; null is a missing value.

    Raises:
        ValueError: If there is any other value, or values of several kinds.

    Examples:
        >>> _extra_column("places", [1, 2]).dtype.kind, _extra_column("where", ["a", None]).tolist()
        ('i', ['a', None])
    """
    for r, value in enumerate(values):
        if not isinstance(value, (bool, int, float, str, NoneType)):
            raise ValueError(f"rule {r + 1}: '{name}' must be a number, a string or a boolean, got {quote(value)}")
    kinds = {_kind(value) for value in values} - {NoneType}
    if len(kinds) > 1:
        raise ValueError(f"the column '{name}' has values of several kinds")
    if kinds <= {float}:
        whole = all(isinstance(value, int) for value in values)
        return np.array([np.nan if v is None else v for v in values], dtype=np.int64 if whole else np.float64)
    return np.array(values)


def _kind(value: object) -> type:
    return float if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value)


FORMAT = Format("json", (".json",), "complete and exact, for programs", write, read)
