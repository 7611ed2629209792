"""Scores of detectors against the worked examples of their definitions, and against plain counting."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.needs import PUBLISHED
from thence import scoring
from thence.errors import ConfigError, InputError
from thence.lab.scoring import _find_events


def on(steps: int, *spans: tuple[int, int], base: int = 1) -> np.ndarray:
    """Flags of ``steps`` steps that are on in spans of first and last step, numbered from ``base``."""
    out = np.zeros(steps, bool)
    for first, last in spans:
        out[first - base : last - base + 1] = True
    return out


flags = st.lists(st.booleans(), min_size=1, max_size=40)


class TestLeakDB:
    def test_counts_are_pooled_over_scenarios(self) -> None:
        score = scoring.leakdb([on(10, (5, 8)), on(10)], [on(10, (6, 9)), on(10, (2, 2))])
        assert (score.true_positives, score.false_negatives, score.false_positives, score.true_negatives) == (
            3,
            1,
            2,
            14,
        )
        assert score.f1 == pytest.approx(66.67, abs=0.005)
        assert score.true_positive_rate == 75
        assert score.true_negative_rate == 87.5

    @pytest.mark.parametrize(
        ("alarm", "alpha", "expected"),
        [
            ((104, 200), 5, 0.9313),
            ((104, 200), 6, 0.9176),
            ((151, 215), 5, 0.1833),
            ((201, 400), 5, 0.0202),
            ((101, 200), 5, 1.0),
            ((211, 400), 5, 0.0),
        ],
    )
    def test_early_detection(self, alarm: tuple[int, int], alpha: float, expected: float) -> None:
        score = scoring.leakdb([on(400, (101, 200))], [on(400, alarm)], alpha=alpha)
        assert score.early[0] == pytest.approx(expected, abs=5e-5)

    def test_a_short_event_needs_an_alarm_that_goes_on(self) -> None:
        assert scoring.leakdb([on(400, (101, 120))], [on(400, (101, 120))]).early == (0.0,)
        assert scoring.leakdb([on(400, (101, 131))], [on(400, (101, 131))]).early == (1.0,)
        assert scoring.leakdb([on(400, (101, 130))], [on(400, (101, 130))]).early == (0.0,)
        assert scoring.leakdb([on(400, (101, 130))], [on(400, (101, 130))], inclusive=True).early == (1.0,)

    def test_events_weigh_alike(self) -> None:
        label = [on(400, (101, 200))] * 3 + [on(400, (101, 120))]
        alarm = [on(400, (104, 200)), on(400, (151, 215)), on(400, (201, 400)), on(400, (101, 120))]
        assert scoring.leakdb(label, alarm).early_detection == pytest.approx(28.37, abs=0.005)

    def test_the_limit_at_the_end_of_the_window(self) -> None:
        assert 2 / (1 + math.exp(5)) == pytest.approx(0.0134, abs=5e-5)
        at_end = scoring.leakdb([on(400, (101, 200))], [on(400, (210, 210))]).early[0]
        assert at_end == pytest.approx(0.0134, abs=5e-5)

    def test_without_an_event_rates_are_undefined(self) -> None:
        score = scoring.leakdb([on(10)], [on(10)])
        assert math.isnan(score.early_detection)
        assert math.isnan(score.true_positive_rate)
        assert score.true_negative_rate == 100

    def test_events_at_the_ends_of_a_series_are_events_and_cut_no_other_window(self) -> None:
        label = on(100, (1, 5), (96, 100))
        assert scoring.leakdb([label], [np.ones(100, bool)]).early == (1.0, 1.0)
        assert scoring.leakdb([on(10, (10, 10))], [on(10, (10, 10))]).early == (1.0,)
        two = scoring.leakdb([on(100, (96, 100)), on(400, (101, 200))], [on(100, (96, 100)), on(400, (104, 200))])
        assert two.early == (1.0, pytest.approx(0.9313, abs=5e-5))

    def test_a_single_series_is_refused_with_advice(self) -> None:
        with pytest.raises(InputError, match=r"one per scenario.*\[labels\]"):
            scoring.leakdb([0, 1], [0, 1])
        with pytest.raises(InputError, match="same number of scenarios"):
            scoring.leakdb([[0, 1]], [])

    @given(flags, st.data())
    def test_a_perfect_detector_that_goes_on_scores_full(self, label: list[bool], data: st.DataObject) -> None:
        score = scoring.leakdb([label], [[True] * len(label)])
        assert all(one == 1.0 for one in score.early)
        assert len(score.early) == len(_find_events(np.array(label)))
        alarm = data.draw(st.lists(st.booleans(), min_size=len(label), max_size=len(label)))
        counts = scoring.leakdb([label], [alarm])
        total = counts.true_positives + counts.false_positives + counts.false_negatives + counts.true_negatives
        assert total == len(label)
        assert all(0 <= one <= 1 for one in counts.early)


class TestBattLeDIM:
    # Middle to middle: p1 to p2 is 150 m, p1 to p3 300 m, p1 to p4 more.
    PIPES: ClassVar = {"p1": ("a", "b", 100), "p2": ("b", "c", 200), "p3": ("c", "d", 100), "p4": ("d", "e", 2)}
    LEAK = scoring.LeakFlow("p1", np.where((np.arange(3000) >= 1000) & (np.arange(3000) < 2200), 6.0, 0.0))

    @pytest.mark.parametrize(
        ("reports", "total", "found", "wrong"),
        [
            ([("p1", 1000)], 480.00, 1, 0),
            ([("p2", 1120)], 182.40, 1, 0),
            ([("p3", 2190)], -495.60, 1, 0),
            ([("p1", 2200)], -500.00, 0, 1),
            ([("p2", 1120), ("p2", 1200), ("p1", 2200)], -317.60, 1, 1),
            ([("p1", 2200), ("p2", 1200), ("p2", 1120)], -317.60, 1, 1),
            ([("p1", 999)], -500.00, 0, 1),
            ([("p4", 1500)], -500.00, 0, 1),
            ([("p4", -5)], 0.00, 0, 0),
            ([], 0.00, 0, 0),
        ],
    )
    def test_examples(self, reports: list[tuple[str, int]], total: float, found: int, wrong: int) -> None:
        score = scoring.battledim(reports, [self.LEAK], self.PIPES)
        assert (score.total, score.true_positives, score.false_positives) == (total, found, wrong)
        assert score.false_negatives == 1 - found

    def test_step_0_is_read_as_1(self) -> None:
        leak = scoring.LeakFlow("p1", np.full(12, 1.0))
        assert scoring.battledim([("p1", 0)], [leak], self.PIPES).total == 0.80
        assert scoring.battledim([("p1", 1)], [leak], self.PIPES).total == 0.80

    def test_each_report_claims_the_nearest_free_leak_and_of_equal_ones_the_first(self) -> None:
        far = scoring.LeakFlow("p2", self.LEAK.flow)
        score = scoring.battledim([("p1", 1000), ("p1", 1001), ("p1", 1002)], [far, self.LEAK], self.PIPES)
        assert score.claimed == (1, 0, None)
        assert score.scores[2] == 0
        twins = scoring.battledim([("p1", 1000)], [self.LEAK, self.LEAK], self.PIPES)
        assert twins.claimed == (0,)

    @pytest.mark.needs("published data")
    def test_the_published_checks_of_2019(self) -> None:
        """What the organisers' code gives for reports of the true leaks."""
        flows = pl.read_parquet(PUBLISHED / "ltown" / "2019_leak_flows_m3h.parquet").drop("Timestamp")
        leaks = [scoring.LeakFlow(name, flows[name].to_numpy().astype(float)) for name in flows.columns]
        pipes = {leak.pipe: (f"{leak.pipe}a", f"{leak.pipe}b", 1000.0) for leak in leaks}
        on_the_spot = [(leak.pipe, leak.period[0]) for leak in leaks]
        every = scoring.battledim(on_the_spot, leaks, pipes)
        assert (every.true_positives, every.false_positives, every.false_negatives) == (23, 0, 0)
        assert every.total == pytest.approx(523_153.82, abs=0.5)
        at = [leak.pipe for leak in leaks].index("p523")
        assert every.scores[at] == pytest.approx(8_902.72, abs=0.02)

    def test_unknown_pipes_and_leaks_without_flow_are_refused(self) -> None:
        with pytest.raises(InputError, match="no pipe 'p9'"):
            scoring.battledim([("p9", 1)], [self.LEAK], self.PIPES)
        with pytest.raises(InputError, match="no outflow"):
            scoring.battledim([("p1", 1)], [scoring.LeakFlow("p1", np.zeros(3))], self.PIPES)

    def test_distances_are_the_shortest(self) -> None:
        ring = {"a": ("1", "2", 10), "b": ("2", "3", 100), "c": ("3", "4", 10), "d": ("4", "1", 30)}
        assert scoring.pipe_distances("a", ring) == {"a": 0.0, "b": 55.0, "c": 40.0, "d": 20.0}
        assert scoring.pipe_distances("a", ring, most=40) == {"a": 0.0, "c": 40.0, "d": 20.0}
        apart = {"a": ("1", "2", 10), "b": ("3", "4", 10)}
        assert scoring.pipe_distances("a", apart) == {"a": 0.0}


class TestDetectionScore:
    LABEL = on(1000, (100, 149), (500, 519), base=0)

    def test_silent_and_always_on(self) -> None:
        silent = scoring.detection_score(self.LABEL, np.zeros(1000, bool))
        assert (silent.time_score, silent.class_score, silent.score) == (0, 0.5, 0.25)
        always = scoring.detection_score(self.LABEL, np.ones(1000, bool))
        assert (always.time_score, always.class_score, always.score, always.tnr) == (1, 0.5, 0.75, 0)

    def test_one_found_and_one_missed(self) -> None:
        alarm = on(1000, (105, 144), (200, 218), base=0)
        score = scoring.detection_score(self.LABEL, alarm)
        assert score.time_score == pytest.approx(0.45)
        assert score.tpr == pytest.approx(0.5714, abs=5e-5)
        assert score.tnr == pytest.approx(0.9796, abs=5e-5)
        assert score.class_score == pytest.approx(0.7755, abs=5e-5)
        assert score.score == pytest.approx(0.6127, abs=5e-5)
        assert score.delays == (5, None)

    def test_length_as_last_less_first(self) -> None:
        late = scoring.detection_score(on(10, (3, 6)), on(10, (6, 6)), length="last-first")
        assert late.time_score == 0
        hit = scoring.detection_score(on(10, (3, 3)), on(10, (3, 3)), length="last-first")
        miss = scoring.detection_score(on(10, (3, 3)), on(10), length="last-first")
        assert (hit.time_score, miss.time_score) == (1, 0)
        with pytest.raises(ConfigError, match="length"):
            scoring.detection_score([0, 1], [0, 1], length="hours")  # type: ignore[arg-type]

    def test_without_an_attack_or_a_normal_step_it_is_undefined(self) -> None:
        assert math.isnan(scoring.detection_score([0, 0], [0, 1]).score)
        assert math.isnan(scoring.detection_score([1, 1], [0, 1]).score)

    @given(flags, st.data())
    def test_it_lies_between_0_and_1(self, label: list[bool], data: st.DataObject) -> None:
        alarm = data.draw(st.lists(st.booleans(), min_size=len(label), max_size=len(label)))
        score = scoring.detection_score(label, alarm)
        if any(label) and not all(label):
            assert 0 <= score.score <= 1


class TestF1:
    def test_examples(self) -> None:
        label, alarm = on(100, (1, 20)), on(100, (1, 1), (50, 50), (60, 60))
        assert scoring.f1_score(label, alarm).f1 == pytest.approx(2 / 23)
        assert scoring.f1_score(label, alarm, adjust_above=0).f1 == pytest.approx(40 / 42)
        assert scoring.f1_score(label, alarm, adjust_above=0.05).f1 == pytest.approx(2 / 23)
        adjusted = scoring.PointScore(634, 90, 366)
        assert adjusted.f1 == pytest.approx(0.74, abs=0.005)

    def test_the_alarms_of_the_caller_stay_as_they_are(self) -> None:
        alarm = on(10, (1, 1))
        scoring.f1_score(on(10, (1, 5)), alarm, adjust_above=0)
        assert alarm.sum() == 1

    @given(flags, st.data())
    def test_adjustment_never_lowers_it(self, label: list[bool], data: st.DataObject) -> None:
        alarm = data.draw(st.lists(st.booleans(), min_size=len(label), max_size=len(label)))
        plain, adjusted = scoring.f1_score(label, alarm), scoring.f1_score(label, alarm, adjust_above=0)
        assert adjusted.true_positives >= plain.true_positives
        assert adjusted.false_positives == plain.false_positives


class TestRanges:
    LABEL, ALARM = on(30, (10, 19)), on(30, (12, 14), (18, 22))

    def test_examples(self) -> None:
        flat = scoring.range_f1_score(self.LABEL, self.ALARM)
        assert (flat.recall, flat.precision) == (pytest.approx(0.5), pytest.approx(0.7))
        assert flat.f1 == pytest.approx(0.583, abs=5e-4)
        split = scoring.range_f1_score(self.LABEL, self.ALARM, fragments="reciprocal")
        assert split.recall == pytest.approx(0.25)
        both = scoring.range_f1_score(self.LABEL, self.ALARM, fragments="reciprocal", existence=0.5)
        assert both.recall == pytest.approx(0.625)
        assert scoring.range_f1_score(self.LABEL, self.ALARM, bias="front").recall == pytest.approx(24 / 55)

    def test_wrong_settings_are_refused(self) -> None:
        for wrong in ({"bias": "middle"}, {"existence": 2}, {"fragments": "no"}):
            with pytest.raises(ConfigError):
                scoring.range_f1_score(self.LABEL, self.ALARM, **wrong)


class TestFaults:
    def test_by_fault_and_intensity(self) -> None:
        faults = ["valve, 20 %"] * 3 + [None] * 2 + ["valve, 50 %"] * 2 + ["valve, 20 %"]
        twenty, fifty, normal = scoring.detection_by_fault(faults, [0, 0, 1, 1, 0, 1, 1, 0])
        assert (twenty.events, twenty.found, twenty.steps, twenty.alarmed, twenty.delays) == (2, 1, 4, 1, (2,))
        assert (fifty.found, fifty.alarmed_share) == (1, 1.0)
        assert (normal.fault, normal.steps, normal.alarmed) == (None, 2, 1)

    def test_lengths_must_agree(self) -> None:
        with pytest.raises(InputError, match="same number of steps"):
            scoring.detection_by_fault(["a"], [0, 1])


@pytest.mark.parametrize(
    ("labels", "message"),
    [([0, 2], "got 2 at step 1"), ([[0, 1]], "2 dimensions"), (["a", "b"], "0 or 1"), ([0, 1, 0], "same number")],
)
def test_what_is_no_label_is_refused(labels: list[object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        scoring.f1_score(labels, [0, 1])


@given(flags)
def test_events_are_the_steps_that_are_on(values: list[bool]) -> None:
    rebuilt = np.zeros(len(values), bool)
    for first, last in _find_events(np.array(values)):
        assert not rebuilt[max(first - 1, 0) : last + 1].any()
        rebuilt[first : last + 1] = True
    assert rebuilt.tolist() == values
