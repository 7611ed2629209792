"""Whole experiments in quick mode with two repeats: on the toy data set, on a configuration file, and on Hanoi."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from thence import datasets
from thence.errors import ConfigError, RunError
from thence.lab.experiments import experiment_names, read_experiment, report, reproduce
from thence.lab.experiments.figures import build_picture
from thence.lab.experiments.runner import Reproduction, _format_time_left
from thence.lab.experiments.samples import identify_data, load_data


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    """All experiments on the toy data set."""
    out = tmp_path_factory.mktemp("toy")
    return reproduce("all", dataset="toy", repeats=2, quick=True, out=out, progress="off")


def stored(folder: Path) -> list[Path]:
    return sorted(folder.glob("repeats/*/*/*.json"))


def test_every_experiment_writes_tables(toy: Reproduction) -> None:
    assert tuple(toy.results) == experiment_names()
    for name in experiment_names():
        written = {path.name for path in (toy.folder / name).iterdir()}
        assert "table.md" in written
        assert written & {"table.csv", "times.csv"}
        if name == "1.2":
            assert "table.csv" not in written


def test_a_procedure_of_several_experiments_runs_once(toy: Reproduction) -> None:
    procedures = {path.parent.parent.name for path in stored(toy.folder)}
    assert procedures == {one for name in experiment_names() for one in read_experiment(name).work}
    assert len(stored(toy.folder)) == 2 * len(procedures)


def test_table_has_means_over_both_repeats(toy: Reproduction) -> None:
    with (toy.folder / "1.1" / "table.csv").open() as file:
        rows = [r for r in csv.DictReader(file) if r["row"] == "Aerial wo-s" and r["metric"] == "rules"]
    files = [json.loads(path.read_text()) for path in sorted((toy.folder / "repeats" / "semantics" / "toy").iterdir())]
    values = [
        record["values"]["rules"]
        for data in files
        for record in data["records"]
        if (record["row"], record["variant"]) == ("Aerial wo-s", "corrected")
    ]
    assert len(values) == 2
    assert float(rows[0]["corrected_mean"]) == pytest.approx(sum(values) / 2)
    assert rows[0]["corrected_repeats"] == "2"


def test_rows_of_claims_exist(toy: Reproduction) -> None:
    """A claim about a row that no procedure yields could never be checked."""
    for name, results in toy.results.items():
        rows = {row for row, _ in results.keys("toy")}
        for claim in read_experiment(name).claims:
            assert {*claim.left_rows, *claim.right_rows} <= rows, (name, claim.id)


def test_rows_of_published_numbers_exist(toy: Reproduction) -> None:
    for name, results in toy.results.items():
        rows = {row for row, _ in results.keys("toy")}
        assert {line.row for line in read_experiment(name).published} <= rows, name


def test_corrected_rules_have_no_static_consequents(toy: Reproduction) -> None:
    for results in toy.results.values():
        for (_, variant, _, metric), cell in results.cells.items():
            if variant in ("corrected", "lifted") and metric == "static_consequents":
                assert set(cell.values.values()) == {0.0}


def test_page_is_self_contained(toy: Reproduction) -> None:
    text = toy.page.read_text(encoding="utf-8")
    assert "Experiment 2.2" in text
    assert '<svg id="figure-1-2"' in text
    # Nothing is loaded from elsewhere: there are no scripts, and all links point into the page.
    assert "<script" not in text
    assert not re.search(r"(src|href)=[\"'](?!#)", text)
    assert not re.search(r"url\((?!#)", text)
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert (toy.folder / "1.2" / "figure.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert (toy.folder / "1.2" / "figure.pdf").read_bytes().startswith(b"%PDF")


def test_a_table_of_one_row_has_no_figure(toy: Reproduction) -> None:
    assert build_picture(toy.results["6"]) is not None
    one = {key: cell for key, cell in toy.results["6"].cells.items() if key[2][0] == "ARM-AE"}
    assert build_picture(replace(toy.results["6"], cells=one)) is None


def test_settings_are_no_json(toy: Reproduction) -> None:
    text = re.sub(r"<(style|svg).*?</\1>", "", toy.page.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert "{" not in text
    assert "[" not in text


def test_deleted_repeats_are_run_again_with_the_same_numbers(toy: Reproduction) -> None:
    """A resumed run has the numbers of an uninterrupted one."""
    assert len(list(toy.folder.glob("*/table.csv"))) == len(experiment_names()) - 1
    some = ("3", "6")
    works = {work for name in some for work in read_experiment(name).work}
    own = [path for path in stored(toy.folder) if path.parent.parent.name in works]
    before = {toy.folder / name / "table.csv": (toy.folder / name / "table.csv").read_bytes() for name in some}
    for path in (*own[::2], *before):
        path.unlink()
    untouched = {path: path.stat().st_mtime_ns for path in stored(toy.folder)}
    reproduce(some, dataset="toy", repeats=2, quick=True, out=toy.folder, progress="off")
    assert {path: path.read_bytes() for path in before} == before
    assert {path: path.stat().st_mtime_ns for path in untouched} == untouched


def test_several_processes_give_the_same_table(toy: Reproduction, tmp_path: Path) -> None:
    calls: list[tuple[str, float, float]] = []

    def tell(stage: str, done: float, total: float, note: str = "") -> None:
        calls.append((stage, done, total))

    reproduce("6", dataset="toy", repeats=2, quick=True, out=tmp_path, jobs=2, progress=tell)
    assert (tmp_path / "6" / "table.csv").read_bytes() == (toy.folder / "6" / "table.csv").read_bytes()
    assert ("repeats", 2, 2) in calls


def test_repeats_with_other_parameters_are_refused(toy: Reproduction) -> None:
    with pytest.raises(RunError, match=r"likeness was 0\.8, is 0\.5"):
        reproduce("6", dataset="toy", repeats=2, quick=True, out=toy.folder, parameters={"likeness": 0.5})


def test_report_runs_nothing(toy: Reproduction, tmp_path: Path) -> None:
    before = stored(toy.folder)
    made = report(toy.folder, experiment="2.2", dataset="toy", quick=True, progress="off")
    assert stored(toy.folder) == before
    assert made.results["2.2"].repeats == {"toy": 2}
    with pytest.raises(RunError, match="no repeats of these experiments"):
        report(tmp_path)


def test_data_of_a_configuration_file(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text('[input]\ndataset = "toy"\n[windows]\nevery = "1h"\n')
    made = reproduce("3", dataset=str(mine), repeats=1, quick=True, out=tmp_path / "out", progress="off")
    assert made.results["3"].repeats == {str(mine): 1}
    assert (tmp_path / "out" / "repeats" / "thresholds" / "mine" / "000.json").is_file()
    mine.write_text('[input]\ndataset = "toy"\n[windows]\nevery = "2h"\n')
    with pytest.raises(RunError, match="window was 1h, is 2h"):
        reproduce("3", dataset=str(mine), repeats=1, quick=True, out=tmp_path / "out", progress="off")


def own_files(folder: Path, readings: str = "r.csv") -> Path:
    """Write the toy data set to files with a configuration; return the configuration file."""
    data = datasets.load("toy")
    data.sensors.to_polars().write_csv(folder / readings)
    (folder / "g.json").write_text(json.dumps(data.graph.to_dict()))
    pl.DataFrame({"sensor": list(data.binding), "node": list(data.binding.values())}).write_csv(folder / "b.csv")
    mine = folder / "mine.toml"
    mine.write_text(f'[input]\nsensors = "{readings}"\ngraph = "g.json"\nbinding = "b.csv"\n[windows]\nevery = "1h"\n')
    return mine


def test_changed_readings_are_other_data(tmp_path: Path) -> None:
    """Only the configuration file was compared: repeats of the old readings were returned for the new ones."""
    mine = own_files(tmp_path)
    reproduce("3", dataset=str(mine), repeats=1, quick=True, out=tmp_path / "out", progress="off")
    before = (tmp_path / "out" / "3" / "table.csv").read_text()
    reproduce("3", dataset=str(mine), repeats=1, quick=True, out=tmp_path / "out", progress="off")
    readings = pl.read_csv(tmp_path / "r.csv")
    rng = np.random.default_rng(0)
    shuffled = {name: rng.permutation(readings[name].to_numpy()) for name in readings.columns[1:]}
    readings.with_columns(**{name: pl.Series(values) for name, values in shuffled.items()}).write_csv(
        tmp_path / "r.csv"
    )
    with pytest.raises(RunError, match=r"other settings: options\.sensors was \w+, is \w+ "):
        reproduce("3", dataset=str(mine), repeats=1, quick=True, out=tmp_path / "out", progress="off")
    # The old readings are not in the cache either.
    reproduce("3", dataset=str(mine), repeats=1, quick=True, out=tmp_path / "new", progress="off")
    assert (tmp_path / "new" / "3" / "table.csv").read_text() != before


def test_a_changed_configuration_is_read_again_in_the_same_process(tmp_path: Path) -> None:
    """Data were cached by the name of the file only: a new window gave the numbers of the old one."""
    mine = own_files(tmp_path)
    one = reproduce("3", dataset=str(mine), repeats=1, quick=True, out=tmp_path / "one", progress="off")
    mine.write_text(mine.read_text().replace("1h", "3h"))
    two = reproduce("3", dataset=str(mine), repeats=1, quick=True, out=tmp_path / "two", progress="off")
    tables = [(made.folder / "3" / "table.csv").read_text() for made in (one, two)]
    assert tables[0] != tables[1]


def test_data_that_change_during_a_run_are_refused(tmp_path: Path) -> None:
    mine = own_files(tmp_path)
    planned = identify_data(str(mine))
    assert load_data(str(mine), False, planned) is load_data(str(mine), False, planned)
    (tmp_path / "b.csv").write_text((tmp_path / "b.csv").read_text() + "\n")
    assert identify_data(str(mine)) != planned
    with pytest.raises(RunError, match="the data changed while"):
        load_data(str(mine), True, planned)


def test_text_names_experiments_and_variants(toy: Reproduction) -> None:
    text = str(toy)
    assert "Experiment 2.2: Rule quality of all algorithms" in text
    assert "ours, lifted" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"experiment": "2.3"}, "unknown experiment '2.3'"),
        ({"experiment": "2.2", "dataset": "hanoii"}, "did you mean 'hanoi'"),
        ({"experiment": "2.2", "repeats": 0}, "repeats must be an integer >= 1"),
        ({"experiment": "2.2", "dataset": "toy", "parameters": {"evaluation": 5}}, "unknown setting 'evaluation'"),
        ({"experiment": "2.2", "dataset": "toy", "seed": -1}, "seed must be an integer from 0"),
        ({"experiment": "2.2", "dataset": "toy", "repeats": 1.5}, "repeats must be an integer"),
        ({"experiment": "2.2", "dataset": "toy", "progress": "loud"}, "unknown value of 'progress'"),
    ],
)
def test_mistakes_are_reported(arguments: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        reproduce(**{"out": tmp_path, **arguments})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("elapsed", "done", "total", "text"),
    [(10.0, 1, 4, ", about 30 s left"), (60.0, 1, 4, ", about 3 min left"), (3600.0, 1, 4, ", about 3.0 h left")],
)
def test_time_left(elapsed: float, done: int, total: int, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thence.lab.experiments.runner.time.monotonic", lambda: 100.0 + elapsed)
    assert _format_time_left(100.0, done, total) == text
    assert _format_time_left(100.0, 0, total) == ""


@pytest.mark.slow
def test_rule_quality_on_hanoi(tmp_path: Path) -> None:
    """The command of the guide."""
    made = reproduce("2.2", dataset="hanoi", repeats=2, quick=True, out=tmp_path, progress="off")
    results = made.results["2.2"]
    aerial = results.cell("hanoi", "corrected", ("Aerial", None), "data_coverage")
    assert aerial is not None and aerial.mean > 0.9
    paper = results.cell("hanoi", "paper", ("Exhaustive", None), "rules")
    assert paper is not None and paper.mean == 103_283
    assert {v.variant for v in made.verdicts["2.2"]} == {"paper", "published", "faithful", "corrected", "lifted"}
