"""Numbers in the pages about our results: fill them in from ``docs/results``, and find those that nothing accounts for.

A number in the text stands between two comments, which the site leaves out. The first one says where it comes from:

- ``<!--: 1.1; hanoi; Aerial w-s; support; faithful-->0.56<!--.-->``: experiment, data set, row, metric and variant, and
  after them, if wanted, a style: ``.3f``, ``%``, ``±``, ``sd``, ``n`` (repeats). ``Aerial w-s @ 0.9`` is the row at a
  value of the varied parameter, and ``Aerial w-s / Aerial wo-s`` the ratio of two rows.
- ``<!--: claim 1.1; support-aerial; hanoi; faithful-->yes<!--.-->``: a verdict; with ``; numbers`` or ``; repeats`` the
  numbers that were compared, or the repeats in which the claim held. Without a data set, the verdicts on all of them.
- ``<!--: highest 2.2; hanoi; DE, PSO; confidence; faithful-->PSO<!--.-->``: the row with the highest number.
- ``<!--: made optimisers; evaluations-->50,000<!--.-->``: a parameter of the stored repeats of a procedure.
- ``<!--: repeats semantics; hanoi-->20<!--.-->``: the number of stored repeats of a procedure.
- ``<!--: csv scale/scale.csv; sensors=10000; seconds-->55<!--.-->``: a cell of another CSV file of ``docs/results``.
- ``<!--: record records/defaults.md; net3; rules-->25<!--.-->``: a cell of a record (``record_tables.py``), by the
  first cells of its row, separated by ``|``, and the head of its column; ``FILE#HEADING`` names one of several tables.
  The style ``first`` takes what is before the first space, ``whole`` what is before the first bracket.
- ``<!--: said records/a.md; S is-->0.88<!--.-->``: the number that follows some words of a record.
- ``<!--: rows records/a.md#HEADING; data set | rules; net3 / hanoi-->…<!--.-->``: columns of a table of a record
  (``*``: the first table), and if wanted only the rows that begin so.
- ``<!--: given-->0.8<!--.-->``: a setting, a name, or a number of the paper that is in no table.
- ``<!--: table claims-->…<!--.-->``: a table of ``finding_tables.py``.

``python -m tools.findings`` writes the pages; with ``--tables`` it first writes the tables and verdicts that the stored
repeats give. With ``--check`` nothing is written, and what would change is an error.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from tools.benchmark_tables import PLACE
from tools.finding_tables import DATASETS, make_table
from tools.record_tables import copy_table, find_cell, find_said
from tools.result_numbers import (
    NOTHING,
    RESULTS,
    ROOT,
    Number,
    ResultNumbers,
    format_value,
    read_csv,
    write_result_tables,
)

DOCS = ROOT / "docs"
# Pages on which every number has a mark, and pages with marks here and there.
PAGES = (
    DOCS / "what-we-found.md",
    DOCS / "benchmarks.md",
    DOCS / "results" / "rediscovery" / "index.md",
    DOCS / "results" / "detection" / "index.md",
    DOCS / "results" / "defaults.md",
    DOCS / "records" / "what-we-found.md",
    DOCS / "records" / "deviations.md",
    DOCS / "records" / "about.md",
)
QUOTING = (
    ROOT / "README.md",
    DOCS / "evidence.md",
    *(DOCS / "guide" / f"{name}.md" for name in ("laws", "which-enrichment")),
)
MARK = re.compile(r"<!--: (?P<source>[^>]*?)-->(?P<text>.*?)<!--\.-->", re.S)
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.M | re.S)
LINK = re.compile(r"\]\([^)]*\)")
COMMENT = re.compile(r"<!--.*?-->", re.S)
DIGITS = re.compile(r"[^\s|]*\d[^\s|]*")
NAMES = re.compile(
    r"\b(?:[Ee]xperiments?|[Tt]ables?|[Ff]igures?|section)s? \d+(?:\.\d+)?(?:(?:, | and | to )\d+(?:\.\d+)?)*"
    r"|\b(?:[Nn]et[136]|ky4|ky10|MZVAV-2-1|Python 3|F1|H200)\b"
)


def fill_in(text: str, numbers: ResultNumbers) -> str:
    """Return a page with the numbers of the results between its marks.

    Args:
        text: The page.
        numbers: The numbers of the results.

    Raises:
        ValueError: A mark names something that does not exist.
    """
    return MARK.sub(lambda mark: f"<!--: {mark['source']}-->{_find(mark, numbers)}<!--.-->", text)


def find_unaccounted(text: str) -> list[str]:
    """Return the words with digits that are outside of marks, code, links and names of experiments and tables."""
    rest = PLACE.sub("", MARK.sub("", text))
    for pattern in (CODE, LINK, COMMENT, NAMES):
        rest = pattern.sub("", rest)
    return DIGITS.findall(rest)


def find_misplaced(text: str) -> list[str]:
    """Return the marks within a line that begin it: Markdown would take the line for HTML."""
    return re.findall(r"^<!--: (?!table |rows )[^>]*-->", text, re.M)


def _find(mark: re.Match[str], numbers: ResultNumbers) -> str:
    source = mark["source"].strip()
    kind, _, rest = source.partition(" ")
    if source == "given":
        return mark["text"]
    if kind == "table":
        return f"\n\n{make_table(rest, numbers)}\n\n"
    parts = [part.strip() for part in (rest if kind in _KINDS else source).split(";")]
    try:
        return _KINDS.get(kind, _find_number)(parts, numbers)
    except (KeyError, IndexError, ValueError, OSError) as error:
        raise ValueError(f"cannot read the mark <!--: {source}-->: {error}") from error


def _find_number(parts: list[str], numbers: ResultNumbers) -> str:
    experiment, dataset, rows, metric, variant, *style = parts
    found = [_find_row(numbers, experiment, dataset, row, metric, variant) for row in rows.split(" / ")]
    if len(found) == 1:
        return NOTHING if found[0] is None else found[0].show(*style)
    one, other = found
    if one is None or other is None or not other.mean:
        return NOTHING
    return f"{one.mean / other.mean:{style[0]}}" if style else format_value(one.mean / other.mean, "ratio")


def _find_row(
    numbers: ResultNumbers, experiment: str, dataset: str, row: str, metric: str, variant: str
) -> Number | None:
    name, _, at = row.partition(" @ ")
    if not numbers.has_row(experiment, name):
        raise ValueError(f"experiment {experiment} has no row '{name}'")
    return numbers.find(experiment, dataset, name, metric, variant, at=float(at) if at else None)


def _find_verdict(parts: list[str], numbers: ResultNumbers) -> str:
    experiment, claim, *rest = parts
    if not numbers.claim_text(experiment, claim):
        raise ValueError(f"experiment {experiment} has no claim '{claim}'")
    if len(rest) == 1:
        held = {label: numbers.verdict(experiment, claim, name, rest[0]) for name, label in DATASETS.items()}
        words = {label: line.get("holds", NOTHING) for label, line in held.items()}
        same = len(set(words.values())) == 1
        return next(iter(words.values())) if same else ", ".join(f"{label} {word}" for label, word in words.items())
    dataset, variant, *what = rest
    return numbers.verdict(experiment, claim, dataset, variant).get(what[0] if what else "holds", NOTHING) or NOTHING


def _find_highest(parts: list[str], numbers: ResultNumbers) -> str:
    experiment, dataset, rows, metric, variant = parts
    names = [name.strip() for name in rows.split(",")]
    found = {name: _find_row(numbers, experiment, dataset, name, metric, variant) for name in names}
    known = {name.partition(" @ ")[0]: one.mean for name, one in found.items() if one is not None}
    return max(known, key=known.__getitem__) if len(known) == len(names) else NOTHING


def _find_parameter(parts: list[str], numbers: ResultNumbers) -> str:
    work, name = parts
    values = {str(repeat.made_with[name]): repeat.made_with[name] for repeat in numbers.repeats if repeat.work == work}
    return " or ".join(f"{value:,}" if isinstance(value, int) else str(value) for value in values.values()) or NOTHING


def _count_repeats(parts: list[str], numbers: ResultNumbers) -> str:
    work, dataset = parts
    return str(sum(repeat.work == work and repeat.dataset == dataset for repeat in numbers.repeats))


def _find_record_cell(parts: list[str], numbers: ResultNumbers) -> str:
    place, row, column, *style = parts
    path, _, heading = place.partition("#")
    keys = tuple(key.strip() for key in row.split("|"))
    cell = find_cell(numbers.folder.parent / path, keys, column, heading=heading)
    return cell.partition({"first": " ", "whole": " ("}[style[0]])[0] if style else cell


def _find_said(parts: list[str], numbers: ResultNumbers) -> str:
    path, words = parts
    return find_said(numbers.folder.parent / path, words)


def _copy_rows(parts: list[str], numbers: ResultNumbers) -> str:
    place, columns, *rows = parts
    path, _, heading = place.partition("#")
    names = tuple(column.strip() for column in columns.split("|"))
    keep = tuple(row.strip() for row in rows[0].split(" / ")) if rows else ()
    return f"\n\n{copy_table(numbers.folder.parent / path, names, heading=heading, keep=keep)}\n\n"


def _find_csv_cell(parts: list[str], numbers: ResultNumbers) -> str:
    path, where, column, *style = parts
    wanted = dict(pair.strip().split("=", 1) for pair in where.split(",")) if where else {}
    lines = [line for line in read_csv(numbers.folder / path) if all(line[key] == wanted[key] for key in wanted)]
    if len(lines) != 1:
        raise ValueError(f"{len(lines)} lines of {path} have {where}")
    value = lines[0][column]
    return f"{float(value):{style[0]}}" if style and value else value or NOTHING


_KINDS: Mapping[str, Callable[[list[str], ResultNumbers], str]] = MappingProxyType(
    {
        "claim": _find_verdict,
        "highest": _find_highest,
        "made": _find_parameter,
        "repeats": _count_repeats,
        "csv": _find_csv_cell,
        "record": _find_record_cell,
        "said": _find_said,
        "rows": _copy_rows,
    }
)


def main(arguments: list[str] | None = None) -> int:
    """Fill in the numbers of all pages, or check them."""
    parser = argparse.ArgumentParser(prog="python -m tools.findings", description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a page would change")
    parser.add_argument("--tables", action="store_true", help="first write the tables that the stored repeats give")
    options = parser.parse_args(arguments)
    if options.tables and not options.check:
        write_result_tables(ResultNumbers(), RESULTS)
    numbers = ResultNumbers()
    wrong = 0
    for page in (*PAGES, *QUOTING):
        before = page.read_text(encoding="utf-8")
        after = fill_in(before, numbers)
        name = page.relative_to(ROOT)
        for word in find_unaccounted(after) if page in PAGES else ():
            sys.stdout.write(f"{name}: '{word}' has no mark\n")
            wrong = 1
        if options.check and before != after:
            sys.stdout.write(f"{name}: numbers differ from docs/results; run python -m tools.findings\n")
            wrong = 1
        elif before != after:
            _write(page, after)
    return wrong


def _write(page: Path, text: str) -> None:
    page.write_text(text, encoding="utf-8")
    sys.stdout.write(f"{page.relative_to(ROOT)}: numbers filled in\n")


if __name__ == "__main__":
    sys.exit(main())
