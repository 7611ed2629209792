"""Codes keep their order when a benchmark passes them to libraries as text: a rule is counted for the item it names."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

import thence as th

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def test_more_than_ten_states_keep_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("pandas")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    codes = np.column_stack([np.arange(34) % 17, np.arange(34) % 2]).astype(np.int8)
    frame = importlib.import_module("_aerial_jobs").as_frame(codes)
    direct = importlib.import_module("_aerial_tables").as_table(codes, [17, 2])
    assert th.TransactionTable.from_frame(frame).codes.tolist() == codes.tolist()
    assert direct.codes.tolist() == codes.tolist()
