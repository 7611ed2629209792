"""Prediction: the value of one column by the best rule that applies to a row.

Rules are ordered by their Laplace accuracy ``(n_both + 1) / (n_antecedent + k)``, where ``k`` is the number of values
that the rules conclude: a rule that held 3 times of 3 is trusted less than one that held 97 times of 100. Ties go to
the higher support, then to the shorter rule, then to the order of the items. Nothing here counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from thence.errors import ConfigError, nearest
from thence.tables.matching import BoolArray, Matcher, column_of, plain_value

if TYPE_CHECKING:
    from thence.statements.rules.ruleset import RuleSet


def laplace_accuracy(
    n_both: npt.NDArray[np.int64], n_antecedent: npt.NDArray[np.int64], classes: int
) -> npt.NDArray[np.float64]:
    """Return the Laplace accuracy of rules.

    Args:
        n_both: Rows in which each rule holds.
        n_antecedent: Rows in which its antecedent holds.
        classes: Number of values that a row can have.

    Examples:
        >>> laplace_accuracy(np.array([3, 97]), np.array([3, 100]), 2).round(3).tolist()
        [0.8, 0.961]
    """
    return np.asarray((n_both + 1) / (n_antecedent + classes), dtype=np.float64)


def order_best_first(rules: RuleSet, *, classes: int) -> npt.NDArray[np.int64]:
    """Return the positions of the rules, the most trusted first.

    Args:
        rules: The rules.
        classes: Number of values that a row can have.
    """
    accuracy = laplace_accuracy(rules.counts.n_both, rules.counts.n_antecedent, classes)
    return np.lexsort([rules._tie_break, rules.measure("antecedents"), -rules.measure("support"), -accuracy])


def match_rules(rules: RuleSet, frame: Any) -> BoolArray:
    """Return which rules apply to which rows of a frame, as a matrix (rows × rules).

    Args:
        rules: The rules.
        frame: A polars, pandas or Arrow frame.
    """
    _refuse_lifted(rules)
    matcher = Matcher(rules.items, frame, used=np.unique(rules.antecedents[rules.antecedents >= 0]))
    out = np.empty((matcher.n_rows, len(rules)), bool, order="F")
    for r, numbers in enumerate(rules.antecedents.tolist()):
        out[:, r] = matcher.antecedent(numbers)
    return out


def _refuse_lifted(rules: RuleSet) -> None:
    if rules.pattern_of is not None and (rules.pattern_of >= 0).any():
        raise ConfigError(
            "lifted rules are about places in a graph, not about rows of a frame",
            hint="count the rules on a table: th.evaluate.count_rules(rules, th.transactions(…, like=run))",
        )


def predict_rows(rules: RuleSet, frame: Any, *, target: str | None, default: Any) -> npt.NDArray[Any]:
    """Return the value that the best applicable rule concludes for each row; ``default`` where no rule applies.

    Args:
        rules: The rules.
        frame: A polars, pandas or Arrow frame.
        target: The column to predict; it may be left out if all rules conclude about the same column.
        default: The value of rows to which no rule applies.

    Raises:
        ConfigError: If the rules conclude about several columns, or none about ``target``.
    """
    _refuse_lifted(rules)
    rules = _about(rules, target)
    values = list(dict.fromkeys(rules.consequents.tolist()))
    matcher = Matcher(rules.items, frame, used=np.unique(rules.antecedents[rules.antecedents >= 0]))
    chosen = np.full(matcher.n_rows, -1, np.int64)
    open_rows = np.ones(matcher.n_rows, bool)
    for r in order_best_first(rules, classes=max(len(values), 2)).tolist():
        if not open_rows.any():
            break
        hits = matcher.antecedent(rules.antecedents[r].tolist()) & open_rows
        chosen[hits] = rules.consequents[r]
        open_rows &= ~hits
    return _as_array([default if at < 0 else plain_value(rules.items[at]) for at in chosen.tolist()])


def _about(rules: RuleSet, target: str | None) -> RuleSet:
    """The rules whose consequent is about the target."""
    names = {number: column_of(rules.items[number].feature) for number in np.unique(rules.consequents).tolist()}
    # One that joins several items is about no single column.
    known = sorted({name for name in names.values() if name is not None})
    if target is None and len(known) > 1:
        shown = ", ".join(f"'{name}'" for name in known[:5]) + (" …" if len(known) > 5 else "")
        raise ConfigError(f"the rules conclude about several columns: {shown}", hint=f"pass target='{known[0]}', say")
    if target is None or not len(rules):
        return rules
    if target not in known:
        raise ConfigError(f"no rule concludes about '{target}'", hint=nearest(target, known) or f"pass '{known[0]}'")
    return rules.take(np.array([names[number] == target for number in rules.consequents.tolist()], bool))


def _as_array(values: Sequence[Any]) -> npt.NDArray[Any]:
    """An array of integers, floats or truth values where all are such; otherwise of objects."""
    types = {type(value) for value in values}
    if types == {bool}:
        return np.array(values, dtype=bool)
    if types and types <= {float, int}:
        numbers = np.array(values, dtype=np.float64)
        whole = np.isfinite(numbers).all() and (numbers == np.round(numbers)).all()
        return numbers.astype(np.int64) if whole else numbers
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out
