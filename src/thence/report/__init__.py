"""What people look at: a run as a dict (``report.json``) and as one page (``report.html``).

The package has the name of the function ``th.report``, so it can be called like it:

>>> import thence as th
>>> run = th.mine(th.datasets.load("toy"), windows="1h", bins=3, progress="off")
>>> th.report(run)
RunReport('toy': 12 rules, 9 evidence cards)
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thence.report.run_report import RunReport


class _Report(ModuleType):
    """The package as a function; Python binds its name in ``thence`` to it as soon as a module of it is imported."""

    def __call__(self, *args: Any, **kwargs: Any) -> RunReport:
        from thence.report.run_report import report

        return report(*args, **kwargs)


sys.modules[__name__].__class__ = _Report
