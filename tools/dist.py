"""Build the wheel and the source archive, and check what is in them.

    python -m tools.dist                 into dist/
    python -m tools.dist --out PATH      into another folder

The wheel is built twice, from the source archive and from the checkout, and both must be the same bytes: the archive is
then complete, and the build reproducible. Files get the time of the last commit (``SOURCE_DATE_EPOCH`` overrides it).
Needs git and, for the build backend, a package index.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Folders and files of the checkout that the source archive holds; it adds PKG-INFO and .gitignore.
ARCHIVED = ("src", "frontend", "examples", "README.md", "CHANGELOG.md", "LICENSE", "pyproject.toml")
ADDED = {"PKG-INFO", ".gitignore"}
# What users would miss first.
NEEDED = {
    "thence/py.typed",
    "thence/show/reports/static/report.css",
    "thence/show/reports/static/report.js",
    "thence/show/explorer/static/explorer.css",
    "thence/show/explorer/static/explorer.js",
    "thence/show/explorer/static/index.html",
}
METADATA = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}


class DistError(Exception):
    """The wheel or the source archive cannot be built, or is not as it should be."""


def build(folder: Path) -> tuple[Path, Path]:
    """Build both, check them, and return the paths of the wheel and of the source archive.

    Args:
        folder: Where they go; a wheel or an archive of the same name is replaced.

    Raises:
        DistError: If the build fails, or a file is missing, does not belong there or differs.
    """
    with tempfile.TemporaryDirectory() as scratch:
        direct = Path(scratch)
        _run_build("--outdir", str(folder))
        _run_build("--wheel", "--outdir", str(direct))
        (wheel,) = direct.glob("*.whl")
        built = folder / wheel.name
        if built.read_bytes() != wheel.read_bytes():
            raise DistError(f"{wheel.name} built from the source archive differs from the one built from the checkout")
    archive = folder / f"{'-'.join(built.name.split('-')[:2])}.tar.gz"
    if problems := find_problems(built, archive):
        raise DistError("\n".join(problems))
    return built, archive


def find_problems(wheel: Path, archive: Path) -> list[str]:
    """Return what is missing from a wheel and a source archive, and what does not belong there; compare with git.

    Args:
        wheel: Path of the wheel.
        archive: Path of the source archive.
    """
    stem = "-".join(wheel.name.split("-")[:2])
    with zipfile.ZipFile(wheel) as opened:
        packed = {name for name in opened.namelist() if not name.endswith("/")}
    wanted = {name.removeprefix("src/") for name in tracked("src/thence")} | NEEDED
    wanted |= {f"{stem}.dist-info/{name}" for name in METADATA}
    with tarfile.open(archive) as opened:
        archived = {member.name.removeprefix(f"{stem}/") for member in opened if member.isfile()}
    both = ((wheel, wanted, packed), (archive, tracked(*ARCHIVED) | ADDED, archived))
    return [
        f"{path.name}: {name} {what}"
        for path, should, has in both
        for names, what in ((should - has, "is missing"), (has - should, "does not belong there"))
        for name in sorted(names)
    ]


def tracked(*paths: str) -> set[str]:
    """Return the files that git tracks below paths of the checkout.

    Args:
        paths: Files and folders.

    Raises:
        DistError: If there is no git, or this is not a checkout.
    """
    return {name for name in _git("ls-files", "-z", "--", *paths).split("\0") if name}


def _git(*arguments: str) -> str:
    try:
        return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise DistError(f"git {arguments[0]} failed; run this in a checkout: {error}") from error


def _run_build(*arguments: str) -> None:
    time = os.environ.get("SOURCE_DATE_EPOCH") or _git("log", "-1", "--format=%ct").strip()
    command = [sys.executable, "-m", "build", *arguments, str(ROOT)]
    done = subprocess.run(command, env={**os.environ, "SOURCE_DATE_EPOCH": time}, capture_output=True, text=True)
    if done.returncode:
        raise DistError(f"python -m build failed:\n{done.stdout}{done.stderr}")


def main() -> int:
    """Build into a folder, and print the paths."""
    parser = argparse.ArgumentParser(prog="python -m tools.dist", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    try:
        for path in build(parser.parse_args().out):
            sys.stdout.write(f"{path} ({path.stat().st_size:,} bytes)\n")
    except DistError as error:
        sys.stdout.write(f"dist: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
