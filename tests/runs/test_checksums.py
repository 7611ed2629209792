"""Runs carry checksums: what was changed is refused, and a run that has lost them is said to have none."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import thence as th
from thence.cli.app import app
from thence.errors import RunError
from thence.runs.run import add_note, load_run


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> th.Run:
    folder = tmp_path_factory.mktemp("runs")
    return th.mine(
        th.datasets.load("toy"), windows="1h", bins=3, seed=5, confirm=False, progress="off", out=folder / "made"
    )


@pytest.fixture
def run(made: th.Run, tmp_path: Path) -> Path:
    assert made.path is not None
    return Path(shutil.copytree(made.path, tmp_path / "a"))


@pytest.mark.parametrize(
    "name", ["summary.json", "rules.parquet", "config.toml", "provenance.json", "discretizer.json", "laws.json"]
)
@pytest.mark.parametrize("how", ["appended", "gone"])
def test_a_changed_or_missing_file_is_refused_by_name(run: Path, name: str, how: str) -> None:
    if how == "gone":
        (run / name).unlink()
    else:
        with (run / name).open("ab") as file:
            file.write(b" ")
    with pytest.raises(RunError) as found:
        load_run(run)
    assert name in str(found.value)
    assert name in th.integrity.verify(run).damaged


def test_laws_that_somebody_put_there_are_refused(made: th.Run, tmp_path: Path) -> None:
    run = made.save(tmp_path / "b").path
    assert run is not None
    (run / "manifest.json").unlink()
    (run / "laws.json").unlink(missing_ok=True)
    again = load_run(run).save(tmp_path / "c").path
    assert again is not None and not (again / "laws.json").exists()
    (again / "laws.json").write_text('{"laws": [], "notes": []}')
    with pytest.raises(RunError, match="is not listed in manifest"):
        load_run(again)


def test_a_run_without_a_manifest_is_said_to_have_no_checksums(
    run: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Only ``show`` said so, in a note; all others took whatever was there."""
    (run / "manifest.json").unlink()
    back = load_run(run)
    assert [note for note in back.summary["notes"] if "has no checksums" in note]
    rules = ["--to", str(tmp_path / "rules.csv")]
    for command in (
        ["show", str(run), "--json"],
        ["export", str(run), *rules, "--quiet"],
        ["review", str(run), "--json"],
    ):
        caplog.clear()
        result = CliRunner().invoke(app, command)
        assert result.exit_code == 0, result.output
        assert len(caplog.messages) == 1
        assert "has no checksums (manifest.json is missing): its files are not verified" in caplog.text
    again = load_run(back.save(tmp_path / "again").path or "")
    assert not [note for note in again.summary["notes"] if "has no checksums" in note]
    assert th.integrity.verify(tmp_path / "again").ok


def test_numbers_that_contradict_the_rules_are_refused(run: Path) -> None:
    """Without a manifest, ``show`` printed ``rules 999 of 84 found``."""
    (run / "manifest.json").unlink()
    summary = json.loads((run / "summary.json").read_text())
    for changes, told in (
        ({"rules": 999}, "'rules' is 999 in summary.json, but"),
        ({"rules_found": 1}, "rules, but only 1 found"),
        ({"mean_confidence": 0.123}, "'mean_confidence' is 0.123 in summary.json, but"),
        ({"n_transactions": None}, "'n_transactions' is None in summary.json, but"),
    ):
        (run / "summary.json").write_text(json.dumps({**summary, **changes}))
        with pytest.raises(RunError, match=re.escape(told)):
            load_run(run)
    (run / "summary.json").write_text(json.dumps(summary))
    assert len(load_run(run).rules) == summary["rules"]


def test_a_run_with_fewer_rules_is_saved_with_its_own_numbers(made: th.Run, tmp_path: Path) -> None:
    few = replace(made, rules=made.rules.top(2)).save(tmp_path / "few")
    assert few.summary["rules"] == 2 == load_run(tmp_path / "few").summary["rules"]


def test_a_note_and_a_report_that_come_later_are_listed(run: Path) -> None:
    add_note(load_run(run), "a note that came later")
    assert "a note that came later" in load_run(run).summary["notes"]
    again = CliRunner().invoke(app, ["report", str(run), "--quiet"])
    assert again.exit_code == 0, again.output
    assert th.integrity.verify(run).ok and not th.integrity.verify(run).unchecked


def test_reviews_carry_their_own_checksum(run: Path) -> None:
    load_run(run).review(0, "rejected", "a coincidence")
    assert th.integrity.verify(run).ok and "reviews.json" in th.integrity.verify(run).checked
    text = (run / "reviews.json").read_text()
    (run / "reviews.json").write_text(text.replace("rejected", "accepted"))
    with pytest.raises(RunError, match="its checksum does not match") as found:
        _ = load_run(run).reviews
    assert "delete the entry 'sha256'" in str(found.value)
    assert list(th.integrity.verify(run).damaged) == ["reviews.json"]
    # Whoever wants the change takes the checksum out, as the message says.
    record = json.loads(text.replace("rejected", "accepted"))
    del record["sha256"]
    (run / "reviews.json").write_text(json.dumps(record))
    assert repr(load_run(run).reviews) == "Reviews(1 accepted)"
    load_run(run).review(1, "accepted")
    assert th.integrity.verify(run).ok


WRONG: list[tuple[str, Any]] = [
    *(("rules", value) for value in ({"a": 1}, "12", None, -1, 1.5, True)),
    *(("mean_confidence", value) for value in ("0.9", {}, [1], 7.5)),
    *(("notes", value) for value in ("text", [1], {}, None)),
    *(("seconds", value) for value in ([], {"read": "x"}, None)),
    *(("complete", value) for value in ("yes", 1, None)),
    *(("miner", value) for value in (None, 1, {})),
    *(("n_items", value) for value in ("3", -2)),
    *(("format", value) for value in ("1", None, 99, True)),
]


@pytest.mark.parametrize(("entry", "value"), WRONG)
def test_a_summary_of_other_types_is_our_error(run: Path, entry: str, value: Any) -> None:
    """`thence show` formatted dicts and strings as numbers, and ended in a traceback."""
    (run / "manifest.json").unlink()
    summary = json.loads((run / "summary.json").read_text())
    (run / "summary.json").write_text(json.dumps({**summary, entry: value}))
    shown = CliRunner().invoke(app, ["show", str(run)])
    assert shown.exit_code == 1 and isinstance(shown.exception, SystemExit)
    assert "summary.json" in shown.output and len(shown.output) < 500


@pytest.mark.parametrize("name", ["provenance.json", "discretizer.json", "laws.json", "controls.json"])
@pytest.mark.parametrize("text", ["[]", "7", '{"a": 1}', "[" * 50_000, "null"])
def test_other_files_of_a_run_without_checksums_are_our_error(run: Path, name: str, text: str) -> None:
    (run / "manifest.json").unlink()
    (run / name).write_text(text)
    if name == "provenance.json" and text.startswith("{"):
        return
    with pytest.raises(RunError, match=name):
        load_run(run)


@pytest.mark.parametrize("name", ["rules.parquet", "summary.json", "discretizer.json", "manifest.json", "reviews.json"])
@pytest.mark.parametrize("checked", [True, False])
def test_a_symbolic_link_in_a_run_is_refused(run: Path, name: str, checked: bool) -> None:
    load_run(run).review(0, "accepted")
    if not checked and name != "manifest.json":
        (run / "manifest.json").unlink()
    (run / name).rename(run.parent / "elsewhere")
    (run / name).symlink_to(run.parent / "elsewhere")
    with pytest.raises(RunError, match="symbolic link"):
        _ = load_run(run).reviews


def test_a_lock_that_is_a_symbolic_link_is_not_followed(run: Path, tmp_path: Path) -> None:
    (run / "reviews.lock").unlink(missing_ok=True)
    (run / "reviews.lock").symlink_to(tmp_path / "outside")
    with pytest.raises(RunError, match="reviews cannot be written"):
        load_run(run).review(0, "accepted")
    assert not (tmp_path / "outside").exists()
