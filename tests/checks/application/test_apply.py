"""Rules on other data: on the mined data the counts are those of the rule set, whatever the enrichment."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import thence as th
from thence.data.readings.sensors import SensorData

START = datetime(2024, 1, 1)
MODES = ("none", "grounded", "existential", "lifted")


def _toy(rng: np.random.Generator, *, frames: int, missing: float, name: str = "plant") -> th.System:
    """The toy network with random readings that depend on each other, some of them missing."""
    toy = th.datasets.load("toy")
    base = np.cumsum(rng.normal(size=frames))
    columns: dict[str, Any] = {"time": [START + timedelta(hours=at) for at in range(frames)]}
    for number, sensor in enumerate(toy.sensors.sensors):
        values = base * (1 + number % 2) + rng.normal(scale=0.5, size=frames)
        kept = rng.random(frames) >= missing
        columns[sensor.id] = [float(value) if keep else None for value, keep in zip(values, kept, strict=True)]
    kinds = {sensor.id: sensor.kind for sensor in toy.sensors.sensors}
    return replace(toy, sensors=th.read_sensors(pl.DataFrame(columns), kinds=kinds), name=name)


@settings(max_examples=16, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 2**32 - 1),
    mode=st.sampled_from(MODES),
    missing=st.sampled_from([0.0, 0.2]),
    frames=st.integers(20, 70),
    derive=st.sampled_from([(), ("change",), ("previous",)]),
)
def test_counts_on_the_mined_data_are_those_of_the_rules(
    seed: int, mode: str, missing: float, frames: int, derive: tuple[str, ...]
) -> None:
    system = _toy(np.random.default_rng(seed), frames=frames, missing=missing)
    config = th.Config.from_mapping({"windows": {"every": "1h", "derive": list(derive)}})
    given_ = {"enrich": mode, "bins": 3, "min_support": 0.2, "min_confidence": 0.5, "max_antecedents": 2}
    given_ |= {"max_antecedents": 1} if mode in ("grounded", "existential") else {}
    run = th.mine(system, config=config, refine=None, progress="off", **given_)
    applied = th.apply(run, system)
    counts = run.rules.counts
    satisfied, violated, not_applicable, missed = applied.counts.T
    assert (satisfied == counts.n_both).all()
    assert (satisfied + violated == counts.n_antecedent).all()
    assert (satisfied + violated + not_applicable == counts.n).all()
    assert (satisfied + violated + not_applicable + missed == counts.n_rows).all()
    assert not {"no longer holds", "weaker", "not bound"} & set(applied.verdicts)
    frame = applied.by_rule()
    assert applied.by_time()["violated"].sum() == violated.sum()
    assert applied.by_time("6h")["applied"].sum() == (satisfied + violated).sum()
    assert applied.by_place()["violated"].sum() == violated.sum()
    episodes = applied.violations()
    assert episodes["windows"].sum() == violated.sum()
    assert (episodes["end"] - episodes["start"] == timedelta(hours=1) * episodes["windows"]).all()
    if len(run.rules):
        chosen = int(np.argmax(violated))
        places = applied.by_place(chosen)
        for name in ("satisfied", "violated", "not_applicable", "missing"):
            assert places[name].sum() == frame[name][chosen]


@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), missing=st.sampled_from([0.0, 0.2]))
def test_counts_of_several_sites(seed: int, missing: float) -> None:
    rng = np.random.default_rng(seed)
    sites = [_toy(rng, frames=int(rng.integers(20, 80)), missing=missing, name=name) for name in ("north", "south")]
    run = th.mine(sites, windows="1h", bins=3, min_support=0.05, min_confidence=0.5, refine=None, progress="off")
    applied = th.apply(run, sites)
    counts = run.rules.counts
    satisfied, violated, not_applicable, _ = applied.counts.T
    assert (satisfied == counts.n_both).all()
    assert (satisfied + violated + not_applicable == counts.n).all()
    times = applied.by_time()
    assert times["violated"].sum() == violated.sum()
    assert set(times["site"]) <= {"north", "south"}
    assert applied.violations()["windows"].sum() == violated.sum()


def test_a_miner_of_intervals() -> None:
    system = _toy(np.random.default_rng(1), frames=120, missing=0.1)
    given_ = {"enrich": "none", "miner": "ts-narm", "evaluations": 600}
    run = th.mine(system, windows="1h", refine=None, progress="off", **given_)
    applied = th.apply(run, system)
    assert len(run.rules)
    assert (applied.counts[:, 0] == run.rules.counts.n_both).all()
    assert (applied.counts[:, :3].sum(axis=1) == run.rules.counts.n).all()
    assert applied.violations()["windows"].sum() == applied.counts[:, 1].sum()


def _two_sensors(flow: list[float], level: list[float], *, unit: str = "m", gap: int | None = None) -> SensorData:
    times = [START + timedelta(hours=at + (at >= gap) * 5 if gap else at) for at in range(len(flow))]
    frame = pl.DataFrame({"time": times, "f": flow, "l": level})
    return th.read_sensors(frame, kinds={"f": "flow", "l": "level"}, units={"level": unit})


def _pump(rng: np.random.Generator, frames: int) -> tuple[list[float], list[float]]:
    flow = (rng.random(frames) < 0.5).astype(float) * 10 + rng.random(frames)
    return flow.tolist(), (flow * 2 + rng.random(frames)).tolist()


@pytest.fixture(scope="module")
def pump_run() -> th.Run:
    flow, level = _pump(np.random.default_rng(0), 400)
    return th.mine(_two_sensors(flow, level), windows="1h", bins=2, refine=None, progress="off")


def test_a_rule_that_breaks_is_told_with_its_readings(pump_run: th.Run) -> None:
    flow, level = _pump(np.random.default_rng(1), 200)
    level[100:] = [30 - value for value in level[100:]]
    applied = th.apply(pump_run, _two_sensors(flow, level))
    changed = applied.changed()
    assert changed.height
    assert set(changed["verdict"]) == {"no longer holds"}
    first = changed.to_dicts()[0]
    # Half of the time it holds and half of the time it does not: there is no interval, but it is not as it was.
    assert first["now"] < 0.8 < first["then"]
    episodes = applied.violations(first["rule"])
    assert set(episodes["rule"]) == {first["rule"]}
    broken = pl.col("start").dt.replace_time_zone(None) >= START + timedelta(hours=100)
    assert episodes.filter(broken)["windows"].sum() > 0.9 * episodes["windows"].sum()
    assert (episodes["lowest"] <= episodes["highest"]).all()
    assert "no longer hold" in str(applied)
    assert first["sentence"] in str(applied)
    assert "<table" in applied._repr_html_()
    assert "no longer holds" in repr(applied)


def test_nothing_changes_where_nothing_changed(pump_run: th.Run) -> None:
    applied = th.apply(pump_run, _two_sensors(*_pump(np.random.default_rng(2), 300)))
    assert set(applied.verdicts) == {"holds"}
    assert applied.changed().height == 0


def test_a_rule_that_never_applied_has_no_confidence(pump_run: th.Run) -> None:
    applied = th.apply(pump_run, _two_sensors([0.5] * 50, [1.2] * 50))
    rows = applied.by_rule().filter(pl.col("applied") == 0)
    assert rows.height
    assert set(rows["verdict"]) == {"never applied"}
    assert rows["now"].null_count() == rows.height


def test_an_episode_ends_at_a_gap(pump_run: th.Run) -> None:
    # Two windows with hours between them were one episode, which lasted as long as the gap.
    applied = th.apply(pump_run, _two_sensors([10.5] * 10, [1.0] * 10, gap=4))
    episodes = applied.violations().filter(pl.col("windows") > 0)
    assert sorted(set(episodes["windows"])) == [4, 6]


def test_states_are_named_in_episodes() -> None:
    rng = np.random.default_rng(0)

    def data(broken: bool) -> SensorData:
        flow = (rng.random(300) < 0.5).astype(float) * 10
        states = ["on" if (value > 5) != broken else "off" for value in flow]
        times = [START + timedelta(hours=at) for at in range(300)]
        return th.read_sensors(pl.DataFrame({"time": times, "f": flow, "pump": states}))

    run = th.mine(data(False), windows="1h", bins=2, refine=None, progress="off")
    episodes = th.apply(run, data(True)).violations().filter(pl.col("sensor") == "pump")
    assert set(episodes["state"]) == {"on", "off"}
    assert episodes["lowest"].null_count() == episodes.height


def test_other_units_are_refused(pump_run: th.Run) -> None:
    # Numbers in other units would be counted against bins in the units of the run.
    with pytest.raises(th.errors.InputError, match="reads level in kg, but the rules are about level in m"):
        th.apply(pump_run, _two_sensors(*_pump(np.random.default_rng(2), 50), unit="kg"))


def test_a_sensor_that_is_gone_is_named(pump_run: th.Run) -> None:
    data = _two_sensors(*_pump(np.random.default_rng(2), 50)).select(["f"])
    applied = th.apply(pump_run, data)
    lost = applied.not_bound()
    assert set(lost["missing"]) == {"sensor"}
    assert set(lost["name"]) == {"l"}
    assert lost["reason"][0] == "there are no readings of the sensor 'l'"
    assert applied.verdicts == {"not bound": len(pump_run.rules)}
    assert applied.violations().height == applied.by_time().height == applied.by_place().height == 0
    assert "not applied" in str(applied)


def test_rules_alone_need_their_run(pump_run: th.Run) -> None:
    data = _two_sensors(*_pump(np.random.default_rng(2), 50))
    with pytest.raises(th.errors.ConfigError, match="pass like=run"):
        th.apply(pump_run.rules, data)
    with pytest.raises(th.errors.ConfigError, match="leave out 'like'"):
        th.apply(pump_run, data, like=pump_run)
    with pytest.raises(th.errors.ConfigError, match="got int"):
        th.apply(7, data)  # type: ignore[arg-type]
    applied = th.apply(pump_run.rules.top(1), data, like=pump_run)
    assert applied.by_rule().height == 1
    with pytest.raises(th.errors.ConfigError, match="numbered from 0 to 0"):
        applied.violations(3)
    with pytest.raises(th.errors.ConfigError, match="there is no rule -1"):
        applied.by_place(-1)


def test_rows_without_times_are_refused(pump_run: th.Run) -> None:
    with pytest.raises(th.errors.ConfigError, match="have no times"):
        th.apply(pump_run, pl.DataFrame({"f": [1.0, 2.0], "l": [2.0, 3.0]}))


def test_a_folder_is_written_whole(pump_run: th.Run, tmp_path: Path) -> None:
    applied = th.apply(pump_run, _two_sensors([10.5] * 10, [1.0] * 10, gap=4))
    applied.write(tmp_path / "out")
    told = json.loads((tmp_path / "out" / "applied.json").read_text(encoding="utf-8"))
    assert told == json.loads(applied.to_json())
    assert told["violated"] == pl.read_parquet(tmp_path / "out" / "violations.parquet")["windows"].sum()
    for name, frame in (("rules", applied.by_rule()), ("times", applied.by_time()), ("places", applied.by_place())):
        assert pl.read_parquet(tmp_path / "out" / f"{name}.parquet").equals(frame)
    with pytest.raises(th.errors.RunError, match="already exists"):
        applied.write(tmp_path / "out")
    applied.write(tmp_path / "out", force=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(th.errors.RunError, match="is not replaced"):
        applied.write(tmp_path / "mine", force=True)


def test_a_run_folder_and_a_run_are_the_same(pump_run: th.Run, tmp_path: Path) -> None:
    saved = pump_run.save(tmp_path / "run")
    data = _two_sensors(*_pump(np.random.default_rng(2), 100))
    here, there = th.apply(pump_run, data), th.apply(tmp_path / "run", data)
    assert here.by_rule().equals(there.by_rule())
    assert here.by_place()["then"].null_count() == 0
    assert here.by_place().equals(there.by_place())
    with pytest.raises(th.errors.ConfigError, match="does not record where its data are"):
        th.apply(th.load_run(saved.path or ""), data, recount=True)


def test_rules_about_patterns_bind_to_another_system_and_others_do_not() -> None:
    net3, toy = th.datasets.load("net3", days=3), th.datasets.load("toy")
    lifted = th.mine(net3, bins=3, min_support=0.1, max_antecedents=1, refine=None, progress="off")
    applied = th.apply(lifted, toy)
    assert not applied.later.same_system
    assert any("another system" in note for note in applied.notes)
    assert any("are fitted on all readings here" in note for note in applied.notes)
    lost = applied.not_bound()
    assert {"kind", "class", "place"} & set(lost["missing"])
    assert 0 < lost.height < len(lifted.rules)
    assert applied.counts[lost["rule"].to_numpy()].sum() == 0
    fitted = th.apply(lifted, toy, reference=0.5)
    assert any("reference period" in note and "(48 windows)" in note for note in fitted.notes)
    named = th.mine(net3, enrich="none", bins=2, min_support=0.4, max_antecedents=1, refine=None, progress="off")
    alike = replace(toy, sensors=toy.sensors, name="other")
    assert th.apply(named, alike).verdicts == {"not bound": len(named.rules)}


def test_ids_of_another_system_do_not_bind() -> None:
    # The other network has the same sensor ids, at other nodes.
    system = _toy(np.random.default_rng(0), frames=60, missing=0.0, name="")
    run = th.mine(system, windows="1h", enrich="grounded", bins=2, min_support=0.2, max_antecedents=1, refine=None)
    assert system.binding is not None
    nodes = dict(system.binding)
    turned = dict(zip(nodes, [*list(nodes.values())[1:], next(iter(nodes.values()))], strict=True))
    moved = replace(system, binding=th.graph.Binding(turned))
    assert th.apply(run, moved).verdicts == {"not bound": len(run.rules)}
    # One that has moved is one sensor elsewhere, not another system.
    sensors = list(nodes)
    one = replace(system, binding=th.graph.Binding({**nodes, sensors[0]: nodes[sensors[1]]}))
    lost = th.apply(run, one).not_bound()
    assert set(lost["name"]) == {sensors[0]}
    assert "was at" in lost["reason"][0]


def test_laws_and_controls_are_applied_too() -> None:
    net3 = th.datasets.load("net3", days=14)
    run = th.mine(net3.between(end="2024-01-08"), progress="off")
    assert run.laws
    assert run.controls
    applied = th.apply(run, net3.between(start="2024-01-08"))
    laws = applied.laws()
    assert set(laws["verdict"]) == {"holds", "weaker"}
    weaker = laws.filter(pl.col("verdict") == "weaker").to_dicts()[0]
    assert weaker["broken_at"] == ["Pipe 20"]
    assert "broken at 1 place of 3: Pipe 20" in str(applied)
    assert set(applied.controls()["verdict"]) <= {"holds", "too little data", "never applied"}
    other = th.apply(run, th.datasets.load("toy"))
    assert any("controls are not applied" in note for note in other.notes)


def test_edges(pump_run: th.Run, tmp_path: Path) -> None:
    toy = th.datasets.load("toy")
    with pytest.raises(th.errors.InputError, match="no readings to apply"):
        th.apply(pump_run, _two_sensors(*_pump(np.random.default_rng(2), 50)).between(start="2030-01-01"))
    # A run with laws only, or none at all.
    nothing = th.apply(replace(pump_run, rules=th.RuleSet.empty()), _two_sensors(*_pump(np.random.default_rng(2), 50)))
    assert nothing.by_rule().height == nothing.violations().height == nothing.not_bound().height == 0
    assert "rules: none" in str(nothing)
    # Later readings of a data set belong to its graph; a run of objects does not say where its graph is.
    config = th.Config.from_mapping({"input": {"dataset": "toy", "end": "2024-01-02"}, "windows": {"every": "1h"}})
    th.mine(config=config, bins=3, refine=None, out=tmp_path / "run", progress="off")
    later = toy.between(start="2024-01-02").sensors.to_polars()
    later.write_csv(tmp_path / "later.csv")
    applied = th.apply(tmp_path / "run", tmp_path / "later.csv", recount=True)
    assert applied.later.same_system
    assert applied.by_place()["then"].null_count() == 0
    objects = th.mine(toy, windows="1h", bins=3, refine=None, progress="off")
    with pytest.raises(th.errors.ConfigError, match="does not say where it is"):
        th.apply(objects, later)


def test_a_new_sensor_that_is_silent_in_the_reference_period_is_named() -> None:
    # All its readings were missing, and nothing said so.
    net3, toy = th.datasets.load("net3", days=3), th.datasets.load("toy")
    run = th.mine(net3, bins=3, min_support=0.1, max_antecedents=1, refine=None, progress="off")
    frame = toy.sensors.to_polars()
    late = pl.when(pl.int_range(pl.len()) >= 48).then(pl.col("pressure_A"))
    kinds = {sensor.id: sensor.kind for sensor in toy.sensors.sensors}
    sensors = th.read_sensors(frame.with_columns(late.alias("pressure_A")), kinds=kinds)
    applied = th.apply(run, replace(toy, sensors=sensors), reference=0.4)
    assert any("counted as missing throughout: pressure_A" in note for note in applied.notes)
    assert "pressure_A" not in applied.by_place()["sensor"]
