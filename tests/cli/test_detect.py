"""``thence detect``: alarms in words, as JSON, as scores and as a picture; and how it fails."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tests.checks.detect.plant import plant
from tests.helpers.commands import fail, succeed, thence
from tests.helpers.failures import no_failures
from thence.show.reports.at_work import read_detected


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plant")
    normal, later = plant(60), plant(30, seed=1, leak=(2, 480, 959, 3.0))
    for name, system in (("normal", normal), ("later", later)):
        system.sensors.to_polars().write_parquet(folder / f"{name}.parquet")
    assert normal.graph is not None and normal.binding is not None
    (folder / "graph.json").write_text(json.dumps(normal.graph.to_dict()))
    (folder / "binding.json").write_text(json.dumps(dict(normal.binding)))
    both = pl.concat(
        [normal.sensors.to_polars(), later.sensors.to_polars().with_columns(pl.col("time") + pl.duration(days=60))]
    )
    both.write_parquet(folder / "both.parquet")
    return folder


def options(files: Path, sensors: str = "later") -> list[str]:
    kinds = [f"{kind}_{number}={kind}" for kind in ("flow", "pressure", "demand") for number in (1, 2, 3)]
    given = ["--sensors", str(files / f"{sensors}.parquet"), "--graph", str(files / "graph.json")]
    given += ["--binding", str(files / "binding.json")]
    units = ["--units", "flow=m³/h", "--units", "demand=m³/h", "--units", "pressure=m"]
    return [*given, *units, *(part for kind in kinds for part in ("--kinds", kind))]


def test_alarms_are_told_in_words(files: Path) -> None:
    out = succeed("detect", *options(files), "--normal", files / "normal.parquet", "--retire-after", "never")
    assert "1 false alarm a month" in out
    assert "most likely at J2" in out
    assert "violated at J2" in out and "it would hold with demand higher by" in out
    assert "in normal time: violated in" in out


def test_scores_picture_and_detector_are_written_and_the_detector_read_again(files: Path, tmp_path: Path) -> None:
    flags = ["--no-rules", "--retire-after", "never", "--json"]
    written = ["--scores", tmp_path / "s.csv", "--plot", tmp_path / "a.json", "--save", tmp_path / "d.json"]
    written += ["--out", tmp_path / "found.json"]
    first = json.loads(succeed("detect", *options(files), "--normal", files / "normal.parquet", *flags, *written))
    assert first["detector"]["rules"] == 0 and first["alarms"]
    assert pl.read_csv(tmp_path / "s.csv").columns == ["time", "score", "alarm"]
    assert "J2" in (tmp_path / "a.json").read_text()
    found = json.loads((tmp_path / "found.json").read_text())
    assert len(found.pop("sha256")) == 64 and found == first
    assert read_detected(tmp_path / "found.json", name="later")["alarms"][0]["located"]
    again = json.loads(succeed("detect", *options(files), "--detector", tmp_path / "d.json", "--json"))
    assert again["alarms"] == first["alarms"]


def test_the_beginning_may_be_normal(files: Path) -> None:
    out = succeed("detect", *options(files, "both"), "--normal-until", "2024-03-01", "--no-rules", "--quiet")
    assert not out


def test_a_run_gives_the_normal_readings(files: Path, tmp_path: Path) -> None:
    succeed("mine", *options(files, "normal"), "--out", tmp_path / "run", "--quiet")
    later = ["--sensors", files / "later.parquet"]
    out = succeed("detect", tmp_path / "run", *later, "--retire-after", "never", "--top", "1")
    assert "most likely at J2" in out


def test_mistakes(files: Path, tmp_path: Path) -> None:
    assert "no normal readings are given" in fail("detect", *options(files))
    twice = fail("detect", *options(files), "--normal", files / "normal.parquet", "--normal-until", "2024-01-10")
    assert "normal readings are given twice" in twice
    assert "end it in .parquet or .csv" in fail(
        "detect", *options(files), "--normal", files / "normal.parquet", "--scores", tmp_path / "s.txt"
    )
    assert "belongs to a data set" in fail("detect", *options(files), "--scenario", "3")


def test_readings_with_ties_are_explained(files: Path, tmp_path: Path) -> None:
    """``thence detect --out`` died on rounded readings, whose ranks have equal edges."""
    for name in ("normal", "later"):
        frame = pl.read_parquet(files / f"{name}.parquet").head(960)
        coarse = frame.with_columns((pl.exclude("time") / 10).round() * 10)
        coarse.write_csv(tmp_path / f"{name}.csv")
    given = options(files)
    given[1] = str(tmp_path / "later.csv")
    with no_failures():
        succeed("detect", *given, "--normal", tmp_path / "normal.csv", "--out", tmp_path / "found.json", "--top", "0")
    alarms = json.loads((tmp_path / "found.json").read_text())["alarms"]
    assert alarms and all(one["explanation"]["reasons"] for one in alarms)


def test_a_picture_that_fails_does_not_hide_the_alarms(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_picture(*_: object, **__: object) -> None:
        raise ValueError("no font")

    monkeypatch.setattr("thence.checks.detect.picture.draw_alarms", no_picture)
    flags = ["--no-rules", "--plot", tmp_path / "a.json", "--out", tmp_path / "found.json"]
    result = thence("detect", *options(files), "--normal", files / "normal.parquet", *flags)
    assert result.exit_code == 1 and "the picture cannot be drawn: no font" in result.stderr
    assert "most likely at J2" in result.stdout and (tmp_path / "found.json").exists()
    assert "end it in .svg" in fail("detect", *options(files), "--normal-until", "2024-01-20", "--plot", "a.txt")
