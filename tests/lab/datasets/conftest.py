"""Data sets in tests: a cache of their own, and published data where the checkout has them beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.needs import PUBLISHED


@pytest.fixture(scope="session")
def cache_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("thence-cache")


@pytest.fixture(autouse=True)
def own_cache(cache_root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Simulations are shared by the tests of a session and never touch the user's cache."""
    monkeypatch.setenv("THENCE_CACHE", str(cache_root))
    monkeypatch.delenv("THENCE_DATA", raising=False)
    return cache_root


@pytest.fixture
def published(request: pytest.FixtureRequest) -> Path:
    """The folder of published data that the test module names as ``FOLDER``."""
    return PUBLISHED / str(request.module.FOLDER)
