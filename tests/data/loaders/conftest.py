"""Where the public data lies that some tests read; they are skipped, with a message, where it is absent."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.needs import PUBLISHED


@pytest.fixture(scope="session")
def published() -> Path:
    return PUBLISHED
