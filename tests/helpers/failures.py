"""Whether the net below explanations was used: ``thence.errors.attempt`` logs an error when it was."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


class _Records(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@contextmanager
def logged_failures() -> Iterator[list[logging.LogRecord]]:
    """Yield the records of what failed within the block."""
    handler, log = _Records(), logging.getLogger("thence.errors")
    log.addHandler(handler)
    try:
        yield handler.records
    finally:
        log.removeHandler(handler)


@contextmanager
def no_failures() -> Iterator[None]:
    """Fail if anything failed within the block that ``attempt`` has caught."""
    with logged_failures() as records:
        yield
    assert not records, [(record.getMessage(), record.exc_info) for record in records]
