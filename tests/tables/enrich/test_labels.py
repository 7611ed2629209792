"""Labels of variables in lifted tables follow the ontology."""

from __future__ import annotations

import numpy as np

import thence as th
from tests.helpers.buildings import ONTOLOGY, building
from thence.language.items import Aspect
from thence.tables.admissibility import trivial_columns


def test_a_node_has_the_labels_of_its_superclasses() -> None:
    """Regression: "p is a Room" was false where p is an Office, since only the most specific label was looked at."""
    seen = 0
    for seed in range(4):
        net = building(seed, frames=4)
        table = th.transactions(
            net.sensors, net.graph, net.binding, ontology=net.ontology, windows="1h", enrich="lifted", edges=True,
            patterns=["(t:temperature)-[in]->(p:Space)"], bins=2, scope="kind",
        )  # fmt: skip
        (block,) = table.blocks
        labels = [(at, c) for at, c in enumerate(block.columns) if c.feature.aspect is Aspect.LABEL]
        masks = {}
        for at, column in labels:
            held = np.array([bool(column.codes[row, 0]) for row in column.series])
            expected = [
                any(ONTOLOGY.is_a(label, column.feature.name) for label in net.graph.node(names[0]).labels)
                for names in block.embeddings
            ]
            assert held.tolist() == expected
            masks[at] = held
        trivial = trivial_columns(block)
        for a, first in masks.items():
            for b, second in masks.items():
                if a != b and (first <= second).all():
                    assert trivial is not None and trivial[a, b] and trivial[b, a]
                    seen += 1
    assert seen
