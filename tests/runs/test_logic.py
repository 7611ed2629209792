"""Laws and controls in runs: when they are searched, that they are kept, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import thence as th
from tests.statements.laws.plants import system_of
from thence.errors import ConfigError, RunError
from thence.language.items import Feature, Item, Role
from thence.runs import pipeline
from thence.runs.logic import drop_implied
from thence.statements.laws.law import Laws
from thence.statements.rules.measures import Counts
from thence.statements.rules.ruleset import Rule, RuleSet

GRAPH = {
    "nodes": [
        *({"id": f"T{at}", "labels": ["Tank"], "properties": {}} for at in range(3)),
        *({"id": f"P{at}", "labels": ["Pump"], "properties": {}} for at in range(3)),
    ],
    "edges": [{"id": f"e{at}", "source": f"P{at}", "target": f"T{at}", "label": "feeds"} for at in range(3)],
}


@pytest.fixture(scope="module")
def plant(tmp_path_factory: pytest.TempPathFactory) -> th.System:
    """Three tanks, each filled by a pump that starts below 2 m and stops above 4 m."""
    rng = np.random.default_rng(0)
    levels, running = np.array([2.5, 3.0, 3.5]), np.array([True, False, True])
    rows = []
    for step in range(1500):
        time = datetime(2024, 1, 1) + step * timedelta(minutes=5)
        flows = np.where(running, 5.0 + rng.normal(size=3) / 50, 0.0)
        rows.append((time, *levels.round(3), *flows.round(3), *np.where(running, "on", "off")))
        levels = levels + np.where(running, 0.1, -0.07) * rng.uniform(0.6, 1.4, 3)
        running = np.where(levels < 2, True, np.where(levels > 4, False, running))
    names = [f"{kind}_{at}" for kind in ("level", "flow", "state") for at in range(3)]
    folder = tmp_path_factory.mktemp("plant")
    pl.DataFrame(rows, schema=["time", *names], orient="row").write_csv(folder / "readings.csv")
    (folder / "graph.json").write_text(json.dumps(GRAPH), encoding="utf-8")
    binding = {name: f"{'T' if name.startswith('level') else 'P'}{name[-1]}" for name in names}
    return th.read_system(
        folder / "readings.csv",
        folder / "graph.json",
        binding,
        sensor_options={"kinds": {name: name.partition("_")[0] for name in names}},
    )


@pytest.fixture(scope="module")
def run(plant: th.System, tmp_path_factory: pytest.TempPathFactory) -> th.Run:
    return th.mine(plant, out=tmp_path_factory.mktemp("runs") / "plant", progress="off")


def test_a_run_tells_laws_and_controls(run: th.Run) -> None:
    assert run.laws is not None and any("flow is 0" in law.english for law in run.laws)
    assert run.controls is not None
    found = {(one.to_state, one.direction, round(one.threshold)) for one in run.controls}
    assert found == {("on", "below", 2), ("off", "above", 4)}
    assert run.summary["laws"] == len(run.laws) and run.summary["controls"] == len(run.controls)
    assert run.config.logic.laws and run.config.logic.controls
    for sentence in (*run.logic["laws"], *run.logic["controls"]):
        assert sentence in str(run)
    assert "switches on when the level" in run._repr_html_()


def test_a_run_on_disk_keeps_them(run: th.Run) -> None:
    assert run.path is not None
    again = th.load_run(run.path)
    assert again.logic == run.logic
    assert again.laws is not None and run.laws is not None and list(again.laws) == list(run.laws)
    assert again.controls is not None and again.controls.to_dict() == run.controls.to_dict()  # type: ignore[union-attr]


def test_a_damaged_file_of_a_run_is_an_error(run: th.Run, tmp_path: Path) -> None:
    path = run.save(tmp_path / "copy").path
    assert path is not None
    (path / "laws.json").write_text('{"laws": [{"form": "equal"}], "notes": []}', encoding="utf-8")
    with pytest.raises(RunError, match="its checksum does not match"):
        th.load_run(path)
    (path / "manifest.json").unlink()  # as earlier versions wrote runs
    with pytest.raises(RunError, match="cannot be read"):
        th.load_run(path)


def test_the_functions_alone_find_the_same(plant: th.System, run: th.Run) -> None:
    assert list(th.find_laws(plant, progress="off")) == list(run.laws or ())
    assert th.find_controls(plant, progress="off").to_dict() == run.controls.to_dict()  # type: ignore[union-attr]


@pytest.mark.parametrize("asked", [{"refine": None}, {"consequent": "flow"}, {"laws": False, "controls": False}])
def test_only_a_digest_of_all_rules_brings_them(plant: th.System, asked: dict[str, object]) -> None:
    run = th.mine(plant, progress="off", **asked)  # type: ignore[arg-type]
    assert run.laws is None and run.controls is None and run.logic == {}


def test_they_can_be_asked_for(plant: th.System) -> None:
    run = th.mine(plant, refine=None, laws=True, controls=True, progress="off")
    assert run.laws and run.controls


def test_without_a_graph_there_are_controls_and_laws_that_name_their_sensors(plant: th.System) -> None:
    run = th.mine(plant.sensors, progress="off")
    assert run.controls and all(law.names_sensors for law in run.laws or ())


def test_several_systems_have_laws_but_no_controls(plant: th.System) -> None:
    run = th.mine([replace(plant, name="first"), replace(plant, name="second")], progress="off")
    assert run.laws and run.controls is None
    with pytest.raises(ConfigError, match="one system at a time"):
        th.find_controls([replace(plant, name="first"), replace(plant, name="second")], progress="off")


def test_ctrl_c_while_they_are_searched_keeps_the_rules(plant: th.System, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "search_logic", stop)
    run = th.mine(plant, progress="off")
    assert len(run.rules) and run.interrupted and run.laws is None
    assert any("laws and controls are missing" in note for note in run.summary["notes"])


def test_an_unknown_setting_is_an_error(plant: th.System) -> None:
    with pytest.raises(ConfigError, match="max_spread"):
        th.find_laws(plant, max_spred=0.2, progress="off")


def test_a_rule_about_the_quantities_of_a_balance_is_left_out() -> None:
    run = th.mine(th.datasets.load("net3", days=7), progress="off")
    assert run.laws is not None and run.laws[0].form == "equal"
    assert any("follow" in note and "from a law" in note for note in run.summary["notes"])
    assert not any("net flow" in rule.english and "its demand" in rule.english for rule in run.rules)
    assert run.summary["rules"] == len(run.rules)
    assert len(drop_implied(run.rules, Laws(()))) == len(run.rules)


def test_a_run_says_that_laws_tell_it_all_only_if_no_rule_remains() -> None:
    run = th.mine(th.datasets.load("net3", days=7), laws=False, progress="off")
    laws = th.find_laws(th.datasets.load("net3", days=7), progress="off")
    kept = drop_implied(run.rules, laws)
    assert 0 < len(kept) < len(run.rules) and "no rule remains" not in kept.notes[-1]
    told = {rule.english for rule in kept}
    implied = run.rules.take(np.flatnonzero([rule.english not in told for rule in run.rules]))
    nothing = drop_implied(implied, laws)
    assert not len(nothing) and "no rule remains" in nothing.notes[-1] and "--no-laws" in nothing.notes[-1]


def test_a_rule_from_a_state_to_the_zero_of_a_law_is_left_out() -> None:
    rng = np.random.default_rng(0)
    nodes = {f"P{at}": ("Pump", {}) for at in range(3)}
    series = {}
    for pump in nodes:
        closed = rng.random(1500) < 0.3
        series[f"flow_{pump}"] = np.where(closed, 0.0, rng.uniform(5, 10, 1500))
        series[f"status_{pump}"] = np.where(closed, "closed", "open")
    laws = th.find_laws(system_of(nodes, [], series), progress="off")
    assert [law.statement[:52] for law in laws] == ["for every Pump: while it is closed, its flow is 0, w"]
    status = Feature("s", label="status", role=Role.VARIABLE, place="p")
    flow = Feature("f", label="flow", role=Role.VARIABLE, place="p", relative=True)
    closed, none = Item.is_(status, "closed"), Item.is_(flow, "0")
    place = ("(p:Pump)<-[in]-(f:flow), (p)<-[in]-(s:status)", "for every Pump p")
    other = (place[0].replace("Pump", "Pipe"), "for every Pipe p")
    rules = [
        Rule((closed,), none, *place),
        Rule((closed,), none, *place),
        Rule((Item.is_(status, "open"),), none, *place),
        Rule((closed,), Item.is_(flow, "5"), *place),
        Rule((closed,), none, *other),
    ]
    counts = np.full(len(rules), 5)
    told = RuleSet.from_rules(rules, Counts(counts, counts, counts, counts))
    kept = drop_implied(replace(told, extras={"both_ways": np.arange(len(rules)) == 1}), laws)
    assert len(kept) == len(rules) - 1
    assert "1 rule that follows from a law is left out" in kept.notes
