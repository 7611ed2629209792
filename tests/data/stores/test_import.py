"""Runs from a database: nothing secret on disk, and the same rules from a local copy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import thence as th
from tests.helpers.commands import fail, thence
from tests.helpers.postgres import postgres_server

psycopg: Any = pytest.importorskip("psycopg")
pytest.importorskip("adbc_driver_postgresql")
pytest.importorskip("duckdb")
PASSWORD = "pa:ss@wo/rd"
pytestmark = pytest.mark.needs("postgresql")
READ = ["table=plant.readings", "time=ts", "sensor=sensor_id", "value=value", r"kind_pattern=_(?P<kind>\w+)$"]
OPTIONS = [text for option in READ for text in ("--read-sensors", option)]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with postgres_server(PASSWORD) as address:
        fill(address)
        yield address


def fill(url: str) -> None:
    """Two tanks whose flow follows the level, and a pump with two states."""
    random = np.random.default_rng(1)
    with psycopg.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA plant")
        cursor.execute("CREATE TABLE plant.readings (ts timestamptz, sensor_id text, value float8)")
        start = datetime(2024, 1, 1, tzinfo=UTC)
        with cursor.copy("COPY plant.readings FROM STDIN") as copy:
            for k in range(2000):
                level = float(np.sin(k / 60) * 3 + 5 + random.normal() * 0.1)
                for name, value in (("n1_level", level), ("n2_flow", 2 * level), ("n1_pump", float(level > 5))):
                    copy.write_row((start + timedelta(minutes=5 * k), name, value))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    nodes = [{"id": "n1", "labels": ["Tank"]}, {"id": "n2", "labels": ["Pipe"]}]
    graph = {"nodes": nodes, "edges": [{"source": "n1", "target": "n2", "labels": ["feeds"]}]}
    (tmp_path / "graph.json").write_text(json.dumps(graph))
    binding = [("n1_level", "n1"), ("n2_flow", "n2"), ("n1_pump", "n1")]
    pl.DataFrame(binding, schema=["sensor", "node"], orient="row").write_csv(tmp_path / "binding.csv")
    return tmp_path


def secret_free(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            for spelling in (PASSWORD, "pa%3Ass%40wo%2Frd"):
                assert spelling.encode() not in content, path


@pytest.mark.parametrize("enrich", ["none", "grounded"])
def test_rules_of_the_copy_are_those_of_the_server(url: str, files: Path, enrich: str) -> None:
    common = ["--graph", files / "graph.json", "--binding", files / "binding.csv", *OPTIONS]
    more = ["--enrich", enrich, "--windows", "30min", "--bins", "3", "--min-confidence", "0.8"]
    done = thence("mine", "--sensors", url, *common, *more, "--out", files / "run")
    assert done.exit_code == 0, done.output
    copied = thence("import", "--sensors", url, *common, "--out", files / "copy")
    assert copied.exit_code == 0, copied.output
    assert PASSWORD not in done.output + copied.output
    secret_free(files)
    again = thence("mine", files / "copy" / "config.toml", *more, "--out", files / "again")
    assert again.exit_code == 0, again.output
    rules = (files / "run" / "rules.json").read_bytes()
    assert rules == (files / "again" / "rules.json").read_bytes()
    assert th.load_run(files / "run").rules
    assert th.integrity.verify(files / "copy").ok
    (source,) = json.loads((files / "copy" / "sources.json").read_text())["sources"]
    recorded = json.loads((files / "run" / "provenance.json").read_text())["inputs"]["report"]["sources"]
    assert recorded == [source] and source["rows"] == 6000 and source["server"].startswith("PostgreSQL 1")
    with (files / "copy" / "binding.csv").open("a") as file:
        file.write("\n")
    assert list(th.integrity.verify(files / "copy").damaged) == ["binding.csv"]


def test_lifted_rules_of_the_server_are_those_of_files(url: str, tmp_path: Path) -> None:
    """A data set as files, in the database with kinds in a table of their own, and copied from there."""
    assert thence("datasets", "make", "toy", "--out", tmp_path / "toy").exit_code == 0
    wide = pl.read_parquet(tmp_path / "toy" / "sensors.parquet")
    with psycopg.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE toy (ts timestamptz, sensor text, value text)")
        cursor.execute("CREATE TABLE toy_sensors (sensor text, kind text, unit text)")
        with cursor.copy("COPY toy FROM STDIN") as copy:
            for when, *values in wide.iter_rows():
                for name, value in zip(wide.columns[1:], values, strict=True):
                    copy.write_row((when, name, None if value is None else str(value)))
        for row in pl.read_csv(tmp_path / "toy" / "kinds.csv").iter_rows():
            cursor.execute("INSERT INTO toy_sensors VALUES (%s, %s, %s)", row)
    parts = [text for name in ("graph", "ontology") for text in (f"--{name}", tmp_path / "toy" / f"{name}.json")]
    parts += ["--binding", tmp_path / "toy" / "binding.csv"]
    read = [
        f"{name}={value}"
        for name, value in {"table": "toy", "time": "ts", "sensor": "sensor", "value": "value"}.items()
    ]
    options = [text for one in [*read, "metadata=toy_sensors"] for text in ("--read-sensors", one)]
    more = ["--enrich", "lifted", "--no-confirm", "--windows", "1h", "--bins", "3", "--min-confidence", "0.7"]
    jobs: dict[str, list[str | Path]] = {
        "files": ["mine", tmp_path / "toy" / "config.toml"],
        "server": ["mine", "--sensors", url, *parts, *options],
        "copy": ["mine", tmp_path / "local" / "config.toml"],
    }
    copied = thence("import", "--sensors", url, *parts, *options, "--out", tmp_path / "local")
    assert copied.exit_code == 0, copied.output
    for name, job in jobs.items():
        done = thence(*job, *more, "--out", tmp_path / name)
        assert done.exit_code == 0, done.output
    rules = {(tmp_path / name / "rules.json").read_bytes() for name in jobs}
    assert len(rules) == 1 and len(th.load_run(tmp_path / "server").rules) > 0


def test_windows_of_the_database_give_the_same_rules(url: str, files: Path) -> None:
    for name, more in (("rows", ()), ("windows", ("--read-sensors", "windows=30min"))):
        done = thence(
            *("mine", "--sensors", url, *OPTIONS, *more, "--windows", "30min", "--bins", "3", "--out", files / name)
        )
        assert done.exit_code == 0, done.output
    rules = [(files / name / "rules.json").read_bytes() for name in ("rows", "windows")]
    assert rules[0] == rules[1]
    told = fail("mine", "--sensors", url, *OPTIONS, *more, "--windows", "1h", "--out", files / "other")
    assert "the database aggregated" in told


def test_a_run_can_be_repeated_with_credentials_of_the_environment(
    url: str, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = thence("mine", "--sensors", url, *OPTIONS, "--windows", "1h", "--out", files / "run")
    assert done.exit_code == 0, done.output
    config = (files / "run" / "config.toml").read_text()
    assert "postgresql://127.0.0.1" in config and "plant.readings" in config
    monkeypatch.setenv("PGUSER", "postgres")
    monkeypatch.setenv("PGPASSWORD", "another-word")
    refused = fail("mine", files / "run" / "config.toml", "--out", files / "none")
    assert "PGPASSWORD" in refused and "another-word" not in refused
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    again = thence("mine", files / "run" / "config.toml", "--out", files / "again")
    assert again.exit_code == 0, again.output
    assert (files / "run" / "rules.json").read_bytes() == (files / "again" / "rules.json").read_bytes()
    secret_free(files)


def test_a_copy_is_not_overwritten(url: str, files: Path) -> None:
    (files / "own").mkdir()
    (files / "own" / "thesis.txt").write_text("mine")
    for more in ((), ("--force",)):
        fail("import", "--sensors", url, *OPTIONS, "--out", files / "own", *more)
        assert (files / "own" / "thesis.txt").read_text() == "mine"


def test_python_reads_and_mines_by_url(url: str) -> None:
    data = th.read_sensors(url, table="plant.readings", time="ts", sensor="sensor_id", value="value")
    run = th.mine(data, windows="1h", bins=3, confirm=False, progress="off")
    assert run.provenance["inputs"]["report"]["sources"][0]["rows"] == 6000
    assert PASSWORD not in json.dumps(run.provenance) + run.config.to_toml() + repr(data)


def test_a_copy_can_be_verified(tmp_path: Path) -> None:
    """It had a manifest of another kind, which 'thence verify' took for damage; seen when imports were killed."""
    assert thence("import", "--dataset", "toy", "--out", tmp_path / "copy").exit_code == 0
    assert th.integrity.verify(tmp_path / "copy").ok
    (tmp_path / "copy" / "kinds.csv").write_text("sensor,kind\n")
    assert list(th.integrity.verify(tmp_path / "copy").damaged) == ["kinds.csv"]
