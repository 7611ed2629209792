"""Rules and frequent itemsets out of a trained network: Algorithm 1 of the paper, as algebra.

The result is exactly what the paper's loop over test vectors gives, for any number of antecedents. Work can be cut
into independent parts by ranges of first features (``parts``), and results come as a stream of chunks in a fixed
order. This module must not look at the data: exact counts are made elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from thence.errors import ConfigError
from thence.miners.aerial.antecedents import Passed, passed
from thence.miners.aerial.autoencoder import Autoencoder, Layout
from thence.miners.aerial.consequents import Implied, Outputs
from thence.miners.aerial.mutual_gate import mutual
from thence.miners.aerial.query_network import UNSURE, Frame
from thence.miners.neighbours import Neighbours
from thence.settings.numbers import require_share, require_whole

__all__ = ["Itemsets", "Rules", "Search", "best", "extract", "itemsets", "parts", "top"]

Progress = Callable[[int, int], None]
"""Called with the number of queries asked so far and the number that a full search would ask."""

BATCH_BYTES_CPU = 16 << 20
BATCH_BYTES_CUDA = 1 << 30


@dataclass(frozen=True, eq=False)
class Search:
    """What to look for.

    ``similarity`` is the paper's threshold; ``gate`` replaces it for the marked items and ``consequent`` for the
    implied ones. ``gate_by="marked"`` is the paper's gate: every marked item of a combination comes back;
    ``"mutual"`` asks whether its items, each marked alone, imply one another, and knows no ``search="grow"``.
    ``antecedent_ok`` and ``consequent_ok`` say which items may stand on which side (all, when not given), and
    ``neighbours`` which features may stand together at all.

    >>> Search(similarity=0.9).gate_threshold
    0.9
    """

    similarity: float = 0.8
    gate: float | None = None
    consequent: float | None = None
    max_antecedents: int = 2
    search: Literal["full", "grow"] = "full"
    gate_by: Literal["marked", "mutual"] = "marked"
    antecedent_ok: NDArray[np.bool_] | None = None
    consequent_ok: NDArray[np.bool_] | None = None
    neighbours: Neighbours | None = None
    batch_bytes: int | None = None

    def __post_init__(self) -> None:
        for name in ("similarity", "gate", "consequent"):
            value = getattr(self, name)
            if value is not None or name == "similarity":
                require_share(name, value)
        require_whole("max_antecedents", self.max_antecedents)
        if self.search not in ("full", "grow"):
            raise ConfigError(f"search must be 'full' or 'grow', got {self.search!r}")
        if self.gate_by not in ("marked", "mutual"):
            raise ConfigError(f"gate_by must be 'marked' or 'mutual', got {self.gate_by!r}")
        if self.gate_by == "mutual" and self.search == "grow":
            raise ConfigError(
                "search='grow' says nothing where gate_by='mutual', which asks only what passed anyway",
                hint="leave search out",
            )
        if self.batch_bytes is not None and self.batch_bytes < 1:
            raise ConfigError(f"batch_bytes must be positive, got {self.batch_bytes}")

    @property
    def gate_threshold(self) -> float:
        return self.similarity if self.gate is None else self.gate

    @property
    def consequent_threshold(self) -> float:
        return self.similarity if self.consequent is None else self.consequent


@dataclass(frozen=True, eq=False)
class Rules:
    """Rules as arrays: antecedent items (rules × max_antecedents, ascending, padded with −1), consequent item, and the
    network's probability of the consequent."""

    antecedents: NDArray[np.int32]
    consequents: NDArray[np.int32]
    probability: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.consequents)

    @staticmethod
    def joined(chunks: Iterable[Rules], *, max_antecedents: int) -> Rules:
        """One set of rules out of many chunks."""
        known = [Rules.none(max_antecedents), *chunks]
        return Rules(
            np.concatenate([chunk.antecedents for chunk in known]),
            np.concatenate([chunk.consequents for chunk in known]),
            np.concatenate([chunk.probability for chunk in known]),
        )

    @staticmethod
    def none(max_antecedents: int) -> Rules:
        """No rules at all."""
        return Rules(np.empty((0, max_antecedents), np.int32), np.empty(0, np.int32), np.empty(0, np.float32))


@dataclass(frozen=True, eq=False)
class Itemsets:
    """Combinations that passed the gate (padded with −1) and the smallest probability among their items."""

    items: NDArray[np.int32]
    probability: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.probability)


def extract(
    model: Autoencoder,
    *,
    search: Search | None = None,
    first: range | None = None,
    progress: Progress | None = None,
) -> Iterator[Rules]:
    """Stream the rules of a network, in a fixed order; ``first`` limits the search to one of its ``parts``.

    >>> from thence.miners.aerial.autoencoder import initialise
    >>> rules = Rules.joined(extract(initialise([2, 2]), search=Search(similarity=0.1)), max_antecedents=2)
    >>> rules.antecedents[0].tolist(), int(rules.consequents[0])
    ([0, -1], 2)
    """
    wanted = Search() if search is None else search
    threshold = wanted.consequent_threshold
    frame, outputs = _sides(model, wanted)
    for answer in _survivors(frame, wanted, first, progress):
        found = outputs.implied(answer, threshold)
        if len(found.rows):
            yield _as_rules(answer, found, wanted.max_antecedents)


def top(
    model: Autoencoder,
    *,
    k: int,
    search: Search | None = None,
    first: range | None = None,
    progress: Progress | None = None,
) -> Rules:
    """The ``k`` rules with the highest probability; ties go to the smaller item numbers.

    At most a quarter more than ``k`` rules and one batch are in memory: what falls below the ``k``-th is not kept.
    """
    require_whole("k", k)
    wanted = Search() if search is None else search
    kept, more, floor = Rules.none(wanted.max_antecedents), list[Rules](), 0.0
    frame, outputs = _sides(model, wanted)
    for answer in _survivors(frame, wanted, first, progress):
        threshold = wanted.consequent_threshold
        if len(kept) == k:
            # Close calls are decided in double precision, what is kept in single: leave room for both.
            threshold = max(threshold, floor - 2 * UNSURE)
            outputs = outputs.sketched(answer, threshold)
        found = outputs.implied(answer, threshold)
        high = found.probability >= floor
        found = Implied(found.rows[high], found.items[high], found.probability[high])
        if not len(found.rows):
            continue
        more.append(_as_rules(answer, found, wanted.max_antecedents))
        # Sorting is not free, and the floor rises slowly.
        if sum(map(len, more)) >= (k - len(kept) or k // 4):
            kept, more = best([kept, *more], k=k), []
            floor = float(kept.probability[-1]) if len(kept) == k else 0.0
    return best([kept, *more], k=k)


def best(chunks: Iterable[Rules], *, k: int) -> Rules:
    """The ``k`` most probable rules of several chunks, most probable first."""
    known = list(chunks)
    if not known:
        raise ConfigError("no chunks of rules were given")
    rules = Rules.joined(known, max_antecedents=known[0].antecedents.shape[1])
    keys = (rules.consequents, *rules.antecedents.T[::-1], -rules.probability)
    order = np.lexsort(keys)[:k]
    return Rules(rules.antecedents[order], rules.consequents[order], rules.probability[order])


def itemsets(
    model: Autoencoder,
    *,
    search: Search | None = None,
    first: range | None = None,
    progress: Progress | None = None,
) -> Iterator[Itemsets]:
    """Stream the combinations that the network takes for frequent: those that pass the gate."""
    wanted = Search() if search is None else search
    for answer in _survivors(_sides(model, wanted)[0], wanted, first, progress):
        if len(answer.items):
            yield Itemsets(_padded(answer.items, wanted.max_antecedents), answer.weakest)


def parts(model: Autoencoder, *, count: int, search: Search | None = None) -> list[range]:
    """Cut a search into at most ``count`` independent ranges of first features with about equally many queries."""
    wanted = Search() if search is None else search
    weights = _weights(model.layout, wanted)
    total = np.cumsum(weights)
    if not len(total) or total[-1] == 0:
        return []
    cuts = np.searchsorted(total, total[-1] * np.arange(1, count) / count, side="left") + 1
    bounds = np.unique(np.concatenate([[0], np.minimum(cuts, len(weights)), [len(weights)]]))
    return [range(int(low), int(high)) for low, high in pairwise(bounds)]


def _sides(model: Autoencoder, wanted: Search) -> tuple[Frame, Outputs]:
    """The network laid out for queries, and its consequent side."""
    _check(model.layout, wanted)
    frame = Frame.of(model)
    ok = np.ones(model.layout.n_items, np.bool_) if wanted.consequent_ok is None else wanted.consequent_ok
    return frame, Outputs(frame, ok, wanted.neighbours, _batch_bytes(frame, wanted))


def _batch_bytes(frame: Frame, wanted: Search) -> int:
    return wanted.batch_bytes or (BATCH_BYTES_CUDA if frame.device.type == "cuda" else BATCH_BYTES_CPU)


def _survivors(frame: Frame, wanted: Search, first: range | None, progress: Progress | None) -> Iterator[Passed]:
    layout = frame.layout
    span = range(layout.n_features) if first is None else first
    weights = _weights(layout, wanted)
    total, asked = int(weights[span.start : span.stop].sum()), 0
    common: dict[str, Any] = {
        "antecedent_ok": np.ones(layout.n_items, np.bool_) if wanted.antecedent_ok is None else wanted.antecedent_ok,
        "near": wanted.neighbours,
        "gate": wanted.gate_threshold,
        "most": wanted.max_antecedents,
        "first": span,
        "batch_bytes": _batch_bytes(frame, wanted),
    }
    if wanted.gate_by == "mutual":
        answers = mutual(frame, weights=weights, **common)
    else:
        answers = passed(frame, search=wanted.search, **common)
    for answer in answers:
        yield answer
        asked += answer.asked
        if progress is not None:
            progress(asked, max(total, asked))


def _check(layout: Layout, wanted: Search) -> None:
    for name, mask in (("antecedent_ok", wanted.antecedent_ok), ("consequent_ok", wanted.consequent_ok)):
        if mask is not None and (mask.dtype != np.bool_ or mask.shape != (layout.n_items,)):
            raise ConfigError(f"{name} must be one true or false per item ({layout.n_items} items)")
    if wanted.neighbours is not None and wanted.neighbours.n_features != layout.n_features:
        raise ConfigError(
            f"neighbours name {wanted.neighbours.n_features} features, the network has {layout.n_features}"
        )


def _weights(layout: Layout, wanted: Search) -> NDArray[np.float64]:
    """About how many queries begin with each feature: exact for one and two antecedents."""
    ok = wanted.antecedent_ok
    items = layout.feature_of_item if ok is None else layout.feature_of_item[ok]
    counts = np.bincount(items, minlength=layout.n_features).astype(np.float64)
    if wanted.neighbours is None:
        later = counts.sum() - np.cumsum(counts)
    else:
        near = wanted.neighbours
        after = near.members > near.ends
        later = np.bincount(near.ends[after], counts[near.members[after]], minlength=layout.n_features)
    weights, term = np.ones(layout.n_features), np.ones(layout.n_features)
    for size in range(2, wanted.max_antecedents + 1):
        term = term * later / (size - 1)
        weights = weights + term
    return weights * counts


def _as_rules(answer: Passed, found: Implied, most: int) -> Rules:
    return Rules(_padded(answer.items[found.rows], most), found.items.astype(np.int32), found.probability)


def _padded(items: NDArray[np.int64], most: int) -> NDArray[np.int32]:
    padded = np.full((len(items), most), -1, np.int32)
    padded[:, : items.shape[1]] = items
    return padded
