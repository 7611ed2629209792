"""Sharper ranges and exceptions in a run: the table of the run counts its rules, and a later table can, too."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import thence as th
from thence.runs.configuration import Config, DiscretizeConfig
from thence.statements.counting.recount import count_rules
from thence.tables.transactions import TransactionTable


@pytest.mark.parametrize("enrich", ["none", "lifted"])
def test_a_run_with_sharper_ranges_can_be_counted_and_written(enrich: str, tmp_path: Path) -> None:
    toy = th.datasets.load("toy")
    options = {"windows": "30min", "bins": 3, "enrich": enrich, "progress": "off", "min_confidence": 0.7}
    run = th.mine(toy, refine={"sharpen": True}, out=tmp_path / "run", **options)
    assert run.config.refine.sharpen
    assert isinstance(run.table, TransactionTable)
    again = count_rules(run.rules, run.table)
    assert again.counts.n_both.tolist() == run.rules.counts.n_both.tolist()
    later = th.transactions(toy, windows="30min", enrich=enrich, like=th.load_run(tmp_path / "run"))
    assert count_rules(run.rules, later).counts.n_both.tolist() == run.rules.counts.n_both.tolist()
    assert th.load_run(tmp_path / "run").rules.extras.keys() == run.rules.extras.keys()
    assert run.exceptions().columns[:3] == ["rule", "english", "place"]
    plain = th.mine(toy, **options)
    assert plain.table is not None and plain.table.finer is None
    assert "confirmed_confidence" not in plain.rules.extras


def test_sharper_rules_of_several_sites_are_counted_at_each() -> None:
    toy = th.datasets.load("toy")
    sites = [replace(toy, name="north"), replace(toy.between("2024-01-01T12:00"), name="south")]
    run = th.mine(sites, windows="30min", bins=3, progress="off", min_confidence=0.7, refine={"sharpen": True})
    assert {"confidence_north", "confidence_south"} <= set(run.rules.extras)
    assert th.evaluate.by_site(run.rules, run.table).height == 2 * len(run.rules)


def test_bins_of_a_plain_table_are_cut_towards_its_target() -> None:
    levels = np.arange(600) % 100 / 10
    frame = pl.DataFrame({"level": levels, "pump": np.where(levels < 3.3, "on", "off")})
    config = Config(discretize=DiscretizeConfig(method="entropy"))
    rules = th.mine(frame, target="pump", config=config, progress="off").rules
    assert rules.measure("confidence").tolist() == [1.0]  # that it is off above says the same
    toy = th.datasets.load("toy")
    sensor = toy.sensors.sensors[0]
    table = th.transactions(toy, windows="1h", method="entropy", towards=sensor.id, scope="sensor")
    assert table.discretizer.towards == sensor.id
