"""The lock file names every dependency with a version that pyproject.toml allows, and with a hash."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]


def locked() -> dict[str, str]:
    """Versions of the lock file by name of the package."""
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    lines = [line for line in text.replace("\\\n", " ").splitlines() if not line.startswith("#")]
    found = [re.fullmatch(r"([\w.-]+)==(\S+) +--hash=sha256:[0-9a-f]{64}", line) for line in lines]
    assert all(found), "every line is a package, its version and its hash"
    versions = {canonicalize_name(one[1]): one[2] for one in found if one}
    assert len(versions) == len(lines), "no package is named twice"
    return versions


def test_every_dependency_is_locked_with_an_allowed_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = project["optional-dependencies"]
    todo, seen = [*project["dependencies"], *groups["dev"]], set()
    versions = locked()
    while todo:
        wanted = Requirement(todo.pop())
        if wanted.name == "thence":
            todo += [text for extra in wanted.extras - seen for text in groups[extra]]
            seen |= wanted.extras
        elif wanted.marker is None or wanted.marker.evaluate():
            version = versions.get(canonicalize_name(wanted.name))
            assert version is not None, f"{wanted.name} is not in requirements.lock"
            assert wanted.specifier.contains(version, prereleases=True), f"{wanted} excludes the locked {version}"
