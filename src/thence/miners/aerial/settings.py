"""How to train: the settings of one training, checked when they are made.

This module must not import torch: settings are read from files long before anything is trained.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from thence.errors import ConfigError

__all__ = ["LEARNING_RATE", "TrainingSettings"]

LEARNING_RATE = 5e-3
"""The paper's."""


@dataclass(frozen=True)
class TrainingSettings:
    """How to train. What is ``None`` is chosen from the data.

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

    def __post_init__(self) -> None:
        if self.corruption not in ("mask", "gaussian"):
            raise ConfigError(f"corruption must be 'mask' or 'gaussian', got {self.corruption!r}")
        positive = {
            "max_antecedents": self.max_antecedents,
            "epochs": self.epochs,
            "batch_size": self.batch_size,
            "patience": self.patience,
            "max_rows": self.max_rows,
            "learning_rate": self.learning_rate,
        }
        for name, value in positive.items():
            if value is not None and not value > 0:
                raise ConfigError(f"{name} must be positive, got {value}")
        for name, value in {"noise": self.noise, "weight_decay": self.weight_decay}.items():
            if not value >= 0:
                raise ConfigError(f"{name} must not be negative, got {value}")
        if not 0 <= self.held_out < 1:
            raise ConfigError(f"held_out must be a share of the rows from 0 to below 1, got {self.held_out}")

    @staticmethod
    def faithful(*, seed: int = 0, device: str = "cpu") -> TrainingSettings:
        """The paper's settings: gaussian noise 0.5, five epochs over all rows, constant learning rate, small batches.

        The paper does not give a batch size and its code takes single rows; 32 still makes many small steps. Widths
        are those of its code, with lower bounds, since a 128th of a few hundred items is hardly a layer. Nothing is
        held out and nothing stops early; only beyond a million rows does an epoch see a sample.
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

    @property
    def most_visible(self) -> int:
        """The largest number of features that masked training leaves visible."""
        return max(3, self.max_antecedents + 1)
