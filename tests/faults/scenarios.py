"""Commands that are ended in the middle, and what must be true afterwards: whole, marked, or not there."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

import thence as th
from tests.helpers.plants import mined, plant
from thence._base.integrity.checksums import read_sealed
from thence.errors import RunError
from thence.lab.experiments import reproduce

MINE = ["mine", "--dataset", "toy", "--windows", "30min", "--bins", "6", "--max-antecedents", "3", "--quiet"]
MINE += ["--min-support", "0.0", "--min-confidence", "0.05", "--enrich", "none", "--all", "--no-report"]
REPRODUCE = ["reproduce", "6", "--dataset", "toy", "--quick", "--repeats", "2", "--quiet"]
COPY = {"sensors.parquet", "graph.json", "binding.csv", "kinds.csv", "config.toml"}


@dataclass(frozen=True)
class Scenario:
    """A command in a folder of its own.

    Args:
        kills: How often it is ended in the long test.
        arguments: The command for a folder; the second folder has what ``material`` wrote.
        check: Raises if the folder holds something that is neither whole, nor marked, nor absent.
        prepare: Puts something into the folder beforehand.
    """

    kills: int
    arguments: Callable[[Path, Path], list[str]]
    check: Callable[[Path, Path], None]
    prepare: Callable[[Path, Path], None] = lambda folder, material: None


def material(folder: Path) -> None:
    """Write what the scenarios need: a run, later readings, and what whole commands give."""
    mined(folder / "run", days=6)
    plant(12, seed=3, broken_from=6, first_day=6).write_parquet(folder / "later.parquet")
    reproduce("6", dataset="toy", quick=True, repeats=2, out=folder / "reproduction", progress="off")


def digest(folder: Path) -> dict[str, str]:
    """Return the hash of every file below a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _check_mined(folder: Path, material: Path) -> None:
    for path in folder.iterdir():
        try:
            run = th.load_run(path)
        except RunError as error:
            assert "incomplete" in error.message or "not a run folder" in error.message, error
            assert path.name.startswith("."), "a visible folder must never be refused"
            continue
        count = json.loads((path / "rules.json").read_bytes())["count"]
        assert len(run.rules) == count
        assert run.complete or run.interrupted


def _check_replaced(folder: Path, material: Path) -> None:
    assert len(th.load_run(folder / "run").rules) > 0
    _check_mined(folder, material)


def _copy_run(folder: Path, material: Path) -> None:
    shutil.copytree(material / "run", folder / "run")


def _check_data_set(folder: Path, material: Path) -> None:
    target = folder / "data"
    if target.exists():
        names = {"binding.csv", "config.toml", "graph.json", "kinds.csv", "sensors.parquet"}
        assert names <= {path.name for path in target.iterdir()}
        assert len(th.read_sensors(target / "sensors.parquet").sensors) == 5
        assert len(th.read_graph(target / "graph.json")) == 5


def _prepare_export(folder: Path, material: Path) -> None:
    (folder / "rules.csv").write_text("old")


def _check_export(folder: Path, material: Path) -> None:
    text = (folder / "rules.csv").read_text(encoding="utf-8")
    assert text == "old" or len(pl.read_csv(folder / "rules.csv")) == len(th.load_run(material / "run").rules)


def _check_report(folder: Path, material: Path) -> None:
    path = folder / "page.html"
    assert not path.exists() or path.read_text(encoding="utf-8").rstrip().endswith("</html>")


def _check_reviews(folder: Path, material: Path) -> None:
    from thence.runs.reviews import load_reviews

    th.load_run(folder / "run")
    assert len(load_reviews(folder / "run")) in (0, 1)


def _check_applied(folder: Path, material: Path) -> None:
    target = folder / "applied"
    if target.exists():
        for path in target.glob("*.json"):
            json.loads(path.read_bytes())
        for path in target.glob("*.parquet"):
            pl.read_parquet(path)
        assert any(target.iterdir())


def _check_explored(folder: Path, material: Path) -> None:
    assert digest(folder / "run") == digest(material / "run")
    th.load_run(folder / "run")


def _check_monitored(folder: Path, material: Path) -> None:
    alerts = folder / "alerts.jsonl"
    if alerts.exists():
        *whole, _ = alerts.read_text(encoding="utf-8").split("\n")  # the last line may be cut: the next start drops it
        numbers = [json.loads(line)["alert"] for line in whole]
        assert numbers == list(range(1, len(numbers) + 1))


def _prepare_repeats(folder: Path, material: Path) -> None:
    """The first of two repeats is there: a command that is continued."""
    first = sorted((material / "reproduction").glob("repeats/*/*/000.json"))
    for path in first:
        target = folder / path.relative_to(material)
        target.parent.mkdir(parents=True)
        shutil.copy(path, target)
    assert first


def _check_repeats(folder: Path, material: Path) -> None:
    whole = material / "reproduction"
    stored = sorted(path for path in folder.glob("reproduction/repeats/*/*/*") if not path.name.startswith("."))
    for path in stored:
        assert read_sealed(path)[1], "a repeat has its checksum"
    assert "000.json" in {path.name for path in stored}
    for path in folder.glob("reproduction/6/table.csv"):
        assert path.read_bytes() == (whole / "6" / "table.csv").read_bytes()
    for path in folder.glob("reproduction/index.html"):
        assert path.read_text(encoding="utf-8").rstrip().endswith("</html>")


def _check_copied(folder: Path, material: Path) -> None:
    target = folder / "copy"
    if target.exists():
        assert {path.name for path in target.iterdir()} >= COPY
        assert th.integrity.verify(target).ok


SCENARIOS = {
    "mine": Scenario(200, lambda folder, material: [*MINE, "--out", str(folder / "run")], _check_mined),
    "mine over a run": Scenario(
        200, lambda folder, material: [*MINE, "--force", "--out", str(folder / "run")], _check_replaced, _copy_run
    ),
    "datasets make": Scenario(
        100, lambda folder, material: ["datasets", "make", "toy", "--out", str(folder / "data")], _check_data_set
    ),
    "reproduce": Scenario(
        60,
        lambda folder, material: [*REPRODUCE, "--out", str(folder / "reproduction")],
        _check_repeats,
        _prepare_repeats,
    ),
    "import": Scenario(
        40, lambda folder, material: ["import", "--dataset", "toy", "--out", str(folder / "copy")], _check_copied
    ),
    "export": Scenario(
        80,
        lambda folder, material: ["export", str(material / "run"), "--to", str(folder / "rules.csv")],
        _check_export,
        _prepare_export,
    ),
    "report": Scenario(
        60,
        lambda folder, material: ["report", str(material / "run"), "--out", str(folder / "page.html")],
        _check_report,
    ),
    "review": Scenario(
        100, lambda folder, material: ["review", str(folder / "run"), "--accept", "1"], _check_reviews, _copy_run
    ),
    "apply": Scenario(
        80,
        lambda folder, material: [
            *("apply", str(material / "run"), "--sensors", str(material / "later.parquet")),
            *("--out", str(folder / "applied")),
        ],
        _check_applied,
    ),
    "explore": Scenario(
        40, lambda folder, material: ["explore", str(folder / "run"), "--no-browser"], _check_explored, _copy_run
    ),
    "monitor": Scenario(
        40,
        lambda folder, material: [
            *("monitor", str(material / "run"), "--file", str(material / "later.parquet")),
            *("--state", str(folder / "state"), "--alerts", str(folder / "alerts.jsonl"), "--block", "12h"),
            *("--violations", "--save-every", "40", "--speed", "200000x"),
        ],
        _check_monitored,
    ),
}
