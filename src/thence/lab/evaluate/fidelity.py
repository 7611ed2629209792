"""Fidelity: recall and precision of the rules of one miner against those of an exact miner.

Rules are compared as they are; nothing is mined or counted here.
"""

from __future__ import annotations

from thence.statements.rules.ruleset import RuleSet

__all__ = ["fidelity"]


def fidelity(rules: RuleSet, exact: RuleSet) -> dict[str, float]:
    """Compare a rule set with the exact one: recall, precision and Jaccard similarity.

    Two rules are the same if they have the same pattern and the same items; their counts are not compared. Use the same
    thresholds for both, or recall and precision also measure the difference between the thresholds.

    Args:
        rules: Rules to evaluate, such as those of ``th.Aerial``.
        exact: Reference: all rules of the same table within the thresholds, such as those of ``th.Exact``.

    Returns:
        A dict with the keys ``recall`` (share of ``exact`` that is in ``rules``; 1 if ``exact`` is empty),
        ``precision`` (share of ``rules`` that is in ``exact``; 1 if ``rules`` is empty) and ``jaccard`` (rules in both
        sets, divided by rules in either; 1 if both are empty).

    Examples:
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
