"""Rules with several items in the consequent: all that mlxtend finds, counted by hand, confirmed, saved and applied."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mlxtend.frequent_patterns import association_rules, fpgrowth

import thence as th
from tests.helpers.examples import examples
from thence.errors import ConfigError
from thence.language.items import Feature, Item
from thence.search.joint import join_consequents
from thence.show.export.shacl import shapes
from thence.show.export.sparql import query_all
from thence.statements.counting.recount import count_rules
from thence.tables.baskets import basket_table
from thence.tables.transactions import FeatureTable, TransactionTable


def pairs(frame: pd.DataFrame) -> set[tuple[frozenset[str], frozenset[str]]]:
    return set(zip(frame["antecedents"], frame["consequents"], strict=True))


@settings(max_examples=examples(25), deadline=None)
@given(
    st.lists(st.lists(st.booleans(), min_size=5, max_size=5), min_size=2, max_size=12),
    st.sampled_from([0.1, 0.4]),
    st.sampled_from([0.3, 0.8, 1.0]),
)
def test_all_rules_of_mlxtend_are_found(rows: Any, support: float, confidence: float) -> None:
    frame = pd.DataFrame(rows, columns=list("abcde"))
    table = basket_table(pl.from_pandas(frame))
    single = th.Exact(max_antecedents=None, min_support=support, min_confidence=confidence).mine(table)
    joint = join_consequents(single, table, most=4, min_support=support, min_confidence=confidence)
    sets = fpgrowth(frame, min_support=support, use_colnames=True)
    with np.errstate(all="ignore"):
        theirs = association_rules(sets, min_threshold=confidence) if len(sets) else single.to_pandas()
    assert pairs(single.to_pandas()) | pairs(joint.to_pandas()) == pairs(theirs)
    assert len(pairs(joint.to_pandas())) == len(joint)
    if len(joint):
        both = joint.to_pandas().merge(theirs, on=["antecedents", "consequents"])
        assert len(both) == len(joint)
        for name in ("support", "confidence", "consequent support", "lift"):
            assert np.allclose(both[f"{name}_x"], both[f"{name}_y"])


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.lists(st.sampled_from(["x", "y", None]), min_size=4, max_size=4), min_size=3, max_size=12))
def test_missing_values_are_counted_as_the_definition_says(rows: Any) -> None:
    frame = pl.DataFrame(rows, schema=list("abcd"), orient="row").cast(pl.String)
    table = TransactionTable.from_frame(frame)
    rules = th.Exact(min_support=0, min_confidence=0, max_antecedents=1).mine(table)
    joint = join_consequents(rules, table, most=2)
    for rule, counted in zip(joint, range(len(joint)), strict=True):
        names = [item.feature.subject for item in (*rule.antecedent, *rule.consequent.parts)]
        values = [item.value for item in (*rule.antecedent, *rule.consequent.parts)]
        known = [row for row in frame.select(names).rows() if None not in row]
        left = [row for row in known if row[0] == values[0]]
        right = [row for row in known if list(row[1:]) == values[1:]]
        both = [row for row in left if list(row[1:]) == values[1:]]
        counts = joint.counts
        assert [len(known), len(left), len(right), len(both)] == [
            int(column[counted]) for column in (counts.n, counts.n_antecedent, counts.n_consequent, counts.n_both)
        ]
    if len(joint):
        raw = count_rules(joint, FeatureTable.from_frame(frame)) if _has_states(frame) else None
        assert raw is None or raw.counts.n_both.tolist() == joint.counts.n_both.tolist()


def _has_states(frame: pl.DataFrame) -> bool:
    return all(frame[name].n_unique() == 3 for name in frame.columns)


def stations(n: int = 1_200) -> pl.DataFrame:
    """Two readings and a lamp that all follow a switch, on many separate occasions."""
    rng = np.random.default_rng(0)
    on = np.repeat(rng.random(n // 6) < 0.4, 6)
    hours = pl.datetime_range(
        pl.datetime(2024, 1, 1), pl.datetime(2024, 1, 1) + pl.duration(hours=n - 1), "1h", eager=True
    )
    lamp = np.where(on ^ (rng.random(n) < 0.02), "lit", "dark")
    return pl.DataFrame(
        {
            "time": hours,
            "switch": np.where(on, "on", "off"),
            "fan": np.where(on ^ (rng.random(n) < 0.02), "runs", "rests"),
            "lamp": lamp,
            "noise": rng.normal(size=n),
        }
    )


def test_kept_rules_are_joined_and_confirmed_as_a_whole(tmp_path: Path) -> None:
    options: Any = {"windows": "1h", "progress": "off", "controls": False, "max_antecedents": 1}
    run = th.mine(stations(), max_consequents=2, out=tmp_path / "run", **options)
    plain = th.mine(stations(), **options)
    joint = [rule for rule in run.rules if len(rule.consequent.parts) > 1]
    assert joint and len(run.rules) == len(plain.rules) + len(joint)
    sentence = joint[0].english
    assert " and " in sentence.partition("then ")[2]
    for rule in joint:
        assert rule.confidence >= 0.8
        assert rule.counts.later_applies and rule.counts.occasions
        for part in combinations(rule.consequent.parts, 1):
            assert any(one.antecedent == rule.antecedent and one.consequent == part[0] for one in run.rules)
    again = th.load_run(tmp_path / "run")
    assert [rule.key for rule in again.rules] == [rule.key for rule in run.rules]
    assert (tmp_path / "run" / "report.html").is_file(), run.summary["notes"]
    applied = th.apply(again, stations(600))
    assert len(applied.rules) == len(run.rules)
    for name in ("rules.json", "rules.parquet", "rules.csv", "rules.md"):
        th.write_rules(run.rules, tmp_path / name)
        if name.endswith(("json", "parquet")):
            assert [rule.key for rule in th.read_rules(tmp_path / name)] == [rule.key for rule in run.rules]


def test_joint_items_read_back_and_name_their_parts() -> None:
    both = Item.all_of([Item.is_(Feature("b"), "y"), Item.is_(Feature("a"), "x"), Item.is_(Feature("b"), "y")])
    assert Item.from_dict(both.to_dict()) == both == Item.parse(str(both))
    assert [str(part) for part in both.parts] == ["(a).value = 'x'", "(b).value = 'y'"]
    assert Item.all_of([both]) == both and Item.all_of(both.parts[:1]) == both.parts[0]
    negated = both.negated()
    assert Item.from_dict(negated.to_dict()) == negated


def test_lifted_rules_are_joined_too() -> None:
    data = th.datasets.load("toy")
    table = th.transactions(data, enrich="lifted", windows="1h", bins=3)
    rules = th.Exact(min_support=0.02, min_confidence=0.5).mine(table)
    joint = join_consequents(rules, table, most=2, min_support=0.02, min_confidence=0.5)
    again = count_rules(list(joint), table)
    assert again.counts.n_both.tolist() == joint.counts.n_both.tolist()


def test_refining_joint_rules_says_what_to_do() -> None:
    table = TransactionTable.from_frame(pl.DataFrame({name: ["x", "x", "y"] * 9 for name in "abc"}))
    rules = th.Exact().mine(table)
    joint = join_consequents(rules, table, most=2)
    with pytest.raises(ConfigError, match="max_consequents"):
        th.refine(joint, table)
    frame = pl.DataFrame({name: ["x", "x", "y"] for name in "abc"})
    whole = th.RuleSet.concat([rules, joint])
    assert whole.predict(frame, target="a").tolist() == ["x", "x", "y"]


def test_queries_find_what_violates_any_part() -> None:
    table = TransactionTable.from_frame(pl.DataFrame({name: ["x", "x", "y"] * 9 for name in "abc"}))
    joint = join_consequents(th.Exact().mine(table), table, most=2)
    text = query_all(joint)
    assert text.count("SELECT DISTINCT (1 AS ?rule)") == 2
    assert "urn:thence:node:>" not in text, "a joint consequent has no subject of its own"
    assert shapes(joint).count("sh:NodeShape") == 2 * len(joint)
