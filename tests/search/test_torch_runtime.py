"""torch is optional: nothing imports it before a miner works, and miners that need it name the extra."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from thence.errors import MissingExtraError
from thence.lab.baselines.arm_ae import ARMAE
from thence.search.aerial.miner import Aerial
from thence.search.aerial.model import AerialModel
from thence.search.base import make_miner
from thence.search.exact.miner import Exact
from thence.search.torch_runtime import one_thread, product_precision, require_torch
from thence.tables.transactions import TransactionTable

WITHOUT_TORCH = (
    "thence.search.base",
    "thence.search.exact.miner",
    "thence.search.aerial.miner",
    "thence.lab.baselines.arm_ae",
    "thence.runs.pipeline",
    "thence.cli",
    "thence.cli.app",
)


@pytest.fixture
def table() -> TransactionTable:
    return TransactionTable.from_frame(pl.DataFrame({"a": ["x", "y"] * 50, "b": ["u", "v"] * 50}))


@pytest.fixture
def no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)


@pytest.mark.parametrize("module", WITHOUT_TORCH)
def test_importing_a_module_does_not_import_torch(module: str) -> None:
    program = f"import sys, {module}; print('torch' in sys.modules, 'safetensors' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


@pytest.mark.usefixtures("no_torch")
def test_aerial_names_its_extra(table: TransactionTable, tmp_path: Path) -> None:
    miner, model = Aerial(seed=1), AerialModel(())
    uses = (
        lambda: miner.mine(table),
        lambda: miner.train(table),
        lambda: miner.partial_fit(model, table),
        lambda: miner.extract(model, table),
        lambda: model.save(tmp_path),
        lambda: AerialModel.load(tmp_path),
    )
    for use in uses:
        with pytest.raises(MissingExtraError, match=r"'torch'.*pip install 'thence\[aerial\]'"):
            use()


def test_a_stored_model_needs_safetensors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "safetensors", None)
    with pytest.raises(MissingExtraError, match=r"'safetensors'.*thence\[aerial\]"):
        AerialModel.load(tmp_path)


@pytest.mark.usefixtures("no_torch")
def test_arm_ae_names_its_extra(table: TransactionTable) -> None:
    with pytest.raises(MissingExtraError, match=r"'torch'.*pip install 'thence\[baselines\]'"):
        ARMAE().mine(table)


@pytest.mark.usefixtures("no_torch")
def test_the_rest_works_without_torch(table: TransactionTable) -> None:
    assert make_miner("aerial", similarity=0.9).similarity == 0.9  # type: ignore[attr-defined]
    with one_thread():
        assert len(Exact().mine(table)) == 4
    with pytest.raises(MissingExtraError):
        require_torch(extra="aerial")


def test_the_number_of_threads_is_restored() -> None:
    import torch

    before = torch.get_num_threads()
    with one_thread():
        assert torch.get_num_threads() == 1
    with one_thread(False):
        assert torch.get_num_threads() == before
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("bits", ["highest", "high"])
def test_the_precision_of_products_ends_with_the_context(bits):
    torch = pytest.importorskip("torch")
    before = torch.get_float32_matmul_precision()
    with pytest.raises(ValueError, match="inside"), product_precision(bits):
        assert torch.get_float32_matmul_precision() == bits
        raise ValueError("inside")
    assert torch.get_float32_matmul_precision() == before
