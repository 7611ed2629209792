"""A batch in parts: the same gradients up to rounding, and the same bits whoever computes the parts."""

from __future__ import annotations

import multiprocessing
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thence.errors import ConfigError
from thence.miners.aerial.settings import TrainingSettings

torch = pytest.importorskip("torch")

from thence.miners.aerial.gradient_parts import AddHere, join_group, split_evenly  # noqa: E402
from thence.miners.aerial.training import train  # noqa: E402
from thence.miners.neighbours import Neighbours  # noqa: E402


@given(st.integers(1, 300), st.integers(1, 20), st.integers(1, 7))
def test_slices_are_whole_even_and_not_empty(units: int, parts: int, unit: int) -> None:
    found = split_evenly(units * unit, parts, unit)
    assert found[0].start == 0 and found[-1].stop == units * unit
    assert all(left.stop == right.start for left, right in pairwise(found))
    sizes = [part.stop - part.start for part in found]
    assert len(found) == min(parts, units) and min(sizes) >= unit and max(sizes) - min(sizes) <= unit
    assert all(size % unit == 0 for size in sizes)


def _codes(rows: int = 600) -> np.ndarray:
    rng = np.random.default_rng(3)
    first = rng.integers(0, 4, rows)
    return np.stack([first, (first + rng.integers(0, 2, rows)) % 4, rng.integers(0, 3, rows)], axis=1)


@pytest.mark.parametrize("corruption", ["mask", "gaussian"])
def test_parts_give_the_same_network_up_to_rounding(corruption: str) -> None:
    losses = []
    for parts in (1, 3):
        settings = TrainingSettings(corruption=corruption, epochs=4, batch_size=50, parts=parts)  # type: ignore[arg-type]
        losses.append(train(_codes(), cardinalities=[4, 4, 3], settings=settings).loss)
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


def test_parts_of_neighbourhoods_keep_centres_together() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (400, 1)).repeat(30, axis=1)
    near = Neighbours.of([np.array([(at + 1) % 30]) for at in range(30)])
    found = [
        train(codes, cardinalities=[2] * 30, settings=TrainingSettings(epochs=3, parts=parts), neighbours=near).loss
        for parts in (1, 2)
    ]
    assert found[0] == pytest.approx(found[1], rel=1e-2)


def _member(rank: int, port: int, found: object) -> None:
    from torch.distributed import TCPStore

    torch.set_num_threads(1)
    store = TCPStore("127.0.0.1", port, is_master=False)
    with join_group(store, rank, 2) as adder:
        settings = TrainingSettings(epochs=2, batch_size=64, parts=3)
        trained = train(_codes(), cardinalities=[4, 4, 3], settings=settings, adder=adder)
    found.put((rank, [tensor.numpy().tobytes() for tensor in trained.model.parameters()], trained.loss))  # type: ignore[attr-defined]


def test_two_processes_train_the_network_of_one() -> None:
    from torch.distributed import TCPStore

    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    processes = [context.Process(target=_member, args=(rank, store.port, queue)) for rank in range(2)]
    for process in processes:
        process.start()
    found = sorted(queue.get(timeout=120) for _ in processes)
    for process in processes:
        process.join()
    alone = train(
        _codes(), cardinalities=[4, 4, 3], settings=TrainingSettings(epochs=2, batch_size=64, parts=3), adder=AddHere()
    )
    expected = [tensor.numpy().tobytes() for tensor in alone.model.parameters()]
    assert [bits for _, bits, _ in found] == [expected, expected]
    assert [loss for _, _, loss in found] == [alone.loss, alone.loss]


def test_parts_are_a_positive_number() -> None:
    with pytest.raises(ConfigError, match="parts must be"):
        TrainingSettings(parts=0)
