"""A Ray cluster for the tests of this folder."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.helpers.ray_cluster import ENVIRONMENT, RayCluster, start_ray_cluster

# Before Ray is imported, which reads them only then.
os.environ.update(ENVIRONMENT)


@pytest.fixture(scope="session")
def cluster() -> Iterator[RayCluster]:
    """Two machines that all tests share; they must leave them as they are."""
    with start_ray_cluster() as started:
        yield started


@pytest.fixture
def doomed() -> Iterator[RayCluster]:
    """Two machines that a test may break."""
    with start_ray_cluster() as started:
        yield started
