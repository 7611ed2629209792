"""Aerial as a miner: train an autoencoder per block, ask it for rules, count each one exactly.

The network only proposes. Every rule that comes out has been recounted on the table, and carries the network's
probability beside its exact measures. Training and extraction know nothing of tables; this module joins them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from thence.counting.assurance import assured, require_assurance
from thence.counting.recount import recount
from thence.errors import ConfigError, MiningError
from thence.miners.aerial.extraction import Rules, Search, extract, top
from thence.miners.aerial.model import AerialModel, BlockModel, meanings, pattern_of
from thence.miners.aerial.rows import ArrayRows, loss_of_knowing_nothing
from thence.miners.aerial.table_rows import BlockRows
from thence.miners.aerial.training import Epoch, TrainingSettings, device_of, train
from thence.miners.base import BaseMiner
from thence.miners.flat import require_codes
from thence.miners.neighbours import Neighbours, near_columns, require_near
from thence.miners.torch_runtime import one_thread
from thence.progress import Progress, silent
from thence.rules.constraints import Constraint, settled, why_nothing_fits
from thence.rules.ruleset import RuleSet
from thence.settings.numbers import require_number, require_share, require_whole
from thence.tables.admissible import item_masks, trivial_columns
from thence.tables.blocks import Block
from thence.tables.transactions import TransactionTable

__all__ = ["Aerial", "AerialModel", "BlockModel"]

RESIDENT_CELLS = 1 << 26
"""Codes of a block with at most this many cells are written out for training; larger ones are sampled on the fly."""
SMALL_ITEMS = 400
"""Networks of at most this many items are trained on one processor: their steps are too short to share."""

DIAGNOSED_ROWS, LEARNT_LITTLE = 10_000, 0.9
"""Rows looked at to say why nothing was found, and the share of the loss of knowing nothing that is no better."""


@dataclass(frozen=True, kw_only=True)
class Aerial(BaseMiner):
    """Rules that a denoising autoencoder reconstructs with at least this similarity.

    ``similarity`` is the threshold for marked items and for consequents; ``consequent_similarity`` sets the second
    apart. ``search="grow"`` extends only antecedents that passed; ``gate_by="mutual"`` lets those pass whose items
    imply one another, which is faster by far among many sensors. ``top_k`` keeps the most probable rules.
    ``min_support`` and ``min_confidence`` are exact and applied after the recount; the confidence has to reach the
    threshold of the consequents unless ``min_confidence`` says otherwise (0: show whatever the network proposes), and
    to reach it with this ``assurance``, so that rules hold tomorrow as well (``assured``; 0 keeps rules that
    may owe it to a few lucky rows).
    ``near`` says, per block, which features may stand together (``within_hops`` makes it from a graph).
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
    columns: ClassVar[tuple[str, ...]] = ("probability", "assured_confidence")

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
    learning_rate: float | None = None
    device: str = "cpu"
    settings: TrainingSettings | None = None

    def __post_init__(self) -> None:
        if isinstance(self.settings, Mapping):  # as a configuration file has it
            object.__setattr__(self, "settings", TrainingSettings.from_mapping(self.settings))
        for name in ("antecedent", "consequent"):
            object.__setattr__(self, name, settled(getattr(self, name)))
        if self.consequent_similarity is not None:
            require_share("consequent_similarity", self.consequent_similarity)
        self._search(None, None, None)
        self._training()
        require_near(self.near)
        if self.top_k is not None:
            require_whole("top_k", self.top_k)
        for name in ("min_support", "min_confidence"):
            if getattr(self, name) is not None:
                require_share(name, getattr(self, name))
        if self.assurance:
            require_number("assurance", self.assurance)
            require_assurance(self.assurance)

    @classmethod
    def faithful(cls, *, seed: int = 0, device: str = "cpu", **changes: Any) -> Aerial:
        """The paper's settings: gaussian noise 0.5, five epochs, static columns among the consequents, and every
        proposal of the network that holds at least once."""
        if "settings" in changes:
            raise ConfigError(
                "the paper's settings of training are what 'faithful' stands for",
                hint="change single ones (epochs, batch_size, widths, learning_rate), or use Aerial(settings=…)",
            )
        # What Aerial has a setting of its own for stands there only, so that it can be replaced.
        settings = replace(TrainingSettings.faithful(), corruption="mask")
        chosen: dict[str, Any] = {
            "corruption": "gaussian",
            "context_consequents": True,
            "keep_constants": True,
            "min_confidence": 0.0,
            "assurance": None,
        }
        return cls(seed=seed, device=device, settings=settings, **(chosen | changes))

    def resolved(self) -> Aerial:
        """Return this miner with the confidence bound and the training settings written out."""
        return replace(self, min_confidence=self.least_confidence, settings=self.settings or TrainingSettings())

    def _training(self) -> TrainingSettings:
        base = TrainingSettings() if self.settings is None else self.settings
        if not isinstance(base, TrainingSettings):
            raise ConfigError(f"settings must be TrainingSettings or a table of them, got {base!r}")
        given = {name: getattr(self, name) for name in ("corruption", "max_antecedents", "seed", "device")}
        for name, value in given.items():
            said = getattr(base, name)
            if said not in (value, getattr(TrainingSettings, name)):
                raise ConfigError(
                    f"{name} is {value!r} for Aerial, and {said!r} in its settings of training",
                    hint=f"leave it out there and say Aerial({name}={said!r})",
                )
        single = ("epochs", "widths", "batch_size", "learning_rate")
        chosen = {name: getattr(self, name) for name in single if getattr(self, name) is not None}
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
        require_codes(table, self.name)
        if start is not None:
            start.require_blocks(table)
        known: Sequence[BlockModel | None] = [None] * len(table.blocks) if start is None else start.blocks
        models = [self._train_block(table, at, before, progress) for at, before in enumerate(known)]
        return AerialModel(tuple(models))

    def _train_block(
        self, table: TransactionTable, at: int, before: BlockModel | None, progress: Progress
    ) -> BlockModel:
        block = table.blocks[at]
        columns = self._columns(block)
        features = tuple(str(block.columns[c].feature) for c in columns)
        if before is not None and before.network is None:
            before = None
        if before is not None:
            columns = _known_places(before, block, features)

        def without(reason: str) -> BlockModel:
            """What is left where nothing can be learnt: nothing, or what was learnt before."""
            if before is not None:
                return replace(before, reason=f"the last rows taught the network nothing: {reason}")
            return BlockModel(columns, features, None, float("nan"), 0, reason, meanings(block, columns), pattern)

        pattern = pattern_of(block)
        if len(columns) < 2 or block.n_rows == 0:
            return without("there are no rows" if block.n_rows == 0 else "fewer than two features ever change")

        def tell(epoch: Epoch) -> None:
            stage = f"training {at + 1}/{len(table.blocks)}" if len(table.blocks) > 1 else "training"
            progress(stage, epoch.number, epoch.of, f"loss {epoch.judged:.4f}")

        rows = BlockRows(block, columns)
        resident = block.n_rows * len(columns) <= RESIDENT_CELLS
        cardinalities = [block.columns[c].n_codes for c in columns]
        with one_thread(sum(cardinalities) <= SMALL_ITEMS):
            result = train(
                ArrayRows(rows.take(np.arange(block.n_rows))) if resident else rows,
                cardinalities=cardinalities,
                settings=self._training(),
                neighbours=self._neighbours(block, columns, at),
                start=None if before is None else before.network,
                progress=tell,
            )
        if result.reason is not None:
            return without(result.reason)
        if before is None:
            before = BlockModel(columns, features, None, 0.0, 0, None, meanings(block, columns), pattern)
        return replace(before, network=result.model, loss=result.loss, epochs=len(result.epochs), reason=result.note)

    def partial_fit(self, model: AerialModel, table: TransactionTable, *, progress: Progress = silent) -> AerialModel:
        """Go on training a model on further rows; a table from which nothing can be learnt leaves it as it is."""
        return self.train(table, start=model, progress=progress)

    def extract(self, model: AerialModel, table: TransactionTable, *, progress: Progress = silent) -> RuleSet:
        """The rules of a trained model, counted exactly on a table."""
        require_codes(table, self.name)
        model.require_blocks(table)
        parts = [self._extract_block(model, table, at, progress) for at in range(len(table.blocks))]
        notes = [block.reason for block in model.blocks if block.reason is not None]
        if not parts:
            return RuleSet.empty("the table has no rows to mine", *table.notes)
        rules = RuleSet.concat(parts)
        if self.top_k is not None and len(parts) > 1 and len(rules):
            rules = rules.sort("probability").take(np.arange(min(self.top_k, len(rules))))
        rules, left_out = self._that_hold(rules, table)
        notes += [f"{number:,} proposals {why}: left out" for why, number in left_out.items()]
        if len(rules) == 0:
            if left_out or all(block.network is not None for block in model.blocks):
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
        unfit = self._why_nothing_fits(model, table)
        if unfit is not None:
            return unfit
        for learnt, block in zip(model.blocks, table.blocks, strict=True):
            if learnt.network is None or block.n_rows == 0:
                continue
            codes = BlockRows(block, learnt.places(block)).sample(np.random.default_rng(self.seed), DIAGNOSED_ROWS)
            nothing = loss_of_knowing_nothing(codes, learnt.network.layout.cardinalities)
            if learnt.loss > LEARNT_LITTLE * nothing:
                return (
                    f"the network has learnt little (loss {learnt.loss:.3f}, {nothing:.3f} without looking at"
                    " anything): train longer (epochs), or say which features belong together (near)"
                )
        return f"the network reconstructs nothing with similarity {self.similarity:g}: lower it"

    def _why_nothing_fits(self, model: AerialModel, table: TransactionTable) -> str | None:
        """Why the constraints leave nothing to search for, if they do."""
        pairs = [(b, _items_of(b, m.places(b))) for m, b in zip(model.blocks, table.blocks, strict=True) if m.network]
        masks = [self._sides(block, items) for block, items in pairs]
        for at, name in enumerate(("antecedent", "consequent")):
            constraint = getattr(self, name)
            if constraint is None or any(mask[at].any() for mask in masks):
                continue
            return why_nothing_fits(table.iter_items(), name, constraint) or (
                f"all that fits the constraint on the {name} is constant or context, which is left out"
                " (keep_constants, context_consequents)"
            )
        return None

    def _extract_block(self, model: AerialModel, table: TransactionTable, at: int, progress: Progress) -> RuleSet:
        block, learnt = table.blocks[at], model.blocks[at]
        if learnt.network is None:
            return RuleSet.empty()
        columns = learnt.places(block)
        items = _items_of(block, columns)
        left, right = self._sides(block, items)
        search = self._search(left, right, self._neighbours(block, columns, at))

        def tell(asked: int, total: int) -> None:
            progress("extracting", asked, total, f"{asked:,} queries")

        network = learnt.network.to(device_of(self.device))
        if self.top_k is not None:
            found = top(network, k=self.top_k, search=search, progress=tell)
        else:
            chunks = extract(network, search=search, progress=tell)
            found = Rules.joined(chunks, max_antecedents=self.max_antecedents)
        back = np.append(items, -1).astype(np.int32)
        antecedents = back[found.antecedents]
        if (np.diff(columns) < 0).any():
            antecedents = _ascending(antecedents)
        return recount(
            table,
            at,
            antecedents,
            back[found.consequents],
            extras={"probability": found.probability.astype(np.float64)},
        )

    def _sides(self, block: Block, items: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which of the network's items may stand on which side of a rule."""
        left, right = item_masks(
            block, antecedent=self.antecedent, consequent=self.consequent, context_consequents=self.context_consequents
        )
        return left[items], right[items]

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


def _ascending(items: NDArray[np.int32]) -> NDArray[np.int32]:
    """Antecedents in the order of the table, which may have its columns in another order than the network has."""
    last = np.iinfo(np.int32).max
    ordered = np.sort(np.where(items < 0, last, items), axis=1)
    return np.where(ordered == last, np.int32(-1), ordered)


def _known_places(before: BlockModel, block: Block, features: tuple[str, ...]) -> NDArray[np.int64]:
    """Where the columns of an earlier model stand in further rows; features that it does not know are an error."""
    before.require_pattern(block)
    strange = sorted(set(features) - set(before.features))
    if strange:
        raise MiningError(f"the model does not know the feature '{strange[0]}'", hint="train a new model")
    return before.places(block)
