"""Evaluation of rules and miners: exact counts, bounds, exceptions, sites, comparison, fidelity and generalisation.

Nothing in this package mines by itself: miners and tables come from ``thence.search`` and ``thence.runs.preparation``.

Examples:
    >>> import thence as th
    >>> table = th.transactions(th.datasets.load("toy"), windows="1h", bins=3)
    >>> rules = th.Exact(min_confidence=0.9).mine(table)
    >>> len(th.evaluate.count_rules(rules, table)) == len(rules)
    True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from thence._base.lazy import lazy_names

if TYPE_CHECKING:
    from thence.lab.evaluate.comparison import compare as compare
    from thence.lab.evaluate.comparison import fidelity as fidelity
    from thence.lab.evaluate.generalisation import generalise as generalise
    from thence.search.refine.counterexamples import find_exceptions as find_exceptions
    from thence.statements.counting.assurance import add_confidence_bound as add_confidence_bound
    from thence.statements.counting.by_place import by_site as by_site
    from thence.statements.counting.recount import count_rules as count_rules

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "lab.evaluate.comparison": ("compare", "fidelity"),
        "lab.evaluate.generalisation": ("generalise",),
        "search.refine.counterexamples": ("find_exceptions",),
        "statements.counting.assurance": ("add_confidence_bound",),
        "statements.counting.by_place": ("by_site",),
        "statements.counting.recount": ("count_rules",),
    },
)
