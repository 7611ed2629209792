"""The same seed gives the same bytes: in another process, with another hash seed, on one thread and on two."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from thence.search.base import MINERS

# Settings that keep a miner short.
SMALL = {
    "exact": {"max_antecedents": 2},
    "fpgrowth": {"min_support": 0.1},
    "hmine": {"min_support": 0.1},
    "naive-semrl": {"max_antecedents": 1},
    "ts-narm": {"population": 12, "evaluations": 200},
    "aerial": {"epochs": 3},
    "arm-ae": {},
}
PROGRAM = """
import hashlib, json, sys, tempfile
from pathlib import Path
import thence as th

miner, enrich, settings = json.loads(sys.argv[1])
asked = dict(windows="1h", bins=3, confirm=False, seed=7, progress="off", **settings)
run = th.mine(th.datasets.load("toy"), miner=miner, enrich=enrich, **asked)
with tempfile.TemporaryDirectory() as folder:
    for suffix in ("json", "csv"):
        path = th.write_rules(run.rules, Path(folder) / f"rules.{suffix}")
        print(suffix, len(run.rules), hashlib.sha256(path.read_bytes()).hexdigest())
"""


def mined(miner: str, enrich: str, *, hash_seed: int, threads: int) -> str:
    """Mine in a process of its own and return the number of rules and the hashes of their files."""
    names = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS", "RAYON_NUM_THREADS", "THENCE_THREADS")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps([miner, enrich, SMALL.get(miner, {})])],
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed), **dict.fromkeys(names, str(threads))},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return done.stdout


@pytest.mark.parametrize("enrich", ["grounded", "lifted"])
def test_the_exact_miner_gives_the_same_bytes(enrich: str) -> None:
    first = mined("exact", enrich, hash_seed=1, threads=1)
    assert "json 0 " not in first
    assert mined("exact", enrich, hash_seed=2, threads=2) == first


@pytest.mark.slow
@pytest.mark.parametrize("miner", [name for name in MINERS.built_in if name != "exact"])
def test_every_miner_gives_the_same_bytes(miner: str) -> None:
    enrich = "existential" if miner == "naive-semrl" else "grounded"
    first = mined(miner, enrich, hash_seed=1, threads=1)
    assert mined(miner, enrich, hash_seed=2, threads=2) == first
