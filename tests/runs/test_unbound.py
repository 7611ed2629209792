"""Sensors that belong to nothing in the graph: a few are named and left out, many mean wrong names."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import thence as th
from tests.helpers.commands import fail, succeed


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy data set as files, its readings with a column of remarks that the graph does not know."""
    folder = tmp_path_factory.mktemp("files") / "toy"
    succeed("datasets", "make", "toy", "--out", folder)
    frame = pl.read_parquet(folder / "sensors.parquet")
    label = pl.when(pl.arange(frame.height) % 7 == 0).then(pl.lit("fault")).otherwise(pl.lit("normal"))
    frame.with_columns(label.alias("remark")).write_parquet(folder / "labelled.parquet")
    return folder


def flags(files: Path, *, readings: str = "labelled.parquet") -> list[str]:
    sources = ["--sensors", str(files / readings), "--graph", str(files / "graph.json")]
    return [
        *sources,
        "--kinds",
        str(files / "kinds.csv"),
        "--windows",
        "1h",
        "--bins",
        "3",
        "--enrich",
        "lifted",
        "--min-embeddings",
        "1",
        "--no-confirm",
    ]


NOTE = "1 sensor belongs to no node of the graph and is left out of the table: 'remark'"


def test_a_column_that_belongs_to_nothing_is_named_and_left_out(files: Path, tmp_path: Path) -> None:
    # The run stopped, with a hint that works in Python only.
    told = succeed("mine", *flags(files), "--out", tmp_path / "run")
    assert NOTE in " ".join(told.split())
    assert "--bind SENSOR=NODE" in " ".join(told.split())
    run = th.load_run(tmp_path / "run")
    assert len(run.rules) > 0
    assert not any("remark" in str(item) for item in run.rules.items)


def test_ignore_settles_it(files: Path, tmp_path: Path) -> None:
    succeed("mine", *flags(files), "--ignore", "rem*", "--out", tmp_path / "run", "--quiet")
    assert not any("belong" in note for note in th.load_run(tmp_path / "run").summary["notes"])


def test_bind_settles_it_and_the_others_are_bound_as_before(files: Path, tmp_path: Path) -> None:
    node = next(iter(th.datasets.load("toy").graph.nodes))
    succeed("mine", *flags(files), "--bind", f"remark={node}", "--out", tmp_path / "run", "--quiet")
    run = th.load_run(tmp_path / "run")
    assert not any("belong" in note for note in run.summary["notes"])
    assert run.config.input.bind == {"table": {"remark": node}}


def test_bind_adds_to_a_binding_file(files: Path, tmp_path: Path) -> None:
    node = next(iter(th.datasets.load("toy").graph.nodes))
    succeed(
        *("check", *flags(files), "--binding", files / "binding.csv", "--bind", f"remark={node}"),
        *("--out", tmp_path / "run"),
    )


def test_a_binding_that_misses_a_few_sensors_is_enough(files: Path) -> None:
    toy = th.datasets.load("toy")
    sensors = th.read_sensors(files / "labelled.parquet")
    for binding in (toy.binding, dict(toy.binding), files / "binding.csv"):
        table = th.transactions(sensors, toy.graph, binding, windows="1h", bins=3, enrich="lifted")
        assert any(NOTE in note for note in table.notes)


def test_many_sensors_without_a_node_are_an_error(files: Path, tmp_path: Path) -> None:
    frame = pl.read_parquet(files / "sensors.parquet")
    plain = ["--sensors", tmp_path / "renamed.parquet", "--graph", files / "graph.json", "--enrich", "lifted"]
    renamed = {name: f"x{number}" for number, name in enumerate(frame.columns[1:5])}
    frame.rename(renamed).write_parquet(tmp_path / "renamed.parquet")
    told = fail("mine", *plain, "--out", tmp_path / "run")
    assert "4 of 5 sensors cannot be bound" in told
    assert "--bind SENSOR=NODE" in told
    told = succeed("check", *plain, "--partial", "--out", tmp_path / "run")
    assert "4 sensors belong to no node of the graph and are left out" in " ".join(told.split())


def test_columns_without_a_node_are_noted_if_a_third_of_the_others_have_one(files: Path, tmp_path: Path) -> None:
    frame = pl.read_parquet(files / "sensors.parquet")
    renamed = {name: f"x{number}" for number, name in enumerate(frame.columns[1:4])}
    frame.rename(renamed).write_parquet(tmp_path / "renamed.parquet")
    plain = ["--sensors", tmp_path / "renamed.parquet", "--graph", files / "graph.json", "--enrich", "lifted"]
    succeed("mine", *plain, "--out", tmp_path / "run")
    notes = " ".join(th.load_run(tmp_path / "run").summary["notes"])
    assert "3 sensors belong to no node of the graph and are left out" in notes


def test_a_partial_binding_of_the_caller_is_taken(files: Path) -> None:
    toy = th.datasets.load("toy")
    first = toy.sensors.ids[0]
    binding = th.graph.bind(toy.sensors, toy.graph, table={first: toy.binding[first]}, partial=True)
    assert len(binding.left_out) == 4
    table = th.transactions(toy.sensors, toy.graph, binding, windows="1h", bins=3, enrich="grounded")
    assert "4 sensors belong to no node" in table.notes[0]
    with pytest.raises(th.errors.BindingError, match="4 problems"):
        th.transactions(toy.sensors, toy.graph, th.graph.Binding({first: toy.binding[first]}), enrich="grounded")


def test_a_wrong_node_in_a_table_is_an_error_however_few(files: Path, tmp_path: Path) -> None:
    assert "no node" in fail("mine", *flags(files), "--bind", "remark=Nowhere", "--out", tmp_path / "run")
    told = fail("mine", *flags(files), "--bind", "remrke=Nowhere", "--out", tmp_path / "run")
    assert "is in the table but not in the data (did you mean 'remark'?)" in told
    assert "--bind takes SENSOR=NODE" in fail("mine", *flags(files), "--bind", "remark", "--out", tmp_path / "run")
    twice = ["--bind", "remark=a", "--bind", "remark=b"]
    assert "--bind gives two nodes" in fail("mine", *flags(files), *twice, "--out", tmp_path / "run")
