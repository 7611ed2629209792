"""Networks this small only wait for each other on several threads."""

from __future__ import annotations

import pytest

from thence.search import torch_runtime


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    with torch_runtime.one_thread():
        yield
