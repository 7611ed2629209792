"""The readings of a site as plain series by sensor, and the states in which something may hold.

What runs says most about a plant, so a state that reads on, a status of 1, or a flow, a power or a speed above almost
nothing may be the condition of a formula. This module prepares; it fits and chooses nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from thence.data.graph.discovery import Carriers
from thence.data.readings.windows import WindowedReadings
from thence.search.laws.slots import Slot
from thence.search.laws.trials import Times
from thence.statements.laws.terms import ON_OFF, Condition

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_RUNNING = frozenset({"flow", "power", "speed"})
_OFF = frozenset({"off", "closed", "false", "0", "no", "stopped", "inactive", "unoccupied", "idle", "standby"})
_LITTLE = 0.05  # of the 95 % quantile: at most this, nothing runs
_RARE = 0.03  # smallest share of the rows in which something runs, and in which it does not
_MOST_STATES, _MOST_GUARDS, _MOST_FAR = 4, 4, 4


@dataclass(frozen=True, eq=False)
class Guard:
    """A condition that a formula may have.

    Args:
        condition: The condition.
        slot: The sensor that it is about.
        met: In which rows it is met.
        known: In which rows the sensor reads anything.
        is_status: Whether it is a state, not a quantity that is above almost nothing.
    """

    condition: Condition
    slot: Slot
    met: Bools
    known: Bools
    is_status: bool


@dataclass(frozen=True, eq=False)
class SiteData:
    """The readings of a site.

    Args:
        readings: The readings of all sites.
        slots: What each sensor of the site may be.
        times: The times of its rows.
        carriers: The graph and the nodes that carry sensors.
    """

    readings: WindowedReadings
    slots: tuple[Slot, ...]
    times: Times
    carriers: Carriers

    def property_of(self, slot: Slot, name: str) -> float:
        """Return a numeric property of the node of a sensor; 0 without a name, NaN if the node has none.

        Args:
            slot: The sensor.
            name: The name of the property.
        """
        if not name:
            return 0.0
        if not slot.node:
            return float("nan")
        value = self.carriers.index.graph.node(slot.node).properties.get(name)
        return float(value) if isinstance(value, (int, float)) else float("nan")

    def knows_property(self, name: str, slots: Iterable[Slot]) -> bool:
        """Return whether the nodes of most sensors have a numeric property.

        Args:
            name: The name of the property.
            slots: The sensors.
        """
        known = [self.property_of(slot, name) for slot in slots]
        return 2 * int((~np.isnan(known)).sum()) > len(known)

    def in_flow_order(self, node: str, ends: Sequence[str]) -> Sequence[str]:
        """Return the two ends of a node with the one in front first: that from which an edge comes.

        Args:
            node: The node that is passed.
            ends: Its two neighbours.
        """
        sources = {edge.source for edge in self.carriers.index.graph.in_edges(node)}
        return sorted(ends, key=lambda end: end not in sources)

    @cached_property
    def _column(self) -> Mapping[str, int]:
        return {sensor.id: at for at, sensor in enumerate(self.readings.numeric)}

    def is_numeric(self, slot: Slot) -> bool:
        """Return whether a sensor reads numbers.

        Args:
            slot: The sensor.
        """
        return slot.id in self._column

    @cached_property
    def numeric(self) -> tuple[Slot, ...]:
        """The sensors that read numbers and vary."""
        return tuple(slot for slot in self.slots if self.is_numeric(slot) and self._varies(slot))

    def _varies(self, slot: Slot) -> bool:
        values = self.values(slot)
        known = values[~np.isnan(values)]
        return len(known) > 1 and bool((known != known[0]).any())

    def values(self, slot: Slot) -> Floats:
        """Return the readings of a sensor.

        Args:
            slot: The sensor.
        """
        return np.ascontiguousarray(self.readings.values[: len(self.times.times), self._column[slot.id]])

    @cached_property
    def guards(self) -> tuple[Guard, ...]:
        """All conditions that a formula of the site may have, states first."""
        found = [guard for slot in self.slots for guard in self._guards_of(slot)]
        return tuple(sorted(found, key=lambda guard: not guard.is_status))

    def _guards_of(self, slot: Slot) -> Iterator[Guard]:
        size = len(self.times.times)
        if not self.is_numeric(slot):
            codes, names = self.readings.states[slot.id]
            codes = codes[:size]
            if len(names) <= _MOST_STATES:
                for number, name in enumerate(names):
                    if name.lower() not in _OFF:
                        condition = Condition("state", slot.name, name)
                        yield from self._if_both(Guard(condition, slot, codes == number, codes >= 0, True))
            return
        values = self.values(slot)
        known = ~np.isnan(values)
        if not known.any() or slot.is_setpoint:
            return
        if set(np.unique(values[known][:5_000]).tolist()) <= {0.0, 1.0}:
            condition = Condition("above", slot.name, repr(ON_OFF))
            yield from self._if_both(Guard(condition, slot, values > ON_OFF, known, True))
        elif slot.quantity in _RUNNING and not slot.is_driver:
            limit = float(f"{_LITTLE * np.quantile(values[known], 0.95):.1g}")
            if limit > 0:
                condition = Condition("above", slot.name, repr(limit), slot.unit)
                yield from self._if_both(Guard(condition, slot, values > limit, known, False))

    def _if_both(self, guard: Guard) -> Iterator[Guard]:
        share = float(guard.met[guard.known].mean()) if guard.known.any() else 0.0
        if _RARE <= share <= 1 - _RARE:
            yield guard

    def guards_for(self, terms: Sequence[Slot], *, own_only: bool = False) -> list[Guard]:
        """Return the conditions that a formula of some sensors may have, those of its own place first.

        Args:
            terms: The sensors.
            own_only: Whether only states of the same place count.
        """
        own = {slot.id for slot in terms}
        places = [slot for slot in terms if not slot.is_driver] or list(terms)
        usable = [g for g in self.guards if g.slot.id not in own and (g.is_status or not own_only)]

        def distance(guard: Guard) -> int:
            if any(guard.slot.is_with(slot) for slot in places):
                return 0
            return 1 if any(guard.slot.is_near(slot) for slot in places) else 2

        far = [guard for guard in usable if distance(guard) == 2 and guard.is_status]
        chosen = [g for g in usable if distance(g) < (1 if own_only else 2)]
        if not own_only and len(far) <= _MOST_FAR:
            chosen += far
        return sorted(chosen, key=lambda guard: (not guard.is_status, distance(guard)))[:_MOST_GUARDS]
