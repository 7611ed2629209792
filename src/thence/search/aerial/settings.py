"""The settings of Aerial's training and of its search for rules, checked when they are made.

This module must not import torch: settings are read from files long before anything is trained.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from thence._base.settings.numbers import MOST_ANTECEDENTS, require_integer, require_number, require_seed, require_share
from thence._base.settings.typed import Location, refuse_unknown
from thence.errors import ConfigError
from thence.search.neighbours import Neighbours
from thence.search.torch_runtime import require_device

__all__ = ["LEARNING_RATE", "ProposalSettings", "SearchSettings", "TrainingSettings"]

LEARNING_RATE = 5e-3
"""The learning rate of the paper."""


@dataclass(frozen=True)
class TrainingSettings:
    """How to train a network. Settings that are ``None`` are chosen from the data.

    Args:
        corruption: ``"mask"`` hides all but a few features of each row; ``"gaussian"`` adds the paper's noise.
        noise: Standard deviation of the gaussian noise.
        max_antecedents: The number of antecedent items that queries will mark. Masked training shows one more.
        widths: Widths of the encoder's layers; the decoder mirrors them.
        epochs: Number of passes over the rows.
        batch_size: Rows per step of the optimiser.
        learning_rate: Initial learning rate of Adam, by default that of the paper.
        decay: Whether the learning rate falls linearly to zero.
        weight_decay: Weight decay of Adam.
        held_out: Share of the rows that is held out to judge the network.
        early_stopping: Whether to stop when the loss no longer improves, and to keep the best weights.
        patience: Epochs without improvement before training stops.
        max_rows: The most rows that one epoch uses; longer tables are sampled.
        seed: Random seed.
        device: ``"cpu"`` or ``"cuda"``, optionally with a number (``"cuda:1"``).
        faithful_widths: Whether to choose the widths as the paper's code does. Ignored if ``widths`` is given.
        least_widths: Lower bounds of these widths; ``(0, 0, 0)`` are those of the code, where few items give an
            innermost layer of width 0, whose output does not depend on the input.
        bottleneck: ``"tanh"``, or ``"linear"`` for an innermost layer without tanh, as in the paper's code.
        softmax: ``"feature"`` computes one softmax per feature. ``"node"`` computes one over all properties of a node,
            as the paper's code does: with k properties it has k ones, and none can come near 1. It needs gaussian noise
            and no held-out rows.
        loss_per: ``"row"`` averages the loss over the rows, ``"output"`` over rows and outputs, as the paper's code
            does. The two differ by a factor, to which Adam is nearly invariant.
        reshuffle: Whether each epoch has an order of its own; otherwise the rows are shuffled once.
        curriculum: Whether masked training begins with many visible features and ends with few.

    Raises:
        ConfigError: If a setting has an impossible value.

    Examples:
        >>> TrainingSettings(epochs=3).corruption
        'mask'
        >>> TrainingSettings.faithful().epochs
        5
    """

    corruption: Literal["mask", "gaussian"] = "mask"
    noise: float = 0.5
    max_antecedents: int = 2
    widths: tuple[int, ...] | None = None
    epochs: int | None = None
    batch_size: int | None = None
    learning_rate: float | None = None
    decay: bool = True
    weight_decay: float = 2e-8
    held_out: float = 0.1
    early_stopping: bool = True
    patience: int | None = None
    max_rows: int = 100_000
    seed: int = 0
    device: str = "cpu"
    faithful_widths: bool = False
    least_widths: tuple[int, int, int] = (16, 8, 4)
    bottleneck: Literal["tanh", "linear"] = "tanh"
    softmax: Literal["feature", "node"] = "feature"
    loss_per: Literal["row", "output"] = "row"
    reshuffle: bool = True
    curriculum: bool = True

    def __post_init__(self) -> None:
        if self.corruption not in ("mask", "gaussian"):
            raise ConfigError(f"corruption must be 'mask' or 'gaussian', got {self.corruption!r}")
        for name in ("max_antecedents", "epochs", "batch_size", "patience", "max_rows"):
            value = getattr(self, name)
            if value is not None or name in ("max_antecedents", "max_rows"):
                require_integer(name, value, most=MOST_ANTECEDENTS if name == "max_antecedents" else None)
        if self.learning_rate is not None:
            require_number("learning_rate", self.learning_rate)
            if self.learning_rate <= 0:
                raise ConfigError(f"learning_rate must be positive, got {self.learning_rate}")
        for name in ("noise", "weight_decay"):
            require_number(name, getattr(self, name))
            if getattr(self, name) < 0:
                raise ConfigError(f"{name} must not be negative, got {getattr(self, name)}")
        require_number("held_out", self.held_out)
        if not 0 <= self.held_out < 1:
            raise ConfigError(f"held_out must be at least 0 and less than 1, got {self.held_out}")
        require_seed(self.seed)
        require_device(self.device)
        if self.widths is not None:
            object.__setattr__(self, "widths", _checked_widths(self.widths))
        self._check_published()

    def _check_published(self) -> None:
        """Check the settings that only the paper's code has."""
        for name, known in (
            ("bottleneck", ("tanh", "linear")),
            ("softmax", ("feature", "node")),
            ("loss_per", ("row", "output")),
        ):
            if getattr(self, name) not in known:
                raise ConfigError(f"{name} must be '{known[0]}' or '{known[1]}', got {getattr(self, name)!r}")
        given: Any = self.least_widths
        least = () if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)
        if len(least) != 3:
            raise ConfigError(
                f"least_widths must be three integers, got {self.least_widths!r}", hint="such as (16, 8, 4)"
            )
        for width in least:
            require_integer("each of least_widths", width, least=0)
        object.__setattr__(self, "least_widths", least)
        if not self.is_published:
            return
        name = "softmax='node'" if self.softmax == "node" else "loss_per='output'"
        for setting, value in (("corruption", "gaussian"), ("device", "cpu")):
            if getattr(self, setting) != value:
                raise ConfigError(f"{name} needs {setting}={value!r}, got {getattr(self, setting)!r}")
        if self.held_out:
            raise ConfigError(f"{name} cannot hold out rows", hint="pass held_out=0")

    @property
    def is_published(self) -> bool:
        """Whether the softmax or the loss is that of the paper's released code."""
        return self.softmax == "node" or self.loss_per == "output"

    @staticmethod
    def from_mapping(given: Mapping[str, Any]) -> TrainingSettings:
        """Make settings from a table of a configuration file.

        Args:
            given: Values by the names of the fields.

        Raises:
            ConfigError: If a name is unknown or a value is impossible.
        """
        known = [field.name for field in fields(TrainingSettings)]
        refuse_unknown(given, known, Location(), says="unknown training setting '{}'")
        return TrainingSettings(**given)

    @staticmethod
    def faithful(*, seed: int = 0, device: str = "cpu") -> TrainingSettings:
        """Return the paper's settings: gaussian noise 0.5, five epochs over all rows, constant learning rate.

        The paper does not give a batch size and its code takes single rows; 32 still makes many small steps. Widths
        are those of its code, with lower bounds, since a 128th of a few hundred items is hardly a layer. No rows are
        held out and training never stops early. An epoch uses all rows, up to a million.

        Args:
            seed: Random seed.
            device: Where to train, ``"cpu"`` or ``"cuda"``.
        """
        return TrainingSettings(
            corruption="gaussian",
            epochs=5,
            batch_size=32,
            learning_rate=LEARNING_RATE,
            decay=False,
            held_out=0.0,
            early_stopping=False,
            max_rows=1_000_000,
            seed=seed,
            device=device,
            faithful_widths=True,
        )

    @staticmethod
    def published(*, seed: int = 0) -> TrainingSettings:
        """Return the settings of the paper's released code, which differ from the paper in several points.

        One softmax over all properties of a node, widths of 1/8, 1/32 and 1/128 of the items without lower bounds, an
        innermost layer without tanh, single rows, two epochs in the same order.

        Args:
            seed: Random seed.
        """
        return replace(
            TrainingSettings.faithful(seed=seed),
            epochs=2,
            batch_size=1,
            least_widths=(0, 0, 0),
            bottleneck="linear",
            softmax="node",
            loss_per="output",
            reshuffle=False,
        )

    @property
    def most_visible(self) -> int:
        """The largest number of features that masked training leaves visible."""
        return max(3, self.max_antecedents + 1)


@dataclass(frozen=True)
class ProposalSettings:
    """How rules are read from the network, in the points in which the paper's released code differs from the paper.

    Args:
        inclusive: Whether an output equal to the threshold makes a consequent; in the paper it must be larger.
        same_feature: Whether the other values of a marked feature may be consequents. With a threshold above 0.5 they
            cannot be.
        unsupported: Whether rules that hold in no row are kept.

    Examples:
        >>> ProposalSettings.published().unsupported
        True
    """

    inclusive: bool = False
    same_feature: bool = False
    unsupported: bool = False

    @staticmethod
    def from_mapping(given: Mapping[str, Any]) -> ProposalSettings:
        """Make settings from a table of a configuration file.

        Args:
            given: Values by the names of the fields.

        Raises:
            ConfigError: If a name is unknown.
        """
        known = [field.name for field in fields(ProposalSettings)]
        refuse_unknown(given, known, Location(), says="unknown proposal setting '{}'")
        return ProposalSettings(**given)

    @staticmethod
    def published() -> ProposalSettings:
        """Return the settings of the paper's released code."""
        return ProposalSettings(inclusive=True, same_feature=True, unsupported=True)


@dataclass(frozen=True, eq=False)
class SearchSettings:
    """Which rules to look for in a trained network.

    Args:
        similarity: The paper's threshold, for marked items and for consequents.
        gate: Overrides ``similarity`` for the marked items.
        consequent: Overrides ``similarity`` for the consequents.
        max_antecedents: The largest number of antecedent items.
        search: ``"full"`` queries every combination of items; ``"grow"`` queries a combination only if all of its
            subsets with one item less have passed the gate.
        gate_by: ``"marked"`` is the paper's gate: the network must reconstruct every marked item. With ``"mutual"``
            the items, each marked alone, must imply one another; it cannot be combined with ``search="grow"``.
        antecedent_ok: For each item, whether it may be in an antecedent. By default every item may.
        consequent_ok: For each item, whether it may be a consequent. By default every item may.
        neighbours: Which features may appear in the same rule. By default all of them may.
        first_features: Limits the search to antecedents whose first feature is in this range.
        batch_bytes: Memory for one batch of queries. By default it depends on the device.
        inclusive: Whether an output equal to the threshold makes a consequent.
        same_feature: Whether the other values of a marked feature may be consequents.

    Raises:
        ConfigError: If a setting has an impossible value.

    Examples:
        >>> SearchSettings(similarity=0.9).gate_threshold
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
    first_features: range | None = None
    batch_bytes: int | None = None
    inclusive: bool = False
    same_feature: bool = False

    def __post_init__(self) -> None:
        for name in ("similarity", "gate", "consequent"):
            value = getattr(self, name)
            if value is not None or name == "similarity":
                require_share(name, value)
        require_integer("max_antecedents", self.max_antecedents, most=MOST_ANTECEDENTS)
        if self.search not in ("full", "grow"):
            raise ConfigError(f"search must be 'full' or 'grow', got {self.search!r}")
        if self.gate_by not in ("marked", "mutual"):
            raise ConfigError(f"gate_by must be 'marked' or 'mutual', got {self.gate_by!r}")
        if self.gate_by == "mutual" and self.search == "grow":
            raise ConfigError(
                "search='grow' cannot be combined with gate_by='mutual', which always grows combinations",
                hint="leave out search",
            )
        if self.batch_bytes is not None and self.batch_bytes < 1:
            raise ConfigError(f"batch_bytes must be positive, got {self.batch_bytes}")

    @property
    def gate_threshold(self) -> float:
        """The threshold for the marked items."""
        return self.similarity if self.gate is None else self.gate

    @property
    def consequent_threshold(self) -> float:
        """The threshold for the consequents."""
        return self.similarity if self.consequent is None else self.consequent


def _checked_widths(widths: object) -> tuple[int, ...]:
    """Return the widths as a tuple of integers, or raise ``ConfigError``."""
    if isinstance(widths, str) or not isinstance(widths, Iterable) or not (widths := tuple(widths)):
        raise ConfigError(f"widths must be a list of integers, got {widths!r}", hint="for example (64, 32, 16)")
    for width in widths:
        require_integer("each width", width)
    return tuple(int(width) for width in widths)
