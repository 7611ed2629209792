"""JSON and Parquet give back the same rules, counts and facts."""

from __future__ import annotations

import json
import math
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings

from tests.helpers.examples import examples
from tests.show.export.rulesets import rule_sets, told, varied
from thence.errors import ConfigError, InputError
from thence.language.items import Feature, Interval, Item
from thence.statements.files import FORMATS, find_format, read_rules, write_rules
from thence.statements.rules.measures import Counts
from thence.statements.rules.ruleset import Rule, RuleSet

READABLE = [name for name in FORMATS if FORMATS.load(name).read is not None]


@pytest.mark.parametrize("name", READABLE)
def test_every_item_form_reads_back(name: str, tmp_path: Path) -> None:
    rules = varied()
    back = read_rules(write_rules(rules, tmp_path / "rules", format=name), format=name)
    assert told(back) == told(rules)
    assert dict(back.facts) == dict(rules.facts)
    assert back.notes == rules.notes
    assert [rule.english for rule in back] == [rule.english for rule in rules]


@pytest.mark.parametrize("name", READABLE)
@settings(max_examples=examples(60))
@given(rules=rule_sets())
def test_any_rules_read_back(name: str, rules: RuleSet) -> None:
    with tempfile.TemporaryDirectory() as folder:
        back = read_rules(write_rules(rules, Path(folder) / "rules", format=name), format=name)
    assert told(back) == told(rules)


@pytest.mark.parametrize("name", READABLE)
def test_no_rules_read_back_with_the_reason(name: str, tmp_path: Path) -> None:
    rules = RuleSet.empty("nothing was found", facts={"n_transactions": 3})
    back = read_rules(write_rules(rules, tmp_path / "rules", format=name), format=name)
    assert len(back) == 0
    assert back.notes == ("nothing was found",)
    assert back.facts["n_transactions"] == 3


@pytest.mark.parametrize("name", FORMATS.names())
def test_equal_rules_give_equal_bytes_however_items_are_numbered(name: str, tmp_path: Path) -> None:
    rules = varied()
    order = np.arange(len(rules.items))[::-1]
    place = np.append(np.argsort(order), -1).astype(np.int32)
    renumbered = RuleSet(
        tuple(rules.items[i] for i in order),
        place[rules.antecedents],
        place[rules.consequents],
        rules.counts,
        rules.patterns,
        rules.pattern_of,
        rules.extras,
        rules.facts,
        rules.notes,
    )
    first = write_rules(rules, tmp_path / "a", format=name).read_bytes()
    second = write_rules(renumbered, tmp_path / "b", format=name).read_bytes()
    assert first == second


def test_json_names_items_once_and_gives_measures(tmp_path: Path) -> None:
    data = json.loads(write_rules(varied(), tmp_path / "rules.json").read_text(encoding="utf-8"))
    first = data["rules"][0]
    assert set(first["antecedent"]) <= set(data["items"])
    assert (first["support"], first["confidence"]) == (9 / 100, 9 / 10)
    assert first["english"].startswith("if the flow sensor in Pipe 28 (length 843–895 m) reads 23–31 m³/h")


def test_json_leaves_sentences_out_when_asked(tmp_path: Path) -> None:
    data = json.loads(write_rules(varied(), tmp_path / "rules.json", english=False).read_text(encoding="utf-8"))
    assert "english" not in data["rules"][0]


def test_parquet_is_a_plain_frame_for_others(tmp_path: Path) -> None:
    frame = pl.read_parquet(write_rules(varied(), tmp_path / "rules.parquet"))
    assert frame["antecedents"].to_list()[0] == [str(item) for item in varied().rule(0).antecedent]
    assert frame["confidence"].to_list()[:2] == [0.9, 0.25]
    assert frame["pattern"].null_count() == 6


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("rules.json", "[1, 2", "not valid JSON"),
        ("rules.json", '{"rules": []}', "not a rules file written by Thence"),
        ("rules.json", '{"format": "thence rules", "version": 99}', "update Thence"),
        ("rules.parquet", "PAR0", "not a readable Parquet file"),
    ],
)
def test_foreign_files_are_refused_by_name(name: str, content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message) as caught:
        read_rules(path)
    assert caught.value.where is not None
    assert caught.value.where.startswith(str(path))


def test_parquet_without_our_metadata_is_refused(tmp_path: Path) -> None:
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "rules.parquet")
    with pytest.raises(InputError, match="it has no list of items"):
        read_rules(tmp_path / "rules.parquet")


@pytest.mark.parametrize("lost", ["version", "items", "rules", "patterns", "extras", "facts", "notes"])
def test_json_that_lacks_something_is_refused(lost: str, tmp_path: Path) -> None:
    path = write_rules(varied(), tmp_path / "rules.json")
    data = json.loads(path.read_text())
    del data[lost]
    path.write_text(json.dumps(data))
    with pytest.raises(InputError, match=f"incomplete or damaged: '{lost}' is missing"):
        read_rules(path)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_rules(tmp_path / "rules.json")


def test_formats_go_by_suffix_or_name() -> None:
    for name in FORMATS:
        known = find_format("x", name)
        assert known.name == name
        for suffix in known.suffixes:
            assert find_format(f"x{suffix.upper()}") is known
    with pytest.raises(ConfigError, match=r"did you mean 'parquet'"):
        find_format("x", "parqet")
    with pytest.raises(ConfigError, match=r"no format has the suffix '.docx' \(use one of .json, .parquet"):
        find_format("rules.docx")


def test_a_failed_export_leaves_the_old_file(tmp_path: Path) -> None:
    path = write_rules(varied(), tmp_path / "rules.rq")
    before = path.read_bytes()
    with pytest.raises(ConfigError, match="find must be 'violations' or 'matches', got 'nothing'"):
        write_rules(varied(), path, find="nothing")
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["rules.rq"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("rules.json", "[" * 100_000),
        ("rules.json", '{"format": "thence rules", "version": ' + "9" * 5_000 + "}"),
        ("x" * 5_000 + ".json", None),
    ],
)
def test_hostile_files_of_rules_are_refused(name: str, content: str | None, tmp_path: Path) -> None:
    """They ended in RecursionError, ValueError and OSError."""
    path = tmp_path / name
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_rules(path)
    assert len(str(caught.value)) < 2_000


def test_ranges_as_earlier_versions_wrote_them_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text of a range that excludes 0 was ``[5e-324, 2.89)``; files refer to items by their texts."""
    above = Item.among(Feature("a"), Interval(math.nextafter(0.0, 1.0), 2.89))
    rule = Rule((above,), Item.is_(Feature("b"), "on"))
    rules = RuleSet.from_rules([rule], Counts.from_matrix([[10, 4, 5, 3]]))
    for suffix in ("json", "parquet"):
        with monkeypatch.context() as earlier:
            earlier.setattr(Interval, "__str__", lambda one: f"[{one.low!r}, {one.high!r})")
            assert "5e-324" in str(above)
            path = write_rules(rules, tmp_path / f"rules.{suffix}")
        assert "5e-324" not in str(above)
        assert list(read_rules(path)) == [rule]
    for suffix in ("csv", "md"):
        assert "5e-324" not in write_rules(rules, tmp_path / f"rules.{suffix}").read_text(encoding="utf-8")
    assert "5e-324" not in rules._repr_html_() + str(rules) + str(rules.to_pandas()) + str(rules.to_polars())
