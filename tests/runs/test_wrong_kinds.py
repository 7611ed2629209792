"""What a caller passes to ``mine`` may be of any type: a wrong one is refused by name, before anything is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import thence as th

NAMED = ("windows", "scope", "derive", "categorical", "numeric", "enrich", "miner", "executor", "memory_limit", "out")
NUMBERS = ("bins", "seed")
OTHERS = ("refine", "config", "progress")
WRONG: tuple[Any, ...] = ({"a": 1}, 3.5, [None], object(), b"x")


@pytest.mark.parametrize("name", [*NAMED, *NUMBERS, *OTHERS])
@pytest.mark.parametrize("value", WRONG, ids=lambda value: type(value).__name__)
def test_a_wrong_kind_is_refused_by_name(
    name: str, value: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(th.errors.ThenceError) as caught:
        th.mine(th.datasets.load("toy"), **{"progress": "off", name: value})
    assert len(str(caught.value)) < 300
    assert not list(tmp_path.iterdir())


def test_names_may_come_from_a_generator() -> None:
    run = th.mine(th.datasets.load("toy"), derive=(name for name in ["hour", "change"]), progress="off")
    assert run.config.windows.derive == ("hour", "change")
