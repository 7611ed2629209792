"""The front end: its bundles are made from its sources, and its types from the schemas."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
FRONTEND = ROOT / "frontend"
STATIC = {"report": ROOT / "src/thence/show/reports/static", "explorer": ROOT / "src/thence/show/explorer/static"}
REBUILD = "run `make frontend` and commit what it writes"

pytestmark = pytest.mark.skipif(not FRONTEND.is_dir(), reason="the sources of the front end are not part of this copy")


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "no such file"


def _make_types() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_types", FRONTEND / "make_types.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", STATIC)
def test_bundles_are_made_from_the_sources(name: str) -> None:
    record = json.loads((FRONTEND / "bundles" / f"{name}.json").read_text(encoding="utf-8"))
    stale = [path for path, digest in record["sources"].items() if _sha256(FRONTEND / path) != digest]
    assert not stale, f"the bundle of the {name} is older than {', '.join(stale)}: {REBUILD}"
    changed = [leaf for leaf, digest in record["outputs"].items() if _sha256(STATIC[name] / leaf) != digest]
    assert not changed, f"{', '.join(changed)} of the {name} is not what the build wrote: {REBUILD}"
    assert {f"{name}.js", f"{name}.css"} == set(record["outputs"])


def test_types_are_made_from_the_schemas() -> None:
    written = (FRONTEND / "src" / "types.ts").read_text(encoding="utf-8")
    assert written == _make_types().render(), "run `python frontend/make_types.py`"


def test_bundles_cannot_end_the_element_that_holds_them() -> None:
    script = (STATIC["report"] / "report.js").read_text(encoding="utf-8")
    style = (STATIC["report"] / "report.css").read_text(encoding="utf-8")
    assert "</script" not in script.lower() and "<!--" not in script
    assert "</style" not in style.lower()


def test_bundles_name_no_other_host() -> None:
    for folder in STATIC.values():
        for path in folder.glob("*.css"):
            text = path.read_text(encoding="utf-8")
            assert "url(" not in text and "@import" not in text, path.name


def test_versions_are_exact_and_the_lock_file_names_no_host() -> None:
    package = json.loads((FRONTEND / "package.json").read_text(encoding="utf-8"))
    versions = {**package["dependencies"], **package["devDependencies"]}
    assert all(version[0].isdigit() for version in versions.values()), versions
    lock = json.loads((FRONTEND / "package-lock.json").read_text(encoding="utf-8"))
    hosts = {entry["resolved"] for entry in lock["packages"].values() if "resolved" in entry}
    assert all(host.startswith("https://registry.npmjs.org/") for host in hosts)


@pytest.fixture(scope="module")
def frontend() -> Path:
    """The folder of the front end with its packages."""
    return FRONTEND


def test_a_new_build_gives_the_same_bytes(frontend: Path, tmp_path: Path) -> None:
    subprocess.run(["node", "build.mjs", "--out", str(tmp_path)], cwd=frontend, check=True, timeout=60)
    for name, folder in STATIC.items():
        for leaf in (f"{name}.js", f"{name}.css"):
            assert _sha256(tmp_path / leaf) == _sha256(folder / leaf), f"{leaf}: {REBUILD}"


def test_types_check(frontend: Path) -> None:
    command = ["node", "node_modules/typescript/bin/tsc", "--noEmit"]
    done = subprocess.run(command, cwd=frontend, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout


def test_functions_of_the_front_end(frontend: Path) -> None:
    done = subprocess.run(["npm", "test"], cwd=frontend, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout
