"""A flipped bit anywhere in what Thence wrote is noticed, healed, or without effect; it is never shown as truth.

Before there were checksums, flips were shown as truth: 31 of 1,500 in ``rules.parquet``, 174 of 1,236 in
``summary.json``, 315 of 750 in ``config.toml``, 454 of 1,384 in ``discretizer.json``, and 1,139 of 2,000 in a cache.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import thence as th
from thence.checks.monitor.store import Store as MonitorStore
from thence.errors import ThenceError
from thence.lab.datasets.water import load_or_simulate
from thence.lab.experiments.results import Repeat, ResultStore
from thence.runs.run import load_run

EACH = 40
MANY = 1_000
"""Flips of each of the subjects: at least 200 and 5,000 in all."""


@dataclass(frozen=True)
class Subject:
    """What was written, and a function that reads all of it again.

    Args:
        root: The folder or file.
        read: Returns everything that a user may see of it, as text.
        heals: Whether it is made again when it is damaged.
    """

    root: Path
    read: Callable[[], str]
    heals: bool = False

    @property
    def files(self) -> list[Path]:
        """The files, in order."""
        if self.root.is_file():
            return [self.root]
        return [path for path in sorted(self.root.rglob("*")) if path.is_file() and path.suffix != ".lock"]


def _run(folder: Path) -> Subject:
    run = th.mine(
        th.datasets.load("toy"), windows="1h", bins=3, enrich="lifted", refine=None, progress="off", out=folder / "run"
    )
    run.review(0, "rejected", "the valve was being repaired")
    path = run.path
    assert path is not None and (path / "places.parquet").is_file() and (path / "report.html").is_file()

    def read() -> str:
        back = load_run(path)
        found: list[Any] = [back.rules.to_polars().write_json(), back.config.to_toml(), back.summary, back.provenance]
        found += [None if one is None else one.to_dict() for one in (back.discretizer, back.laws, back.controls)]
        found += [back.places().write_json(), {key: one.to_dict() for key, one in back.reviews.items()}]
        return repr(found)

    return Subject(path, read)


def _cache(folder: Path) -> Subject:
    def read() -> str:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("THENCE_CACHE", str(folder))
            values = np.random.default_rng(0).normal(size=(40, 3))
            made = pl.DataFrame(values, schema=["a", "b", "c"]), {"seed": "0"}
            frame, notes = load_or_simulate("things", parameters={"days": 1}, sources=[], simulate=lambda: made)
            return repr((frame.write_json(), notes))

    read()
    return Subject(folder, read, heals=True)


def _model(folder: Path) -> Subject:
    from tests.search.aerial.networks import load, save
    from thence.search.aerial.autoencoder import initialise

    save(initialise([2, 3], widths=(4, 2), seed=1), folder / "model")

    def read() -> str:
        model = load(folder / "model")
        return repr((model.widths, model.layout.cardinalities.tolist(), [one.tolist() for one in model.parameters()]))

    return Subject(folder / "model", read)


def _repeat(folder: Path) -> Subject:
    made = {"bins": 10, "algorithms": ["de"], "options": {"days": 28}}
    record = {"row": "Aerial", "at": None, "values": {"rules": 3.0, "confidence": 0.875}, "seconds": 0.1}
    store = ResultStore(folder)
    path = store.save(Repeat("arm-ae", "hanoi", 3, made, ("a", "b"), (record,), {"cores": 2}))
    return Subject(path, lambda: repr(store.load("arm-ae", "hanoi", 3, made)))


def _table(folder: Path) -> Subject:
    path = folder / "table.npz"
    frame = pl.DataFrame({"a": np.random.default_rng(0).normal(size=50), "b": ["x", "y"] * 25})
    th.TransactionTable.from_frame(frame, bins=3).save(path)

    def read() -> str:
        table = th.TransactionTable.load(path)
        return repr((table.codes.tolist(), table.features, table.notes, table.discretizer.to_dict(), table.describe()))

    return Subject(path, read)


def _state(folder: Path) -> Subject:
    with MonitorStore(folder) as store:
        store.save({"a": [1, 2.5], "rejected": {"x": 3}}, {"b": np.arange(20), "c": np.zeros((2, 3))})

    def read() -> str:
        with MonitorStore(folder) as store:
            numbers, arrays = store.load() or ({}, {})
            return repr((numbers, {name: one.tolist() for name, one in sorted(arrays.items())}))

    return Subject(folder / "state.npz", read)


SUBJECTS = {"run": _run, "cache": _cache, "model": _model, "repeat": _repeat, "table": _table, "state": _state}


@pytest.fixture(scope="module", params=SUBJECTS)
def subject(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Subject:
    return SUBJECTS[request.param](tmp_path_factory.mktemp(request.param))


def flip(subject: Subject, seed: int, count: int) -> dict[str, int]:
    """Flip single bits, one after the other, each in a file that is as it was."""
    choose = random.Random(seed)
    truth = subject.read()
    told = {"noticed": 0, "healed": 0, "no effect": 0}
    for _ in range(count):
        path = choose.choice(subject.files)
        content = path.read_bytes()
        at = choose.randrange(8 * len(content))
        damaged = bytearray(content)
        damaged[at // 8] ^= 1 << at % 8
        path.write_bytes(damaged)
        where = f"{path.name}, bit {at}"
        verified = th.integrity.verify(subject.root).ok
        try:
            seen = subject.read()
        except ThenceError as error:
            assert not verified, where
            assert path.name in str(error), f"{where}: {error}"
            told["noticed"] += 1
        else:
            assert seen == truth, f"{where}: shown as truth"
            healed = subject.heals and th.integrity.verify(subject.root).ok and not verified
            told["healed" if healed else "no effect"] += 1
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return told


def test_a_flipped_bit_is_never_shown_as_truth(subject: Subject) -> None:
    told = flip(subject, 1, EACH)
    assert sum(told.values()) == EACH and told["noticed"] + told["healed"] > EACH // 3


@pytest.mark.slow
def test_of_many_flipped_bits_none_is_shown_as_truth(subject: Subject) -> None:
    assert sum(flip(subject, 2, MANY).values()) == MANY


def test_verify_tells_every_flipped_bit_of_a_listed_file(tmp_path: Path) -> None:
    """Also in files that nothing reads again, such as ``report.html`` and ``rules.json``."""
    root = th.mine(
        th.datasets.load("toy"), windows="1h", bins=3, confirm=False, progress="off", out=tmp_path / "a"
    ).path
    assert root is not None and th.integrity.verify(root).ok
    choose = random.Random(3)
    for path in sorted(root.iterdir()):
        if path.name == "manifest.json":
            continue
        content = path.read_bytes()
        at = choose.randrange(8 * len(content))
        damaged = bytearray(content)
        damaged[at // 8] ^= 1 << at % 8
        path.write_bytes(damaged)
        assert list(th.integrity.verify(root).damaged) == [path.name]
        path.write_bytes(content)
    shutil.rmtree(root)
