"""Conformance checks that every miner must pass, for the miners of this package and of plug-ins.

Each check is a function that takes a miner and raises an ``AssertionError`` that says what is wrong. The checks run the
miner on small tables and compare its counts with those of a count row by row in plain Python; they must not use
``thence.statements.counting``.

>>> from thence.search.exact.miner import Exact
>>> miner = Exact(min_support=0.1)
>>> for check in yield_checks(miner):
...     check(miner)

In a test suite::

    @pytest.mark.parametrize("check", list(yield_checks(MyMiner())), ids=lambda check: check.__name__)
    def test_conformance(check):
        check(MyMiner())

Which checks apply depends on class attributes of the miner:

- ``exhaustive``: it finds every rule within ``min_support``, ``min_confidence`` and ``max_antecedents``. Its rules are
  compared with an enumeration of all rules.
- ``order_free``: it finds the same rules in whatever order the columns are, although it does not find every rule.
- ``enrichment``: it mines tables of this enrichment only. The checks then use such a table.

A miner that is neither ``exhaustive`` nor ``order_free`` may find other rules if the order of the columns changes, but
a rule that is found in both orders must have the same counts.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from thence.errors import ThenceError
from thence.language.constraints import ItemFilter
from thence.language.items import Aspect, Feature, Interval, Item, Role, Value
from thence.search.base import Miner, as_miner, make_miner, settings_of
from thence.statements.rules.bounds import as_fraction
from thence.statements.rules.ruleset import Rule, RuleSet
from thence.tables.admissibility import item_masks, trivial_pairs
from thence.tables.blocks import Block, Column
from thence.tables.transactions import FeatureTable, TransactionTable

Table = TransactionTable | FeatureTable
Observed = Value | Interval | None
Counted = tuple[int, int, int, int]


def plain_rows(table: Table) -> list[dict[Feature, Observed]]:
    """Return every row of ``table`` as a mapping from features to values; ``None`` is a missing value."""
    if isinstance(table, FeatureTable):
        return [
            {
                feature: None if math.isnan(value) else value if known is None else known[int(value)]
                for feature, known, value in zip(table.features, table.categories, row.tolist(), strict=True)
            }
            for row in table.numbers
        ]
    return [
        {
            column.feature: None if code < 0 else column.values[code]
            for column, code in zip(block.columns, row.tolist(), strict=True)
        }
        for block in table.blocks
        for row in block.flat()
    ]


def brute_force_counts(rule: Rule, table: Table) -> Counted:
    """Count the rows of a table for one rule.

    Args:
        rule: The rule to count.
        table: The table to count in.

    Returns:
        Four counts over the rows in which no feature of the rule is missing: all of them, those in which the antecedent
        holds, in which the consequent holds, and in which both hold.

    Examples:
        >>> import polars as pl
        >>> table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "x", "y", None], "b": ["u", "v", "u", "u"]}))
        >>> rule = Rule((Item.is_(table.features[0], "x"),), Item.is_(table.features[1], "u"))
        >>> brute_force_counts(rule, table)
        (3, 2, 2, 1)
    """
    return count_rows(plain_rows(table), rule.antecedent, rule.consequent)


def count_rows(rows: list[dict[Feature, Observed]], antecedent: tuple[Item, ...], consequent: Item) -> Counted:
    """Count the rows of ``plain_rows`` for one rule; see ``brute_force_counts``."""
    n = left = right = both = 0
    for row in rows:
        if any(row[item.feature] is None for item in (*antecedent, consequent)):
            continue
        has_left = all(item.holds(row[item.feature]) for item in antecedent)
        has_right = consequent.holds(row[consequent.feature])
        n, left, right, both = n + 1, left + has_left, right + has_right, both + (has_left and has_right)
    return n, left, right, both


def brute_force_rules(
    table: TransactionTable, *, min_support: float, min_confidence: float, max_antecedents: int
) -> dict[Rule, Counted]:
    """Enumerate all rules of a table with one block that reach the thresholds and hold in at least one row.

    Args:
        table: The table to mine.
        min_support: Minimum support, compared exactly as the decimal number that it prints as.
        min_confidence: Minimum confidence, compared in the same way.
        max_antecedents: Maximum number of items in an antecedent.

    Returns:
        The rules with their counts.
    """
    block, rows = table.blocks[0], plain_rows(table)
    left, right = item_masks(block)
    trivial = trivial_pairs(block)
    support, confidence = as_fraction(min_support), as_fraction(min_confidence)
    out: dict[Rule, Counted] = {}
    for size in range(1, max_antecedents + 1):
        for chosen in itertools.combinations(np.flatnonzero(left).tolist(), size):
            for consequent in np.flatnonzero(right).tolist():
                members = (*chosen, consequent)
                pairs = list(itertools.combinations(members, 2))
                if len({int(block.column_of_item[i]) for i in members}) <= size or (
                    trivial is not None and any(trivial[a, b] for a, b in pairs)
                ):
                    continue
                rule = Rule(tuple(block.item(i) for i in chosen), block.item(consequent))
                counts = n, x, _, b = count_rows(rows, rule.antecedent, rule.consequent)
                if b and Fraction(b, n) >= support and Fraction(b, x) >= confidence:
                    out[rule] = counts
    return out


_NO_NOTE = "an empty rule set must have a note that says why it is empty"
Check = Callable[[Miner], None]
"""A conformance check: it takes a miner and raises ``AssertionError`` if the miner fails."""


def yield_checks(miner: Miner, *, exhaustive: bool | None = None) -> Iterator[Check]:
    """Yield the checks that apply to a miner.

    Args:
        miner: The miner to check.
        exhaustive: Overrides the class attribute ``exhaustive`` of the miner.

    Yields:
        The checks; call each of them with the miner.
    """
    yield check_protocol
    yield check_finds_something
    yield check_form_of_rules
    yield check_counts_equal_brute_force
    yield check_counts_with_missing_values
    yield check_input_is_not_changed
    yield check_same_settings_same_rules
    yield check_global_random_state_is_left_alone
    yield check_progress
    yield check_empty_table
    yield check_one_row
    yield check_constant_table
    yield check_column_of_missing_values
    yield check_constraints
    yield check_wrong_kind_of_table
    traits = as_miner(miner)
    finds_all = traits.exhaustive if exhaustive is None else exhaustive
    if finds_all:
        yield check_equals_brute_force
        yield check_equals_brute_force_with_missing_values
    if finds_all or traits.order_free:
        yield check_column_order_does_not_matter
    else:
        yield check_column_order_does_not_change_counts


def sample_table(miner: Miner, *, rows: int = 48, missing: float = 0.0, constant: bool = False) -> Table:
    """Create a small table of the kind that a miner reads: two numbers and two categories, most of them dependent.

    Args:
        miner: The miner that is to mine the table.
        rows: Number of rows.
        missing: Share of missing values.
        constant: Repeat the first row, so that no column ever changes.

    Returns:
        A ``FeatureTable`` if ``miner.wants`` is ``"numbers"``, otherwise a ``TransactionTable``; the same on every
        call.

    Examples:
        >>> from thence.search.exact.miner import Exact
        >>> sample_table(Exact(), rows=5).n_rows
        5
    """
    draw = np.random.default_rng(7)
    load = draw.integers(0, 3, rows).astype(float)
    numbers = np.stack(
        [
            load + draw.uniform(0, 0.5, rows),
            10 - 2 * load + draw.uniform(0, 1.5, rows),
            np.where(draw.random(rows) < 0.9, load > 1, draw.random(rows) < 0.5).astype(float),
            draw.integers(0, 3, rows).astype(float),
        ],
        axis=1,
    )
    if constant:
        numbers[:] = numbers[:1]
    numbers[draw.random(numbers.shape) < missing] = np.nan
    return _build_table(miner, numbers)


def _build_table(miner: Miner, numbers: np.ndarray[Any, Any]) -> Table:
    features = (
        Feature("s1", label="flow", place="P1"),
        Feature("s2", label="pressure", place="J1"),
        Feature("s3", label="valve", place="V1"),
        Feature("s4", label="mode", place="V1"),
    )
    raw = FeatureTable(features, numbers, (None, None, ("off", "on"), ("a", "b", "c")))
    if miner.wants == "numbers":
        return raw
    columns = tuple(_discretize(raw, at) for at in range(4))
    if as_miner(miner).enrichment == "existential":
        columns = tuple(truth for column in columns for truth in _existential_columns(column))
        return TransactionTable((Block(columns, len(numbers)),), "existential")
    return TransactionTable((Block(columns, len(numbers)),))


def _discretize(raw: FeatureTable, at: int) -> Column:
    values, known = raw.numbers[:, at], raw.categories[at]
    if known is not None:
        codes = np.where(np.isnan(values), -1, values).astype(np.int16)
        return Column(raw.features[at], known, codes[None, :])
    bin_edges = (-math.inf, 1.0, 2.0, math.inf) if at == 0 else (-math.inf, 7.0, 9.0, math.inf)
    bins = tuple(Interval(a, b) for a, b in itertools.pairwise(bin_edges))
    codes = np.where(np.isnan(values), -1, np.searchsorted(bin_edges[1:-1], values, side="right")).astype(np.int16)
    return Column(raw.features[at], bins, codes[None, :])


def _existential_columns(column: Column) -> Iterator[Column]:
    """Yield a boolean column per value ("some such sensor reads this"), and one with a condition that always holds."""
    owner = column.feature
    reading = Feature("", Aspect.MEASUREMENT, role=Role.SOME, label=owner.label)
    condition = Item.is_(Feature("", Aspect.PROPERTY, "place", role=Role.SOME), owner.place)
    for code, value in enumerate(column.values):
        held = np.where(column.codes < 0, -1, column.codes == code).astype(np.int16)
        for conditions in ((), (condition,)):
            statement = Feature("", role=Role.SOME, label=owner.label, where=(*conditions, Item.is_(reading, value)))
            yield Column(statement, (False, True), held, minable=(False, True))


def _counts_of(rules: RuleSet) -> dict[Rule, Counted]:
    counts = rules.counts
    arrays = [array.tolist() for array in (counts.n, counts.n_antecedent, counts.n_consequent, counts.n_both)]
    return dict(zip(rules, zip(*arrays, strict=True), strict=True))


def check_protocol(miner: Miner) -> None:
    """The miner has ``name``, ``wants`` and ``mine``, and ``mine`` returns a ``RuleSet``."""
    assert isinstance(miner, Miner), f"{miner!r} must have the attributes name and wants and a method mine()"
    assert miner.name and miner.name == miner.name.lower(), f"name must be a lower-case string, got {miner.name!r}"
    assert miner.wants in ("codes", "numbers"), f"wants must be 'codes' or 'numbers', got {miner.wants!r}"
    found = miner.mine(sample_table(miner))
    assert isinstance(found, RuleSet), f"mine() must return a RuleSet, got {type(found).__name__}"


def check_finds_something(miner: Miner) -> None:
    """The miner finds rules in the sample table; without rules, the other checks would check nothing."""
    table = sample_table(miner)
    hint = "check it with lower thresholds, or other settings that suit a small table"
    assert len(miner.mine(table)), f"no rules found in the sample table of {table.n_rows} rows: {hint}"


def check_form_of_rules(miner: Miner) -> None:
    """No rule is a duplicate, has an empty antecedent, repeats a feature, or has items that the table does not have."""
    table = sample_table(miner)
    rules = list(miner.mine(table))
    assert len(set(rules)) == len(rules), f"{len(rules) - len(set(rules))} of {len(rules)} rules are duplicates"
    for rule in rules:
        features = [item.feature for item in (*rule.antecedent, rule.consequent)]
        assert rule.antecedent, f"the antecedent is empty: {rule}"
        assert len(set(features)) == len(features), f"a feature occurs more than once: {rule}"
    if isinstance(table, TransactionTable):
        block = table.blocks[0]
        minable = {block.item(int(i)) for i in np.flatnonzero(block.minable)}
        for rule in rules:
            assert minable.issuperset((*rule.antecedent, rule.consequent)), (
                f"an item is not a minable item of the table: {rule}"
            )


def check_counts_equal_brute_force(miner: Miner) -> None:
    """The counts of every rule equal those of a count row by row."""
    _compare_counts(miner, sample_table(miner))


def check_counts_with_missing_values(miner: Miner) -> None:
    """The counts are right if a fifth of the values is missing."""
    _compare_counts(miner, sample_table(miner, missing=0.2))


def _compare_counts(miner: Miner, table: Table) -> None:
    rows = plain_rows(table)
    for rule, counted in _counts_of(miner.mine(table)).items():
        expected = count_rows(rows, rule.antecedent, rule.consequent)
        assert counted == expected, (
            f"wrong counts of {rule}: (n, n_antecedent, n_consequent, n_both) must be {expected}, got {counted}"
        )


def check_equals_brute_force(miner: Miner) -> None:
    """An exhaustive miner finds all rules that reach its thresholds, and no others."""
    _compare_rules(miner, sample_table(miner, rows=30))


def check_equals_brute_force_with_missing_values(miner: Miner) -> None:
    """An exhaustive miner finds all rules if a fifth of the values is missing."""
    _compare_rules(miner, sample_table(miner, rows=30, missing=0.2))


def _compare_rules(miner: Miner, table: Table) -> None:
    assert isinstance(table, TransactionTable), (
        "a miner with wants = 'numbers' cannot be exhaustive: its rules cannot be enumerated"
    )
    bounds = settings_of(miner)
    thresholds = {name: bounds[name] for name in ("min_support", "min_confidence", "max_antecedents")}
    found, expected = _counts_of(miner.mine(table)), brute_force_rules(table, **thresholds)
    missed, surplus = expected.keys() - found.keys(), found.keys() - expected.keys()
    assert not missed, f"{len(missed)} of {len(expected)} rules were not found, such as {next(iter(missed))}"
    assert not surplus, f"{len(surplus)} rules do not reach the thresholds, such as {next(iter(surplus))}"
    assert found == expected, "all rules were found, but some of their counts are wrong"


def check_input_is_not_changed(miner: Miner) -> None:
    """The miner does not change the table."""
    table = sample_table(miner, missing=0.1)
    before = [array.copy() for array in _arrays(table)]
    miner.mine(table)
    for old, new in zip(before, _arrays(table), strict=True):
        assert np.array_equal(old, new, equal_nan=old.dtype.kind == "f"), "mine() has changed the table; copy it first"


def _arrays(table: Table) -> list[np.ndarray[Any, Any]]:
    if isinstance(table, FeatureTable):
        return [table.numbers]
    return [array for block in table.blocks for column in block.columns for array in (column.codes, column.series)]


def check_same_settings_same_rules(miner: Miner) -> None:
    """A second run, also of a new miner with the same settings, gives the same rules in the same order."""
    table = sample_table(miner)
    first = miner.mine(table)
    runs = {"a second run": miner, "a new miner with the same settings": _recreate(miner)}
    for label, other in runs.items():
        again = other.mine(table)
        assert set(again) == set(first), f"{label} found different rules: seed every random choice"
        assert list(again) == list(first), f"{label} returned the same rules in a different order"
        assert _counts_of(again) == _counts_of(first), f"{label} returned different counts"
        assert again.extras.keys() == first.extras.keys(), (
            f"{label} returned different extra columns: {sorted(again.extras)} instead of {sorted(first.extras)}"
        )
        for name, column in first.extras.items():
            assert np.array_equal(column, again.extras[name]), f"{label} returned different values of '{name}'"


def _recreate(miner: Miner) -> Miner:
    return make_miner(type(miner), **settings_of(miner)) if dataclasses.is_dataclass(miner) else miner


def check_global_random_state_is_left_alone(miner: Miner) -> None:
    """The miner neither seeds nor draws from the global random generators of ``random``, NumPy and PyTorch."""
    before = _random_states()
    miner.mine(sample_table(miner))
    for name, state in _random_states().items():
        assert name not in before or state == before[name], (
            f"mine() has changed the global random state of {name}: use a generator of its own"
        )


def _random_states() -> Mapping[str, Any]:
    import sys

    # The legacy global generator of NumPy is read on purpose: a miner might use it.
    states: dict[str, Any] = {"random": random.getstate(), "numpy": repr(np.random.get_state())}  # noqa: NPY002
    torch = sys.modules.get("torch")
    if torch is not None:
        states["torch"] = torch.random.get_rng_state().tolist()
    return states


def check_progress(miner: Miner) -> None:
    """Reported progress has a stage and is between 0 and the total."""
    reported: list[tuple[str, float, float]] = []

    def listen(stage: str, done: float, total: float, note: str = "") -> None:
        reported.append((stage, done, total))

    miner.mine(sample_table(miner), progress=listen)
    for stage, done, total in reported:
        assert stage, "progress was reported without a stage"
        assert 0 <= done <= (total or math.inf), f"progress of '{stage}' is out of range: {done} of {total}"


def check_empty_table(miner: Miner) -> None:
    """A table without rows gives an empty rule set with a note."""
    rules = miner.mine(sample_table(miner, rows=0))
    assert len(rules) == 0, f"a table without rows must give no rules, got {len(rules)}"
    assert rules.notes, _NO_NOTE


def check_one_row(miner: Miner) -> None:
    """A table with one row does not fail, and the counts are right."""
    _compare_counts(miner, sample_table(miner, rows=1))


def check_constant_table(miner: Miner) -> None:
    """In a table whose columns never change there are no rules: every antecedent implies a constant."""
    table = sample_table(miner, constant=True)
    rules = miner.mine(table)
    for rule in rules:
        assert brute_force_counts(rule, table)[2] == 0, f"the consequent is a constant: {rule}"
    assert len(rules) or rules.notes, _NO_NOTE


def check_column_of_missing_values(miner: Miner) -> None:
    """A column in which every value is missing is in no rule, or all counts of that rule are 0."""
    table = sample_table(miner)
    if isinstance(table, FeatureTable):
        numbers = table.numbers.copy()
        numbers[:, 0] = np.nan
        table = dataclasses.replace(table, numbers=numbers)
        empty = {table.features[0]}
    else:
        block = table.blocks[0]
        empty = {c.feature for c in block.columns if c.feature.label == "flow"}
        columns = tuple(
            dataclasses.replace(c, codes=np.full_like(c.codes, -1)) if c.feature in empty else c for c in block.columns
        )
        table = dataclasses.replace(table, blocks=(dataclasses.replace(block, columns=columns),))
    for rule, counted in _counts_of(miner.mine(table)).items():
        touched = empty.intersection(item.feature for item in (*rule.antecedent, rule.consequent))
        assert not touched or counted == (0, 0, 0, 0), (
            f"a column without values is in a rule with counts {counted}: {rule}"
        )


def check_constraints(miner: Miner) -> None:
    """Constraints on antecedents and consequents are met, or refused with a ``ThenceError``."""
    for side in ("antecedent", "consequent"):
        wanted = ItemFilter(kind=("pressure", "valve"))
        try:
            rules = make_miner(type(miner), **{**settings_of(miner), side: wanted}).mine(sample_table(miner))
        except ThenceError as refusal:
            assert str(refusal), f"a constraint on the {side} was refused without a message"
            continue
        for rule in rules:
            items = rule.antecedent if side == "antecedent" else (rule.consequent,)
            assert all(wanted.matches(item) for item in items), f"the constraint on the {side} is not met: {rule}"


def check_wrong_kind_of_table(miner: Miner) -> None:
    """A table of the wrong kind is refused with a ``ThenceError``."""
    other = dataclasses.make_dataclass("Other", [("wants", str), ("name", str)])
    wrong = sample_table(other("codes" if miner.wants == "numbers" else "numbers", "other"))
    try:
        miner.mine(wrong)
    except ThenceError as refusal:
        assert str(refusal), "a table of the wrong kind was refused without a message"
        return
    raise AssertionError(
        f"a miner with wants = '{miner.wants}' must refuse a {type(wrong).__name__} with a ThenceError, but accepted it"
    )


def _reverse_columns(table: Table) -> Table:
    if isinstance(table, FeatureTable):
        order = list(range(len(table.features)))[::-1]
        return dataclasses.replace(
            table,
            features=tuple(table.features[i] for i in order),
            numbers=np.ascontiguousarray(table.numbers[:, order]),
            categories=tuple(table.categories[i] for i in order),
        )
    blocks = tuple(dataclasses.replace(block, columns=block.columns[::-1]) for block in table.blocks)
    return dataclasses.replace(table, blocks=blocks)


def check_column_order_does_not_matter(miner: Miner) -> None:
    """With the columns in reverse order, the rules and their counts are the same."""
    table = sample_table(miner, missing=0.05)
    here, there = _counts_of(miner.mine(table)), _counts_of(miner.mine(_reverse_columns(table)))
    different = here.keys() ^ there.keys()
    assert not different, f"{len(different)} rules depend on the order of the columns, such as {next(iter(different))}"
    assert here == there, "the counts depend on the order of the columns"


def check_column_order_does_not_change_counts(miner: Miner) -> None:
    """With the columns in reverse order, rules that are found again have the same counts."""
    table = sample_table(miner, missing=0.05)
    here, there = _counts_of(miner.mine(table)), _counts_of(miner.mine(_reverse_columns(table)))
    for rule in here.keys() & there.keys():
        assert here[rule] == there[rule], f"the counts depend on the order of the columns: {rule}"
