"""Reference periods."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pytest

import thence as th
from thence.checks.application.reference import reference_frames

TIMES = np.arange("2024-01-01", "2024-01-11", dtype="datetime64[D]").astype("datetime64[us]")


@pytest.mark.parametrize(
    ("reference", "frames"),
    [
        ("2024-01-02/2024-01-04", 2),
        ("/2024-01-04", 3),
        ("2024-01-04/", 7),
        (("2024-01-02", datetime(2024, 1, 4)), 2),
        (0.5, 5),
        ("0.5", 5),
        (1, 10),
        (0.001, 1),
    ],
)
def test_frames_of_a_period_and_of_a_share(reference: object, frames: int) -> None:
    assert reference_frames(reference, TIMES).sum() == frames  # type: ignore[arg-type]


@pytest.mark.parametrize("reference", ["soon", "/", 0, 1.5, True, "2024-01-04/2024-01-02", "2030-01-01/2031-01-01"])
def test_what_is_no_reference(reference: object) -> None:
    with pytest.raises((th.errors.ConfigError, th.errors.InputError)):
        reference_frames(reference, TIMES)  # type: ignore[arg-type]
