"""A trained model and other tables: it is used only where places mean what they meant in training."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch

from tests.helpers.networks import network
from thence.data.readings.windows import window
from thence.errors import ConfigError, MiningError
from thence.search.aerial.miner import Aerial
from thence.search.aerial.model import AerialModel
from thence.tables.discretization import Discretizer
from thence.tables.enrich import build
from thence.tables.transactions import TransactionTable

STILL = Aerial(assurance=0, epochs=1, settings={"learning_rate": 1e-12})
"""Training that leaves the weights as they are."""


def frame(rows: int = 400) -> pl.DataFrame:
    a = np.arange(rows) % 4
    return pl.DataFrame({"a": a.astype(str), "b": (a // 2).astype(str), "c": ((a + 1) % 4).astype(str)})


def table_of(data: pl.DataFrame, **settings: int) -> TransactionTable:
    return TransactionTable.from_frame(data, **settings)


@pytest.fixture(scope="module")
def table() -> TransactionTable:
    return table_of(frame())


@pytest.fixture(scope="module")
def model(table: TransactionTable) -> AerialModel:
    return Aerial(assurance=0).train(table)


def texts(model: AerialModel, table: TransactionTable) -> set[str]:
    rules = Aerial(assurance=0).extract(model, table)
    assert len(rules) > 0
    return {str(rule) for rule in rules}


def test_further_rows_may_have_their_columns_in_another_order(table: TransactionTable, model: AerialModel) -> None:
    """Columns were matched by position: 'a' was trained on the values of 'c', and the rules were mislabelled."""
    turned = table_of(frame().select("c", "b", "a"))
    further = STILL.partial_fit(model, turned)
    assert further.blocks[0].features == model.blocks[0].features
    assert texts(further, turned) == texts(further, table) == texts(model, turned) == texts(model, table)


def test_rules_of_a_turned_table_have_their_items_in_its_order(model: AerialModel) -> None:
    turned = table_of(frame().select("c", "b", "a"))
    rules = Aerial(assurance=0).extract(model, turned)
    pairs = rules.antecedents[(rules.antecedents >= 0).all(axis=1)]
    assert len(pairs)
    assert (np.diff(pairs, axis=1) > 0).all()


def test_a_column_may_be_constant_in_further_rows(table: TransactionTable, model: AerialModel) -> None:
    """The new model had the names of the varying columns but the positions of all, and could not be used."""
    part = table.frames(np.flatnonzero(table.codes[:, 1] == 0))
    further = Aerial(epochs=1).partial_fit(model, part)
    assert further.blocks[0].features == model.blocks[0].features
    assert further.blocks[0].columns.tolist() == model.blocks[0].columns.tolist()
    Aerial().extract(further, table)


@pytest.mark.parametrize("rows", [0, 3])
def test_rows_that_teach_nothing_leave_the_model_as_it_is(
    rows: int, table: TransactionTable, model: AerialModel
) -> None:
    """A table of no or three rows discarded the trained network."""
    further = Aerial().partial_fit(model, table.frames(slice(rows)))
    assert further.blocks[0].network is model.blocks[0].network
    assert texts(further, table) == texts(model, table)
    notes = Aerial(assurance=0).extract(further, table).notes
    assert any("nothing was learned from the last rows" in note for note in notes)
    again = STILL.partial_fit(further, table)
    assert again.blocks[0].reason is None


def test_rows_learnt_by_heart_are_said_to_be() -> None:
    rng = np.random.default_rng(0)
    data = pl.DataFrame({f"c{c}": rng.integers(0, 2, 12).astype(str) for c in range(60)})
    rules = Aerial(settings={"widths": (8, 4)}, max_antecedents=1).mine(table_of(data))
    assert any("are memorised" in note for note in rules.notes), rules.notes


def test_missing_and_unknown_features_are_named(table: TransactionTable, model: AerialModel) -> None:
    """This raised an IndexError."""
    fewer, more = table_of(frame().select("a", "b")), table_of(frame().with_columns(d=pl.Series(["x", "y"] * 200)))
    for use in (Aerial().partial_fit, Aerial().extract):
        with pytest.raises(MiningError, match=r"the table has no feature '\(c\)\.value'"):
            use(model, fewer)
    with pytest.raises(MiningError, match=r"was trained without the feature '\(d\)\.value'"):
        Aerial().partial_fit(model, more)
    assert texts(model, more) == texts(model, table)


def test_widths_cannot_be_changed_by_further_training(table: TransactionTable, model: AerialModel) -> None:
    """Other widths were ignored."""
    with pytest.raises(MiningError, match="which cannot be changed"):
        Aerial(settings={"widths": (8, 4)}).partial_fit(model, table)
    small = Aerial(settings={"widths": (8, 4)}, epochs=1)
    assert small.partial_fit(small.train(table), table).blocks[0].network.widths == (8, 4, 8)  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", ["as many", "more"])
def test_other_categories_are_refused(kind: str, model: AerialModel) -> None:
    """Rules of '0' and '1' became rules of 'aa' and 'zz'; another number of values raised an error about masks."""
    values = np.where(np.arange(400) % 4 < 2, "zz", "aa") if kind == "as many" else (np.arange(400) % 3).astype(str)
    other = table_of(frame().with_columns(b=pl.Series(values)))
    for use in (Aerial().partial_fit, Aerial().extract):
        with pytest.raises(MiningError, match=r"other categories or bins of '\(b\)\.value'"):
            use(model, other)


def test_other_bins_are_refused() -> None:
    x = np.random.default_rng(0).normal(size=300)
    first = table_of(pl.DataFrame({"x": x, "y": x * 2 + 1}), bins=4)
    model = Aerial(epochs=2).train(first)
    Aerial().extract(model, first.frames(slice(100)))
    for data, bins in (({"x": x, "y": x - 300}, 4), ({"x": x, "y": x * 2 + 1}, 5)):
        with pytest.raises(MiningError, match="other categories or bins"):
            Aerial().extract(model, table_of(pl.DataFrame(data), bins=bins))


def test_blocks_of_another_pattern_are_refused() -> None:
    net = network(frames=60)
    table = build(
        window(net.sensors, "30min"), mode="lifted", graph=net.graph, binding=net.binding, ontology=net.ontology,
        discretizer=Discretizer(bins=2, scope="sensor"), min_embeddings=2,
    )  # fmt: skip
    assert len(table.blocks) > 1
    model = Aerial(epochs=1).train(table)
    Aerial().extract(model, table)
    turned = replace(table, blocks=table.blocks[::-1])
    for use in (Aerial().partial_fit, Aerial().extract):
        with pytest.raises(MiningError, match="the model was trained on"):
            use(model, turned)
    fewer = replace(table, blocks=table.blocks[:1])
    for use in (Aerial().partial_fit, Aerial().extract):
        with pytest.raises(MiningError, match=r"blocks, but the table has 1"):
            use(model, fewer)


def test_what_items_mean_is_stored(table: TransactionTable, model: AerialModel, tmp_path: Path) -> None:
    model.save(tmp_path)
    again = AerialModel.load(tmp_path)
    assert texts(again, table) == texts(model, table)
    other = table_of(frame().with_columns(b=pl.Series(["zz", "zz", "aa", "aa"] * 100)))
    with pytest.raises(MiningError, match="other categories"):
        Aerial().extract(again, other)


def test_training_and_extracting_want_a_table(model: AerialModel) -> None:
    """This raised an AttributeError, because only mine checked the table."""
    for use in (Aerial().train, lambda data: Aerial().extract(model, data)):
        with pytest.raises(MiningError, match="reads discretized transactions"):
            use(frame())  # type: ignore[arg-type]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_extracting_says_that_there_is_no_such_device(table: TransactionTable, model: AerialModel) -> None:
    with pytest.raises(ConfigError, match="no CUDA device"):
        Aerial(device="cuda").extract(model, table)
