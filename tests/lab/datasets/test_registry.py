from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import thence.data.datasets as datasets
from tests.helpers.distributions import add_distribution
from thence.errors import ConfigError

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "guide" / "datasets.md"


def test_every_data_set_says_what_it_needs_and_which_options_it_takes() -> None:
    for name in datasets.names():
        info = datasets.info(name)
        assert info.name == name
        assert info.summary and info.needs
        assert info.describe()["options"] == info.options
        for part in info.published:
            assert part.files and all(len(file.sha256) == 64 for file in part.files)
            assert all((file.urls or file.archive) and (file.size or file.make) for file in part.files)
            urls = [url for file in part.describe()["files"] for url in file["urls"]]
            assert all(url.startswith("https://") for url in (part.page, *urls))
            assert part.publisher and part.licence and part.citation
        assert "progress" not in info.options
    assert datasets.info("net3").options == {
        "days": 28, "step_minutes": 30, "seed": 0, "demand_noise": 0.05, "noise": 0.0, "sensors": "all",
    }  # fmt: skip
    for name in ("net1", "net3", "hanoi", "ltown"):
        assert "noise=0.0" in str(datasets.info(name))


def test_an_unknown_name_is_an_error_with_the_nearest_one() -> None:
    with pytest.raises(ConfigError, match=r"unknown data set 'lbnl_ahu'.*did you mean 'lbnl-ahu'"):
        datasets.load("lbnl_ahu")


def test_an_unknown_option_is_an_error_that_lists_the_options() -> None:
    with pytest.raises(ConfigError, match=r"no option 'day'; options are: days, step_minutes.*did you mean 'days'"):
        datasets.load("net3", day=3)


def test_looking_at_the_list_imports_no_simulator() -> None:
    code = (
        "import sys, thence.data.datasets as d; d.names(); [d.info(n) for n in d.names()]; d.load('toy');"
        "print([m for m in ('wntr', 'torch', 'pandas', 'scipy', 'pooch', 'requests') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize("name", datasets.names())
def test_the_guide_names_every_option(name: str) -> None:
    section = re.search(rf"^## `{name}`$(.*?)(?=^## |\Z)", GUIDE.read_text(encoding="utf-8"), re.M | re.S)
    assert section, f"the guide has no section for {name}"
    for option in datasets.info(name).options:
        assert f"`{option}" in section[1], f"the guide does not explain the option {option} of {name}"


PLUGIN = """
from dataclasses import replace

from thence.data.datasets import NamedDataset
from thence.lab.datasets.toy import load as load_toy
from thence.data.graph.system import System


def load(*, title: str = "plant") -> System:
    return replace(load_toy(), name=title)


DATASET = NamedDataset("plant", "the toy again", "nothing", load)
WRONG = "no data set"
"""


def test_another_package_adds_a_data_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_distribution(
        tmp_path,
        "thence_plant",
        PLUGIN,
        {"thence.datasets": {"plant": "thence_plant:DATASET", "wrong": "thence_plant:WRONG"}},
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert datasets.names()[-2:] == ("plant", "wrong")
    assert datasets.info("plant").options == {"title": "plant"}
    assert datasets.load("plant", title="mill").name == "mill"
    with pytest.raises(ConfigError, match="'title' must be a string, got 3"):
        datasets.load("plant", title=3)
    with pytest.raises(ConfigError, match="must be a NamedDataset, got"):
        datasets.load("wrong")
