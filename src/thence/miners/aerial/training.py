"""Training of Aerial's autoencoder: seeded, early-stopped, from rows in memory or streamed.

Loss, optimiser and noise are the paper's; masking, batch size, number of epochs and the falling learning rate are
ours (see the guide). Nothing here reads or changes the global random state, and a diverged training is an error.
This module must not know about rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from thence.errors import ConfigError, MiningError
from thence.miners.aerial.adam import Adam
from thence.miners.aerial.autoencoder import Autoencoder, Layout, centre_blocks, faithful_widths, initialise
from thence.miners.aerial.corruption import features_around, noisy_input, visible_features, visible_items
from thence.miners.aerial.loss import AllFeatures, NearFeatures, Output, gradients, reconstruction_loss
from thence.miners.aerial.rows import ArrayRows, Codes, RowSource, check_codes, scan, why_trivial
from thence.miners.aerial.settings import LEARNING_RATE, TrainingSettings, require_device
from thence.miners.neighbours import Neighbours

__all__ = ["Epoch", "Training", "TrainingSettings", "device_of", "train"]

Progress = Callable[["Epoch"], None]

STEPS = 500
"""Optimiser steps of a moderate table, when the number of epochs is not given."""

SHOWINGS, SHOWINGS_WIDE = 200, 100
"""How often each item shall at least be shown in rows that show few; this decides for tables of few rows or of
thousands of items. Fewer do for wide tables, where training begins with rows that show many."""

WIDE_ITEMS = 4000
"""From so many items on, a step of the optimiser takes as long as some hundred rows, and batches are larger."""

SHOWN_FIRST, FALLING = 64, 0.8
"""Masked training begins with up to ``SHOWN_FIRST`` visible features and comes down to few over this share of its
steps. A row that shows three of many features says nothing about most of the others; a network that has only seen
such rows needs many times as long to find out which features belong together."""

PRODUCT_ITEMS = 32
"""Up to so many items per visible feature, a matrix product is quicker than adding row by row."""

HELD_OUT_ROWS = 2048
SMALLEST_HELD_OUT = 16
"""With fewer held-out rows than this their loss is noise, and the training loss decides instead."""

FEW_ROWS, MOST_PASSES = 160, 500
"""Fewer rows than this leave none to hold out, and are learnt by heart in so many passes, however many items there are;
more passes take minutes, and how many rules they find is as much a matter of chance."""

PER_CENTRE = 16
"""Rows that share a centre when training looks at neighbourhoods only."""


@dataclass(frozen=True)
class Epoch:
    """What one pass over the rows gave; ``held_out_loss`` is ``None`` where nothing was held out."""

    number: int
    of: int
    loss: float
    held_out_loss: float | None

    @property
    def judged(self) -> float:
        """The loss that decides which weights are kept."""
        return self.loss if self.held_out_loss is None else self.held_out_loss


@dataclass(frozen=True, eq=False)
class Training:
    """A trained network and how it came about.

    ``reason`` says why nothing could be learnt, and is ``None`` when something could; ``note`` is what else there is to
    say; ``stopped_early`` is true when the held-out loss had stopped improving. The weights are of ``best_epoch``.
    """

    model: Autoencoder
    epochs: tuple[Epoch, ...]
    best_epoch: int
    stopped_early: bool
    reason: str | None = None
    note: str | None = None

    @property
    def loss(self) -> float:
        """The loss of the weights that were kept; not a number where nothing was trained."""
        return self.epochs[self.best_epoch - 1].judged if self.epochs else math.nan


def train(
    rows: RowSource | Codes,
    *,
    cardinalities: ArrayLike,
    settings: TrainingSettings | None = None,
    neighbours: Neighbours | None = None,
    start: Autoencoder | None = None,
    progress: Progress | None = None,
) -> Training:
    """Train a new network, or go on training ``start`` on further rows.

    The same rows, settings and seed give the same weights on the CPU, whatever the global random state is.

    >>> codes = np.random.default_rng(0).integers(0, 3, (200, 1)).repeat(2, axis=1)
    >>> result = train(codes, cardinalities=[3, 3], settings=TrainingSettings(epochs=20))
    >>> result.loss < result.epochs[0].loss
    True
    """
    options = TrainingSettings() if settings is None else settings
    source: RowSource = ArrayRows(rows) if isinstance(rows, np.ndarray) else rows
    layout = Layout.of(cardinalities)
    model = _first_model(layout, options, start).to(device_of(options.device))
    if source.n_rows == 0:
        return Training(model, (), 0, False, "there are no rows")
    seen = scan(source, options.seed)
    check_codes(seen, layout.cardinalities)
    reason = why_trivial(seen)
    if reason is not None:
        return Training(model, (), 0, False, reason)
    if neighbours is not None and neighbours.n_features != layout.n_features:
        raise ConfigError(f"neighbours name {neighbours.n_features} features, the table has {layout.n_features}")
    return _Trainer(model, source, options, neighbours).run(progress)


def _first_model(layout: Layout, options: TrainingSettings, start: Autoencoder | None) -> Autoencoder:
    if start is None:
        widths = faithful_widths(layout) if options.faithful_widths and not options.widths else options.widths
        shown = options.most_visible if options.corruption == "mask" else None
        return initialise(layout.cardinalities, widths=widths, seed=options.seed, shown=shown)
    if not np.array_equal(start.layout.cardinalities, layout.cardinalities):
        raise MiningError(
            "the network was trained on features with other classes",
            hint="go on training only with the same features, bins and categories",
        )
    if options.widths is not None and start.widths != (*options.widths, *options.widths[-2::-1]):
        raise MiningError(
            f"the network has layers of {start.widths}, which other widths cannot change",
            hint="leave out widths, or train a new model",
        )
    return start


def device_of(name: str) -> torch.device:
    """The device with this name, if it is there."""
    require_device(name)
    device = torch.device(name)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ConfigError("no CUDA device is available", hint="use device='cpu'")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ConfigError(f"there is no device '{name}': {torch.cuda.device_count()} are available", hint="use 'cuda'")
    return device


@dataclass(frozen=True, eq=False)
class _Question:
    """A batch as the network sees it: dense input or visible items, and the outputs that count."""

    codes: Tensor
    dense: Tensor | None
    items: Tensor | None
    output: Output


class _Trainer:
    """The loop over epochs, with everything that stays the same between steps."""

    def __init__(
        self, model: Autoencoder, source: RowSource, options: TrainingSettings, neighbours: Neighbours | None
    ) -> None:
        self.options, self.source = options, source
        self.layout, self.device = model.layout, model.device
        self.learning_rate = options.learning_rate or LEARNING_RATE
        self.masked = options.corruption == "mask"
        if self.masked:
            model = model.centred()
        self.optimiser = Adam(model.parameters(), weight_decay=options.weight_decay)
        self.model = model.with_parameters(self.optimiser.tensors)
        self.neighbours = neighbours if _worth_it(neighbours, options) else None
        # A different stream for each purpose, so that one more draw in one place moves nothing elsewhere.
        order, hide, judge = (int(seed) for seed in np.random.SeedSequence(options.seed).generate_state(3))
        self.order = np.random.default_rng(order)
        self.hide = torch.Generator(self.device).manual_seed(hide)
        self.judge_seed = judge
        self.held_out, self.train_ids = self._split()
        usable = source.n_rows if self.train_ids is None else len(self.train_ids)
        self.rows_per_epoch = min(usable, options.max_rows)
        # A step over neighbourhoods is cheap next to the optimiser's part of it, so it takes more rows.
        wide = self.neighbours is None and self.layout.n_items > WIDE_ITEMS
        per_epoch, largest = (64, 256) if self.neighbours is None else (16, 1024)
        if wide:
            per_epoch, largest = 32, 512
        self.batch = options.batch_size or _power_of_two(self.rows_per_epoch / per_epoch, 16, largest)
        per_epoch = math.ceil(self.rows_per_epoch / self.batch)
        self.falls = self.neighbours is None and self.masked
        shown = self.batch * (1 + options.most_visible) / 2
        showings = SHOWINGS_WIDE if wide else SHOWINGS
        steps = max(STEPS, math.ceil(showings * self.layout.n_items / shown))
        needed = max(3, math.ceil(steps / per_epoch))
        self.cut_short = options.epochs is None and source.n_rows < FEW_ROWS and needed > MOST_PASSES
        self.epochs = options.epochs or (MOST_PASSES if self.cut_short else needed)
        self.patience = options.patience or max(5, self.epochs // 3)
        self.total_steps, self.step = self.epochs * per_epoch, 0
        self.unknown = self.model.unknown()
        self.resident = self._resident()

    def _split(self) -> tuple[Codes | None, NDArray[np.int64] | None]:
        """Held-out rows, and the numbers of the rows to train on (``None``: too many to list, draw them)."""
        n_rows, options = self.source.n_rows, self.options
        size = min(int(n_rows * options.held_out), HELD_OUT_ROWS)
        size = size if size >= SMALLEST_HELD_OUT else 0
        if n_rows > options.max_rows:
            return (self.source.sample(self.order, size) if size else None), None
        ids = self.order.permutation(n_rows)
        return (self.source.take(ids[:size]) if size else None), ids[size:]

    def _resident(self) -> Tensor | None:
        """All codes on the device when they are in memory anyway; saves a copy per batch."""
        if isinstance(self.source, ArrayRows) and self.train_ids is not None:
            return self._tensor(self.source.codes)
        return None

    def _tensor(self, codes: Codes) -> Tensor:
        small = self.layout.cardinalities.max(initial=0) <= np.iinfo(np.int16).max
        # A copy where torch would share memory that it may not write to, such as a memory-mapped file.
        kind = np.int16 if small else np.int32
        return torch.from_numpy(np.require(codes, kind, ["C", "W"])).to(self.device)

    def _batches(self) -> Iterator[Tensor]:
        if self.train_ids is None:
            for start in range(0, self.rows_per_epoch, self.batch):
                size = min(self.batch, self.rows_per_epoch - start)
                yield self._tensor(self.source.sample(self.order, size))
            return
        ids = self.train_ids[self.order.permutation(len(self.train_ids))]
        for start in range(0, len(ids), self.batch):
            part = ids[start : start + self.batch]
            if self.resident is not None:
                yield self.resident[torch.from_numpy(part).to(self.device)]
            else:
                yield self._tensor(self.source.take(part))

    def run(self, progress: Progress | None) -> Training:
        optimiser = self.optimiser
        history: list[Epoch] = []
        best, kept, stopped = 0, optimiser.flat.clone(), False
        with torch.no_grad():
            for number in range(1, self.epochs + 1):
                total, count = torch.zeros((), dtype=torch.float64, device=self.device), 0
                for codes in self._batches():
                    share = 1.0 - self.step / self.total_steps if self.options.decay else 1.0
                    slopes = self._slopes(self._ask(codes, self.hide, self._most_visible()), total)
                    optimiser.step(slopes, learning_rate=self.learning_rate * share)
                    if self.masked:
                        # Adam's steps do not keep the blocks centred. Left alone, their means would shift the origin,
                        # by one small step per feature, and thousands of features would throw the first layer about.
                        centre_blocks(self.model.entry, self.layout)
                    self.step, count = self.step + 1, count + 1
                epoch = Epoch(number, self.epochs, float(total) / count, self._judge())
                self._check(epoch)
                history.append(epoch)
                if progress is not None:
                    progress(epoch)
                if not self.options.early_stopping or not best or epoch.judged < history[best - 1].judged:
                    best, kept = number, optimiser.flat.clone()
                elif number - max(best, self.epochs * FALLING if self.falls else 0) >= self.patience:
                    stopped = True
                    break
        note = None
        if self.cut_short:
            note = (
                f"{self.source.n_rows} rows of {self.layout.n_items:,} items are learnt by heart, not understood:"
                f" training ended after {self.epochs} passes (epochs takes more)"
            )
        return Training(self.model.with_parameters(optimiser.views(kept)), tuple(history), best, stopped, note=note)

    def _most_visible(self) -> int:
        """How many features a row of the coming step may show."""
        if not self.falls:
            return self.options.most_visible
        left = 1.0 - self.step / (FALLING * self.total_steps)
        return max(self.options.most_visible, round(SHOWN_FIRST * left))

    def _ask(self, codes: Tensor, generator: torch.Generator, most: int) -> _Question:
        """Hide what the network shall not see of a batch."""
        if not self.masked:
            dense = noisy_input(self.layout, codes, unknown=self.unknown, noise=self.options.noise, generator=generator)
            return _Question(codes, dense, None, AllFeatures(self.layout))
        if self.neighbours is None:
            shown = visible_features(self.layout.n_features, rows=len(codes), most=most, generator=generator)
            return _Question(codes, None, visible_items(self.layout, codes, shown), AllFeatures(self.layout))
        per_centre = min(PER_CENTRE, len(codes))
        codes = codes[: len(codes) // per_centre * per_centre]
        centres = torch.randint(
            0, self.layout.n_features, (len(codes) // per_centre,), generator=generator, device=self.device
        )
        shown = features_around(
            centres, per_centre=per_centre, most=most, generator=generator, neighbours=self.neighbours
        )
        output = NearFeatures(self.layout, self.neighbours, centres, per_centre)
        return _Question(codes, None, visible_items(self.layout, codes, shown), output)

    def _first(self, question: _Question) -> Tensor:
        """First pre-activation; for visible items, the row after the last item stands for nothing."""
        if question.dense is not None:
            return torch.addmm(self.model.entry_bias, question.dense, self.model.entry)
        assert question.items is not None
        entry = self.model.entry  # centred: what marking an item adds
        padded = torch.cat([entry, torch.zeros_like(entry[:1])])
        return torch.nn.functional.embedding_bag(question.items, padded, mode="sum").add_(self.model.entry_bias)

    def _slopes(self, question: _Question, total: Tensor) -> list[Tensor]:
        """Gradients of all parameters for one batch; its loss is added to ``total``."""
        found = gradients(self.model, self._first(question), question.codes, question.output)
        if question.dense is not None:
            entry = question.dense.T @ found.first
        else:
            assert question.items is not None
            entry = _gathered(question.items, found.first, self.layout.n_items + 1)[:-1]
        total += found.loss
        return [entry, found.first.sum(dim=0), *found.inner, found.exit, found.exit_bias]

    def _judge(self) -> float | None:
        """Loss on the held-out rows, hidden in the same way in every epoch."""
        if self.held_out is None:
            return None
        generator = torch.Generator(self.device).manual_seed(self.judge_seed)
        codes = self._tensor(self.held_out)
        total = 0.0
        for start in range(0, len(codes), self.batch):
            question = self._ask(codes[start : start + self.batch], generator, self.options.most_visible)
            loss = reconstruction_loss(self.model, self._first(question), question.codes, question.output)
            total += float(loss) * len(codes[start : start + self.batch])
        return total / len(codes)

    def _check(self, epoch: Epoch) -> None:
        if not math.isfinite(epoch.loss) or not math.isfinite(epoch.judged):
            raise MiningError(
                f"training diverged in epoch {epoch.number}: the loss is {epoch.judged}",
                hint=f"lower learning_rate (now {self.learning_rate:g})",
            )


def _worth_it(neighbours: Neighbours | None, options: TrainingSettings) -> bool:
    """Whether looking at neighbourhoods saves work: not when they cover a good part of the table."""
    if neighbours is None or options.corruption == "gaussian" or not neighbours.n_features:
        return False
    largest = int(np.diff(neighbours.starts).max(initial=0))
    return 4 * (largest + 1) <= neighbours.n_features


def _gathered(items: Tensor, slopes: Tensor, n_items: int) -> Tensor:
    """Sum of the slopes of all rows that show an item, per item: one product where rows show many of few items."""
    if n_items <= PRODUCT_ITEMS * items.shape[1]:
        shown = torch.zeros(len(items), n_items, device=slopes.device).scatter_(1, items, 1.0)
        return shown.T @ slopes
    total = torch.zeros(n_items, slopes.shape[1], device=slopes.device)
    for column in items.T:
        total.index_add_(0, column, slopes)
    return total


def _power_of_two(wanted: float, least: int, most: int) -> int:
    return min(most, max(least, 1 << round(math.log2(max(wanted, 1.0)))))
