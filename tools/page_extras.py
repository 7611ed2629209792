"""Run the blocks of README, tutorial and guide where only the extras are installed that the page names.

    python -m tools.page_extras                          all pages
    python -m tools.page_extras docs/guide/laws.md       some of them

A page names its extras in one line, ``Needs no extras`` or ``Needs `pip install 'thence[water]'` `` (see
``page_blocks.extras_of``). For each set of extras one virtual environment gets the wheel with these, and nothing else;
environments stay in ``build/environments`` and are used again. Files that a page calls the reader's own are made by
the calling environment, which needs all extras. Blocks that need published data run if ``THENCE_DATA`` names its
folder. Prints a row per page; the exit code is 1 if a block fails. Needs a package index.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.dist import build
from tools.page_blocks import ROOT, extras_of
from tools.page_runner import FILES, READ_ONLY

GUIDE = ("README.md", "docs/tutorial.md", *(f"docs/guide/{path.name}" for path in sorted(ROOT.glob("docs/guide/*.md"))))
ENVIRONMENTS = ROOT / "build" / "environments"


def environment(folder: Path, wheel: Path, extras: Sequence[str] = (), *, python: str = sys.executable) -> Path:
    """Install a wheel with extras into a virtual environment, and return the path of its interpreter.

    Args:
        folder: Folder of the environment; one that exists is updated.
        wheel: The wheel.
        extras: Extras to install with it.
        python: Interpreter to create the environment with.
    """
    inside = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not inside.exists():
        subprocess.run([python, "-m", "venv", str(folder)], check=True)
    variables = bare_variables()
    install = [str(inside), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    named = f"thence[{','.join(extras)}] @ {wheel.as_uri()}" if extras else f"thence @ {wheel.as_uri()}"
    subprocess.run([*install, "-c", str(ROOT / "constraints.txt"), named], check=True, env=variables)
    # A wheel of the same version is not installed again by itself.
    subprocess.run([*install, "--force-reinstall", "--no-deps", str(wheel)], check=True, env=variables)
    return inside


def bare_variables() -> dict[str, str]:
    """Return the variables of this process without those that let Python import from elsewhere."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}


def run_page(page: str, python: Path, cache: Path) -> list[dict[str, Any]]:
    """Run the blocks of a page with an interpreter, in an empty folder, and return what became of each.

    Args:
        page: Path of the page in the checkout.
        python: The interpreter.
        cache: Folder for simulated data sets.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "page"
        folder.mkdir()
        if page in FILES:
            FILES[page](folder)
        variables = {**bare_variables(), "PYTHONPATH": str(ROOT), "THENCE_CACHE": str(cache), "COLUMNS": "120"}
        command = [str(python), "-m", "tools.page_runner", page]
        done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, encoding="utf-8")
    try:
        return [json.loads(line) for line in done.stdout.splitlines()]
    except json.JSONDecodeError:
        return [{"line": 0, "failed": done.stdout + done.stderr}]


def row_of(page: str, extras: Sequence[str], blocks: Sequence[dict[str, Any]]) -> str:
    """A row of the table: the page, its extras, how many blocks ran, were only read, or were skipped and why."""
    done = [block for block in blocks if "failed" not in block]
    skipped = Counter(block["skipped"] for block in done if block["skipped"])
    read = sum(block["language"] in READ_ONLY and not block["skipped"] for block in done)
    ran = len(done) - skipped.total() - read
    reasons = "; ".join(f"{count} {reason}" for reason, count in skipped.items())
    failed = "".join(f" FAILED after line {one['line']}: {one['failed']}" for one in blocks if "failed" in one)
    return f"| {page} | {', '.join(extras) or '–'} | {ran} | {read} | {reasons or '–'} |{failed}"


def main() -> int:
    """Build the wheel, run the pages, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tools.page_extras", description=__doc__)
    parser.add_argument("pages", nargs="*", default=GUIDE, metavar="PAGE")
    parser.add_argument("--environments", type=Path, default=ENVIRONMENTS)
    given = parser.parse_args()
    wheel, _ = build(ROOT / "dist")
    sets = {page: extras_of(page) for page in given.pages}
    say = sys.stdout.write
    say("| page | extras | run | read | not run |\n|---|---|---|---|---|\n")
    failures = 0
    with tempfile.TemporaryDirectory() as cache:
        os.environ["THENCE_CACHE"] = cache  # for the files of the reader
        for extras in sorted(set(sets.values()), key=lambda names: (len(names), names)):
            python = environment(given.environments / ("-".join(extras) or "none"), wheel, extras)
            for page in (page for page in given.pages if sets[page] == extras):
                blocks = run_page(page, python, Path(cache))
                failures += any("failed" in block for block in blocks)
                say(row_of(page, extras, blocks) + "\n")
                sys.stdout.flush()
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
