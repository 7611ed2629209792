"""The baselines of the paper behind the protocol of all miners, and the table of numbers that some of them mine.

Examples:
    >>> import thence as th
    >>> table = th.transactions(th.datasets.load("toy"), windows="1h", bins=3)
    >>> len(th.baselines.FPGrowth().mine(table)) == len(th.Exact().mine(table))
    True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from thence._base.lazy import lazy_names

if TYPE_CHECKING:
    from thence.lab.baselines.arm_ae import ARMAE as ARMAE
    from thence.lab.baselines.exhaustive import FPGrowth as FPGrowth
    from thence.lab.baselines.exhaustive import HMine as HMine
    from thence.lab.baselines.narm import TSNARM as TSNARM
    from thence.lab.baselines.semrl import NaiveSemRL as NaiveSemRL
    from thence.runs.preparation import feature_table as feature_table

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "lab.baselines.arm_ae": ("ARMAE",),
        "lab.baselines.exhaustive": ("FPGrowth", "HMine"),
        "lab.baselines.narm": ("TSNARM",),
        "lab.baselines.semrl": ("NaiveSemRL",),
        "runs.preparation": ("feature_table",),
    },
)
