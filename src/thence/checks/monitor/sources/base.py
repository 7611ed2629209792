"""What a source of readings is, and what it delivers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from threading import Event
from typing import Any, Protocol

from thence.checks.monitor.batches import Batch


def _nothing() -> None:
    return


@dataclass(frozen=True, eq=False)
class Delivery:
    """Some readings of a source.

    Args:
        batch: The readings, in the order of their arrival.
        rejected: How many messages or readings could not be used, by reason.
        position: Where the source would go on after these readings; ``None`` if it cannot go back.
        acknowledge: Called when the readings are safe on disk.
    """

    batch: Batch
    rejected: Counter[str] = field(default_factory=Counter)
    position: Any = None
    acknowledge: Callable[[], None] = _nothing


class Source(Protocol):
    """Where readings come from.

    ``needs_journal`` tells whether readings that were acknowledged are lost to the source.
    """

    needs_journal: bool

    def deliveries(self, stop: Event, position: Any) -> Iterator[Delivery]:
        """Yield deliveries until there are no more, or ``stop`` is set; an empty one if nothing came for a while.

        Args:
            stop: Set when the monitor is to stop.
            position: Where to go on; ``None`` for the beginning.
        """
        ...

    def facts(self) -> dict[str, float]:
        """Return numbers about the source, for metrics."""
        ...
