"""Every registered miner passes the shipped checks and is described in the guide; plug-ins are found and checked."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from thence.errors import ConfigError
from thence.lab.evaluate.conformance import yield_checks
from thence.search.base import MINERS, Miner, make_miner, miner_names

ROOT = Path(__file__).parents[2]

# Settings that keep the checks short; a registered miner that is not here is checked with its defaults.
SMALL = {
    "exact": [{"min_support": 0.05, "min_confidence": 0.6}, {"max_antecedents": 3}],
    "fpgrowth": [{"min_support": 0.05, "min_confidence": 0.6}, {"max_antecedents": 1}],
    "hmine": [{"min_support": 0.05, "min_confidence": 0.6}, {"max_antecedents": 3}],
    "naive-semrl": [
        {"algorithm": "fpgrowth"},
        {"algorithm": "hmine", "max_antecedents": 1},
        {"algorithm": "exact", "max_antecedents": 1},
    ],
    "ts-narm": [
        {"algorithm": name, "population": 12, "evaluations": 150} for name in ("de", "ga", "pso", "lshade", "jde")
    ],
    "aerial": [{"similarity": 0.6, "epochs": 40}],
    "arm-ae": [{}, {"loss": "cross-entropy", "max_antecedents": 3}],
}


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Networks this small only wait for each other on several threads, most of all where other tests run beside."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def miners() -> list[Miner]:
    return [make_miner(name, **settings) for name in MINERS.built_in for settings in SMALL.get(name, [{}])]


def cases() -> list:
    return [
        pytest.param(miner, check, id=f"{getattr(miner, 'label', miner.name)}-{check.__name__}")
        for miner in miners()
        for check in yield_checks(miner)
    ]


@pytest.mark.parametrize(("miner", "check"), cases())
def test_check(miner, check):
    check(miner)


def test_the_miners_that_find_everything_say_so():
    """Otherwise they would escape the comparison with an enumeration of all rules."""
    exhaustive = {miner.name for miner in miners() if getattr(type(miner), "exhaustive", False)}
    assert exhaustive == {"exact", "fpgrowth", "hmine", "naive-semrl"}


@pytest.mark.parametrize("name", MINERS.built_in)
def test_every_miner_is_described_in_the_guide(name):
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "guide").glob("*.md")]
    assert any(re.search(rf"`{re.escape(name)}`", page) for page in pages), f"no page of docs/guide describes `{name}`"


@pytest.fixture
def plugged_in(tmp_path, monkeypatch):
    """The example plug-in as an installed package: its source and its metadata on the path."""
    source = ROOT / "examples" / "plugin_miner"
    declared = (source / "pyproject.toml").read_text(encoding="utf-8")
    entry = re.search(r'\[project\.entry-points\."thence\.miners"\]\n(.+)', declared)
    assert entry is not None
    metadata = tmp_path / "thence_one_r-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: thence-one-r\nVersion: 0.1.0\n")
    (metadata / "entry_points.txt").write_text(f"[thence.miners]\n{entry[1].replace(chr(34), '')}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.syspath_prepend(str(source / "src"))
    yield "one-r"
    sys.modules.pop("thence_one_r", None)


def test_a_miner_of_another_package_is_found_and_conforms(plugged_in):
    assert plugged_in in miner_names()
    miner = make_miner(plugged_in, min_confidence=0.4)
    assert miner.min_confidence == 0.4
    for check in yield_checks(miner):
        check(miner)


def test_without_the_package_its_name_is_unknown():
    with pytest.raises(ConfigError, match="unknown miner 'one-r'"):
        make_miner("one-r")
