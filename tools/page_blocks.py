"""Code blocks of the pages, and the outputs that they printed: what the tests run and what the site shows below them.

``page_runner.py`` executes the blocks, ``make docs-outputs`` stores what they print in
``docs/outputs/``, and ``docs_hooks.py`` puts it into the pages. Nothing is run here.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUTPUTS = ROOT / "docs" / "outputs"
BLOCK = re.compile(
    r"^(?:<!-- (?P<word>not run|file|needs):(?P<note>[^\n]*?)-->\n+)?"
    r"```(?P<language>[^\n]*)\n(?P<text>.*?)^```$",
    re.M | re.S,
)
NEEDS = re.compile(r"^Needs (?:no extras|`pip install 'thence\[(?P<extras>[a-z0-9,]+)\]'`)(?=[.;:,])", re.M)


@dataclass(frozen=True)
class Block:
    """A fenced block: where it is, what it is written in, and the comment before it."""

    page: str
    line: int
    language: str
    text: str
    word: str | None
    note: str

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"


def block_of(found: re.Match[str], *, page: str) -> Block:
    """The block that ``BLOCK`` found in the text of a page."""
    return Block(
        page,
        found.string.count("\n", 0, found.start("language")) + 1,
        found["language"].strip(),
        found["text"],
        found["word"],
        (found["note"] or "").strip(),
    )


def blocks_of(page: str) -> list[Block]:
    """The blocks of a page, in order."""
    return [block_of(found, page=page) for found in BLOCK.finditer((ROOT / page).read_text(encoding="utf-8"))]


def extras_of(page: str) -> tuple[str, ...]:
    """The extras that a page says its blocks need, sorted: its one line that begins with "Needs".

    Raises:
        ValueError: If it has no such line, or several.
    """
    found = list(NEEDS.finditer((ROOT / page).read_text(encoding="utf-8")))
    if len(found) != 1:
        raise ValueError(f"{page} must have one line 'Needs no extras.' or \"Needs `pip install 'thence[water]'`.\"")
    return tuple(sorted((found[0]["extras"] or "").split(","))) if found[0]["extras"] else ()


def output_key(block: Block, before: Mapping[str, str]) -> str:
    """The name of a block among the outputs of its page: it changes with the code, not with the text around it."""
    name = hashlib.sha256(f"{block.language}\n{block.text}".encode()).hexdigest()[:12]
    copies = sum(key.partition("#")[0] == name for key in before)
    return f"{name}#{copies + 1}" if copies else name


def output_path(page: str, *, folder: Path = OUTPUTS) -> Path:
    """The file with the outputs of a page, ``docs/guide/laws.md``: ``docs/outputs/guide/laws.json``."""
    return folder / Path(page).relative_to("docs").with_suffix(".json")


def read_outputs(page: str, *, folder: Path = OUTPUTS) -> dict[str, str]:
    """Stored outputs of a page by the key of the block; empty if there are none."""
    if not page.startswith("docs/") or not (path := output_path(page, folder=folder)).exists():
        return {}
    outputs: dict[str, str] = {}
    for key, lines in json.loads(path.read_text(encoding="utf-8")).items():
        outputs[key] = "\n".join(lines)
    return outputs


def write_outputs(page: str, outputs: Mapping[str, str], *, folder: Path = OUTPUTS) -> None:
    """Store the outputs of a page, or remove its file if no block prints anything."""
    path = output_path(page, folder=folder)
    lines = {key: text.split("\n") for key, text in outputs.items() if text}
    if lines:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(lines, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    else:
        path.unlink(missing_ok=True)
