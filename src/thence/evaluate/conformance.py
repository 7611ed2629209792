"""Conformance checks that every miner has to pass, shipped so that others can run them on theirs.

Each check is a function that takes a miner and raises ``AssertionError`` with what went wrong. They run the miner
on tiny tables and recount everything row by row in plain Python, sharing no code with the counting of the package.

>>> from thence.miners.exact.miner import Exact
>>> miner = Exact(min_support=0.1)
>>> for check in yield_checks(miner):
...     check(miner)

In a test suite::

    @pytest.mark.parametrize("check", list(yield_checks(MyMiner())), ids=lambda check: check.__name__)
    def test_conformance(check):
        check(MyMiner())

What a miner promises beyond the protocol it says in class attributes: ``exhaustive`` (it finds every rule within
``min_support``, ``min_confidence`` and ``max_antecedents``, and is held against an enumeration of all rules),
``order_free`` (the order of the columns does not matter, though it does not find every rule), and ``enrichment`` (it
mines tables of that enrichment only). A miner that promises neither of the first two is held to less: with the columns
in another order it may find other rules, but a rule that both runs find must have the same counts.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from thence.errors import ThenceError
from thence.evaluate.brute_force import Counted, brute_force_counts, brute_force_rules, count_rows, plain_rows
from thence.miners.base import Miner, as_miner, make_miner, settings_of
from thence.rules.constraints import Where
from thence.rules.items import Aspect, Feature, Interval, Item, Role
from thence.rules.ruleset import Rule, RuleSet
from thence.tables.transactions import Block, Column, FeatureTable, TransactionTable

__all__ = ["Check", "brute_force_counts", "brute_force_rules", "sample_table", "yield_checks"]

Table = TransactionTable | FeatureTable
Check = Callable[[Miner], None]


def yield_checks(miner: Miner, *, exhaustive: bool | None = None) -> Iterator[Check]:
    """The checks that apply to a miner; ``exhaustive`` overrules what its class says of itself."""
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
    promised = traits.exhaustive if exhaustive is None else exhaustive
    if promised:
        yield check_equals_brute_force
        yield check_equals_brute_force_with_missing_values
    if promised or traits.order_free:
        yield check_column_order_does_not_matter
    else:
        yield check_column_order_does_not_change_counts


def sample_table(miner: Miner, *, rows: int = 48, missing: float = 0.0, constant: bool = False) -> Table:
    """A small table of the kind that a miner wants: two numbers and two categories that depend on each other.

    >>> from thence.miners.exact.miner import Exact
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
    return _of_kind(miner, numbers)


def _of_kind(miner: Miner, numbers: np.ndarray[Any, Any]) -> Table:
    features = (
        Feature("s1", label="flow", place="P1"),
        Feature("s2", label="pressure", place="J1"),
        Feature("s3", label="valve", place="V1"),
        Feature("s4", label="mode", place="V1"),
    )
    raw = FeatureTable(features, numbers, (None, None, ("off", "on"), ("a", "b", "c")))
    if miner.wants == "numbers":
        return raw
    columns = tuple(_binned(raw, at) for at in range(4))
    if as_miner(miner).enrichment == "existential":
        columns = tuple(truth for column in columns for truth in _statements(column))
        return TransactionTable((Block(columns, len(numbers)),), "existential")
    return TransactionTable((Block(columns, len(numbers)),))


def _binned(raw: FeatureTable, at: int) -> Column:
    values, known = raw.numbers[:, at], raw.categories[at]
    if known is not None:
        codes = np.where(np.isnan(values), -1, values).astype(np.int16)
        return Column(raw.features[at], known, codes[None, :])
    edges = (-math.inf, 1.0, 2.0, math.inf) if at == 0 else (-math.inf, 7.0, 9.0, math.inf)
    bins = tuple(Interval(a, b) for a, b in itertools.pairwise(edges))
    codes = np.where(np.isnan(values), -1, np.searchsorted(edges[1:-1], values, side="right")).astype(np.int16)
    return Column(raw.features[at], bins, codes[None, :])


def _statements(column: Column) -> Iterator[Column]:
    """A Boolean column per value: "some such sensor reads this", and the same with a condition that always holds."""
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
    """It is a miner, has a name and says which table it wants."""
    assert isinstance(miner, Miner), f"{miner!r} has no name, no wants or no mine()"
    assert miner.name and miner.name == miner.name.lower(), f"the name {miner.name!r} is not a lower-case word"
    assert miner.wants in ("codes", "numbers"), f"wants is {miner.wants!r}, neither 'codes' nor 'numbers'"
    assert isinstance(miner.mine(sample_table(miner)), RuleSet), "mine() does not return a RuleSet"


def check_finds_something(miner: Miner) -> None:
    """It finds rules in the sample table: on a miner that finds none, the other checks would say nothing."""
    table = sample_table(miner)
    hint = "give it settings that suit so small a table"
    assert len(miner.mine(table)), f"no rule in {table.n_rows} rows with plain dependencies: {hint}"


def check_form_of_rules(miner: Miner) -> None:
    """Antecedents are not empty, no feature stands twice in a rule, no rule comes twice, no item is not an item."""
    table = sample_table(miner)
    rules = list(miner.mine(table))
    assert len(set(rules)) == len(rules), "some rules are returned more than once"
    for rule in rules:
        features = [item.feature for item in (*rule.antecedent, rule.consequent)]
        assert rule.antecedent, f"a rule without antecedent: {rule}"
        assert len(set(features)) == len(features), f"a feature stands twice in {rule}"
    if isinstance(table, TransactionTable):
        block = table.blocks[0]
        minable = {block.item(int(i)) for i in np.flatnonzero(block.minable)}
        for rule in rules:
            assert minable.issuperset((*rule.antecedent, rule.consequent)), f"not made of the table's items: {rule}"


def check_counts_equal_brute_force(miner: Miner) -> None:
    """The counts of every rule are those of a count row by row."""
    _compare_counts(miner, sample_table(miner))


def check_counts_with_missing_values(miner: Miner) -> None:
    """The same where a fifth of all values are missing."""
    _compare_counts(miner, sample_table(miner, missing=0.2))


def _compare_counts(miner: Miner, table: Table) -> None:
    rows = plain_rows(table)
    for rule, counted in _counts_of(miner.mine(table)).items():
        expected = count_rows(rows, rule.antecedent, rule.consequent)
        assert counted == expected, f"{rule}: counts {counted}, by hand {expected}"


def check_equals_brute_force(miner: Miner) -> None:
    """It finds all rules within its thresholds, and no others."""
    _compare_rules(miner, sample_table(miner, rows=30))


def check_equals_brute_force_with_missing_values(miner: Miner) -> None:
    """The same where a fifth of all values are missing."""
    _compare_rules(miner, sample_table(miner, rows=30, missing=0.2))


def _compare_rules(miner: Miner, table: Table) -> None:
    assert isinstance(table, TransactionTable), "an exhaustive miner over raw numbers cannot be enumerated"
    bounds = settings_of(miner)
    thresholds = {name: bounds[name] for name in ("min_support", "min_confidence", "max_antecedents")}
    found, expected = _counts_of(miner.mine(table)), brute_force_rules(table, **thresholds)
    missed, surplus = expected.keys() - found.keys(), found.keys() - expected.keys()
    assert not missed, f"{len(missed)} of {len(expected)} rules are not found, such as {next(iter(missed))}"
    assert not surplus, f"{len(surplus)} rules are outside the thresholds, such as {next(iter(surplus))}"
    assert found == expected, "the rules are right, their counts are not"


def check_input_is_not_changed(miner: Miner) -> None:
    """The table is the same afterwards."""
    table = sample_table(miner, missing=0.1)
    before = [array.copy() for array in _arrays(table)]
    miner.mine(table)
    for kept, now in zip(before, _arrays(table), strict=True):
        assert np.array_equal(kept, now, equal_nan=kept.dtype.kind == "f"), "the miner wrote into the table"


def _arrays(table: Table) -> list[np.ndarray[Any, Any]]:
    if isinstance(table, FeatureTable):
        return [table.numbers]
    return [array for block in table.blocks for column in block.columns for array in (column.codes, column.series)]


def check_same_settings_same_rules(miner: Miner) -> None:
    """Mining twice, also by an equal miner made afresh, gives the same rules in the same order and the same numbers."""
    table = sample_table(miner)
    first = miner.mine(table)
    for again in (miner.mine(table), _remade(miner).mine(table)):
        assert list(again) == list(first), "a second run found other rules, or the same in another order"
        assert _counts_of(again) == _counts_of(first), "a second run counted differently"
        assert again.extras.keys() == first.extras.keys(), "a second run has other columns"
        for name, column in first.extras.items():
            assert np.array_equal(column, again.extras[name]), f"a second run has other values of '{name}'"


def _remade(miner: Miner) -> Miner:
    return make_miner(type(miner), **settings_of(miner)) if dataclasses.is_dataclass(miner) else miner


def check_global_random_state_is_left_alone(miner: Miner) -> None:
    """Nothing is drawn from, or seeded in, the random numbers that the rest of the process uses."""
    before = _random_states()
    miner.mine(sample_table(miner))
    for name, state in _random_states().items():
        assert name not in before or state == before[name], f"the global random state of {name} has changed"


def _random_states() -> Mapping[str, Any]:
    import sys

    # NumPy's old global generator, which a miner might use, is looked at on purpose.
    states: dict[str, Any] = {"random": random.getstate(), "numpy": repr(np.random.get_state())}  # noqa: NPY002
    torch = sys.modules.get("torch")
    if torch is not None:
        states["torch"] = torch.random.get_rng_state().tolist()
    return states


def check_progress(miner: Miner) -> None:
    """Progress, where it is told, never goes beyond the whole."""
    told: list[tuple[str, float, float]] = []

    def listen(stage: str, done: float, total: float, note: str = "") -> None:
        told.append((stage, done, total))

    miner.mine(sample_table(miner), progress=listen)
    for stage, done, total in told:
        assert stage and 0 <= done <= (total or math.inf), f"'{stage}' is at {done} of {total}"


def check_empty_table(miner: Miner) -> None:
    """A table without rows has no rules, and the rule set says why."""
    rules = miner.mine(sample_table(miner, rows=0))
    assert len(rules) == 0, f"{len(rules)} rules from a table without rows"
    assert rules.notes, "an empty rule set does not say why it is empty"


def check_one_row(miner: Miner) -> None:
    """One row is enough not to fail."""
    _compare_counts(miner, sample_table(miner, rows=1))


def check_constant_table(miner: Miner) -> None:
    """Where nothing ever changes, nothing is worth a rule: a constant is implied by everything."""
    table = sample_table(miner, constant=True)
    rules = miner.mine(table)
    for rule in rules:
        assert brute_force_counts(table, rule)[2] == 0, f"a constant is implied by everything: {rule}"
    assert len(rules) or rules.notes, "an empty rule set does not say why it is empty"


def check_column_of_missing_values(miner: Miner) -> None:
    """A column without a single value takes part in no rule that holds anywhere."""
    table = sample_table(miner)
    if isinstance(table, FeatureTable):
        numbers = table.numbers.copy()
        numbers[:, 0] = np.nan
        table = dataclasses.replace(table, numbers=numbers)
        gone = {table.features[0]}
    else:
        block = table.blocks[0]
        gone = {c.feature for c in block.columns if c.feature.label == "flow"}
        columns = tuple(
            dataclasses.replace(c, codes=np.full_like(c.codes, -1)) if c.feature in gone else c for c in block.columns
        )
        table = dataclasses.replace(table, blocks=(dataclasses.replace(block, columns=columns),))
    for rule, counted in _counts_of(miner.mine(table)).items():
        touched = gone.intersection(item.feature for item in (*rule.antecedent, rule.consequent))
        assert not touched or counted == (0, 0, 0, 0), f"a column without values stands in {rule}"


def check_constraints(miner: Miner) -> None:
    """Constraints on either side are kept, or refused with an error of the package that says so."""
    for side in ("antecedent", "consequent"):
        wanted = Where(kind=("pressure", "valve"))
        try:
            rules = make_miner(type(miner), **{**settings_of(miner), side: wanted}).mine(sample_table(miner))
        except ThenceError as refusal:
            assert str(refusal), "a constraint is refused without a word"
            continue
        for rule in rules:
            items = rule.antecedent if side == "antecedent" else (rule.consequent,)
            assert all(wanted.matches(item) for item in items), f"the constraint on the {side} is not kept: {rule}"


def check_wrong_kind_of_table(miner: Miner) -> None:
    """A table that it cannot read is refused with an error of the package, not with a stray exception."""
    other = dataclasses.make_dataclass("Other", [("wants", str), ("name", str)])
    wrong = sample_table(other("codes" if miner.wants == "numbers" else "numbers", "other"))
    try:
        miner.mine(wrong)
    except ThenceError as refusal:
        assert str(refusal), "a table is refused without a word"
        return
    raise AssertionError(f"a {type(wrong).__name__} is accepted by a miner that wants {miner.wants}")


def _reordered(table: Table) -> Table:
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
    """The columns in another order: the same rules with the same counts."""
    table = sample_table(miner, missing=0.05)
    here, there = _counts_of(miner.mine(table)), _counts_of(miner.mine(_reordered(table)))
    assert here == there, f"{len(here.keys() ^ there.keys())} rules depend on the order of the columns"


def check_column_order_does_not_change_counts(miner: Miner) -> None:
    """The columns in another order: rules that both runs find have the same counts."""
    table = sample_table(miner, missing=0.05)
    here, there = _counts_of(miner.mine(table)), _counts_of(miner.mine(_reordered(table)))
    for rule in here.keys() & there.keys():
        assert here[rule] == there[rule], f"the order of the columns changes the counts of {rule}"
