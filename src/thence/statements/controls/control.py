"""Controls: what makes an actuator switch, as records with their counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, overload

import polars as pl

from thence.language.items import Feature, Item
from thence.statements.controls.sentences import (
    format_cause,
    format_control,
    format_controls,
    format_details,
    format_event,
    group_controls,
)
from thence.statements.controls.switches import ON
from thence.statements.controls.thresholds import Tally
from thence.statements.keys import key_of_data
from thence.statements.rules.ruleset import Rule
from thence.statements.statement import (
    PLAIN,
    Data,
    Features,
    HeldCounts,
    Kind,
    SearchTexts,
    States,
    Trace,
    Words,
    item_texts,
)

Direction = Literal["above", "below", "at"]


@dataclass(frozen=True)
class Control:
    """What makes an actuator switch: a threshold of a reading, or a time of day.

    A switch is *explained* if the reading passed the threshold in the window of the switch, in one of the two windows
    before, or would have passed it in that window at the pace of the window before: such switches are counted apart, as
    within one step. A *crossing* is such a passage while the actuator is in the state before; it is *followed* if it
    explains a switch.

    Args:
        actuator_feature: The sensor of the actuator.
        from_state: Its state before.
        to_state: Its state after.
        sensor_feature: The reading, or ``None`` for a time of day.
        direction: ``"above"`` if the reading rises above the threshold, ``"below"`` if it falls below it, and ``"at"``
            for a time of day.
        threshold: The threshold in the unit of the reading, or the time in seconds after midnight.
        low: Lower end of the interval that agrees with most switches, or the earliest time.
        high: Upper end of that interval, or the latest time.
        tally: Counts on all data: switches, explained, crossings, followed, and those within one step.
        later: Counts on the later part of the data, with a threshold that was found on the earlier part.
        agreement: 2 · hits / (armed moments + switches): 1 if every switch and no other moment is armed.
        premise: A second condition, on the state of another actuator, the hour or the day of the week.
        together: The places of other actuators that switch at the same moments.
        alternatives: Ids of other sensors that agree with the switches nearly as well, best first.
        smoothed: How many windows were joined to one to find it: the reading is averaged over them.

    Examples:
        >>> pump = Feature("s9", label="status", place="Pump 9")
        >>> level = Feature("l2", label="level", unit="m", place="Tank 2")
        >>> control = Control(pump, "open", "closed", level, "above", 42.67, 42.66, 42.68, Tally(28, 28, 28, 28),
        ...                   Tally(14, 14, 14, 14), 0.99)
        >>> print(control.english.replace(" (", "\\n("))
        Pump 9 closes when the level of Tank 2 rises above 42.67 m
        (between 42.66 and 42.68 m; 28 of 28 times)
        >>> Control.from_dict(control.to_dict()) == control
        True
    """

    actuator_feature: Feature
    from_state: str
    to_state: str
    sensor_feature: Feature | None
    direction: Direction
    threshold: float
    low: float
    high: float
    tally: Tally
    later: Tally
    agreement: float
    premise: Item | None = None
    together: tuple[str, ...] = ()
    alternatives: tuple[str, ...] = ()
    smoothed: int = 1

    @property
    def actuator(self) -> str:
        """The id of the sensor of the actuator."""
        return self.actuator_feature.subject

    @property
    def sensor(self) -> str:
        """The id of the sensor whose reading makes the actuator switch; empty for a time of day."""
        return "" if self.sensor_feature is None else self.sensor_feature.subject

    @property
    def unit(self) -> str:
        """The unit of the threshold."""
        return "s" if self.sensor_feature is None else self.sensor_feature.unit

    @property
    def numeric(self) -> bool:
        """Whether the actuator is a sensor of numbers that starts and stops, and not of states."""
        return ON in (self.from_state, self.to_state)

    @property
    def english(self) -> str:
        """The control as a sentence."""
        return format_control(self)

    @property
    def rule(self) -> Rule | None:
        """The control as a rule between items of one window: past the threshold, the actuator is in the state after.

        ``None`` for a time of day, for a numeric actuator, and for a reading that is averaged.
        """
        if self.sensor_feature is None or self.numeric or self.smoothed > 1:
            return None
        operator = ">=" if self.direction == "above" else "<="
        condition = Item.compare(self.sensor_feature, operator, self.threshold)
        premises = () if self.premise is None else (self.premise,)
        return Rule((condition, *premises), Item.is_(self.actuator_feature, self.to_state))

    @property
    def key(self) -> str:
        """What identifies the control: which switch depends on which reading and premise, without the threshold."""
        switch = [self.actuator, self.from_state, self.to_state]
        premise = None if self.premise is None else str(self.premise)
        return key_of_data("control", [*switch, self.sensor, self.direction, premise])

    @property
    def kind(self) -> Kind:
        """``"control"``."""
        return "control"

    @property
    def about(self) -> Features:
        """What the actuator, the reading and the premise are about, and the actuators that switch with it."""
        premise = None if self.premise is None else self.premise.feature
        about = Features.of(one for one in (self.actuator_feature, self.sensor_feature, premise) if one is not None)
        return replace(about, places=(*about.places, *self.together))

    @property
    def counts(self) -> HeldCounts:
        """Switches, and those that the control explains."""
        all, later = ((one.switches, one.explained) for one in (self.tally, self.later))
        return HeldCounts(*all, *later, by_place={self.actuator_feature.place: all})

    @property
    def search_texts(self) -> SearchTexts:
        """The cause, the switch, and the rest of the sentence."""
        cause = format_cause(self)
        ids = [self.sensor, *([] if self.premise is None else [item_texts(self.premise)])]
        return SearchTexts.of([cause, *ids], [format_event(self), self.actuator], self.together)

    def sentence(self, words: Words = PLAIN) -> str:
        """Return the control as a sentence.

        Args:
            words: How to write it.
        """
        return self.english if words.counts else format_control(self, counts=False)

    def check(self, data: Data) -> States:
        """Return at which windows the actuator switched as the control says, or otherwise.

        Args:
            data: The data.
        """
        from thence.statements.controls.counting import control_states

        return control_states(self, data.readings, timezone=data.timezone)

    def traces(self, data: Data, place: str = "") -> tuple[Trace, ...]:
        """Return the readings of the sensor, of the premise and of the actuator.

        Args:
            data: The data.
            place: The place, of which a control has one.
        """
        premise = "" if self.premise is None else self.premise.feature.subject
        return data.traces(dict.fromkeys((self.sensor, premise, self.actuator)))

    def __str__(self) -> str:
        return self.english

    def to_dict(self) -> dict[str, Any]:
        """Return the control as a dict that JSON can hold."""
        out: dict[str, Any] = {
            "kind": self.kind,
            "key": self.key,
            "actuator": self.actuator_feature.to_dict(),
            "from_state": self.from_state,
            "to_state": self.to_state,
            "sensor": None if self.sensor_feature is None else self.sensor_feature.to_dict(),
            "direction": self.direction,
            "threshold": self.threshold,
            "low": self.low,
            "high": self.high,
            "agreement": self.agreement,
            "premise": None if self.premise is None else self.premise.to_dict(),
            "together": list(self.together),
            "alternatives": list(self.alternatives),
            "smoothed": self.smoothed,
        }
        for name, tally in (("all", self.tally), ("later", self.later)):
            out[name] = {key: getattr(tally, key) for key in _COUNTS}
        return out

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Control:
        """Build a control from the dict that ``to_dict`` returns.

        Args:
            data: The dict.
        """
        return Control(
            actuator_feature=Feature.from_dict(data["actuator"]),
            from_state=data["from_state"],
            to_state=data["to_state"],
            sensor_feature=None if data["sensor"] is None else Feature.from_dict(data["sensor"]),
            direction=data["direction"],
            threshold=data["threshold"],
            low=data["low"],
            high=data["high"],
            tally=Tally(**data["all"]),
            later=Tally(**data["later"]),
            agreement=data["agreement"],
            premise=None if data["premise"] is None else Item.from_dict(data["premise"]),
            together=tuple(data["together"]),
            alternatives=tuple(data["alternatives"]),
            smoothed=int(data.get("smoothed", 1)),
        )


_COUNTS = ("switches", "explained", "crossings", "followed", "near")


class Controls(Sequence[Control]):
    """Controls, best first.

    Args:
        controls: The controls, in order.
        notes: What was left out and why, one sentence each.

    Examples:
        >>> print(Controls([]))
        no controls found
        >>> Controls([], notes=["1 change occurs too rarely"]).notes
        ('1 change occurs too rarely',)
    """

    __slots__ = ("_controls", "notes")

    notes: tuple[str, ...]

    def __init__(self, controls: Iterable[Control], *, notes: Iterable[str] = ()) -> None:
        self._controls = tuple(controls)
        self.notes = tuple(notes)

    @overload
    def __getitem__(self, index: int) -> Control: ...
    @overload
    def __getitem__(self, index: slice) -> Controls: ...
    def __getitem__(self, index: int | slice) -> Control | Controls:
        if isinstance(index, slice):
            return Controls(self._controls[index], notes=self.notes)
        return self._controls[index]

    def __len__(self) -> int:
        return len(self._controls)

    def __iter__(self) -> Iterator[Control]:
        return iter(self._controls)

    @property
    def sentences(self) -> list[str]:
        """The controls as sentences, the changes of one actuator that depend on one reading in one sentence."""
        return format_controls(self._controls)

    @property
    def details(self) -> list[str]:
        """What each of the sentences leaves out: crossings, switches near a threshold, and the later part."""
        ordered = (
            sorted((self._controls[at] for at in members), key=lambda one: one.threshold)
            for members in group_controls(self._controls)
        )
        return [format_details(own) for own in ordered]

    def __str__(self) -> str:
        return "\n".join(self.sentences) or "no controls found"

    def __repr__(self) -> str:
        return f"Controls({len(self)} of {len({control.actuator for control in self})} actuators)"

    def to_polars(self) -> pl.DataFrame:
        """Return a frame with one row per control."""
        rows = [
            {
                "actuator": control.actuator,
                "actuator_place": control.actuator_feature.place,
                "from_state": control.from_state,
                "to_state": control.to_state,
                "sensor": control.sensor or None,
                "sensor_place": None if control.sensor_feature is None else control.sensor_feature.place,
                "direction": control.direction,
                "threshold": control.threshold,
                "low": control.low,
                "high": control.high,
                "unit": control.unit,
                **{name: getattr(control.tally, name) for name in _COUNTS},
                **{f"later_{name}": getattr(control.later, name) for name in _COUNTS},
                "agreement": control.agreement,
                "premise": None if control.premise is None else str(control.premise),
                "smoothed": control.smoothed,
                "english": control.english,
            }
            for control in self
        ]
        return pl.DataFrame(rows, schema=_SCHEMA, orient="row")

    def to_dict(self) -> dict[str, Any]:
        """Return all controls with their counts, ready for JSON."""
        return {"controls": [control.to_dict() for control in self], "notes": list(self.notes)}

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> Controls:
        """Return the controls of ``to_dict``.

        Args:
            record: The controls and notes.
        """
        return Controls((Control.from_dict(one) for one in record["controls"]), notes=record["notes"])


_TEXT, _NUMBER, _WHOLE = pl.String, pl.Float64, pl.Int64
_SCHEMA: dict[str, Any] = {
    **dict.fromkeys(("actuator", "actuator_place", "from_state", "to_state", "sensor", "sensor_place"), _TEXT),
    "direction": _TEXT,
    **dict.fromkeys(("threshold", "low", "high"), _NUMBER),
    "unit": _TEXT,
    **dict.fromkeys((*_COUNTS, *(f"later_{name}" for name in _COUNTS)), _WHOLE),
    "agreement": _NUMBER,
    "premise": _TEXT,
    "smoothed": _WHOLE,
    "english": _TEXT,
}
