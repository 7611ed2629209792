"""A sequential test of rules: does the confidence of a rule still reach its bound?

The test bets against the rule. Time is cut into blocks. In a block with n rows in which the rule applies, v of them
violated, a bet of size λ multiplies a capital of 1 by ``1 + λ (v / n − q)``, where q is the largest share of violations
that the bound allows. If, given all blocks before, at most the share q is expected, the capital is not expected to
grow, whichever λ was chosen, and neither is the mean of several capitals with different λ. By Ville's inequality the
probability that it *ever* reaches 1 / α is then at most α: the test may be looked at after every block, for ever.

Blocks are what makes this usable on readings with memory: violations that follow each other within a block are one
observation. The assumption that remains is that one block says little about the violations of the next.

The bets are those of Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", JRSS B 86
(2024), with a fixed mixture instead of adapted bets. Plain arrays only; this module knows no rules.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

BETS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7)
"""Sizes of the bets, as shares of the largest one that cannot lose more than the capital."""
_LEAST = 700.0  # a capital below exp(−700) is none


def stake(capital: Floats, placed: npt.ArrayLike) -> Floats:
    """Return the logarithms of all capitals with a part of what is set aside added, before the next bet.

    A rule may fail after it has held for long, and all bets on that are lost by then. So only a part of the capital of
    1 is staked at first, and a smaller one before each later bet, 1 / ((t + 1) (t + 2)) before bet t: all parts
    together are 1, and what is set aside neither grows nor shrinks.

    Args:
        capital: Matrix (rules × bets) of logarithms of capitals, −∞ at the start.
        placed: Number of bets that each rule has had.

    Examples:
        >>> np.exp(stake(np.full((2, 1), -np.inf), [0, 1])).round(3).tolist()
        [[0.5], [0.167]]
    """
    before = np.asarray(placed, np.float64)[:, None]
    return np.asarray(np.logaddexp(capital, -np.log((before + 1) * (before + 2))))


def bet(capital: Floats, *, share: npt.ArrayLike, allowed: npt.ArrayLike) -> Floats:
    """Return the logarithms of all capitals after one block.

    Args:
        capital: Matrix (rules × bets) of logarithms of capitals.
        share: The share of violations of each rule in the block; NaN where it did not apply, so that nothing is bet.
        allowed: The largest share of violations that is allowed, above 0 and below 1.

    Examples:
        >>> capital = bet(np.zeros((1, len(BETS))), share=[1.0], allowed=[0.1])
        >>> np.exp(capital[0, -1]).round(3).item()
        7.3
    """
    x, q = np.asarray(share, np.float64)[:, None], np.asarray(allowed, np.float64)[:, None]
    factor = 1 + np.array(BETS) / q * (x - q)
    return np.asarray(capital + np.where(np.isnan(x), 0.0, np.log(np.where(np.isnan(x), 1.0, factor))))


def evidence(capital: Floats) -> Floats:
    """Return the logarithm of the mean capital of each rule.

    Args:
        capital: Matrix (rules × bets) of logarithms of capitals.

    Examples:
        >>> evidence(np.zeros((2, len(BETS)))).tolist()
        [0.0, 0.0]
    """
    top = np.maximum(capital.max(axis=1, keepdims=True), -_LEAST)
    return np.asarray(top[:, 0] + np.log(np.maximum(np.exp(capital - top).mean(axis=1), np.exp(-_LEAST))))


def threshold(false_alarm: float, *, n_rules: int, restarts: npt.ArrayLike = 0) -> Floats:
    """Return the logarithm of the capital at which a rule is said not to hold.

    All rules together raise a false alarm with at most the given probability, however long they are watched. A test
    that was started again after an alarm has half of the probability of the one before.

    Args:
        false_alarm: Probability that any rule that still holds is ever said not to.
        n_rules: Number of rules.
        restarts: How often the test of each rule was started again.

    Examples:
        >>> np.exp(threshold(0.01, n_rules=10)).round(6).item()
        2000.0
    """
    return np.asarray(np.log(n_rules / false_alarm) + (np.asarray(restarts) + 1) * np.log(2.0))
