"""A run records what it did: from its own recorded configuration it gives the same rules again."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

import thence as th
from thence.runs.configuration import Config
from thence.runs.pipeline import run_config
from thence.search.base import MINERS
from thence.tables.enrich import ENRICHMENTS

SMALL: dict[str, dict[str, Any]] = {
    "aerial": {"assurance": 0},  # two days are too short for a lower bound
    "fpgrowth": {"min_support": 0.1},
    "hmine": {"min_support": 0.1},
    "naive-semrl": {"min_support": 0.1},
    "ts-narm": {"evaluations": 300, "population": 20},
    "arm-ae": {"epochs": 1},
}
RAW = ("none", "grounded")


def combinations() -> list[tuple[str, str]]:
    return [
        (miner, mode)
        for miner in MINERS.built_in
        for mode in ENRICHMENTS.built_in
        if (miner != "ts-narm" or mode in RAW) and (miner != "naive-semrl" or mode == "existential")
    ]


def mined(miner: str, mode: str, out: Path, **refine: Any) -> th.Run:
    asked: dict[str, Any] = {
        "seed": 3,
        "input": {"dataset": "toy"},
        "windows": {"every": "1h"},
        "discretize": {"bins": 3},
        "enrich": {"mode": mode} | ({"min_embeddings": 2} if mode == "lifted" else {}),
        "miner": {"name": miner, **SMALL.get(miner, {})},
        "output": {"path": str(out)},
        "refine": {"confirm": False, **refine},  # two days are too short to confirm a rule
    }
    return run_config(Config.from_mapping(asked), progress="off")


@pytest.mark.parametrize(("miner", "mode"), combinations())
def test_the_recorded_configuration_gives_the_same_rules(miner: str, mode: str, tmp_path: Path) -> None:
    first = mined(miner, mode, tmp_path / "a")
    again = run_config(Config.from_toml(tmp_path / "a" / "config.toml"), progress="off")
    assert again.rules.to_polars().equals(first.rules.to_polars(), null_equal=True)
    assert len(first.rules)
    # Planning a recorded configuration changes nothing more: every default was written out.
    assert again.config.to_mapping() == th.load_run(tmp_path / "a").config.to_mapping()


@pytest.mark.parametrize("mode", list(ENRICHMENTS.built_in))
def test_refinement_is_recorded_with_its_defaults(mode: str, tmp_path: Path) -> None:
    first = mined("exact", mode, tmp_path / "a", apply=True, cover=0.9)
    recorded = tomllib.loads((tmp_path / "a" / "config.toml").read_text())["refine"]
    assert recorded["trivia"] is True and recorded["redundancy"] is True and recorded["merge"] is True
    assert (recorded["improvement"], recorded["cover"], recorded["min_confidence"]) == (0.0, 0.9, 0.8)
    again = run_config(Config.from_toml(tmp_path / "a" / "config.toml"), progress="off")
    assert again.rules.to_polars().equals(first.rules.to_polars(), null_equal=True)


def test_hops_are_recorded_as_they_were_used(tmp_path: Path) -> None:
    # They were written as 0 and used as 2.
    run = mined("exact", "lifted", tmp_path / "a")
    assert run.config.enrich.hops == 2
    assert tomllib.loads((tmp_path / "a" / "config.toml").read_text())["enrich"]["hops"] == 2
    assert mined("exact", "grounded", tmp_path / "b").config.enrich.hops == 0


def test_recorded_defaults_of_one_enrichment_do_not_stick_to_another(tmp_path: Path) -> None:
    recorded = mined("exact", "lifted", tmp_path / "a").config
    other = recorded.with_enrichment("grounded", recorded=True)
    assert (other.enrich.hops, other.discretize.scope) == (None, None)
    chosen = Config.from_mapping({"enrich": {"mode": "lifted", "hops": 3}}).with_enrichment("grounded", recorded=True)
    assert chosen.enrich.hops == 3


def test_zero_hops_make_no_lifted_pattern() -> None:
    with pytest.raises(th.errors.ConfigError, match="'hops' must be at least 1 for the enrichment 'lifted', got 0"):
        th.transactions(th.datasets.load("toy"), enrich="lifted", hops=0)


def test_the_training_of_aerial_is_recorded(tmp_path: Path) -> None:
    run = mined("aerial", "none", tmp_path / "a")
    recorded = tomllib.loads((tmp_path / "a" / "config.toml").read_text())["miner"]
    assert recorded["min_confidence"] == 0.8
    assert recorded["settings"]["max_rows"] == 100_000
    assert run.config.miner.settings["seed"] == 3
