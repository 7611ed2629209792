"""The whole report: complete, small, honest about what it lacks, and as the schema says."""

from __future__ import annotations

import json
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np
import polars as pl
import pytest

import thence as th
from tests.show.reports.worlds import HOSTILE, world
from thence.language.items import Feature, Item
from thence.runs.run import Run
from thence.show.reports import build
from thence.show.reports.build import build_report
from thence.show.reports.material import Material, material_of
from thence.show.reports.schema import Report
from thence.statements.rules.measures import Counts
from thence.statements.rules.ruleset import RuleSet

SETTINGS: dict[str, Any] = {"windows": "1h", "bins": 2, "min_confidence": 0.6, "confirm": False, "progress": "off"}


def breaches(value: Any, kind: Any, place: str = "report") -> list[str]:
    """Where a value is not of the type that the schema gives it."""
    origin = get_origin(kind)
    if origin is NotRequired:
        return breaches(value, get_args(kind)[0], place)
    if is_typeddict(kind):
        if not isinstance(value, dict):
            return [f"{place}: not a dict"]
        hints = get_type_hints(kind, include_extras=True)
        needed = {name for name, hint in hints.items() if get_origin(hint) is not NotRequired}
        out = [f"{place}: {name} is missing" for name in needed - set(value)]
        out += [f"{place}: {name} is unknown" for name in set(value) - set(hints)]
        return out + [
            x for name in value if name in hints for x in breaches(value[name], hints[name], f"{place}.{name}")
        ]
    if origin is dict:
        return [x for name, one in value.items() for x in breaches(one, get_args(kind)[1], f"{place}.{name}")]
    if origin is list:
        if not isinstance(value, list):
            return [f"{place}: not a list"]
        return [x for at, one in enumerate(value[:50]) for x in breaches(one, get_args(kind)[0], f"{place}[{at}]")]
    if origin in (UnionType, Union):
        found = [breaches(value, one, place) for one in get_args(kind)]
        return [] if any(not one for one in found) else min(found, key=len)
    if origin is Literal:
        return [] if value in get_args(kind) else [f"{place}: {value!r}"]
    wanted = {float: (float, int), NoneType: (NoneType,)}.get(kind, (kind,))
    right = isinstance(value, wanted) and not (isinstance(value, bool) and kind is not bool)
    return [] if right else [f"{place}: {type(value).__name__} instead of {kind}"]


def runs() -> dict[str, Any]:
    frame = pl.DataFrame({"size <b>": [1.0, 2.0, 3.0, 4.0] * 9, "class": ["a", "a", "b", None] * 9})
    return {
        "lifted": lambda: th.mine(world(), **SETTINGS),
        "none": lambda: th.mine(world().sensors, **SETTINGS),
        "existential": lambda: th.mine(world(), enrich="existential", **SETTINGS),
        "grounded, all rules": lambda: th.mine(world(), enrich="grounded", refine=None, **SETTINGS),
        "no rules": lambda: th.mine(world(), min_support=0.99, refine=None, **SETTINGS),
        "time": lambda: th.mine(world(), derive=["change", "lag:1h", "switch", "hour"], **SETTINGS),
        "sites": lambda: th.mine([world(0, name="a<b>"), world(1, name="c")], **SETTINGS),
        "plain table": lambda: th.mine(frame, progress="off"),
        "target": lambda: th.mine(frame, target="class", progress="off"),
        "own intervals": lambda: th.mine(world().sensors, miner="ts-narm", windows="1h", progress="off"),
        "sharpened": lambda: th.mine(world(), refine={"sharpen": True}, **SETTINGS),
    }


@pytest.mark.parametrize("name", list(runs()))
def test_every_run_has_a_report_as_the_schema_says(name: str) -> None:
    run = runs()[name]()
    report = build_report(material_of(run))
    assert breaches(report, Report) == []
    text = json.dumps(report, allow_nan=False)
    assert json.loads(text) == report
    assert len(report["rules"]) == min(len(run.rules), 1000)
    assert report["rules_left_out"] == len(run.rules) - len(report["rules"])
    keys = {card["key"] for card in report["cards"]}
    linked = {row["card"] for row in (*report["rules"], *report["laws"], *report["controls"])}
    assert linked - {None} == keys
    assert {fact["card"] for fact in report["facts"]} - {None} <= keys


def test_names_from_data_are_kept_as_they_are() -> None:
    report = build_report(material_of(th.mine(world(), **SETTINGS)))
    assert report["drawing"] is not None
    assert [node["name"] for node in report["drawing"]["nodes"]] == list(HOSTILE)


def test_a_run_alone_tells_its_rules_and_why_there_is_no_evidence() -> None:
    run = th.mine(world(), **SETTINGS)
    report = build_report(Material(run, why="The disk is gone."))
    assert breaches(report, Report) == []
    assert report["notes"] == ["The disk is gone."]
    assert report["system"] is report["drawing"] is report["coverage"] is None
    assert report["cards"] == []
    assert len(report["rules"]) == len(run.rules)
    assert report["facts"]


def many_rules(n: int, *, words: int) -> Run:
    """A run with many rules about sensors with long names."""
    run = th.mine(world(), **SETTINGS)
    items = tuple(Item.is_(Feature(f"{at} " + "long name " * words), "on") for at in range(40))
    rng = np.random.default_rng(0)
    left = rng.integers(0, 39, (n, 2)).astype(np.int32)
    counts = Counts.from_matrix(np.tile([100, 50, 60, 40], (n, 1)))
    rules = RuleSet(items, left, np.full(n, 39, np.int32), counts, ordered=True)
    return Run(rules, run.config, run.summary, run.provenance)


def test_a_report_is_small_whatever_the_run() -> None:
    report = build_report(Material(many_rules(5_000, words=120)))
    assert len(json.dumps(report)) < 3_000_000
    assert 0 < len(report["rules"]) < 1_000
    assert report["rules_left_out"] == 5_000 - len(report["rules"])
    assert any("too large" in note for note in report["notes"])


def test_cards_that_are_too_large_are_left_out_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    run = th.mine(world(), **SETTINGS)
    whole = build_report(material_of(run), rules=20)
    assert build._size(whole["cards"]) > build._size(whole["rules"])
    monkeypatch.setattr(build, "MOST_BYTES", build._size(whole) - 2_000)
    report = build_report(material_of(run), rules=20)
    lost = len(whole["cards"]) - len(report["cards"])
    assert lost > 0
    assert report["notes"] == [f"{lost} evidence card{'s were' if lost > 1 else ' was'} too large for the page."]
    kept = {card["key"] for card in report["cards"]}
    assert {row["card"] for row in report["rules"]} - {None} <= kept


def test_how_it_was_mined_is_told_in_words() -> None:
    run = th.mine(world(), **SETTINGS)
    mining = build_report(material_of(run))["mining"]
    assert mining["windows"] == "1 h"
    assert mining["bins"] == "2 for each sensor, by frequency"
    assert ["min confidence", "0.6"] in mining["settings"]
    assert mining["rules"] == len(run.rules)
    assert mining["complete"] is True
    assert [stage["name"] for stage in mining["stages"]] == list(run.summary["seconds"])


def test_progress_goes_from_none_to_all() -> None:
    told: list[tuple[float, float]] = []
    build_report(
        material_of(th.mine(world(), **SETTINGS)),
        progress=lambda stage, done, total, note="": told.append((done, total)),
    )
    assert told[0][0] == 0
    assert told[-1][0] == told[-1][1]
    assert told == sorted(told)


def test_reviews_are_shown(tmp_path: Path) -> None:
    th.mine(world(), out=tmp_path / "run", **SETTINGS)
    loaded = th.load_run(tmp_path / "run")
    loaded.review(0, "accepted", note="as built")
    report = build_report(Material(loaded))
    assert report["rules"][0]["review"] == {"verdict": "accepted", "note": "as built"}
