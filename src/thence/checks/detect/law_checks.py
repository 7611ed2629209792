"""Laws as evidence: at which places a law is violated in each frame, and a violated one in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from thence.checks.detect.evidence import Broken, EvidenceTally, EvidenceTarget, readings_at, tell_change
from thence.data.graph.system import System
from thence.data.readings.windows import WindowedReadings
from thence.statements.laws.counting import carriers_of, check_rows, known_places
from thence.statements.laws.forms import Rows
from thence.statements.laws.law import Law, Laws
from thence.statements.laws.places import Places


@dataclass(frozen=True)
class LawChecks:
    """Laws; their counts are those of held-out normal time.

    Args:
        laws: The laws, each with its counts at the places that keep it.
    """

    laws: Laws

    def judged(self, readings: WindowedReadings, system: System, *, most: float) -> LawChecks:
        """Return the laws with the counts of held-out readings, at the places that keep them there.

        Args:
            readings: The held-out readings.
            system: The system that they belong to.
            most: Greatest share of violated rows at a place.
        """
        out = []
        for number, places, factors in self._at_places(readings, system):
            law = self.laws[number]
            kept = {one.place: one for one in law.by_place if one.rows and one.share >= law.min_confidence}
            rows, held = np.zeros(len(places), np.int64), np.zeros(len(places), np.int64)
            for frames in places.blocks():
                _, applies, holds = check_rows(law, places, frames, factors)
                rows += applies.sum(axis=0)
                held += holds.sum(axis=0)
            counts = tuple(
                replace(kept[id], rows=int(n), held=int(k), later_rows=int(n), later_held=int(k), apart=0)
                for id, n, k in zip(places.ids, rows, held, strict=True)
                if id in kept and n and n - k <= most * n
            )
            if counts:
                out.append(replace(law, by_place=counts))
        return LawChecks(Laws(tuple(out)))

    def _at_places(
        self, readings: WindowedReadings, system: System
    ) -> Iterator[tuple[int, Places, npt.NDArray[np.float64] | None]]:
        """Yield each law that can be checked with the places that it is known at, and its factors there."""
        usable = [law for law in self.laws if law.names_sensors or system.graph is not None]
        if not usable:
            return
        carriers = carriers_of(usable, readings, system)
        for number, law in enumerate(self.laws):
            if law not in usable:
                continue
            found = known_places(law, readings, carriers)
            if found is not None and len(found[0]):
                yield number, *found

    def tally(self, readings: WindowedReadings, system: System) -> EvidenceTally:
        """Return the evidence of all frames, by law and place.

        Args:
            readings: The readings.
            system: The system that they belong to.
        """
        targets: list[EvidenceTarget] = []
        applicable, violated = [np.zeros((0, len(readings)))], [np.zeros((0, len(readings)))]
        for number, places, factors in self._at_places(readings, system):
            weights = np.array([self._weight(self.laws[number], id) for id in places.ids])
            own, broken = (np.zeros((len(places), len(readings))) for _ in range(2))
            for frames in places.blocks():
                _, applies, holds = check_rows(self.laws[number], places, frames, factors)
                own[:, frames] = applies.T * weights[:, None]
                broken[:, frames] = (applies & ~holds).T * weights[:, None]
            targets += [EvidenceTarget("law", f"{number} at {id}", id) for id in places.ids]
            applicable.append(own)
            violated.append(broken)
        return EvidenceTally(tuple(targets), np.concatenate(applicable), np.concatenate(violated))

    @staticmethod
    def _weight(law: Law, place: str) -> float:
        one = next(one for one in law.by_place if one.place == place)
        return -math.log((one.rows - one.held + 0.5) / (one.rows + 1))

    def broken_at(self, readings: WindowedReadings, system: System, frame: int) -> list[Broken]:
        """Return the laws that are violated in a frame, in words.

        Args:
            readings: The readings.
            system: The system that they belong to.
            frame: The number of the frame.
        """
        out = []
        frames = np.array([frame])
        for number, places, factors in self._at_places(readings, system):
            law = self.laws[number]
            _, applies, holds = check_rows(law, places, frames, factors)
            for at in np.flatnonzero(applies[0] & ~holds[0]).tolist():
                place = places.take(np.array([at]))
                own = None if factors is None else factors[[at]]
                counts = next(one for one in law.by_place if one.place == place.ids[0])
                sensors = sorted(
                    id for _, id in place.sensors_of(law.left, law.right)[0] if not id.startswith("property ")
                )
                out.append(
                    Broken(
                        "law",
                        law.statement,
                        place.ids[0],
                        readings_at(readings, frame, sensors),
                        self._change(law, place, frames, own),
                        counts.rows,
                        counts.rows - counts.held,
                        (place.ids[0],),
                        EvidenceTarget("law", f"{number} at {place.ids[0]}", place.ids[0]),
                    )
                )
        return out

    @staticmethod
    def _change(law: Law, place: Places, frames: npt.NDArray[np.int64], factors: npt.NDArray[np.float64] | None) -> str:
        """The distance to the band: the first quantity on the left side would have to change by it."""
        if not law.definition.is_bounded:
            return law.definition.remedy
        rows = Rows(law, place, frames, factors)
        gap = float(rows.residual[0, 0])
        missing = max(abs(gap) - float(np.ravel(rows.allowed)[0]), 0.0)
        sign, term = law.left[0]
        what = f"the change of {term.name} per hour" if term.change else term.name
        return tell_change(what, -sign * missing if gap > 0 else sign * missing, term.unit)

    def to_dict(self) -> dict[str, Any]:
        """Return the laws, ready for JSON."""
        return {"laws": self.laws.to_dict()}

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> LawChecks:
        """Return the laws of ``to_dict``.

        Args:
            record: The fields.
        """
        return LawChecks(Laws.from_dict(record["laws"]))
