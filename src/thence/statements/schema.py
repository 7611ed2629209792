"""The schema of statements: what ``to_dict`` of a rule, a law, a control or a range gives, as a JSON Schema.

A document of statements is what ``Findings.export`` writes as JSON. ``statement_from_dict`` is the inverse of
``to_dict`` for any kind.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from thence.errors import InputError, nearest
from thence.statements.constants import Constant
from thence.statements.controls.control import Control
from thence.statements.laws.forms import FORMS
from thence.statements.laws.law import Law
from thence.statements.ranges import Ranges
from thence.statements.rules.ruleset import Rule
from thence.statements.statement import Statement

FORMAT = "thence statements"
_VERSION = 1
_READERS: dict[str, Callable[[Any], Statement]] = {
    "rule": Rule.from_dict,
    "law": Law.from_dict,
    "control": Control.from_dict,
    "range": lambda record: (Constant if "value" in record else Ranges).from_dict(record),
}


def statement_from_dict(record: Mapping[str, Any]) -> Statement:
    """Return the statement of ``to_dict``.

    Args:
        record: The fields.

    Raises:
        InputError: If the kind is unknown, or a field is missing or wrong.

    Examples:
        >>> from thence.language.items import Feature, Item
        >>> rule = Rule((Item.is_(Feature("door"), "open"),), Item.is_(Feature("light"), "on"))
        >>> statement_from_dict(rule.to_dict()) == rule
        True
    """
    kind = str(record.get("kind"))
    if kind not in _READERS:
        raise InputError(f"there is no kind of statement '{kind[:40]}'", hint=nearest(kind[:40], _READERS))
    try:
        return _READERS[kind](record)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"the {kind} is incomplete or damaged: {error}") from error


def document(statements: Iterable[Statement]) -> dict[str, Any]:
    """Return statements as a dict that JSON can hold.

    Args:
        statements: The statements.

    Examples:
        >>> document([])
        {'format': 'thence statements', 'version': 1, 'statements': []}
    """
    return {"format": FORMAT, "version": _VERSION, "statements": [finite_json(one.to_dict()) for one in statements]}


def finite_json(value: Any) -> Any:
    """Return a value of JSON in which numbers that JSON does not know (NaN, infinity) are null.

    Args:
        value: Mappings, lists, texts and numbers.

    Examples:
        >>> finite_json({"a": [1.0, float("nan")]})
        {'a': [1.0, None]}
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: finite_json(inner) for key, inner in value.items()}
    return [finite_json(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a document of statements.

    Examples:
        >>> sorted(json_schema()["$defs"])
        ['control', 'feature', 'item', 'law', 'range', 'rule', 'term']
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Statements of Thence",
        "type": "object",
        "required": ["format", "version", "statements"],
        "properties": {
            "format": {"const": FORMAT},
            "version": {"const": _VERSION},
            "statements": _list({"oneOf": [{"$ref": f"#/$defs/{kind}"} for kind in _READERS]}),
        },
        "$defs": {
            "feature": _record({"subject": _TEXT, "aspect": _TEXT, "role": _TEXT}, _FEATURE),
            "item": _record({"feature": _ref("feature"), "operator": _TEXT, "value": True}),
            "term": _record(
                {
                    "sign": {"enum": [1, -1]},
                    "form": {"enum": ["reading", "total", "property", "sensor"]},
                    "name": _TEXT,
                },
                {"role": _TEXT, "unit": _TEXT, "plus": _TEXT, "change": {"type": "boolean"}},
            ),
            "rule": _statement(
                "rule",
                {"antecedent": _list(_ref("item")), "consequent": _ref("item"), "counts": _record({}, _HELD)},
                {"pattern": _TEXT, "place": _TEXT, "both_ways": {"type": "boolean"}, "source": _TEXT},
            ),
            "law": _statement(
                "law", {"form": {"enum": list(FORMS)}, **_LAW}, dict.fromkeys(("formula", "remark"), _TEXT)
            ),
            "control": _statement("control", _CONTROL),
            "range": _statement(
                "range",
                {
                    "given": _TEXT,
                    "sensor": _TEXT,
                    **dict.fromkeys(("edges", "low", "high"), _list(_NUMBER)),
                    **dict.fromkeys(("rows", "violated"), _COUNT),
                },
            ),
        },
    }


def _record(required: Mapping[str, Any], optional: Mapping[str, Any] | None = None) -> dict[str, Any]:
    properties = {**required, **(optional or {})}
    return {
        "type": "object",
        "required": list(required),
        "properties": properties,
        "additionalProperties": False,
    }


def _statement(kind: str, required: Mapping[str, Any], optional: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return _record(
        {"kind": {"const": kind}, "key": {"type": "string", "pattern": "^[0-9a-f]{16}$"}, **required}, optional
    )


def _list(of: Any) -> dict[str, Any]:
    return {"type": "array", "items": of}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/$defs/{name}"}


def _or_null(one: Mapping[str, Any]) -> dict[str, Any]:
    return {"anyOf": [one, {"type": "null"}]}


_TEXT, _NUMBER, _COUNT = {"type": "string"}, {"type": "number"}, {"type": "integer", "minimum": 0}
_HELD = dict.fromkeys(("applies", "holds", "later_applies", "later_holds", "occasions"), _COUNT)
_FEATURE: dict[str, Any] = {
    **dict.fromkeys(("name", "label", "other", "unit", "place"), _TEXT),
    "relative": {"type": "boolean"},
    **dict.fromkeys(("classes", "reads"), _list(_TEXT)),
    "where": _list(_ref("item")),
}
_LAW: dict[str, Any] = {
    "pattern": _TEXT,
    **dict.fromkeys(("left", "right"), _list(_ref("term"))),
    "band": _record({"absolute": _NUMBER, "relative": _NUMBER}),
    "zero": _NUMBER,
    "factor": _or_null(_NUMBER),
    "condition": _or_null(
        _record(
            {"form": {"enum": ["state", "above", "property", "without"]}, **dict.fromkeys(("name", "value"), _TEXT)},
            dict.fromkeys(("unit", "at"), _TEXT),
        )
    ),
    "min_confidence": _NUMBER,
    "later_bound": _or_null(_NUMBER),
    # place, rows, held, later rows, later held, rows counted apart, factor; of a formula, parameters and sensors too
    "counts": _list(
        {
            "type": "array",
            "prefixItems": [_TEXT, *[_COUNT] * 5, _or_null(_NUMBER), _list(_NUMBER), _list(_TEXT)],
            "minItems": 7,
        }
    ),
}
_TALLY = _record(dict.fromkeys(("switches", "explained", "crossings", "followed", "near"), _COUNT))
_CONTROL: dict[str, Any] = {
    "actuator": _ref("feature"),
    **dict.fromkeys(("from_state", "to_state"), _TEXT),
    "sensor": _or_null(_ref("feature")),
    "direction": {"enum": ["above", "below", "at"]},
    **dict.fromkeys(("threshold", "low", "high", "agreement"), _NUMBER),
    "premise": _or_null(_ref("item")),
    **dict.fromkeys(("together", "alternatives"), _list(_TEXT)),
    **dict.fromkeys(("all", "later"), _TALLY),
    "smoothed": {"type": "integer", "minimum": 1},
}
