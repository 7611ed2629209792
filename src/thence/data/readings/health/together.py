"""What several series show about one of them: drifts, shifted clocks and copies. Pure functions over a matrix.

A sensor is compared with those whose changes go with its own. A finding needs two of them that agree, since of two
sensors that part nobody knows which one is wrong; so there are none in readings that have nothing to do with each
other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from thence.data.readings.health.alone import outlying_pulses
from thence.data.readings.resolution import find_resolution
from thence.data.readings.units import convert

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST_ROWS = 20_000
"""Longer series are averaged to about this length."""
_BLOCKS = 40  # parts of the time of which the means are compared
_PEERS = 4
_ALIKE = 0.8  # correlation of the changes of block means of sensors that explain each other
_TIMES_WIDER = 3.0  # how many times wider than all of the first third the difference from the peers must become
_SEGMENTS = 8  # parts of the time in each of which a clock is compared
_LINKED = 0.3  # correlation of the changes of sensors whose clocks are compared
_CLEARER = 0.15  # how much larger the correlation must be at the new lag
_LAGS = 200
_CLOCK_ROWS = 2_500  # rows of a second, coarser look at the clocks
_COPY = 0.999
_DIGITS = 5_000  # readings that show a resolution
_SHAPE = 0.03  # difference of the distributions of changes of a series and its copy
_FACTORS = tuple(
    factor
    for one, other in (
        ("°C", "°F"), ("m", "ft"), ("kPa", "psi"), ("bar", "kPa"), ("L/s", "gpm"), ("m3/h", "gpm"), ("L/s", "m3/h"),
        ("W", "kW"), ("m", "cm"), ("L/s", "cfm"),
    )
    if (by := convert(one, other)) is not None
    for factor in (1.0, by.factor, 1 / by.factor)
)  # fmt: skip


@dataclass(frozen=True)
class Relation:
    """A finding about one series in relation to others.

    Args:
        column: Number of the series.
        other: Number of the series that it is compared with.
        start: Number of the first row concerned.
        end: Number after the last one.
        size: How large: a difference in the unit of the series, or a lag in rows.
        ratio: How many times larger than usual; of a copy the factor.
        offset: Of a copy, what is added.
        resolution: Of a copy, the step of its readings; 0 if they have all digits of a float.
    """

    column: int
    other: int
    start: int
    end: int
    size: float
    ratio: float
    offset: float = 0.0
    resolution: float = 0.0


def mean_rows(values: Floats, size: int) -> Floats:
    """Return the means of ``size`` rows each; NaN where fewer than a quarter of them are finite.

    Args:
        values: Rows × series.
        size: Number of rows; the last rows are left out if they are fewer.

    Examples:
        >>> mean_rows(np.array([[1.0], [2.0], [np.nan], [4.0]]), 2).ravel().tolist()
        [1.5, 4.0]
    """
    count = len(values) // size
    parts = values[: count * size].reshape(count, size, values.shape[1])
    known = np.isfinite(parts)
    number = known.sum(axis=1)
    total = np.where(known, parts, 0.0).sum(axis=1)
    return np.where(4 * number >= size, total / np.maximum(number, 1), np.nan)


def normal_changes(values: Floats, breaks: npt.NDArray[np.bool_]) -> Floats:
    """Return the changes from row to row, with variance 1, large ones cut; 0 where one is not known.

    Args:
        values: Rows × series.
        breaks: For each row but the first whether it does not follow the row before it.
    """
    change = np.diff(values, axis=0)
    change[breaks] = np.nan
    known = np.isfinite(change)
    change = np.where(known, change, 0.0)
    number = np.maximum(known.sum(axis=0), 1)
    for _ in range(2):
        scale = np.sqrt((change**2).sum(axis=0) / number)
        np.clip(change, -4 * scale, 4 * scale, out=change)
    scale = np.sqrt((change**2).sum(axis=0))
    return change / np.where(scale > 0, scale, 1.0)


def find_drifts(values: Floats) -> list[Relation]:
    """Return series that move away from what at least two related series explain, and stay there.

    Args:
        values: Rows × series.
    """
    size = max(1, len(values) // _BLOCKS)
    if len(values) < 4 * _BLOCKS or values.shape[1] < 3:
        return []
    means = mean_rows(values, size)
    change = normal_changes(means, np.zeros(len(means) - 1, bool))
    alike = change.T @ change
    np.fill_diagonal(alike, 0.0)
    out = []
    for column in np.flatnonzero((alike >= _ALIKE).sum(axis=0) >= 2).tolist():
        peers = np.argsort(-alike[:, column])[:_PEERS]
        peers = peers[alike[peers, column] >= _ALIKE]
        found = _drift_of(means, column, peers)
        if found is not None:
            first, moved, ratio = found
            out.append(Relation(column, int(peers[0]), first * size, len(values), moved, ratio))
    # Those that only part from a drifting peer have nothing to report.
    drifting = {one.column: one for one in out}
    return [
        one for one in out if all(one.ratio >= drifting[p].ratio for p in drifting if alike[p, one.column] >= _ALIKE)
    ]


def _drift_of(means: Floats, column: int, peers: Ints) -> tuple[int, float, float] | None:
    """The first block of a drift, its size at the end, and how many times wider it is than the first third."""
    third = len(means) // 3
    both = np.isfinite(means[:, column]) & np.isfinite(means[:, peers]).all(axis=1)
    if both[:third].sum() < third // 2 or both.sum() < 2 * third:
        return None
    at = np.flatnonzero(both)
    own, others = means[at, column][:, None], means[np.ix_(at, peers)]
    early = at < third
    # What follows fast is explained by the changes, what follows slowly by the levels: it must part from both.
    rests = [own - _slope(np.diff(own, axis=0), np.diff(others, axis=0)) * others]
    rests.append(own - _slope(own[early] - own[early].mean(), others[early] - others[early].mean(axis=0)) * others)
    rest = np.concatenate(rests, axis=1)
    width = np.maximum(np.ptp(rest[early], axis=0), 1e-9 * np.abs(own).max() + 1e-300)
    away = (rest - np.median(rest[early], axis=0)) / width
    agreed = np.abs(away).min(axis=1) * (np.abs(np.sign(away).sum(axis=1)) == away.shape[1])
    beyond = agreed > _TIMES_WIDER
    tail = len(beyond) if beyond.all() else int(beyond[::-1].argmin())
    if tail < 3:
        return None
    # It begins after the last block in which all of them are within the first third.
    inside = np.flatnonzero(agreed[: len(beyond) - tail] <= 1.0)
    first = int(inside[-1]) + 1 if inside.size else 0
    if at[first] < third // 2 or first < 3:
        return None
    explained = _slope(own[:first] - own[:first].mean(), others[:first] - others[:first].mean(axis=0)) * others
    gap = own - own[:first].mean() - (explained - explained[:first].mean(axis=0))
    return int(at[first]), float(np.median(gap[-max(3, tail // 3) :])), float(np.median(agreed[-tail:]))


def _slope(own: Floats, others: Floats) -> Floats:
    """The slopes of one series on each of some others, all around 0."""
    power = (others**2).sum(axis=0)
    return np.asarray((own * others).sum(axis=0) / np.where(power > 0, power, 1.0))


def find_spikes_apart(values: Floats, linked: Floats) -> list[Relation]:
    """Return single readings far from what at least two related series explain; ``size`` is the reading.

    Args:
        values: Rows × series.
        linked: The correlations of their changes.
    """
    change = np.diff(values, axis=0)
    out = []
    for column in np.flatnonzero((linked >= _ALIKE).sum(axis=0) >= 2).tolist():
        peers = np.argsort(-linked[:, column])[:2]
        own, others = change[:, [column]], change[:, peers]
        both = np.isfinite(own[:, 0]) & np.isfinite(others).all(axis=1)
        # The slope of most rows: a spike would bend it.
        usual = both & (np.abs(np.where(both, own[:, 0], 0.0)) <= 4 * np.std(own[both]))
        explained = _slope(own[usual], others[usual]) * others
        rest = np.where(both[:, None], own - explained, 0.0)
        # What moves the others too is an event of the system, to which each reacts in its own way.
        alone = np.all(np.abs(explained) < 0.25 * np.abs(own), axis=1)
        agree = rest[:, 0] * rest[:, 1] > 0
        apart = np.where(agree, np.sign(rest[:, 0]) * np.abs(rest).min(axis=1), 0.0)
        out += [
            Relation(column, int(peers[0]), at + 1, at + 2, float(values[at + 1, column]), ratio)
            for at, ratio in outlying_pulses(apart, alone)
        ]
    return out


def find_clocks(change: Floats) -> list[Relation]:
    """Return series whose changes come earlier or later than those of related series from some row on.

    Args:
        change: Changes, as ``normal_changes`` returns them.
    """
    size = len(change) // _SEGMENTS
    lags = min(_LAGS, size // 4)
    if size < 48 or change.shape[1] < 3:
        return []
    linked = change.T @ change
    np.fill_diagonal(linked, 0.0)
    # A clock that is wrong for half of the time halves the correlation with all others.
    strong = linked >= _LINKED
    columns = np.flatnonzero(strong.sum(axis=0) >= 2)
    if not columns.size:
        return []
    parts = change[: _SEGMENTS * size].reshape(_SEGMENTS, size, -1)
    length = 1 << int(np.ceil(np.log2(size + lags)))
    waves = np.fft.rfft(parts, length, axis=1)
    powers = np.sqrt((parts**2).sum(axis=1))
    out = []
    for column in columns.tolist():
        peers = np.argsort(-linked[:, column])[:_PEERS]
        peers = peers[strong[peers, column]]
        found = []
        for peer in peers.tolist():
            both = np.fft.irfft(waves[:, :, column] * np.conj(waves[:, :, peer]), length, axis=1)
            power = np.maximum(powers[:, column] * powers[:, peer], 1e-300)[:, None]
            shift = _shift_of(np.concatenate([both[:, -lags:], both[:, : lags + 1]], axis=1) / power)
            if shift is not None:
                found.append((*shift, peer))
        if len(found) >= 2 and 2 * len(found) > len(peers) and len({one[1] - one[2] for one in found}) == 1:
            segment, now, before, peer = found[0]
            start = _moment(change, column, peer, now - lags, before - lags, segment * size, size)
            out.append(Relation(column, peer, start, len(change) + 1, now - before, abs(now - before)))
    return out


def find_clocks_of(values: Floats, change: Floats, breaks: npt.NDArray[np.bool_]) -> list[Relation]:
    """Return what ``find_clocks`` finds in rows, and in means of several rows, in which noise hides less.

    Args:
        values: Rows × series.
        change: Their changes, as ``normal_changes`` returns them.
        breaks: For each row but the first whether it does not follow the row before it.
    """
    found = find_clocks(change)
    size = len(values) // _CLOCK_ROWS
    if size > 1:
        coarse = mean_rows(values, size)
        apart = np.add.reduceat(breaks, np.arange(0, len(breaks), size)) > 0
        seen = {one.column for one in found}
        for one in find_clocks(normal_changes(coarse, apart[: len(coarse) - 1])):
            if one.column not in seen:
                end = min(len(values), one.end * size)
                found.append(replace(one, start=one.start * size, end=end, size=one.size * size))
    return found


def _shift_of(by_lag: Floats) -> tuple[int, int, int] | None:
    """From which segment on the best lag is another one, and both lags; ``None`` if it stays the same."""
    best = by_lag.argmax(axis=1)
    first, last = int(best[0]), int(best[-1])
    if first == last:
        return None
    at = int((best != first).argmax())
    if at < 2 or not (best[at + 1 :] == last).all() or len(best) - at < 2:
        return None
    before, after = by_lag[: at - 1], by_lag[at + 1 :]
    clear = (before[:, first] - before[:, last]).min() > _CLEARER and (
        after[:, last] - after[:, first]
    ).min() > _CLEARER
    return (at, last, first) if clear else None


def _moment(change: Floats, column: int, peer: int, now: int, before: int, near: int, size: int) -> int:
    """The row from which on a series fits another one better at the new lag than at the one before."""
    first, last = max(0, near - size), min(len(change), near + size)
    own = change[first:last, column]
    gain = own * (_shifted(change[:, peer], now)[first:last] - _shifted(change[:, peer], before)[first:last])
    return first + int(np.argmin(np.concatenate([[0.0], np.cumsum(gain)])))


def _shifted(values: Floats, lag: int) -> Floats:
    """A series that comes so many rows later; 0 where there is none."""
    out = np.zeros_like(values)
    if lag >= 0:
        out[lag:] = values[: len(values) - lag]
    else:
        out[:lag] = values[-lag:]
    return out


def find_copies(values: Floats, change: Floats) -> list[Relation]:
    """Return series that are another one, up to an offset, a conversion of units and a delay.

    Args:
        values: Rows × series.
        change: Their changes, as ``normal_changes`` returns them.
    """
    if values.shape[1] < 2 or len(change) < 64:
        return []
    shape = np.quantile(change, np.linspace(0.02, 0.98, 25), axis=0).T
    scale = np.abs(shape).max(axis=1, keepdims=True)
    shape = shape / np.where(scale > 0, scale, 1.0)
    width = np.nanstd(values, axis=0)
    out, copies = [], set[int]()
    length = 1 << int(np.ceil(np.log2(2 * len(change))))
    for column in range(1, values.shape[1]):
        near = np.abs(shape[:column] - shape[column]).max(axis=1) < _SHAPE
        factor = width[column] / np.where(width[:column] > 0, width[:column], np.nan)
        known = np.isclose(factor[:, None], _FACTORS, rtol=0.02).any(axis=1)
        for other in np.flatnonzero(near & known).tolist():
            if other in copies:
                continue
            found = _copy_of(values, change, column, other, length)
            if found is not None:
                copies.add(column)
                out.append(found)
                break
    return out


def _copy_of(values: Floats, change: Floats, column: int, other: int, length: int) -> Relation | None:
    own, first = change[:, column], change[:, other]
    lag = 0
    if own @ first < _COPY:
        both = np.fft.irfft(np.fft.rfft(own, length) * np.conj(np.fft.rfft(first, length)), length)
        lag = int(both.argmax())
        lag -= length if lag > length // 2 else 0
        if both[lag] < _COPY - 0.05 or abs(lag) > len(change) // 4:
            return None
    late, early = (column, other) if lag >= 0 else (other, column)
    x, y = values[: len(values) - abs(lag), early], values[abs(lag) :, late]
    both_known = np.isfinite(x) & np.isfinite(y)
    if both_known.sum() < 0.5 * len(x):
        return None
    x, y = x[both_known], y[both_known]
    factor, offset = np.polyfit(x - x.mean(), y, 1)
    offset -= factor * x.mean()
    if not np.isclose(factor, _FACTORS, rtol=1e-3).any():
        return None
    # Two sensors of one quantity differ by noise, the flows of two pipes in a row by the solver: a copy only by digits.
    step = max(find_resolution(x[:_DIGITS]) * factor, find_resolution(y[:_DIGITS]))
    wrong = np.abs(y - (factor * x + offset)) > max(step, 1e-9 * float(np.abs(y).max()))
    if wrong.mean() > 0.01:
        return None
    return Relation(late, early, 0, len(values), abs(lag), float(factor), float(offset), step)
