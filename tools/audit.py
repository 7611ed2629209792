"""Known weaknesses of the packages that are locked and installed, looked up without a network.

    python -m tools.audit                        with .advisories.zip of this folder, if there is one
    python -m tools.audit --advisories PATH      with another archive or folder

Advisories are files of JSON in the format of OSV: one archive of all that concern PyPI is published at osv.dev
(``PyPI/all.zip``), and is fetched by hand or by a machine that has a network. The exit code is 1 if a version is
affected, or a package of the lock file has no hash. Without advisories, only the hashes are checked, and this is said.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

__all__ = ["Weakness", "find_weaknesses", "iter_advisories", "read_lock"]

ROOT = Path(__file__).parents[1]
LOCK, ADVISORIES = ROOT / "requirements.lock", ROOT / ".advisories.zip"
_LINE = re.compile(r"([\w.-]+)==(\S+) +--hash=sha256:[0-9a-f]{64}")


@dataclass(frozen=True)
class Weakness:
    """A version that an advisory names.

    Args:
        package: Name of the package.
        version: The affected version.
        advisory: Id of the advisory.
        fixed: Versions that repair it.
    """

    package: str
    version: str
    advisory: str
    fixed: tuple[str, ...]

    def __str__(self) -> str:
        repaired = f"repaired in {', '.join(self.fixed)}" if self.fixed else "not repaired yet"
        return f"{self.package} {self.version}: {self.advisory} ({repaired})"


def read_lock(path: Path = LOCK) -> dict[str, str]:
    """Return the versions of a lock file by name.

    Args:
        path: The file.

    Raises:
        ValueError: If a line is not a package with its version and its hash.
    """
    versions: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
        if line.strip() and not line.startswith("#"):
            found = _LINE.fullmatch(line.strip())
            if found is None or canonicalize_name(found[1]) in versions:
                raise ValueError(f"{path.name}: not one package with its version and its hash: {line.strip()[:80]}")
            versions[canonicalize_name(found[1])] = found[2]
    return versions


def iter_advisories(source: Path) -> Iterator[dict[str, Any]]:
    """Yield the advisories of an archive or a folder.

    Args:
        source: A zip archive, or a folder, of JSON files.
    """
    if source.is_dir():
        for path in sorted(source.rglob("*.json")):
            yield json.loads(path.read_bytes())
        return
    with zipfile.ZipFile(source) as archive:
        for name in archive.namelist():
            if name.endswith(".json"):
                yield json.loads(archive.read(name))


def find_weaknesses(versions: Mapping[str, str], advisories: Iterator[dict[str, Any]]) -> list[Weakness]:
    """Return the versions that advisories name; those that were withdrawn do not count.

    Args:
        versions: Versions by name of the package.
        advisories: Records in the format of OSV.

    Examples:
        >>> ranges = [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "2.1"}]}]
        >>> record = {"id": "X-1", "affected": [{"package": {"ecosystem": "PyPI", "name": "A.b"}, "ranges": ranges}]}
        >>> [str(one) for one in find_weaknesses({"a-b": "2.0"}, iter([record]))]
        ['a-b 2.0: X-1 (repaired in 2.1)']
    """
    found: dict[tuple[str, str], Weakness] = {}
    for advisory in advisories:
        for affected in [] if advisory.get("withdrawn") else advisory.get("affected", []):
            about = affected.get("package", {})
            package = canonicalize_name(about.get("name", ""))
            version = versions.get(package)
            if about.get("ecosystem") == "PyPI" and version is not None and _is_affected(version, affected):
                names = [advisory["id"], *advisory.get("aliases", [])]
                key = (package, min(names))  # one weakness has several records
                found.setdefault(key, Weakness(package, version, " ".join(names), _repairs(affected)))
    return sorted(found.values(), key=str)


def _events(affected: Mapping[str, Any]) -> list[list[tuple[str, str]]]:
    """The events of each range of versions."""
    ranges = [one for one in affected.get("ranges", []) if one.get("type") == "ECOSYSTEM"]
    return [[pair for event in one.get("events", []) for pair in event.items()] for one in ranges]


def _is_affected(version: str, affected: Mapping[str, Any]) -> bool:
    if version in affected.get("versions", []):
        return True
    own = Version(version)
    for events in _events(affected):
        inside = False
        for what, at in sorted(events, key=lambda pair: _order(pair[1])):
            if what == "introduced" and own >= _order(at):
                inside = True
            elif (what == "fixed" and own >= _order(at)) or (what == "last_affected" and own > _order(at)):
                inside = False
        if inside:
            return True
    return False


def _order(version: str) -> Version:
    try:
        return Version(version)
    except InvalidVersion:
        return Version("0")


def _repairs(affected: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(at for events in _events(affected) for what, at in events if what == "fixed"))


def _say(line: str) -> None:
    sys.stdout.write(f"audit: {line}\n")


def main() -> int:
    """Look up all packages and print what was found."""
    parser = argparse.ArgumentParser(prog="python -m tools.audit", description=__doc__)
    parser.add_argument("--advisories", type=Path, default=ADVISORIES)
    given = parser.parse_args()
    try:
        locked = read_lock()
    except ValueError as error:
        _say(f"{error}")
        return 1
    _say(f"{len(locked)} packages are locked, each with its hash")
    if not given.advisories.exists():
        _say(f"no advisories at {given.advisories.name}; weaknesses are not looked up")
        return 0
    installed = {canonicalize_name(one.name): one.version for one in distributions() if one.name}
    advisories = list(iter_advisories(given.advisories))
    found = {str(one) for versions in (locked, installed) for one in find_weaknesses(versions, iter(advisories))}
    for line in [*sorted(found), f"{len(found)} weaknesses, by {len(advisories):,} advisories"]:
        _say(line)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
