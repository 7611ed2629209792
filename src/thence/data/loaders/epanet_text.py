"""The text of EPANET files: normalised for WNTR, and searched for mistakes.

EPANET looks only at the first four letters of a section name and accepts any encoding; WNTR needs full names and UTF-8.
WNTR also stops at the first mistake, often without a line number, so this module lists all common mistakes by line. It
works on text only and must not import WNTR.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from thence.errors import GraphError, nearest, quote

__all__ = ["explain_failure", "find_duplicates", "find_long_rows", "read_text"]

_SECTIONS = (
    *("TITLE", "JUNCTIONS", "RESERVOIRS", "TANKS", "PIPES", "PUMPS", "VALVES", "EMITTERS", "CURVES", "PATTERNS"),
    *("ENERGY", "STATUS", "CONTROLS", "RULES", "DEMANDS", "QUALITY", "REACTIONS", "SOURCES", "MIXING", "TIMES"),
    *("REPORT", "OPTIONS", "COORDINATES", "VERTICES", "LABELS", "BACKDROP", "TAGS", "END"),
)
_BY_FIRST_LETTERS = {name[:4]: name for name in _SECTIONS}
_NODE_SECTIONS = ("JUNCTIONS", "RESERVOIRS", "TANKS")
_LINK_SECTIONS = ("PIPES", "PUMPS", "VALVES")
# The smallest number of fields in a row, and the positions of the fields that must be numbers.
_MIN_FIELDS = {"JUNCTIONS": 1, "RESERVOIRS": 1, "TANKS": 2, "PIPES": 3, "PUMPS": 3, "VALVES": 5}
# The largest number of fields: of a row with more, WNTR takes the status of the row before.
_MAX_FIELDS = {"TANKS": 9, "PIPES": 8}
_PIPE_STATES = ("OPEN", "CLOSED", "CV")
_NUMBERS: dict[str, tuple[int, ...]] = {
    "JUNCTIONS": (1, 2),
    "RESERVOIRS": (1,),
    "TANKS": (1, 2, 3, 4, 5, 6),
    "PIPES": (3, 4, 5, 6),
    "VALVES": (3,),
}


def read_text(path: Path) -> str:
    """Read the text of the file at ``path`` in any encoding, with full section names.

    Examples:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder) / "a.inp"
        ...     _ = file.write_bytes(b"[JUNC]\\nM\\xfcnchen 10\\n")
        ...     read_text(file)
        '[JUNCTIONS]\\nMünchen 10\\n'
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise GraphError(f"cannot be read ({error.strerror})", where=str(path)) from error
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = raw.decode("utf-16", errors="replace")
    else:
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError:
            # EPANET for Windows writes in the code page of the machine; Latin-1 decodes every byte.
            text = raw.decode("latin-1")
    return "".join(_complete_lines(text.splitlines(keepends=True)))


def _complete_lines(lines: list[str]) -> Iterator[str]:
    """The lines with full section names, and with the loss coefficient of a pipe before its status."""
    section = ""
    for line in lines:
        complete = _complete_section_name(line)
        if complete.lstrip().startswith("["):
            section = complete.strip().strip("[]").upper()
        elif section == "PIPES":
            content, mark, comment = complete.partition(";")
            fields = content.split()
            if len(fields) == 7 and fields[6].upper() in _PIPE_STATES:
                # EPANET allows either; WNTR takes the seventh field for the coefficient.
                complete = f"{' '.join([*fields[:6], '0', fields[6]])} {mark}{comment or _line_end(content)}"
        yield complete


def _line_end(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


def _complete_section_name(line: str) -> str:
    name, bracket, rest = line.lstrip().removeprefix("[").partition("]")
    known = _BY_FIRST_LETTERS.get(name.strip().upper()[:4])
    return f"[{known}]{rest}" if line.lstrip().startswith("[") and bracket and known else line


def explain_failure(path: Path, text: str, error: Exception) -> GraphError:
    """Return an error that lists the mistakes in ``text``, or repeats WNTR's ``error`` if none is found."""
    problems = list(_find_problems(text))
    if not problems:
        return GraphError(f"EPANET file cannot be read: {error}", where=str(path), hint="check that EPANET can open it")
    listed = "\n  ".join(problems)
    return GraphError(f"EPANET file cannot be read:\n  {listed}", where=str(path))


def find_duplicates(text: str) -> list[str]:
    """Return the names in ``text`` that two nodes or two links share, with their lines."""
    return list(_find_duplicates(list(_rows(text))))


def find_long_rows(text: str) -> list[str]:
    """Return the rows of ``text`` that have more fields than EPANET reads, with their lines."""
    return list(_find_long_rows(list(_rows(text))))


def _find_long_rows(rows: list[tuple[int, str, list[str]]]) -> Iterator[str]:
    for number, section, fields in rows:
        if len(fields) > (most := _MAX_FIELDS.get(section, len(fields))):
            name, extra = quote(fields[0]), quote(" ".join(fields[most:]))
            yield (
                f"line {number}: [{section}] row of {name} has {len(fields)} fields, at most {most} are read: "
                f"remove {extra}, or begin a comment with ';'"
            )


def _find_duplicates(rows: list[tuple[int, str, list[str]]]) -> Iterator[str]:
    for sections in (_NODE_SECTIONS, _LINK_SECTIONS):
        known: dict[str, int] = {}
        for number, section, fields in rows:
            if section in sections:
                if fields[0] in known:
                    first = known[fields[0]]
                    yield f"line {number}: [{section}] duplicate name {quote(fields[0])} (first on line {first})"
                known.setdefault(fields[0], number)


def _rows(text: str) -> Iterator[tuple[int, str, list[str]]]:
    """Line number, section and fields of each row."""
    section = ""
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.partition(";")[0].strip()
        if content.startswith("["):
            section = content.strip("[]").upper()
        elif content:
            yield number, section, content.split()


def _find_problems(text: str) -> Iterator[str]:
    rows = list(_rows(text))
    nodes = {fields[0] for _, section, fields in rows if section in _NODE_SECTIONS}
    if not any(section in _NODE_SECTIONS for _, section, _ in rows):
        yield "no section [JUNCTIONS], [RESERVOIRS] or [TANKS]: this does not look like an EPANET file"
        return
    if not any(section == "OPTIONS" and fields[0].upper() == "UNITS" for _, section, fields in rows):
        yield "missing units in the section [OPTIONS]: add a line such as 'Units  LPS'"
    for number, line in enumerate(text.splitlines(), start=1):
        name = line.strip().partition("]")[0].removeprefix("[")
        if line.strip().startswith("[") and name.upper() not in _SECTIONS:
            advice = nearest(name.upper(), _SECTIONS)
            yield f"line {number}: unknown section [{name}]" + (f" ({advice})" if advice else "")
    yield from _find_duplicates(rows)
    yield from _find_long_rows(rows)
    for number, section, fields in rows:
        if section not in _MIN_FIELDS:
            continue
        if len(fields) < _MIN_FIELDS[section]:
            yield f"line {number}: [{section}] row has {len(fields)} fields, needs {_MIN_FIELDS[section]}"
        if section == "PIPES" and len(fields) > 7 and fields[7].upper() not in _PIPE_STATES:
            yield f"line {number}: [PIPES] the status of {quote(fields[0])} must be Open, Closed or CV"
        for position in _NUMBERS.get(section, ()):
            if position < len(fields) and not _is_number(fields[position]):
                yield f"line {number}: [{section}] '{fields[position]}' of '{fields[0]}' is not a number"
    for number, section, fields in rows:
        if section in _LINK_SECTIONS and len(fields) >= 3:
            for end in fields[1:3]:
                if end not in nodes:
                    advice = nearest(end, nodes)
                    yield (
                        f"line {number}: [{section}] '{fields[0]}' refers to '{end}', which is not a node"
                        + (f" ({advice})" if advice else "")
                    )


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
