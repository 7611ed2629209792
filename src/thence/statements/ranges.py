"""Ranges: in which range a sensor reads while another reads in one of its bins; learned on normal readings.

A range is a family of rules "if x is in this bin, then y is between a and b", one per bin of x, that hold in a stated
share of the normal time. Fitting is in ``thence.checks.detect.ranges``.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from thence.data.readings.resolution import find_resolution
from thence.language.english import format_rule
from thence.language.items import Feature, Interval, Item
from thence.statements.keys import key_of_data
from thence.statements.statement import PLAIN, Data, Features, HeldCounts, Kind, SearchTexts, States, Trace, Words

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Ranges:
    """The ranges of one sensor, given the bin of another.

    Args:
        given: Id of the sensor that is given.
        sensor: Id of the sensor that the ranges are about.
        edges: Inner edges of the bins of ``given``, increasing.
        low: Least normal reading in each bin.
        high: Greatest normal reading in each bin.
        rows: Held-out rows of normal time in which the ranges applied.
        violated: Rows of these in which they were violated.

    Examples:
        >>> one = Ranges("a", "b", (10.0,), (0.0, 5.0), (1.0, 6.0))
        >>> one.sentence()
        'if a is below 10, then b is 0–1; if a is at least 10, then b is 5–6'
        >>> Ranges.from_dict(one.to_dict()) == one
        True
    """

    given: str
    sensor: str
    edges: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    rows: int = 0
    violated: int = 0

    @property
    def key(self) -> str:
        """What identifies the ranges: the two sensors, without the fitted numbers."""
        return key_of_data("range", [self.given, self.sensor])

    @property
    def kind(self) -> Kind:
        """``"range"``."""
        return "range"

    @property
    def about(self) -> Features:
        """The two sensors."""
        return Features(sensors=(self.given, self.sensor))

    @property
    def counts(self) -> HeldCounts:
        """Held-out rows, which were not fitted on."""
        held = self.rows - self.violated
        return HeldCounts(self.rows, held, self.rows, held)

    @property
    def search_texts(self) -> SearchTexts:
        """The two sensors."""
        return SearchTexts.of([self.given], [self.sensor])

    def sentence(self, words: Words = PLAIN) -> str:
        """Return the ranges of all bins as a sentence.

        Args:
            words: How to write it; ``features`` has the units and places of sensors.
        """
        text = "; ".join(self.bin_sentence(number, words.features) for number in range(len(self.low)))
        return f"{text} (in {self.counts.holds:,} of {self.rows:,} rows)" if words.counts else text

    def bin_sentence(self, number: int, features: Mapping[str, Feature]) -> str:
        """Return the range of one bin as a sentence.

        Args:
            number: The number of the bin.
            features: What the sensors are, by id.
        """
        given, own = (features.get(id) or Feature(id) for id in (self.given, self.sensor))
        low, high = self.low[number], math.nextafter(self.high[number], math.inf)
        condition = Item.among(given, Interval(*_rounded(*self.bounds_of(number))))
        return format_rule([condition], Item.among(own, Interval(*_rounded(low, high))))

    def check(self, data: Data) -> States:
        """Return in which windows the readings are in their ranges.

        Args:
            data: The data.
        """
        readings = data.readings
        columns = {sensor.id: at for at, sensor in enumerate(readings.numeric)}
        none = np.full(len(readings), np.nan)
        given, own = (readings.values[:, columns[id]] if id in columns else none for id in (self.given, self.sensor))
        step = readings.resolutions[self.sensor].step if self.sensor in columns else 0.0
        applies, violated = check_ranges(self, given, own, step=step)
        return States.of(("",), applies=applies[None], holds=~violated[None], missing=~applies[None])

    def traces(self, data: Data, place: str = "") -> tuple[Trace, ...]:
        """Return the readings of the two sensors.

        Args:
            data: The data.
            place: The place, which does not matter.
        """
        return data.traces((self.given, self.sensor))

    def bin_of(self, value: float) -> int:
        """Return the number of the bin of a reading of the given sensor.

        Args:
            value: The reading.
        """
        return int(np.searchsorted(self.edges, value, side="right"))

    def bounds_of(self, number: int) -> tuple[float, float]:
        """Return the ends of a bin; the first and the last are open.

        Args:
            number: The number of the bin.
        """
        ends = (-math.inf, *self.edges, math.inf)
        return ends[number], ends[number + 1]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        names = ("kind", "key", "given", "sensor", "edges", "low", "high", "rows", "violated")
        return {name: _listed(getattr(self, name)) for name in names}

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> Ranges:
        """Return the ranges of ``to_dict``.

        Args:
            record: The fields.

        Raises:
            ValueError: If the bins are not in order, a bin has no range, or the counts cannot be.
        """
        numbers = {name: tuple(map(float, record[name])) for name in ("edges", "low", "high")}
        edges, low, high = numbers["edges"], numbers["low"], numbers["high"]
        if not all(map(math.isfinite, edges)) or any(a >= b for a, b in pairwise(edges)):
            raise ValueError("the bins of ranges must be finite and increasing")
        if not len(low) == len(high) == len(edges) + 1:
            raise ValueError(f"{len(edges) + 1} bins have {len(low)} and {len(high)} ends of ranges")
        if not all(math.isfinite(a) and math.isfinite(b) and a <= b for a, b in zip(low, high, strict=True)):
            raise ValueError("a range must be finite, with its low end first")
        rows, violated = operator.index(record["rows"]), operator.index(record["violated"])
        if not 0 <= violated <= rows:
            raise ValueError("the counts do not suit the ranges")
        return Ranges(str(record["given"]), str(record["sensor"]), edges, low, high, rows, violated)


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def check_ranges(ranges: Ranges, given: Floats, own: Floats, *, step: float = 0.0) -> tuple[Bools, Bools]:
    """Return in which frames ranges apply, and in which they are violated.

    A reading that is written more coarsely than the ranges may be half a step from what it stands for.

    Args:
        ranges: The ranges.
        given: Readings of the given sensor.
        own: Readings of the sensor that they are about.
        step: The resolution of ``own``; 0 if it is not known.

    Examples:
        >>> one = Ranges("a", "b", (10.0,), (0.0, 5.0), (1.0, 6.0))
        >>> applies, violated = check_ranges(one, np.array([3.0, 30.0, 30.0]), np.array([0.5, 0.5, np.nan]))
        >>> applies.tolist(), violated.tolist()
        ([True, True, False], [False, True, False])
        >>> narrow = Ranges("a", "b", (10.0,), (2.97496, 5.0), (2.97512, 6.0))
        >>> [check_ranges(narrow, np.array([3.0]), np.array([2.98]), step=one)[1][0] for one in (0.0, 0.01)]
        [np.True_, np.False_]
    """
    applies = ~np.isnan(given) & ~np.isnan(own)
    codes = np.searchsorted(np.asarray(ranges.edges), np.where(applies, given, 0.0), side="right")
    low, high = np.asarray(ranges.low)[codes], np.asarray(ranges.high)[codes]
    half = step / 2 if step > find_resolution(np.array([ranges.low, ranges.high])) else 0.0
    low, high = low - half, high + half
    return applies, applies & ((own < low) | (own > high))


def _rounded(low: float, high: float) -> tuple[float, float]:
    """Return the ends of a range in as few digits as tell them apart, for a sentence; they are not counted with."""
    if not math.isfinite(high - low):
        return tuple(float(f"{end:.5g}") if math.isfinite(end) else end for end in (low, high))  # type: ignore[return-value]
    digits = 3 - math.floor(math.log10(max(high - low, 1e-12)))
    rounded = round(low, digits), round(high, digits)
    return rounded if rounded[0] < rounded[1] else (low, high)
