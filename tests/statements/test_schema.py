"""One schema for all kinds: what is written suits it, and what was written can be read again."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings

import thence as th
from tests.helpers.rule_sets import rule_sets
from thence.statements.findings import Findings
from thence.statements.ranges import Ranges
from thence.statements.rules.ruleset import RuleSet
from thence.statements.schema import document, json_schema, statement_from_dict

jsonschema = pytest.importorskip("jsonschema")
PUBLISHED = Path(__file__).parents[2] / "docs" / "assets" / "statements.schema.json"


@cache
def found() -> Findings:
    miner = th.Exact(min_support=0.2, max_antecedents=1)
    return th.mine(th.datasets.load("net3", days=14), miner=miner, progress="off").findings


def test_every_kind_suits_the_schema() -> None:
    ranges = Ranges("a", "b", (1.0,), (0.0, 2.0), (1.0, 3.0), 20, 1)
    jsonschema.Draft202012Validator.check_schema(json_schema())
    jsonschema.validate(json.loads(json.dumps(document([*found(), ranges]))), json_schema())


@settings(deadline=None, max_examples=20)
@given(rule_sets())
def test_any_rule_suits_the_schema(rules: RuleSet) -> None:
    jsonschema.validate(document(rules), json_schema())


def test_what_is_written_is_read_again() -> None:
    for one in (*found(), Ranges("a", "b", (1.0,), (0.0, 2.0), (1.0, 3.0), 20, 1)):
        again = statement_from_dict(json.loads(json.dumps(one.to_dict())))
        assert again == one and again.key == one.key and again.sentence() == one.sentence()
        assert (again.counts.applies, again.counts.holds) == (one.counts.applies, one.counts.holds)


def test_what_is_no_statement_is_refused() -> None:
    with pytest.raises(th.errors.InputError, match="there is no kind of statement 'lav'"):
        statement_from_dict({"kind": "lav"})
    for one in (found()[0], found().laws[0], found().rules.rule(0), Ranges("a", "b", (), (0.0,), (1.0,))):
        for name in set(one.to_dict()) & {"antecedent", "band", "threshold", "low"}:
            record = {key: value for key, value in one.to_dict().items() if key != name}
            with pytest.raises(th.errors.InputError, match="is incomplete or damaged"):
                statement_from_dict(record)
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate(
                    {"format": "thence statements", "version": 1, "statements": [record]}, json_schema()
                )


def test_the_published_schema_is_the_present_one() -> None:
    assert json.loads(PUBLISHED.read_text("utf-8")) == json_schema()
