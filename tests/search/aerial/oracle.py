"""Algorithm 1 of the paper, line by line: dense test vectors, one forward pass each, no algebra.

Slow on purpose and independent of the code under test: it takes the dense weights apart itself, runs in double
precision, and applies the softmax feature by feature.
"""

from __future__ import annotations

from itertools import combinations, pairwise, product

import numpy as np

from thence.search.aerial.autoencoder import Autoencoder


class DenseNetwork:
    """The network as the paper has it: matrices, tanh, and a softmax over each feature's slice."""

    def __init__(self, model: Autoencoder) -> None:
        def array(tensor):
            return tensor.detach().cpu().numpy().astype(np.float64)

        self.layers = [(array(model.entry).T, array(model.entry_bias))]
        self.layers += [(array(weight), array(bias)) for weight, bias in model.hidden]
        self.layers.append((array(model.exit), array(model.exit_bias)))
        bounds = np.cumsum([0, *model.layout.cardinalities.tolist()])
        self.blocks = [range(int(low), int(high)) for low, high in pairwise(bounds)]

    def forward(self, vector: np.ndarray) -> np.ndarray:
        for number, (weight, bias) in enumerate(self.layers):
            vector = weight @ vector + bias
            if number < len(self.layers) - 1:
                vector = np.tanh(vector)
        out = np.zeros_like(vector)
        for block in self.blocks:
            if len(block):
                values = np.exp(vector[block.start : block.stop] - vector[block.start : block.stop].max())
                out[block.start : block.stop] = values / values.sum()
        return out


def equal_prob_vector(network: DenseNetwork) -> np.ndarray:
    vector = np.zeros(sum(len(block) for block in network.blocks))
    for block in network.blocks:
        vector[block.start : block.stop] = 1.0 / max(len(block), 1)
    return vector


def mark_ftrs(network, ftr_list, init_vector, antecedent_ok):
    """All test vectors of a combination of features: one class of each marked with 1, its other classes with 0."""
    for classes in product(*(network.blocks[feature] for feature in ftr_list)):
        if all(antecedent_ok[item] for item in classes):
            vector = init_vector.copy()
            for feature, item in zip(ftr_list, classes, strict=True):
                block = network.blocks[feature]
                vector[block.start : block.stop] = 0.0
                vector[item] = 1.0
            yield tuple(classes), vector


def alone(network, item):
    """Output when one item is marked and nothing else."""
    vector = equal_prob_vector(network)
    block = next(block for block in network.blocks if item in block)
    vector[block.start : block.stop] = 0.0
    vector[item] = 1.0
    return network.forward(vector)


def implied(network, pair):
    """How far two items imply each other; of an item and itself, how far it comes back."""
    first, second = (alone(network, item) for item in pair)
    return (first[pair[0]] * first[pair[1]] * second[pair[0]] * second[pair[1]]) ** (
        0.5 if pair[0] != pair[1] else 0.25
    )


def algorithm_1(
    model: Autoencoder,
    *,
    gate: float,
    consequent: float,
    antecedents: int,
    antecedent_ok=None,
    consequent_ok=None,
    compatible=None,
    grow: bool = False,
    mutual: bool = False,
):
    """Rules {(antecedent items, consequent item): probability} and passing itemsets {items: weakest probability}.

    ``compatible`` is a square table of features that may stand together; ``grow`` asks a combination only when all
    its parts that are one smaller have passed; ``mutual`` asks instead that its items, marked alone, imply one another.
    None of these is in the paper's listing; with none it is the listing.
    """
    network = DenseNetwork(model)
    n_items, n_features = sum(len(block) for block in network.blocks), len(network.blocks)
    antecedent_ok = np.ones(n_items, bool) if antecedent_ok is None else antecedent_ok
    consequent_ok = np.ones(n_items, bool) if consequent_ok is None else consequent_ok
    compatible = np.ones((n_features, n_features), bool) if compatible is None else compatible
    rules, sets = {}, {}
    for size in range(1, antecedents + 1):
        test_ftrs = combinations(range(n_features), size)
        for ftr_list in test_ftrs:
            if not all(compatible[left, right] for left, right in combinations(ftr_list, 2)):
                continue
            init_vector = equal_prob_vector(network)
            for marked, vector in mark_ftrs(network, ftr_list, init_vector, antecedent_ok):
                if grow and size > 1 and not all(part in sets for part in combinations(marked, size - 1)):
                    continue
                out_probs = network.forward(vector)
                if mutual:
                    weakest = min(
                        implied(network, pair) for pair in combinations(marked if size > 1 else marked * 2, 2)
                    )
                else:
                    weakest = min(out_probs[item] for item in marked)
                if weakest < gate or (mutual and any(alone(network, item)[item] < gate for item in marked)):
                    continue
                sets[marked] = weakest
                for feature in range(n_features):
                    if feature in ftr_list or not all(compatible[feature, other] for other in ftr_list):
                        continue
                    for item in network.blocks[feature]:
                        if consequent_ok[item] and out_probs[item] > consequent:
                            rules[marked, item] = out_probs[item]
    return rules, sets
