"""Known rules of a run: read from everywhere, counted exactly on tables of every enrichment, kept and told."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thence as th
from tests.helpers.commands import succeed
from tests.helpers.examples import examples
from thence.errors import ConfigError, InputError
from thence.language.known import KnownRule
from thence.runs.configuration import Config
from thence.runs.known import count_known, count_known_rows, read_known
from thence.runs.planning import plan
from thence.runs.preparation import Prepared, window_readings

PIPE = "(f:flow)-[in]->(p:Pipe)-[connected]-(j:Junction)<-[in]-(g:pressure)"


def counts(rules: th.RuleSet, number: int = 0) -> tuple[int, int, int, int]:
    own = rules.counts
    return tuple(int(part[number]) for part in (own.n, own.n_antecedent, own.n_consequent, own.n_both))  # type: ignore[return-value]


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=25, max_size=40, unique=True),
    st.sampled_from(["<", "<=", ">", ">="]),
    st.integers(-1, 10),
    st.integers(0, 4),
    st.integers(5, 10),
)
def test_a_plain_table_is_counted_as_written(
    pairs: list[tuple[int, int]], symbol: str, cut: int, low: int, high: int
) -> None:
    a, b = (np.array(column) / 10 + 0.013 * np.arange(len(column)) for column in zip(*pairs, strict=True))
    frame = pl.DataFrame({"a": a, "b": b})
    known = read_known(f"a {symbol} {cut / 10} => {low / 10} <= b < {high / 10}")
    config, _ = plan(Config(), graph=False)
    rules = count_known_rows(known, frame, config, denominator="present")
    left = {"<": a < cut / 10, "<=": a <= cut / 10, ">": a > cut / 10, ">=": a >= cut / 10}[symbol]
    right = (b >= low / 10) & (b < high / 10)
    assert rules is not None
    assert counts(rules) == (len(a), left.sum(), right.sum(), (left & right).sum())


@pytest.fixture(scope="module")
def toy() -> th.System:
    return th.datasets.load("toy")


def windowed(system: th.System) -> Prepared:
    config, _ = plan(Config(), graph=True)
    return Prepared(system, config, window_readings(system, config))


def counted(system: th.System, *rules: str) -> th.RuleSet:
    found = count_known(read_known(rules), windowed(system), denominator="present")
    assert found is not None
    return found


def series(system: th.System) -> dict[str, np.ndarray]:
    readings = windowed(system).readings
    return {s.id: readings.values[:, at] for at, s in enumerate(readings.numeric)}


def test_named_sensors_are_counted_as_written(toy: th.System) -> None:
    own = series(toy)
    flow, pressure = own["flow_AB"], own["pressure_B"]
    cut, edge = float(np.quantile(flow, 0.37)), float(np.quantile(pressure, 0.61))
    rules = counted(toy, f"flow_AB <= {cut!r} => pressure_B > {edge!r}", f"(flow_AB).value > {cut!r} => Junction B < 9")
    left, right = flow <= cut, pressure > edge
    assert counts(rules) == (len(flow), left.sum(), right.sum(), (left & right).sum())
    assert counts(rules, 1)[1] == (~left).sum()
    assert "Pipe AB" in rules.rule(0).english


def test_lifted_rules_are_counted_at_every_place(toy: th.System) -> None:
    own = series(toy)
    rules = counted(
        toy, f"{PIPE} ⊢ f > 20.5 => g < 47.25", f"{PIPE} |- (?f:flow).rank ≥ 0.85 => (?g:pressure).rank < 0.5"
    )
    want = np.zeros(4, np.int64)
    for pipe in ("AB", "BC"):
        for junction in pipe:
            left, right = own[f"flow_{pipe}"] > 20.5, own[f"pressure_{junction}"] < 47.25
            want += np.array([len(left), left.sum(), right.sum(), (left & right).sum()])
    assert counts(rules) == tuple(want)
    assert rules.rule(0).english.startswith("for every Pipe p, Junction j where p is connected to j")
    # The highest 15 % of 96 windows at four places, and what lies below the median.
    below = {one: int((own[f"pressure_{one}"] < np.sort(own[f"pressure_{one}"])[48]).sum()) for one in "ABC"}
    assert counts(rules, 1)[:3] == (384, 4 * 15, below["A"] + 2 * below["B"] + below["C"])


def test_properties_and_statements_about_some_sensor(toy: th.System) -> None:
    own = series(toy)
    length = toy.graph.value("Pipe AB", "length")  # type: ignore[union-attr]
    rules = counted(
        toy,
        f"{PIPE} ⊢ (?p:Pipe).length = {length} => f > 20.5",
        "(some flow in Pipe).value > 30.5 => (some pressure in Junction).value < 44.5",
    )
    assert counts(rules)[1] == 2 * len(own["flow_AB"])
    left = (own["flow_AB"] > 30.5) | (own["flow_BC"] > 30.5)
    right = np.any([own[f"pressure_{one}"] < 44.5 for one in "ABC"], axis=0)
    assert counts(rules, 1) == (len(left), left.sum(), right.sum(), (left & right).sum())


def test_what_the_data_lack_is_left_out_and_said(toy: th.System) -> None:
    rules = counted(
        toy,
        "flow_AC > 3 => pressure_B > 4",
        "flow_AB > 3 => pressure_B > 4",
        "(f:flw)-[in]->(p:Pipe) ⊢ f > 3 => f > 2",
        f"{PIPE} ⊢ (?f:flow).rank ≥ 0.123456 => g < 1",
    )
    assert len(rules) == 1
    assert [note.partition(" is left out: ")[2] for note in rules.notes] == [
        "there is no 'flow_AC' in these data (did you mean 'flow_BC'?)",
        "no sensor has the kind 'flw' (known kinds: flow, pressure)",
        "its ranks are no multiples of 1/5, nor of any finer part up to 1/200",
    ]
    with pytest.raises(ConfigError, match="'flow' can be several things"):
        counted(toy, "flow > 3 => pressure_B > 4")


def test_a_run_tells_known_rules_once_and_keeps_them(toy: th.System, tmp_path: Path) -> None:
    settings_ = {"windows": "1h", "confirm": False, "bins": 3, "enrich": "none", "progress": "off"}
    before = th.mine(toy, **settings_)  # type: ignore[arg-type]
    first = before.rules.rule(0)
    run = th.mine(toy, known=[first], out=tmp_path / "run", **settings_)  # type: ignore[arg-type]
    assert first not in set(run.rules)
    assert run.known is not None
    assert list(run.known) == [first]
    assert counts(run.known) == counts(before.rules)
    assert run.summary["known"] == 1
    assert any("from known rules" in note for note in run.summary["notes"])
    again = th.load_run(tmp_path / "run")
    assert list(again.known) == [first]  # type: ignore[arg-type]
    assert again.config.known == read_known(first)
    assert str(again).splitlines()[1:3] == ["known rules", "   1. " + again.logic["known rules"][0]]
    report = th.report(again)
    assert [row["sentence"] for row in report.data["known"]] == [first.english]
    # The recorded configuration gives the same rules.
    assert list(th.mine(toy, config=again.config, progress="off").rules) == list(run.rules)
    everything = th.mine(toy, known=[first], refine=None, **settings_)  # type: ignore[arg-type]
    assert len(everything.rules) == before.summary["rules_found"]


def test_known_rules_come_from_files_runs_and_rules(toy: th.System, tmp_path: Path) -> None:
    file = tmp_path / "known.toml"
    file.write_text('[[known]]\nname = "manual, 4.2"\nif = "a < 3 and b = on"\nthen = "c = 1"\n')
    (rule,) = read_known(file)
    assert (rule.name, rule.antecedent) == ("manual, 4.2", ("a < 3", "b = on"))
    assert read_known([str(file), "a < 3 and b = on => c = 1"])[1] == replace(rule, name="")
    run = th.mine(toy, windows="1h", bins=3, out=tmp_path / "run", confirm=False, progress="off")
    texts = [str(one) for one in run.rules]
    assert [str(one) for one in read_known(tmp_path / "run")] == texts
    assert [str(one) for one in read_known(tmp_path / "run" / "rules.json")] == texts
    run.review(1, "accepted")
    assert [str(one) for one in read_known(run)] == texts[1:2]
    for source, says in ((tmp_path / "no.toml", "no such file"), ({"if": "a < 3"}, "needs 'then'"), (3, "got int")):
        with pytest.raises((ConfigError, InputError), match=says):
            read_known(source)
    file.write_text("[[known]]\nif = 'a < 3'\nthen = 'c'\n")
    with pytest.raises(ConfigError, match=r"known.toml, \[\[known\]\] 1.*'c' is no item"):
        read_known(file)
    with pytest.raises(ConfigError, match=r"\[\[known\]\] 1: unknown key 'iff'"):
        Config.from_mapping({"known": [{"iff": "a < 3"}]})


def test_the_command_line_takes_known_rules(tmp_path: Path) -> None:
    out = tmp_path / "run"
    printed = succeed(
        *("mine", "--dataset", "toy", "--windows", "1h", "--enrich", "none", "--bins", "3", "--out", out),
        *("--known", "flow_AB > 20 => pressure_B < 50"),
    )
    assert "if the flow sensor in Pipe AB reads above 20 m³/h" in " ".join(printed.split())
    assert th.load_run(out).config.known == (KnownRule(antecedent=("flow_AB > 20",), consequent="pressure_B < 50"),)


def test_the_ontology_brings_rules_of_its_own(toy: th.System, tmp_path: Path) -> None:
    assert toy.ontology is not None
    settings_ = {"windows": "1h", "confirm": False, "enrich": "lifted", "miner": "exact", "progress": "off"}
    before = th.mine(toy, **settings_)  # type: ignore[arg-type]
    first = before.rules.rule(0)
    schema = tmp_path / "rules.json"
    schema.write_text(json.dumps({"known": [KnownRule.of(first, name="manual").to_mapping()]}))
    wiser = replace(toy, ontology=toy.ontology.merged(th.read_ontology(schema)))
    run = th.mine(wiser, **settings_)  # type: ignore[arg-type]
    assert run.known is not None and list(run.known) == [first]
    assert run.known.extras["name"].tolist() == ["manual"]
    assert first not in list(run.rules) and first in list(before.rules)
    # The configuration does not repeat what the ontology says, and a rule that both know is told once.
    assert run.config.known == ()
    again = th.mine(wiser, known=KnownRule.of(first, name="manual"), **settings_)  # type: ignore[arg-type]
    assert again.known is not None and len(again.known) == 1


def test_an_ontology_in_rdf_brings_rules(tmp_path: Path) -> None:
    vocabulary = """@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix : <urn:plant:> .
        @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        :Pump a owl:Class .
        :law a owl:NamedIndividual ; rdfs:label "law 7" ; <urn:thence:known> "%s" ."""
    (tmp_path / "plant.ttl").write_text(vocabulary % "flow > 3 => pump = on")
    ontology = th.read_ontology(tmp_path / "plant.ttl")
    assert ontology.known == (KnownRule.parse("flow > 3 => pump = on", name="law 7"),)
    (tmp_path / "plant.ttl").write_text(vocabulary % "flow > 3")
    with pytest.raises(th.errors.GraphError, match=r"plant.ttl: urn:plant:law: a known rule has one '=>'"):
        th.read_ontology(tmp_path / "plant.ttl")
