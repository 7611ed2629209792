"""The benchmark of scale: stages, powers, the plant, and tables that are those of the recorded runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import polars as pl
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

from _scale_page import make_tables, read_runs  # noqa: E402
from _scale_plant import make_plant  # noqa: E402
from _scale_stages import Look, by_stage  # noqa: E402


def test_a_stage_that_comes_twice_is_added_up() -> None:
    spans = [
        {"stage": "mine", "begin": 0.0, "end": 2.0, "cpu_seconds": 3.0},
        {"stage": "refine", "begin": 2.0, "end": 3.0, "cpu_seconds": 1.0},
        {"stage": "mine", "begin": 3.0, "end": 4.0, "cpu_seconds": 1.0},
    ]
    looks = [Look(1.0, 2.0, 1.0), Look(2.5, 9.0, 1.5), Look(3.5, 4.0, 0.5)]
    found = by_stage(spans, looks)
    assert found["mine"] == {"seconds": 3.0, "cpu_seconds": 4.0, "gib": 4.0, "own_gib": 1.0}
    assert found["refine"] == {"seconds": 1.0, "cpu_seconds": 1.0, "gib": 9.0, "own_gib": 1.5}


def test_powers_are_those_of_runs_in_which_one_thing_grows() -> None:
    def run(sensors: int, frames: int) -> dict[str, object]:
        spent = {"seconds": 1.0, "cpu_seconds": 1e-6 * sensors * frames**2, "gib": 1e-3 * frames, "own_gib": 0.0}
        return {
            **spent,
            "part": "lifted",
            "sensors": sensors,
            "frames": frames,
            "date": "2026-01-01",
            "machine": "two cores",
            "found": 0,
            "rules": 0,
            "laws": 0,
            "controls": 0,
            "file_gib": 0.1,
            "stages": {"mine": spent},
        }

    tables = make_tables([run(100, 1_000), run(1_000, 1_000), run(1_000, 10_000)])
    assert [[row[1], *row[5:]] for row in tables["powers"]["rows"]] == [
        ["sensors", pytest.approx(1.0), pytest.approx(0.0, abs=1e-9)],
        ["frames", pytest.approx(2.0), pytest.approx(1.0)],
    ]
    assert tables["million"]["rows"][0][4] == pytest.approx(1e-6 * 1e6 * 1e6 / 3600)


def test_a_pipeline_is_the_same_whatever_the_number_of_others(tmp_path: Path) -> None:
    make_plant(tmp_path / "few", 1_000, 20)
    make_plant(tmp_path / "more", 1_400, 20)
    files = [path.name for path in sorted((tmp_path / "more" / "readings").iterdir())]
    assert files == ["pipeline_0000.parquet", "pipeline_0001.parquet"]
    few, more = (pl.read_parquet(tmp_path / name / "readings" / files[0]) for name in ("few", "more"))
    assert few.equals(more)
    graph = json.loads((tmp_path / "more" / "graph.json").read_text())
    assert (len(graph["nodes"]), len(graph["edges"])) == (500 + 501 + 200 + 201, 2 * 700)
    bound = pl.read_csv(tmp_path / "more" / "binding.csv")
    assert set(bound["node"]) <= {node["id"] for node in graph["nodes"]}
    assert len(bound) == 1_400 + 2


def test_the_tables_are_those_of_the_recorded_runs() -> None:
    stored = json.loads((ROOT / "docs" / "results" / "benchmarks" / "scale.json").read_text(encoding="utf-8"))
    assert json.loads(json.dumps(make_tables(read_runs()))) == stored
