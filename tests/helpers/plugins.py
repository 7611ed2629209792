"""A package that registers a part through an entry point, as an installed one would."""

from __future__ import annotations

from pathlib import Path

import pytest

__all__ = ["install"]


def install(
    folder: Path, monkeypatch: pytest.MonkeyPatch, module: str, source: str, *, group: str, name: str, attribute: str
) -> None:
    """Write a module and its distribution metadata into a folder, and put the folder on the import path."""
    (folder / f"{module}.py").write_text(source)
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {module}:{attribute}\n")
    monkeypatch.syspath_prepend(str(folder))
