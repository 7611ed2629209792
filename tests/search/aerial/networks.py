"""Random networks that reconstruct something: the weights of a fresh one are too small to pass any gate."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from thence.search.aerial.autoencoder import Autoencoder, initialise
from thence.search.aerial.extraction import RuleArrays
from thence.search.aerial.model import AerialModel, BlockModel


def lively(cardinalities, *, widths=(6, 4), seed=0, spread=1.0) -> Autoencoder:
    """A network with normal weights, so that probabilities fall everywhere between 0 and 1."""
    rng = np.random.default_rng(seed)
    model = initialise(cardinalities, widths=widths, seed=seed)
    return model.with_parameters(
        [tensor + torch.from_numpy(rng.normal(0, spread, tuple(tensor.shape))).float() for tensor in model.parameters()]
    )


def as_rules(chunks) -> dict:
    """{(antecedent items, consequent): probability}; fails when a rule comes twice."""
    found: dict = {}
    for chunk in chunks:
        assert isinstance(chunk, RuleArrays)
        assert chunk.antecedents.dtype == np.int32
        assert chunk.probability.dtype == np.float32
        for row, item, probability in zip(chunk.antecedents, chunk.consequents, chunk.probability, strict=True):
            key = (tuple(int(i) for i in row if i >= 0), int(item))
            assert key not in found
            found[key] = float(probability)
    return found


def as_sets(chunks) -> dict:
    """{items: weakest probability}; fails when a combination comes twice."""
    found: dict = {}
    for chunk in chunks:
        for row, probability in zip(chunk.items, chunk.weakest, strict=True):
            key = tuple(int(i) for i in row)
            assert key not in found
            found[key] = float(probability)
    return found


def save(network: Autoencoder, folder: Path) -> None:
    """Write a network as the model of a table whose features are numbers."""
    names = tuple(map(str, range(network.layout.n_features)))
    AerialModel((BlockModel(np.arange(len(names)), names, network, 0.5, 1, meanings=names),)).save(folder)


def load(folder: Path) -> Autoencoder:
    """Read a network that ``save`` wrote."""
    (block,) = AerialModel.load(folder).blocks
    assert block.network is not None
    return block.network
