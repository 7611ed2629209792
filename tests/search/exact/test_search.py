"""The exact miner against brute force in plain Python with fractions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.helpers.exact_search import mine_arrays
from tests.helpers.examples import examples
from thence.errors import ConfigError, InputError, MiningError
from thence.search.exact import search as exact
from thence.tables.bitmaps import bits

Rule = tuple[tuple[int, ...], int, tuple[int, int, int, int]]
Codes = list[list[int]]


def brute_force(
    codes: Codes,
    cardinalities: Sequence[int],
    *,
    max_antecedents: int,
    min_support: Fraction,
    min_confidence: Fraction,
    antecedent_ok: Sequence[bool] | None = None,
    consequent_ok: Sequence[bool] | None = None,
    all_rows: bool = False,
) -> list[Rule]:
    """Every rule, by intersecting sets of rows for every combination of items; nothing is pruned."""
    features = range(len(cardinalities))
    items = [(feature, value) for feature in features for value in range(cardinalities[feature])]
    everything = frozenset(range(len(codes)))
    holds = [frozenset(row for row in everything if codes[row][f] == value) for f, value in items]
    known = [everything if all_rows else frozenset(r for r in everything if codes[r][f] >= 0) for f in features]
    rules: list[Rule] = []
    for size in range(1, max_antecedents + 1):
        for left in combinations(range(len(items)), size):
            used = {items[item][0] for item in left}
            if len(used) < size or not all(antecedent_ok is None or antecedent_ok[item] for item in left):
                continue
            held = everything.intersection(*(holds[item] for item in left))
            readable = everything.intersection(*(known[feature] for feature in used))
            for right, (feature, _) in enumerate(items):
                if feature in used or not (consequent_ok is None or consequent_ok[right]):
                    continue
                both = len(held & holds[right])
                rows, antecedent = readable & known[feature], len(held & known[feature])
                if not both or Fraction(both, len(rows)) < min_support or Fraction(both, antecedent) < min_confidence:
                    continue
                rules.append((left, right, (len(rows), antecedent, len(readable & holds[right]), both)))
    return sorted(rules)


def flat(blocks: Iterable[exact.RuleBlock]) -> list[Rule]:
    """The rules of a stream, in the order in which they come."""
    return [
        (tuple(item for item in left if item >= 0), right, tuple(counts))
        for block in blocks
        for left, right, counts in zip(
            block.antecedents.tolist(), block.consequents.tolist(), block.counts.tolist(), strict=True
        )
    ]


def mine(codes: Codes, cardinalities: Sequence[int], **options: object) -> list[Rule]:
    matrix = np.array(codes, dtype=np.int8).reshape(len(codes), len(cardinalities))
    bitmaps, present = bits.pack_codes(matrix, cardinalities=cardinalities)
    if options.pop("all_rows", False):
        present = None
    features = np.repeat(np.arange(len(cardinalities)), cardinalities)
    return flat(
        mine_arrays(bitmaps, feature_of_item=features, n_rows=len(codes), present=present, **options)  # type: ignore[arg-type]
    )


THRESHOLDS = ("0", "0.01", "0.1", "0.2", "0.25", "0.3", "1/3", "0.5", "0.6", "0.75", "0.8", "1")


@st.composite
def tables(draw: st.DrawFn, *, missing: bool = True, max_rows: int = 12) -> tuple[Codes, list[int]]:
    cardinalities = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    lowest = -1 if missing else 0
    # Few distinct rows, repeated: rules with high confidence and ties at the thresholds are then common.
    row = st.tuples(*(st.integers(lowest, size - 1) for size in cardinalities)).map(list)
    kinds = draw(st.lists(row, min_size=1, max_size=4))
    return draw(st.lists(st.sampled_from(kinds) | row, min_size=1, max_size=max_rows)), cardinalities


@settings(max_examples=examples(2500), deadline=None)
@given(tables(), st.integers(1, 3), st.sampled_from(THRESHOLDS), st.sampled_from(THRESHOLDS))
@example(([[-1]], [1]), 1, "0", "0")
@example(([[0, -1], [0, 0]], [1, 1]), 1, "1", "1")
@example(([[0, 0, -1]] * 9 + [[0, 0, 0]], [1, 1, 1]), 2, "1", "1")
def test_equals_brute_force(table: tuple[Codes, list[int]], size: int, support: str, confidence: str) -> None:
    codes, cardinalities = table
    limits = {"min_support": Fraction(support), "min_confidence": Fraction(confidence)}
    found = mine(codes, cardinalities, max_antecedents=size, **limits)
    assert sorted(found) == brute_force(codes, cardinalities, max_antecedents=size, **limits)
    assert len(set(found)) == len(found)


@settings(max_examples=examples(1000), deadline=None)
@given(tables(), st.integers(1, 2), st.sampled_from(THRESHOLDS), st.data())
def test_item_constraints(table: tuple[Codes, list[int]], size: int, support: str, data: st.DataObject) -> None:
    codes, cardinalities = table
    flags = st.lists(st.booleans(), min_size=sum(cardinalities), max_size=sum(cardinalities))
    options = {
        "max_antecedents": size,
        "min_support": Fraction(support),
        "min_confidence": Fraction(1, 2),
        "antecedent_ok": data.draw(flags),
        "consequent_ok": data.draw(flags),
        "all_rows": data.draw(st.booleans()),
    }
    assert sorted(mine(codes, cardinalities, **options)) == brute_force(codes, cardinalities, **options)  # type: ignore[arg-type]


@settings(max_examples=examples(500), deadline=None)
@given(tables(max_rows=30), st.sampled_from(THRESHOLDS), st.sampled_from(THRESHOLDS))
def test_without_pair_counts(table: tuple[Codes, list[int]], support: str, confidence: str) -> None:
    """Tables with too many items for a table of pairs take another branch to the same rules."""
    codes, cardinalities = table
    options = {"max_antecedents": 3, "min_support": Fraction(support), "min_confidence": Fraction(confidence)}
    expected = mine(codes, cardinalities, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "_MAX_PAIR_ITEMS", 0)
        assert mine(codes, cardinalities, **options) == expected


def sparse_table() -> tuple[Codes, list[int]]:
    """A slow signal, so that antecedents live in few of many words, with gaps in two of five features."""
    rng = np.random.default_rng(7)
    base = np.repeat(rng.integers(0, 30, size=30), 64)
    noise = rng.random((len(base), 5)) < 0.2
    codes = np.stack([base // 5, base // 7, base % 4, base // 10, base % 2], axis=1)
    codes = np.where(noise, rng.integers(0, 2, size=codes.shape), codes)
    codes[rng.random(len(base)) < 0.2, 1] = -1
    codes[rng.random(len(base)) < 0.6, 3] = -1
    return codes.tolist(), [6, 5, 4, 3, 2]


@pytest.mark.parametrize("all_rows", [False, True])
def test_compressed_antecedents(all_rows: bool) -> None:
    codes, cardinalities = sparse_table()
    options = {"max_antecedents": 3, "min_support": Fraction(1, 200), "min_confidence": Fraction(2, 5)}
    found = mine(codes, cardinalities, all_rows=all_rows, **options)
    assert len(found) > 200
    assert sorted(found) == brute_force(codes, cardinalities, all_rows=all_rows, **options)  # type: ignore[arg-type]


def test_order_does_not_depend_on_threads_or_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    codes, cardinalities = sparse_table()
    options = {"max_antecedents": 3, "min_support": 0.001, "min_confidence": 0.3}
    alone = mine(codes, cardinalities, threads=1, **options)
    monkeypatch.setattr(exact, "_RUN_WORK", 1)
    monkeypatch.setattr(exact, "_BUDGET", 100)
    for threads, room in [(1, 1), (2, 7), (3, 100), (2, 1 << 16)]:
        assert mine(codes, cardinalities, threads=threads, block_rules=room, **options) == alone


def test_antecedents_come_in_lexicographic_order() -> None:
    codes, cardinalities = sparse_table()
    found = mine(codes, cardinalities, max_antecedents=2, min_support=0.001, min_confidence=0.3)
    assert [rule[:2] for rule in found] == sorted(rule[:2] for rule in found)


def small_problem(**options: object) -> Iterable[exact.RuleBlock]:
    codes, cardinalities = sparse_table()
    bitmaps, present = bits.pack_codes(np.array(codes), cardinalities=cardinalities)
    features = np.repeat(np.arange(len(cardinalities)), cardinalities)
    return mine_arrays(
        bitmaps,
        feature_of_item=features,
        n_rows=len(codes),
        present=present,
        min_support=0.001,
        min_confidence=0.3,
        **options,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("room", [1, 1 << 16])
def test_cap_keeps_the_first_rules_and_says_so(room: int) -> None:
    everything = flat(small_problem())
    for cap in (0, 1, 17, len(everything) - 1):
        blocks = list(small_problem(max_rules=cap, block_rules=room))
        assert flat(blocks) == everything[:cap]
        assert [block.capped for block in blocks] == [False] * (len(blocks) - 1) + [True]
    for cap in (len(everything), len(everything) + 1):
        blocks = list(small_problem(max_rules=cap, block_rules=room))
        assert flat(blocks) == everything
        assert not any(block.capped for block in blocks)


def test_progress_rises_to_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "_RUN_WORK", 1)
    shares = [block.progress for block in small_problem(block_rules=10, threads=2)]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0 and shares[0] < 1.0


def test_a_stream_can_be_left_early(monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    monkeypatch.setattr(exact, "_RUN_WORK", 1)
    before = threading.active_count()
    stream = iter(small_problem(block_rules=1, threads=2))
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before


def test_ties_at_the_thresholds_are_kept() -> None:
    """4 of 5 is 0.8 and 1 of 10 is 0.1, although neither has an exact binary form."""
    codes = [[0, 0]] * 4 + [[0, 1]] + [[1, 1]] * 5
    found = mine(codes, [2, 2], max_antecedents=1, min_support=0.1, min_confidence=0.8)
    assert ((0,), 2, (10, 5, 4, 4)) in found
    seven = [[0, 0]] * 7 + [[0, 1]] * 3
    assert mine(seven, [1, 2], max_antecedents=1, min_support=0.7, min_confidence=0.7) == [
        ((0,), 1, (10, 10, 7, 7)),
        ((1,), 0, (10, 7, 10, 7)),
    ]


def test_support_is_taken_over_the_rows_where_the_rule_can_be_read() -> None:
    """Two rows in ten hold both features: the rule has support 1 among them, 0.2 among all."""
    codes = [[0, 0]] * 2 + [[0, -1]] * 5 + [[-1, 0]] * 3
    limits = {"max_antecedents": 1, "min_support": 0.9, "min_confidence": 0.9}
    assert mine(codes, [1, 1], **limits) == [((0,), 1, (2, 2, 2, 2)), ((1,), 0, (2, 2, 2, 2))]
    assert mine(codes, [1, 1], all_rows=True, **limits) == []


def test_empty_tables() -> None:
    no_items = np.zeros((0, 1), dtype=np.uint64)
    assert flat(mine_arrays(no_items, feature_of_item=[], n_rows=3)) == []
    for spare in (0, 1):
        no_rows = np.zeros((2, spare), dtype=np.uint64)
        assert flat(mine_arrays(no_rows, feature_of_item=[0, 1], n_rows=0, present=no_rows)) == []


def test_read_only_input_is_accepted_and_left_alone() -> None:
    bitmaps = bits.pack_mask([[True, True], [True, False]])
    bitmaps.flags.writeable = False
    assert len(flat(mine_arrays(bitmaps, feature_of_item=[0, 1], n_rows=2, min_confidence=0.5))) == 2


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"max_antecedents": 0}, ConfigError, "max_antecedents"),
        ({"min_support": 1.5}, ConfigError, "min_support must be from 0 to 1"),
        ({"min_confidence": "high"}, ConfigError, "min_confidence"),
        ({"max_rules": -1}, ConfigError, "max_rules"),
        ({"block_rules": 0}, ConfigError, "block_rules"),
        ({"n_rows": 65}, InputError, "2 words for 65 rows"),
        ({"feature_of_item": [1, 0]}, InputError, "feature by feature"),
        ({"feature_of_item": [0]}, InputError, "one entry for each of 2 items"),
        ({"feature_of_item": [0, 0]}, InputError, "exclude each other"),
        ({"present": np.zeros((1, 1), dtype=np.uint64)}, InputError, "does not match"),
    ],
)
def test_wrong_input_is_named(options: dict[str, object], error: type[Exception], words: str) -> None:
    bitmaps = bits.pack_mask([[True, True], [True, False]])
    given_options = {"feature_of_item": [0, 1], "n_rows": 2, **options}
    with pytest.raises(error, match=words):
        mine_arrays(bitmaps, **given_options)  # type: ignore[arg-type]


def test_too_many_rows_are_refused() -> None:
    with pytest.raises(MiningError, match="too many"):
        mine_arrays(np.zeros((0, 1 << 25), dtype=np.uint64), feature_of_item=[], n_rows=1 << 31)
