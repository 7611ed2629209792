"""Whatever a file or an option holds, it is read or refused with an error of Thence: no other exception, no hang."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.fuzz.campaign import defects, run, table
from tests.fuzz.targets import KEPT, MISBEHAVED, OPTIONS, TARGETS, kept_jobs
from tests.fuzz.watch import GOOD, judge, watch, write_case

CASES, MANY, SHARDS = 2_000, 100_000, 40
WITHOUT_OPTIONS = {"command": b'["show", "RUN"]', "reader options": b"{}"}

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is watched in /proc")


@pytest.mark.parametrize("name", TARGETS)
def test_the_cases_that_mutations_start_from_are_read(name: str, tmp_path: Path) -> None:
    for number, files in enumerate(TARGETS[name].seeds()):
        folder = tmp_path / str(number)
        folder.mkdir()
        more = {OPTIONS: WITHOUT_OPTIONS[name]} if name in WITHOUT_OPTIONS else {}
        write_case({**files, **more}, folder)
        assert judge(TARGETS[name].read, folder) == ("read", ""), list(files)


def test_the_watch_sees_each_defect_and_goes_on() -> None:
    hang, *others = MISBEHAVED
    jobs = [(name, 0, 2) for name in others]
    # A slow machine needs seconds to fill a gigabyte: only the case that never ends gets a short limit.
    outcomes = [*watch([(hang, 0, 2)], seconds=0.5), *watch(jobs, seconds=300)]
    assert [outcome.target.rpartition(" ")[2] for outcome in outcomes] == [outcome.kind for outcome in outcomes]
    assert len(outcomes) == 2 * len(MISBEHAVED)


def test_cases_that_were_defects_once() -> None:
    outcomes = list(watch(kept_jobs()))
    assert all(outcome.target.startswith(KEPT) for outcome in outcomes) and len(outcomes) > 20
    assert not [outcome for outcome in outcomes if outcome.kind not in GOOD]


def test_two_thousand_cases() -> None:
    outcomes = run(CASES)
    assert len(outcomes) == CASES
    assert not defects(outcomes), table(outcomes)


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(SHARDS))
def test_a_hundred_thousand_cases(shard: int, tmp_path: Path) -> None:
    """With THENCE_FUZZ_OUT, outcomes are kept in that folder and a second call goes on."""
    outcomes = run(MANY, shard=shard, shards=SHARDS, out=Path(os.environ.get("THENCE_FUZZ_OUT", tmp_path)))
    assert not defects(outcomes), table(outcomes)
