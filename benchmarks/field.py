"""Field: systems in the shapes in which loggers, historians and control systems deliver data, each with a known truth.

    python benchmarks/field.py FOLDER                    every system in the folder
    python benchmarks/field.py FOLDER --only wind,air    some of them
    python benchmarks/field.py FOLDER --why              with errors and differences of each

A system is a folder with data and a ``truth.json``: ``files`` says what each file is, ``reads`` how it should read. The
files are passed to the public functions as an operator would pass them, without any option but the step of files
without times; what is read is compared with the truth. A group of columns is a function from a ``Case`` to cells, in
``GROUPS``.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

import thence as th
from thence.data.readings.durations import parse_duration
from thence.data.readings.steps import own_step

MODELS = (".ttl", ".inp", ".zinc", ".trio", ".json")
BESIDES = ("points", "which", "graph", "calendar", "entity", "device", "column", "register", "district")
"""How the role of a file begins if the file lists points, places or days instead of readings."""
Cells = dict[str, str]


@dataclass
class Case:
    """A system of the folder: its truth, and what reading it gave.

    Args:
        folder: The folder of the system.
        truth: Its ``truth.json``.
        part: The file, of a system whose files are separate loggers.
        why: What went wrong, for ``--why``.
    """

    folder: Path
    truth: Mapping[str, Any]
    part: str = ""
    why: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.folder.name}: {Path(self.part).stem}" if self.part else self.folder.name

    @property
    def reads(self) -> Mapping[str, Any]:
        """How the files should read."""
        whole = self.truth["reads"]
        return {**whole, **whole["files"][self.part]} if self.part else whole

    @property
    def sensors(self) -> list[str]:
        """Where the readings to learn from are."""
        files = [self.part] if self.part else [name for name, role in self.truth["files"].items() if holds(name, role)]
        return [str(self.folder / name) for name in files]

    @property
    def options(self) -> dict[str, str]:
        """The step, where files have no times."""
        known = re.match(r"\w+", str(self.reads.get("step"))) if self.reads.get("time_column", "") is None else None
        return {"step": known[0]} if known else {}

    @cached_property
    def data(self) -> th.SensorData | None:
        """The readings, or ``None`` if they cannot be read."""
        try:
            return th.read_sensors(self.sensors if len(self.sensors) > 1 else self.sensors[0], **self.options)
        except th.errors.ThenceError as error:
            self.why.append(f"{error}".replace("\n", " "))
        return None

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The readings in wide layout."""
        assert self.data is not None
        return self.data.to_polars()

    @cached_property
    def found(self) -> dict[str, str]:
        """The sensor of each expected one that was found."""
        return match([entry["column"] for entry in self.reads["sensors"]], self.data.ids if self.data else ())


def holds(name: str, role: str) -> bool:
    """Return whether a file holds readings to learn from, by its role."""
    model = Path(name).suffix in MODELS or "later" in Path(name).stem
    return not model and not role.startswith(BESIDES)


def match(expected: Iterable[str], ids: Iterable[str]) -> dict[str, str]:
    """Match expected names to ids: the same words, or those of one within the other; columns without names by place."""
    names, left, found = list(expected), list(ids), {}
    if left and all(re.fullmatch(r"column \d+", id) for id in left):
        return dict(zip(names, left, strict=False))
    for same in (
        lambda a, b: a == b,
        lambda a, b: words(a) == words(b),
        lambda a, b: words(a) <= words(b),
        lambda a, b: words(b) < words(a),
    ):
        for name in [name for name in names if name not in found]:
            if id := next((id for id in left if same(name, id)), None):
                found[name] = id
                left.remove(id)
    return found


def words(name: str) -> set[str]:
    return set(re.findall(r"\w+", name.lower().replace("_", " ")))


def starts(case: Case) -> Cells:
    """Whether the files read without an option, and the seconds of the processor."""
    begin = time.process_time()
    ok = case.data is not None
    return {"reads": "yes" if ok else "NO", "s": f"{time.process_time() - begin:.1f}"}


def times(case: Case) -> Cells:
    """The length of windows and the number of rows, beside those expected."""
    if case.data is None:
        return {"step": "", "rows": ""}
    try:
        step = own_step(case.data).every
    except th.errors.ThenceError as error:
        case.why.append(str(error))
        return {"step": "NO", "rows": ""}
    lower, upper = step_of(str(case.reads.get("step", "")))
    right = lower <= step <= upper
    wanted = case.reads.get("rows")
    rows = ""
    if isinstance(wanted, int) and not any(case.reads.get(key) for key in ("long", "interval_table", "sites")):
        own = case.frame.height
        rows = f"{own:,}" + ("" if own == wanted else f" (of {wanted:,})")
    text = own_step(case.data).text
    return {"step": text if right else f"{text} (not {case.reads.get('step')})", "rows": rows}


def step_of(text: str) -> tuple[timedelta, timedelta]:
    """Return the shortest and longest window that make sense, given what the truth says of the step."""
    found = re.findall(r"(?:(\d+) to )?(\d+) ?(min|s|h)\b", text)
    if not found:
        return timedelta(0), timedelta(days=365)
    lengths = [timedelta(microseconds=parse_duration(n + unit)) for low, high, unit in found for n in (low, high) if n]
    loose = "irregular" in text or "intervals" in text
    return (min(lengths) / 5, max(lengths) * 3) if loose else (min(lengths), max(lengths))


def columns(case: Case) -> Cells:
    """Which sensors were found, which are too many, and whether what holds no readings was left out."""
    expected = [entry["column"] for entry in case.reads["sensors"]]
    if case.data is None:
        return {"sensors": f"0/{len(expected)}", "others": "", "left out": ""}
    lost = [name for name in expected if name not in case.found]
    more = [id for id in case.data.ids if id not in case.found.values()]
    others = [entry if isinstance(entry, str) else entry["column"] for entry in case.reads.get("not_sensors", [])]
    kept = [name for name in others if any(words(name) <= words(id) or name == id for id in more)]
    case.why += [f"not found: {lost[:4]}"] * bool(lost) + [f"also read: {more[:6]}"] * bool(more)
    out = f"{len(others) - len(kept)}/{len(others)}" if others else ""
    return {"sensors": f"{len(case.found)}/{len(expected)}", "others": str(len(more) or ""), "left out": out}


def types(case: Case) -> Cells:
    """How many sensors have the type that they should: states are states, all else is numbers."""
    if case.data is None:
        return {"types": ""}
    right = wrong = 0
    for entry in case.reads["sensors"]:
        if id := case.found.get(entry["column"]):
            same = case.data.sensor(id).categorical == (entry["type"] == "state")
            right, wrong = right + same, wrong + (not same)
            if not same:
                case.why.append(f"{id} is no {entry['type']}")
    return {"types": f"{right}/{right + wrong}"}


GROUPS: tuple[Callable[[Case], Cells], ...] = (starts, times, columns, types)
"""The groups of columns; each is given a case, whose readings are read once."""


def cases(folder: Path, only: Iterable[str]) -> Iterator[Case]:
    """Yield the systems of a folder; those whose files are separate loggers once for each."""
    wanted = set(only)
    for path in sorted(folder.glob("*/truth.json")):
        if wanted and path.parent.name not in wanted:
            continue
        truth = json.loads(path.read_text(encoding="utf-8"))
        for part in truth["reads"].get("files", [""]):
            yield Case(path.parent, truth, part)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--only", default="", help="names of systems, with commas")
    parser.add_argument("--why", action="store_true", help="errors and differences of each system")
    given = parser.parse_args()
    rows = []
    for case in cases(given.folder, filter(None, given.only.split(","))):
        rows.append({"system": case.name} | {title: cell for group in GROUPS for title, cell in group(case).items()})
        print(" | ".join(rows[-1].values()), flush=True)
        for why in case.why if given.why else ():
            print(f"    {why}", flush=True)
    print()
    shown = pl.Config(
        tbl_rows=-1, tbl_cols=-1, tbl_width_chars=160, tbl_hide_column_data_types=True, fmt_str_lengths=60
    )
    with shown:
        print(pl.DataFrame(rows))


if __name__ == "__main__":
    main()
