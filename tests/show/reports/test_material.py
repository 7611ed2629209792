"""The material of a report: from memory, read again and checked, or missing with a reason."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import thence as th
from tests.show.reports.worlds import world
from thence.runs.run import Run
from thence.show.reports.material import material_of, recover


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Readings in a file, and a run that was mined from it."""
    frame = pl.DataFrame(
        {
            "time": pl.datetime_range(pl.datetime(2024, 1, 1), pl.datetime(2024, 1, 3), "1h", eager=True),
        }
    ).with_columns(
        a=(pl.int_range(pl.len()) % 4).cast(pl.Float64), b=(pl.int_range(pl.len()) % 4 * 2).cast(pl.Float64) + 0.5
    )
    frame.write_csv(tmp_path / "readings.csv")
    th.mine(tmp_path / "readings.csv", windows="1h", out=tmp_path / "run", progress="off")
    return tmp_path


def test_what_was_mined_in_this_process_is_not_read_again() -> None:
    system = world()
    run = th.mine(system, windows="1h", bins=3, confirm=False, progress="off")
    material = material_of(run)
    assert material.system is not None
    assert material.system.graph is system.graph
    assert material.readings is run.readings
    assert material.table is run.table
    assert material.transactions is run.table
    assert material.why == ""


@pytest.mark.parametrize("enrich", ["none", "grounded", "existential", "lifted"])
def test_a_run_from_disk_gets_back_what_was_mined(tmp_path: Path, enrich: str) -> None:
    config = th.Config.from_mapping({"input": {"dataset": "toy"}, "enrich": {"mode": enrich}})
    mined = th.mine(config=config, out=tmp_path / "run", confirm=False, progress="off")
    material = recover(th.load_run(tmp_path / "run"))
    assert material.why == ""
    assert material.table is not None
    assert mined.table is not None
    assert material.table.n_rows == mined.table.n_rows
    assert material.readings is not None
    assert len(material.readings) == len(mined.readings or ())


def test_a_run_of_files_is_read_again(files: Path) -> None:
    material = recover(th.load_run(files / "run"))
    assert material.why == ""
    assert material.readings is not None
    assert [sensor.id for sensor in material.readings.sensors] == ["a", "b"]


def test_a_file_that_is_gone_is_named(files: Path) -> None:
    (files / "readings.csv").unlink()
    material = recover(th.load_run(files / "run"))
    assert material.table is None
    assert material.why == f"The file {files / 'readings.csv'}, which the run was mined from, is not there."


def test_a_file_that_has_changed_is_not_used(files: Path) -> None:
    with (files / "readings.csv").open("a") as file:
        file.write("2024-01-04T00:00:00,1,2\n")
    material = recover(th.load_run(files / "run"))
    assert material.readings is None
    assert material.why == f"The file {files / 'readings.csv'} has changed since the run was mined."


def test_data_that_give_another_table_are_not_used(files: Path) -> None:
    run = th.load_run(files / "run")
    other = Run(
        run.rules,
        run.config,
        run.summary,
        {**run.provenance, "inputs": {**run.provenance["inputs"], "table_sha256": "0" * 64}},
        run.discretizer,
        run.path,
    )
    material = recover(other)
    assert material.table is None
    assert "another table" in material.why


def test_a_run_of_objects_says_that_they_are_not_at_hand(tmp_path: Path) -> None:
    system = world()
    th.mine(system, windows="1h", bins=3, out=tmp_path / "run", confirm=False, progress="off")
    loaded = th.load_run(tmp_path / "run")
    assert recover(loaded).why == "The run was made from objects in memory, so its data cannot be read again."
    given = material_of(loaded, system=system)
    assert given.why == ""
    assert given.readings is not None
    assert given.table is not None


def test_another_system_than_the_one_mined_is_not_used(tmp_path: Path) -> None:
    th.mine(world(0), windows="1h", bins=3, out=tmp_path / "run", confirm=False, progress="off")
    material = material_of(th.load_run(tmp_path / "run"), system=world(1))
    assert material.readings is None
    assert "another table" in material.why


def test_a_plain_table_of_a_file_is_read_again(tmp_path: Path) -> None:
    frame = pl.DataFrame({"size": [1.0, 2.0, 3.0, 4.0] * 9, "class": ["a", "a", "b", "b"] * 9})
    frame.write_csv(tmp_path / "rows.csv")
    th.mine(tmp_path / "rows.csv", target="class", out=tmp_path / "run", progress="off")
    material = recover(th.load_run(tmp_path / "run"))
    assert material.why == ""
    assert material.system is None
    assert material.table is not None


def test_a_damaged_record_of_inputs_is_no_error(files: Path) -> None:
    run = th.load_run(files / "run")
    damaged = Run(run.rules, run.config, run.summary, {"inputs": "?"}, run.discretizer, run.path)
    assert recover(damaged).readings is not None


def test_sharpened_ranges_are_cut_again(tmp_path: Path) -> None:
    toy = th.Config.from_mapping({"input": {"dataset": "toy"}})
    settings = {"windows": "1h", "bins": 5, "refine": {"sharpen": True, "confirm": False}, "progress": "off"}
    run = th.mine(config=toy, out=tmp_path / "run", **settings)
    assert np.isfinite(run.rules.extras["confirmed_confidence"]).any()  # some range was sharpened
    fresh, kept = recover(th.load_run(tmp_path / "run")), material_of(run)
    assert fresh.why == ""
    here, there = th.report(run).data, th.report(tmp_path / "run").data
    assert len(here["cards"]) > 0
    for card, other in zip(here["cards"], there["cards"], strict=True):
        assert card == other
    assert here["coverage"] == there["coverage"]
    assert kept.table is not None
