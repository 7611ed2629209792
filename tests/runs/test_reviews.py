"""Reviews: kept in the run folder, in turn with other processes, never lost and never overwritten when damaged."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thence as th
from tests.helpers.rule_sets import rule_sets
from thence.errors import ConfigError, RunError
from thence.runs.reviews import (
    REVIEWS,
    Review,
    Reviews,
    hold_reviews,
    load_reviews,
    save_review,
    save_reviews,
    select_reviewed,
    with_reviews,
)
from thence.runs.run import Run, find_left_out, load_run
from thence.statements.keys import key_text
from thence.statements.rules.ruleset import RuleSet

KEY, OTHER = "00000000000000aa", "00000000000000bb"
TEXTS = st.text(st.characters(codec="utf-8"), max_size=30)


@pytest.fixture
def run(tmp_path: Path, mined: Run) -> Run:
    return mined.save(tmp_path / "run")


@pytest.fixture(scope="module")
def mined() -> Run:
    return th.mine(th.datasets.load("net3", days=7), progress="off")


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["accepted", "rejected", ""]), st.none() | TEXTS)))
def test_what_is_saved_is_what_was_said_last(said: list[tuple[int, Any, str | None]]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        expected: dict[str, tuple[str, str]] = {}
        for number, verdict, note in said:
            key = key_text(number)
            kept = expected.get(key, ("", ""))[1] if note is None else note
            expected[key] = (verdict, kept)
            if not verdict and not kept:
                del expected[key]
            saved = save_review(folder, key, verdict, note)
            assert {key: (one.verdict, one.note) for key, one in saved.items()} == expected
        assert {key: (one.verdict, one.note) for key, one in load_reviews(folder).items()} == expected


def test_a_review_says_when_of_what_and_by_whom(tmp_path: Path) -> None:
    save_review(tmp_path, KEY, "rejected", "a coincidence", sentence="if a, then b \ud800", by="Ann")
    review = load_reviews(tmp_path)[KEY]
    assert (review.verdict, review.note, review.by) == ("rejected", "a coincidence", "Ann")
    assert review.sentence == "if a, then b ?" and review.time.endswith("+00:00")
    save_review(tmp_path, KEY, "accepted")
    assert load_reviews(tmp_path)[KEY].sentence == review.sentence


@pytest.mark.parametrize(
    ("key", "verdict", "note", "message"),
    [
        ("12", "accepted", "", "16 hexadecimal digits"),
        (KEY.upper(), "accepted", "", "16 hexadecimal digits"),
        (KEY, "reject", "", "did you mean 'rejected'"),
        (KEY, "accepted", "\ud800", "UTF-8 cannot hold"),
        (KEY, "accepted", "x" * 10_001, "10,000 characters"),
        (KEY, "accepted", 7, "must be a string"),
    ],
)
def test_what_cannot_be_stored_is_refused(tmp_path: Path, key: str, verdict: Any, note: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        save_review(tmp_path, key, verdict, note)
    assert not (tmp_path / REVIEWS).exists()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"format": "thence reviews", "version": 1, "reviews": []}',
        '{"format": "thence reviews", "version": 1, "reviews": {"x": {}}}',
        f'{{"format": "thence reviews", "version": 1, "reviews": {{"{KEY}": 3}}}}',
        f'{{"format": "thence reviews", "version": 1, "reviews": {{"{KEY}": {{"verdict": "yes"}}}}}}',
        f'{{"format": "thence reviews", "version": 2, "reviews": {{"{KEY}": {{"verdict": "maybe"}}}}}}',
        '{"format": "thence reviews", "version": "x", "reviews": {}}',
    ],
)
def test_a_damaged_or_newer_file_is_an_error_and_stays_as_it_is(run: Run, text: str) -> None:
    assert run.path is not None
    (run.path / REVIEWS).write_text(text)
    for attempt in (
        lambda: run.reviews,
        lambda: run.review(0, "accepted"),
        lambda: run.reviewed_rules(),
        lambda: find_left_out(run),
    ):
        with pytest.raises(RunError, match="reviews") as found:
            attempt()
        assert found.value.hint
    assert (run.path / REVIEWS).read_text() == text
    # Replacing the run loses nothing either.
    assert run.save(run.path, force=True).path == run.path
    assert (run.path / REVIEWS).read_text() == text


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / REVIEWS).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RunError, match="restore a copy"):
        load_reviews(tmp_path)


def test_entries_and_fields_that_are_not_known_are_kept(tmp_path: Path) -> None:
    data = {"format": "thence reviews", "version": 1, "made by": "x", "reviews": {OTHER: {"verdict": "", "mood": 1}}}
    (tmp_path / REVIEWS).write_text(json.dumps(data))
    save_review(tmp_path, KEY, "accepted")
    save_review(tmp_path, OTHER, "rejected")
    stored = json.loads((tmp_path / REVIEWS).read_text())
    assert stored["made by"] == "x" and stored["reviews"][OTHER]["mood"] == 1
    assert stored["reviews"][OTHER]["verdict"] == "rejected" and KEY in stored["reviews"]


def _review_many(folder: str, first: int, number: int) -> None:
    for at in range(first, first + number):
        save_review(folder, key_text(at), "accepted", f"note {at}")


def test_two_processes_and_threads_write_in_turn(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_review_many, args=(str(tmp_path), 1000 * k, 25)) for k in range(2)]
    threads = [threading.Thread(target=_review_many, args=(str(tmp_path), 1000 * k, 25)) for k in (2, 3)]
    workers: list[Any] = [*processes, *threads]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    assert [process.exitcode for process in processes] == [0, 0]
    assert len(load_reviews(tmp_path)) == 100
    assert {path.name for path in tmp_path.iterdir()} == {REVIEWS, "reviews.lock"}


def test_reviews_made_while_a_run_is_replaced_are_kept(run: Run, mined: Run) -> None:
    assert run.path is not None
    folder, stop, failed = run.path, threading.Event(), []
    said: list[int] = []

    def review() -> None:
        at = 0
        while not stop.is_set():
            try:
                save_review(folder, key_text(at), "accepted")
            except Exception as error:
                failed.append(error)
                return
            said.append(at)
            at += 1

    thread = threading.Thread(target=review)
    thread.start()
    # A busy machine may give the thread no time at all.
    for _ in range(1000):
        mined.save(folder, force=True)
        if len(said) > 4 or failed:
            break
    stop.set()
    thread.join()
    assert not failed, failed[0]
    assert set(load_reviews(folder)) == {key_text(at) for at in said}
    assert len(said) > 2


def test_a_lock_that_is_never_released_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thence.runs.reviews._PATIENCE", 0.1)
    with hold_reviews(tmp_path), pytest.raises(RunError, match="another process"):
        save_review(tmp_path, KEY, "accepted")
    save_review(tmp_path, KEY, "accepted")


def test_a_folder_that_does_not_exist_or_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="cannot be written"):
        save_review(tmp_path / "none", KEY, "accepted")
    assert not (tmp_path / "none").exists()
    if os.geteuid() != 0:
        tmp_path.chmod(0o500)
        with pytest.raises(RunError, match="cannot be written"):
            save_review(tmp_path, KEY, "accepted")
        tmp_path.chmod(0o700)


@settings(deadline=None)
@given(rule_sets(), st.lists(st.sampled_from(["accepted", "rejected", ""]), min_size=12, max_size=12), st.booleans())
def test_rules_are_selected_by_their_reviews(rules: RuleSet, verdicts: list[Any], foreign: bool) -> None:
    keys = [key_text(key) for key in rules.keys]
    reviews = {key: Review(verdict, "n") for key, verdict in zip(keys, verdicts, strict=False)}
    by_key = Reviews({**reviews, **({KEY: Review("rejected")} if foreign else {})})
    said = [by_key[key].verdict for key in keys]
    assert select_reviewed(rules, by_key).tolist() == [one != "rejected" for one in said]
    assert select_reviewed(rules, by_key, "accepted").tolist() == [one == "accepted" for one in said]
    assert select_reviewed(rules, by_key, "all").all()
    assert by_key.at(rules) == {at: by_key[key] for at, key in enumerate(keys)}
    marked = with_reviews(rules, by_key)
    if len(rules):
        assert marked.extras["review"].tolist() == said
    assert not select_reviewed(rules, Reviews(), "accepted").any()
    assert with_reviews(rules, Reviews()) is rules


def test_an_unknown_choice(run: Run) -> None:
    with pytest.raises(ConfigError, match="did you mean 'accepted'"):
        run.reviewed_rules("acepted")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="reviewed must be one of"):
        th.apply(run, th.datasets.load("toy"), reviewed="some")  # type: ignore[arg-type]


def test_rules_laws_and_controls_of_a_run_are_reviewed(run: Run) -> None:
    assert run.laws and run.controls
    run.review(1, "rejected", "a coincidence")
    run.review(run.rules.rule(0), "accepted")
    run.review(run.laws[0], "accepted", by="Ann")
    run.review(run.controls[0], "rejected")
    run.review(run.rules.rule(1).key, "rejected")
    back = load_run(run.path or "")
    assert repr(back.reviews) == "Reviews(2 accepted, 2 rejected)"
    assert back.reviews[run.rules.rule(1).key].note == "a coincidence"
    assert back.reviews[run.rules.rule(1).key].sentence == run.rules.rule(1).english
    kept = back.reviewed_rules()
    assert list(kept) == [run.rules.rule(at) for at in range(len(run.rules)) if at != 1]
    assert kept.extras["review"].tolist()[:2] == ["accepted", ""]
    assert list(back.reviewed_rules("accepted")) == [run.rules.rule(0)]
    out = find_left_out(back)
    assert (set(out.rules), set(out.laws), set(out.controls)) == ({1}, set(), {0})
    assert out.notes[0].startswith("1 rule is left out, rejected in a review")
    assert find_left_out(back, "all") == find_left_out(run, "all")
    assert find_left_out(back, "accepted").laws == frozenset(range(1, len(run.laws)))


def test_what_the_run_does_not_have_cannot_be_reviewed(run: Run, mined: Run) -> None:
    wrong: list[Any] = [len(run.rules), -1, True, KEY, "no key", 1.5]
    for what in wrong:
        with pytest.raises(ConfigError):
            run.review(what, "accepted")
    with pytest.raises(RunError, match="save it"):
        mined.review(0, "accepted")
    assert not mined.reviews


def test_a_run_that_replaces_another_keeps_all_reviews_and_says_so(run: Run, mined: Run) -> None:
    run.review(0, "rejected", "x")
    save_review(run.path or "", KEY, "accepted")
    before = ((run.path or Path()) / REVIEWS).read_bytes()
    again = mined.save(run.path or "", force=True)
    assert ((run.path or Path()) / REVIEWS).read_bytes() == before
    note = "2 reviews of the run that was replaced kept; 1 of them applies to this run"
    assert again.summary["notes"][-1] == note
    assert load_run(run.path or "").summary["notes"] == again.summary["notes"]


def test_a_copy_of_a_run_has_its_reviews_and_the_later_one_counts(run: Run, tmp_path: Path) -> None:
    run.review(0, "rejected", "first")
    copy = load_run(run.path or "").save(tmp_path / "copy")
    assert dict(copy.reviews) == dict(run.reviews)
    key = run.rules.rule(0).key
    later = Review("accepted", "later", "9999-01-01T00:00:00+00:00")
    save_reviews(copy.path or "", {key: later})
    merged = load_run(run.path or "").save(copy.path or "", force=True)
    assert merged.reviews[key].note == "later"
    shutil.copyfile((run.path or Path()) / REVIEWS, tmp_path / "copy" / REVIEWS)
    (run.path or Path()).joinpath(REVIEWS).write_text("damaged")
    assert load_run(run.path or "").save(copy.path or "", force=True).reviews[key].note == "first"


def test_a_run_without_reviews_writes_no_file(run: Run) -> None:
    names = {path.name for path in (run.path or Path()).iterdir()}
    assert REVIEWS not in names and "reviews.lock" not in names
    assert np.array_equal(run.reviewed_rules().antecedents, run.rules.antecedents)
    assert isinstance(run.reviews, Reviews) and not run.reviews


def test_removing_what_is_not_there_is_no_error(tmp_path: Path) -> None:
    clear: Callable[[], Reviews] = lambda: save_review(tmp_path, KEY, "", "")  # noqa: E731
    assert not clear() and not clear()
