"""Rules of a network in parts: the same wherever they are searched."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.executors import Elsewhere
from tests.helpers.random_tables import assert_same_rules, random_table
from tests.search.aerial.networks import lively
from thence.errors import ConfigError
from thence.search.aerial.extraction import RuleArrays, extract_in_parts, extract_rules, extract_top_rules
from thence.search.aerial.miner import Aerial
from thence.search.aerial.settings import SearchSettings


@pytest.mark.parametrize("k", [None, 7])
@pytest.mark.parametrize("size", [1, 40, 10**9])
def test_parts_do_not_depend_on_the_executor(k: int | None, size: int) -> None:
    model, search = lively([3, 4, 2, 3, 3], seed=2), SearchSettings(similarity=0.3)
    executor, told = Elsewhere(), []
    here = extract_in_parts(model, search=search, k=k, queries_per_part=size, progress=lambda *at: told.append(at))
    there = extract_in_parts(model, search=search, k=k, queries_per_part=size, executor=executor)
    assert len(here) > 0
    assert executor.tasks == (5 if size == 1 else 1 if size > 100 else executor.tasks)
    for name in ("antecedents", "consequents", "probability"):
        np.testing.assert_array_equal(getattr(there, name), getattr(here, name))
    assert [asked for asked, _ in told] == sorted(asked for asked, _ in told)
    assert all(asked <= total for asked, total in told)


def test_parts_together_are_the_whole() -> None:
    model, search = lively([3, 4, 2, 3, 3], seed=2), SearchSettings(similarity=0.3)
    whole = RuleArrays.concat(extract_rules(model, search=search), max_antecedents=2)
    parts = extract_in_parts(model, search=search, queries_per_part=20)
    assert sorted(_rules(parts)) == sorted(_rules(whole))
    best = extract_in_parts(model, search=search, k=5, queries_per_part=20)
    np.testing.assert_array_equal(best.consequents, extract_top_rules(model, search=search, k=5).consequents)


def test_the_rules_of_a_miner_are_the_same_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    from thence.search.aerial import extraction as parts

    monkeypatch.setattr(parts, "QUERIES_PER_PART", 30)
    table = random_table(seed=3, n_columns=5)
    miner = Aerial(similarity=0.3, min_confidence=0.0, assurance=None, epochs=2)
    model = miner.train(table)
    executor = Elsewhere()
    here = miner.extract(model, table)
    assert len(here) > 0
    assert_same_rules(miner.extract(model, table, executor=executor), here)
    assert executor.tasks > 2


def test_a_graphics_processor_is_not_on_the_cluster() -> None:
    with pytest.raises(ConfigError, match="device 'cuda' is a processor of this machine"):
        Aerial(device="cuda").mine(random_table(seed=1), executor=Elsewhere())


def _rules(found: RuleArrays) -> list[tuple[int, ...]]:
    return [(*left, right) for left, right in zip(found.antecedents.tolist(), found.consequents.tolist(), strict=True)]
