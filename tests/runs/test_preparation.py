"""Preparation: one object with the windows, bins, table and places of a system."""

from __future__ import annotations

from dataclasses import replace

import pytest

import thence as th
from thence.runs.configuration import Config, EnrichConfig, WindowsConfig
from thence.runs.preparation import prepare
from thence.runs.provenance import hash_table

PLAIN = Config(windows=WindowsConfig(every="1h"), enrich=EnrichConfig(mode="none"))


@pytest.fixture(scope="module")
def toy() -> th.System:
    return th.datasets.load("toy")


@pytest.fixture(scope="module")
def run(toy: th.System) -> th.Run:
    return th.mine(toy, windows="1h", bins=3, enrich="none", confirm=False, progress="off")


def test_a_table_is_built_once_and_again_only_for_other_settings(toy: th.System) -> None:
    data = prepare(toy, PLAIN)
    assert data.table is data.table and data.numbers is data.numbers
    other = replace(data, config=replace(PLAIN, discretize=replace(PLAIN.discretize, bins=2)))
    assert other.readings is data.readings and other.table.n_items < data.table.n_items


def test_places_are_the_nodes_with_sensors(toy: th.System) -> None:
    assert set(prepare(toy, PLAIN).places) == set(toy.binding.values())  # type: ignore[union-attr]
    assert prepare(th.System(toy.sensors), PLAIN).places == ()


def test_data_are_prepared_as_a_run_prepared_its_own(toy: th.System, run: th.Run) -> None:
    later = prepare(toy.between("2024-01-02"), run)
    assert later.config.windows == run.config.windows and later.bins is run.discretizer
    assert later.same_system is None and later.known is later.table
    for key, binning in run.discretizer.binnings.items():  # type: ignore[union-attr]
        assert later.table.discretizer.binnings[key].bin_edges.tolist() == binning.bin_edges.tolist()
    same = th.transactions(toy.between("2024-01-02"), like=run, enrich="none")
    assert hash_table(later.table) == hash_table(same)


def test_another_system_is_recognised_by_its_name(toy: th.System, run: th.Run) -> None:
    assert prepare(replace(toy, name="other"), run).same_system is False
    assert prepare(replace(toy, name="other"), run, same_system=True).same_system is True
