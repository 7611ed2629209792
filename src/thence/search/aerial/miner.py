"""Aerial as a miner: train an autoencoder per block, extract rules from it, and count each rule exactly.

The network only proposes rules. Every rule that is returned has been recounted on the table, and carries the network's
probability beside its exact measures. Training and extraction know nothing about tables; this module joins them. It
must not import torch before a miner starts to work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from thence._base.cluster.executors import Executor
from thence._base.progress import Progress, silent
from thence._base.settings.numbers import LARGEST_SEED, MOST_ANTECEDENTS
from thence._base.settings.typed import number
from thence.errors import ConfigError, MiningError
from thence.language.constraints import Constraint, explain_no_match
from thence.language.items import Aspect
from thence.search.aerial.model import AerialModel, BlockModel, digest_columns, pattern_text
from thence.search.aerial.rows import ArrayRows, BlockRows, compute_marginal_loss
from thence.search.aerial.settings import SearchSettings, TrainingSettings
from thence.search.base import BaseMiner
from thence.search.codes import require_codes
from thence.search.neighbours import Neighbours, near_columns
from thence.search.torch_runtime import find_device, one_thread, require_torch
from thence.statements.counting.assurance import add_confidence_bound, require_assurance
from thence.statements.counting.recount import recount
from thence.statements.rules.ruleset import RuleSet
from thence.tables.admissibility import item_masks, trivial_columns
from thence.tables.blocks import Block
from thence.tables.transactions import TransactionTable

if TYPE_CHECKING:
    from thence.search.aerial.training import Epoch

RESIDENT_CELLS = 1 << 26
"""Codes of a block with at most this many cells are written out for training; larger ones are sampled on the fly."""
SMALL_ITEMS = 400
"""Networks of at most this many items are trained on one thread: their steps are too short to share."""

DIAGNOSED_ROWS, LEARNED_LITTLE = 10_000, 0.9
"""How many rows are sampled to explain an empty result, and the share of the marginal loss above which a network has
learned little."""

_AS_IN_THE_PAPER: Mapping[str, Any] = MappingProxyType(
    {"context_consequents": True, "keep_constants": True, "min_confidence": 0.0, "assurance": None}
)


@dataclass(frozen=True, kw_only=True)
class Aerial(BaseMiner):
    """Mine rules with a denoising autoencoder (Karabulut, Groth & Degeler 2025).

    A network is trained per block of the table. It proposes a rule if it reconstructs the marked antecedent items and,
    from them, the consequent. All rules are then counted exactly. Needs torch (``pip install 'thence[aerial]'``).

    Args:
        similarity: Threshold of the network's probability, from 0 to 1, for marked items and for consequents.
        consequent_similarity: Overrides ``similarity`` for consequents.
        max_antecedents: The largest number of antecedent items; ``None`` for no limit.
        search: Which antecedents are queried, and what they have to pass. ``"full"`` is the paper's: every combination
            of items, of which the network has to reconstruct every marked one. ``"grow"`` extends only antecedents that
            passed. With ``"mutual"`` the items have to imply one another, which is much faster with many sensors.
        seed: Random seed.
        top_k: Keep only this many rules, the most probable ones. By default all are kept.
        min_support: The lowest exact support of a rule, applied after the recount.
        min_confidence: The lowest exact confidence of a rule, applied after the recount. By default the threshold for
            consequents; 0 keeps whatever the network proposes.
        assurance: Probability with which the confidence of a rule reaches ``min_confidence`` on future rows, given the
            rows that were counted (see ``add_confidence_bound``). Rules that the data do not allow to judge are left
            out too, and counted in the notes. 0 or ``None`` also keeps rules that reach it in a few rows only.
        antecedent: Which items may be in an antecedent.
        consequent: Which items may be a consequent.
        context_consequents: Whether constants and graph context may be consequents.
        keep_constants: Whether to keep columns that never change, as the paper does. By default they are left out,
            since everything implies them.
        near: Which features may appear in the same rule, per block (made by ``table.within_hops``). Through ``th.mine``
            and in a configuration also a number of hops.
        epochs: Number of passes over the rows. By default it is chosen from the data.
        device: Where to train and search: ``"cpu"`` or ``"cuda"``.
        settings: Further settings of the network, as ``TrainingSettings`` or a mapping of its fields: noise, widths,
            batch size, learning rate, and the points in which the paper's released code differs from the paper.

    Raises:
        ConfigError: If a setting has an impossible value, or ``settings`` contradicts another setting.

    Examples:
        >>> import polars as pl
        >>> a = np.arange(400) % 4
        >>> table = TransactionTable.from_frame(pl.DataFrame({"a": a.astype(str), "b": (a // 2).astype(str)}))
        >>> rules = Aerial(seed=0).mine(table)
        >>> sorted({float(c) for c in rules.measure("confidence")})
        [1.0]
    """

    name: ClassVar[str] = "aerial"
    columns: ClassVar[tuple[str, ...]] = ("probability", "assured_confidence")
    spreads: ClassVar[bool] = True

    similarity: float = number(0.8, least=0, most=1)
    consequent_similarity: float | None = number(None, least=0, most=1)
    max_antecedents: int | None = number(2, least=1, most=MOST_ANTECEDENTS)
    search: Literal["full", "grow", "mutual"] = "full"
    seed: int = number(0, least=0, most=LARGEST_SEED)
    top_k: int | None = number(None, least=1)
    min_support: float | None = number(None, least=0, most=1)
    min_confidence: float | None = number(None, least=0, most=1)
    assurance: float | None = 0.95
    antecedent: Constraint = None
    consequent: Constraint = None
    context_consequents: bool = False
    keep_constants: bool = False
    near: Sequence[Any] | None = None
    epochs: int | None = number(None, least=1)
    device: str = "cpu"
    settings: TrainingSettings | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.settings, Mapping):  # from a configuration file
            object.__setattr__(self, "settings", TrainingSettings.from_mapping(self.settings))
        if self._training().softmax == "node" and self.near is not None:
            raise ConfigError("near cannot be combined with softmax='node'", hint="leave out one of them")
        if self.assurance:
            require_assurance(self.assurance)

    @classmethod
    def faithful(cls, *, seed: int = 0, device: str = "cpu", **changes: Any) -> Aerial:
        """Make a miner with the paper's settings.

        These are gaussian noise 0.5, five epochs, static columns among the consequents, and no threshold on the exact
        confidence: every proposal of the network that holds at least once is kept.

        Args:
            seed: Random seed.
            device: Where to train and search: ``"cpu"`` or ``"cuda"``.
            **changes: Other settings of ``Aerial``, which override those of the paper. ``settings`` is a mapping of the
                training settings that differ.
        """
        training = TrainingSettings.faithful(**changes.pop("settings", {}))
        return cls(seed=seed, device=device, settings=training, **{**_AS_IN_THE_PAPER, **changes})

    @classmethod
    def published(cls, *, seed: int = 0, **changes: Any) -> Aerial:
        """Make a miner with the settings of the paper's released code, which differ from the paper in several points.

        See ``TrainingSettings.published``. For comparisons only: the code has one softmax over all properties of a
        node, so that none of them can reach a usual threshold.

        Args:
            seed: Random seed.
            **changes: Other settings of ``Aerial``, which override those of the code. ``settings`` is a mapping of the
                training settings that differ.
        """
        training = TrainingSettings.published(**changes.pop("settings", {}))
        return cls(seed=seed, settings=training, **{**_AS_IN_THE_PAPER, **changes})

    def resolved(self) -> Aerial:
        """Return this miner with the confidence bound and the training settings written out."""
        return replace(self, min_confidence=self.least_confidence, settings=self.settings or TrainingSettings())

    def _training(self) -> TrainingSettings:
        base = TrainingSettings() if self.settings is None else self.settings
        if not isinstance(base, TrainingSettings):
            raise ConfigError(f"settings must be a TrainingSettings object or a mapping, got {base!r}")
        given = {name: getattr(self, name) for name in ("max_antecedents", "seed", "device")}
        for name, value in given.items():
            other = getattr(base, name)
            if other not in (value, getattr(TrainingSettings, name)):
                raise ConfigError(
                    f"{name} is {value!r} for Aerial, but {other!r} in its training settings",
                    hint=f"pass Aerial({name}={other!r}) and leave it out of the training settings",
                )
        return replace(base, **given, epochs=self.epochs or base.epochs)

    def _search(
        self, left: NDArray[np.bool_], right: NDArray[np.bool_], near: Neighbours | None, longest: int
    ) -> SearchSettings:
        return SearchSettings(
            similarity=self.similarity,
            consequent=self.consequent_similarity,
            max_antecedents=longest,
            search=self.search,
            antecedent_ok=left,
            consequent_ok=right,
            neighbours=near,
            as_released=self._training().proposals == "code",
        )

    def mine(
        self, table: TransactionTable, *, progress: Progress = silent, executor: Executor | None = None
    ) -> RuleSet:
        """Train a network and return its rules, with exact counts.

        Args:
            table: A discretized table.
            progress: Called as training and extraction advance.
            executor: Where to extract and count, with the same rules. The network is trained in this process.

        Raises:
            ConfigError: If ``device`` is not ``"cpu"`` and the executor is a cluster.
            MissingExtraError: If torch is not installed.
            MiningError: If the table is of another kind, or training diverges.
        """
        require_codes(table, self.name)
        self.require_executor(executor)
        model = self.train(table, progress=progress)
        return self.extract(model, table, progress=progress, executor=executor)

    def train(
        self,
        table: TransactionTable,
        *,
        start: AerialModel | None = None,
        progress: Progress = silent,
    ) -> AerialModel:
        """Train a model on a table.

        Args:
            table: A discretized table.
            start: A model to continue from, trained on earlier rows of the same features.
            progress: Called as training advances.

        Returns:
            The model, with one network per block of the table.

        Raises:
            MissingExtraError: If torch is not installed.
            MiningError: If the table does not match ``start``, or training diverges.
        """
        require_codes(table, self.name)
        require_torch(extra="aerial")
        if start is not None:
            start.require_blocks(table)
        table = table.shuffled()
        known: Sequence[BlockModel | None] = [None] * len(table.blocks) if start is None else start.blocks
        models = [self._train_block(table, at, before, progress) for at, before in enumerate(known)]
        return AerialModel(tuple(models))

    def _train_block(
        self,
        table: TransactionTable,
        at: int,
        before: BlockModel | None,
        progress: Progress,
    ) -> BlockModel:
        from thence.search.aerial.training import train

        block = table.blocks[at]
        columns = self._columns(block)
        features = tuple(str(block.columns[c].feature) for c in columns)
        if before is not None and before.network is None:
            before = None
        if before is not None:
            columns = _find_columns(before, block, features)

        def without(reason: str) -> BlockModel:
            """Return the model if nothing can be learned: without a network, or the earlier one."""
            if before is not None:
                return replace(before, reason=f"nothing was learned from the last rows: {reason}")
            return BlockModel(columns, features, None, float("nan"), 0, reason, digest_columns(block, columns), pattern)

        pattern = pattern_text(block)
        if len(columns) < 2 or block.n_rows == 0:
            return without("there are no rows" if block.n_rows == 0 else "fewer than two features ever change")

        def report(epoch: Epoch) -> None:
            stage = f"training {at + 1}/{len(table.blocks)}" if len(table.blocks) > 1 else "training"
            progress(stage, epoch.number, epoch.total, f"loss {epoch.monitored_loss:.4f}")

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
                progress=report,
                softmax_of=_number_nodes(block, columns) if self._per_node else None,
            )
        if result.reason is not None:
            return without(result.reason)
        if before is None:
            before = BlockModel(columns, features, None, 0.0, 0, None, digest_columns(block, columns), pattern)
        return replace(before, network=result.model, loss=result.loss, epochs=len(result.epochs), reason=result.note)

    def partial_fit(self, model: AerialModel, table: TransactionTable, *, progress: Progress = silent) -> AerialModel:
        """Continue training a model on further rows.

        Args:
            model: The model, which is not changed.
            table: A table of further rows of the same features, categories and bins.
            progress: Called as training advances.

        Returns:
            The new model. A block from which nothing can be learned keeps its network, with the reason.
        """
        return self.train(table, start=model, progress=progress)

    def extract(
        self,
        model: AerialModel,
        table: TransactionTable,
        *,
        progress: Progress = silent,
        executor: Executor | None = None,
    ) -> RuleSet:
        """Return the rules of a trained model, counted exactly on a table.

        Args:
            model: The model.
            table: A table with the features, categories and bins of the model.
            progress: Called as extraction advances.
            executor: Where to extract and count, with the same rules; by default in this process.

        Raises:
            ConfigError: If ``device`` is not ``"cpu"`` and the executor is a cluster.
            MissingExtraError: If torch is not installed.
            MiningError: If the table does not match the model.
        """
        require_codes(table, self.name)
        require_torch(extra="aerial")
        self.require_executor(executor)
        model.require_blocks(table)
        parts = [self._extract_block(model, table, at, progress, executor) for at in range(len(table.blocks))]
        notes = [block.reason for block in model.blocks if block.reason is not None]
        if not parts:
            return RuleSet.empty("the table has no rows to mine", *table.notes)
        rules = RuleSet.concat(parts)
        if self.top_k is not None and len(parts) > 1 and len(rules):
            rules = rules.sort("probability").take(np.arange(min(self.top_k, len(rules))))
        rules, left_out = self._apply_thresholds(rules, table)
        notes += [f"{number:,} proposals {why}: left out" for why, number in left_out.items()]
        if len(rules) == 0:
            if left_out or all(block.network is not None for block in model.blocks):
                notes.append(self._explain_empty(left_out, model, table))
            return RuleSet.empty(*table.notes, *notes, facts=parts[0].facts)
        return replace(rules, notes=(*rules.notes, *notes))

    def _apply_thresholds(self, rules: RuleSet, table: TransactionTable) -> tuple[RuleSet, dict[str, int]]:
        """Return the proposals that meet the thresholds, and the number of the others by reason."""
        left_out: dict[str, int] = {}

        def narrow(kept: RuleSet, why: str) -> RuleSet:
            if len(kept) < len(rules):
                left_out[why] = len(rules) - len(kept)
            return kept

        if self._training().proposals == "paper":
            rules = narrow(rules.take(np.flatnonzero(rules.counts.n_both > 0)), "never hold in the table")
        for name, bound in (("support", self.min_support), ("confidence", self.least_confidence)):
            if bound:
                rules = narrow(rules.filter(bounds={f"min_{name}": bound}), f"have an exact {name} below {bound:g}")
        if self.assurance and self.least_confidence:
            least, level = self.least_confidence, f"with an assurance of {self.assurance:g} (0 keeps them)"
            sure = replace(add_confidence_bound(rules, table, assurance=self.assurance), notes=rules.notes)
            judged = sure.take(np.flatnonzero(np.isfinite(sure.measure("assured_confidence"))))
            rules = narrow(judged, f"reach a confidence of {least:g}, but in too few independent rows to judge {level}")
            enough = rules.filter(min_assured_confidence=least)
            rules = narrow(enough, f"reach a confidence of {least:g}, but not {level}")
        return rules, left_out

    @property
    def least_confidence(self) -> float:
        """The lowest exact confidence of a rule: ``min_confidence``, or else the threshold for consequents."""
        if self.min_confidence is not None:
            return self.min_confidence
        return self.similarity if self.consequent_similarity is None else self.consequent_similarity

    def _explain_empty(self, left_out: Mapping[str, int], model: AerialModel, table: TransactionTable) -> str:
        if left_out:
            settings = ["min_support", "min_confidence", *(["assurance"] if self.assurance else [])]
            return f"none of {sum(left_out.values()):,} proposals is left: lower {' or '.join(settings)}"
        unfit = self._explain_constraints(model, table)
        if unfit is not None:
            return unfit
        for learned, block in zip(model.blocks, table.blocks, strict=True):
            if learned.network is None or block.n_rows == 0 or self._per_node:
                continue
            codes = BlockRows(block.shuffled(), learned.places(block)).sample(
                np.random.default_rng(self.seed), DIAGNOSED_ROWS
            )
            marginal = compute_marginal_loss(codes, learned.network.layout.cardinalities)
            if learned.loss > LEARNED_LITTLE * marginal:
                return (
                    f"the network has learned little (loss {learned.loss:.3f}; class frequencies alone give"
                    f" {marginal:.3f}): train longer (epochs), or limit which features are combined (near)"
                )
        return f"the network proposes no rule at a similarity of {self.similarity:g}: lower similarity"

    def _explain_constraints(self, model: AerialModel, table: TransactionTable) -> str | None:
        """Return why the constraints leave nothing to search for, or ``None`` if they do not."""
        pairs = [(b, _find_items(b, m.places(b))) for m, b in zip(model.blocks, table.blocks, strict=True) if m.network]
        masks = [self._sides(block, items) for block, items in pairs]
        for at, name in enumerate(("antecedent", "consequent")):
            constraint = getattr(self, name)
            if constraint is None or any(mask[at].any() for mask in masks):
                continue
            return explain_no_match(table.iter_items(), name, constraint) or (
                f"all items that match the constraint on the {name} are constants or graph context, which are left out"
                " (keep_constants and context_consequents keep them)"
            )
        return None

    def _extract_block(
        self, model: AerialModel, table: TransactionTable, at: int, progress: Progress, executor: Executor | None
    ) -> RuleSet:
        from thence.search.aerial.extraction import extract_in_parts

        block, learned = table.blocks[at], model.blocks[at]
        if learned.network is None:
            return RuleSet.empty()
        columns = learned.places(block)
        items = _find_items(block, columns)
        left, right = self._sides(block, items)
        search = self._search(left, right, self._neighbours(block, columns, at), self.longest(table))

        def report(asked: int, total: int) -> None:
            progress("extracting", asked, total, f"{asked:,} queries")

        network = learned.network.to(find_device(self.device))
        found = extract_in_parts(network, k=self.top_k, search=search, progress=report, executor=executor)
        back = np.append(items, -1).astype(np.int32)
        antecedents = back[found.antecedents]
        if (np.diff(columns) < 0).any():
            antecedents = _sort_antecedents(antecedents)
        return recount(
            antecedents,
            back[found.consequents],
            table,
            block=at,
            extras={"probability": found.probability.astype(np.float64)},
            executor=executor,
        )

    def _sides(self, block: Block, items: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which of the network's items may be in an antecedent, and which may be a consequent."""
        left, right = item_masks(
            block, antecedent=self.antecedent, consequent=self.consequent, context_consequents=self.context_consequents
        )
        return left[items], right[items]

    def _columns(self, block: Block) -> NDArray[np.int64]:
        if self.keep_constants:
            usable = [c for c, column in enumerate(block.columns) if column.n_codes]
        else:
            usable = [c for c, column in enumerate(block.columns) if not column.is_constant]
        columns = np.array(usable, np.int64)
        # Features that share a softmax have to be side by side.
        return columns[np.argsort(_number_nodes(block, columns), kind="stable")] if self._per_node else columns

    @property
    def _per_node(self) -> bool:
        """Whether all properties of a node share a softmax."""
        return self._training().softmax == "node"

    def _neighbours(self, block: Block, columns: NDArray[np.int64], at: int) -> Neighbours | None:
        """Return which features may appear in the same rule: near in the graph, and not equivalent to each other."""
        if self._per_node:
            return None
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


def _number_nodes(block: Block, columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number the softmaxes of columns, in the order of their first column: one per node, and one per other column."""
    known: dict[Any, int] = {}
    out = []
    for c in columns.tolist():
        feature = block.columns[c].feature
        of_node = feature.aspect in (Aspect.PROPERTY, Aspect.LABEL)
        out.append(known.setdefault((feature.role, feature.subject) if of_node else c, len(known)))
    return np.array(out, np.int64)


def _find_items(block: Block, columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the block's number of each item of the network, in the network's order."""
    return np.concatenate([np.arange(block.offsets[c], block.offsets[c + 1]) for c in columns.tolist()])


def _sort_antecedents(items: NDArray[np.int32]) -> NDArray[np.int32]:
    """Sort the items of antecedents by their number in the table, whose columns may be in another order."""
    last = np.iinfo(np.int32).max
    ordered = np.sort(np.where(items < 0, last, items), axis=1)
    return np.where(ordered == last, np.int32(-1), ordered)


def _find_columns(before: BlockModel, block: Block, features: tuple[str, ...]) -> NDArray[np.int64]:
    """Find the columns of an earlier model in further rows; raise ``MiningError`` for unknown features."""
    before.require_pattern(block)
    unknown = sorted(set(features) - set(before.features))
    if unknown:
        raise MiningError(f"the model was trained without the feature '{unknown[0]}'", hint="train a new model")
    return before.places(block)
