"""How many processors torch may use for a piece of work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["one_thread"]


@contextmanager
def one_thread(wanted: bool = True) -> Iterator[None]:
    """Let torch work on one processor: small layers gain nothing from more, and lose much where others compute.

    Its threads spin while they wait for each other; on a busy machine that costs ten times the work itself.
    """
    import torch

    if not wanted:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
