"""What one series of readings shows about its sensor: pure functions over an array of finite numbers.

A sensor is compared with its own habit: a finding needs something that is several times larger than the next largest of
its kind. So what a sensor does often, such as resting at 0 every night, holding a set point or jumping when a pump
starts, is never a finding, however long or large it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thence.data.readings.units import Conversion, convert, find_unit, others_like

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

TIMES_LONGER = 4.0
"""A run of equal readings, or of missing ones, must be so many times longer than the next longest."""
TIMES_LARGER = 3.0
"""A jump must be so many times larger than the largest other change."""
TIMES_HIGHER = 6.0
"""A spike must be so many times higher than the largest other change; a pump that runs for a minute makes one, too."""
LEAST_RUN = 12
"""Fewer equal readings, or missing ones, in a row are never a finding."""
LEAST_CHANGES = 30
"""A sensor must have changed so often that it has a habit."""
LEAST_LEVELS = 8
"""A sensor with fewer different values is a state or a set point, which may hold for any time."""
MOST_EVENTS = 5
"""More runs or gaps than this are a habit."""
_SPIKES = 0.005  # of the readings may be spikes; more are a habit
_OUTSIDE = 0.25  # of its range: so far beyond it a value is none that the sensor has otherwise
_RESTING = 0.02  # share of readings at an extreme value at which a sensor rests there
_QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
_AROUND = 2_000  # readings before and after a change of unit that are compared
_SAME = 1e-9  # differences relative to the largest value that are rounding of means
_SURE = float(np.log(1e9))
_MOST_DECIMALS = 6

_PAIRS = (
    ("°C", "°F"), ("°C", "K"), ("m", "ft"), ("psi", "kPa"), ("bar", "psi"), ("bar", "kPa"), ("L/s", "gal/min"),
    ("L/s", "m3/h"), ("m3/h", "gal/min"), ("L/s", "ft3/min"), ("m/s", "ft/min"), ("W", "kW"), ("share", "%"),
)  # fmt: skip
"""Units that are mixed up where the unit of a sensor is not known."""


def _known_conversions(unit: str) -> list[tuple[str, str, float, float]]:
    """The conversions to consider for a sensor: unit, other unit, factor and offset."""
    if find_unit(unit) is not None:
        pairs = [(unit, other) for other in others_like(unit)]
    elif unit == "%":
        pairs = [("%", "share")]
    else:
        pairs = [] if unit else [*_PAIRS, *((other, one) for one, other in _PAIRS)]
    shares = {("share", "%"): Conversion(100.0, 0.0), ("%", "share"): Conversion(0.01, 0.0)}
    found = [(one, other, shares.get((one, other)) or convert(one, other)) for one, other in pairs]
    return [(one, other, by.factor, by.offset) for one, other, by in found if by is not None]


@dataclass(frozen=True)
class Span:
    """Some readings of a series.

    Args:
        start: Number of the first one.
        end: Number after the last one.
        size: How large it is: readings, the height of a spike, or a value.
        ratio: How many times larger than usual.
        note: What else a sentence needs, such as the units of a change of unit.
    """

    start: int
    end: int
    size: float
    ratio: float
    note: str = ""


@dataclass(frozen=True)
class Runs:
    """Runs of equal readings in a series.

    Args:
        starts: Number of the first reading of each run.
        lengths: Number of readings in each run.
        values: The value of each run.
        levels: Number of different values, counted up to ``LEAST_LEVELS``.
    """

    starts: Ints
    lengths: Ints
    values: Floats
    levels: int

    @property
    def varies(self) -> bool:
        """Whether the sensor has changed often enough, between enough values, to have a habit."""
        return self.starts.size > LEAST_CHANGES and self.levels >= LEAST_LEVELS


def find_runs(values: Floats) -> Runs:
    """Return the runs of equal readings.

    Args:
        values: Finite numbers.

    Examples:
        >>> find_runs(np.array([1.0, 1.0, 2.0])).lengths.tolist()
        [2, 1]
    """
    if not values.size:
        return Runs(np.zeros(0, np.int64), np.zeros(0, np.int64), values, 0)
    same = _SAME * max(abs(float(values.max())), abs(float(values.min())))
    changed = np.flatnonzero(np.abs(np.diff(values)) > same) + 1
    starts = np.concatenate([[0], changed]).astype(np.int64)
    at = values[starts]
    some = at[: 50 * LEAST_LEVELS]
    levels = np.unique(some).size
    if levels < LEAST_LEVELS:
        levels = np.unique(at).size
    return Runs(starts, np.diff(starts, append=values.size), at, min(levels, LEAST_LEVELS))


def outlying(sizes: npt.NDArray[np.int64] | Floats, times: float, *, most: int = MOST_EVENTS) -> tuple[Ints, float]:
    """Return which of some sizes are ``times`` larger than all others, and the largest of the others.

    Args:
        sizes: The sizes.
        times: How many times larger.
        most: More of them than this are a habit, and none is returned.

    Examples:
        >>> outlying(np.array([3, 90, 2, 80, 4]), 4.0)
        (array([1, 3]), 4.0)
        >>> outlying(np.array([3, 9, 2, 8, 4]), 4.0)[0].tolist()
        []
    """
    if not sizes.size:
        return np.zeros(0, np.int64), 0.0
    count = min(most + 1, sizes.size)
    top = np.argpartition(sizes, -count)[-count:]
    top = top[np.argsort(-sizes[top], kind="stable")]
    ordered = np.append(sizes[top].astype(np.float64), 0.0 if count == sizes.size else np.nan)
    for number in range(min(most, count), 0, -1):
        rest = ordered[number]
        if 2 * number > sizes.size:
            continue
        if ordered[number - 1] >= times * max(rest, 1e-300) and np.isfinite(rest):
            return np.sort(top[:number]).astype(np.int64), float(rest)
    return np.zeros(0, np.int64), float(ordered[0])


def find_stuck(runs: Runs) -> list[Span]:
    """Return runs that are much longer than all others; ``size`` is the value that is held.

    ``note`` is ``"only"`` if the sensor has this value at no other time.

    The lowest and the highest value, if the sensor rests there at other times too, are never stuck.

    Args:
        runs: The runs of the series.
    """
    if not runs.varies:
        return []
    found, usual = outlying(runs.lengths, TIMES_LONGER)
    found = found[runs.lengths[found] >= LEAST_RUN]
    others = np.ones(runs.starts.size, bool)
    others[found] = False
    if others.sum() < LEAST_CHANGES:
        return []
    rest, lengths = runs.values[others], runs.lengths[others]
    ends, total = (float(rest.min()), float(rest.max())), lengths.sum()
    out = []
    for at in found:
        value, length = float(runs.values[at]), int(runs.lengths[at])
        if value in ends and lengths[(rest == value) & (lengths > 1)].sum() >= _RESTING * total:
            continue
        margin = _OUTSIDE * (ends[1] - ends[0])
        outside = not ends[0] - margin <= value <= ends[1] + margin
        same = runs.values[found] == value
        if same.sum() > 1 and (not outside or runs.lengths[found][same].sum() > total):
            continue  # it returns there
        start = int(runs.starts[at])
        note = "" if (rest == value).any() else "only"
        out.append(Span(start, start + length, value, length / max(usual, 1.0), note))
    return out


def is_counter(values: Floats) -> bool:
    """Return whether numbers only rise, but for a few resets.

    Args:
        values: Finite numbers.

    Examples:
        >>> is_counter(np.arange(100.0) % 60), is_counter(np.arange(100.0) % 2)
        (True, False)
    """
    change = np.diff(values)
    return int((change > 0).sum()) > LEAST_CHANGES and int((change < 0).sum()) <= min(MOST_EVENTS, change.size // 50)


def find_zeros(runs: Runs) -> list[Span]:
    """Return runs of 0 of a sensor that is otherwise far from it.

    Args:
        runs: The runs of the series.
    """
    zero = runs.values == 0
    rest = runs.values[~zero]
    if not runs.varies or not 0 < zero.sum() <= MOST_EVENTS or rest.size < LEAST_CHANGES:
        return []
    low, high = float(rest.min()), float(rest.max())
    far = max(low, -high) / max(high - low, 1e-300)
    if far <= _OUTSIDE or runs.lengths[zero].sum() > runs.lengths[~zero].sum():
        return []
    found = np.flatnonzero(zero & (runs.lengths > 2))
    return [Span(int(runs.starts[i]), int(runs.starts[i] + runs.lengths[i]), 0.0, far, "only") for i in found]


def find_gaps(at: Ints, n_frames: int) -> list[Span]:
    """Return runs of missing readings, in numbers of frames, that are much longer than all others.

    The last one is ``note == "end"`` if no reading follows; before the first reading there is no gap.

    Args:
        at: The numbers of the frames with a reading, in order.
        n_frames: The number of all frames.
    """
    if at.size < LEAST_CHANGES:
        return []
    lengths = np.diff(at, append=n_frames) - 1
    found, usual = outlying(lengths, TIMES_LONGER)
    out = []
    for one in found[lengths[found] >= LEAST_RUN].tolist():
        start = int(at[one]) + 1
        length = int(lengths[one])
        note = "end" if one == at.size - 1 else ""
        out.append(Span(start, start + length, length, length / max(usual, 1.0), note))
    return out


def find_spikes(values: Floats, runs: Runs, follows: Bools | None = None) -> list[Span]:
    """Return single readings that are much further from both neighbours than any other change.

    Args:
        values: Finite numbers.
        runs: Their runs.
        follows: For each change whether nothing is missing between its two readings; by default nothing is.
    """
    if not runs.varies:
        return []
    pulses = outlying_pulses(np.diff(values), follows)
    return [Span(at + 1, at + 2, float(values[at + 1]), ratio) for at, ratio in pulses]


def outlying_pulses(change: Floats, possible: npt.NDArray[np.bool_] | None = None) -> list[tuple[int, float]]:
    """Return where a series changes and changes back at once, by much more than any other change.

    Args:
        change: The changes from reading to reading.
        possible: The changes that may be returned, which are compared with all; by default any.

    Returns:
        The number of the first change, and how many times larger both are than any other.

    Examples:
        >>> outlying_pulses(np.concatenate([np.tile([1.0, -1.0], 20), [9.0, -9.0], np.tile([1.0, -1.0], 20)]))
        [(40, 9.0)]
    """
    into, out_of = change[:-1], -change[1:]
    height = np.where(into * out_of > 0, np.minimum(np.abs(into), np.abs(out_of)), 0.0)
    if possible is not None:
        height[~(possible[:-1] & possible[1:])] = 0.0
    size = np.abs(change)
    most = max(MOST_EVENTS, int(_SPIKES * change.size))
    if height.size <= 2 * most:
        return []
    threshold = float(np.partition(height, -most - 1)[-most - 1])
    for _ in range(4):
        found = np.flatnonzero(height > threshold)
        ordinary = np.ones(size.size, bool)
        ordinary[found] = ordinary[found + 1] = False
        usual = float(size[ordinary].max()) if found.size and ordinary.any() else 0.0
        if usual <= 0:
            return []
        if threshold == TIMES_HIGHER * usual:
            return [(at, float(height[at]) / usual) for at in found.tolist()]
        threshold = TIMES_HIGHER * usual
    return []


def find_clipped(values: Floats, runs: Runs) -> Span | None:
    """Return the span in which peaks are cut off at one value, at the top or at the bottom.

    A cut-off peak is a run of three or more equal readings that is reached and left in small steps from one side. In
    the span no reading is beyond the value, and peaks elsewhere are pointed. 0, 1 and 100 are natural ends.

    Args:
        values: Finite numbers.
        runs: Their runs.
    """
    if not runs.varies or runs.starts.size < 3:
        return None
    best = None
    for sign in (1.0, -1.0):
        found = _clipped_at_top(sign * values, runs.starts, sign * runs.values, runs.lengths)
        if found is not None and (best is None or found.ratio > best.ratio):
            best = Span(found.start, found.end, sign * found.size, found.ratio, "above" if sign > 0 else "below")
    return best


def _clipped_at_top(values: Floats, starts: Ints, level: Floats, lengths: Ints) -> Span | None:
    peak = np.zeros(level.size, bool)
    peak[1:-1] = (level[1:-1] > level[:-2]) & (level[1:-1] > level[2:])
    flat = np.flatnonzero(peak & (lengths >= 3))
    if flat.size < 4:
        return None
    known, inverse, counts = np.unique(level[flat], return_inverse=True, return_counts=True)
    value = float(known[counts.argmax()])
    own = flat[inverse == counts.argmax()]
    readings = int(lengths[own].sum())
    spread = float(np.ptp(values))
    if own.size < 4 or readings < 20 or abs(value) in (1.0, 100.0) or abs(value) <= 1e-3 * spread:
        return None
    start, end = int(starts[own[0]]), int(starts[own[-1]] + lengths[own[-1]])
    inside = (starts[flat] >= start) & (starts[flat] < end)
    step = float(np.median(np.maximum(value - level[own - 1], value - level[own + 1])))
    others = int(inside.sum()) - own.size
    inner = values[start:end]
    if inner.max() > value or others > 0.2 * own.size or step > 0.15 * spread or readings > 0.6 * inner.size:
        return None
    return Span(start, end, value, own.size / max(others, 1))


def count_decimals(values: Floats) -> npt.NDArray[np.int8]:
    """Return with how many decimals each number is written; 7 if six are too few.

    Args:
        values: Finite numbers.

    Examples:
        >>> count_decimals(np.array([3.0, 20.5, 21.25, 1 / 3])).tolist()
        [0, 1, 2, 7]
    """
    out = np.full(values.size, _MOST_DECIMALS + 1, np.int8)
    if not values.size:
        return out
    noise = 1e-12 * max(1e-300, float(np.abs(values).max()))
    open_ = np.arange(values.size)
    for decimals in range(_MOST_DECIMALS + 1):
        rest = values[open_]
        fits = np.abs(np.round(rest, decimals) - rest) <= noise
        out[open_[fits]] = decimals
        open_ = open_[~fits]
        if not open_.size:
            break
    return out


def find_precision(values: Floats, runs: Runs) -> Span | None:
    """Return the readings that are written with fewer decimals than the others, or with more; ``note`` says which.

    Args:
        values: Finite numbers.
        runs: Their runs.
    """
    if not runs.varies:
        return None
    decimals = count_decimals(runs.values)
    for coarse in range(int(decimals.max())):
        is_coarse = decimals <= coarse
        n_coarse = int(is_coarse.sum())
        if n_coarse < 15 or n_coarse > decimals.size - 15:
            continue
        first, length = _longest_true(is_coarse)
        share = (n_coarse - length + 1) / (decimals.size - length + 2)
        if length < 15 or -np.log(share) * length < _SURE or decimals.size - length < 15:
            continue
        some = np.unique(runs.values[first : first + length])
        if some[~np.isin(some, (0.0, 1.0, 100.0))].size < 4:
            continue  # fully open and shut
        last = first + length
        finer = int(np.median(decimals[~is_coarse]))
        bounds = [*runs.starts.tolist(), values.size]
        if last == decimals.size and length > decimals.size / 2:
            return Span(0, bounds[first], finer, length, "more")
        if first == 0 and length > decimals.size / 2:
            return Span(bounds[last], values.size, finer, length, "more")
        return Span(bounds[first], bounds[last], coarse, length, "fewer")
    return None


def _longest_true(mask: npt.NDArray[np.bool_]) -> tuple[int, int]:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(np.int8), [0]])))
    starts, ends = edges[::2], edges[1::2]
    longest = int((ends - starts).argmax())
    return int(starts[longest]), int(ends[longest] - starts[longest])


def find_shift(values: Floats, runs: Runs, follows: Bools | None = None) -> Span | None:
    """Return the readings after a jump that is much larger than any other change, if they stay there.

    Args:
        values: Finite numbers.
        runs: Their runs.
        follows: For each change whether nothing is missing between its two readings; by default nothing is. A sensor
            may well read something else after a gap.
    """
    if not runs.varies or values.size < 4 * LEAST_CHANGES:
        return None
    change = np.diff(values)
    found, usual = outlying(np.abs(change), TIMES_LARGER, most=1)
    if not found.size or usual <= 0:
        return None
    at = int(found[0]) + 1
    if follows is not None and not follows[at - 1]:
        return None
    jump = float(change[at - 1])
    before, after = values[max(0, at - 3) : at], values[at : at + 3]
    if min(at, values.size - at) < LEAST_RUN:
        return None
    moved = float(np.median(after) - np.median(before))
    stays = 0.6 <= moved / jump <= 1.7 and find_runs(values[at:]).starts.size > LEAST_RUN
    return Span(at, values.size, jump, abs(jump) / usual) if stays else None


def find_unit_change(values: Floats, runs: Runs, unit: str = "") -> Span | None:
    """Return the readings that are in another unit than those before, to the end or until they change back.

    Args:
        values: Finite numbers.
        runs: Their runs.
        unit: Their unit, if it is known: only conversions from and to it are considered.
    """
    if not runs.varies or values.size < 2 * LEAST_CHANGES:
        return None
    known = _known_conversions(unit)
    if unit and known and (found := _sustained(values, known)) is not None:
        return found
    change = np.abs(np.diff(values))
    count = min(3, change.size)
    top = np.sort(np.argpartition(change, -count)[-count:]) + 1
    for start in top.tolist() if known else ():
        for end in [*(at for at in top.tolist() if at > start + LEAST_RUN), values.size]:
            found = _converted(values, change, start, end, known)
            if found is not None:
                return found
    return None


def _converted(
    values: Floats, change: Floats, start: int, end: int, known: Sequence[tuple[str, str, float, float]]
) -> Span | None:
    """The span as a change of unit, if the readings go on in another unit and their spread fits it."""
    if start < LEAST_CHANGES or end - start < LEAST_RUN:
        return None
    before, after = values[:start], values[start:end]
    usual, now = _third_largest(change[: start - 1]), _third_largest(change[start : end - 1])
    jump = float(change[start - 1])
    low, high, spread = float(before.min()), float(before.max()), float(np.ptp(before))
    centre = float(np.median(before)), float(np.median(after))
    if usual <= 0 or now <= 0 or jump < TIMES_LARGER * max(usual, now):
        return None
    for unit, to, scale, shift in known:
        back = (after - shift) / scale
        near = abs(before[-1] - back[0]) <= usual
        fits = low - 0.5 * spread <= back.min() and back.max() <= high + 0.5 * spread
        nearer = abs(centre[1] - (scale * centre[0] + shift)) < 0.5 * abs(centre[1] - centre[0])
        if near and fits and nearer and 0.3 <= (now / scale) / usual <= 3:
            return Span(start, end, scale, jump / max(usual, now), f"{unit} to {to}")
    return None


def _third_largest(change: Floats) -> float:
    """The largest change but for one reading that may be wrong itself."""
    return float(np.partition(change, -3)[-3])


def _sustained(values: Floats, known: Sequence[tuple[str, str, float, float]]) -> Span | None:
    """A change of unit from the reading on before and after which the means differ most.

    The days around it must have the same distribution in the one unit as in the other. That alone is no proof, as
    what a sensor reads may well double; so the unit of the sensor must be known.
    """
    size = values.size
    total = np.cumsum(values - values.mean())
    count = np.arange(1, size)
    split = int(np.argmax(np.abs(total[:-1]) / np.sqrt(count * (size - count)))) + 1
    ends = sorted((int(total.argmin()) + 1, int(total.argmax()) + 1))
    for start, end in ((split, size), (ends[0], ends[1])):
        part = min(_AROUND, start, end - start)
        if part < 2 * LEAST_RUN:
            continue
        before = np.quantile(values[start - part : start], _QUANTILES)
        after = np.quantile(values[start : start + part], _QUANTILES)
        wide, now = float(np.ptp(before)), float(np.ptp(after))
        for unit, to, scale, shift in known:
            wrong = np.abs(scale * before + shift - after).max()
            apart = np.abs(after - before).max()
            if min(wide, now) > 0 and wrong <= 0.2 * scale * wide and apart > 1.5 * min(wide, now):
                return Span(start, end, scale, apart / wide, f"{unit} to {to}")
    return None
