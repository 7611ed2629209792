"""Where the public data lies that some tests read; they are skipped, with a message, where it is absent."""

from __future__ import annotations

from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[3].parent / "shared" / "data"


@pytest.fixture(scope="session")
def data() -> Path:
    if not DATA.is_dir():
        pytest.skip(f"public data sets are not at {DATA}")
    return DATA
