"""``thence review``, and the commands that leave out what was rejected."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

import thence as th
from tests.helpers.commands import fail, succeed
from thence.runs.run import Run, load_run


@pytest.fixture(scope="module")
def mined() -> Run:
    return th.mine(th.datasets.load("net3", days=7), progress="off")


@pytest.fixture
def run(mined: Run, tmp_path: Path) -> Path:
    return mined.save(tmp_path / "run").path or tmp_path


@pytest.fixture(scope="module")
def toy() -> Run:
    return th.mine(th.datasets.load("toy"), windows="1h", bins=3, refine=None, progress="off")


def verdicts(run: Path) -> dict[str, tuple[str, str]]:
    return {key: (one.verdict, one.note) for key, one in load_run(run).reviews.items()}


def test_rules_are_accepted_rejected_annotated_and_cleared(run: Path, mined: Run) -> None:
    keys = [rule.key for rule in mined.rules]
    assert succeed("review", run).startswith("no reviews")
    out = succeed("review", run, "--accept", "1", "--reject", "2,3", "--note", "seen", "--by", "Ann")
    assert f"✓ accepted: seen – 1: {mined.rules.rule(0).english}" in out
    expected = {keys[0]: ("accepted", "seen"), keys[1]: ("rejected", "seen"), keys[2]: ("rejected", "seen")}
    assert verdicts(run) == expected
    succeed("review", run, "--annotate", "2", "--note", "why?", "--clear", keys[2], "--reject", "1")
    assert verdicts(run) == {keys[0]: ("rejected", "why?"), keys[1]: ("rejected", "why?")}
    succeed("review", run, "--accept", "1", "--quiet")
    assert verdicts(run)[keys[0]] == ("accepted", "why?")
    listed = json.loads(succeed("review", run, "--json"))["reviews"]
    assert [one["number"] for one in listed] == ["1", "2"]
    assert listed[0]["key"] == keys[0] and listed[0]["sentence"] == mined.rules.rule(0).english
    assert "1  ✓ accepted: why?" in succeed("review", run, "--list")


def test_laws_and_the_controls_of_a_sentence_are_reviewed_together(run: Path, mined: Run) -> None:
    assert mined.laws and mined.controls
    succeed("review", run, "--reject", "law:1", "--accept", "control:1")
    said = verdicts(run)
    assert said.pop(mined.laws[0].key) == ("rejected", "")
    first = mined.controls[0]
    group = [one for one in mined.controls if (one.actuator, one.sensor) == (first.actuator, first.sensor)]
    assert said == {one.key: ("accepted", "") for one in group}
    shown = succeed("show", run)
    assert shown.index("✗ rejected") < shown.index("Controls") < shown.index("✓ accepted")


def test_what_show_prints_is_what_review_takes(run: Path, mined: Run) -> None:
    told = json.loads(succeed("show", run, "--by", "confidence", "--top", "3", "--json"))["rules"]
    for one in told:
        rule = mined.rules.rule(one["number"] - 1)
        assert one["english"] == rule.english and one["key"] == rule.key
    last = told[-1]["number"]
    succeed("review", run, "--reject", str(last), "--note", "line\nbreak [bold]")
    shown = succeed("show", run, "--by", "confidence", "--top", "3")
    assert "✗ rejected: line break [bold]" in shown
    numbers = [int(found) for found in re.findall(r"^ *(\d+)  (?:for|if)", shown.partition("Rules")[2], re.M)]
    assert numbers == [one["number"] for one in told]
    assert "in a review" not in shown
    fewer = succeed("show", run, "--reviewed", "not-rejected")
    assert "✗" not in fewer and "1 rule is left out, rejected in a review" in fewer


def test_a_rule_with_a_review_is_told_alone(run: Path, mined: Run) -> None:
    entry = next(entry for entry in mined.rules.entries if len(entry) > 2)
    out = succeed("review", run, "--reject", str(entry[1] + 1))
    rest = ", ".join(str(at + 1) for at in entry if at != entry[1])
    assert f"shown together with {entry[1] + 1}, not reviewed: {rest}" in out
    shown = succeed("show", run, "--top", "0")
    assert shown.count("✗ rejected") == 1 and mined.rules.rule(entry[1]).english[:60] in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--reject", "0"], "the run has no rule 0"),
        (["--reject", "999"], "rules are numbered from 1 to"),
        (["--reject", "law:99"], "the run has no law 99"),
        (["--reject", "lw:1"], "names nothing that can be reviewed"),
        (["--reject", "pump"], "no rule, law or control 'pump'"),
        (["--reject", "00000000000000aa"], "no rule, law or control"),
        (["--accept", "1", "--reject", "1"], "reviewed twice"),
        (["--note", "x"], "--note needs a rule"),
        (["--annotate", "1"], "--annotate needs a note"),
        (["--annotate", "1", "--note", "x" * 10_001], "10,000 characters"),
    ],
)
def test_mistakes(run: Path, arguments: list[str], message: str) -> None:
    assert message in fail("review", run, *arguments)
    assert verdicts(run) == {}


def test_a_folder_that_is_no_run_or_has_damaged_reviews(run: Path, tmp_path: Path) -> None:
    assert "no such run folder" in fail("review", tmp_path / "none", "--reject", "1")
    (run / "reviews.json").write_text("{")
    for command in (["review"], ["review", "--reject", "1"], ["show"], ["export", "--to", str(tmp_path / "a.csv")]):
        assert "file of reviews is not valid JSON" in fail(command[0], run, *command[1:])
    assert (run / "reviews.json").read_text() == "{"
    assert not (tmp_path / "a.csv").exists()


@pytest.mark.parametrize("suffix", ["json", "parquet", "csv", "md", "rq", "ttl"])
def test_every_export_leaves_out_what_was_rejected(suffix: str, toy: Run, tmp_path: Path) -> None:
    path = toy.save(tmp_path / "run").path or tmp_path
    succeed("review", path, "--reject", "1", "--accept", "2", "--note", "a | b, <c>", "--quiet")
    target = tmp_path / f"rules.{suffix}"
    told = json.loads(succeed("export", path, "--to", target, "--json"))
    assert (told["rules"], told["left_out"]) == (len(toy.rules) - 1, 1)
    assert "1 rule is left out, rejected" in succeed("export", path, "--to", target)
    if suffix in ("json", "parquet"):
        back = th.read_rules(target)
        assert back.extras["review"].tolist()[:2] == ["accepted", ""]
        assert back.extras["review_note"].tolist()[:2] == ["a | b, <c>", ""]
        assert any("rejected in a review" in note for note in back.notes)
    if suffix == "csv":
        with target.open(encoding="utf-8", newline="") as file:
            first = next(csv.DictReader(file))
        assert (first["review"], first["review_note"]) == ("accepted", "a | b, <c>")
    if suffix == "md":
        assert "| accepted | a \\| b, \\<c\\> |" in target.read_text(encoding="utf-8")
    every = json.loads(succeed("export", path, "--to", target, "--reviewed", "all", "--json"))
    assert every["rules"] == len(toy.rules)
    some = json.loads(succeed("export", path, "--to", target, "--reviewed", "accepted", "--json"))
    assert some["rules"] == 1


def test_apply_and_detect_take_the_reviews_of_the_run(toy: Run, tmp_path: Path) -> None:
    path = tmp_path / "run"
    succeed("mine", "--dataset", "toy", "--windows", "1h", "--bins", "3", "--no-confirm", "--out", path, "--quiet")
    succeed("review", path, "--reject", "1", "--quiet")
    told = json.loads(succeed("apply", path, "--dataset", "toy", "--json"))
    assert told["by_rule"][0]["verdict"] == "left out"
    assert (
        "left out"
        not in json.loads(succeed("apply", path, "--dataset", "toy", "--reviewed", "all", "--json"))["verdicts"]
    )
    assert "reviews of a run" in fail(
        "detect", "--dataset", "toy", "--normal-until", "2024-01-02", "--reviewed", "accepted"
    )


def test_replacing_a_run_keeps_its_reviews(tmp_path: Path) -> None:
    job = ["mine", "--dataset", "toy", "--windows", "1h", "--bins", "3", "--no-confirm", "--out", str(tmp_path / "run")]
    succeed(*job, "--quiet")
    succeed("review", tmp_path / "run", "--reject", "1", "--quiet")
    before = verdicts(tmp_path / "run")
    assert "1 review of the run that was replaced kept; 1 of them applies" in succeed(*job, "--force")
    assert verdicts(tmp_path / "run") == before


def test_laws_and_controls_are_exported_beside_rules(run: Path, mined: Run, tmp_path: Path) -> None:
    laws, controls = mined.laws, mined.controls
    assert laws and controls
    rules = succeed("export", run, "--to", tmp_path / "rules.json")
    assert "rules as json" in rules and len(th.read_rules(tmp_path / "rules.json")) == len(mined.rules)
    succeed("review", run, "--reject", "law:1")
    out = succeed("export", run, "--to", tmp_path / "all.csv", "--statements", "all")
    assert f"{len(controls):,} controls, {len(laws) - 1:,} laws, {len(mined.rules):,} rules as csv" in out
    assert "1 law is left out, rejected in a review" in out
    with (tmp_path / "all.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["key"] for row in rows] == [one.key for one in (*controls, *laws[1:], *mined.rules)]
    told = json.loads(succeed("export", run, "--to", tmp_path / "laws.rq", "--statements", "laws,controls", "--json"))
    assert (told["laws"], told["controls"], told["left_out"]) == (len(laws) - 1, len(controls), 1)
    assert "rules" not in told and len(told["not_written"]) >= len(laws) - 1
    told = json.loads(
        succeed("export", run, "--to", tmp_path / "a.md", "--statements", "all", "--kind", "Level", "--json")
    )
    assert told["controls"] == sum("level" in one.about.kinds for one in controls)
    assert "there is no kind of statement" in fail("export", run, "--to", tmp_path / "a.csv", "--statements", "mice")
