"""Aerial as a miner: train an autoencoder per block, ask it for rules, count each one exactly.

The network only proposes. Every rule that comes out has been recounted on the table, and carries the network's
probability beside its exact measures. Training and extraction know nothing of tables; this module joins them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from thence.assurance import assured, require_assurance
from thence.blocks import Block
from thence.constraints import Constraint, item_masks, trivial_columns
from thence.counting import recount
from thence.errors import ConfigError, MiningError
from thence.miners._flat import require_codes
from thence.miners._threads import one_thread
from thence.miners.aerial.autoencoder import Autoencoder
from thence.miners.aerial.extract import Rules, Search, extract, top
from thence.miners.aerial.rows import ArrayRows, loss_of_knowing_nothing
from thence.miners.aerial.table_rows import BlockRows
from thence.miners.aerial.train import Epoch, TrainingSettings, train
from thence.miners.neighbours import Neighbours, near_columns
from thence.progress import Progress, silent
from thence.rules import RuleSet
from thence.transactions import TransactionTable

__all__ = ["Aerial", "AerialModel", "BlockModel"]

RESIDENT_CELLS = 1 << 26
"""Codes of a block with at most this many cells are written out for training; larger ones are sampled on the fly."""
SMALL_ITEMS = 400
"""Networks of at most this many items are trained on one processor: their steps are too short to share."""

DIAGNOSED_ROWS, LEARNT_LITTLE = 10_000, 0.9
"""Rows looked at to say why nothing was found, and the share of the loss of knowing nothing that is no better."""


@dataclass(frozen=True, eq=False)
class BlockModel:
    """The network of one block: which columns it knows, its weights, and how training went."""

    columns: NDArray[np.int64]
    features: tuple[str, ...]
    network: Autoencoder | None
    loss: float
    epochs: int
    reason: str | None = None


@dataclass(frozen=True, eq=False)
class AerialModel:
    """What :meth:`Aerial.train` learnt: a network per block of the table."""

    blocks: tuple[BlockModel, ...]

    @property
    def loss(self) -> float:
        """Mean loss over the blocks that were trained."""
        known = [block.loss for block in self.blocks if block.network is not None]
        return float(np.mean(known)) if known else float("nan")

    def save(self, folder: str | Path) -> None:
        """Write the networks to a folder (safetensors and JSON, nothing executable)."""
        from thence.miners.aerial.storage import save_blocks

        save_blocks(self.blocks, Path(folder))

    @staticmethod
    def load(folder: str | Path) -> AerialModel:
        """Read what :meth:`save` wrote."""
        from thence.miners.aerial.storage import load_blocks

        return AerialModel(tuple(BlockModel(**fields) for fields in load_blocks(Path(folder))))


@dataclass(frozen=True, kw_only=True)
class Aerial:
    """Rules that a denoising autoencoder reconstructs with at least this similarity.

    ``similarity`` is the threshold for marked items and for consequents; ``consequent_similarity`` sets the second
    apart. ``search="grow"`` extends only antecedents that passed; ``gate_by="mutual"`` lets those pass whose items
    imply one another, which is faster by far among many sensors. ``top_k`` keeps the most probable rules.
    ``min_support`` and ``min_confidence`` are exact and applied after the recount; the confidence has to reach the
    threshold of the consequents unless ``min_confidence`` says otherwise (0: show whatever the network proposes), and
    to reach it with this ``assurance``, so that rules hold tomorrow as well (:func:`thence.assured`; 0 keeps rules that
    may owe it to a few lucky rows).
    ``near`` says, per block, which features may stand together (:func:`thence.within_hops` makes it from a graph).
    Columns that never change are left out, since everything implies them; ``keep_constants`` keeps them, as the paper
    does.

    >>> import polars as pl
    >>> a = np.arange(400) % 4
    >>> table = TransactionTable.from_frame(pl.DataFrame({"a": a.astype(str), "b": (a // 2).astype(str)}))
    >>> rules = Aerial(seed=0).mine(table)
    >>> sorted({float(c) for c in rules.measure("confidence")})
    [1.0]
    """

    name: ClassVar[str] = "aerial"
    wants: ClassVar[str] = "codes"

    similarity: float = 0.8
    consequent_similarity: float | None = None
    max_antecedents: int = 2
    search: str = "full"
    gate_by: str = "marked"
    corruption: str = "mask"
    seed: int = 0
    top_k: int | None = None
    min_support: float | None = None
    min_confidence: float | None = None
    assurance: float | None = 0.95
    antecedent: Constraint = None
    consequent: Constraint = None
    context_consequents: bool = False
    keep_constants: bool = False
    near: Sequence[Any] | None = None
    epochs: int | None = None
    widths: tuple[int, ...] | None = None
    batch_size: int | None = None
    device: str = "cpu"
    settings: TrainingSettings | None = None

    def __post_init__(self) -> None:
        if isinstance(self.settings, Mapping):  # as a configuration file has it
            object.__setattr__(self, "settings", TrainingSettings(**self.settings))
        self._search(None, None, None)
        self._training()
        if self.top_k is not None and self.top_k < 1:
            raise ConfigError(f"top_k must be at least 1, got {self.top_k}")
        for name in ("min_support", "min_confidence"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= 1:
                raise ConfigError(f"{name} must lie between 0 and 1, got {value!r}")
        if self.assurance:
            require_assurance(self.assurance)

    @classmethod
    def faithful(cls, *, seed: int = 0, device: str = "cpu", **changes: Any) -> Aerial:
        """The paper's settings: gaussian noise 0.5, five epochs, static columns among the consequents, and every
        proposal of the network that holds at least once."""
        settings = TrainingSettings.faithful(seed=seed, device=device)
        chosen: dict[str, Any] = {
            "corruption": "gaussian",
            "context_consequents": True,
            "keep_constants": True,
            "min_confidence": 0.0,
            "assurance": None,
        }
        return cls(seed=seed, device=device, settings=settings, **(chosen | changes))

    def _training(self) -> TrainingSettings:
        base = self.settings or TrainingSettings()
        given: dict[str, Any] = {
            "corruption": self.corruption,
            "max_antecedents": self.max_antecedents,
            "seed": self.seed,
            "device": self.device,
        }
        chosen = {n: getattr(self, n) for n in ("epochs", "widths", "batch_size") if getattr(self, n) is not None}
        return replace(base, **(given | chosen))

    def _search(
        self, left: NDArray[np.bool_] | None, right: NDArray[np.bool_] | None, near: Neighbours | None
    ) -> Search:
        return Search(
            similarity=self.similarity,
            consequent=self.consequent_similarity,
            max_antecedents=self.max_antecedents,
            search=self.search,  # type: ignore[arg-type]
            gate_by=self.gate_by,  # type: ignore[arg-type]
            antecedent_ok=left,
            consequent_ok=right,
            neighbours=near,
        )

    def mine(self, table: TransactionTable, *, progress: Progress = silent) -> RuleSet:
        """Train and extract in one step."""
        require_codes(table, self.name)
        return self.extract(self.train(table, progress=progress), table, progress=progress)

    def train(
        self, table: TransactionTable, *, start: AerialModel | None = None, progress: Progress = silent
    ) -> AerialModel:
        """Learn a table; with ``start``, go on from a model that was trained on earlier rows of the same features."""
        settings = self._training()
        models = []
        for at, block in enumerate(table.blocks):
            columns = self._columns(block)
            features = tuple(str(block.columns[c].feature) for c in columns)
            before = None if start is None else _same(start, at, features)
            if before is not None:
                columns = before.columns
            if len(columns) < 2 or block.n_rows == 0:
                reason = "there are no rows" if block.n_rows == 0 else "fewer than two features ever change"
                models.append(BlockModel(columns, features, None, float("nan"), 0, reason))
                continue

            def tell(epoch: Epoch, at: int = at) -> None:
                stage = f"training {at + 1}/{len(table.blocks)}" if len(table.blocks) > 1 else "training"
                progress(stage, epoch.number, epoch.of, f"loss {epoch.judged:.4f}")

            rows = BlockRows(block, columns)
            resident = block.n_rows * len(columns) <= RESIDENT_CELLS
            cardinalities = [block.columns[c].n_codes for c in columns]
            with one_thread(sum(cardinalities) <= SMALL_ITEMS):
                result = train(
                    ArrayRows(rows.take(np.arange(block.n_rows))) if resident else rows,
                    cardinalities=cardinalities,
                    settings=settings,
                    neighbours=self._neighbours(block, columns, at),
                    start=None if before is None else before.network,
                    progress=tell,
                )
            network = None if result.reason else result.model
            models.append(BlockModel(columns, features, network, result.loss, len(result.epochs), result.reason))
        return AerialModel(tuple(models))

    def partial_fit(self, model: AerialModel, table: TransactionTable, *, progress: Progress = silent) -> AerialModel:
        """Go on training a model on further rows."""
        return self.train(table, start=model, progress=progress)

    def extract(self, model: AerialModel, table: TransactionTable, *, progress: Progress = silent) -> RuleSet:
        """The rules of a trained model, counted exactly on a table."""
        if len(model.blocks) != len(table.blocks):
            raise MiningError(
                f"the model was trained on {len(model.blocks)} blocks, the table has {len(table.blocks)}",
                hint="train and extract on the same kind of table",
            )
        parts = [self._extract_block(model, table, at, progress) for at in range(len(table.blocks))]
        notes = [block.reason for block in model.blocks if block.reason is not None]
        if not parts:
            return RuleSet.empty("the table has no rows to mine", *table.notes)
        rules = RuleSet.concat(parts)
        if self.top_k is not None and len(parts) > 1:
            rules = rules.sort("probability").take(np.arange(min(self.top_k, len(rules))))
        rules, left_out = self._that_hold(rules, table)
        notes += [f"{number:,} proposals {why}: left out" for why, number in left_out.items()]
        if len(rules) == 0:
            if not notes or left_out:
                notes.append(self._why_none(left_out, model, table))
            return RuleSet.empty(*table.notes, *notes, facts=parts[0].facts)
        return replace(rules, notes=(*rules.notes, *notes))

    def _that_hold(self, rules: RuleSet, table: TransactionTable) -> tuple[RuleSet, dict[str, int]]:
        """The proposals that hold in the table as asked for, and how many do not, by what they miss."""
        left_out: dict[str, int] = {}

        def narrow(kept: RuleSet, why: str) -> RuleSet:
            if len(kept) < len(rules):
                left_out[why] = len(rules) - len(kept)
            return kept

        rules = narrow(rules.take(np.flatnonzero(rules.counts.n_both > 0)), "of the network never hold in the table")
        for name, bound in (("support", self.min_support), ("confidence", self.least_confidence)):
            if bound:
                rules = narrow(rules.filter(bounds={f"min_{name}": bound}), f"have an exact {name} below {bound:g}")
        if self.assurance and self.least_confidence:
            least = self.least_confidence
            sure = assured(rules, table, assurance=self.assurance, min_confidence=least)
            rules = narrow(
                sure, f"reach the confidence {least:g}, but not with an assurance of {self.assurance:g} (0 keeps them)"
            )
        return rules, left_out

    @property
    def least_confidence(self) -> float:
        """The network's probability stands for a confidence: unless told otherwise, the exact one has to be as high."""
        if self.min_confidence is not None:
            return self.min_confidence
        return self.similarity if self.consequent_similarity is None else self.consequent_similarity

    def _why_none(self, left_out: Mapping[str, int], model: AerialModel, table: TransactionTable) -> str:
        if left_out:
            settings = ["min_support", "min_confidence", *(["assurance"] if self.assurance else [])]
            return f"none of {sum(left_out.values()):,} proposals is left: lower {' or '.join(settings)}"
        for learnt, block in zip(model.blocks, table.blocks, strict=True):
            if learnt.network is None or block.n_rows == 0:
                continue
            codes = BlockRows(block, learnt.columns).sample(np.random.default_rng(self.seed), DIAGNOSED_ROWS)
            nothing = loss_of_knowing_nothing(codes, learnt.network.layout.cardinalities)
            if learnt.loss > LEARNT_LITTLE * nothing:
                return (
                    f"the network has learnt little (loss {learnt.loss:.3f}, {nothing:.3f} without looking at"
                    " anything): train longer (epochs), or say which features belong together (near)"
                )
        return f"the network reconstructs nothing with similarity {self.similarity:g}: lower it"

    def _extract_block(self, model: AerialModel, table: TransactionTable, at: int, progress: Progress) -> RuleSet:
        block, learnt = table.blocks[at], model.blocks[at]
        if learnt.network is None:
            return RuleSet.empty()
        known = tuple(str(block.columns[c].feature) for c in learnt.columns if c < len(block.columns))
        if known != learnt.features:
            raise MiningError("the model was trained on other features than the table has")
        left, right = item_masks(
            block, antecedent=self.antecedent, consequent=self.consequent, context_consequents=self.context_consequents
        )
        items = _items_of(block, learnt.columns)
        search = self._search(left[items], right[items], self._neighbours(block, learnt.columns, at))

        def tell(asked: int, total: int) -> None:
            progress("extracting", asked, total, f"{asked:,} queries")

        network = learnt.network.to(self.device)
        if self.top_k is not None:
            found = top(network, k=self.top_k, search=search, progress=tell)
        else:
            chunks = extract(network, search=search, progress=tell)
            found = Rules.joined(chunks, max_antecedents=self.max_antecedents)
        back = np.append(items, -1).astype(np.int32)
        return recount(
            table,
            at,
            back[found.antecedents],
            back[found.consequents],
            extras={"probability": found.probability.astype(np.float64)},
        )

    def _columns(self, block: Block) -> NDArray[np.int64]:
        if self.keep_constants:
            usable = [c for c, column in enumerate(block.columns) if column.n_codes]
        else:
            usable = [c for c, column in enumerate(block.columns) if not column.is_constant]
        return np.array(usable, np.int64)

    def _neighbours(self, block: Block, columns: NDArray[np.int64], at: int) -> Neighbours | None:
        """Features that may stand together: near in the graph, and not two names of the same readings."""
        given = None if self.near is None else near_columns(self.near, at, len(block.columns))
        trivial = trivial_columns(block)
        if trivial is not None:
            allowed = ~trivial[np.ix_(columns, columns)]
            np.fill_diagonal(allowed, False)
            if given is not None:
                a, b = np.nonzero(allowed)
                keep = given.together(columns[a], columns[b])
                allowed[a[~keep], b[~keep]] = False
            return Neighbours.of(allowed)
        if given is None:
            return None
        position = np.full(len(block.columns), -1, np.int64)
        position[columns] = np.arange(len(columns))
        lists = [position[given.of_feature(int(c))] for c in columns]
        return Neighbours.of([members[members >= 0] for members in lists])


def _items_of(block: Block, columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """The block's number of every item of the network, in the network's order."""
    return np.concatenate([np.arange(block.offsets[c], block.offsets[c + 1]) for c in columns.tolist()])


def _same(start: AerialModel, at: int, features: tuple[str, ...]) -> BlockModel | None:
    """The earlier model of a block, if it was trained at all; other features are an error."""
    if at >= len(start.blocks) or start.blocks[at].network is None:
        return None
    known = start.blocks[at]
    if not set(features) <= set(known.features):
        strange = sorted(set(features) - set(known.features))[0]
        raise MiningError(f"the model does not know the feature '{strange}'", hint="train a new model")
    return known
