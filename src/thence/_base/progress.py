"""Progress of long work: a callback protocol, and an implementation that draws bars on a terminal.

Nothing is shown unless a caller asks for it, and bars are drawn on terminals only.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol

from thence.errors import ConfigError

FIRST_RUN = "compiling, only on the first run"
"""The note of a stage that has to compile its kernels."""


class Progress(Protocol):
    """A callback that receives the progress of one stage of the work."""

    def __call__(self, stage: str, done: float, total: float, note: str = "") -> None:
        """Receive the progress of a stage.

        Args:
            stage: The name of the stage.
            done: The work done so far.
            total: The total work; 0 if unknown.
            note: A short remark.
        """


def silent(stage: str, done: float, total: float, note: str = "") -> None:
    """Ignore the progress.

    >>> silent("mining", 1, 10)
    """


@contextmanager
def bars(*, enabled: bool | None = None) -> Iterator[Progress]:
    """Draw progress bars on standard error, one per stage.

    Args:
        enabled: Whether to draw; by default only if standard error is a terminal.

    Yields:
        The callback.

    Examples:
        >>> with bars(enabled=False) as progress:
        ...     progress("mining", 5, 10)
    """
    if not (sys.stderr.isatty() if enabled is None else enabled):
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress

    columns = (
        TextColumn("{task.description:<12}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}"),
    )
    tasks: dict[str, TaskID] = {}
    with RichProgress(*columns, console=Console(stderr=True), transient=True) as drawing:

        def show(stage: str, done: float, total: float, note: str = "") -> None:
            if stage not in tasks:
                tasks[stage] = drawing.add_task(stage, total=total or None, note=note)
            drawing.update(tasks[stage], completed=done, total=total or None, note=note)

        yield show


def show_progress(progress: str | bool | Progress) -> AbstractContextManager[Progress]:
    """Return the progress that a user asks for, as a context manager.

    Args:
        progress: ``"auto"`` (bars on a terminal), ``"on"`` or ``True``, ``"off"`` or ``False``, or a function.
    """
    if callable(progress):
        return nullcontext(progress)
    known: dict[str | bool, bool | None] = {"auto": None, "on": True, "off": False, True: True, False: False}
    if not isinstance(progress, (str, bool)) or progress not in known:
        raise ConfigError(f"unknown value of 'progress': '{progress}'", hint="'auto', 'on', 'off' or a function")
    return bars(enabled=known[progress])
