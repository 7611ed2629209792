"""Counts by place in the run folder: those of the table, read back exactly, and used by exceptions and ``apply``."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thence as th
from tests.helpers.buildings import building
from tests.helpers.examples import examples
from tests.helpers.pumps import pumps
from tests.search.refine.by_hand import binned_tables, some_rules
from thence.errors import ConfigError, MiningError, RunError
from thence.runs.places import PLACES, count_run_places, read_places, why_not_kept, write_places
from thence.runs.run import Run, load_run
from thence.search.refine.counterexamples import find_exceptions, list_exceptions
from thence.statements.counting.by_place import count_by_place, find_lifted, name_places
from thence.tables.transactions import TransactionTable

PATTERN = "(s:status)-[in]->(p:Pump)<-[in]-(f:flow)"
COUNTS = ("n", "n_antecedent", "n_consequent", "n_both", "episodes")


def written(places: Any, rules: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        write_places(places, rules, Path(folder) / "a")
        write_places(places, rules, Path(folder) / "b")
        assert (Path(folder) / "a").read_bytes() == (Path(folder) / "b").read_bytes()
        return read_places(Path(folder) / "a")


@settings(deadline=None, max_examples=examples(60))
@given(binned_tables(), st.integers(0, 2**31))
def test_what_is_read_back_is_what_the_table_says(table: TransactionTable, seed: int) -> None:
    rules = some_rules(table).unique()
    chosen = find_lifted(rules, table)
    places = count_run_places(rules, table)
    back = written(places, rules)
    rng = np.random.default_rng(seed)
    some = rules.take(rng.permutation(len(rules))[: rng.integers(0, len(rules) + 1)])
    expected = {rules.rule(int(chosen[one.rule])): one for one in count_by_place(rules.take(chosen), table)}
    found = {some.rule(one.rule): one for one in back.of(some)}
    assert found.keys() == {rule for rule in some if rule in expected}
    for rule, one in found.items():
        for name in COUNTS:
            assert getattr(one, name).tolist() == getattr(expected[rule], name).tolist(), name
        assert one.block.embeddings == expected[rule].block.embeddings
        assert name_places(one.block, range(one.block.n_embeddings)) == name_places(
            expected[rule].block, range(one.block.n_embeddings)
        )
    assert back.frame(rules).equals(places.frame(rules))
    assert list_exceptions(back.of(rules), rules, min_rows=1).equals(find_exceptions(rules, table, min_rows=1))


def mined(**settings: Any) -> Run:
    given = {"windows": {"every": "10min"}, "enrich": {"mode": "lifted", "patterns": [PATTERN]}}
    config = th.Config.from_mapping(given)
    return th.mine(pumps(), bins=2, max_antecedents=1, config=config, progress="off", **settings)


@pytest.fixture(scope="module")
def run() -> Run:
    out = mined(refine=None)
    assert len(out.rules) > 2
    return out


def test_a_run_from_disk_names_the_same_exceptions(run: Run, tmp_path: Path) -> None:
    saved = run.save(tmp_path / "a")
    back = load_run(tmp_path / "a")
    assert back.table is None
    assert back.exceptions().equals(run.exceptions())
    assert back.exceptions().row(0, named=True)["place"] == "PU-2"
    assert back.places().equals(run.places()) and saved.places().equals(run.places())


def test_the_sentences_of_a_run_from_disk_name_exceptions_as_in_memory(tmp_path: Path) -> None:
    run = mined()
    saved, back = run.save(tmp_path / "a"), load_run(tmp_path / "a")
    assert "not at PU-2" in str(back)
    assert str(back) == str(saved) and "\n".join(back.rules.lines()) == "\n".join(run.rules.lines())
    assert back.exceptions().equals(run.exceptions())


def test_the_frame_has_a_row_per_rule_and_place_and_adds_up(run: Run) -> None:
    frame = run.places()
    assert frame.height == 8 * len(run.rules)
    sums = frame.group_by("rule", maintain_order=True).agg(pl.col("rows", "applies", "holds").sum())
    assert sums["rows"].to_list() == run.rules.counts.n.tolist()
    assert sums["applies"].to_list() == run.rules.counts.n_antecedent.tolist()
    assert sums["holds"].to_list() == run.rules.counts.n_both.tolist()
    assert run.places(0).equals(frame.filter(pl.col("rule") == 0))
    assert run.places(0)["nodes"][0].to_list() == [{"variable": "p", "node": "PU-0"}]
    for wrong in (-1, len(run.rules), True):
        with pytest.raises(ConfigError, match="there is no rule"):
            run.places(wrong)


def test_some_rules_of_a_run_from_disk_keep_their_own_counts(run: Run, tmp_path: Path) -> None:
    run.save(tmp_path / "a")
    back = load_run(tmp_path / "a")
    last = np.array([len(run.rules) - 1])
    fewer = replace(back, rules=back.rules.take(last)).save(tmp_path / "b")
    expected = run.places(int(last[0])).drop("rule")
    assert load_run(fewer.path or "").places(0).drop("rule").equals(expected)


def test_sites_keep_their_names(tmp_path: Path) -> None:
    sites = [replace(building(seed, frames=40, rooms=3), name=f"site{seed}") for seed in (1, 2)]
    run = th.mine(sites, enrich="lifted", windows="1h", bins=2, refine=None, progress="off")
    assert len(run.rules)
    run.save(tmp_path / "a")
    back = load_run(tmp_path / "a")
    assert back.places().equals(run.places())
    assert set(back.places()["site"].unique()) == {"site1", "site2"}
    assert back.exceptions().equals(run.exceptions())


def test_rules_about_named_sensors_have_no_places(tmp_path: Path) -> None:
    run = th.mine(
        th.datasets.load("toy"), windows="1h", bins=3, enrich="none", confirm=False, progress="off", out=tmp_path / "a"
    )
    assert not (tmp_path / "a" / PLACES).exists()
    back = load_run(tmp_path / "a")
    assert back.places().height == run.places().height == 0
    assert back.exceptions().height == 0 and back.exceptions().schema == run.exceptions().schema


@pytest.mark.parametrize("limit", ["MOST_CELLS", "_MOST_RULES", "_MOST_WORK"])
def test_counts_that_would_be_large_are_not_kept_and_the_run_says_so(
    run: Run, tmp_path: Path, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run.table is not None and isinstance(run.table, TransactionTable)
    assert why_not_kept(run.rules, run.table) == ""
    monkeypatch.setattr(f"thence.runs.places.{limit}", 0)
    saved = run.save(tmp_path / "a")
    assert not (tmp_path / "a" / PLACES).exists()
    assert "counts by place are not kept" in saved.summary["notes"][-1]
    back = load_run(tmp_path / "a")
    for attempt in (back.places, back.exceptions):
        with pytest.raises(MiningError, match="does not have the counts of its rules by place"):
            attempt()
    assert th.apply(back, pumps(seed=1)).by_place()["then"].null_count() > 0


@pytest.mark.parametrize("damage", ["bytes", "columns", "rows", "pattern", "nulls"])
def test_a_damaged_file_is_an_error_that_says_what_to_do(run: Run, tmp_path: Path, damage: str) -> None:
    run.save(tmp_path / "a")
    path = tmp_path / "a" / PLACES
    frame = pl.read_parquet(path)
    if damage == "bytes":
        path.write_bytes(b"PAR1 and nothing else")
    else:
        changed = {
            "columns": lambda: frame.drop("episodes"),
            "rows": lambda: frame.head(frame.height - 1),
            "pattern": lambda: frame.with_columns(pattern=pl.lit("(p:")),
            "nulls": lambda: frame.with_columns(n=pl.lit(None, pl.Int64)),
        }[damage]()
        changed.write_parquet(path)
    with pytest.raises(RunError, match="its checksum does not match"):
        load_run(tmp_path / "a").places()
    # As earlier versions wrote runs.
    (tmp_path / "a" / "manifest.json").unlink()
    with pytest.raises(RunError, match="counts by place cannot be read") as found:
        load_run(tmp_path / "a").places()
    assert "delete it" in str(found.value)


@pytest.mark.parametrize(
    "settings",
    [
        {"enrich": "none"},
        {"enrich": "grounded"},
        {"enrich": "existential", "max_antecedents": 1},
        {"enrich": "lifted", "refine": None},
        {"enrich": "lifted", "derive": ["switch", "lag:1"], "max_antecedents": 1},
    ],
    ids=lambda settings: "-".join(map(str, settings.values())),
)
def test_apply_compares_places_with_the_counts_of_the_folder(settings: dict[str, Any], tmp_path: Path) -> None:
    data = th.datasets.load("toy")
    early, late = data.between(end="2024-01-02"), data.between(start="2024-01-02")
    run = th.mine(early, windows="1h", bins=3, progress="off", **{"refine": None, **settings})
    run.save(tmp_path / "a")
    here, there = th.apply(run, late), th.apply(tmp_path / "a", late)
    assert here.by_place()["then"].null_count() < here.by_place().height
    assert here.by_place().equals(there.by_place())
    some = run.rules.take(np.arange(len(run.rules))[::2])
    assert th.apply(some, late, like=run).by_place().equals(th.apply(some, late, like=tmp_path / "a").by_place())


def test_apply_does_not_compare_what_was_counted_over_other_rows(tmp_path: Path) -> None:
    data = th.datasets.load("toy")
    th.mine(data, windows="1h", bins=3, enrich="none", denominator="all", progress="off", out=tmp_path / "a")
    applied = th.apply(tmp_path / "a", data).by_place()
    assert applied["then"].null_count() == applied.height
