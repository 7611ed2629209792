"""Results of a benchmark as a small JSON file, from which ``tools/benchmark_tables.py`` makes the tables of the docs.

A file has the command, the date and the machine, and tables of plain numbers. It is only written when a script is run
with ``--record``, so that a trial run changes no page.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results" / "benchmarks"
Cell = str | float | int | None | Sequence[float]
"""A text, a number, mean and standard deviation, or ``None`` where nothing was measured."""


@dataclass(frozen=True)
class Table:
    """A table of results.

    Args:
        columns: Title and format of each column: that of a number, followed by a unit (``".2f s"``), or empty for text.
        rows: The cells.
        note: What else to know of the run, below the table.
    """

    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        columns = [{"title": title, "format": form} for title, form in self.columns]
        told = {"note": self.note} if self.note else {}
        return {**told, "columns": columns, "rows": [[_plain(cell) for cell in row] for row in self.rows]}


def record(name: str, tables: Mapping[str, Table], *, device: str = "cpu", folder: Path = RESULTS) -> None:
    """Write the tables of a run; those of the same file that were not measured now stay as they are.

    Args:
        name: Name of the file, without ending.
        tables: The tables by name.
        device: Where it was measured, ``"cpu"`` or ``"cuda"``.
        folder: Where the file goes.
    """
    path = folder / f"{name}.json"
    known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    about = {"command": command(sys.argv), "date": datetime.now(UTC).date().isoformat(), "machine": machine(device)}
    for key, table in tables.items():
        known[key] = {**about, **table.as_dict()}
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(dump(known), encoding="utf-8")


def dump(content: Mapping[str, Any]) -> str:
    """Return results as JSON with one row per line."""
    parts = []
    for key, table in content.items():
        lines = [
            f"  {json.dumps(name)}: {json.dumps(table[name], ensure_ascii=False)}" for name in table if name != "rows"
        ]
        rows = ",\n".join("   " + json.dumps(row, ensure_ascii=False) for row in table["rows"])
        parts.append(f" {json.dumps(key)}: {{\n" + ",\n".join([*lines, f'  "rows": [\n{rows}\n  ]']) + "\n }")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def command(argv: Sequence[str]) -> str:
    """Return the command that someone else would type: without folders of this machine, and without ``--record``."""
    given, words = list(argv[1:]), [f"benchmarks/{Path(argv[0]).name}"]
    while given:
        word = given.pop(0)
        if word in ("--tables", "--csv", "--out"):
            given = given[1:]
        elif word != "--record":
            words.append(word)
    return " ".join(words)


def machine(device: str = "cpu") -> str:
    """Return the machine in words: cores, processor and memory, or the GPU."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if device == "cuda":
        import torch

        return f"{torch.cuda.get_device_name()}, {cores} cores"
    model, memory = platform.machine(), ""
    if Path("/proc/cpuinfo").exists():
        found = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
        model = re.sub(r"\(R\)|\(TM\)|CPU|Processor", "", found[1]).strip() if found else model
    if Path("/proc/meminfo").exists():
        found = re.search(r"MemTotal:\s+(\d+) kB", Path("/proc/meminfo").read_text(encoding="utf-8"))
        memory = f", {int(found[1]) / 2**20:.0f} GiB" if found else ""
    return f"{cores} cores, {re.sub(r'  +', ' ', model)}{memory}"


def _plain(cell: Any) -> Any:
    """Return a cell that JSON can hold, with as many digits as anybody needs."""
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, (list, tuple)):
        return [_plain(part) for part in cell]
    number = float(cell)
    return int(number) if number.is_integer() and abs(number) < 2**53 else float(f"{number:.6g}")
