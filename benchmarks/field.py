"""Field: systems in the shapes in which loggers, historians and control systems deliver data, each with a known truth.

    python benchmarks/field.py FOLDER                    every system in the folder
    python benchmarks/field.py FOLDER --only wind,air    some of them
    python benchmarks/field.py FOLDER --why              with errors and differences of each

A system is a folder with data and a ``truth.json``: ``files`` says what each file is, ``reads`` how it should read. The
files are passed to the public functions as an operator would pass them, without any option but the step of files
without times; what is read and what is reported is compared with the truth. A group of columns is a function from a
``Case`` to cells, in ``GROUPS``.

An expected statement counts as found if one of the run names its sensors, or has words of its sentence where it holds
at several places, and all its constants within their tolerance. Whether a forbidden one was reported has to be read:
``--why`` lists the sentences.
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
from thence.data.readings.directions import is_direction
from thence.data.readings.durations import parse_duration
from thence.data.readings.sensors import Sensor
from thence.data.readings.steps import own_step
from thence.statements.controls.sentences import format_controls, group_controls

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

    @property
    def models(self) -> list[str]:
        """Files that say where the sensors are: models, and lists of points and places."""
        roles = self.truth["files"]
        lists = ("points", "which", "graph", "entity", "device", "column", "register")
        return [
            str(self.folder / name)
            for name, role in roles.items()
            if not self.part and Path(name).suffix != ".txt" and (name.endswith(MODELS) or role.startswith(lists))
        ]

    @cached_property
    def run(self) -> th.Run | None:
        """What mining gives with nothing but the files, or ``None`` if it fails."""
        graph = self.models if len(self.models) != 1 else self.models[0]
        readings: list[str] | str = self.sensors if len(self.sensors) > 1 else self.sensors[0]
        try:
            if self.reads.get("sites"):
                pairs = [
                    (one, model) for one in self.sensors for model in self.models if Path(one).stem == Path(model).stem
                ]
                sites = [th.read_system(one, model, name=Path(one).stem) for one, model in pairs]
                return th.mine(sites, progress="off")
            return th.mine(readings, graph or None, progress="off", read_sensors=self.options)
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
    """How many sensors have the type that they should, and whether the time zone and missing readings are right."""
    if case.data is None:
        return {"types": "", "zone": "", "missing": ""}
    right = wrong = 0
    for entry in case.reads["sensors"]:
        if id := case.found.get(entry["column"]):
            same = READS_AS[entry["type"]](case.data, case.data.sensor(id))
            right, wrong = right + same, wrong + (not same)
            if not same:
                case.why.append(f"{id} is no {entry['type']}")
    return {"types": f"{right}/{right + wrong}", "zone": zone_of(case), "missing": missing_of(case)}


READS_AS: Mapping[str, Callable[[th.SensorData, Sensor], bool]] = {
    "number": lambda data, sensor: not sensor.categorical and sensor.id not in data.readings.counters,
    "state": lambda data, sensor: sensor.categorical,
    "setpoint": lambda data, sensor: not sensor.categorical,
    "counter": lambda data, sensor: sensor.id in data.readings.counters,
    "angle": lambda data, sensor: is_direction(sensor),
}
"""What each type of the truth means for a sensor."""


def zone_of(case: Case) -> str:
    """The time zone, where the truth names one: an IANA name, or a fixed offset."""
    wanted = str(case.reads.get("time_zone") or "")
    found = re.search(r"UTC([+-]\d\d):00$", wanted)
    name = f"Etc/GMT{-int(found[1]):+d}" if found else wanted if "/" in wanted else ""
    assert case.data is not None
    return "" if not name else "yes" if case.data.timezone == name else f"NO ({case.data.timezone or 'none'})"


def missing_of(case: Case) -> str:
    """How many sensors have the share of missing readings that the truth gives, to one in a thousand."""
    shares = case.reads.get("missing_share")
    if not isinstance(shares, Mapping):
        return ""
    right = sum(
        abs(case.frame[case.found[name]].null_count() / case.frame.height - share) < 0.001
        for name, share in shares.items()
        if name in case.found
    )
    return f"{right}/{len(shares)}"


CONSTANTS = (
    "on", "off", "on_below", "off_above", "on_above", "off_below", "slope", "intercept", "constant",
    "constants", "value", "cut_in", "rated",
)  # fmt: skip
NUMBER = re.compile(r"(\d\d:\d\d)|([-−]?\d[\d,]*(?:\.\d+)?)")


def numbers_of(value: Any) -> Iterator[float]:
    """Yield the numbers of a text, a list or a number; a time of day in minutes."""
    if isinstance(value, (int, float)):
        yield float(value)
    elif isinstance(value, str):
        for clock, number in NUMBER.findall(value):
            hours, _, minutes = clock.partition(":")
            yield 60.0 * int(hours) + int(minutes) if clock else float(number.replace("−", "-").replace(",", ""))
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from numbers_of(one)
    elif isinstance(value, dict):
        yield from numbers_of(list(value.values()))


def is_near(number: float, wanted: float, tolerance: Any) -> bool:
    """Whether a printed number is a constant or its reciprocal, within the tolerance of the truth."""
    text = str(tolerance)
    size = next(iter(numbers_of(text)), 0.05)
    if "step" in text or "min" in text or "exact" in text:
        return abs(number - wanted) <= 61 if wanted > 24 else number == wanted
    if "%" in text:
        share = size / 100
        return any(abs(number - one) <= share * abs(one) for one in (wanted, 1 / wanted if wanted else 0.0))
    return abs(number - wanted) <= size + 1e-9


@dataclass(frozen=True)
class Said:
    """A sentence of a run with the texts that it is found by; start and stop of an actuator are one sentence."""

    kind: str
    sentence: str
    texts: str


def sentences_of(run: th.Run) -> list[Said]:
    """The sentences of a run."""
    controls = list(run.controls or ())
    out = [
        Said("control", line, " ".join(str(text) for at in group for text in controls[at].search_texts))
        for line, group in zip(format_controls(controls, counts=False), group_controls(controls), strict=True)
    ]
    for one in run.findings:
        if one.kind != "control":
            sensors = [id for place in getattr(one, "by_place", ()) for id in place.sensors]
            out.append(Said(one.kind, one.sentence(), " ".join([*map(str, one.search_texts), *sensors])))
    return out


def is_found(entry: Mapping[str, Any], case: Case, statement: Said) -> bool:
    """Whether a statement says what is expected: its sensors, and its constants where they could be seen."""
    said = f"{statement.sentence} {statement.texts}"
    names = [id for column, id in case.found.items() if column in entry["sentence"]]
    named = names and sum(words(name) <= words(said) for name in names) >= min(2, len(names))
    shared = words(entry["sentence"]) & words(said) - {"the", "of", "is", "a", "its", "at", "in", "and"}
    low, high = entry.get("x_seen", (-float("inf"), float("inf")))
    corners = [point for point in entry.get("points", ()) if low <= point[0] <= high]
    constants = [*numbers_of(corners), *(one for key in CONSTANTS for one in numbers_of(entry.get(key)))]
    told = list(numbers_of(statement.sentence))
    # A slope is printed without its sign: "falls by 0.33 K per K".
    known = all(any(is_near(one, abs(wanted), entry.get("tolerance")) for one in told) for wanted in constants)
    # A law of a class of places names kinds instead of sensors.
    return known and bool(named or (statement.kind == "law" and len(shared) >= (2 if constants else 3)))


def findings(case: Case) -> Cells:
    """How many statements were reported, and how many of those that an engineer expects are among them."""
    begin = time.process_time()
    run = case.run
    if run is None:
        return {"mines": "NO", "mine s": "", "reported": "", "expected": ""}
    statements = sentences_of(run)
    expected = [entry for entry in case.truth.get("expected", []) if entry["kind"] not in ("note", "range")]
    lost = [entry for entry in expected if not any(is_found(entry, case, one) for one in statements)]
    case.why += [f"missed: {entry['sentence']}" for entry in lost]
    case.why += [f"{one.kind}: {one.sentence}" for one in statements]
    kinds = "+".join(str(sum(one.kind == kind for one in statements)) for kind in ("control", "law", "rule"))
    return {
        "mines": run.config.enrich.mode if case.models else "plain",
        "mine s": f"{time.process_time() - begin:.0f}",
        "reported": kinds,
        "expected": f"{len(expected) - len(lost)}/{len(expected)}",
    }


GROUPS: tuple[Callable[[Case], Cells], ...] = (starts, times, columns, types, findings)
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
