"""Tables of ``docs/records/benchmarks.md`` and other pages from the stored results in ``docs/results/benchmarks/``.

    python tools/benchmark_tables.py            write the tables into the page
    python tools/benchmark_tables.py --check    fail if a table of the page differs from its results

A table stands between ``<!-- table: FILE/NAME -->`` and ``<!-- end of table -->``. Below it is a line with the command,
the date and the machine.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results" / "benchmarks"
PAGES = (
    ROOT / "docs" / "guide" / "aerial.md",
    ROOT / "docs" / "records" / "benchmarks.md",
    ROOT / "docs" / "records" / "health.md",
    ROOT / "docs" / "records" / "scale.md",
    ROOT / "docs" / "results" / "scale" / "index.md",
)
PLACE = re.compile(r"(<!-- table: ([\w.-]+)/([\w.-]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)


@cache
def read_results(name: str, folder: Path = RESULTS) -> Mapping[str, Any]:
    """Return the tables of a file of results.

    Args:
        name: Name of the file, without ending.
        folder: Where the files are.
    """
    content: dict[str, Any] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return content


def render_cell(cell: Any, form: str) -> str:
    """Return a cell as text: a number in its format, mean ± standard deviation, or nothing.

    Args:
        cell: A text, a number, mean and standard deviation, or ``None``.
        form: Format of numbers, and a unit after a space (``",.0f MB"``).
    """
    if cell is None:
        return ""
    if isinstance(cell, str) or not form:
        return str(cell)
    number, _, unit = form.partition(" ")
    if isinstance(cell, list):
        mean, spread = (format(part, number) for part in cell)
        text = mean if not float(spread.replace(",", "")) else f"{mean} ± {spread}"
    else:
        text = format(cell, number)
    return f"{text} {unit}".rstrip()


def render_table(table: Mapping[str, Any]) -> str:
    """Return a table in Markdown, with the line that says where it comes from.

    Args:
        table: A table of a file of results.
    """
    columns = table["columns"]
    lines = ["| " + " | ".join(column["title"] for column in columns) + " |"]
    lines.append("|" + "|".join("--:" if column["format"] else "---" for column in columns) + "|")
    for row in table["rows"]:
        cells = (render_cell(cell, column["format"]) for cell, column in zip(row, columns, strict=True))
        lines.append("| " + " | ".join(cells) + " |")
    source = f"`python {table['command']}`, {table['date']}, {table['machine']}"
    note = f"; {table['note']}" if table.get("note") else ""
    return "\n".join(lines) + f"\n\n*{source}{note}.*\n"


def fill(text: str) -> str:
    """Return a page with its tables made anew.

    Args:
        text: The page.
    """

    def table(found: re.Match[str]) -> str:
        return found[1] + render_table(read_results(found[2])[found[3]]) + found[4]

    return PLACE.sub(table, text)


def main() -> None:
    """Write the tables, or check them."""
    different = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        filled = fill(text)
        if filled != text:
            different.append(page.name)
            if "--check" not in sys.argv:
                page.write_text(filled, encoding="utf-8")
    if different and "--check" in sys.argv:
        sys.exit(f"run python tools/benchmark_tables.py: tables of {', '.join(different)} differ from the results")


if __name__ == "__main__":
    main()
