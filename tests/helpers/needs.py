"""What some tests need that a machine may lack, in one table.

``pytest.mark.needs("chromium")`` on a test, or a fixture of ``FIXTURES``, says that it needs an entry of ``NEEDS``.
Where that is missing the test is skipped with "needs WHAT: INSTALL", and the run ends with a line for each reason. Such
tests are also marked ``outside``: ``pytest -m outside`` runs them alone.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = Path(os.environ.get("THENCE_DATA") or ROOT.parent / "shared" / "data")
"""Where the published data sets are, in folders of their own; it may not exist."""
FIELD = PUBLISHED.parent / "field"
"""Where small systems in the shapes of the field are, in folders of their own; it may not exist."""
_PREFIX = "needs "


def find_program(*names: str) -> str | None:
    """Return the path of the first program that is installed, system folders and the environment of Python included."""
    places = [os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin", str(Path(sys.executable).parent)]
    places += map(str, Path("/usr/lib/postgresql").glob("*/bin"))
    return next(filter(None, (shutil.which(name, path=os.pathsep.join(places)) for name in names)), None)


def _has_modules(*names: str) -> bool:
    return all(importlib.util.find_spec(name) is not None for name in names)


def _can_start_postgres() -> bool:
    try:
        pwd.getpwnam("postgres")
    except KeyError:
        return False
    return os.geteuid() == 0 and find_program("initdb") is not None and find_program("pg_ctl") is not None


def _has_cuda() -> bool:
    import torch

    return torch.cuda.is_available()


@dataclass(frozen=True)
class Need:
    """Something that a machine may lack.

    Args:
        what: Its name, for people.
        install: How to get it.
        is_there: Whether this machine has it.
    """

    what: str
    install: str
    is_there: Callable[[], bool]

    @property
    def reason(self) -> str:
        return f"{_PREFIX}{self.what}: {self.install}"


NEEDS = {
    "published data": Need(
        "published data", "set THENCE_DATA to a folder that holds leakdb, ltown, citybench, …", PUBLISHED.is_dir
    ),
    "field data": Need("field data", "put noise_building, … into the folder 'field' beside THENCE_DATA", FIELD.is_dir),
    "chromium": Need(
        "chromium",
        "apt-get install chromium",
        lambda: find_program("chromium", "chromium-browser", "google-chrome") is not None,
    ),
    "mosquitto": Need("mosquitto", "apt-get install mosquitto", lambda: find_program("mosquitto") is not None),
    "postgresql": Need("PostgreSQL, as root", "apt-get install postgresql", _can_start_postgres),
    "oxigraph": Need("oxigraph", "pip install oxigraph", lambda: find_program("oxigraph") is not None),
    "bolt server": Need(
        "a Bolt server", "pip install -e '.[neo4j,bolt-server]'", lambda: _has_modules("arcadedb_embedded", "neo4j")
    ),
    "front end": Need(
        "node and the packages of the front end",
        "npm ci --prefix frontend",
        lambda: find_program("node") is not None and (ROOT / "frontend" / "node_modules" / "esbuild").is_dir(),
    ),
    "ray": Need("Ray", "pip install -e '.[ray]'", lambda: _has_modules("ray")),
    "cuda": Need("a CUDA device", "a machine with one, and a CUDA build of torch", _has_cuda),
    "triton": Need("Triton", "a CUDA build of torch", lambda: _has_modules("triton")),
}

FIXTURES = {
    "chromium": "chromium",
    "published": "published data",
    "frontend": "front end",
    "cluster": "ray",
    "doomed": "ray",
}
"""Fixtures, and what the tests need that use them."""


@cache
def _is_there(name: str) -> bool:
    return NEEDS[name].is_there()


def mark_needs(items: Iterable[pytest.Item]) -> None:
    """Mark the tests that need something as ``outside``, and skip those whose need is not met."""
    for item in items:
        names = [name for mark in item.iter_markers("needs") for name in mark.args]
        names += {FIXTURES[one] for one in getattr(item, "fixturenames", ()) if one in FIXTURES}
        if names:
            item.add_marker("outside")
        for name in names:
            if not _is_there(name):
                item.add_marker(pytest.mark.skip(reason=NEEDS[name].reason))


def summarize_skips(reasons: Iterable[str]) -> list[str]:
    """Return a line for each reason, the most frequent first.

    >>> summarize_skips(["Skipped: needs Ray: pip install ray", "Skipped: needs Ray: pip install ray"])
    ['2 tests skipped: needs Ray: pip install ray']
    """
    counted = Counter(reason.removeprefix("Skipped: ") for reason in reasons)
    return [f"{number:,} test{'s' * (number > 1)} skipped: {reason}" for reason, number in counted.most_common()]
