"""Aerial as a miner: tables in, exactly counted rules out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.helpers.networks import network
from tests.helpers.tables import with_times
from thence.data.readings.windows import window
from thence.errors import ConfigError, MiningError, RunError
from thence.lab.evaluate.comparison import fidelity
from thence.language.constraints import ItemFilter
from thence.language.patterns import Pattern
from thence.search.aerial.miner import Aerial
from thence.search.aerial.model import AerialModel
from thence.search.aerial.rows import BlockRows
from thence.search.aerial.settings import TrainingSettings
from thence.search.exact.miner import Exact
from thence.statements.counting.assurance import add_confidence_bound
from thence.statements.counting.recount import count_rules
from thence.tables.discretization import Discretizer
from thence.tables.enrich import build
from thence.tables.transactions import TransactionTable


@pytest.fixture(scope="module")
def table() -> TransactionTable:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, 1500)
    b = np.where(rng.random(1500) < 0.05, rng.integers(0, 4, 1500), a)
    frame = {"a": a, "b": b, "c": a // 2, "d": rng.integers(0, 3, 1500), "k": np.zeros(1500)}
    return TransactionTable.from_frame(pl.DataFrame({n: v.astype(int).astype(str) for n, v in frame.items()}))


@pytest.fixture(scope="module")
def model(table: TransactionTable) -> AerialModel:
    return Aerial(seed=1).train(table)


def test_rules_are_counted_exactly_and_carry_the_probability(table: TransactionTable, model: AerialModel) -> None:
    rules = Aerial(seed=1).extract(model, table)
    assert len(rules) > 0
    assert count_rules(list(rules), table).counts == rules.counts
    assert rules.extras["probability"].min() >= 0.8
    assert rules.data_coverage == 1.0
    assert not any(rule.consequent.feature.subject == "k" for rule in rules)


def test_the_planted_rules_are_found(table: TransactionTable, model: AerialModel) -> None:
    exact = Exact(max_antecedents=1, min_support=0.05, min_confidence=0.9).mine(table)
    found = Aerial(seed=1, max_antecedents=1).extract(model, table)
    assert fidelity(found, exact)["recall"] == 1.0


def test_the_same_seed_gives_the_same_rules(table: TransactionTable) -> None:
    np.random.seed(3)  # noqa: NPY002 - the global state must not matter
    first = Aerial(seed=4, epochs=2).mine(table)
    np.random.seed(99)  # noqa: NPY002
    second = Aerial(seed=4, epochs=2).mine(table)
    assert [str(r) for r in first] == [str(r) for r in second]
    assert first.extras["probability"].tolist() == second.extras["probability"].tolist()


def test_top_k_and_exact_thresholds(table: TransactionTable, model: AerialModel) -> None:
    every = Aerial(seed=1, min_confidence=0).extract(model, table)
    best = Aerial(seed=1, top_k=5).extract(model, table)
    assert sorted(best.extras["probability"]) == sorted(every.extras["probability"])[-5:]
    strict = Aerial(seed=1, min_support=0.1, min_confidence=0.95, assurance=0).extract(model, table)
    assert strict.measure("support").min() >= 0.1
    assert strict.measure("confidence").min() >= 0.95
    assert len(strict) == len(every.filter(min_support=0.1, min_confidence=0.95))


@pytest.mark.parametrize("settings", [{"similarity": 0.4}, {"similarity": 0.1, "consequent_similarity": 0.4}])
def test_the_exact_confidence_reaches_what_was_asked_of_the_network(table, model, settings: dict[str, float]) -> None:
    shown = Aerial(seed=1, assurance=0, **settings).extract(model, table)
    every = Aerial(seed=1, min_confidence=0, **settings).extract(model, table)
    assert every.measure("confidence").min() < 0.4 <= shown.measure("confidence").min()
    assert len(shown) == len(every.filter(min_confidence=0.4))
    left_out = len(every) - len(shown)
    assert any(f"{left_out:,} proposals have an exact confidence below 0.4" in note for note in shown.notes)


def test_the_confidence_is_reached_with_assurance_unless_told_otherwise(table, model) -> None:
    every = Aerial(seed=1, similarity=0.4, assurance=0).extract(model, table)
    shown = Aerial(seed=1, similarity=0.4).extract(model, table)
    sure = add_confidence_bound(every, table, min_confidence=0.4)
    assert 0 < len(shown) < len(every)
    assert list(shown) == list(sure)
    assert shown.measure("assured_confidence").tolist() == sure.measure("assured_confidence").tolist()
    left_out = len(every) - len(shown)
    told = f"{left_out:,} proposals reach a confidence of 0.4, but not with an assurance of 0.95"
    assert any(told in note for note in shown.notes)
    assert "assured_confidence" not in every.extras
    stricter = Aerial(seed=1, similarity=0.4, assurance=0.999).extract(model, table)
    assert set(stricter) < set(shown)


def test_an_assurance_that_nothing_reaches_says_so() -> None:
    few = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "y"] * 6, "b": ["u", "v"] * 6}))
    assert len(Aerial(seed=0, assurance=0).mine(few)) == 4
    none = Aerial(seed=0).mine(few)
    assert len(none) == 0
    assert any("lower min_support or min_confidence or assurance" in note for note in none.notes)


def test_proposals_that_cannot_be_judged_are_told_apart_from_those_that_are_not_sure() -> None:
    """Regression: a rule seen in one episode had the bound 0, as if it were known to fail."""
    frame = pl.DataFrame({"a": ["x"] * 40 + ["y"] * 40, "b": ["u"] * 40 + ["v"] * 40})
    once = with_times(TransactionTable.from_frame(frame))
    assert len(Aerial(seed=0, assurance=0).mine(once)) == 4
    notes = Aerial(seed=0).mine(once).notes
    assert any("4 proposals" in note and "too few independent rows to judge" in note for note in notes)


@pytest.mark.parametrize("assurance", [0.4, 1.0, 95, -0.1])
def test_an_assurance_is_a_probability(assurance: float) -> None:
    with pytest.raises(ConfigError, match="assurance must be at least"):
        Aerial(assurance=assurance)


def test_the_mutual_gate_finds_a_part_of_what_no_gate_finds(table: TransactionTable, model: AerialModel) -> None:
    def found(**settings: Any) -> set[tuple[int, ...]]:
        rules = Aerial(seed=0, consequent_similarity=0.8, **settings).extract(model, table)
        assert (rules.measure("confidence") >= 0.8).all()
        return {(*left.tolist(), right) for left, right in zip(rules.antecedents, rules.consequents, strict=True)}

    every = found(similarity=0.0)
    assert found(similarity=0.0, search="mutual") == every
    assert set() < found(similarity=0.5, search="mutual") < every


def test_constraints_are_honoured(table: TransactionTable, model: AerialModel) -> None:
    rules = Aerial(seed=1, antecedent=ItemFilter(sensor="a"), consequent=ItemFilter(sensor="c")).extract(model, table)
    assert len(rules) == 4
    assert all(rule.antecedent[0].feature.subject == "a" for rule in rules)


def test_a_model_survives_saving(table: TransactionTable, model: AerialModel, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    again = AerialModel.load(tmp_path / "model")
    ours, theirs = (Aerial(seed=1).extract(m, table) for m in (model, again))
    assert [str(r) for r in ours] == [str(r) for r in theirs]
    assert again.loss == model.loss
    (tmp_path / "model" / "model.json").write_text("{}")
    with pytest.raises(RunError):
        AerialModel.load(tmp_path / "model")


def test_training_goes_on_with_new_rows(table: TransactionTable, model: AerialModel) -> None:
    miner = Aerial(seed=1, epochs=1)
    further = miner.partial_fit(model, table)
    assert further.blocks[0].features == model.blocks[0].features
    other = TransactionTable.from_frame(pl.DataFrame({"x": ["1", "2"] * 5, "y": ["1", "2"] * 5}))
    with pytest.raises(MiningError, match="was trained without the feature"):
        miner.partial_fit(model, other)
    with pytest.raises(MiningError, match="the table has no feature"):
        miner.extract(model, other)


def test_locality_keeps_rules_near_each_other() -> None:
    net = network(frames=300)
    table = build(
        window(net.sensors, "30min"),
        graph=net.graph,
        binding=net.binding,
        discretizer=Discretizer(bins=3, scope="sensor"),
    )
    near = table.within_hops(net.graph, hops=1)
    rules = Aerial(seed=0, similarity=0.5, near=near, epochs=3).mine(table)
    for rule in rules:
        places = [item.feature.place for item in (*rule.antecedent, rule.consequent)]
        for a in places:
            for b in places:
                assert a == b or b in net.graph.neighbours(a, hops=1)


@pytest.mark.parametrize("hops", [1.5, -1, "1"])
def test_hops_are_whole(table: TransactionTable, hops: Any) -> None:
    with pytest.raises(ConfigError, match="hops must be an integer"):
        table.within_hops(network(frames=10).graph, hops=hops)


def test_lifted_tables_are_sampled_row_by_row() -> None:
    net = network(frames=200)
    table = build(
        window(net.sensors, "30min"), mode="lifted", graph=net.graph, binding=net.binding, ontology=net.ontology,
        discretizer=Discretizer(bins=3, scope="sensor"), min_embeddings=2,
    )  # fmt: skip
    for block in table.blocks:
        rows = BlockRows(block, np.arange(len(block.columns)))
        chosen = np.random.default_rng(0).integers(0, block.n_rows, 50)
        assert rows.take(chosen).tolist() == block.flat()[chosen].tolist()
    rules = Aerial(seed=0, similarity=0.7, max_antecedents=1).mine(table)
    assert {"probability", "support_time", "support_embeddings"} <= set(rules.extras)
    assert count_rules(rules, table).counts == rules.counts


def test_what_never_holds_is_not_shown(table: TransactionTable, model: AerialModel) -> None:
    rules = Aerial(seed=1, similarity=0.0).extract(model, table)
    assert rules.counts.n_both.min() > 0
    assert any("never hold" in note for note in rules.notes), rules.notes


def test_thresholds_that_nothing_reaches_are_named(table: TransactionTable, model: AerialModel) -> None:
    rules = Aerial(seed=1, min_support=0.99).extract(model, table)
    assert len(rules) == 0
    assert any("none of" in note and "min_support" in note for note in rules.notes), rules.notes


def test_a_network_that_learnt_little_is_named() -> None:
    rng = np.random.default_rng(0)
    noise = {name: rng.integers(0, 4, 500).astype(str) for name in map(str, range(60))}
    rules = Aerial(seed=0, epochs=1).mine(TransactionTable.from_frame(pl.DataFrame(noise)))
    assert len(rules) == 0
    assert any("learned little" in note for note in rules.notes), rules.notes


def test_trivial_tables_give_a_reason() -> None:
    cases = {
        "fewer than two features": pl.DataFrame({"a": ["x"] * 9, "b": ["y"] * 9}),
        "too few": pl.DataFrame({"a": ["x", "y"], "b": ["u", "v"]}),
        "no rows": pl.DataFrame({"a": [], "b": []}, schema={"a": pl.String, "b": pl.String}),
        "two features": pl.DataFrame({"a": ["x", "y"] * 9}),
        "features ever change": pl.DataFrame(
            {"a": [None] * 9, "b": [None] * 9}, schema={"a": pl.String, "b": pl.String}
        ),
    }
    for reason, frame in cases.items():
        rules = Aerial().mine(TransactionTable.from_frame(frame))
        assert len(rules) == 0
        assert any(reason in note for note in rules.notes), rules.notes


def test_the_paper_in_one_word(table: TransactionTable) -> None:
    faithful = Aerial.faithful(seed=2, similarity=0.9)
    assert faithful._training().corruption == "gaussian"
    assert faithful.similarity == 0.9
    rules = faithful.mine(table.frames(slice(0, 400)))
    assert any(rule.consequent.feature.subject == "k" for rule in rules), "constants are consequents in the paper"


@pytest.mark.parametrize(
    "settings",
    [
        {"similarity": 2},
        {"similarity": "0.8"},
        {"similarity": None},
        {"similarity": True},
        {"consequent_similarity": "0.8"},
        {"max_antecedents": 0},
        {"max_antecedents": 2.5},
        {"settings": {"corruption": "salt"}},
        {"top_k": 0},
        {"top_k": 2.5},
        {"min_support": "x"},
        {"assurance": "a"},
        {"search": "wide"},
        *({"seed": seed} for seed in (-1, None, 1.5, 2**70, "a")),
        *({"device": device} for device in ("mps", "meta", "gpu", "cpu:3", None)),
        {"epochs": 2.5},
        {"settings": {"batch_size": 2.5}},
        {"settings": {"learning_rate": 0}},
        *({"settings": {"widths": widths}} for widths in (5, (), ("a",), (4.7, 2), (0,))),
        *({"near": near} for near in ("x", 1.5, {1: 2}, -1)),
        {"settings": 5},
        {"settings": {"learning_rate": "x"}},
        *({"antecedent": given} for given in (5, [5], {"sensr": "a"}, {"sensor": 5})),
    ],
    ids=str,
)
def test_impossible_settings_are_refused(settings: dict) -> None:
    with pytest.raises(ConfigError):
        Aerial(**settings)


def test_what_stands_in_the_settings_of_training_counts() -> None:
    """Aerial's own defaults overruled it: gaussian noise and a seed that stood there were not used."""
    for said in ({"seed": 7}, {"max_antecedents": 4}, {"device": "cuda"}):
        with pytest.raises(ConfigError, match="in its training settings"):
            Aerial(settings=TrainingSettings(**said))  # type: ignore[arg-type]
    one = Aerial(seed=7, settings={"corruption": "gaussian", "seed": 7, "noise": 0.2})._training()  # type: ignore[arg-type]
    assert (one.corruption, one.seed, one.noise) == ("gaussian", 7, 0.2)
    assert Aerial(settings=TrainingSettings(epochs=9, learning_rate=0.1), epochs=3)._training().epochs == 3
    assert Aerial(settings={"widths": [16, 8]})._training().widths == (16, 8)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"unknown training setting 'epoch' \(did you mean 'epochs'"):
        Aerial(settings={"epoch": 1})  # type: ignore[arg-type]


def test_the_paper_s_settings_can_be_changed_one_by_one() -> None:
    training = Aerial.faithful(seed=3, settings={"batch_size": 64})._training()
    assert training == replace(TrainingSettings.faithful(seed=3), batch_size=64)
    assert replace(Aerial.faithful(seed=3), seed=5)._training().seed == 5
    assert Aerial.faithful(settings={"corruption": "mask"})._training().corruption == "mask"
    with pytest.raises(ConfigError, match="unknown training setting 'batches'"):
        Aerial.faithful(settings={"batches": 64})


def test_a_diverged_training_names_a_setting_that_there_is(table: TransactionTable) -> None:
    with pytest.raises(MiningError, match="lower learning_rate"):
        Aerial(settings={"learning_rate": 1e30}, epochs=2).mine(table)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"antecedent": ItemFilter(feature="a")}, "constraint on the antecedent (did you mean '(a).value'?)"),
        ({"antecedent": ItemFilter(sensor="aa")}, "constraint on the antecedent (did you mean 'a'?)"),
        ({"antecedent": ItemFilter(kind="flow")}, "constraint on the antecedent (no feature of the table has a kind)"),
        ({"consequent": ItemFilter(sensor="zzz")}, "constraint on the consequent (sensor can be 'a', 'b', 'c' …)"),
        ({"consequent": ItemFilter(sensor="c", value=1)}, "constraint on the consequent (value can be '0', '1')"),
        ({"antecedent": []}, "the constraint on the antecedent is an empty list"),
        ({"antecedent": ItemFilter(sensor="k")}, "all items that match the constraint on the antecedent are constants"),
    ],
)
def test_a_constraint_that_nothing_fits_is_the_reason(table, model, settings: dict, reason: str) -> None:
    """The similarity, or how little was learnt, was blamed."""
    rules = Aerial(seed=1, **settings).extract(model, table)
    assert len(rules) == 0
    assert any(reason in note for note in rules.notes), rules.notes


def test_a_generator_of_constraints_can_be_used_again(table: TransactionTable, model: AerialModel) -> None:
    """The first mining used it up, and the second found nothing."""
    miner = Aerial(seed=1, antecedent=(ItemFilter(sensor=name) for name in ("a", "d")))
    assert len(miner.extract(model, table)) == len(miner.extract(model, table)) > 0
    exact = Exact(antecedent=(ItemFilter(sensor=name) for name in ("a", "d")))
    assert len(exact.mine(table)) == len(exact.mine(table)) > 0
    for wrong in (3, [3], table.blocks[0].item(0)):
        with pytest.raises(ConfigError, match=r"must be text, a th\.ItemFilter"):
            Exact(consequent=wrong)  # type: ignore[arg-type]


def test_the_most_probable_of_several_blocks_without_any(table: TransactionTable) -> None:
    """Unknown measure 'probability': nothing was sorted by what nothing has."""
    one = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "y"] * 9}))
    blocks = tuple(replace(one.blocks[0], pattern=Pattern.parse(f"({name}:A)")) for name in "ab")
    rules = Aerial(top_k=5).mine(TransactionTable(blocks))
    assert len(rules) == 0
    assert any("fewer than two features" in note for note in rules.notes)
