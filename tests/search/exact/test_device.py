"""The search on a device of torch against the search on the processor: the same rules, counts and order.

Without a graphics processor torch computes the same products on the CPU.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thence as th
from tests.helpers.exact_search import mine_arrays
from tests.helpers.examples import examples
from thence.errors import ConfigError
from thence.search.exact.search import RuleBlock
from thence.search.neighbours import Neighbours
from thence.tables.bitmaps.bits import pack_codes

torch = pytest.importorskip("torch")
on_device = pytest.importorskip("thence.search.exact.device")

CPU = torch.device("cpu")


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches so small that every table needs several."""
    monkeypatch.setitem(on_device._CELLS, "cpu", 1 << 10)
    monkeypatch.setitem(on_device._NEAR_CELLS, "cpu", 1 << 12)
    monkeypatch.setattr(on_device, "_PAIRS", 5)


def flat(blocks: Iterable[RuleBlock]) -> list[Any]:
    return [
        (*left.tolist(), int(right), *counts.tolist())
        for block in blocks
        for left, right, counts in zip(block.antecedents, block.consequents, block.counts, strict=True)
    ]


@st.composite
def searches(draw: st.DrawFn) -> dict[str, Any]:
    seed, gaps = draw(st.integers(0, 2**32 - 1)), draw(st.sampled_from([0.0, 0.2, 0.9]))
    rng = np.random.default_rng(seed)
    n_features, n_rows = int(rng.integers(1, 7)), int(rng.integers(1, 200))
    sizes = rng.integers(1, 5, n_features)
    codes = np.stack([rng.integers(0, size, n_rows) for size in sizes], axis=1)
    if n_features > 1:
        codes[:, 1] = np.where(rng.random(n_rows) < 0.8, codes[:, 0] % sizes[1], codes[:, 1])
    codes[rng.random(codes.shape) < gaps] = -1
    bitmaps, present = pack_codes(codes, cardinalities=sizes)
    return {
        "bitmaps": bitmaps,
        "present": present,
        "feature_of_item": np.repeat(np.arange(n_features), sizes),
        "n_rows": n_rows,
        "max_antecedents": draw(st.integers(1, 3)),
        "min_support": draw(st.sampled_from([0, 0.01, 0.1, 0.3])),
        "min_confidence": draw(st.sampled_from([0, 0.5, 0.8, 1])),
        "max_rules": draw(st.sampled_from([3, 10**6])),
        "antecedent_ok": rng.random(len(bitmaps)) < 0.9,
        "consequent_ok": rng.random(len(bitmaps)) < 0.8,
    }


@pytest.mark.usefixtures("small_batches")
@settings(max_examples=examples(60))
@given(searches())
def test_a_device_finds_the_same_rules_in_the_same_order(search: dict[str, Any]) -> None:
    assert flat(mine_arrays(device=CPU, **search)) == flat(mine_arrays(**search))


@pytest.mark.usefixtures("small_batches")
@settings(max_examples=examples(60))
@given(searches(), st.integers(0, 2**32 - 1))
def test_a_device_finds_the_same_rules_among_neighbours(search: dict[str, Any], seed: int) -> None:
    n_features = int(search["feature_of_item"][-1]) + 1
    near = Neighbours.of(np.random.default_rng(seed).random((n_features, n_features)) < 0.5)
    assert flat(mine_arrays(near=near, device=CPU, **search)) == flat(mine_arrays(near=near, **search))


def test_bitmaps_are_counted_in_chunks() -> None:
    rng = np.random.default_rng(3)
    words = rng.integers(0, 2**64, (40, 25), np.uint64)
    members = torch.tensor([[0, 7], [3, 39]])
    parts = on_device.DeviceBits(words, CPU, chunk_bytes=1)
    assert len(list(parts.chunks())) > 1
    found = on_device.count_common(parts, members, parts).numpy()
    both = words[members.numpy()[:, 0]] & words[members.numpy()[:, 1]]
    assert (found == np.bitwise_count(both[:, None, :] & words[None, :, :]).sum(axis=2)).all()


def test_a_device_that_is_not_there_is_an_error() -> None:
    table = th.TransactionTable.from_frame(pl.DataFrame({"a": ["x", "y"], "b": ["u", "v"]}))
    with pytest.raises(ConfigError, match="device"):
        th.Exact(device="tpu")
    if not torch.cuda.is_available():
        with pytest.raises(ConfigError, match="no CUDA device"):
            th.Exact(device="cuda").mine(table)


@pytest.mark.needs("cuda")
def test_the_exact_miner_on_cuda_equals_the_processor() -> None:
    table = th.transactions(th.datasets.load("toy"), windows="1h", bins=5)
    here, there = th.Exact().mine(table), th.Exact(device="cuda").mine(table)
    assert list(here) == list(there)
    for name in ("n", "n_antecedent", "n_consequent", "n_both"):
        assert (getattr(here.counts, name) == getattr(there.counts, name)).all(), name
