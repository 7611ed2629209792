"""Findings: statements in reading order, searched, filtered, listed and written alike for every kind."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings

import thence as th
from tests.helpers.rule_sets import rule_sets
from thence.runs.preparation import Prepared
from thence.runs.run import Run
from thence.statements.files import Format
from thence.statements.findings import Findings
from thence.statements.keys import key_text
from thence.statements.ranges import Ranges
from thence.statements.rules.ruleset import RuleSet
from thence.statements.search import RuleTexts, contains, index_texts, split_words
from thence.statements.statement import HOLDS, MISSING, VIOLATED, Statement, Words, parse_kinds

MINER = th.Exact(min_support=0.2, max_antecedents=1)
WORDS = ("pump 335", '"pump 335"', "if:level then:pump", "closed", "flow pressure", "then:flow", "nowhere", "")


@cache
def mined() -> Run:
    return th.mine(th.datasets.load("net3", days=14), miner=MINER, progress="off")


def keys_of(found: Findings) -> list[str]:
    return [one.key for one in found]


def test_findings_are_the_controls_the_laws_and_the_rules_of_a_run() -> None:
    run = mined()
    found = run.findings
    assert run.laws and run.controls
    expected = [*run.controls, *run.laws, *run.rules]
    assert (
        list(found)
        == expected
        == [found[at] for at in range(len(found))]
        == [found[at - len(found)] for at in range(len(found))]
    )
    assert [found[one.key] for one in expected] == expected
    parts = {"control": run.controls, "law": run.laws, "rule": run.rules}
    assert [one.kind for one in found] == [kind for kind, part in parts.items() for _ in part]
    assert all(one in found and one.key in found for one in expected) and "0" * 16 not in found
    with pytest.raises(IndexError):
        found[len(found)]
    with pytest.raises(th.errors.ConfigError, match="no rule, law or control has the key 'x'"):
        found["x"]


def test_slices_and_top_keep_the_reading_order() -> None:
    found = mined().findings
    listed = list(found)
    for chosen in (slice(2), slice(3, None, 4), slice(len(found) - 2, None)):
        assert list(found[chosen]) == listed[chosen]
    assert list(found.top(5)) == listed[:5] and not len(found.top(0))


@pytest.mark.parametrize("text", WORDS)
def test_a_search_finds_what_the_texts_of_each_statement_have(text: str) -> None:
    found, words = mined().findings, split_words(text)
    assert list(found.search(text)) == [one for one in found if contains(one.search_texts, words)]


def test_the_controls_of_a_pump_come_first() -> None:
    found = mined().findings.search("Pump 335")
    kinds = [one.kind for one in found]
    assert kinds[0] == "control" and kinds == sorted(kinds, key=("control", "law", "rule").index)
    assert all("Pump 335" in one.sentence() for one in found.controls)


@settings(deadline=None)
@given(rule_sets())
def test_columns_find_the_same_rules_as_their_texts(rules: RuleSet) -> None:
    texts = RuleTexts(rules)
    for word in ("a", "if:a", "then:b", "is", "∈", "for every"):
        assert texts.find(word).tolist() == [contains(rule.search_texts, [word]) for rule in rules]


def test_the_index_of_a_page_has_the_texts_of_every_statement() -> None:
    found = mined().findings
    index = index_texts(found.controls, found.laws, found.rules)
    assert len(set(index["texts"])) == len(index["texts"])
    for one, record in zip(found, index["statements"], strict=True):
        sides = [record["left"], record["right"], record["whole"]]
        texts = [sorted(index["texts"][at] for at in side) for side in sides]
        assert texts == list(map(sorted, one.search_texts))


def test_filters_agree_with_what_each_statement_says_of_itself() -> None:
    found = mined().findings
    for option, field in (("quantity", "kinds"), ("cls", "classes"), ("sensor", "sensors"), ("property", "properties")):
        names = {name for one in found for name in getattr(one.about, field)}
        for name in sorted(names)[:3]:
            expected = [one for one in found if name in getattr(one.about, field)]
            assert list(found.filter(**{option: name})) == expected, (option, name)  # type: ignore[arg-type]
    sure = found.filter(min_share=0.95, min_applies=20)
    assert list(sure) == [one for one in found if one.counts.applies >= 20 and one.counts.share >= 0.95]
    exact = found.filter(min_share=1)
    assert list(exact) == [one for one in found if one.counts.applies and one.counts.holds == one.counts.applies]
    assert list(found.filter(kind="law")) == list(found.laws)
    assert list(found.filter(where=lambda one: "level" in one.about.kinds)) == list(found.filter(quantity="level"))
    with pytest.raises(th.errors.ConfigError, match="there is no kind of statement 'mouse'"):
        found.filter(kind="mouse")


def test_statements_at_a_place_are_those_that_name_it_or_were_counted_there() -> None:
    found = mined().findings
    here = found.at("Pump 335")
    counted = found.by_place().filter(pl.col("place").str.contains("Pump 335") & (pl.col("applies") > 0))
    assert set(counted["key"]) <= set(keys_of(here)) and {one.kind for one in here} == {"control", "law", "rule"}
    assert all("Pump 335" in one.about.places for one in (*here.controls, *here.laws))


def test_counts_by_place_add_up() -> None:
    found = mined().findings
    rows = found.by_place().group_by("key").agg(pl.col("applies", "holds").sum()).rows()
    totals = {key: (applies, holds) for key, applies, holds in rows}
    assert set(totals) == set(keys_of(found))
    assert all(totals[one.key] == (one.counts.applies, one.counts.holds) for one in found)


def test_the_frame_has_a_row_for_each_statement() -> None:
    found = mined().findings
    frame = found.to_polars()
    for row, one in zip(frame.iter_rows(named=True), found, strict=True):
        counts = one.counts
        expected = (one.key, one.kind, one.sentence(), counts.applies, counts.holds, counts.later_applies)
        assert tuple(row[name] for name in ("key", "kind", "sentence", "applies", "holds", "later_applies")) == expected
    assert found.to_polars(sentences=False).equals(frame.drop("sentence"))


def test_statements_of_every_kind_are_exported(tmp_path: Path) -> None:
    found = mined().findings
    assert pl.read_parquet(found.export(tmp_path / "a.parquet")).equals(found.to_polars())
    assert pl.read_csv(found.export(tmp_path / "a.csv"))["key"].to_list() == keys_of(found)
    document = json.loads(found.export(tmp_path / "a.json").read_text("utf-8"))
    assert [one["key"] for one in document["statements"]] == keys_of(found)
    assert found.export(tmp_path / "a.md").read_text("utf-8").count("\n| ") == len(found) + 1
    with pytest.raises(th.errors.ConfigError, match="csv of statements has no options, got english"):
        found.export(tmp_path / "a.csv", english=False)


def test_graph_stores_hold_rules_and_the_controls_that_are_rules_and_name_the_others(tmp_path: Path) -> None:
    found = mined().findings
    said = [one.rule for one in found.controls]
    rules = found.worded_as_rules()
    assert list(rules) == [*found.rules, *(rule for rule in said if rule is not None)] and any(said)
    lost = [one.sentence() for one in (*found.laws, *(one for one in found.controls if one.rule is None))]
    notes = rules.notes[len(found.rules.notes) :]
    assert lost and [note.partition(": ")[2] for note in notes] == lost
    text = found.export(tmp_path / "a.rq", find="matches").read_text("utf-8")
    assert text.count("SELECT DISTINCT") == len(rules) and all(f"# {note}\n" in text for note in notes)
    shapes = found.export(tmp_path / "a.ttl").read_text("utf-8")
    assert shapes.count("a sh:NodeShape") == len(rules) and all(f"# {note}\n" in shapes for note in notes)


def test_formats_of_other_packages_hold_rules_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Format("other", (".other",), "a test", lambda rules, path: path.write_text(str(len(rules))))
    monkeypatch.setattr("thence.statements.findings.find_format", lambda path, name=None: other)
    with pytest.raises(th.errors.ConfigError, match="other holds rules only, and there are 13 laws and controls"):
        mined().findings.export(tmp_path / "a.other")


def test_kinds_of_statements_are_named_by_people() -> None:
    assert parse_kinds("Rules, law") == parse_kinds(["rule", "laws"]) == ("law", "rule")
    for wrong in ("ranges", "", "rules,lwas"):
        with pytest.raises(th.errors.ConfigError, match="kind of statement"):
            parse_kinds(wrong)
    assert {one.kind for one in mined().findings.filter(kind="laws,controls")} == {"law", "control"}


def test_every_statement_counts_itself_again_on_the_data_that_it_was_found_in() -> None:
    run = mined()
    data = Prepared.of_run(run)
    for one in run.findings:
        states, counts = one.check(data), one.counts
        assert (states.counts.applies, states.counts.holds) == (counts.applies, counts.holds), one.sentence()
        for place, (applies, holds) in counts.by_place.items():
            assert states.counts.by_place.get(place, (0, 0)) == (applies, holds)
        place = states.places[int(((states.codes == HOLDS).sum(axis=1)).argmax())]
        assert all(len(trace.values) == states.codes.shape[1] for trace in one.traces(data, place))
        assert one.traces(data, place)


def test_ranges_are_statements() -> None:
    run = mined()
    assert run.readings is not None
    data = Prepared.of_run(run)
    first, second = (sensor.id for sensor in run.readings.numeric[:2])
    one: Statement = Ranges(first, second, (0.0,), (-1e9, 0.0), (1e9, 0.0), rows=10, violated=2)
    states = one.check(data)
    values = run.readings.values[:, :2]
    assert states.codes.shape == (1, len(run.readings)) and (one.counts.applies, one.counts.holds) == (10, 8)
    assert ((states.codes == MISSING)[0] == np.isnan(values).any(axis=1)).all()
    assert ((states.codes == VIOLATED)[0] == ((values[:, 0] >= 0) & (values[:, 1] != 0))).all()
    assert one.about.sensors == tuple(sorted((first, second))) and len(one.traces(data, "")) == 2
    assert one.sentence(Words(counts=True)).endswith("(in 8 of 10 rows)")


def test_a_million_rules_are_not_made_into_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    run = mined()
    made = []
    monkeypatch.setattr("thence.statements.rules.ruleset.RuleSet.rule", lambda *_: made.append(1))
    found = run.findings
    assert len(found.search("flow").filter(quantity="flow", min_share=0.9).at("Pump 335")) and found.top(3)
    assert found.to_polars(sentences=False).height == len(found) and found.by_place().height
    assert not made


def test_findings_without_laws_and_controls() -> None:
    run = th.mine(pl.DataFrame({"a": ["x", "x", "y"] * 9, "b": ["u", "u", "v"] * 9}), progress="off")
    assert keys_of(run.findings) == [key_text(key) for key in run.rules.keys]
    assert run.findings.by_place().height == 0 and not len(run.findings.at("a"))
    nothing = run.findings.search("nowhere")
    assert repr(nothing) == "Findings(no statement was found)" and nothing.to_polars().height == 0


def test_findings_show_themselves() -> None:
    found = mined().findings
    assert str(found).splitlines()[1].endswith(found[0].sentence())
    assert "<script" not in found._repr_html_() and "Tank 1" in found._repr_html_()


def test_known_rules_are_rules_with_a_source() -> None:
    frame = pl.DataFrame({"a": ["x", "x", "y"] * 9, "b": ["u", "u", "v"] * 9})
    run = th.mine(frame, known=[{"if": "a = x", "then": "b = u", "name": "the manual"}], progress="off")
    assert run.known is not None
    (known,) = run.known
    assert (known.source, known.counts.applies, known.counts.holds) == ("the manual", 18, 18)
    assert known.to_dict()["source"] == "the manual" and not any(rule.source for rule in run.rules)
