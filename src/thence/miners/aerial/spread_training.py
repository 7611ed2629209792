"""Training by several machines of a cluster: each computes some parts of every batch, all make the same steps.

Every member has all rows, draws the same batches and hides the same features, since it has the same seeds. The members
exchange the gradients of their parts and add them in the order of the parts, so that their networks stay equal, and
equal to the one that a single process trains with as many parts.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import asdict, dataclass
from typing import Any

import torch
import torch.distributed

from thence.cluster.executors import Executor, Member
from thence.miners.aerial.autoencoder import Autoencoder
from thence.miners.aerial.gradient_parts import join_group
from thence.miners.aerial.rows import RowSource
from thence.miners.aerial.settings import TrainingSettings
from thence.miners.aerial.training import Epoch, EpochProgress, Training, train
from thence.miners.neighbours import Neighbours

__all__ = ["train_together"]

# The stores have no types.
distributed: Any = torch.distributed


@dataclass(frozen=True, eq=False)
class _Job:
    """What every member needs."""

    rows: RowSource
    cardinalities: list[int]
    settings: TrainingSettings
    neighbours: Neighbours | None
    start: Autoencoder | None
    host: str
    port: int


def train_together(
    rows: RowSource,
    *,
    cardinalities: list[int],
    settings: TrainingSettings,
    executor: Executor,
    neighbours: Neighbours | None = None,
    start: Autoencoder | None = None,
    progress: EpochProgress | None = None,
) -> Training:
    """Train a network on a cluster; it is the one that ``train`` gives with the same settings.

    Args:
        rows: The rows.
        cardinalities: The number of classes of each feature.
        settings: How to train; ``parts`` is the largest number of members.
        executor: The cluster.
        neighbours: Which features may appear in the same rule.
        start: A network to continue from.
        progress: Called for the epochs that have ended, about once a second.

    Returns:
        The network and how training went.

    Raises:
        ClusterError: If the cluster is lost, or a worker dies again and again.
        MiningError: If training diverges.
    """
    store = distributed.TCPStore(executor.host, 0, is_master=True, wait_for_workers=False)
    job = _Job(rows, cardinalities, settings, neighbours, start, executor.host, store.port)
    members = min(settings.parts, executor.workers)
    trained = executor.together(_train_member, members, shared=job, meanwhile=_teller(store, progress))[0]
    assert trained is not None
    return deepcopy(trained)


def _train_member(job: _Job, member: Member) -> Training | None:
    """Train as one of several members; the first one returns the network."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    # Members of an attempt that failed have left their addresses, so each attempt has names of its own.
    meeting = distributed.TCPStore(job.host, job.port, is_master=False)
    try:
        with join_group(
            distributed.PrefixStore(f"attempt {member.attempt}", meeting), member.number, member.count
        ) as adder:
            trained = train(
                job.rows,
                cardinalities=job.cardinalities,
                settings=job.settings,
                neighbours=job.neighbours,
                # torch does not share arrays that cannot be written.
                start=deepcopy(job.start),
                progress=None if member.number else _recorder(meeting),
                adder=adder,
            )
    finally:
        torch.set_num_threads(before)
    return None if member.number else trained


def _recorder(store: Any) -> EpochProgress:
    def record(epoch: Epoch) -> None:
        store.set("epoch", json.dumps(asdict(epoch)))

    return record


def _teller(store: Any, progress: EpochProgress | None) -> Callable[[], None]:
    """Return a function that tells of the last epoch, if there is a new one."""
    told = 0

    def tell() -> None:
        nonlocal told
        if progress is None or not store.check(["epoch"]):
            return
        epoch = Epoch(**json.loads(store.get("epoch")))
        if epoch.number != told:
            told = epoch.number
            progress(epoch)

    return tell
