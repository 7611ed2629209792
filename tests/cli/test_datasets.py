"""``thence datasets``: what it says about the files of publishers, and how it downloads them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.commands import fail, succeed, thence
from tests.helpers.distributions import add_distribution
from tests.helpers.publishers import Publisher, publish

CONTENT = b"1,2\n" * 50_000
PLANT = f"""
from thence.data.datasets import NamedDataset
from thence.lab.datasets.folders import find_folder
from thence.data.datasets.published import Published, Remote
from thence.lab.datasets.toy import load as load_toy

FILES = Published(
    "plant",
    (
        Remote("a.csv", {len(CONTENT)}, "{hashlib.sha256(CONTENT).hexdigest()}", ("http://127.0.0.1:9/a.csv",)),
        Remote("b/c.csv", {len(CONTENT)}, "{hashlib.sha256(CONTENT).hexdigest()}", ("http://127.0.0.1:9/c.csv",)),
    ),
    "The Plant", "https://example.org/plant", "CC BY 4.0", "Gardener (2020): Plants",
)


def load(*, path=None, progress=None):
    find_folder("plant", FILES, ["a.csv"], path=path, progress=progress)
    return load_toy()


DATASET = NamedDataset("plant", "a plant", "files", load, (FILES,))
"""


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Publisher]:
    """A mirror of an institution, and a data set of another package whose publisher does not answer."""
    (tmp_path / "site").mkdir()
    add_distribution(tmp_path / "site", "thence_garden", PLANT, {"thence.datasets": {"plant": "thence_garden:DATASET"}})
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.chdir(tmp_path / "site")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("THENCE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("THENCE_OFFLINE", "0")
    monkeypatch.delenv("THENCE_DATA", raising=False)
    with publish() as publisher:
        monkeypatch.setenv("THENCE_MIRROR", publisher.url)
        publisher.files |= {"/plant/a.csv": CONTENT, "/plant/b/c.csv": CONTENT}
        yield publisher


def test_get_downloads_what_is_missing_and_says_where_it_is(server: Publisher, tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "data" / "plant"
    assert succeed("datasets", "get", "plant", "toy") == f"plant: 2 files, 0.4 MB, 2 downloaded: {folder}\n"
    assert (folder / "b" / "c.csv").read_bytes() == CONTENT
    assert "all were there" in succeed("datasets", "get", "plant")
    (folder / "a.csv").write_bytes(CONTENT[::-1])
    told = json.loads(succeed("datasets", "get", "plant", "--json"))
    assert told == [{"dataset": "plant", "folder": str(folder), "size": 400_000, "downloaded": ["a.csv"]}]
    assert [path for path, _ in server.log] == ["/plant/a.csv", "/plant/b/c.csv", "/plant/a.csv"]
    assert succeed("datasets", "get", "toy") == "toy: no files needed\n"
    assert succeed("datasets", "get", "plant", "--quiet") == ""
    assert "did you mean 'plant'" in fail("datasets", "get", "plnt")


def test_info_describes_the_files_and_says_whether_they_are_here(server: Publisher, tmp_path: Path) -> None:
    told = succeed("datasets", "show", "plant")
    for part in ("a.csv, 0.2 MB, not here", "The Plant, https://example.org/plant", "CC BY 4.0", "Gardener (2020)"):
        assert part in told
    assert "5 sensors" in succeed("datasets", "make", "plant")
    folder = tmp_path / "cache" / "data" / "plant"
    assert "a.csv, 0.2 MB, in" in succeed("datasets", "show", "plant")
    (published,) = json.loads(succeed("datasets", "show", "plant", "--json"))["published"]
    assert [file["folder"] for file in published["files"]] == [str(folder), None]
    assert published["files"][1]["urls"] == ["http://127.0.0.1:9/c.csv"] and published["licence"] == "CC BY 4.0"


def test_one_data_set_that_cannot_be_had_does_not_keep_others_from_being_downloaded(
    server: Publisher, tmp_path: Path
) -> None:
    """Every data set of ours fails at once, since the mirror has none of them and their publishers are not asked."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "thence.lab.datasets.folders._with_mirror", lambda part, name, _: [f"{server.url}/{part.folder}/{name}"]
        )
        result = thence("datasets", "get", "all")
    assert result.exit_code == 1 and "plant: 2 files" in result.stdout and "Traceback" not in result.output
    for name in ("hanoi", "ltown", "lbnl-ahu", "open-smart-home", "citybench"):
        assert f"files of the data set '{name}' are not here and cannot be downloaded" in result.stderr


def test_an_error_names_no_option_that_means_something_else(server: Publisher) -> None:
    """``path=`` of a data set was taken for ``--out``."""
    server.files.clear()
    told = fail("mine", "--dataset", "plant", "--quiet")
    assert "404 Not Found" in told and told.strip().endswith("on the command line: --option path=…")
