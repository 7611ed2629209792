"""What is wrong with an EPANET file that cannot be read: every place, by line.

WNTR stops at the first thing it cannot digest, often without a line number. This module looks through the file for the
mistakes that people make in it, and never builds anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from thence.errors import GraphError, nearest

__all__ = ["duplicates", "explain"]

_NODE_SECTIONS = ("JUNCTIONS", "RESERVOIRS", "TANKS")
_LINK_SECTIONS = ("PIPES", "PUMPS", "VALVES")
# How many fields each row needs, and which of them must be numbers.
_FEWEST = {"JUNCTIONS": 1, "RESERVOIRS": 1, "TANKS": 2, "PIPES": 3, "PUMPS": 3, "VALVES": 5}
_NUMBERS: dict[str, tuple[int, ...]] = {
    "JUNCTIONS": (1, 2),
    "RESERVOIRS": (1,),
    "TANKS": (1, 2, 3, 4, 5, 6),
    "PIPES": (3, 4, 5, 6),
    "VALVES": (3,),
}


def explain(path: Path, error: Exception) -> GraphError:
    """An error that lists what is wrong in the file, or repeats what the reader said where nothing was found."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as trouble:
        return GraphError(f"cannot be read ({trouble.strerror})", where=str(path))
    problems = list(_problems(text))
    if not problems:
        return GraphError(f"EPANET file cannot be read: {error}", where=str(path), hint="does EPANET itself open it?")
    listed = "\n  ".join(problems)
    return GraphError(f"EPANET file cannot be read:\n  {listed}", where=str(path))


def duplicates(path: Path) -> list[str]:
    """Names that two nodes or two links of the file share, by line."""
    return list(_duplicates(list(_rows(path.read_text(encoding="utf-8", errors="replace")))))


def _duplicates(rows: list[tuple[int, str, list[str]]]) -> Iterator[str]:
    for sections in (_NODE_SECTIONS, _LINK_SECTIONS):
        known: dict[str, int] = {}
        for number, section, fields in rows:
            if section in sections:
                if fields[0] in known:
                    yield f"line {number}: [{section}] '{fields[0]}' exists already (line {known[fields[0]]})"
                known.setdefault(fields[0], number)


def _rows(text: str) -> Iterator[tuple[int, str, list[str]]]:
    section = ""
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.partition(";")[0].strip()
        if content.startswith("["):
            section = content.strip("[]").upper()
        elif content:
            yield number, section, content.split()


def _problems(text: str) -> Iterator[str]:
    rows = list(_rows(text))
    nodes = {fields[0] for _, section, fields in rows if section in _NODE_SECTIONS}
    if not any(section in _NODE_SECTIONS for _, section, _ in rows):
        yield "there is no [JUNCTIONS], [RESERVOIRS] or [TANKS] section: this does not look like an EPANET file"
        return
    if not any(section == "OPTIONS" and fields[0].upper() == "UNITS" for _, section, fields in rows):
        yield "the [OPTIONS] section does not name the units: add a line such as 'Units  LPS'"
    yield from _duplicates(rows)
    for number, section, fields in rows:
        if section not in _FEWEST:
            continue
        if len(fields) < _FEWEST[section]:
            yield f"line {number}: [{section}] row has {len(fields)} fields and needs {_FEWEST[section]}"
        for position in _NUMBERS.get(section, ()):
            if position < len(fields) and not _is_number(fields[position]):
                yield f"line {number}: [{section}] '{fields[position]}' of '{fields[0]}' is not a number"
    for number, section, fields in rows:
        if section in _LINK_SECTIONS and len(fields) >= 3:
            for end in fields[1:3]:
                if end not in nodes:
                    advice = nearest(end, nodes)
                    yield (
                        f"line {number}: [{section}] '{fields[0]}' leads to '{end}', which is not a node"
                        + (f" ({advice})" if advice else "")
                    )


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
