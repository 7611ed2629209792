"""How many threads are used: what the environment says, or one per processor."""

from __future__ import annotations

import pytest

from thence._base.settings.threads import default_threads
from thence.errors import ConfigError
from thence.tables.bitmaps.bits import run_threads


def test_the_environment_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THENCE_THREADS", "3")
    assert default_threads() == 3
    for unset in ("", None):
        monkeypatch.delenv("THENCE_THREADS", raising=False)
        if unset is not None:
            monkeypatch.setenv("THENCE_THREADS", unset)
        assert default_threads() >= 1


@pytest.mark.parametrize("wrong", ["0", "-1", "two", "1.5", "99999", "1025", "٣", "1" * 5000])
def test_what_is_no_number_of_threads_is_an_error(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THENCE_THREADS", wrong)
    with pytest.raises(ConfigError, match=r"THENCE_THREADS is .*not a valid number of threads") as caught:
        run_threads(abs, [1, 2])
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("threads", ["1", "2", "7"])
def test_results_come_in_order_whatever_the_number(threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THENCE_THREADS", threads)
    assert run_threads(abs, range(-50, 0)) == list(range(50, 0, -1))
