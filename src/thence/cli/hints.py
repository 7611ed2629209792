"""Hints of errors for the command line: which option does what a hint says for Python."""

from __future__ import annotations

import re
import shlex

from thence.cli.job_options import JOB_OPTIONS

__all__ = ["command_hint"]

_KEYWORD = re.compile(r"(?<![\w-])(?P<name>[a-z_]+)=(?:\[?'(?P<value>[^'{}]*)'\]?)?")


def command_hint(hint: str | None) -> str:
    """Return the options for the keywords that a hint names, as a further sentence of the message.

    Args:
        hint: The hint of an error.

    Returns:
        The sentence, beginning with ``"; "``; empty if the hint names no keyword that has an option.

    Examples:
        >>> command_hint("pass ignore=['flag'], or on_error='repair'")
        '; on the command line: --ignore flag, --read-sensors on_error=repair'
        >>> command_hint("check the path")
        ''
    """
    flags = {path.rpartition(".")[2]: option for option in JOB_OPTIONS for path in option.sets}
    flags |= {option.name: option for option in JOB_OPTIONS}
    told: dict[str, None] = {}
    for found in _KEYWORD.finditer(hint or ""):
        name, value = found["name"], found["value"]
        if (option := flags.get(name)) is not None:
            example = "SENSOR=NODE" if option.name == "bind" else shlex.quote(value) if value else ""
            told[option.spelling if option.type is bool else f"{option.spelling} {example}".strip()] = None
        elif (reader := _reader_of(name)) is not None:
            told[f"{reader} {name}={shlex.quote(value) if value else '…'}"] = None
    return f"; on the command line: {', '.join(told)}" if told else ""


def _reader_of(keyword: str) -> str | None:
    """The option for all keywords of a reader, if one of them has this name."""
    import inspect

    from thence.graph.loaders import read_binding, read_graph
    from thence.readings.readers import read_sensors

    readers = ((read_sensors, "--read-sensors"), (read_graph, "--read-graph"), (read_binding, "--read-binding"))
    for function, flag in readers:
        if keyword in list(inspect.signature(function).parameters)[1:]:
            return flag
    return None
