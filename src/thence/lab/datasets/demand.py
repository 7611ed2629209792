"""Water demand: multipliers as pure functions of random generators and coefficients.

Hanoi follows LeakDB's published recipe, the other networks use plain multiplicative noise. This module must not
depend on EPANET, files or sensors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Fourier", "draw_factors", "draw_leakdb_multipliers"]

Floats = NDArray[np.float64]

_COEFFICIENT_SPREAD = 0.1
_STEP_NOISE = 0.05
_WEEK_VARIATION = (0.75, 0.07)


@dataclass(frozen=True)
class Fourier:
    """A periodic series.

    Args:
        coefficients: In the order constant, sin 1, cos 1, sin 2, cos 2, ….
        period: The period in steps.
    """

    coefficients: Floats
    period: int

    def basis(self, steps: int) -> Floats:
        """Return one column per coefficient for steps 1, 2, …, ``steps``; LeakDB counts from one."""
        harmonics = (len(self.coefficients) - 1) // 2
        angle = 2 * np.pi / self.period * np.outer(np.arange(1, steps + 1), np.arange(1, harmonics + 1))
        table = np.empty((steps, 1 + 2 * harmonics))
        table[:, 0] = 1.0
        table[:, 1::2] = np.sin(angle)
        table[:, 2::2] = np.cos(angle)
        return table


def draw_leakdb_multipliers(
    rng: np.random.Generator,
    *,
    week: Fourier,
    year: Fourier,
    junctions: int,
    steps: int,
    noise: np.random.Generator | None = None,
) -> Floats:
    """Draw demand multipliers by LeakDB's recipe, one column per junction.

    They are (year + 1) · (week · v + 1) · (1 + N(0, 0.05)) with v = 0.75 + N(0, 0.07); every Fourier coefficient is
    scaled by U(0.9, 1.1) per junction.

    Args:
        rng: The random generator.
        week: The weekly pattern.
        year: The yearly pattern.
        junctions: The number of junctions.
        steps: The number of steps.
        noise: Another generator for the noise of single steps, for another year of the same consumers.
    """
    bases = year.basis(steps), week.basis(steps)
    table = np.empty((steps, junctions))
    for column in range(junctions):
        yearly, weekly = (
            basis @ (curve.coefficients * rng.uniform(1 - _COEFFICIENT_SPREAD, 1 + _COEFFICIENT_SPREAD, basis.shape[1]))
            for basis, curve in zip(bases, (year, week), strict=True)
        )
        variation = rng.normal(*_WEEK_VARIATION)
        deviation = rng.normal(0.0, _STEP_NOISE, steps)
        if noise is not None:
            deviation = noise.normal(0.0, _STEP_NOISE, steps)
        table[:, column] = (yearly + 1) * (weekly * variation + 1) * (1 + deviation)
    return table


def draw_factors(rng: np.random.Generator, shape: tuple[int, ...], *, spread: float) -> Floats:
    """Draw factors from N(1, ``spread``), with negative ones set to zero.

    >>> draw_factors(np.random.default_rng(0), (2,), spread=0.0).tolist()
    [1.0, 1.0]
    """
    return np.maximum(1.0 + rng.normal(0.0, spread, shape), 0.0)
