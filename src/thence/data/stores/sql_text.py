"""SQL text: names and values as SQL writes them, names of tables, and conditions on columns.

Every name and value of a user enters a statement through ``identifier`` or ``literal``; nothing else is put into SQL.
The text is standard SQL; a session that runs it must read backslashes in strings as they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

from thence.errors import ConfigError, nearest, quote

__all__ = ["condition", "identifier", "literal", "qualified", "split_name"]

COMPARISONS = ("=", "!=", "<", "<=", ">", ">=", "like")


def identifier(name: str) -> str:
    """Return a name as a quoted identifier.

    Args:
        name: The name of a schema, table or column, exactly as the database has it.

    Raises:
        ConfigError: If no database can have such a name.

    Examples:
        >>> print(identifier('a "b"; DROP TABLE c'))
        "a ""b""; DROP TABLE c"
    """
    if not isinstance(name, str) or not name or "\x00" in name or not _encodes(name):
        raise ConfigError(f"not a name of a table or column: {quote(name)}", hint="names must not be empty")
    return '"' + name.replace('"', '""') + '"'


def literal(value: Any) -> str:
    """Return a value as a literal.

    Args:
        value: A string, number, boolean, date, time or ``None``.

    Raises:
        ConfigError: If the value has another type.

    Examples:
        >>> print(literal("it's"), literal(2.5), literal(True), literal(None))
        'it''s' 2.5 TRUE NULL
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f"CAST('{value}' AS DOUBLE PRECISION)"
    if isinstance(value, (datetime, date)):
        value = value.isoformat(sep=" ") if isinstance(value, datetime) else value.isoformat()
    if isinstance(value, str) and "\x00" not in value and _encodes(value):
        return "'" + value.replace("'", "''") + "'"
    raise ConfigError(f"a condition needs a string, number, boolean or time, got {quote(value)}")


def _encodes(text: str) -> bool:
    return not any("\ud800" <= sign <= "\udfff" for sign in text)


def split_name(text: str) -> tuple[str, ...]:
    """Return the parts of the name of a table: schema and table, or the table alone.

    Args:
        text: The name. Dots separate parts; a part in double quotes may hold dots and, doubled, quotes.

    Raises:
        ConfigError: If the name is not of this form.

    Examples:
        >>> split_name("plant.readings"), split_name('"my.schema"."read ""ings"')
        (('plant', 'readings'), ('my.schema', 'read "ings'))
    """
    parts, rest = [], text
    while True:
        if rest.startswith('"'):
            part, rest = _quoted(rest, text)
        else:
            cut = rest.find(".")
            part, rest = (rest, "") if cut < 0 else (rest[:cut], rest[cut:])
        identifier(part)
        parts.append(part)
        if not rest:
            break
        if not rest.startswith("."):
            raise ConfigError(f"not the name of a table: {quote(text)}", hint="put a dot between schema and table")
        rest = rest[1:]
    if len(parts) > 3:
        raise ConfigError(
            f"the name of a table has at most three parts, got {quote(text)}",
            hint="put names with dots in double quotes",
        )
    return tuple(parts)


def _quoted(rest: str, text: str) -> tuple[str, str]:
    at = 1
    while True:
        at = rest.find('"', at)
        if at < 0:
            raise ConfigError(f"a double quote is not closed in {quote(text)}", hint="write a quote in a name as two")
        if rest[at + 1 : at + 2] != '"':
            return rest[1:at].replace('""', '"'), rest[at + 1 :]
        at += 2


def qualified(parts: Sequence[str]) -> str:
    """Return the parts of a name as SQL.

    Args:
        parts: Schema and table, or the table alone.

    Examples:
        >>> print(qualified(("plant", "readings")))
        "plant"."readings"
    """
    return ".".join(identifier(part) for part in parts)


def condition(where: Mapping[str, Any]) -> str:
    """Return the conditions on columns as one expression; empty if there is none.

    Args:
        where: Column to a value, a list of values, or a mapping from comparisons to values.

    Raises:
        ConfigError: If a comparison is unknown or a value has the wrong type.

    Examples:
        >>> print(condition({"site": "north", "ts": {">=": "2024-01-01"}, "q": [0, 1], "gone": None}))
        "site" = 'north' AND "ts" >= '2024-01-01' AND "q" IN (0, 1) AND "gone" IS NULL
    """
    terms = []
    for column, wanted in where.items():
        name = identifier(column)
        if isinstance(wanted, Mapping):
            for sign, value in wanted.items():
                if sign not in COMPARISONS:
                    hint = nearest(str(sign), COMPARISONS) or f"use one of {', '.join(COMPARISONS)}"
                    raise ConfigError(f"where has no comparison {quote(sign)}", hint=hint)
                terms.append(f"{name} {'<>' if sign == '!=' else sign.upper()} {literal(value)}")
        elif isinstance(wanted, (list, tuple, set, frozenset)):
            listed = [literal(value) for value in wanted if value is not None]
            some = [f"{name} IN ({', '.join(listed)})"] if listed else []
            some += [f"{name} IS NULL"] if None in wanted else []
            terms.append(f"({' OR '.join(some)})" if len(some) > 1 else some[0] if some else "FALSE")
        else:
            terms.append(f"{name} IS NULL" if wanted is None else f"{name} = {literal(wanted)}")
    return " AND ".join(terms)
