"""Mining with a report in the run folder: what ``th.mine`` is."""

from __future__ import annotations

from thence.report.run_report import with_report
from thence.runs import pipeline

__all__ = ["mine"]

mine = with_report(pipeline.mine)
