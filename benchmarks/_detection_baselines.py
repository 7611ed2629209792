"""Baselines of detection: an isolation forest and a PCA residual, calibrated as the detector is.

Each is learned five times, each time without a fifth of the weeks (days if there are few), so that every normal day is
scored by what was learned without it. Its score is smoothed with the memory of the detector, and the threshold is the
level that the greatest value of a normal day exceeds at the allowed rate.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from thence.checks.detect.levels import day_maxima, exceeded_at
from thence.checks.detect.memory import smooth
from thence.checks.detect.residuals import hours_of
from thence.checks.detect.timescale import LEAST_DAYS, TimeScale, choose_scale, count_full
from thence.data.readings.windows import WindowedReadings

Make = Callable[[np.ndarray], Callable[[np.ndarray], np.ndarray]]


def numbers(readings: WindowedReadings) -> np.ndarray:
    """All readings as numbers; gaps are filled with the last value, for methods that know no gaps."""
    states = [np.where(codes < 0, np.nan, codes) for codes, _ in readings.states.values()]
    table = np.column_stack([readings.values, *states]) if states else readings.values
    return pl.DataFrame(table).fill_nan(None).fill_null(strategy="forward").fill_null(0.0).to_numpy()


def forest(learn: np.ndarray, seed: int = 0) -> Callable[[np.ndarray], np.ndarray]:
    from sklearn.ensemble import IsolationForest

    model = IsolationForest(random_state=seed).fit(learn)
    return lambda table: -model.score_samples(table)


def residual(learn: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(learn)
    model = PCA(n_components=0.95, svd_solver="full").fit(scaler.transform(learn))

    def score(table: np.ndarray) -> np.ndarray:
        scaled = scaler.transform(table)
        return ((scaled - model.inverse_transform(model.transform(scaled))) ** 2).sum(axis=1)

    return score


BASELINES: dict[str, Make] = {"isolation forest": forest, "PCA residual": residual}


def alarms_of(
    make: Make,
    normal: WindowedReadings,
    later: WindowedReadings,
    *,
    memory: float | None = None,
    per_month: float = 1.0,
    scale: TimeScale | None = None,
) -> np.ndarray | None:
    """The alarms of a baseline in later windows; ``None`` with less than four normal days."""
    hours, every = hours_of(normal), normal.every.total_seconds() / 3600
    scale = scale or choose_scale(hours, every=every, memory=memory)
    days = count_full(hours, scale.block, every=every)
    if len(days) < LEAST_DAYS:
        return None
    kept = [id for id in (s.id for s in normal.sensors) if id in {s.id for s in later.sensors}]
    usual, table = numbers(normal.select(kept)), numbers(later.select(kept))
    blocks = scale.blocks_of(hours)
    folds = np.unique(blocks // 7 if len(days) >= 70 else blocks, return_inverse=True)[1].ravel() % 5
    scores = np.zeros(len(usual))
    for fold in np.unique(folds):
        scores[folds == fold] = make(usual[folds != fold])(usual[folds == fold])

    def faded(values: np.ndarray, at: np.ndarray) -> np.ndarray:
        return smooth(values[None, :], at, every=every, memory=scale.memory)

    least = float(scores.min())  # scores of a forest are negative; levels are of positive values
    share = per_month / 30 * scale.block / scale.day
    level = exceeded_at(day_maxima(faded(scores - least, hours), blocks, days)[0], share)
    found: np.ndarray = faded(make(usual)(table) - least, hours_of(later))[0] > level
    return found
