"""How to train: the settings of one training, checked when they are made.

This module must not import torch: settings are read from files long before anything is trained.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from thence.errors import ConfigError
from thence.settings.numbers import require_number, require_seed, require_whole
from thence.settings.typed import Place, refuse_unknown

__all__ = ["LEARNING_RATE", "TrainingSettings", "require_device"]

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
        for name in ("max_antecedents", "epochs", "batch_size", "patience", "max_rows"):
            value = getattr(self, name)
            if value is not None or name in ("max_antecedents", "max_rows"):
                require_whole(name, value)
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
            raise ConfigError(f"held_out must be a share of the rows from 0 to below 1, got {self.held_out}")
        require_seed(self.seed)
        require_device(self.device)
        if self.widths is not None:
            object.__setattr__(self, "widths", _checked_widths(self.widths))

    @staticmethod
    def from_mapping(given: Mapping[str, Any]) -> TrainingSettings:
        """From a table of a configuration file."""
        known = [field.name for field in fields(TrainingSettings)]
        refuse_unknown(given, known, Place(), says="the settings of the training know no setting '{}'")
        return TrainingSettings(**given)

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


def require_device(name: object) -> None:
    """Refuse everything but the devices that Thence is made for; whether one is there is seen when it is used."""
    if not isinstance(name, str) or not re.fullmatch(r"cpu(:0)?|cuda(:\d+)?", name):
        raise ConfigError(f"unknown device {name!r}", hint="'cpu' or 'cuda'")


def _checked_widths(widths: object) -> tuple[int, ...]:
    if isinstance(widths, str) or not isinstance(widths, Iterable) or not (widths := tuple(widths)):
        raise ConfigError(f"widths must be several whole numbers, got {widths!r}", hint="for example (64, 32, 16)")
    for width in widths:
        require_whole("each of the widths", width)
    return tuple(int(width) for width in widths)
