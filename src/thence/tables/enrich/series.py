"""Readings as series of codes, encoded once per sensor and shared by all columns of a lifted table that read them.

This module encodes series; it does not build columns or blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from thence.readings.windows import WindowedReadings
from thence.rules.items import Interval, Value
from thence.tables.blocks import Codes, as_codes
from thence.tables.discretization import Binning, Discretizer, fit_ranks
from thence.tables.enrich.base import Frames

__all__ = ["KindCodes", "SeriesEncoder", "encode_readings"]


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
    """

    kind: str
    name: str
    codes: Codes
    values: tuple[Value | Interval, ...]
    row_of: Mapping[str, int]
    unit: str
    relative: bool


class SeriesEncoder:
    """Encodes series of numbers, and keeps the bins that it fits.

    Args:
        discretizer: How to discretize; its fitted bins are reused.
        fit_frames: The frames on which new bins are fitted.
    """

    def __init__(self, discretizer: Discretizer, fit_frames: Frames) -> None:
        self.discretizer = discretizer
        self.fit_frames = fit_frames
        self.binnings: dict[str, Binning] = dict(discretizer.binnings)

    @property
    def relative(self) -> bool:
        """Whether codes are ranks in each sensor's own history."""
        return self.discretizer.scope == "sensor"

    @property
    def ranks(self) -> tuple[Interval, ...]:
        """The ranks in a sensor's own history; the outer ones are unbounded, so that later extremes fall into them."""
        bins = self.discretizer.bins
        bounds = [-np.inf, *(i / bins for i in range(1, bins)), np.inf]
        return tuple(Interval(low, high) for low, high in pairwise(bounds))

    def encode(
        self, series: npt.NDArray[np.float64], keys: Sequence[str], pool: str
    ) -> tuple[Codes, tuple[Value | Interval, ...]]:
        """Encode series, each by its own ranks, or all by one binning.

        Args:
            series: Matrix (series × frames).
            keys: The key of the binning of each series, if codes are ranks.
            pool: The key of the common binning otherwise.

        Returns:
            The codes, and the bin of each code.
        """
        codes = np.empty(series.shape, np.int16)
        if self.relative:
            self._fit_ranks(series, keys)
            for row, key in enumerate(keys):
                codes[row] = self.binnings[key].encode(series[row]) if key in self.binnings else -1
            return self._share_ties(codes, keys)
        if pool not in self.binnings:
            self.binnings[pool] = self.discretizer.fit({pool: series[:, self.fit_frames]}).binnings[pool]
        binning = self.binnings[pool]
        codes[:] = binning.encode(series)
        return codes, tuple(binning.values)

    def _fit_ranks(self, series: npt.NDArray[np.float64], keys: Sequence[str]) -> None:
        """Fit the ranks of series that have none.

        A value that is frequent in one series is named in all: "the flow is 0" is true of every pump whose flow is 0,
        also of one that seldom stands still.
        """
        fresh: dict[str, Binning] = {}
        for row, key in enumerate(keys):
            if key not in self.binnings and key not in fresh:
                fitted = fit_ranks(series[row][self.fit_frames], bins=self.discretizer.bins)
                if fitted.has_ranks or fitted.ties is not None:
                    fresh[key] = fitted
        known = [self.binnings[key] for key in keys if key in self.binnings]
        named = _ties_of([*known, *fresh.values()])
        for key, binning in fresh.items():
            self.binnings[key] = replace(binning, ties=named) if binning.has_ranks and len(named) else binning

    def _share_ties(self, codes: Codes, keys: Sequence[str]) -> tuple[Codes, tuple[Value | Interval, ...]]:
        """Give a value without a rank the same code in every series, and name it by the value.

        A series that never changes has no ranks. Its value counts where it is a frequent value of another series: the
        flow of a pump that never runs is 0, like that of a pump that stands still; otherwise it is missing.
        """
        bins = self.discretizer.bins
        own = {key: self.binnings[key] for key in keys if key in self.binnings}
        union = _ties_of(own.values())
        for row, key in enumerate(keys):
            ties = own[key].ties if key in own else None
            if ties is not None:
                shared = np.isin(ties, union)
                places = np.where(shared, bins + np.searchsorted(union, ties), -1)
                tied = codes[row] >= bins
                codes[row][tied] = places[codes[row][tied] - bins]
        return codes, (*self.ranks, *(format_tie(value) for value in union.tolist()))

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


def _ties_of(binnings: Iterable[Binning]) -> npt.NDArray[np.float64]:
    """The values without a rank of all series that change, in increasing order."""
    found = [binning.ties for binning in binnings if binning.ties is not None and binning.has_ranks]
    return np.unique(np.concatenate(found)) if found else np.empty(0)


def format_tie(value: float) -> str:
    """Return the name of a value that has no rank: the shortest decimal number.

    >>> format_tie(0.0), format_tie(-0.0), format_tie(12.5)
    ('0', '0', '12.5')
    """
    return repr(value + 0.0).removesuffix(".0")


def encode_readings(readings: WindowedReadings, encoder: SeriesEncoder) -> list[KindCodes]:
    """Encode the readings of every kind: numbers, quantities derived from them, and states."""
    out: list[KindCodes] = []
    names = {"": readings.values}
    if "change" in readings.derived:
        names["change"] = readings.derived["change"]
    # In the order of names: the order of the sensors in a file decides nothing.
    numeric = sorted({sensor.kind for sensor in readings.numeric})
    for kind in numeric:
        members = [(i, s) for i, s in enumerate(readings.numeric) if s.kind == kind]
        for name, values in names.items():
            series = np.ascontiguousarray(values[:, [i for i, _ in members]].T)
            keys = [encoder.discretizer.group(kind="", sensor=s.id, name=name) for _, s in members]
            codes, meaning = encoder.encode(series, keys, f"{kind}.{name}" if name else kind)
            row_of = {s.id: row for row, (_, s) in enumerate(members)}
            out.append(KindCodes(kind, name, codes, meaning, row_of, members[0][1].unit, encoder.relative))
    for kind in sorted({sensor.kind for sensor in readings.categorical}):
        # If a kind also has numbers in absolute ranges, its states need another feature name.
        name = "state" if kind in numeric and not encoder.relative else ""
        out.append(_states(readings, kind, name))
    return out


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
