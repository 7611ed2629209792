"""Nothing from noise: what is reported by default where nothing is true, and what must be reported where something is.

At most one statement of any kind per 20 systems, in each portion of the zoo; and the truths that are planted in the
same noise must be found, since a digest that reports nothing is no success.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

import thence as th
from tests.helpers.needs import FIELD
from tests.noise.planted import TRUTHS, find_truths, make_plant
from tests.noise.zoo import GENERATORS, RARE, WIDE, Case, load_noise_building, walk_zoo

SYSTEMS_PER_STATEMENT = 20
SMALL = [
    case
    for at, case in enumerate(walk_zoo([0], most_sensors=16, most_weeks=4))
    if case.generator != "shuffled" and at % 3 < 2
]
"""Two thirds of the pairs of a generator and a shape; the slow tests have all."""


def list_found(cases: Iterable[Case]) -> list[str]:
    """Return a line for each statement that the defaults report in systems in which nothing is true."""
    return [
        f"{case}: {one.kind}: {one.sentence()}"
        for case in cases
        for one in th.mine(case.system(), progress="off").findings
    ]


def require_silence(cases: Sequence[Case]) -> None:
    """Fail if more is reported than one statement per 20 systems."""
    found = list_found(cases)
    shown = "\n".join(found[:40])
    allowed = len(cases) // SYSTEMS_PER_STATEMENT
    assert len(found) <= allowed, f"{len(found)} statements in {len(cases)} systems of noise:\n{shown}"


@pytest.mark.parametrize("half", [0, 1])
def test_small_systems_of_noise_say_nothing(half: int) -> None:
    require_silence(SMALL[half::2])


def test_rare_events_are_no_schedules() -> None:
    """A state that lasts one window made a schedule of every hour with six events: up to 45 in a home."""
    found = [f"{case}: {one.english}" for case in RARE for one in th.find_controls(case.system(), progress="off")]
    assert len(found) <= len(RARE) // SYSTEMS_PER_STATEMENT, "\n".join(found[:40])


def test_a_shuffled_network_says_nothing() -> None:
    pytest.importorskip("wntr")
    require_silence([Case("shuffled", "net1", 0, 20, 2, 30)])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 7))
def test_systems_of_noise_say_nothing_at_any_size(seed: int) -> None:
    pytest.importorskip("wntr")
    require_silence(list(walk_zoo([seed])))


@pytest.mark.slow
def test_wide_systems_of_noise_say_nothing() -> None:
    require_silence(WIDE)


@pytest.mark.needs("field data")
def test_the_building_of_noise_says_nothing() -> None:
    found = th.mine(load_noise_building(FIELD / "noise_building"), progress="off").findings
    assert not len(found), "\n".join(one.sentence() for one in found)


def require_truths(truths: Sequence[str], *, seed: int, generator: str, weeks: int) -> None:
    """Fail if the defaults do not report what is planted in noise."""
    run = th.mine(make_plant(truths, seed=seed, generator=generator, weeks=weeks), progress="off")
    found = find_truths(run)
    missing = [name for name in truths if not found[name]]
    said = "\n".join(one.sentence() for one in run.findings)
    assert not missing, f"{', '.join(missing)} not found amid {generator} noise, seed {seed}; what was:\n{said}"


@pytest.mark.parametrize("generator", ["autoregressive", "seasonal", "regimes", "gappy"])
def test_what_is_planted_in_noise_is_reported(generator: str) -> None:
    require_truths(TRUTHS, seed=len(generator), generator=generator, weeks=4)


@pytest.mark.parametrize("truth", TRUTHS)
def test_what_is_planted_alone_is_reported(truth: str) -> None:
    require_truths([truth], seed=11, generator="slow", weeks=4)


@pytest.mark.slow
@pytest.mark.parametrize("weeks", [2, 4, 8])
@pytest.mark.parametrize("generator", GENERATORS)
def test_what_is_planted_is_reported_in_any_noise_and_length(generator: str, weeks: int) -> None:
    for seed in range(3):
        require_truths(TRUTHS, seed=100 + seed, generator=generator, weeks=weeks)
