"""Plain tables through ``th.mine``: rows as transactions, the target, what is left out, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xlsxwriter

import thence as th
from thence.data.readers.files import READERS
from thence.runs.configuration import Config
from thence.runs.frames import is_plain_table
from thence.runs.pipeline import run_config

N = 60
FRAME = pl.DataFrame(
    {
        "id": range(N),
        "name": [f"row {i}" for i in range(N)],
        "size": [float(i % 10) + 0.25 for i in range(N)],
        "colour": ["red" if i % 10 < 5 else "" for i in range(N)],
        "Class": ["small" if i % 10 < 5 else "large" for i in range(N)],
    }
)


@pytest.mark.parametrize(
    "convert",
    [lambda f: f, lambda f: f.lazy(), lambda f: f.to_pandas(), lambda f: f.to_arrow()],
    ids=["polars", "lazy", "pandas", "arrow"],
)
def test_a_frame_of_any_kind_is_mined_for_a_class(convert: Any) -> None:
    run = th.mine(convert(FRAME), target="Class", progress="off")
    assert 1 <= len(run.rules) <= 50
    assert {rule.consequent.feature.subject for rule in run.rules} == {"Class"}
    assert {rule.consequent.value for rule in run.rules} == {"small", "large"}
    assert run.rules.predict(FRAME).tolist() == FRAME["Class"].to_list()
    note = next(note for note in run.summary["notes"] if note.startswith("left out"))
    assert "'id' (counts the rows)" in note
    assert "'name' (60 different texts in 60 rows)" in note


def test_without_a_target_every_column_may_be_concluded() -> None:
    run = th.mine(FRAME, bins=2, refine=None, progress="off")
    assert {rule.consequent.feature.subject for rule in run.rules} >= {"size", "Class"}


def test_a_frame_with_times_stays_sensor_data_unless_a_target_is_given() -> None:
    timed = FRAME.with_columns(
        pl.datetime_range(pl.datetime(2024, 1, 1), pl.datetime(2024, 1, 3, 11), "1h").alias("time")
    )
    assert is_plain_table(FRAME)
    assert not is_plain_table(timed)
    assert not is_plain_table(timed.to_pandas().set_index("time"))
    assert not is_plain_table("table.csv")
    run = th.mine(timed, target="Class", confirm=False, progress="off")
    assert run.rules.predict(timed).tolist() == FRAME["Class"].to_list()
    assert any("'time' (times)" in note for note in run.summary["notes"])


@pytest.mark.parametrize("classes", [[0, 1], [1.0, 2.0], [True, False], ["a", "b"]])
def test_classes_of_every_type_are_states(classes: list[Any]) -> None:
    frame = pd.DataFrame({"x": [0.5, 1.5] * 4, "y": classes * 4})
    run = th.mine(frame, target="y", min_support=0.1, bins=2, confirm=False, progress="off")
    assert (run.rules.predict(frame) == frame["y"].to_numpy()).all()


def test_a_target_of_numbers_is_cut_into_ranges() -> None:
    frame = pl.DataFrame({"x": np.arange(100) / 7, "y": np.arange(100) / 3})
    run = th.mine(frame, target="y", bins=4, progress="off")
    assert all(isinstance(one, th.language.Interval) for one in run.rules.predict(frame) if one is not None)


def test_files_are_read_as_rows_if_a_target_is_given(tmp_path: Path) -> None:
    """Regression: Excel files were refused, since the suffixes of files were listed a second time."""
    FRAME.write_csv(tmp_path / "t.csv")
    FRAME.write_csv(tmp_path / "s.txt", separator=";")
    FRAME.write_parquet(tmp_path / "t.parquet")
    FRAME.write_excel(tmp_path / "t.xlsx")
    expected = [str(rule) for rule in th.mine(FRAME, target="Class", progress="off").rules]
    for name in ("t.csv", "s.txt", "t.parquet", "t.xlsx"):
        run = th.mine(tmp_path / name, target="Class", progress="off")
        assert [str(rule) for rule in run.rules] == expected
        again = run_config(run.config, progress="off")
        assert [str(rule) for rule in again.rules] == expected
        assert run.provenance["inputs"]["sensors"]


def test_rows_are_read_from_any_file_that_readings_are_read_from(tmp_path: Path) -> None:
    """Every suffix with a reader is one that rows are read from, and dates in text are not states."""
    for suffix in READERS:
        with pytest.raises(th.errors.InputError, match="no such file"):
            th.mine(tmp_path / f"absent.{suffix}", target="Class", progress="off")
    (tmp_path / "t.md").write_text("a,b")
    with pytest.raises(th.errors.InputError, match=r"unsupported file type '.md'"):
        th.mine(tmp_path / "t.md", target="Class", progress="off")
    days = FRAME.with_columns(day=pl.date(2024, 1, 1) + pl.duration(days=pl.col("id")))
    days.write_csv(tmp_path / "days.csv")
    notes = th.mine(tmp_path / "days.csv", target="Class", progress="off").summary["notes"]
    assert any("'day' (times)" in note for note in notes)


def test_the_target_tells_the_sheet(tmp_path: Path) -> None:
    with xlsxwriter.Workbook(tmp_path / "t.xlsx") as book:
        pl.DataFrame({"about": ["made by hand"]}).write_excel(book, worksheet="notes")
        FRAME.write_excel(book, worksheet="rows")
    rules = th.mine(tmp_path / "t.xlsx", target="Class", progress="off").rules
    assert list(rules) == list(th.mine(FRAME, target="Class", progress="off").rules)
    with pytest.raises(th.errors.InputError, match="none of the 2 sheets have a column 'Clas'"):
        th.mine(tmp_path / "t.xlsx", target="Clas", progress="off")
    named = Config.from_mapping({"input": {"read_sensors": {"sheet": "rows"}}})
    assert len(th.mine(tmp_path / "t.xlsx", target="Class", config=named, progress="off").rules) == len(rules)


def test_a_run_of_a_frame_is_written_and_read(tmp_path: Path) -> None:
    run = th.mine(FRAME, target="Class", out=tmp_path / "run", progress="off")
    again = th.load_run(tmp_path / "run")
    assert again.config.input.target == "Class"
    assert again.rules.predict(FRAME).tolist() == run.rules.predict(FRAME).tolist()
    for suffix in ("json", "parquet"):
        path = th.write_rules(run.rules, tmp_path / f"rules.{suffix}")
        assert th.read_rules(path).predict(FRAME).tolist() == run.rules.predict(FRAME).tolist()


def test_categorical_and_numeric_apply_to_columns() -> None:
    frame = pl.DataFrame({"code": [10, 20, 30] * 20, "c": ["a", "b", "b"] * 20})
    states = th.mine(frame, target="c", refine=None, progress="off").rules
    ranges = th.mine(frame, target="c", numeric="code", refine=None, progress="off").rules
    assert {type(item.value) for rule in states for item in rule.antecedent} == {float}
    assert len(ranges)
    named = th.mine(
        frame.with_columns(pl.col("code") / 7), target="c", categorical=["co*"], refine=None, progress="off"
    )
    assert len(named.rules) == len(states)


def test_every_miner_mines_a_frame() -> None:
    for miner, settings in (("exact", {}), ("fpgrowth", {}), ("ts-narm", {"evaluations": 200})):
        run = th.mine(FRAME, target="Class", miner=miner, refine=None, progress="off", **settings)
        assert {rule.consequent.feature.subject for rule in run.rules} <= {"Class"}
    made = th.mine(FRAME, target="Class", miner=th.Exact(min_support=0.05), refine=None, progress="off")
    assert {rule.consequent.feature.subject for rule in made.rules} == {"Class"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target": "class"}, "target: no column 'class' .did you mean 'Class'"),
        ({"target": "Class", "consequent": "size"}, "'target' and 'consequent' exclude each other"),
        ({"target": "Class", "enrich": "lifted"}, "'enrich' does not apply"),
        ({"target": "Class", "categorical": "colur"}, "did you mean 'colour'"),
    ],
)
def test_mistakes_are_said(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(th.errors.ConfigError, match=message):
        th.mine(FRAME, progress="off", **changes)


def test_a_target_needs_rows_and_two_values() -> None:
    with pytest.raises(th.errors.ConfigError, match="fewer than two values"):
        th.mine(FRAME.with_columns(pl.lit("x").alias("Class")), target="Class", progress="off")
    with pytest.raises(th.errors.InputError, match="no rows"):
        th.mine(FRAME.clear(), target="Class", progress="off")
    with pytest.raises(th.errors.InputError, match=r"needs two columns.*left out: 'id'"):
        th.mine(FRAME.select("id", "Class"), target="Class", progress="off")


def test_sensor_data_have_no_target(tmp_path: Path) -> None:
    toy = th.datasets.load("toy")
    with pytest.raises(th.errors.ConfigError, match="use consequent= instead of target="):
        th.mine(toy, target="n1", progress="off")
    with pytest.raises(th.errors.ConfigError, match="without a graph"):
        th.mine(FRAME, toy.graph, target="Class", progress="off")
    with pytest.raises(th.errors.InputError, match="no such file"):
        th.mine(tmp_path / "absent.csv", target="Class", progress="off")
