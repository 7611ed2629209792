"""The settings of Aerial's training and of its search for rules, checked when they are made.

This module must not import torch: settings are read from files long before anything is trained.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from thence._base.settings.numbers import LARGEST_SEED, MOST_ANTECEDENTS, require_integer
from thence._base.settings.typed import Location, check_settings, number, refuse_unknown
from thence.errors import ConfigError
from thence.search.neighbours import Neighbours
from thence.search.torch_runtime import require_device

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
        early_stopping: Whether to stop when the loss no longer improves for a third of the epochs, and to keep the best
            weights.
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
        proposals: How rules are read from the network. ``"paper"``: an output above the threshold makes a consequent.
            ``"code"``: also one equal to it, also of the other values of a marked feature, and rules that hold in no
            row are kept, as in the paper's released code.

    Raises:
        ConfigError: If a setting has an impossible value.

    Examples:
        >>> TrainingSettings(epochs=3).corruption
        'mask'
        >>> TrainingSettings.faithful().epochs
        5
    """

    corruption: Literal["mask", "gaussian"] = "mask"
    noise: float = number(0.5, least=0)
    max_antecedents: int = number(2, least=1, most=MOST_ANTECEDENTS)
    widths: tuple[int, ...] | None = None
    epochs: int | None = number(None, least=1)
    batch_size: int | None = number(None, least=1)
    learning_rate: float | None = number(None, above=0)
    decay: bool = True
    weight_decay: float = number(2e-8, least=0)
    held_out: float = number(0.1, least=0, below=1)
    early_stopping: bool = True
    max_rows: int = number(100_000, least=1)
    seed: int = number(0, least=0, most=LARGEST_SEED)
    device: str = "cpu"
    faithful_widths: bool = False
    least_widths: tuple[int, ...] = (16, 8, 4)
    bottleneck: Literal["tanh", "linear"] = "tanh"
    softmax: Literal["feature", "node"] = "feature"
    loss_per: Literal["row", "output"] = "row"
    reshuffle: bool = True
    curriculum: bool = True
    proposals: Literal["paper", "code"] = "paper"

    def __post_init__(self) -> None:
        check_settings(self)
        require_device(self.device)
        for name, least in (("widths", 1), ("least_widths", 0)):
            value = getattr(self, name)
            if value is not None:
                for width in value:
                    require_integer(f"each of {name}", width, least=least)
                object.__setattr__(self, name, tuple(int(width) for width in value))
        if self.widths == () or len(self.least_widths) != 3:
            raise ConfigError("widths must not be empty, and least_widths must be three", hint="such as (64, 32, 16)")
        if not self.is_published:
            return
        name = "softmax='node'" if self.softmax == "node" else "loss_per='output'"
        for other, needed in (("corruption", "gaussian"), ("device", "cpu"), ("held_out", 0)):
            if getattr(self, other) != needed:
                raise ConfigError(f"{name} needs {other}={needed!r}, got {getattr(self, other)!r}")

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
    def faithful(**changes: Any) -> TrainingSettings:
        """Return the paper's settings: gaussian noise 0.5, five epochs over all rows, constant learning rate.

        The paper does not give a batch size and its code takes single rows; 32 still makes many small steps. Widths
        are those of its code, with lower bounds, since a 128th of a few hundred items is hardly a layer. No rows are
        held out and training never stops early. An epoch uses all rows, up to a million.

        Args:
            **changes: Settings that override those of the paper.
        """
        chosen: dict[str, Any] = {
            "corruption": "gaussian",
            "epochs": 5,
            "batch_size": 32,
            "learning_rate": LEARNING_RATE,
            "decay": False,
            "held_out": 0.0,
            "early_stopping": False,
            "max_rows": 1_000_000,
            "faithful_widths": True,
        }
        return TrainingSettings.from_mapping(chosen | changes)

    @staticmethod
    def published(**changes: Any) -> TrainingSettings:
        """Return the settings of the paper's released code, which differ from the paper in several points.

        One softmax over all properties of a node, widths of 1/8, 1/32 and 1/128 of the items without lower bounds, an
        innermost layer without tanh, single rows, two epochs in the same order, and proposals as in the code.

        Args:
            **changes: Settings that override those of the code.
        """
        chosen: dict[str, Any] = {
            "epochs": 2,
            "batch_size": 1,
            "least_widths": (0, 0, 0),
            "bottleneck": "linear",
            "softmax": "node",
            "loss_per": "output",
            "reshuffle": False,
            "proposals": "code",
        }
        return TrainingSettings.faithful(**(chosen | changes))

    @property
    def most_visible(self) -> int:
        """The largest number of features that masked training leaves visible."""
        return max(3, self.max_antecedents + 1)


@dataclass(frozen=True, eq=False)
class SearchSettings:
    """Which rules to look for in a trained network.

    Args:
        similarity: The paper's threshold, for marked items and for consequents.
        gate: Overrides ``similarity`` for the marked items.
        consequent: Overrides ``similarity`` for the consequents.
        max_antecedents: The largest number of antecedent items.
        search: ``"full"`` queries every combination of items, and keeps those of which the network reconstructs every
            marked item. ``"grow"`` queries a combination only if all of its subsets with one item less have passed.
            With ``"mutual"`` the items, each marked alone, must imply one another.
        antecedent_ok: For each item, whether it may be in an antecedent. By default every item may.
        consequent_ok: For each item, whether it may be a consequent. By default every item may.
        neighbours: Which features may appear in the same rule. By default all of them may.
        first_features: Limits the search to antecedents whose first feature is in this range.
        batch_bytes: Memory for one batch of queries. By default it depends on the device.
        as_released: Whether an output equal to the threshold makes a consequent, and the other values of a marked
            feature may be consequents, as in the paper's released code. With a threshold above 0.5 they cannot be.

    Raises:
        ConfigError: If a setting has an impossible value.

    Examples:
        >>> SearchSettings(similarity=0.9).gate_threshold
        0.9
    """

    similarity: float = number(0.8, least=0, most=1)
    gate: float | None = number(None, least=0, most=1)
    consequent: float | None = number(None, least=0, most=1)
    max_antecedents: int = number(2, least=1, most=MOST_ANTECEDENTS)
    search: Literal["full", "grow", "mutual"] = "full"
    antecedent_ok: NDArray[np.bool_] | None = None
    consequent_ok: NDArray[np.bool_] | None = None
    neighbours: Neighbours | None = None
    first_features: range | None = None
    batch_bytes: int | None = number(None, least=1)
    as_released: bool = False

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def gate_threshold(self) -> float:
        """The threshold for the marked items."""
        return self.similarity if self.gate is None else self.gate

    @property
    def consequent_threshold(self) -> float:
        """The threshold for the consequents."""
        return self.similarity if self.consequent is None else self.consequent
