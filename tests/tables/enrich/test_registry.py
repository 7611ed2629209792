"""An enrichment is found by its name, also one of another package."""

from __future__ import annotations

from pathlib import Path

import pytest

import thence as th
from tests.helpers.distributions import add_distribution

MODULE = """
from thence.tables.enrich.base import Enrichment
from thence.tables.enrich.grounded import grounded_table

SHORT = Enrichment(
    build=lambda readings, around, discretizer, frames, options: grounded_table(
        readings.select([sensor.id for sensor in readings.sensors[:2]]),
        around,
        mode="none",
        discretizer=discretizer,
        fit_frames=frames,
        hops=0,
        edges=False,
    ),
    needs_graph=False,
)
"""


def test_an_enrichment_of_another_package_is_one_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_distribution(tmp_path, "first_two", MODULE, {"thence.enrichments": {"first-two": "first_two:SHORT"}})
    monkeypatch.syspath_prepend(str(tmp_path))
    toy = th.datasets.load("toy")
    assert th.transactions(toy, enrich="first-two").n_features == 2
    assert th.mine(toy, enrich="first-two", windows="1h", bins=3, progress="off").config.enrich.mode == "first-two"
    with pytest.raises(th.errors.ConfigError, match="the enrichment 'first-two' does not use 'edges'"):
        th.mine(toy, config=th.Config.from_mapping({"enrich": {"mode": "first-two", "edges": True}}), progress="off")


def test_an_unknown_enrichment_names_the_nearest() -> None:
    with pytest.raises(th.errors.ConfigError, match=r"unknown enrichment 'liftd' \(did you mean 'lifted'\?\)"):
        th.transactions(th.datasets.load("toy"), enrich="liftd")
