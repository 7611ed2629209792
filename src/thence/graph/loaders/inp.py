"""The text of an EPANET file as WNTR takes it, and what is wrong with one that cannot be read: every place, by line.

EPANET itself looks at the first four letters of a section and does not care about encodings; WNTR wants whole names and
UTF-8. And it stops at the first thing it cannot digest, often without a line number: this module looks through the file
for the mistakes that people make in it, and never builds anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from thence.errors import GraphError, nearest

__all__ = ["duplicates", "explain", "readable_text"]

_SECTIONS = (
    *("TITLE", "JUNCTIONS", "RESERVOIRS", "TANKS", "PIPES", "PUMPS", "VALVES", "EMITTERS", "CURVES", "PATTERNS"),
    *("ENERGY", "STATUS", "CONTROLS", "RULES", "DEMANDS", "QUALITY", "REACTIONS", "SOURCES", "MIXING", "TIMES"),
    *("REPORT", "OPTIONS", "COORDINATES", "VERTICES", "LABELS", "BACKDROP", "TAGS", "END"),
)
_BY_LETTERS = {name[:4]: name for name in _SECTIONS}
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


def readable_text(path: Path) -> str:
    """The text of a file, whatever its encoding, with the names of sections written out.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "a.inp"
    ...     _ = file.write_bytes(b"[JUNC]\\nM\\xfcnchen 10\\n")
    ...     readable_text(file)
    '[JUNCTIONS]\\nMünchen 10\\n'
    """
    try:
        raw = path.read_bytes()
    except OSError as trouble:
        raise GraphError(f"cannot be read ({trouble.strerror})", where=str(path)) from trouble
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = raw.decode("utf-16", errors="replace")
    else:
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError:
            # EPANET for Windows writes the code page of the machine; Latin-1 gives every byte a character.
            text = raw.decode("latin-1")
    return "".join(map(_written_out, text.splitlines(keepends=True)))


def _written_out(line: str) -> str:
    name, bracket, rest = line.lstrip().removeprefix("[").partition("]")
    known = _BY_LETTERS.get(name.strip().upper()[:4])
    return f"[{known}]{rest}" if line.lstrip().startswith("[") and bracket and known else line


def explain(path: Path, text: str, error: Exception) -> GraphError:
    """An error that lists what is wrong in the file, or repeats what the reader said where nothing was found."""
    problems = list(_problems(text))
    if not problems:
        return GraphError(f"EPANET file cannot be read: {error}", where=str(path), hint="does EPANET itself open it?")
    listed = "\n  ".join(problems)
    return GraphError(f"EPANET file cannot be read:\n  {listed}", where=str(path))


def duplicates(text: str) -> list[str]:
    """Names that two nodes or two links of the file share, by line."""
    return list(_duplicates(list(_rows(text))))


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
    for number, line in enumerate(text.splitlines(), start=1):
        name = line.strip().partition("]")[0].removeprefix("[")
        if line.strip().startswith("[") and name.upper() not in _SECTIONS:
            advice = nearest(name.upper(), _SECTIONS)
            yield f"line {number}: there is no section [{name}]" + (f" ({advice})" if advice else "")
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
