"""The package against an oracle of its own: random systems, all enrichments, permuted files."""

from __future__ import annotations

import pytest

from tests.oracle.comparison import Report, compare_world

FAST = 10
SYSTEMS = 1250
CHUNK = 50


def check(seeds: range) -> Report:
    report = Report()
    for seed in seeds:
        compare_world(seed, report)
    assert not report.mismatches, "\n".join([str(report), *report.mismatches[:10]])
    return report


@pytest.mark.parametrize("seed", range(FAST))
def test_some_systems(seed: int) -> None:
    """Tables, counts, measures, bounds, refinement, sentences, queries, and the order of the files."""
    assert check(range(seed, seed + 1)).tables == 8


@pytest.mark.slow
@pytest.mark.parametrize("start", range(FAST, SYSTEMS, CHUNK))
def test_many_systems(start: int) -> None:
    """10,000 tables: 1,250 systems × 4 enrichments × 2 orders of the files."""
    seeds = range(start, min(start + CHUNK, SYSTEMS))
    assert check(seeds).tables == 8 * len(seeds)
