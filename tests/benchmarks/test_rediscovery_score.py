"""The score of the rediscovery benchmark: which proposals count as a true control, and which laws as physics."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks._rediscovery_score import Condition, Proposal, add_scores, physics_of, score_controls, threshold_error
from thence.lab.datasets.library import TrueControl
from thence.statements.laws.law import Law
from thence.statements.laws.terms import Condition as LawCondition
from thence.statements.laws.terms import Term

OPENS = TrueControl(
    actuator="status_P",
    status="open",
    sensor="level_T",
    direction="below",
    threshold=2.0,
    acted=20,
    sensor_range=4.0,
)
CLOSES = replace(OPENS, status="closed", direction="above", threshold=5.0, acted=19)
RARE = replace(CLOSES, actuator="status_Q", acted=3)
CLOCK = TrueControl(actuator="status_R", status="open", threshold=23.5, acted=28, sensor_range=24.0)


def propose(control: TrueControl, off: float = 0.0, **changes: str) -> Proposal:
    condition = Condition(control.sensor, control.direction, control.threshold + off)
    proposal = Proposal(control.actuator, control.status, (condition,))
    return replace(proposal, **changes)  # type: ignore[arg-type]


def test_a_control_is_recalled_within_five_per_cent_of_the_range() -> None:
    assert threshold_error(propose(OPENS, 0.2), OPENS) == pytest.approx(0.05)
    score = score_controls([propose(OPENS, 0.19), propose(CLOSES, 0.21)], [OPENS, CLOSES])
    assert (score.controls, score.recalled, score.looked_at, score.true) == (2, 1, 2, 1)
    assert (score.recall, score.precision) == (0.5, 0.5)
    assert score.error == pytest.approx(0.19 / 4)


@pytest.mark.parametrize(
    "wrong",
    [
        propose(OPENS, actuator="status_Q"),
        propose(OPENS, status="closed"),
        Proposal("status_P", "open", (Condition("level_U", "below", 2.0),)),
        Proposal("status_P", "open", (Condition("level_T", "above", 2.0),)),
        Proposal("status_P", "open", ()),
    ],
)
def test_actuator_status_tank_and_direction_have_to_agree(wrong: Proposal) -> None:
    assert threshold_error(wrong, OPENS) == math.inf
    assert score_controls([wrong], [OPENS]).recalled == 0


def test_any_condition_of_a_rule_may_be_the_true_one() -> None:
    """A bin has two ends, and an antecedent several items: peers get the benefit."""
    ends = (Condition("level_T", "above", 1.2), Condition("level_U", "below", 0.0), Condition("level_T", "below", 2.1))
    assert threshold_error(Proposal("status_P", "open", ends), OPENS) == pytest.approx(0.025)


def test_rare_controls_do_not_count_for_recall_but_are_true() -> None:
    score = score_controls([propose(RARE), propose(OPENS)], [OPENS, RARE])
    assert (score.controls, score.recalled, score.true) == (1, 1, 2)


def test_only_the_best_five_per_control_are_looked_at() -> None:
    junk = [Proposal("status_P", "open", (Condition("level_U", "below", float(k)),)) for k in range(5)]
    late = score_controls([*junk, propose(OPENS)], [OPENS])
    assert (late.recalled, late.looked_at, late.true) == (0, 5, 0)
    assert score_controls([*junk[1:], propose(OPENS)], [OPENS]).recalled == 1


def test_the_first_proposal_of_a_control_is_the_one_whose_error_counts() -> None:
    assert score_controls([propose(OPENS, 0.1), propose(OPENS)], [OPENS]).errors == (pytest.approx(0.025),)


def test_hours_go_round() -> None:
    assert threshold_error(propose(CLOCK, 1.0), CLOCK) == pytest.approx(1 / 24)
    assert threshold_error(Proposal("status_R", "open", (Condition("", None, 0.5),)), CLOCK) == pytest.approx(1 / 24)
    assert score_controls([propose(CLOCK, 2.0)], [CLOCK]).recalled == 0


def test_scores_of_several_networks_are_added_up() -> None:
    first = score_controls([propose(OPENS, 0.1)], [OPENS])
    second = score_controls([propose(CLOSES, 1.0)], [CLOSES, RARE])
    both = add_scores([first, second])
    assert (both.controls, both.recalled, both.looked_at, both.true, both.errors) == (2, 1, 2, 1, first.errors)


def test_nothing_proposed_or_nothing_true() -> None:
    nothing = score_controls([], [OPENS])
    assert nothing.recall == 0 and math.isnan(nothing.precision) and math.isnan(nothing.error)
    assert math.isnan(score_controls([propose(OPENS)], []).recall)


@given(st.lists(st.tuples(st.sampled_from([OPENS, CLOSES, RARE, CLOCK]), st.floats(-1, 1)), max_size=30))
def test_shares_are_shares(drawn: list[tuple[TrueControl, float]]) -> None:
    score = score_controls([propose(control, off) for control, off in drawn], [OPENS, CLOSES, RARE, CLOCK])
    assert 0 <= score.recalled <= score.controls == 3
    assert 0 <= score.true <= score.looked_at <= 15
    assert len(score.errors) == score.recalled
    assert all(error <= 0.05 for error in score.errors)


def test_laws_are_told_apart_by_form_and_terms() -> None:
    flow, pressure = Term("reading", "flow", unit="m3/h"), Term("reading", "pressure", role="start", unit="m")
    arriving, leaving = (Term("total", "flow", role=role, unit="m3/h") for role in ("in", "out"))
    demand, level = Term("reading", "demand", unit="m3/h"), Term("reading", "level", unit="m", change="next")
    head, tail = replace(pressure, plus="elevation"), replace(pressure, plus="elevation", role="end")
    net = ((1, arriving), (-1, leaving))
    closed = LawCondition("state", "status", "closed")
    one_way = LawCondition("property", "check_valve", "True")
    expected = {
        "mass balance": Law("equal", "", ((1, demand),), net),
        "tank": Law("proportional", "", ((1, level),), net),
        "closed": Law("equal", "", ((1, flow),), (), condition=closed),
        "head": Law("sign", "", ((1, flow),), ((1, head), (-1, tail))),
        "check valve": Law("at_least", "", ((1, flow),), (), condition=one_way),
        "reducing valve": Law("equal", "", ((1, pressure),), ((1, Term("property", "setting")),)),
    }
    assert {name: physics_of(law) for name, law in expected.items()} == {name: name for name in expected}
    assert physics_of(Law("at_least", "", ((1, demand),))) is None
    assert physics_of(Law("sign", "", ((1, flow),), ((1, pressure), (-1, replace(pressure, role="end"))))) is None
