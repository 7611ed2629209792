"""Constants: sensors that read one value in all windows that were learned.

A rule about a sensor that never changes says nothing, but that it changes later is worth saying before all else: a
standby pump that never ran and runs now. A constant is a range of one value.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from thence.data.readings.cleaning import quote_names
from thence.data.readings.sensors import Sensor
from thence.data.readings.windows import WindowedReadings
from thence.language.english import format_clause, format_number, format_unit
from thence.language.items import Feature, Item
from thence.language.states import state_key
from thence.statements.keys import key_of_data
from thence.statements.statement import PLAIN, Data, Features, HeldCounts, Kind, SearchTexts, States, Trace, Words

Bools = npt.NDArray[np.bool_]

LEAST_WINDOWS = 20
"""Fewest windows with a reading in which a sensor must have read one value."""
MOST_DECIMALS = 6  # of later readings that are rounded
_COLUMNS = 64


@dataclass(frozen=True, slots=True)
class Constant:
    """A sensor that read one value in all windows.

    Args:
        feature: What the sensor is, with its id, kind, unit and place.
        value: What it read: a state or a number.
        rows: Windows with a reading.

    Examples:
        >>> one = Constant(Feature("s3", label="status", place="Pump 3"), "0", 4032)
        >>> one.sentence()
        'Pump 3 is always off'
        >>> Constant.from_dict(one.to_dict()) == one
        True
    """

    feature: Feature
    value: str | float
    rows: int

    @property
    def sensor(self) -> str:
        """The id of the sensor."""
        return self.feature.subject

    @property
    def key(self) -> str:
        """What identifies the constant: the sensor and what it reads."""
        return key_of_data("constant", [self.sensor, state_key(self.value)])

    @property
    def kind(self) -> Kind:
        """``"range"``: a range of one value."""
        return "range"

    @property
    def about(self) -> Features:
        """The sensor."""
        return Features.of([self.feature])

    @property
    def counts(self) -> HeldCounts:
        """The windows with a reading, in all of which it held."""
        return HeldCounts(self.rows, self.rows)

    @property
    def search_texts(self) -> SearchTexts:
        """The sentence."""
        return SearchTexts.of([], [self.sentence()])

    def sentence(self, words: Words = PLAIN) -> str:
        """Return the constant as a sentence.

        Args:
            words: How to write it.
        """
        subject, verb, value = self._parts(words.features)
        text = f"{subject} is always {value}" if verb == "is" else f"{subject} always {verb} {value}"
        return f"{text} (in all {self.rows:,} windows)" if words.counts else text

    def _parts(self, features: Mapping[str, Feature]) -> tuple[str, str, str]:
        """Subject, verb and value of the sentence."""
        clause = format_clause(Item.is_(features.get(self.sensor) or self.feature, self.value))
        for verb in ("reads", "is"):
            subject, found, value = clause.rpartition(f" {verb} ")
            if found:
                return subject, verb, value
        return self.sensor, "reads", str(self.value)

    def check(self, data: Data) -> States:
        """Return in which windows the sensor reads its value.

        Args:
            data: The data.
        """
        same, known = self._compare(data.readings)
        return States.of(("",), applies=known[None], holds=same[None], missing=~known[None])

    def _compare(self, readings: WindowedReadings) -> tuple[Bools, Bools]:
        """In which windows the sensor reads its value, and in which it reads."""
        if self.sensor in readings.states:
            codes, states = readings.states[self.sensor]
            own = [code for code, state in enumerate(states) if state_key(state) == state_key(self.value)]
            return np.isin(codes, own), np.asarray(codes >= 0)
        at = next((at for at, sensor in enumerate(readings.numeric) if sensor.id == self.sensor), None)
        if at is None:
            return np.zeros(len(readings), bool), np.zeros(len(readings), bool)
        values = np.asarray(readings.values[:, at])
        return same_number(values, self.value), ~np.isnan(values)

    def changed(self, readings: WindowedReadings) -> str:
        """Return a sentence about what the sensor reads now, if it reads anything else.

        Args:
            readings: Later readings.
        """
        same, known = self._compare(readings)
        other = known & ~same
        if not other.any():
            return ""
        first = readings.times_of(self.sensor)[int(other.argmax())]
        counted = f", in {int(other.sum()):,} of {int(known.sum()):,} windows"
        return self.describe_change(self._values_in(readings, other), first, counted)

    def describe_change(self, now: str, since: np.datetime64, counted: str = "") -> str:
        """Return a sentence that says what the sensor reads now and always read before.

        Args:
            now: What it reads now, in words.
            since: Start of the first window in which it does.
            counted: In how many windows, if that is known.
        """
        subject, verb, value = self._parts({})
        past = {"reads": "read", "is": "was"}[verb]
        start = str(since.astype("datetime64[m]")).replace("T", " ")
        return (
            f"{subject} {verb} {now} from {start} UTC on{counted}; it {past} {value} in all {self.rows:,} windows "
            "that were learned"
        )

    def _values_in(self, readings: WindowedReadings, rows: Bools) -> str:
        if self.sensor in readings.states:
            codes, states = readings.states[self.sensor]
            return ", ".join(self.word_of(states[code]) for code in np.unique(codes[rows]).tolist())
        at = next(at for at, sensor in enumerate(readings.numeric) if sensor.id == self.sensor)
        low, high = (float(end(readings.values[rows, at])) for end in (np.min, np.max))
        return self._shown(low) if low == high else f"{format_number(low)} to {self._shown(high)}"

    def word_of(self, value: str | float) -> str:
        """Return a reading of the sensor as its sentences say it.

        Args:
            value: A state or a number.
        """
        return self._shown(value) if isinstance(value, float) else replace(self, value=value)._parts({})[2]

    def _shown(self, number: float) -> str:
        return f"{format_number(number)} {format_unit(self.feature.unit)}".rstrip()

    def traces(self, data: Data, place: str = "") -> tuple[Trace, ...]:
        """Return the readings of the sensor.

        Args:
            data: The data.
            place: The place, which does not matter.
        """
        return data.traces((self.sensor,))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        feature = {"label": self.feature.label, "unit": self.feature.unit, "place": self.feature.place}
        return {"kind": self.kind, "key": self.key, "sensor": self.sensor, **feature, "value": self.value} | {
            "rows": self.rows
        }

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> Constant:
        """Return the constant of ``to_dict``.

        Args:
            record: The fields.

        Raises:
            ValueError: If the value or the number of rows cannot be.
        """
        value, rows = record["value"], operator.index(record["rows"])
        if rows < 1 or not isinstance(value, (str, float, int)) or value != value:
            raise ValueError("a constant needs a value and the number of rows in which it was read")
        sensor, label, unit, place = (str(record[name]) for name in ("sensor", "label", "unit", "place"))
        feature = Feature(sensor, label=label, unit=unit, place=place)
        return Constant(feature, value if isinstance(value, str) else float(value), rows)


def same_number(values: npt.NDArray[np.float64], value: str | float) -> Bools:
    """Return which numbers are a value, or the value rounded to fewer decimals.

    Args:
        values: The numbers.
        value: The value.

    Examples:
        >>> same_number(np.array([2.3456, 2.35, 2.3, 2.4]), 2.3456).tolist()
        [True, True, True, False]
    """
    try:
        number = float(value)
    except ValueError:
        return np.zeros(len(values), bool)
    same = np.isclose(values, number, rtol=1e-9, atol=1e-12)
    for decimals in range(1, MOST_DECIMALS):
        same |= np.isclose(values, round(number, decimals), rtol=1e-9, atol=1e-12)
    return np.asarray(same)


@dataclass(frozen=True)
class Constants(Sequence[Constant]):
    """The constants of a system.

    Args:
        found: The constants, in the order of the sensors.
    """

    found: tuple[Constant, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.found)

    @overload
    def __getitem__(self, at: int) -> Constant: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Constant]: ...
    def __getitem__(self, at: int | slice) -> Constant | Sequence[Constant]:
        return self.found[at]

    def __iter__(self) -> Iterator[Constant]:
        return iter(self.found)

    @property
    def notes(self) -> tuple[str, ...]:
        """One note that names them."""
        if not self.found:
            return ()
        names = quote_names(f"{one.sensor} = {_short(one.value)}" for one in self.found)
        count = f"{len(self)} sensor{'s' * (len(self) > 1)}"
        return (f"{count} never changed, and no rule is about them; a later change is reported first: {names}",)

    def changed(self, readings: WindowedReadings) -> tuple[str, ...]:
        """Return a sentence for each sensor that reads anything else now.

        Args:
            readings: Later readings.
        """
        return tuple(text for one in self.found if (text := one.changed(readings)))

    def to_dict(self) -> dict[str, Any]:
        """Return the constants, ready for JSON."""
        return {"constants": [one.to_dict() for one in self.found]}

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> Constants:
        """Return the constants of ``to_dict``.

        Args:
            record: The fields.
        """
        return Constants(tuple(map(Constant.from_dict, record["constants"])))


def _short(value: str | float) -> str:
    return value if isinstance(value, str) else format_number(value)


def find_constants(readings: WindowedReadings, node_of: Callable[[str], str]) -> Constants:
    """Find the sensors that read one value in all windows.

    Args:
        readings: The readings in windows.
        node_of: The node of a sensor, or an empty string.

    Examples:
        >>> import thence as th
        >>> from thence.data.readings.windows import window
        >>> len(find_constants(window(th.datasets.load("toy").sensors, "1h"), lambda _: ""))
        0
    """
    known = dict(_values_of(readings))
    return Constants(
        tuple(
            Constant(Feature(s.id, label=s.kind, unit=s.unit, place=node_of(s.id)), *known[s.id])
            for s in readings.sensors
            if s.id in known
        )
    )


def _values_of(readings: WindowedReadings) -> Iterable[tuple[str, tuple[str | float, int]]]:
    """Yield the sensors that read one value, with the value and the number of windows."""
    numeric: tuple[Sensor, ...] = readings.numeric
    for start in range(0, len(numeric), _COLUMNS):
        part = np.asarray(readings.values[:, start : start + _COLUMNS])
        counts = (~np.isnan(part)).sum(axis=0)
        low, high = np.fmin.reduce(part, axis=0, initial=np.nan), np.fmax.reduce(part, axis=0, initial=np.nan)
        for at in np.flatnonzero((counts >= LEAST_WINDOWS) & (low == high)).tolist():
            yield numeric[start + at].id, (float(low[at]), int(counts[at]))
    for id, (codes, states) in readings.states.items():
        present = codes[codes >= 0]
        # A state that lasted less than half a window is in none of them: it is among the states that were read.
        if len(states) == 1 and len(present) >= LEAST_WINDOWS:
            yield id, (states[int(present[0])], len(present))
