"""Installed packages for tests of plug-ins: a module and the metadata of its distribution in a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def add_distribution(folder: Path, module: str, code: str, entry_points: Mapping[str, Mapping[str, str]]) -> None:
    """Write a module and a ``dist-info`` folder; put ``folder`` on ``sys.path`` to have the package installed.

    Args:
        folder: An existing folder.
        module: The name of the module, which is also the name of the distribution.
        code: The source of the module.
        entry_points: Group to name to ``"module:attribute"``.
    """
    (folder / f"{module}.py").write_text(code, encoding="utf-8")
    metadata = folder / f"{module}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n", encoding="utf-8")
    lines = [
        line
        for group, points in entry_points.items()
        for line in (f"[{group}]", *(f"{name} = {target}" for name, target in points.items()))
    ]
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
