"""The states of rules, against brute force on codes: every row has one state, and all sums agree."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.examples import examples
from thence.statements.counting.states import find_states, tally_states, violations_per_frame
from thence.tables.bitmaps.bank import Bank, build_bank
from thence.tables.bitmaps.bits import unpack


@st.composite
def _banks(draw: st.DrawFn) -> tuple[Bank, list[Any], dict[str, Any]]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_sites = draw(st.integers(1, 3))
    frames = [draw(st.integers(1, 200)) for _ in range(n_sites)]
    n_frames, n_embeddings = max(frames), draw(st.integers(1, 4))
    gaps = draw(st.sampled_from([0.0, 0.3]))
    site_of = np.sort(rng.integers(0, n_sites, n_embeddings)).astype(np.int32) if n_sites > 1 else None
    inside = [n_frames if site_of is None else frames[site_of[e]] for e in range(n_embeddings)]
    columns = []
    for _ in range(draw(st.integers(2, 4))):
        n_codes = int(rng.integers(1, 4))
        codes = rng.integers(0, n_codes, (n_embeddings, n_frames)).astype(np.int16)
        codes[rng.random(codes.shape) < gaps] = -1
        for embedding, stop in enumerate(inside):
            codes[embedding, stop:] = -1
        series = np.arange(n_embeddings, dtype=np.int32)
        if gaps:
            series[rng.random(n_embeddings) < 0.2] = -1
        columns.append((codes, series, n_codes))
    where = {} if site_of is None else {"site_of": site_of, "site_frames": tuple(frames)}
    bank = build_bank(columns, n_frames=n_frames, n_embeddings=n_embeddings, **where)
    return bank, columns, {"inside": inside, "rng": rng}


def _code(columns: list[Any], first: np.ndarray, item: int, embedding: int, frame: int) -> tuple[int, int]:
    """The code that an embedding reads in a frame for the column of an item, and the code of the item."""
    at = int(np.searchsorted(first, item, "right")) - 1
    codes, series, _ = columns[at]
    value = -1 if series[embedding] < 0 else int(codes[series[embedding], frame])
    return value, item - int(first[at])


def _brute(bank: Bank, columns: list[Any], inside: list[int], left: list[int], right: int) -> np.ndarray:
    """0 satisfied, 1 violated, 2 not applicable, 3 missing, −1 no row: embeddings × frames."""
    first = np.concatenate([[0], np.cumsum([size for _, _, size in columns])])
    out = np.full((bank.n_embeddings, bank.n_frames), -1)
    for embedding in range(bank.n_embeddings):
        for frame in range(inside[embedding]):
            values = [_code(columns, first, item, embedding, frame) for item in (*left, right)]
            if any(value < 0 for value, _ in values):
                out[embedding, frame] = 3
            elif any(value != wanted for value, wanted in values[:-1]):
                out[embedding, frame] = 2
            else:
                out[embedding, frame] = 0 if values[-1][0] == values[-1][1] else 1
    return out


@settings(max_examples=examples(60), deadline=None)
@given(_banks(), st.integers(1, 3))
def test_states_agree_with_brute_force(made: Any, threads: int) -> None:
    bank, columns, facts = made
    rng, inside = facts["rng"], facts["inside"]
    n_items, n_rules = len(bank.row_of), 5
    left = rng.integers(-1, n_items, (n_rules, 2)).astype(np.int32)
    right = rng.integers(0, n_items, n_rules).astype(np.int32)
    slots = rng.integers(0, 2, n_rules)
    targets = rng.integers(-1, 3, (2, bank.n_embeddings))
    weights = rng.random((n_rules, bank.n_embeddings))
    rules = {"antecedents": left, "consequents": right, "slots": slots, "targets": targets, "n_targets": 3}
    found = tally_states(bank, **rules, rates=weights[:, 0], threads=threads)
    by_frame = violations_per_frame(bank, **rules, weights=weights, threads=threads)
    frames, of_targets = np.zeros((2, bank.n_frames)), np.zeros((2, 3))
    weighted, expected_at = np.zeros((2, 3, bank.n_frames)), np.zeros(3)
    for rule in range(n_rules):
        items = [int(item) for item in left[rule] if item >= 0]
        expected = _brute(bank, columns, inside, items, int(right[rule]))
        numbers = [int((expected == state).sum()) for state in range(4)]
        own = (found.satisfied, found.violated, found.not_applicable, found.missing)
        assert [int(one[rule]) for one in own] == numbers
        assert sum(numbers) == bank.n_rows
        states = find_states(bank, antecedent=left[rule], consequent=int(right[rule]))
        for words, state in ((states.satisfied, 0), (states.violated, 1), (states.missing, 3)):
            assert (unpack(words, n_rows=bank.n_frames) == (expected == state)).all()
        applies, broken = (expected == 0) | (expected == 1), expected == 1
        for embedding in range(bank.n_embeddings):
            if (target := targets[slots[rule], embedding]) >= 0:
                expected_at[target] += applies[embedding].sum() * weights[rule, 0]
        for at, rows in enumerate((applies, broken)):
            frames[at] += rows.sum(axis=0)
            for embedding in range(bank.n_embeddings):
                if (target := targets[slots[rule], embedding]) >= 0:
                    of_targets[at, target] += rows[embedding].sum()
                    weighted[at, target] += rows[embedding] * weights[rule, embedding]
    assert (found.frame_applicable == frames[0]).all()
    assert (found.frame_violated == frames[1]).all()
    assert (found.target_applicable == of_targets[0]).all()
    assert (found.target_violated == of_targets[1]).all()
    assert np.allclose(found.target_expected, expected_at)
    assert np.allclose(by_frame[0], weighted[0])
    assert np.allclose(by_frame[1], weighted[1])


def test_without_rules_or_rows() -> None:
    bank = build_bank([(np.zeros((1, 5), np.int16), np.zeros(1, np.int32), 1)], n_frames=5, n_embeddings=1)
    found = tally_states(bank, antecedents=np.empty((0, 1)), consequents=[])
    assert len(found.satisfied) == 0
    assert found.frame_violated.tolist() == [0] * 5
    nothing = bank.slice_frames(0, 0)
    assert tally_states(nothing, antecedents=[[0]], consequents=[0]).missing.tolist() == [0]
