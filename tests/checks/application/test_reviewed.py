"""Reviews and ``apply``: rejected rules, laws and controls are left out, keep their numbers, and a note says so."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import thence as th
from thence.runs.run import Run

DATA = th.datasets.load("net3", days=7)


@pytest.fixture
def run(tmp_path: Path, mined: Run) -> Run:
    return mined.save(tmp_path / "run")


@pytest.fixture(scope="module")
def mined() -> Run:
    return th.mine(DATA, progress="off")


def test_what_was_rejected_is_left_out_and_keeps_its_number(run: Run) -> None:
    before = th.apply(run, DATA)
    assert run.laws and run.controls
    run.review(1, "rejected")
    run.review(run.laws[0], "rejected")
    run.review(run.controls[0], "rejected")
    after = th.apply(run, DATA)
    verdicts = after.by_rule()["verdict"].to_list()
    assert verdicts[1] == "left out" and verdicts.count("left out") == 1
    others = pl.col("rule") != 1
    assert after.by_rule().filter(others).equals(before.by_rule().filter(others))
    assert after.counts[1].sum() == 0 and after.not_bound().height == 0
    assert after.violations(1).height == 0
    assert after.laws()["verdict"][0] == after.controls()["verdict"][0] == "left out"
    assert [note for note in after.notes if "left out" in note] == [
        f"1 {noun} is left out, rejected in a review (reviewed='all' or --reviewed all uses it too)"
        for noun in ("rule", "law", "control")
    ]
    assert "1 is left out" in str(after) and after.verdicts["left out"] == 1
    assert th.apply(run, DATA, reviewed="all").by_rule().equals(before.by_rule())
    # Rules that were chosen are applied as they are.
    assert th.apply(run.rules, DATA, like=run).by_rule().equals(before.by_rule())


def test_only_what_was_accepted(run: Run) -> None:
    run.review(0, "accepted")
    applied = th.apply(run, DATA, reviewed="accepted")
    assert applied.verdicts["left out"] == len(run.rules) - 1
    assert applied.by_rule()["verdict"][0] == "holds"
    assert f"{len(run.rules) - 1} rules are left out, not accepted in a review" in " ".join(applied.notes)


def test_all_rules_may_be_rejected(run: Run) -> None:
    for number in range(len(run.rules)):
        run.review(number, "rejected")
    applied = th.apply(run, DATA)
    assert applied.verdicts == {"left out": len(run.rules)}
    assert applied.by_place().height == 0 and applied.violations().height == 0
    assert "are left out" in str(applied) and applied.describe()["applied"] == 0
