"""Evidence: what statements are about, how much of them is violated in each frame, and a violated one in words.

Rules, laws, ranges and controls all give the same evidence, so that the detector need not tell them apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from thence.data.readings.windows import WindowedReadings
from thence.language.english import format_number, format_unit
from thence.statements.statement import Kind

Floats = npt.NDArray[np.float64]
Family = Kind | Literal["residual"]


class EvidenceTarget(NamedTuple):
    """What statements are about.

    Args:
        family: Whether the statements are rules, laws, ranges or controls, or what is expected of a sensor.
        subject: The sensor, the number of the law and the place, or the control in words.
        node: The node of the graph that it belongs to; empty if it belongs to none.
    """

    family: Family
    subject: str
    node: str


@dataclass(frozen=True, eq=False)
class EvidenceTally:
    """How much of the statements about each target applies and is violated, frame by frame.

    Args:
        targets: The targets.
        applicable: Targets × frames: the weights of the statements that apply.
        violated: Targets × frames: the weights of those that are violated.
    """

    targets: tuple[EvidenceTarget, ...]
    applicable: Floats
    violated: Floats

    @property
    def shares(self) -> Floats:
        """The violated share of what applies, targets × frames; NaN where nothing applies."""
        out = np.full(self.applicable.shape, np.nan)
        np.divide(self.violated, self.applicable, out=out, where=self.applicable > 0)
        return out


def join_tallies(tallies: Sequence[EvidenceTally], n_frames: int) -> EvidenceTally:
    """Return several tallies as one.

    Args:
        tallies: The tallies, of different targets.
        n_frames: Number of frames.
    """
    empty = np.zeros((0, n_frames))
    return EvidenceTally(
        tuple(target for tally in tallies for target in tally.targets),
        np.concatenate([empty, *(tally.applicable for tally in tallies)]),
        np.concatenate([empty, *(tally.violated for tally in tallies)]),
    )


class Reading(NamedTuple):
    """A reading that is part of a violated statement.

    Args:
        sensor: Id of the sensor.
        value: What it reads.
        unit: Its unit.
    """

    sensor: str
    value: float | str
    unit: str


@dataclass(frozen=True)
class Broken:
    """A statement that is violated in a frame.

    Args:
        family: Whether it is a rule, a law or a range.
        statement: The statement in words.
        place: The node, or the sensor where there is no graph.
        readings: The readings that break it.
        change: The smallest change of a reading that would satisfy it, in words; empty if there is none.
        rows: Rows of held-out normal time in which it applied.
        violated: Rows of these in which it was violated.
        path: Nodes of the graph between what is given and what is concluded.
        target: What it is about.
        normal: What normal time was like, if it is not counted in rows.
    """

    family: Family
    statement: str
    place: str
    readings: tuple[Reading, ...]
    change: str
    rows: int
    violated: int
    path: tuple[str, ...]
    target: EvidenceTarget
    normal: str = ""

    @property
    def normal_rate(self) -> float:
        """Share of held-out normal rows in which it was violated."""
        return self.violated / self.rows if self.rows else float("nan")

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        return {
            "family": self.family,
            "statement": self.statement,
            "place": self.place,
            "readings": [reading._asdict() for reading in self.readings],
            "change": self.change,
            "normal_rows": self.rows,
            "normal_violated": self.violated,
            "path": list(self.path),
            **({"normal": self.normal} if self.normal else {}),
        }


def tell_change(what: str, needed: float, unit: str) -> str:
    """Return in words by how much a reading would have to change.

    Args:
        what: The reading.
        needed: The change; positive if it would have to be higher.
        unit: Its unit.

    Examples:
        >>> tell_change("demand_14", -1671.3, "m3/h")
        'demand_14 lower by 1,670 m³/h'
    """
    amount = format_number(float(f"{abs(needed):.3g}"))
    return f"{what} {'higher' if needed > 0 else 'lower'} by {amount}{' ' + format_unit(unit) if unit else ''}"


def take_frames(readings: WindowedReadings, chosen: npt.NDArray[Any]) -> WindowedReadings:
    """Return some frames of windowed readings.

    Args:
        readings: The readings.
        chosen: A mask or positions of frames.
    """
    return replace(
        readings,
        times=readings.times[chosen],
        values=readings.values[chosen],
        states={name: (codes[chosen], known) for name, (codes, known) in readings.states.items()},
        derived={name: values[chosen] for name, values in readings.derived.items()},
        derived_states={
            name: {id: (codes[chosen], known) for id, (codes, known) in states.items()}
            for name, states in readings.derived_states.items()
        },
    )


def readings_at(readings: WindowedReadings, frame: int, sensors: Sequence[str]) -> tuple[Reading, ...]:
    """Return what some sensors read in a frame; those without a reading are left out.

    Args:
        readings: The readings.
        frame: The number of the frame.
        sensors: The ids of the sensors, each named once.
    """
    column = {sensor.id: at for at, sensor in enumerate(readings.numeric)}
    unit = {sensor.id: sensor.unit for sensor in readings.sensors}
    out = []
    for id in dict.fromkeys(sensors):
        value: float | str
        if id in column:
            value = float(readings.values[frame, column[id]])
            if np.isnan(value):
                continue
        elif id in readings.states and readings.states[id][0][frame] >= 0:
            codes, known = readings.states[id]
            value = known[codes[frame]]
        else:
            continue
        out.append(Reading(id, value, unit.get(id, "")))
    return tuple(out)
