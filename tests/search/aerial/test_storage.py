"""Networks come back from disk as they were, and nothing else is accepted."""

from __future__ import annotations

import hashlib
import json
import math
import pickle

import numpy as np
import pytest
import torch

from tests.search.aerial.networks import lively, load, save
from thence.errors import RunError
from thence.search.aerial.model import AerialModel
from thence.search.aerial.model import BlockModel as Block


@pytest.mark.parametrize("widths", [(4,), (6, 3), (8, 4, 2)])
def test_save_and_load_is_the_identity(tmp_path, widths):
    model = lively([3, 0, 4, 1], widths=widths, seed=3)
    save(model, tmp_path / "new" / "folder")
    back = load(tmp_path / "new" / "folder")
    assert back.layout.cardinalities.tolist() == [3, 0, 4, 1]
    assert back.widths == model.widths
    for one, other in zip(model.parameters(), back.parameters(), strict=True):
        assert torch.equal(one, other)


def test_blocks_come_back_with_their_fields(tmp_path):
    blocks = [
        Block(
            np.array([0, 2]), ("pressure of 3", "Zufluss Süd"), lively([2, 3]), 0.25, 7, None, ("ab", "cd"), "(p:Pipe)"
        ),
        Block(np.array([], int), (), None, math.nan, 0, "every feature is constant"),
    ]
    AerialModel(tuple(blocks)).save(tmp_path)
    first, second = AerialModel.load(tmp_path).blocks
    assert (first.columns.tolist(), first.features, first.loss, first.epochs) == (
        [0, 2],
        ("pressure of 3", "Zufluss Süd"),
        0.25,
        7,
    )
    assert (first.meanings, first.pattern) == (("ab", "cd"), "(p:Pipe)")
    assert torch.equal(first.network.entry, blocks[0].network.entry)
    assert second.network is None
    assert math.isnan(second.loss)
    assert second.reason == "every feature is constant"


def change(folder, edit) -> None:
    """Change a description and update its checksum, so that the later checks are reached."""
    path = folder / "model.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    edit(content["blocks"][0])
    content["sha256"] = hashlib.sha256(json.dumps(content["blocks"], sort_keys=True).encode()).hexdigest()
    path.write_text(json.dumps(content), encoding="utf-8")


def spoil_nothing_there(folder):
    (folder / "model.json").unlink()


def spoil_cut_off(folder):
    text = (folder / "model.json").read_text()
    (folder / "model.json").write_text(text[: len(text) // 2])


def spoil_foreign_json(folder):
    (folder / "model.json").write_text('{"weights": [1, 2]}')


def spoil_later_version(folder):
    text = (folder / "model.json").read_text()
    assert '"version": 2' in text
    (folder / "model.json").write_text(text.replace('"version": 2', '"version": 3'))


def spoil_by_hand(folder):
    content = json.loads((folder / "model.json").read_text())
    content["blocks"][0]["network"]["cardinalities"] = [3, 2]
    (folder / "model.json").write_text(json.dumps(content))


def spoil_missing_weights(folder):
    (folder / "network-0.safetensors").unlink()


def spoil_one_bit(folder):
    path = folder / "network-0.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def spoil_shapes(folder):
    change(folder, lambda block: block["network"].update(cardinalities=[2, 2]))


def spoil_path(folder):
    change(folder, lambda block: block["network"].update(file="../network-0.safetensors"))


def spoil_description(folder):
    change(folder, lambda block: block["network"].pop("widths"))


def spoil_layers(folder):
    change(folder, lambda block: block["network"].update(widths=[]))


def spoil_cardinalities(folder):
    change(folder, lambda block: block["network"].update(cardinalities=[-1, 6]))


def spoil_with_a_pickle(folder):
    content = pickle.dumps({"entry.weight": [1.0]})
    (folder / "network-0.safetensors").write_bytes(content)
    change(folder, lambda block: block["network"].update(sha256=hashlib.sha256(content).hexdigest()))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (spoil_nothing_there, "cannot read a stored network"),
        (spoil_cut_off, "not JSON"),
        (spoil_foreign_json, "not a network of Aerial"),
        (spoil_later_version, "version 3"),
        (spoil_by_hand, "checksum of the description does not match"),
        (spoil_missing_weights, "cannot read the weights"),
        (spoil_one_bit, "checksum of the weights does not match"),
        (spoil_shapes, "shapes of the weights do not match"),
        (spoil_path, "is not in this folder"),
        (spoil_description, "invalid description of a network"),
        (spoil_layers, "invalid description of a network"),
        (spoil_cardinalities, "invalid description of a network"),
        (spoil_with_a_pickle, "not a safetensors file"),
    ],
)
def test_what_is_foreign_or_damaged_is_refused(tmp_path, spoil, message):
    save(lively([2, 3]), tmp_path)
    spoil(tmp_path)
    with pytest.raises(RunError, match=message) as caught:
        load(tmp_path)
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"columns": [-2, -1]},
        {"columns": [0]},
        {"columns": [0, 2**70]},
        {"columns": [0], "features": ["a"]},
        {"features": 3},
        {"meanings": ["ab"]},
        {"loss": "x"},
        {"meanings": None},
    ],
)
def test_blocks_that_do_not_fit_together_are_refused(tmp_path, wrong):
    """Lengths and signs were not checked: a damaged description gave a traceback or other columns."""
    save(lively([2, 3]), tmp_path)
    change(tmp_path, lambda block: block.update(wrong))
    with pytest.raises(RunError, match="invalid description of a block"):
        load(tmp_path)


def test_a_model_is_not_written_over_a_file(tmp_path):
    """This raised a FileExistsError."""
    (tmp_path / "here").write_text("mine")
    with pytest.raises(RunError, match="cannot create the folder"):
        save(lively([2, 3]), tmp_path / "here")
    assert (tmp_path / "here").read_text() == "mine"
