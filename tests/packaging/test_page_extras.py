"""Pages name extras that exist, and the README the wheel that is built."""

from __future__ import annotations

import tomllib

import pytest

from tools.dist import ROOT
from tools.page_blocks import NEEDS, extras_of
from tools.page_extras import GUIDE

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.mark.parametrize("page", GUIDE)
def test_a_page_names_its_extras_below_its_title(page: str) -> None:
    assert set(extras_of(page)) <= PROJECT["optional-dependencies"].keys()
    if page != "README.md":
        assert NEEDS.match((ROOT / page).read_text(encoding="utf-8").splitlines()[2]), f"{page}: not on its third line"


def test_the_readme_names_the_wheel_that_is_built() -> None:
    assert f"dist/thence-{PROJECT['version']}-py3-none-any.whl" in (ROOT / "README.md").read_text(encoding="utf-8")
