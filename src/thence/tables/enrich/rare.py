"""How rare switches are in a table: a search with a higher ``min_support`` finds no rule about them.

This module counts rows of columns; it builds none.
"""

from __future__ import annotations

import numpy as np

from thence._base.display.percent import percent
from thence.language.time_names import TimeForm
from thence.tables.blocks import Column
from thence.tables.transactions import TransactionTable

COMMON = 0.02
"""Switches in a larger share of the rows are not rare."""


def note_switches(table: TransactionTable) -> tuple[str, ...]:
    """Say in which share of the rows the most frequent switch is, if there are switches and all are rare.

    Args:
        table: The table.
    """
    shares = [
        _largest_share(column)
        for block in table.blocks
        for column in block.columns
        if column.feature.time is not None and column.feature.time.form is TimeForm.SWITCH
    ]
    largest = max(shares, default=0.0)
    if not 0 < largest < COMMON:
        return ()
    return (
        f"the most frequent switch is in {percent(largest, 'digits', 2)} of its rows: "
        "rules about switches need a min_support below that",
    )


def _largest_share(column: Column) -> float:
    """Share of the rows with a known value in which the most frequent switch of a column is."""
    readers = np.bincount(column.series[column.series >= 0], minlength=len(column.codes))
    known = int((column.codes >= 0).sum(axis=1) @ readers)
    switches = [code for code, value in enumerate(column.values) if value is not False]
    most = max((int((column.codes == code).sum(axis=1) @ readers) for code in switches), default=0)
    return most / known if known else 0.0
