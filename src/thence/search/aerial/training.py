"""Training of Aerial's autoencoder: seeded, with early stopping, from rows in memory or streamed.

Loss, optimiser and noise are the paper's; masking, batch size, number of epochs and learning rate decay are our own
(see the guide). ``mask`` leaves about as many features visible as an extraction query marks and replaces the rest by
the unknown block, so that training resembles extraction. ``gaussian`` is the paper's corruption: noise on the one-hot
input, clipped to [0, 1].

Nothing here reads or changes the global random state, and training that diverges is an error. This module must not
know about rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from thence.errors import ConfigError, MiningError
from thence.search.aerial.autoencoder import Autoencoder, Layout, centre_blocks, choose_faithful_widths, initialise
from thence.search.aerial.loss import AllFeatures, NearFeatures, Output, WideOutput, compute_gradients, compute_loss
from thence.search.aerial.rows import ArrayRows, Codes, RowSource, check_codes, explain_trivial, read_sample
from thence.search.aerial.settings import LEARNING_RATE, TrainingSettings
from thence.search.neighbours import Neighbours
from thence.search.torch_runtime import find_device, product_precision

PIECE = 1 << 17


class Adam:
    """Adam on copies of some tensors. ``tensors`` are views of one buffer, ``flat``, which is changed in place.

    Args:
        start: The initial tensors, which are copied.
        weight_decay: L2 penalty, added to the gradients.
        betas: Decay rates of the running mean and of the running mean square.
        epsilon: Added to the denominator.

    Examples:
        >>> optimiser = Adam([torch.ones(2)], weight_decay=0.0)
        >>> optimiser.step([torch.tensor([1.0, -2.0])], learning_rate=0.1)
        >>> [round(float(value), 3) for value in optimiser.tensors[0]]
        [0.9, 1.1]
    """

    def __init__(
        self,
        start: Sequence[Tensor],
        *,
        weight_decay: float,
        betas: tuple[float, float] = (0.9, 0.999),
        epsilon: float = 1e-8,
    ) -> None:
        self.shapes = [tensor.shape for tensor in start]
        self.flat = torch.cat([tensor.detach().reshape(-1) for tensor in start])
        self.tensors = self.views(self.flat)
        self.mean, self.square = torch.zeros_like(self.flat), torch.zeros_like(self.flat)
        self.weight_decay, self.betas, self.epsilon = weight_decay, betas, epsilon
        self.count = 0
        self.counted = torch.zeros((), device=self.flat.device)  # by ``step_at_once``

    def views(self, flat: Tensor) -> list[Tensor]:
        """Return a buffer as tensors with the initial shapes, without a copy."""
        parts = torch.split(flat, [shape.numel() for shape in self.shapes])
        return [part.view(shape) for part, shape in zip(parts, self.shapes, strict=True)]

    def step(self, gradients: Sequence[Tensor], *, learning_rate: float) -> None:
        """Make one step against the gradients, which are given in the order of the tensors."""
        self.count += 1
        first, second = self.betas
        size = learning_rate / (1.0 - first**self.count)
        root = math.sqrt(1.0 - second**self.count)
        gradient = torch.cat([tensor.reshape(-1) for tensor in gradients])
        piece = PIECE if gradient.device.type == "cpu" else max(len(gradient), 1)
        for low in range(0, len(gradient), piece):
            at = slice(low, low + piece)
            pull = gradient[at].add_(self.flat[at], alpha=self.weight_decay)
            moved = self.mean[at].lerp_(pull, 1.0 - first)
            spread = self.square[at].mul_(second).addcmul_(pull, pull, value=1.0 - second)
            self.flat[at].addcdiv_(moved, spread.sqrt().div_(root).add_(self.epsilon), value=-size)

    def step_at_once(self, gradients: Sequence[Tensor], *, learning_rate: Tensor) -> None:
        """Make the same step in one pass over the weights, on a graphics processor; the last digits may differ.

        It can be recorded and replayed: learning rate and number of steps are on the device.
        """
        self.counted += 1.0
        first, second = self.betas
        torch._fused_adam_(
            self.tensors,
            list(gradients),
            self.views(self.mean),
            self.views(self.square),
            [],
            [self.counted] * len(self.tensors),
            lr=learning_rate,
            beta1=first,
            beta2=second,
            weight_decay=self.weight_decay,
            eps=self.epsilon,
            amsgrad=False,
            maximize=False,
        )


MANY = 8
"""From this many visible features on, ranking random numbers is faster than drawing one feature after the other."""


def draw_visible_features(n_features: int, *, rows: int, most: int, generator: torch.Generator) -> Tensor:
    """Draw the visible features of each row.

    The number of visible features is uniform over 1 to ``most``, and so is each choice of features of that size.

    Args:
        n_features: The number of features.
        rows: The number of rows.
        most: The largest number of visible features.
        generator: Source of randomness, which also gives the device.

    Returns:
        The features (rows × most), −1 where a row shows fewer.

    Examples:
        >>> shown = draw_visible_features(5, rows=3, most=2, generator=torch.Generator().manual_seed(0))
        >>> shown.shape, bool((shown[:, 0] != shown[:, 1]).all())
        (torch.Size([3, 2]), True)
    """
    device, most = generator.device, min(most, n_features)
    if most > MANY:
        picks = torch.rand(rows, n_features, generator=generator, device=device).topk(most, dim=1).indices
        return _keep_some(picks, generator)
    picks = torch.empty(rows, 0, dtype=torch.int64, device=device)
    for drawn in range(most):
        pick = torch.randint(0, n_features - drawn, (rows, 1), generator=generator, device=device)
        # Walking up through the earlier picks skips each of them once, so all remaining features are equally likely.
        for earlier in picks.sort(dim=1).values.T:
            pick += pick >= earlier.unsqueeze(1)
        picks = torch.cat([picks, pick], dim=1)
    return _keep_some(picks, generator)


def draw_few_of_many_features(n_features: int, *, rows: int, most: int, generator: torch.Generator) -> Tensor:
    """Draw the visible features of each row of a wide table.

    Like ``draw_visible_features``, but a feature that is drawn twice is shown once. Where many more features are hidden
    than shown this is rare, and there is no need to rank them all.

    Args:
        n_features: The number of features.
        rows: The number of rows.
        most: The largest number of visible features.
        generator: Source of randomness, which also gives the device.

    Returns:
        The features (rows × most), −1 where a row shows fewer.
    """
    picks = torch.randint(0, n_features, (rows, most), generator=generator, device=generator.device)
    picks = _keep_some(picks, generator).sort(dim=1).values
    picks[:, 1:].masked_fill_(picks[:, 1:] == picks[:, :-1], -1)
    return picks


def draw_features_around(
    centres: Tensor, *, per_centre: int, most: int, generator: torch.Generator, neighbours: Neighbours
) -> Tensor:
    """Draw visible features for blocks of rows that each show their centre and some of its neighbours.

    Args:
        centres: The central feature of each block.
        per_centre: Rows per block.
        most: The largest number of visible features.
        generator: Source of randomness, which also gives the device.
        neighbours: The neighbours of each feature.

    Returns:
        The features (rows × most), −1 where a row shows fewer.
    """
    device = generator.device
    starts = torch.from_numpy(neighbours.starts).to(device)
    # One more entry, for features without neighbours to point at.
    members = torch.nn.functional.pad(torch.from_numpy(neighbours.members).to(device), (0, 1), value=-1)
    low, size = starts[centres], starts[centres + 1] - starts[centres]
    picks = centres.repeat_interleave(per_centre).unsqueeze(1)
    low, size = (bound.repeat_interleave(per_centre).unsqueeze(1) for bound in (low, size))
    for _ in range(1, most):
        step = (torch.rand(len(picks), 1, generator=generator, device=device) * size).long()
        pick = members[torch.where(size > 0, low + step, -1)]
        # A feature that is drawn twice is shown once.
        picks = torch.cat([picks, pick.masked_fill_((picks == pick).any(dim=1, keepdim=True), -1)], dim=1)
    return _keep_some(picks, generator)


def _keep_some(picks: Tensor, generator: torch.Generator) -> Tensor:
    """Keep a random number of the picks of each row, from one to all of them, each number equally often."""
    rows, most = picks.shape
    count = torch.randint(1, most + 1, (rows, 1), generator=generator, device=generator.device)
    return picks.masked_fill_(torch.arange(most, device=generator.device) >= count, -1)


def find_visible_items(layout: Layout, codes: Tensor, features: Tensor, offsets: Tensor | None = None) -> Tensor:
    """Return the items of the visible features, and ``n_items`` where no feature is shown or its value is missing.

    Args:
        layout: How the items are numbered.
        codes: The codes of the rows.
        features: The visible features of each row, −1 for none.
        offsets: The offsets of the layout, if they are on the device already.
    """
    shown = features.clamp(min=0)
    chosen = torch.gather(codes, 1, shown).long()
    if offsets is None:
        offsets = torch.as_tensor(layout.offsets, device=codes.device)
    items = offsets[shown] + chosen
    return items.masked_fill_((features < 0) | (chosen < 0), layout.n_items)


def make_noisy_input(
    layout: Layout, codes: Tensor, *, unknown: Tensor, noise: float, generator: torch.Generator
) -> Tensor:
    """Return one-hot rows with gaussian noise, clipped to [0, 1].

    Args:
        layout: How the items are numbered.
        codes: Codes of the rows, −1 where a value is missing; a missing value becomes the unknown block, without noise.
        unknown: The input in which every feature is unknown.
        noise: Standard deviation of the noise.
        generator: Source of randomness.
    """
    rows = len(codes)
    dense = torch.randn(rows, layout.n_items, generator=generator, device=codes.device).mul_(noise)
    offsets = torch.as_tensor(layout.offsets[:-1], device=codes.device)
    present = codes >= 0
    # Missing values are written to a spare column, which is cut off again.
    items = torch.where(present, codes + offsets, layout.n_items)
    spare = torch.zeros(rows, layout.n_items + 1, device=codes.device, dtype=dense.dtype)
    dense += spare.scatter_(1, items, 1.0)[:, :-1]
    dense.clamp_(0.0, 1.0)
    if not bool(present.all()):
        owner = torch.as_tensor(layout.feature_of_item, device=codes.device)
        dense = torch.where(present[:, owner], dense, unknown)
    return dense


UNRECORDED = 3
"""Steps before one is recorded: libraries prepare themselves in the first ones."""


class WideSteps:
    """Steps that change the weights of an optimiser.

    Args:
        model: The network; its weights are the tensors of the optimiser, its outputs in the order of ``output``.
        output: The output layer.
        optimiser: The optimiser.
        rows: Rows of a usual step. Steps with other numbers of rows are not recorded.
        shown: The largest number of visible features.
    """

    def __init__(self, model: Autoencoder, output: WideOutput, optimiser: Adam, *, rows: int, shown: int) -> None:
        self.model, self.output, self.optimiser = model, output, optimiser
        self.n_items = model.layout.n_items
        self.rate = torch.zeros((), device=model.device)
        self.loss = torch.zeros((), dtype=torch.float64, device=model.device)
        self.items = torch.full((rows, shown), self.n_items, device=model.device)
        self.codes: Tensor | None = None
        self.recorded: Any = None
        self.made = 0

    def make(self, codes: Tensor, items: Tensor, rate: float) -> None:
        """Make a step, and add its loss to ``loss``.

        Args:
            codes: The targets, −1 where a value is missing.
            items: The visible items of each row, and the number of items where fewer are visible.
            rate: The learning rate.
        """
        self.rate.fill_(rate)
        self.made += 1
        usual = codes.device.type == "cuda" and len(codes) == len(self.items) and items.shape[1] <= self.items.shape[1]
        if not usual or self.made <= UNRECORDED:
            self._make(codes, items)
            return
        if self.codes is None:
            self.codes = torch.empty_like(codes)
        self.codes.copy_(codes)
        self.items[:, : items.shape[1]] = items
        self.items[:, items.shape[1] :] = self.n_items
        if self.recorded is None:
            self.recorded = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.recorded):
                self._make(self.codes, self.items)
        self.recorded.replay()

    def judge(self, codes: Tensor, items: Tensor) -> Tensor:
        """Return the mean loss of some rows; the arguments are those of ``make``."""
        with product_precision("high"):
            return self.output.compute_loss(self.model, self._first_layer(items), codes)

    def _make(self, codes: Tensor, items: Tensor) -> None:
        with product_precision("high"):
            found = self.output.compute_gradients(self.model, self._first_layer(items), codes)
        self.loss += found.loss
        entry = sum_by_item_at_once(items, found.first, self.n_items)
        gradients = [entry, found.first.sum(dim=0), *found.inner, found.exit, found.exit_bias]
        self.optimiser.step_at_once(gradients, learning_rate=self.rate)
        # Adam's steps do not keep the blocks centred: see ``training``.
        self.output.centre_(self.model.entry)

    def _first_layer(self, items: Tensor) -> Tensor:
        """Return the first pre-activations, without a copy of the weights for what is not shown."""
        entry = self.model.entry
        shown = (items < self.n_items).to(entry.dtype)
        places = items.clamp(max=self.n_items - 1)
        added = torch.nn.functional.embedding_bag(places, entry, mode="sum", per_sample_weights=shown)
        return added.add_(self.model.entry_bias)


def sum_by_item_at_once(items: Tensor, gradients: Tensor, n_items: int) -> Tensor:
    """Sum the gradients of the rows that show each item, all in one call. What is not shown goes to spare places.

    Args:
        items: The visible items of each row, and the number of items where fewer are visible.
        gradients: One gradient per row.
        n_items: The number of items.

    Examples:
        >>> sum_by_item_at_once(torch.tensor([[0, 1], [1, 3]]), torch.tensor([[1.0], [2.0]]), 3).flatten().tolist()
        [1.0, 3.0, 0.0]
    """
    rows, shown = items.shape
    spare = n_items + torch.arange(rows, device=items.device).unsqueeze(1)
    places = torch.where(items < n_items, items, spare)
    total = torch.zeros(n_items + rows, gradients.shape[1], device=gradients.device)
    total.index_add_(0, places.reshape(-1), gradients.repeat_interleave(shown, dim=0))
    return total[:n_items]


EpochProgress = Callable[["Epoch"], None]
"""Called after each epoch."""

STEPS = 500
"""Optimiser steps for a table of moderate size, unless the number of epochs is given."""

SHOWINGS = 200
"""The least number of times that each item is shown in rows with few visible features. It sets the number of epochs for
tables with few rows or thousands of items. Wide tables need fewer (``_widening``)."""

LARGEST_BATCH = 256
"""Rows per step of the optimiser, at most. Wide tables take more (``_widening``)."""

WIDENS_FROM, WIDENS_TO = 1600, 6400
"""Between these numbers of items batches grow from one to two times their size, and showings fall to half of theirs. A
step over many items takes as long as a few hundred rows, so larger batches are cheap; and wide tables begin with many
visible features, so they need fewer showings. Steps stay as many, and the time grows smoothly with the items."""

SHOWN_FIRST, FALLING = 64, 0.8
"""Masked training begins with up to ``SHOWN_FIRST`` visible features and reduces them to few over this share of its
steps. A row that shows three of many features says nothing about most of the others; a network that has only seen such
rows takes many times as long to learn which features belong together."""

PRODUCT_ITEMS = 32
"""Up to this many items per visible feature, a matrix product is faster than adding row by row."""

FEW_OF_MANY = 8
"""Wide tables on a graphics processor are trained in larger pieces of work (``wide_loss``) if they have this many times
as many features as a row ever shows."""

PATIENCE = 3
"""Training stops early after this part of the epochs without an improvement, and after five at least."""

HELD_OUT_ROWS = 2048
SMALLEST_HELD_OUT = 16
"""With fewer held-out rows than this their loss is too noisy, and the training loss is monitored instead."""

FEW_ROWS, MOST_PASSES = 160, 500
"""Tables with fewer rows than this have none to hold out, and are memorised in this many passes whatever the number of
items. More passes take minutes, and the number of rules that they find is just as random."""

COMPILED_ROWS = 256
"""About how many rows are passed to the compiled steps at once."""

PER_CENTRE = 16
"""Rows that share a centre when training is limited to neighbourhoods."""


@dataclass(frozen=True)
class Epoch:
    """The result of one pass over the rows.

    Args:
        number: The number of the epoch, from 1.
        total: The number of epochs that were planned.
        loss: Mean training loss.
        held_out_loss: Loss on the held-out rows, or ``None`` if there are none.
    """

    number: int
    total: int
    loss: float
    held_out_loss: float | None

    @property
    def monitored_loss(self) -> float:
        """The loss that decides which weights are kept: the held-out loss if there is one."""
        return self.loss if self.held_out_loss is None else self.held_out_loss


@dataclass(frozen=True, eq=False)
class Training:
    """A trained network and how training went.

    Args:
        model: The network, with the weights of the best epoch.
        epochs: The results of all epochs.
        best_epoch: The number of the epoch whose weights were kept, or 0 if nothing was trained.
        stopped_early: Whether training ended because the monitored loss had stopped improving.
        reason: Why nothing could be learned, or ``None`` if something could.
        note: A remark for the user about this training.
    """

    model: Autoencoder
    epochs: tuple[Epoch, ...]
    best_epoch: int
    stopped_early: bool
    reason: str | None = None
    note: str | None = None

    @property
    def loss(self) -> float:
        """The monitored loss of the weights that were kept, or NaN if nothing was trained."""
        return self.epochs[self.best_epoch - 1].monitored_loss if self.epochs else math.nan


def train(
    rows: RowSource | Codes,
    *,
    cardinalities: ArrayLike,
    settings: TrainingSettings | None = None,
    softmax_of: ArrayLike | None = None,
    neighbours: Neighbours | None = None,
    start: Autoencoder | None = None,
    progress: EpochProgress | None = None,
) -> Training:
    """Train a new network, or continue training an existing one.

    The same rows, settings and seed give the same weights on the CPU, whatever the global random state is.

    Args:
        rows: The rows, as an array of codes or a source that returns batches of them.
        cardinalities: The number of classes of each feature.
        settings: How to train.
        softmax_of: With ``softmax="node"``, the number of the softmax that each feature belongs to, ascending from 0.
        neighbours: Which features may appear in the same rule. If they are few, only these are learned together.
        start: A network to continue from, with the same features and classes.
        progress: Called after each epoch.

    Returns:
        The network and how training went. If the rows are trivial, ``reason`` says why and nothing is trained.

    Raises:
        InputError: If the rows do not match the cardinalities.
        ConfigError: If the neighbours do not match the cardinalities, or the device does not exist.
        MiningError: If ``start`` does not match, or training diverges.

    Examples:
        >>> codes = np.random.default_rng(0).integers(0, 3, (200, 1)).repeat(2, axis=1)
        >>> result = train(codes, cardinalities=[3, 3], settings=TrainingSettings(epochs=20))
        >>> result.loss < result.epochs[0].loss
        True
    """
    options = TrainingSettings() if settings is None else settings
    source: RowSource = ArrayRows(rows) if isinstance(rows, np.ndarray) else rows
    columns = Layout.of(cardinalities)
    layout = _merge(columns, softmax_of) if options.softmax == "node" else columns
    model = _make_model(layout, options, start).to(find_device(options.device))
    if source.n_rows == 0:
        return Training(model, (), 0, False, "there are no rows")
    seen = read_sample(source, options.seed)
    check_codes(seen, columns.cardinalities)
    reason = explain_trivial(seen)
    if reason is not None:
        return Training(model, (), 0, False, reason)
    if neighbours is not None and neighbours.n_features != layout.n_features:
        raise ConfigError(
            f"neighbours were given for {neighbours.n_features} features, but the table has {layout.n_features}"
        )
    return _Trainer(model, source, options, neighbours, columns).run(progress)


def _merge(columns: Layout, softmax_of: ArrayLike | None) -> Layout:
    """Return the layout in which the features of one softmax are one feature."""
    owner = np.arange(columns.n_features) if softmax_of is None else np.asarray(softmax_of, np.int64)
    if owner.shape != (columns.n_features,) or (np.diff(owner, prepend=-1) < 0).any() or owner[:1].any():
        raise ConfigError("softmax_of must have one number per feature, ascending from 0")
    return Layout.of(np.bincount(owner, weights=columns.cardinalities).astype(np.int64))


def _make_model(layout: Layout, options: TrainingSettings, start: Autoencoder | None) -> Autoencoder:
    if start is None:
        widths = options.widths
        if options.faithful_widths and not widths:
            widths = choose_faithful_widths(layout, least=options.least_widths)
        shown = options.most_visible if options.corruption == "mask" else None
        return initialise(
            layout.cardinalities,
            widths=widths,
            seed=options.seed,
            shown=shown,
            linear_code=options.bottleneck == "linear",
            empty_layers=options.faithful_widths,
        )
    if not np.array_equal(start.layout.cardinalities, layout.cardinalities):
        raise MiningError(
            "the network was trained on features with other numbers of classes",
            hint="continue training only with the same features, bins and categories",
        )
    if options.widths is not None and start.widths != (*options.widths, *options.widths[-2::-1]):
        raise MiningError(
            f"the network has layers of widths {start.widths}, which cannot be changed",
            hint="leave out widths, or train a new model",
        )
    return start


@dataclass(frozen=True, eq=False)
class _CorruptedBatch:
    """A batch as the network sees it: dense input or visible items, and the outputs that count towards the loss."""

    codes: Tensor
    dense: Tensor | None
    items: Tensor | None
    output: Output


class _Trainer:
    """The training loop, with everything that is constant between steps."""

    def __init__(
        self,
        model: Autoencoder,
        source: RowSource,
        options: TrainingSettings,
        neighbours: Neighbours | None,
        columns: Layout,
    ) -> None:
        self.options, self.source, self.columns = options, source, columns
        self.layout, self.device = model.layout, model.device
        self.learning_rate = options.learning_rate or LEARNING_RATE
        self.masked = options.corruption == "mask"
        self.neighbours = neighbours if _saves_work(neighbours, options) else None
        if self.masked:
            model = model.centred()
        output = WideOutput.of(self.layout, self.device) if self._trains_at_once() else None
        model = model if output is None else output.arranged(model)
        self.optimiser = Adam(model.parameters(), weight_decay=options.weight_decay)
        self.model = model.with_parameters(self.optimiser.tensors)
        # One random stream per purpose, so that one more draw in one place changes nothing elsewhere.
        order, hide, evaluation = (int(seed) for seed in np.random.SeedSequence(options.seed).generate_state(3))
        self.order = np.random.default_rng(order)
        self.hide = torch.Generator(self.device).manual_seed(hide)
        self.evaluation_seed = evaluation
        self.held_out, self.train_ids = self._split()
        usable = source.n_rows if self.train_ids is None else len(self.train_ids)
        self.rows_per_epoch = min(usable, options.max_rows)
        # A step over neighbourhoods is cheap compared with the optimiser, so it takes more rows.
        widening = _widening(self.layout.n_items) if self.neighbours is None else 1.0
        per_epoch, largest = (64, LARGEST_BATCH) if self.neighbours is None else (16, 1024)
        self.batch = options.batch_size or _choose_batch(self.rows_per_epoch / per_epoch, largest, widening)
        per_epoch = math.ceil(self.rows_per_epoch / self.batch)
        self.falls = self.neighbours is None and self.masked and options.curriculum
        shown = self.batch * (1 + options.most_visible) / 2
        steps = max(STEPS, math.ceil(SHOWINGS / widening * self.layout.n_items / shown))
        needed = max(3, math.ceil(steps / per_epoch))
        self.cut_short = options.epochs is None and source.n_rows < FEW_ROWS and needed > MOST_PASSES
        self.epochs = options.epochs or (MOST_PASSES if self.cut_short else needed)
        self.patience = max(5, self.epochs // PATIENCE)
        self.steps_per_epoch, self.total_steps, self.step = per_epoch, self.epochs * per_epoch, 0
        self.compiled = options.is_published or (not self.masked and self.batch == 1 and self.device.type == "cpu")
        self.wide = None
        if output is not None:
            shown = max(SHOWN_FIRST if self.falls else 0, options.most_visible)
            self.wide = WideSteps(self.model, output, self.optimiser, rows=self.batch, shown=shown)
        self.unknown = self.model.unknown()
        self.resident = self._resident()
        self.judged = None if self.held_out is None else self._tensor(self.held_out)

    def _trains_at_once(self) -> bool:
        """Return whether the table is so wide that a graphics processor trains it in large pieces of work."""
        wide = self.layout.n_items > WIDENS_TO and self.layout.n_features >= FEW_OF_MANY * SHOWN_FIRST
        alone = self.masked and self.neighbours is None
        return wide and alone and self.device.type == "cuda"

    def _split(self) -> tuple[Codes | None, NDArray[np.int64] | None]:
        """Return the held-out rows, and the indices of the rows to train on (``None``: too many, draw them)."""
        n_rows, options = self.source.n_rows, self.options
        size = min(int(n_rows * options.held_out), HELD_OUT_ROWS)
        size = size if size >= SMALLEST_HELD_OUT else 0
        if n_rows > options.max_rows:
            return (self.source.sample(self.order, size) if size else None), None
        ids = self.order.permutation(n_rows)
        return (self.source.take(ids[:size]) if size else None), ids[size:]

    def _resident(self) -> Tensor | None:
        """Return all codes on the device if they are in memory anyway, which saves a copy per batch."""
        if isinstance(self.source, ArrayRows) and self.train_ids is not None:
            return self._tensor(self.source.codes)
        return None

    def _tensor(self, codes: Codes) -> Tensor:
        small = self.layout.cardinalities.max(initial=0) <= np.iinfo(np.int16).max
        # Copies memory that torch would share but may not write to, such as a memory-mapped file.
        kind = np.int16 if small else np.int32
        return torch.from_numpy(np.require(codes, kind, ["C", "W"])).to(self.device)

    def _batches(self, batch: int | None = None) -> Iterator[Tensor]:
        """Yield the rows of one epoch, ``batch`` at a time; by default as many as a step takes."""
        size = batch or self.batch
        if self.train_ids is None:
            for start in range(0, self.rows_per_epoch, size):
                yield self._tensor(self.source.sample(self.order, min(size, self.rows_per_epoch - start)))
            return
        ids = self.train_ids
        if self.options.reshuffle:
            ids = ids[self.order.permutation(len(ids))]
        # One copy per epoch: a graphics processor waits for each.
        places = torch.from_numpy(ids).to(self.device)
        for start in range(0, len(ids), size):
            if self.resident is not None:
                yield self.resident[places[start : start + size]]
            else:
                yield self._tensor(self.source.take(ids[start : start + size]))

    def run(self, progress: EpochProgress | None) -> Training:
        optimiser = self.optimiser
        history: list[Epoch] = []
        best, kept, stopped = 0, optimiser.flat.clone(), False
        with torch.no_grad():
            for number in range(1, self.epochs + 1):
                total, count = torch.zeros((), dtype=torch.float64, device=self.device), 0
                if self.compiled:
                    total, count = total + self._run_compiled(), self.steps_per_epoch
                elif self.wide is not None:
                    count = self._run_wide(self.wide, total)
                else:
                    count = self._run_epoch(total)
                epoch = Epoch(number, self.epochs, float(total) / count, self._evaluate())
                self._check(epoch)
                history.append(epoch)
                if progress is not None:
                    progress(epoch)
                improved = not best or epoch.monitored_loss < history[best - 1].monitored_loss
                if improved or not self.options.early_stopping:
                    best, kept = number, optimiser.flat.clone()
                elif number - max(best, self.epochs * FALLING if self.falls else 0) >= self.patience:
                    stopped = True
                    break
        note = None
        if self.cut_short:
            note = (
                f"{self.source.n_rows} rows are too few for {self.layout.n_items:,} items and are memorised: training"
                f" ended after {self.epochs} epochs (set epochs for more)"
            )
        model = self.model.with_parameters(optimiser.views(kept))
        if self.wide is not None:
            model = self.wide.output.restored(model)
        return Training(model, tuple(history), best, stopped, note=note)

    def _run_epoch(self, total: Tensor) -> int:
        """Make one pass over the rows, add the loss of each step to ``total``, and return the number of steps."""
        count = 0
        for codes in self._batches():
            share = 1.0 - self.step / self.total_steps if self.options.decay else 1.0
            gradients = self._compute_gradients(self._corrupt(codes, self.hide, self._most_visible()), total)
            self.optimiser.step(gradients, learning_rate=self.learning_rate * share)
            if self.masked:
                # Adam's steps do not keep the blocks centred. Their means would shift the origin by one small
                # step per feature, and with thousands of features the first layer would become unstable.
                centre_blocks(self.model.entry, self.layout)
            self.step, count = self.step + 1, count + 1
        return count

    def _run_wide(self, wide: WideSteps, total: Tensor) -> int:
        """Do what ``_run_epoch`` does, for a wide table on a graphics processor."""
        wide.loss.zero_()
        count = 0
        for codes in self._batches():
            share = 1.0 - self.step / self.total_steps if self.options.decay else 1.0
            items = self._draw_items(codes, wide, self.hide, self._most_visible())
            wide.make(codes, items, self.learning_rate * share)
            self.step, count = self.step + 1, count + 1
        total += wide.loss
        return count

    def _draw_items(self, codes: Tensor, wide: WideSteps, generator: torch.Generator, most: int) -> Tensor:
        """Return the visible items of the rows of a wide table."""
        drawn = draw_few_of_many_features(self.layout.n_features, rows=len(codes), most=most, generator=generator)
        return find_visible_items(self.layout, codes, drawn, wide.output.offsets)

    def _run_compiled(self) -> float:
        """Make one pass over the rows with the compiled steps, and return the sum of the losses of all steps."""
        from thence.search.aerial.row_steps import StepSettings, make_steps

        options, layout = self.options, self.layout
        given = StepSettings(
            np.array([layout.n_items, *self.model.widths, layout.n_items], np.int64),
            layout.offsets,
            self.columns.offsets,
            self.unknown.numpy(),
            self.model.linear_layer,
            self.batch,
            1.0 / max(layout.n_items, 1) if options.loss_per == "output" else 1.0,
            options.weight_decay,
            self.optimiser.betas,
            self.optimiser.epsilon,
        )
        flat, mean, square = (one.numpy() for one in (self.optimiser.flat, self.optimiser.mean, self.optimiser.square))
        total = 0.0
        for codes in self._batches(max(1, COMPILED_ROWS // self.batch) * self.batch):
            steps = math.ceil(len(codes) / self.batch)
            share = 1.0 - (self.step + np.arange(steps)) / self.total_steps if options.decay else np.ones(steps)
            noise = torch.randn(len(codes), layout.n_items, generator=self.hide).mul_(options.noise)
            rates = (self.learning_rate * share).astype(np.float32)
            numbers = codes.numpy().astype(np.int64)
            total += make_steps(numbers, noise.numpy(), flat, mean, square, self.optimiser.count, rates, given)
            self.optimiser.count += steps
            self.step += steps
        return total

    def _most_visible(self) -> int:
        """Return how many features a row of the next step may show."""
        if not self.falls:
            return self.options.most_visible
        left = 1.0 - self.step / (FALLING * self.total_steps)
        return max(self.options.most_visible, round(SHOWN_FIRST * left))

    def _corrupt(self, codes: Tensor, generator: torch.Generator, most: int) -> _CorruptedBatch:
        """Corrupt a batch: add noise, or hide all but a few features."""
        if not self.masked:
            dense = make_noisy_input(
                self.layout, codes, unknown=self.unknown, noise=self.options.noise, generator=generator
            )
            return _CorruptedBatch(codes, dense, None, AllFeatures(self.layout))
        if self.neighbours is None:
            shown = draw_visible_features(self.layout.n_features, rows=len(codes), most=most, generator=generator)
            return _CorruptedBatch(codes, None, find_visible_items(self.layout, codes, shown), AllFeatures(self.layout))
        per_centre = min(PER_CENTRE, len(codes))
        codes = codes[: len(codes) // per_centre * per_centre]
        centres = torch.randint(
            0, self.layout.n_features, (len(codes) // per_centre,), generator=generator, device=self.device
        )
        shown = draw_features_around(
            centres, per_centre=per_centre, most=most, generator=generator, neighbours=self.neighbours
        )
        output = NearFeatures(self.layout, self.neighbours, centres, per_centre)
        return _CorruptedBatch(codes, None, find_visible_items(self.layout, codes, shown), output)

    def _first_layer(self, batch: _CorruptedBatch) -> Tensor:
        """Return the first pre-activations; the item number after the last one means that nothing is shown."""
        if batch.dense is not None:
            return torch.addmm(self.model.entry_bias, batch.dense, self.model.entry)
        assert batch.items is not None
        entry = self.model.entry  # centred: what marking an item adds
        padded = torch.cat([entry, torch.zeros_like(entry[:1])])
        return torch.nn.functional.embedding_bag(batch.items, padded, mode="sum").add_(self.model.entry_bias)

    def _compute_gradients(self, batch: _CorruptedBatch, total: Tensor) -> list[Tensor]:
        """Return the gradients of all parameters for one batch, and add its loss to ``total``."""
        found = compute_gradients(self.model, self._first_layer(batch), batch.codes, batch.output)
        if batch.dense is not None:
            entry = batch.dense.T @ found.first
        else:
            assert batch.items is not None
            entry = _sum_by_item(batch.items, found.first, self.layout.n_items + 1)[:-1]
        total += found.loss
        return [entry, found.first.sum(dim=0), *found.inner, found.exit, found.exit_bias]

    def _evaluate(self) -> float | None:
        """Return the loss on the held-out rows, which are corrupted in the same way in every epoch."""
        if self.judged is None:
            return None
        if self.wide is not None:
            return self._evaluate_wide(self.wide, self.judged)
        generator = torch.Generator(self.device).manual_seed(self.evaluation_seed)
        codes = self.judged
        total = 0.0
        for start in range(0, len(codes), self.batch):
            batch = self._corrupt(codes[start : start + self.batch], generator, self.options.most_visible)
            loss = compute_loss(self.model, self._first_layer(batch), batch.codes, batch.output)
            total += float(loss) * len(codes[start : start + self.batch])
        return total / len(codes)

    def _evaluate_wide(self, wide: WideSteps, codes: Tensor) -> float:
        """Do what ``_evaluate`` does, for a wide table on a graphics processor."""
        generator = torch.Generator(self.device).manual_seed(self.evaluation_seed)
        total = torch.zeros((), dtype=torch.float64, device=self.device)
        for part in torch.split(codes, self.batch):
            items = self._draw_items(part, wide, generator, self.options.most_visible)
            total += wide.judge(part, items) * len(part)
        return float(total) / len(codes)

    def _check(self, epoch: Epoch) -> None:
        if not math.isfinite(epoch.loss) or not math.isfinite(epoch.monitored_loss):
            raise MiningError(
                f"training diverged in epoch {epoch.number}: the loss is {epoch.monitored_loss}",
                hint=f"lower learning_rate in the training settings (now {self.learning_rate:g})",
            )


def _saves_work(neighbours: Neighbours | None, options: TrainingSettings) -> bool:
    """Return whether training on neighbourhoods saves work: not if they cover a large part of the table."""
    if neighbours is None or options.corruption == "gaussian" or not neighbours.n_features:
        return False
    largest = int(np.diff(neighbours.starts).max(initial=0))
    return 4 * (largest + 1) <= neighbours.n_features


def _sum_by_item(items: Tensor, gradients: Tensor, n_items: int) -> Tensor:
    """Sum the gradients of the rows that show each item: as one product if rows show many of few items."""
    if n_items <= PRODUCT_ITEMS * items.shape[1]:
        shown = torch.zeros(len(items), n_items, device=gradients.device).scatter_(1, items, 1.0)
        return shown.T @ gradients
    total = torch.zeros(n_items, gradients.shape[1], device=gradients.device)
    for column in items.T:
        total.index_add_(0, column, gradients)
    return total


def _widening(n_items: int) -> float:
    """Return how many times larger batches are than in a narrow table (1 to 2), and how many times fewer showings."""
    return math.sqrt(min(max(n_items, WIDENS_FROM), WIDENS_TO) / WIDENS_FROM)


def _choose_batch(wanted: float, largest: int, widening: float) -> int:
    """Return the nearest power of two, times ``widening``, from 16 rows to the largest batch."""
    power = 2.0 ** round(math.log2(max(wanted, 1.0)))
    return round(min(largest * widening, max(16.0, power * widening)))
