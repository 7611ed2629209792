"""The pages that have no test of their own: every Python example runs, every link leads somewhere."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = (
    "README.md",
    "docs/index.md",
    "docs/guide/aerial.md",
    "docs/guide/lifted-rules.md",
    "docs/guide/which-enrichment.md",
)


def _blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.fixture
def own_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that the README calls the user's own, made from a few days of Net3."""
    import polars as pl
    import wntr

    import thence as th

    data = th.datasets.load("net3", days=3)
    data.sensors.to_polars().write_parquet(tmp_path / "readings.parquet")
    network = Path(wntr.__file__).parent / "library" / "networks" / "Net3.inp"
    shutil.copy(network, tmp_path / "network.inp")
    pl.DataFrame({"sensor": list(data.binding), "node": list(data.binding.values())}).write_csv(
        tmp_path / "binding.csv"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", PAGES)
def test_examples_run(page: str, own_files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = _blocks(page)
    assert blocks, f"{page} has no example"
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)
    assert capsys.readouterr().out


@pytest.mark.parametrize(
    "page", sorted(str(p.relative_to(ROOT)) for p in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")])
)
def test_links_lead_somewhere(page: str) -> None:
    here = (ROOT / page).parent
    for target in re.findall(r"\]\(([^)#\s]+)", (ROOT / page).read_text(encoding="utf-8")):
        if "://" not in target:
            assert (here / target).exists(), f"{page} links to {target}"


def test_every_guide_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in ROOT.glob("docs/guide/*.md"):
        assert f"guide/{page.name}" in navigation, f"{page.name} is not in mkdocs.yml"


def test_the_readme_names_the_two_commands() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make demo" in readme
    assert "make test" in readme
