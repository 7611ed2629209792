"""Transaction tables: discretization, blocks of columns, and the enrichments that build them.

Nothing here counts rules or searches for them.

Examples:
    >>> import polars as pl, thence as th
    >>> numbers = th.tables.FeatureTable.from_frame(pl.DataFrame({"flow": [1.0, 2.0, 3.0, 4.0]}))
    >>> numbers.discretize(th.tables.Discretizer(bins=2)).n_items
    2
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from thence._base.lazy import lazy_names

if TYPE_CHECKING:
    from thence.tables.discretization import Discretizer as Discretizer
    from thence.tables.transactions import FeatureTable as FeatureTable

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "tables.discretization": ("Discretizer",),
        "tables.transactions": ("FeatureTable",),
    },
)
