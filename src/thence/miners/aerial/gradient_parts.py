"""Gradients of a batch in parts that are added in a fixed order, computed here or by several machines.

A sum of floating-point numbers depends on the order of its terms. A batch is therefore cut in the same places wherever
its parts are computed, and the parts are added in the same order: the network is the same, bit for bit, on processors
of one kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from typing import Any, Protocol

import torch
from torch import Tensor

__all__ = ["AddHere", "AddTogether", "Adder", "join_group", "split_evenly"]

PIECE = 1 << 22
"""Numbers that are sent at once: 16 MB, whatever the size of the network."""

PATIENCE = timedelta(minutes=10)
"""How long a member waits for the others."""


class Adder(Protocol):
    """Who computes the parts of a sum and adds them."""

    def add(self, compute: Callable[[int], Tensor], count: int, size: int) -> Tensor:
        """Return the sum of ``compute(0)``, ``compute(1)`` and so on, added in this order.

        Args:
            compute: Returns a part: a new vector.
            count: The number of parts, at least one.
            size: The length of the vectors.
        """


@dataclass(frozen=True)
class AddHere:
    """Compute all parts in this process.

    Examples:
        >>> AddHere().add(lambda part: torch.full((2,), float(part)), 3, 2).tolist()
        [3.0, 3.0]
    """

    def add(self, compute: Callable[[int], Tensor], count: int, size: int) -> Tensor:
        """Return the sum of all parts; see ``Adder``."""
        total = compute(0)
        for part in range(1, count):
            total.add_(compute(part))
        return total


@dataclass(frozen=True)
class AddTogether:
    """Compute some of the parts, send them to the other members of a group, and add those of all.

    Args:
        rank: The number of this member.
        members: The number of members, each of which has joined the group.
    """

    rank: int
    members: int

    def add(self, compute: Callable[[int], Tensor], count: int, size: int) -> Tensor:
        """Return the sum of all parts; see ``Adder``."""
        import torch.distributed as group

        total = torch.empty(size)
        for first in range(0, count, self.members):
            own = compute(first + self.rank) if first + self.rank < count else torch.zeros(size)
            for low in range(0, size, PIECE):
                piece = own[low : low + PIECE]
                found = [torch.empty_like(piece) for _ in range(self.members)]
                group.all_gather(found, piece)
                for number, one in enumerate(found[: count - first]):
                    if first == number == 0:
                        total[low : low + PIECE].copy_(one)
                    else:
                        total[low : low + PIECE].add_(one)
        return total


@contextmanager
def join_group(store: Any, rank: int, members: int) -> Iterator[AddTogether]:
    """Join the other members of a group, and leave them at the end.

    Args:
        store: The ``TCPStore`` at which the members meet.
        rank: The number of this member.
        members: The number of members.

    Yields:
        Who adds the parts of all members.
    """
    import torch.distributed as group

    group.init_process_group("gloo", store=store, rank=rank, world_size=members, timeout=PATIENCE)
    try:
        yield AddTogether(rank, members)
    finally:
        group.destroy_process_group()


def split_evenly(rows: int, parts: int, unit: int = 1) -> list[slice]:
    """Cut rows into at most so many slices of nearly the same length.

    Args:
        rows: The number of rows.
        parts: The largest number of slices; none is empty.
        unit: Slices hold a multiple of so many rows.

    Examples:
        >>> [(part.start, part.stop) for part in split_evenly(10, 4, unit=2)]
        [(0, 2), (2, 4), (4, 6), (6, 10)]
    """
    units = rows // unit
    count = max(1, min(parts, units))
    bounds = [units * at // count * unit for at in range(count)] + [rows]
    return [slice(low, high) for low, high in pairwise(bounds)]
