"""What is fuzzed: for each format and option, how a case is made from a seed, and who reads it.

A case is a folder of files. Making one is a function of its number alone; reading one must end in a result or in an
error of Thence.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import xlsxwriter

import thence as th
from tests.fuzz import samples
from tests.fuzz.mutations import Chance, mutate, nasty, odd_value
from tests.fuzz.samples import Files
from tests.fuzz.signing import sign

OPTIONS = "options.json"
CASES = Path(__file__).parent / "cases"


@dataclass(frozen=True)
class Target:
    """One kind of input.

    Args:
        share: Cases of this target in ten thousand.
        seeds: The valid cases.
        read: Reads a case in a folder; what it raises is judged.
        make: Makes a case from a seed; by default one or two of its files are mutated.
        fixed: Names of files that are never mutated.
        kept: Folders of cases that are read as they are.
        signed: Whether checksums are made to fit again after the change.
    """

    share: int
    seeds: Callable[[], list[Files]]
    read: Callable[[Path], Any]
    make: Callable[[Files, Chance], Files] | None = None
    fixed: tuple[str, ...] = ()
    kept: tuple[Path, ...] = ()
    signed: bool = False

    def case(self, name: str, number: int) -> Files:
        """Return the files of a case."""
        if self.kept:
            return {path.name: path.read_bytes() for path in sorted(self.kept[number].iterdir())}
        chance = random.Random(f"{name} {number}")
        files = dict(chance.choice(self.seeds()))
        if self.make is not None:
            return self.make(files, chance)
        for _ in range(chance.choice((1, 1, 1, 2))):
            file = chance.choice([file for file in files if file not in self.fixed])
            if chance.random() < 0.02:
                files[file] = b""
            elif len(files) > 1 and chance.random() < 0.04:
                del files[file]
                break
            else:
                files[file] = mutate(files[file], file.rpartition(".")[2], chance)
        return sign(files) if self.signed else files


def _only(folder: Path) -> Path:
    return next(path for path in sorted(folder.iterdir()) if path.name != OPTIONS)


def _use(data: th.SensorData) -> None:
    """Do with readings what every command does first: describe them and make windows of them."""
    repr(data), str(data.report), data.span, data.describe()
    if 0 < len(data.sensors) <= 200:
        th.transactions(data, windows="auto", bins=3)


def _read_sensors(folder: Path) -> None:
    source = _only(folder)
    on_error: Any = "repair" if source.stat().st_size % 2 else "raise"
    _use(th.read_sensors(source, on_error=on_error))


def _parquet(files: Files, chance: Chance) -> Files:
    """A file damaged, or a frame of odd types written well."""
    if chance.random() < 0.4:
        return {"a.parquet": mutate(files["a.parquet"], "parquet", chance)}
    count = chance.choice((0, 1, 3, 40))
    times: list[Any] = [datetime(2024, 1, 1) + timedelta(hours=hour) for hour in range(count)]
    series = [pl.Series("time", times, dtype=pl.Datetime(chance.choice(("ms", "us", "ns"))))]
    act = chance.randrange(8)
    if act == 0:
        zone = chance.choice(("UTC", "Europe/Amsterdam", "Asia/Kolkata", "America/St_Johns"))
        series = [series[0].dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null")]
    elif act == 1 and count:
        span = chance.choice((2**62, -(2**62), 10**15, 2**40))
        series = [pl.Series("time", [span + k for k in range(count)]).cast(pl.Datetime(chance.choice(("ms", "us"))))]
    elif act == 2:
        series = [pl.Series("time", [time.date() for time in times], dtype=pl.Date)]
    elif act == 3:
        series = [pl.Series("time", [nasty(chance)[:500] for _ in times], dtype=pl.String)]
    elif act == 4:
        series = [
            pl.Series("time", [chance.choice((1.7e9, 0.0, float("nan"), -1e30)) for _ in times], dtype=pl.Float64)
        ]
    kinds: list[Callable[[str], pl.Series]] = [
        lambda name: pl.Series(
            name, [chance.choice((1.5, float("nan"), float("inf"), None)) for _ in times], dtype=pl.Float64
        ),
        lambda name: pl.Series(name, [chance.choice((2**63, 1, 0)) for _ in times], dtype=pl.UInt64),
        lambda name: pl.Series(name, [nasty(chance)[:1_000] for _ in times], dtype=pl.String),
        lambda name: pl.Series(name, [b"\xff\x00" for _ in times], dtype=pl.Binary),
        lambda name: pl.Series(name, [[1, 2] for _ in times], dtype=pl.List(pl.Int64)),
        lambda name: pl.Series(name, [{"a": 1} for _ in times], dtype=pl.Struct({"a": pl.Int64})),
        lambda name: pl.Series(name, [timedelta(hours=1) for _ in times], dtype=pl.Duration("us")),
        lambda name: pl.Series(name, [date(2024, 1, 1) for _ in times], dtype=pl.Date),
        lambda name: pl.Series(name, [True for _ in times], dtype=pl.Boolean),
        lambda name: pl.Series(name, [None for _ in times], dtype=pl.Null),
        lambda name: pl.Series(name, ["a" for _ in times], dtype=pl.Categorical),
        lambda name: pl.Series(name, [1 for _ in times], dtype=pl.Decimal(20, 3)),
        lambda name: pl.Series(name, [datetime(2024, 1, 1, tzinfo=UTC) for _ in times], dtype=pl.Datetime("us", "UTC")),
    ]
    names = ["a", "b", nasty(chance)[:2_000], "sensor", "value"]
    for name in chance.sample(names, chance.randrange(1, 5)):
        if name not in [column.name for column in series]:
            series.append(chance.choice(kinds)(name))
    chance.shuffle(series)
    out = io.BytesIO()
    pl.DataFrame(series).write_parquet(out)
    data = out.getvalue()
    return {"a.parquet": mutate(data, "parquet", chance) if chance.random() < 0.2 else data}


def _workbook(files: Files, chance: Chance) -> Files:
    """A workbook with damaged parts, or one of odd cells written well."""
    if chance.random() < 0.7:
        return {"a.xlsx": mutate(files["a.xlsx"], "xlsx", chance)}
    out = io.BytesIO()
    with xlsxwriter.Workbook(out, {"in_memory": True, "default_date_format": "yyyy-mm-dd hh:mm"}) as book:
        for sheet in [book.add_worksheet() for _ in range(chance.choice((1, 1, 2)))]:
            for row in range(chance.choice((0, 1, 2, 12))):
                for column in range(chance.choice((1, 3, 4))):
                    cell: Any = chance.choice(
                        (
                            *(True, 1.5, -3, "text", datetime(2024, 1, 1, row), date(2024, 1, 1), timedelta(hours=30)),
                            *("time", nasty(chance)[:30_000], datetime(1900, 1, 1), None),
                        )
                    )
                    if row == 0:
                        cell = ("time", "a", "b", nasty(chance)[:100])[column]
                    elif column == 0 and chance.random() < 0.8:
                        cell = datetime(2024, 1, 1, row)
                    if isinstance(cell, str):
                        sheet.write_string(row, column, cell)
                    else:
                        sheet.write(row, column, cell)
            if chance.random() < 0.1:
                sheet.write_number(chance.choice((5_000, 1_048_575)), chance.choice((3, 200, 16_383)), 1)
    return {"a.xlsx": out.getvalue()}


def _read_options(folder: Path) -> None:
    _use(th.read_sensors(folder / "a.csv", **json.loads((folder / OPTIONS).read_bytes())))


_OPTION_NAMES = (
    *("layout", "time", "sensor", "value", "separator", "decimal", "header", "encoding", "time_format", "timezone"),
    *("sheet", "kinds", "units", "kind_pattern", "categorical", "numeric", "ignore", "missing", "name", "on_error"),
    "max_loss",
)


def _options(files: Files, chance: Chance) -> Files:
    words = (
        "p1_flow",
        "flow",
        "time",
        "v1_state",
        "long",
        "wide",
        "UTC",
        ",",
        "%Y-%m-%d",
        "(",
        r"_(?P<kind>\w+)$",
        "{kind}",
    )
    given: dict[str, Any] = {}
    for name in chance.sample(_OPTION_NAMES, chance.choice((1, 1, 2, 3))):
        given[name] = chance.choice(
            (odd_value(chance), chance.choice(words), {chance.choice(words): odd_value(chance)})
        )
    return {**files, OPTIONS: json.dumps(given).encode()}


def _read_graph(folder: Path) -> None:
    source = (
        folder / "nodes.csv" if (folder / "edges.csv").exists() or (folder / "nodes.csv").exists() else _only(folder)
    )
    graph = th.read_graph(source)
    repr(graph), graph._repr_html_()


def _read_ontology(folder: Path) -> None:
    ontology = th.read_ontology(_only(folder))
    repr(ontology)
    for name in list(ontology.classes)[:20]:
        ontology.ancestors(name)


def _read_binding(folder: Path) -> None:
    repr(th.read_binding(next(path for path in sorted(folder.iterdir()) if path.stem == "binding")))


def _read_system(folder: Path) -> None:
    repr(th.read_system(sensors=folder / "a.csv", graph=folder / "nodes.csv", binding=folder / "binding.csv"))


def _read_configuration(folder: Path) -> None:
    th.Config.from_toml(folder / "job.toml").to_toml()


def _read_rules(folder: Path) -> None:
    rules = th.read_rules(_only(folder))
    repr(rules), str(rules), rules.to_polars()


def _read_run(folder: Path) -> None:
    run = th.load_run(folder)
    repr(run), run._repr_html_()
    for command in (["show", str(folder)], ["show", str(folder), "--json"]):
        _run_command(command)


def _read_table(folder: Path) -> None:
    table = th.TransactionTable.load(_only(folder))
    repr(table), table.features
    th.Exact(max_antecedents=1, min_support=0.1, min_confidence=0.5).mine(table)


def _read_detector(folder: Path) -> None:
    found = th.Detector.load(_only(folder))
    repr(found), found.describe()
    detection = found.detect(samples.later())
    json.dumps(detection.to_dict(), allow_nan=False)


def _read_detection(folder: Path) -> None:
    from thence.show.reports.at_work import read_detected

    json.dumps(read_detected(_only(folder)), allow_nan=False)


def _read_applied(folder: Path) -> None:
    from thence.show.reports.at_work import read_applied

    json.dumps(read_applied(folder), allow_nan=False)


def _read_repeat(folder: Path) -> None:
    from thence.lab.experiments.results import ResultStore

    path = ResultStore(folder).path("arm-ae", "hanoi", 3)
    path.parent.mkdir(parents=True)
    _only(folder).rename(path)
    ResultStore(folder).load("arm-ae", "hanoi", 3, samples.REPEAT)


def _read_model(folder: Path) -> None:
    from thence.search.aerial.model import AerialModel

    repr(AerialModel.load(folder).loss)


class CommandFailedError(Exception):
    """A command ended in another way than a command may."""


def _run_command(arguments: list[str]) -> None:
    """Run a command in this process; anything but success, a line of error or a wrong option is a defect."""
    from thence.cli.app import app

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = app(arguments, standalone_mode=True)
        except SystemExit as end:
            code = end.code
    if "Traceback" in err.getvalue() or code not in (0, 1, 2, None):
        raise CommandFailedError(f"exit {code}: {err.getvalue()[-500:]}")
    if "\x1b" in out.getvalue() + err.getvalue():
        raise CommandFailedError("an escape sequence reached the terminal")
    if len(err.getvalue()) > LONGEST_MESSAGE:
        raise CommandFailedError(f"a message of {len(err.getvalue())} characters: {err.getvalue()[:200]}")


LONGEST_MESSAGE = 5_000
_COMMANDS: tuple[tuple[str, ...], ...] = (
    ("check", "--dataset", "toy", "--windows", "1h"),
    ("check", "JOB"),
    ("mine", "--dataset", "toy", "--windows", "1h", "--bins", "3", "--no-report", "--out", "OUT"),
    ("show", "RUN"),
    ("show", "RUN", "--by", "lift"),
    ("export", "RUN", "--to", "OUT.csv"),
    ("review", "RUN", "--accept", "1"),
    ("review", "RUN"),
    ("datasets",),
    ("report", "RUN", "--out", "OUT.html"),
)
_FLAGS = (
    *("--top", "--by", "--bound", "--min-support", "--min-confidence", "--max-antecedents", "--bins", "--windows"),
    *("--start", "--end", "--select", "--derive", "--enrich", "--hops", "--method", "--bin-edges", "--miner", "--set"),
    *("--seed", "--digest", "--assurance", "--significance", "--cover", "--feature", "--kind", "--option", "--format"),
    *("--read-sensors", "--units", "--kinds", "--pattern", "--origin", "--empty", "--aggregate", "--consequent"),
    *("--antecedent", "--scope", "--towards", "--fit-until", "--max-embeddings", "--note", "--reject", "--reviewed"),
)
_ARGUMENTS = (
    *("0", "-1", "-5", "nan", "inf", "1e400", "1e9", "100000", "9" * 40, "", " ", "a", "a=b", "a=", "=", "a=nan"),
    *("a=[", "x" * 9_000, "min_lift=nan", "max_lift=-1", "1h", "0s", "-1h", "999999999d", "1ns", "1y", "2024-01-01"),
    *("0001-01-01", "9999-12-31", "lifted", "exact", "aerial", "entropy", "no-such", "../../x", "/", "\x1b[31m"),
    *("\u202e", "é", "(p)-[r]->(q)", "{0}", "%s", "flow=[10,20]", "flow=[1e400]", "flow=[20,10]", "lag:1h", "lag:0"),
    *("within:1h", "hour", "pressure > 3", "='", "🙂"),
)


def _command(files: Files, chance: Chance) -> Files:
    arguments = list(chance.choice(_COMMANDS))
    for _ in range(chance.choice((1, 1, 2, 3))):
        arguments += [chance.choice(_FLAGS), chance.choice(_ARGUMENTS)]
    if chance.random() < 0.1:
        arguments[chance.randrange(len(arguments))] = nasty(chance)[:5_000].replace("\x00", "")
    return {**files, OPTIONS: json.dumps(arguments).encode()}


def _read_command(folder: Path) -> None:
    arguments = json.loads((folder / OPTIONS).read_bytes())
    (folder / "job.toml").write_text(samples.CONFIGURATION, encoding="utf-8")
    places = {"RUN": folder, "JOB": folder / "job.toml", "OUT": folder / "out", "OUT.csv": folder / "out.csv"}
    places["OUT.html"] = folder / "out.html"
    _run_command([str(places.get(argument, argument)) for argument in arguments])


def _plain(**files: bytes | str) -> list[Files]:
    return [{name.replace("__", "."): text.encode() if isinstance(text, str) else text for name, text in files.items()}]


def _graph_tables() -> list[Files]:
    return _plain(nodes__csv=samples.NODES, edges__csv=samples.EDGES, values__csv=samples.VALUES)


def _run_seeds() -> list[Files]:
    return [samples.run_folder()]


TARGETS: dict[str, Target] = {
    "csv": Target(
        2_200,
        lambda: [
            {"a.csv": text.encode()}
            for text in (samples.WIDE, samples.WIDE, samples.LONG, samples.EUROPEAN, samples.TITLED)
        ],
        _read_sensors,
    ),
    "parquet": Target(900, lambda: [{"a.parquet": samples.parquet()}], _read_sensors, make=_parquet),
    "excel": Target(600, lambda: [{"a.xlsx": samples.workbook()}], _read_sensors, make=_workbook),
    "reader options": Target(500, lambda: _plain(a__csv=samples.WIDE), _read_options, make=_options, fixed=("a.csv",)),
    "graph json": Target(
        500,
        lambda: [{"g.json": samples.as_json(graph)} for graph in (samples.PROPERTY_GRAPH, samples.NODE_LINK)],
        _read_graph,
    ),
    "graphml": Target(500, lambda: _plain(g__graphml=samples.GRAPHML), _read_graph),
    "graph csv": Target(500, _graph_tables, _read_graph),
    "turtle": Target(600, lambda: _plain(g__ttl=samples.TURTLE), _read_graph),
    "rdf xml": Target(400, lambda: _plain(g__rdf=samples.RDF_XML), _read_graph),
    "json-ld": Target(400, lambda: [{"g.jsonld": samples.as_json(samples.JSON_LD)}], _read_graph),
    "epanet": Target(500, lambda: _plain(net__inp=samples.EPANET), _read_graph),
    "ontology": Target(
        600,
        lambda: [*_plain(o__toml=samples.ONTOLOGY_TOML), *_plain(o__ttl=samples.ONTOLOGY_TURTLE)],
        _read_ontology,
    ),
    "binding": Target(
        500,
        lambda: [
            *_plain(binding__csv=samples.BINDING),
            {"binding.json": samples.as_json({"p1_flow": "p1", "j1_pressure": "j1"})},
            *_plain(binding__ttl=samples.TURTLE),
        ],
        _read_binding,
    ),
    "system": Target(
        200,
        lambda: [{**_graph_tables()[0], "a.csv": samples.WIDE.encode(), "binding.csv": samples.BINDING.encode()}],
        _read_system,
    ),
    "configuration": Target(500, lambda: _plain(job__toml=samples.CONFIGURATION), _read_configuration),
    "rules": Target(
        500, lambda: [{f"r.{suffix}": samples.rules_in(suffix)} for suffix in ("json", "parquet")], _read_rules
    ),
    "run": Target(300, _run_seeds, _read_run),
    "table": Target(
        300, lambda: [{"t.npz": samples.saved_table(enrich)} for enrich in ("grounded", "lifted")], _read_table
    ),
    "signed run": Target(300, _run_seeds, _read_run, fixed=("manifest.json",), signed=True),
    "signed table": Target(
        200,
        lambda: [{"t.npz": samples.saved_table(enrich)} for enrich in ("grounded", "lifted")],
        _read_table,
        signed=True,
    ),
    "signed detector": Target(200, lambda: [{"d.json": samples.detector()}], _read_detector, signed=True),
    "signed detection": Target(100, lambda: [{"d.json": samples.detection()}], _read_detection, signed=True),
    "signed result": Target(
        150, lambda: [samples.applied_folder()], _read_applied, fixed=("manifest.json",), signed=True
    ),
    "signed repeat": Target(100, lambda: [{"r.json": samples.repeat()}], _read_repeat, signed=True),
    "signed model": Target(100, lambda: [samples.model_folder()], _read_model, fixed=("manifest.json",), signed=True),
    "command": Target(200, _run_seeds, _read_command, make=_command),
}


def _take_long(folder: Path) -> None:
    while True:
        pass


def _take_memory(folder: Path) -> None:
    blocks = [b"x" * (64 << 20) for _ in range(40)]
    time.sleep(600)
    del blocks


def _end(folder: Path) -> None:
    os.abort()


def _raise(folder: Path) -> None:
    {}["missing"]


def _tell_too_much(folder: Path) -> None:
    error = th.errors.InputError("x")
    error.message = "x" * 10_000
    raise error


# Readers that do what none may do: the watch has to see each.
MISBEHAVED = {
    f"a reader that gives {kind}": Target(0, lambda: [{"a.txt": b""}], read)
    for kind, read in (
        *(("hang", _take_long), ("memory", _take_memory), ("died", _end), ("foreign", _raise)),
        ("message", _tell_too_much),
    )
}
KEPT = "kept "


def find(name: str) -> Target:
    """Return a target by its name; ``kept csv`` has the cases of ``csv`` in the folder ``cases``, as they are."""
    if name.startswith(KEPT):
        target = TARGETS[name.removeprefix(KEPT)]
        folders = sorted(path for path in (CASES / slug(name.removeprefix(KEPT))).iterdir() if path.is_dir())
        return replace(target, make=None, kept=tuple(folders))
    return MISBEHAVED[name] if name in MISBEHAVED else TARGETS[name]


def slug(name: str) -> str:
    """Return the name of a target as that of a folder."""
    return name.replace(" ", "-")


def kept_jobs() -> list[tuple[str, int, int]]:
    """Return the jobs that read all cases that were kept."""
    counts = {name: len(find(KEPT + name).kept) for name in TARGETS if (CASES / slug(name)).is_dir()}
    return [(KEPT + name, 0, count) for name, count in counts.items()]


def plan(cases: int) -> list[tuple[str, int, int]]:
    """Return target, first and last number (excluded) of so many cases in all, by their shares."""
    whole = sum(target.share for target in TARGETS.values())
    counts = {name: max(cases * target.share // whole, 1) for name, target in TARGETS.items()}
    counts["csv"] += cases - sum(counts.values())
    return [(name, 0, count) for name, count in counts.items()]
