"""Readings as series of codes, encoded once per sensor and shared by all columns of a lifted table that read them.

This module encodes series; it does not build columns or blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from thence._base.memory import Workspace, in_memory
from thence.data.readings.windows import WindowedReadings
from thence.language.items import Interval, Value
from thence.language.time_names import STATE_PREFIX, parse_time_name
from thence.tables.bitmaps.bits import run_threads, split_range
from thence.tables.blocks import Codes, as_codes
from thence.tables.discretization import Binning, Discretizer, encode_ranks, fit_plain_ranks, fit_ranks
from thence.tables.enrich.base import Frames, Rows
from thence.tables.enrich.grounded import derived_unit, derived_values, minable_values
from thence.tables.pools import Pool

_ROWS = 64  # series that are in memory at a time, as numbers
_FRAMES = 512  # frames of these that fit into the cache


@dataclass(frozen=True)
class KindCodes:
    """The codes of all sensors of one kind.

    Args:
        kind: Kind of the sensors.
        name: Name of a quantity derived from the readings, such as ``"change"``; empty for the readings.
        codes: Matrix (sensors × frames), −1 for missing.
        values: The bin or category of each code.
        row_of: The row of each sensor in ``codes``.
        unit: Unit of the readings.
        relative: Whether the codes are ranks in each sensor's own history.
        minable: Whether each value is an item; ``None`` if all are.
    """

    kind: str
    name: str
    codes: Codes
    values: tuple[Value | Interval, ...]
    row_of: Mapping[str, int]
    unit: str
    relative: bool
    minable: tuple[bool, ...] | None = None


class SeriesEncoder:
    """Encodes series of numbers, and keeps the bins that it fits.

    Args:
        discretizer: How to discretize; its fitted bins are reused.
        fit_frames: The frames on which new bins are fitted.
        workspace: Where codes lie; by default in memory.
    """

    def __init__(self, discretizer: Discretizer, fit_frames: Frames, workspace: Workspace | None = None) -> None:
        self.discretizer = discretizer
        self.fit_frames = fit_frames
        self.workspace = workspace or in_memory()
        self.binnings: dict[str, Binning] = dict(discretizer.binnings)
        self._own: dict[str, Binning] = {}

    @property
    def relative(self) -> bool:
        """Whether codes are ranks in each sensor's own history."""
        return self.discretizer.scope == "sensor"

    @property
    def ranks(self) -> tuple[Interval, ...]:
        """The ranks in a sensor's own history; the outer ones are unbounded, so that later extremes fall into them."""
        bins = self.discretizer.n_ranks
        bounds = [-np.inf, *(i / bins for i in range(1, bins)), np.inf]
        return tuple(Interval(low, high) for low, high in pairwise(bounds))

    def encode(
        self, rows: Rows, keys: Sequence[str], pool: str, *, alike: Sequence[str] | None = None
    ) -> tuple[Codes, tuple[Value | Interval, ...]]:
        """Encode series, each by its own ranks, or all by one binning.

        Args:
            rows: The series; with ranks, a few are asked for at a time, by several threads.
            keys: The key of the binning of each series, if codes are ranks.
            pool: The key of the common binning otherwise.
            alike: The key of a series with the same numbers, or an empty string: its ranks need not be fitted again.

        Returns:
            The codes, and the bin of each code.
        """
        if self.relative:
            return self._encode_ranks(rows, keys, alike or [""] * len(keys))
        parts = _parts_of(len(keys))
        if pool not in self.binnings:
            numbers = Pool(lambda: (rows(*part)[:, self.fit_frames] for part in parts))
            self.binnings[pool] = self.discretizer.fit({pool: numbers}).binnings[pool]
        binning = self.binnings[pool]
        codes = self._empty_codes(len(keys), rows)

        def work(part: tuple[int, int]) -> None:
            codes[slice(*part)] = binning.encode(rows(*part))

        run_threads(work, parts)
        return codes, tuple(binning.values)

    def _empty_codes(self, n_series: int, rows: Rows) -> Codes:
        """Return a matrix of codes that are all missing."""
        shape = (n_series, rows(0, 0).shape[1])
        return self.workspace.full(shape, -1, np.int16, stage="the codes of the readings", seldom=True)

    def _encode_ranks(
        self, rows: Rows, keys: Sequence[str], alike: Sequence[str]
    ) -> tuple[Codes, tuple[Value | Interval, ...]]:
        """Encode series by their ranks; a value that is frequent in one of them is named by the value in all.

        "The flow is 0" is true of every pump whose flow is 0, also of one that seldom stands still. A series that never
        changes has no ranks: its value counts where it is a frequent value of another series, and is missing otherwise.
        Which values are named depends on these series alone, not on others that share a binning with one of them.
        """
        codes, own, spans = self._fit_all(rows, keys, alike)
        named = _ties_of(own.values())
        # Series without any of the named values have the codes that were made with the ranks.
        steps = np.array([own[key].resolution if key in own else 0.0 for key in keys])
        todo = np.array([key in own for key in keys], bool) & _reach(spans, steps, named)

        def work(part: tuple[int, int]) -> None:
            if todo[slice(*part)].any():
                for row, values in zip(range(*part), rows(*part), strict=True):
                    if todo[row]:
                        codes[row] = self._codes_of(own[keys[row]], values, named)

        run_threads(work, _parts_of(len(keys)))
        for key, binning in own.items():
            if not len(named) and binning is self.binnings[key]:
                continue
            # Later readings are named as all these series were.
            self.binnings[key] = replace(binning, ties=_join(self._ties(binning, named), self.binnings[key].ties))
        return codes, (*self.ranks, *(format_tie(value) for value in named.tolist()))

    def _ties(self, binning: Binning, named: npt.NDArray[np.float64]) -> npt.NDArray[np.float64] | None:
        """The values that a series is named by: its own, or those of all series if it changes."""
        return named if binning.has_ranks and len(named) else binning.ties

    def _codes_of(self, binning: Binning, row: npt.NDArray[np.float64], named: npt.NDArray[np.float64]) -> Codes:
        bins, ties = self.discretizer.n_ranks, self._ties(binning, named)
        codes = replace(binning, ties=ties).encode(row)
        if ties is not None:
            places = np.where(np.isin(ties, named), bins + np.searchsorted(named, ties), -1)
            tied = codes >= bins
            codes[tied] = places[codes[tied] - bins]
        return codes

    def _fit_all(
        self, rows: Rows, keys: Sequence[str], alike: Sequence[str]
    ) -> tuple[Codes, dict[str, Binning], npt.NDArray[np.float64]]:
        """Fit the ranks of series that have none from before.

        Returns:
            The ranks of the series that are done, which are one of each key, and those with ranks from before; the
            binning of each key with its own frequent values, without those that have neither ranks nor such values; and
            the lowest and the highest value of the series that are done, without bounds for the others.
        """
        codes = self._empty_codes(len(keys), rows)
        earlier = {key: known for key in keys if (known := self._own.get(key, self.binnings.get(key))) is not None}
        for key, other in zip(keys, alike, strict=True):
            # Ranks from before may be those of other numbers.
            if key not in earlier and other in self._own and other not in self.discretizer.binnings:
                earlier[key] = self._own[other]
        first: dict[str, int] = {}
        done = np.array([first.setdefault(key, row) == row or key in earlier for row, key in enumerate(keys)], bool)
        found: dict[int, Binning] = {}
        fresh = np.array([key not in earlier for key in keys], bool) & done
        discretizer, spans = self.discretizer, np.full((len(keys), 2), np.nan)

        def work(part: tuple[int, int]) -> None:
            values, plain = rows(*part), fresh[slice(*part)].copy()
            if plain.any():
                fitted = values[:, self.fit_frames]
                edges, are_plain = fit_plain_ranks(fitted, bins=discretizer.bins, parts=discretizer.parts)
                plain &= are_plain
                at = np.flatnonzero(plain)
                codes[part[0] + at] = encode_ranks(values[at], edges[at])
                found.update((part[0] + one, Binning(edges[one])) for one in at.tolist())
            known = ~np.isnan(values).all(axis=1)
            spans[slice(*part)][known] = _ranges_of(values[known])
            for one in np.flatnonzero(done[slice(*part)] & known & ~plain).tolist():
                row = part[0] + one
                found[row] = earlier[keys[row]] if keys[row] in earlier else self._fit(values[one])
                codes[row] = replace(found[row], ties=None).encode(values[one])

        run_threads(work, _parts_of(len(keys)))
        for row in np.flatnonzero(~done).tolist():
            # The same sensors may be known in one role, and not all that there are in another: then there is no total.
            if first[keys[row]] not in found and not np.isnan(values := rows(row, row + 1)[0]).all():
                found[row] = self._fit(values)
        own: dict[str, Binning] = {}
        for row, binning in sorted(found.items()):
            if keys[row] not in own and (binning.has_ranks or binning.ties is not None):
                own[keys[row]] = self._own[keys[row]] = binning
                self.binnings.setdefault(keys[row], binning)
        return codes, own, np.where(done[:, None], spans, [-np.inf, np.inf])

    def _fit(self, values: npt.NDArray[np.float64]) -> Binning:
        return fit_ranks(values[self.fit_frames], bins=self.discretizer.bins, parts=self.discretizer.parts)

    def encode_facts(self, values: npt.NDArray[np.float64], pool: str) -> tuple[Codes, tuple[Value | Interval, ...]]:
        """Encode the values of a property with the binning ``pool``: bins of equal count, or the edges given for it."""
        if pool not in self.binnings:
            known = self.discretizer if pool in self.discretizer.bin_edges else Discretizer(bins=self.discretizer.bins)
            is_one = pool not in known.bin_edges and len(np.unique(values[np.isfinite(values)])) < 2
            # What is the same at every node has a single bin and makes no item.
            self.binnings[pool] = Binning(np.empty(0)) if is_one else known.fit({pool: values}).binnings[pool]
        binning = self.binnings[pool]
        return binning.encode(values), tuple(binning.values)

    def fitted(self) -> Discretizer:
        """Return the discretizer with all bins that were fitted."""
        return replace(self.discretizer, binnings=self.binnings)


def _ranges_of(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The lowest and the highest number of each row; NaN is ignored."""
    return np.stack([np.fmin.reduce(values, axis=1), np.fmax.reduce(values, axis=1)], axis=1)


def _reach(
    spans: npt.NDArray[np.float64], steps: npt.NDArray[np.float64], named: npt.NDArray[np.float64]
) -> npt.NDArray[np.bool_]:
    """Whether a named value lies between the lowest and the highest value of each series, or a step beside them.

    Series without bounds are not encoded yet, so that they are reached without any name too.
    """
    low, high = spans[:, 0] - steps, spans[:, 1] + steps
    first = np.searchsorted(named, low)
    return np.isinf(low) | (first < np.searchsorted(named, high, side="right"))


def _parts_of(size: int) -> list[tuple[int, int]]:
    """The series that a thread takes at a time."""
    return split_range(size, -(-size // _ROWS))


def _ties_of(binnings: Iterable[Binning]) -> npt.NDArray[np.float64]:
    """The values without a rank of all series that change, in increasing order."""
    found = [binning.ties for binning in binnings if binning.ties is not None and binning.has_ranks]
    return np.unique(np.concatenate(found)) if found else np.empty(0)


def _join(one: npt.NDArray[np.float64] | None, other: npt.NDArray[np.float64] | None) -> npt.NDArray[np.float64] | None:
    """The values of both, in increasing order."""
    if one is None or other is None:
        return other if one is None else one
    return np.union1d(one, other)


def format_tie(value: float) -> str:
    """Return the name of a value that has no rank: the shortest decimal number.

    >>> format_tie(0.0), format_tie(-0.0), format_tie(12.5)
    ('0', '0', '12.5')
    """
    return repr(value + 0.0).removesuffix(".0")


def encode_readings(readings: WindowedReadings, encoder: SeriesEncoder) -> list[KindCodes]:
    """Encode the readings of every kind: numbers, states, and what is derived from them."""
    out: list[KindCodes] = []
    names = {"": readings.values, **{name: v for name, v in readings.derived.items() if v.ndim == 2}}
    # In the order of names: the order of the sensors in a file decides nothing.
    numeric = sorted({sensor.kind for sensor in readings.numeric})
    for kind in numeric:
        members = [(i, s) for i, s in enumerate(readings.numeric) if s.kind == kind]
        for name, values in names.items():
            rows = _rows_of(values, [i for i, _ in members])
            # What a reading was before is cut at the same edges.
            own = "" if parse_time_name(name) else name
            keys = [encoder.discretizer.group(kind="", sensor=s.id, name=own) for _, s in members]
            codes, meaning = encoder.encode(rows, keys, f"{kind}.{own}" if own else kind)
            row_of = {s.id: row for row, (_, s) in enumerate(members)}
            out.append(KindCodes(kind, name, codes, meaning, row_of, members[0][1].unit, encoder.relative))
    for kind in sorted({sensor.kind for sensor in readings.categorical}):
        # If a kind also has numbers in absolute ranges, its states need another feature name.
        name = "state" if kind in numeric and not encoder.relative else ""
        out.append(_states(readings, kind, name))
    for name, derived in readings.derived_states.items():
        for kind in sorted({sensor.kind for sensor in readings.sensors if sensor.id in derived}):
            clash = name in names and kind in numeric and not encoder.relative
            out.append(_derived_states(readings, kind, name, f"{STATE_PREFIX}{name}" if clash else name))
    return out


def columns_as_rows(values: npt.NDArray[np.float64], columns: Sequence[int]) -> npt.NDArray[np.float64]:
    """Return some columns of a matrix as rows that lie in memory one after the other.

    Args:
        values: The matrix.
        columns: The columns.

    Examples:
        >>> columns_as_rows(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), [2, 0]).tolist()
        [[3.0, 6.0], [1.0, 4.0]]
    """
    out = np.empty((len(columns), len(values)))
    for start in range(0, len(values), _FRAMES):
        out[:, start : start + _FRAMES] = values[start : start + _FRAMES, columns].T
    return out


def _rows_of(values: npt.NDArray[np.float64], columns: Sequence[int]) -> Rows:
    return lambda start, stop: columns_as_rows(values, columns[start:stop])


def _derived_states(readings: WindowedReadings, kind: str, name: str, feature_name: str) -> KindCodes:
    """Encode derived states of all sensors of a kind with common codes: ranges first, then states, then yes and no."""
    series = readings.derived_states[name]
    members = [s.id for s in readings.sensors if s.kind == kind and s.id in series]
    own = {id: (series[id][0], derived_values(series[id][1])) for id in members}
    found = {value for _, values in own.values() for value in values}
    ranges = sorted(value for value in found if isinstance(value, Interval))
    states = sorted(value for value in found if isinstance(value, str))
    known: tuple[Value | Interval, ...] = (*ranges, *states, *(flag for flag in (False, True) if flag in found))
    position = {value: code for code, value in enumerate(known)}
    rows = np.full((len(own), len(readings)), -1, np.int16)
    for row, (codes, values) in enumerate(own.values()):
        rows[row] = np.array([position[value] for value in values] + [-1])[codes]
    row_of = {id: row for row, id in enumerate(own)}
    return KindCodes(kind, feature_name, rows, known, row_of, derived_unit(name), False, minable_values(known))


def _states(readings: WindowedReadings, kind: str, name: str) -> KindCodes:
    """Encode the states of all sensors of a kind with common codes."""
    states = {s.id: readings.states[s.id] for s in readings.categorical if s.kind == kind}
    known = tuple(sorted({state for _, categories in states.values() for state in categories}))
    position = {state: code for code, state in enumerate(known)}
    rows = np.full((len(states), len(readings)), -1)
    for row, (own, categories) in enumerate(states.values()):
        rows[row] = np.array([position[state] for state in categories] + [-1])[own]
    richest = max(states, key=lambda sensor: len(states[sensor][1]))
    of = f"sensor '{richest}'" if len(states) == 1 else f"the kind '{kind}' ('{richest}' and others)"
    codes = as_codes(rows, len(known), of=of, hint=f"leave it out: read_sensors(…, ignore=['{richest}'])")
    return KindCodes(kind, name, codes, known, {s: row for row, s in enumerate(states)}, "", False)
