"""Settings that all tests share."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

# A shell lets commands in its background ignore Ctrl-C, and children inherit that: the tests of Ctrl-C need it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Workers share the cores: several threads each would only wait for one another (torch spins while it waits).
os.environ.setdefault("OMP_NUM_THREADS", "1")
# No test downloads a data set.
os.environ["THENCE_OFFLINE"] = "1"
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("THENCE_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings

from tests.helpers.examples import TAKES_ALL, examples
from tests.helpers.needs import mark_needs, summarize_skips

# Tests never time: a slow machine must not fail them. Examples are the same each time, but in `make test-all`.
settings.register_profile(
    "thence",
    deadline=None,
    max_examples=examples(100),
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=not TAKES_ALL,
    print_blob=True,
)
settings.load_profile("thence")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_needs(items)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
    """Say at the very end what was skipped and what installs it."""
    yield
    skipped = terminalreporter.stats.get("skipped", [])
    for line in summarize_skips(report.longrepr[2] for report in skipped if isinstance(report.longrepr, tuple)):
        terminalreporter.write_line(line)
