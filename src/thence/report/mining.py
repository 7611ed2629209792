"""Mining with a report in the run folder: what ``th.mine`` is."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from thence.runs import pipeline
from thence.runs.run import Run

__all__ = ["mine", "with_report"]

P = ParamSpec("P")


def with_report(mine: Callable[P, Run]) -> Callable[P, Run]:
    """Return a function that mines and then writes the report into the run folder, if there is one.

    Args:
        mine: The function that mines.
    """

    @wraps(mine)
    def mine_and_report(*args: P.args, **kwargs: P.kwargs) -> Run:
        run = mine(*args, **kwargs)
        if run.path is None:
            return run
        # What makes a report need not be loaded where none is made.
        from thence.report.run_report import add_report

        return add_report(run)

    return mine_and_report


mine = with_report(pipeline.mine)
