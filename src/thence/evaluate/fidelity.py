"""How well one rule set stands for another: recall and precision of a neural miner against the exact one."""

from __future__ import annotations

from thence.rules.ruleset import RuleSet

__all__ = ["fidelity"]


def fidelity(rules: RuleSet, exact: RuleSet) -> dict[str, float]:
    """Recall, precision and overlap of ``rules`` against ``exact``, rule by rule.

    Recall is the share of exact rules that were found, precision the share of found rules that are exact ones; both
    are 1 where there is nothing to find.

    >>> import polars as pl, thence as th
    >>> table = th.TransactionTable.from_frame(pl.DataFrame({"a": ["x", "y"] * 5, "b": ["u", "v"] * 5}))
    >>> exact = th.Exact().mine(table)
    >>> th.fidelity(exact[:2], exact)
    {'recall': 0.5, 'precision': 1.0, 'jaccard': 0.5}
    """
    ours, theirs = set(rules), set(exact)
    both = len(ours & theirs)
    either = len(ours | theirs)
    return {
        "recall": both / len(theirs) if theirs else 1.0,
        "precision": both / len(ours) if ours else 1.0,
        "jaccard": both / either if either else 1.0,
    }
