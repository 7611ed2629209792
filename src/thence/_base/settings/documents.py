"""JSON, TOML and XML as data, within limits: what a file from anywhere may contain; and TOML text of settings.

A document is refused, never read in part: if it is nested too deeply, has a number with too many digits, has a key
twice, of which a parser would keep the last, or is XML with entities, which can grow without bound or name other files.
This module must not know what the documents mean.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any
from xml.parsers import expat

from thence.errors import ThenceError, quote, reported_as

DEEPEST = 100
"""The deepest nesting of lists and objects in JSON and TOML."""
MOST_DIGITS = 400
"""The most digits of a number."""
LONGEST_ENTITY = 256
"""The longest text, in characters, that an entity of XML may stand for."""

_JSON_PARTS = re.compile(rb'"(?:[^"\\]|\\.)*"?|[\[{]|[\]}]', re.DOTALL)
# The escape of one half of a surrogate pair; alone it is no character, and no encoding can write it.
_HALF_A_PAIR = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
# A string that is never closed ends with the text: looking for its end from every quote would take squared time.
# In TOML, brackets are counted outside of strings and comments.
_TOML_PARTS = re.compile(
    r'"""(?:[^\\]|\\.)*?(?:"""|\\?\Z)|\'\'\'.*?(?:\'\'\'|\Z)|"(?:[^"\\\n]|\\[^\n])*"?|\'[^\'\n]*\'?|#[^\n]*|[\[{]|[\]}]',
    re.DOTALL,
)
_TOML_KEY = re.compile(r"^[ \t]*\[{0,2}[^=#\n]*", re.MULTILINE)


def read_text(path: Path, *, error: type[ThenceError]) -> str:
    """Return the text of a file in UTF-8, with or without a byte order mark.

    Args:
        path: The file.
        error: The class of the error to raise.

    Raises:
        ThenceError: If the file cannot be read or is not UTF-8.

    Examples:
        >>> from thence.errors import GraphError
        >>> read_text(Path("no such file"), error=GraphError)
        Traceback (most recent call last):
        thence.errors.GraphError: no such file: cannot be read: No such file or directory
    """
    with reported_as(error, where=str(path)):
        raw = path.read_bytes()
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        line = raw.count(b"\n", 0, wrong.start) + 1
        raise error(
            f"not UTF-8 text ({wrong.reason})", where=f"{path}, line {line}", hint="save the file as UTF-8"
        ) from wrong


def parse_json(
    text: str, *, where: str, error: type[ThenceError], make: Callable[[list[tuple[str, Any]]], Any] | None = None
) -> Any:
    """Return the content of a JSON document.

    Args:
        text: The document.
        where: Its file, for messages.
        error: The class of the error to raise.
        make: Makes an object of its keys and values, instead of a dict whose keys are checked.

    Raises:
        ThenceError: If it is not valid, nested more than ``DEEPEST`` levels, has an integer of more than
            ``MOST_DIGITS`` digits, or an object with a key twice.

    Examples:
        >>> from thence.errors import GraphError
        >>> parse_json('{"a": 1, "a": 2}', where="a.json", error=GraphError)
        Traceback (most recent call last):
        thence.errors.GraphError: a.json: an object has the key 'a' twice (rename or remove one)
    """
    check_json_depth(text.encode("utf-8", errors="surrogatepass"), where=where, error=error)

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        content = dict(pairs)
        if len(content) < len(pairs):
            seen: set[str] = set()
            twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
            raise error(f"an object has the key {quote(twice)} twice", where=where, hint="rename or remove one")
        return content

    def integer(digits: str) -> int:
        if len(digits) > MOST_DIGITS:
            raise _too_many_digits(digits, where, error)
        return int(digits)

    try:
        content = json.loads(text, object_pairs_hook=make or once, parse_int=integer)
    except json.JSONDecodeError as wrong:
        place = f"{where}, line {wrong.lineno}, column {wrong.colno}"
        raise error(f"not valid JSON: {wrong.msg}", where=place, hint="correct the file") from wrong
    if half := _HALF_A_PAIR.search(text):
        try:
            json.dumps(content, ensure_ascii=False, default=str).encode("utf-8")
        except UnicodeEncodeError as wrong:
            place = f"{where}, line {_line(text, half.start())}"
            raise error(
                f"{half[0]} is half of a character", where=place, hint="write both halves, or leave it out"
            ) from wrong
    return content


def check_json_depth(raw: bytes, *, where: str, error: type[ThenceError]) -> None:
    """Raise an ``error`` if a JSON document is nested more than ``DEEPEST`` levels.

    Parsers call themselves for each level, and may end the process.

    Args:
        raw: The document.
        where: Its file, for messages.
        error: The class of the error to raise.
    """
    depth = 0
    # Few files have more brackets than levels are allowed, but even then one pass is cheap.
    if raw.count(b"[") + raw.count(b"{") <= DEEPEST:
        return
    for part in _JSON_PARTS.finditer(raw):
        sign = part[0]
        if sign in (b"[", b"{"):
            depth += 1
            if depth > DEEPEST:
                raise _too_deep(raw.count(b"\n", 0, part.start()) + 1, where, error)
        elif sign in (b"]", b"}"):
            depth -= 1


def parse_toml(text: str, *, where: str, error: type[ThenceError]) -> dict[str, Any]:
    """Return the content of a TOML document.

    Args:
        text: The document.
        where: Its file, for messages.
        error: The class of the error to raise.

    Raises:
        ThenceError: If it is not valid, nested more than ``DEEPEST`` levels, or has a number of thousands of digits.

    Examples:
        >>> from thence.errors import ConfigError
        >>> parse_toml("seed = 1", where="a.toml", error=ConfigError)
        {'seed': 1}
    """
    _check_toml_depth(text, where, error)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as wrong:
        raise error(f"not valid TOML: {wrong}", where=where, hint="correct the file") from wrong
    except (ValueError, RecursionError, OverflowError) as wrong:
        # Numbers with more digits than Python converts.
        digits = "digits" in str(wrong)
        why = "a number has too many digits" if digits else str(wrong)
        raise error(f"not valid TOML: {why}", where=where, hint="correct the file") from wrong


def _check_toml_depth(text: str, where: str, error: type[ThenceError]) -> None:
    depth = 0
    for part in _TOML_PARTS.finditer(text):
        sign = part[0]
        if sign in ("[", "{"):
            depth += 1
            if depth > DEEPEST:
                raise _too_deep(_line(text, part.start()), where, error)
        elif sign in ("]", "}"):
            depth -= 1
    if text.count(".") <= DEEPEST:
        return
    bare = _TOML_PARTS.sub(lambda part: part[0] if part[0] in "[]{}" else "\n" * part[0].count("\n"), text)
    for key in _TOML_KEY.finditer(bare):
        if key[0].count(".") > DEEPEST:
            raise _too_deep(_line(bare, key.start()), where, error)


def check_xml(raw: bytes, *, where: str, error: type[ThenceError], deepest: int | None = None) -> None:
    """Raise an ``error`` unless ``raw`` is well-formed XML without entities that can grow or name another file.

    Entities that stand for a short text, as editors of ontologies write for namespaces, are allowed.

    Args:
        raw: The document.
        where: Its file, for messages.
        error: The class of the error to raise.
        deepest: The deepest nesting of elements; any by default.

    Examples:
        >>> from thence.errors import GraphError
        >>> check_xml(b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', where="a.xml", error=GraphError)
        >>> check_xml(b'<!DOCTYPE a [<!ENTITY b SYSTEM "/etc/passwd">]><a/>', where="a.xml", error=GraphError)
        Traceback (most recent call last):
        thence.errors.GraphError: a.xml, line 1: the entity 'b' names another file or entity (write its text instead)
    """
    parser = expat.ParserCreate()

    def declare(
        name: str, is_parameter: int, value: str | None, base: Any, system: Any, public: Any, notation: Any
    ) -> None:
        if is_parameter or value is None or "&" in value or "%" in value:
            raise error(
                f"the entity {quote(name)} names another file or entity",
                where=f"{where}, line {parser.CurrentLineNumber}",
                hint="write its text instead",
            )
        if len(value) > LONGEST_ENTITY:
            raise error(
                f"the entity {quote(name)} stands for more than {LONGEST_ENTITY} characters",
                where=f"{where}, line {parser.CurrentLineNumber}",
                hint="write its text instead",
            )

    def skip(name: str, is_parameter: bool) -> None:
        raise error(
            f"the entity {quote(name)} is not declared in this file",
            where=f"{where}, line {parser.CurrentLineNumber}",
            hint="write its text instead",
        )

    depth = 0

    def start(name: str, attributes: Any) -> None:
        nonlocal depth
        depth += 1
        if deepest is not None and depth > deepest:
            raise _too_deep(parser.CurrentLineNumber, where, error, deepest)

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1

    if deepest is not None:
        parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.EntityDeclHandler = declare
    parser.SkippedEntityHandler = skip
    parse_xml(parser, raw, where=where, error=error)


def parse_xml(parser: Any, raw: bytes, *, where: str, error: type[ThenceError]) -> None:
    """Parse a whole XML document with an expat parser, whose handlers may raise errors of ours.

    Args:
        parser: The parser.
        raw: The document.
        where: Its file, for messages.
        error: The class of the error to raise if the document is not valid.
    """
    try:
        parser.Parse(raw, True)
    except expat.ExpatError as wrong:
        place = f"{where}, line {wrong.lineno}"
        raise error(f"not valid XML: {expat.ErrorString(wrong.code)}", where=place, hint="correct the file") from wrong
    except (LookupError, UnicodeError, ValueError) as wrong:
        # An encoding that Python does not know, or of several bytes per character.
        raise error(
            f"the encoding that the file names cannot be read ({wrong})", where=where, hint="save it as UTF-8"
        ) from wrong


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _too_deep(line: int, where: str, error: type[ThenceError], deepest: int = DEEPEST) -> ThenceError:
    return error(f"nested more than {deepest} levels deep", where=f"{where}, line {line}", hint="write it flatter")


def _too_many_digits(number: str, where: str, error: type[ThenceError]) -> ThenceError:
    return error(
        f"the number {number[:12]}… has {len(number):,} digits, more than {MOST_DIGITS}",
        where=where,
        hint="write it as a decimal number or as a string",
    )


_KEY_PART = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([A-Za-z0-9_-]+))\s*(\.)?""")


def toml_text(data: Mapping[str, Any]) -> str:
    """Return a mapping as TOML. Keys whose value is ``None`` are left out, since TOML has no null.

    >>> print(toml_text({"seed": 1, "windows": {"every": "30min", "derive": ["change"], "end": None}}), end="")
    seed = 1
    <BLANKLINE>
    [windows]
    every = "30min"
    derive = ["change"]
    """
    import tomlkit

    return tomlkit.dumps(_without_none(data))


def _without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_none(inner) for key, inner in value.items() if inner is not None}
    return [_without_none(member) for member in value] if isinstance(value, (list, tuple)) else value


def line_of(text: str, path: tuple[str, ...]) -> int | None:
    """Return the number of the line that sets the key at ``path``, or else that starts the innermost table around it.

    Args:
        text: The TOML text.
        path: The keys that lead to the value.

    Returns:
        The line number from 1, or ``None`` if neither the key nor a table around it is in the text.

    Examples:
        >>> line_of('seed = 1\\n[windows]\\nevry = "1h"', ("windows", "evry"))
        3
    """
    best: tuple[int, int] | None = None
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if stripped.startswith("["):
            header = stripped.lstrip("[")
            table = here = _dotted_key(header) or ()
        elif (name := _dotted_key(stripped)) is not None and stripped[:1] not in ("#", ""):
            here = table + name
        else:
            continue
        depth = _common_length(here, path)
        # The first line with the longest common path wins; another key in the same table does not count.
        if depth == len(here) and depth and (best is None or depth > best[0]):
            best = (depth, number)
    return best[1] if best else None


def _dotted_key(text: str) -> tuple[str, ...] | None:
    """The dotted key at the start of a line, or ``None`` if the line does not start with one."""
    parts: list[str] = []
    at = 0
    while match := _KEY_PART.match(text, at):
        parts.append(next(group for group in match.groups()[:3] if group is not None))
        at = match.end()
        if not match.group(4):
            return tuple(parts) if text[at : at + 1] in ("=", "]") else None
    return None


def _common_length(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    """How many keys two paths have in common from the start."""
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False))))
