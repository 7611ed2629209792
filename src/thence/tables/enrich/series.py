"""Readings as series of codes, made once per sensor and shared by every column of a lifted table that reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from thence.readings.windows import WindowedReadings
from thence.rules.items import Interval, Value
from thence.tables.blocks import Codes, as_codes
from thence.tables.discretization import Binning, Discretizer, rank_binning

__all__ = ["Coder", "SeriesBank", "series_banks"]

Frames = npt.NDArray[Any] | slice


@dataclass(frozen=True)
class SeriesBank:
    """The codes of all sensors of one kind: what each code stands for, and which row belongs to which sensor."""

    kind: str
    name: str
    codes: Codes
    values: tuple[Value | Interval, ...]
    row_of: Mapping[str, int]
    unit: str
    relative: bool


class Coder:
    """Turns series of numbers into codes, remembering the bins that it fits on the way."""

    def __init__(self, discretizer: Discretizer, fit_frames: Frames) -> None:
        self.discretizer = discretizer
        self.fit_frames = fit_frames
        self.binnings: dict[str, Binning] = dict(discretizer.binnings)

    @property
    def relative(self) -> bool:
        return self.discretizer.scope == "sensor"

    @property
    def ranks(self) -> tuple[Interval, ...]:
        """Ranks in a sensor's own history; the outer ones are open, so that later extremes fall into them."""
        bins = self.discretizer.bins
        bounds = [-np.inf, *(i / bins for i in range(1, bins)), np.inf]
        return tuple(Interval(low, high) for low, high in pairwise(bounds))

    def encode(
        self, series: npt.NDArray[np.float64], keys: Sequence[str], pool: str
    ) -> tuple[Codes, tuple[Value | Interval, ...]]:
        """Codes of the rows of ``series`` (series × frames), each by its own ranks or all by one pooled binning."""
        codes = np.empty(series.shape, np.int16)
        if self.relative:
            for row, key in enumerate(keys):
                if key not in self.binnings:
                    edges = rank_binning(series[row][self.fit_frames], bins=self.discretizer.bins)
                    if np.isnan(edges).any():
                        codes[row] = -1
                        continue
                    self.binnings[key] = Binning(edges)
                codes[row] = self.binnings[key].encode(series[row])
            return codes, self.ranks
        if pool not in self.binnings:
            self.binnings[pool] = self.discretizer.fit({pool: series[:, self.fit_frames]}).binnings[pool]
        binning = self.binnings[pool]
        codes[:] = binning.encode(series)
        return codes, tuple(binning.values)

    def encode_facts(self, values: npt.NDArray[np.float64], pool: str) -> tuple[Codes, tuple[Value | Interval, ...]]:
        """Codes of a property over nodes, always pooled: by equal count, or at the edges given for it."""
        if pool not in self.binnings:
            known = self.discretizer if pool in self.discretizer.edges else Discretizer(bins=self.discretizer.bins)
            self.binnings[pool] = known.fit({pool: values}).binnings[pool]
        binning = self.binnings[pool]
        return binning.encode(values), tuple(binning.values)

    def fitted(self) -> Discretizer:
        return replace(self.discretizer, binnings=self.binnings)


def series_banks(readings: WindowedReadings, coder: Coder) -> list[SeriesBank]:
    """The codes of every kind of reading: numbers with what is derived from them, and states."""
    out: list[SeriesBank] = []
    names = {"": readings.values}
    if "change" in readings.derived:
        names["change"] = readings.derived["change"]
    numeric = dict.fromkeys(sensor.kind for sensor in readings.numeric)
    for kind in numeric:
        members = [(i, s) for i, s in enumerate(readings.numeric) if s.kind == kind]
        for name, values in names.items():
            series = np.ascontiguousarray(values[:, [i for i, _ in members]].T)
            keys = [coder.discretizer.group(kind="", sensor=s.id, name=name) for _, s in members]
            codes, meaning = coder.encode(series, keys, f"{kind}.{name}" if name else kind)
            row_of = {s.id: row for row, (_, s) in enumerate(members)}
            out.append(SeriesBank(kind, name, codes, meaning, row_of, members[0][1].unit, coder.relative))
    for kind in dict.fromkeys(sensor.kind for sensor in readings.categorical):
        # Where a kind has numbers in absolute ranges too, its states are a feature of another name.
        name = "state" if kind in numeric and not coder.relative else ""
        out.append(_states(readings, kind, name))
    return out


def _states(readings: WindowedReadings, kind: str, name: str) -> SeriesBank:
    """The states of all sensors of a kind, numbered alike."""
    states = {s.id: readings.states[s.id] for s in readings.categorical if s.kind == kind}
    known = tuple(sorted({state for _, categories in states.values() for state in categories}))
    position = {state: code for code, state in enumerate(known)}
    rows = np.full((len(states), len(readings)), -1)
    for row, (own, categories) in enumerate(states.values()):
        rows[row] = np.array([position[state] for state in categories] + [-1])[own]
    richest = max(states, key=lambda sensor: len(states[sensor][1]))
    of = f"sensor '{richest}'" if len(states) == 1 else f"the kind '{kind}' ('{richest}' and others)"
    codes = as_codes(rows, len(known), of=of, hint=f"read_sensors(…, ignore=['{richest}'])")
    return SeriesBank(kind, name, codes, known, {s: row for row, s in enumerate(states)}, "", False)
