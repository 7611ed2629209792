"""Fixtures of the tests of experiments: a separate cache for simulated data."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def cache_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("thence-cache")


@pytest.fixture(autouse=True)
def own_cache(cache_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THENCE_CACHE", str(cache_root))
