"""The wheel in empty virtual environments: without extras it does what README and tutorial say, on each Python."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.dist import ROOT, build
from tools.page_extras import bare_variables, environment, run_page

VERSIONS = ("3.11", "3.12", "3.13")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("build", reason="the package 'build' is not installed (pip install build)")
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout, which the contents of the wheel are compared with")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "hatchling"]
    if subprocess.run(command, capture_output=True).returncode:
        pytest.skip("the package index cannot be reached")
    return build(tmp_path_factory.mktemp("dist"))[0]


def interpreter(version: str) -> str | None:
    """A working interpreter of a version, on the path or among those of pyenv."""
    known = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for python in (shutil.which(f"python{version}"), *map(str, known)):
        # pyenv puts commands on the path that fail for versions that are not selected.
        if python and not subprocess.run([python, "-c", ""], capture_output=True).returncode:
            return python
    return None


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_the_wheel_works_without_extras(version: str, wheel: Path, tmp_path: Path) -> None:
    """Modules, commands, messages about missing extras (``without_extras.py``), the script, and the tutorial."""
    if (base := interpreter(version)) is None:
        pytest.skip(f"there is no Python {version}")
    try:
        python = environment(tmp_path / "environment", wheel, python=base)
        script = python.with_name("thence")
        (tmp_path / "work").mkdir()
        for command in ([script, "--version"], [python, Path(__file__).with_name("without_extras.py")]):
            done = subprocess.run(
                command, cwd=tmp_path / "work", env=bare_variables(), capture_output=True, encoding="utf-8"
            )
            assert done.returncode == 0, done.stderr
        blocks = run_page("docs/tutorial.md", python, tmp_path / "cache")
        assert blocks
        assert not [block["failed"] for block in blocks if "failed" in block]
    finally:
        shutil.rmtree(tmp_path / "environment", ignore_errors=True)  # it is large, and pytest keeps folders
