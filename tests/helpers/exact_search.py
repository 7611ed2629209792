"""The exact search on plain arrays, called with all its options at once."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from thence.search.exact.search import RuleBlock, SearchInput, mine_exact
from thence.tables.bitmaps.bits import Words

_RUNNING = ("near", "executor", "device", "max_rules", "block_rules", "threads")


def mine_arrays(bitmaps: Words, **options: Any) -> Generator[RuleBlock]:
    """Search bitmaps; options are those of ``SearchInput.of`` and of ``mine_exact``."""
    running = {name: options.pop(name) for name in _RUNNING if name in options}
    return mine_exact(SearchInput.of(bitmaps, **options), **running)
