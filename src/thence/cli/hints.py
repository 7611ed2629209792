"""Hints of errors for the command line: which option does what a hint says for Python.

A hint names keywords of the function that raised the error, such as ``table=`` of ``read_sensors``. The traceback says
which function that was, and only options that the command has are named.
"""

from __future__ import annotations

import functools
import inspect
import re
import shlex
from collections.abc import Callable, Collection, Iterator
from dataclasses import fields, is_dataclass
from types import CodeType
from typing import Any, NamedTuple

from thence.errors import ThenceError
from thence.runs.options import OPTIONS, Option

_KEYWORD = re.compile(
    r"(?<![\w-])(?P<name>[a-z_]+)=(?:\[?'(?P<text>[^']*)'\]?|(?P<bare>True|False|\d[\d.]*\d|\d)|\{'(?P<key>\w+)'"
    r"|th\.\w+\([^()]*\))?"
)
_NAMED = re.compile(r"\b(read_sensors|read_graph|read_binding)\b")
_EXAMPLES = {"bind": "SENSOR=NODE"}


def command_hint(error: ThenceError, flags: Collection[str]) -> str:
    """Return the options for the keywords that the hint of an error names, as a further sentence of the message.

    Args:
        error: The error, with its traceback.
        flags: The options of the command that raised it, such as ``"--sensors"``.

    Returns:
        The sentence, beginning with ``"; "``; empty if the hint names no keyword for which the command has an option.

    Examples:
        >>> error = ThenceError("no readings", hint="pass read_sensors(…, on_error='repair')")
        >>> command_hint(error, ["--read-sensors"])
        '; on the command line: --read-sensors on_error=repair'
        >>> command_hint(error, ["--json"])
        ''
    """
    hint = error.hint or ""
    named = [f"input.{name}." for name in _NAMED.findall(hint)]
    places = [place for place in _functions().values() if place.section in named] or _places_of(error)
    options: dict[str, None] = {}
    for found in _KEYWORD.finditer(hint):
        value = found["text"] or (found["bare"] or "").lower()
        for text in _options_for(found["name"], found["key"], value, places):
            if text.split(" ", 1)[0] in flags:
                options[text] = None
                break
    return f"; on the command line: {', '.join(options)}" if options else ""


class _Keywords(NamedTuple):
    """A function whose keywords a hint may name.

    Args:
        keywords: Its keywords.
        section: The section of the configuration in which they are set, such as ``"input.bind."``.
    """

    keywords: Collection[str]
    section: str


def _options_for(name: str, key: str | None, value: str, places: list[_Keywords]) -> Iterator[str]:
    """Options that set a keyword, the likeliest first: of the innermost function that has it, else of the job."""
    for place in places:
        if name in place.keywords:
            yield from (_spelled(one, value) for one in OPTIONS if f"{place.section}{name}" in one.places)
            for table in (one for one in OPTIONS if place.section in one.places):
                yield f"{table.flags[0]} {name}={_quoted(value) or '…'}"
            return
    if name == "refine" and key:
        yield from (_spelled(one, "") for one in OPTIONS if f"refine.{key}" in one.places)
        return
    yield from (_spelled(one, value) for one in OPTIONS if one.name == name)
    yield f"--{name.replace('_', '-')} {_quoted(value)}".strip()


def _spelled(option: Option, value: str) -> str:
    example = _EXAMPLES.get(option.name, _quoted(value))
    return option.flags[0] if option.is_switch else f"{option.flags[0]} {example}".strip()


def _quoted(value: str) -> str:
    """A value as a shell takes it, in quotes also if a comma in it could be one of the sentence."""
    return f"'{value}'" if value == "," else shlex.quote(value) if value else ""


def _places_of(error: BaseException) -> list[_Keywords]:
    """The functions that led to an error, innermost first; within a data set, only the data set."""
    from thence.data import datasets
    from thence.search.base import BaseMiner

    known = _functions()
    places: list[_Keywords] = []
    step = error.__traceback__
    while step is not None:
        frame, step = step.tb_frame, step.tb_next
        if frame.f_code is datasets.load.__code__:
            chosen = frame.f_locals.get("chosen")
            return [_Keywords(() if chosen is None else tuple(chosen.options), "input.options")]
        if frame.f_code in known:
            places.append(known[frame.f_code])
        elif isinstance(miner := frame.f_locals.get("self"), BaseMiner) and is_dataclass(miner):
            places.append(_Keywords([field.name for field in fields(miner)], "miner."))
    return places[::-1]


@functools.cache
def _functions() -> dict[CodeType, _Keywords]:
    from thence.data.graph.binding import bind
    from thence.data.loaders import read_binding, read_graph, read_ontology
    from thence.data.readers import read_sensors

    functions = (read_sensors, read_graph, read_binding, read_ontology, bind)
    return {one.__code__: _Keywords(_keywords(one), f"input.{one.__name__}.") for one in functions}


def _keywords(function: Callable[..., Any]) -> list[str]:
    return [name for name, one in inspect.signature(function).parameters.items() if one.kind is one.KEYWORD_ONLY]
