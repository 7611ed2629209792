"""Without an optional package there is one error, which names the extra that installs it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest
from packaging.requirements import Requirement

import thence as th
from thence._base.progress import silent
from thence.checks.detect.picture import save_picture
from thence.checks.monitor.sources.mqtt import Broker
from thence.checks.monitor.sources.postgres import TableNames
from thence.data.datasets.published import Published, Remote
from thence.data.stores.bolt import open_bolt
from thence.data.stores.databases import open_duckdb, open_postgresql
from thence.errors import MissingExtraError
from thence.lab.datasets.folders import fetch
from thence.lab.experiments import reproduce
from thence.search.aerial.model import AerialModel

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "thence"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MODULE_OF = {
    "scikit-learn": "sklearn",
    "paho-mqtt": "paho",
    "adbc-driver-manager": "adbc_driver_manager",
    "adbc-driver-postgresql": "adbc_driver_postgresql",
    "vl-convert-python": "vl_convert",
}
EXTRAS: dict[str, set[str]] = {
    extra: {MODULE_OF.get(name, name) for name in (Requirement(text).name for text in needed)}
    for extra, needed in PROJECT["optional-dependencies"].items()
    if extra not in ("dev", "docs", "bench", "bolt-server", "all")
}
OPTIONAL = set().union(*EXTRAS.values())
# These modules are imported after ``require`` was called.
IMPORTED_LATER = {
    "torch": ("search/aerial/", "search/exact/device", "lab/baselines/arm_ae.py", "search/torch_runtime.py"),
    "safetensors": ("search/aerial/model.py",),
    "niapy": ("lab/baselines/narm_search.py",),
    "ray": ("_base/cluster/ray_executor.py",),
    "sklearn": ("checks/estimators/scikit_learn.py",),
    "pandas": ("_base/frames.py",),  # a frame of the caller
    "starlette": ("show/explorer/app.py", "show/explorer/end_points.py", "show/explorer/routing.py"),
}


@cache
def trees() -> list[tuple[str, ast.Module]]:
    paths = sorted(SOURCE.rglob("*.py"))
    return [(path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text(encoding="utf-8"))) for path in paths]


def imports(tree: ast.Module) -> Iterator[str]:
    """The packages that a module imports, except for type checkers."""
    checked = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)]
    ignored = {id(inner) for node in checked for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and id(node) not in ignored:
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and id(node) not in ignored and node.module:
            yield node.module.partition(".")[0]


def test_optional_packages_are_imported_through_require() -> None:
    """Regression: ``rules.to_pandas()`` without pandas was a bare ``ModuleNotFoundError``."""
    for name, tree in trees():
        for package in OPTIONAL & set(imports(tree)):
            allowed = IMPORTED_LATER.get(package, ())
            assert name.startswith(allowed) if allowed else False, f"{name} imports {package}: call require()"


def test_packages_that_are_not_optional_are_dependencies() -> None:
    needed = {Requirement(text).name for text in PROJECT["dependencies"]} | {"thence"} | OPTIONAL
    for name, tree in trees():
        assert set(imports(tree)) - sys.stdlib_module_names <= needed, name


def test_every_extra_that_is_named_has_the_package() -> None:
    seen = 0
    for name, tree in trees():
        for node in ast.walk(tree):
            called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
            if called not in ("require", "require_torch") or name == "errors.py":
                continue
            assert isinstance(node, ast.Call)
            given = {word.arg: word.value for word in node.keywords}
            extra = given["extra"]
            modules = [*node.args, *getattr(given.get("also"), "elts", ())]
            for module in modules if called == "require" else [ast.Constant("torch"), *modules]:
                if isinstance(module, ast.Constant) and isinstance(extra, ast.Constant):
                    seen += 1
                    package = str(module.value).partition(".")[0]
                    assert package in EXTRAS[str(extra.value)], f"{name}: {package} is not in thence[{extra.value}]"
    assert seen > 30


class Blocked:
    """A finder that finds no module of some packages."""

    def __init__(self, packages: set[str]) -> None:
        self.packages = packages

    def find_spec(self, name: str, *_: Any) -> None:
        if name.partition(".")[0] in self.packages:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@contextmanager
def without(package: str) -> Iterator[None]:
    """As if a package were not installed; modules of it that were loaded are put back in the end."""

    def belongs(name: str) -> bool:
        return name == package or name.startswith((f"{package}.", "thence.checks.estimators"))

    before: dict[str, ModuleType] = {name: module for name, module in sys.modules.items() if belongs(name)}
    names = {name: vars(th).pop(name) for name in ("estimators",) if name in vars(th)}
    finder: Any = Blocked({package})
    for name in before:
        del sys.modules[name]
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if belongs(name)]:
            del sys.modules[name]
        vars(th).pop("estimators", None)
        sys.modules.update(before)
        vars(th).update(names)
        if "thence.checks.estimators" in before:
            vars(sys.modules["thence.checks"])["estimators"] = before["thence.checks.estimators"]


TABLE = th.TransactionTable.from_frame(pl.DataFrame({"a": ["x", "y"] * 9, "b": ["u", "v"] * 9}))
NUMBERS = th.tables.FeatureTable.from_frame(pl.DataFrame({"a": [0.5, 1.5] * 9, "b": [2.5, 1.25] * 9}))
RULES = th.Exact().mine(TABLE)
TOY = th.datasets.load("toy")
CALLS: list[tuple[str, str, Callable[[Path], object]]] = [
    ("pandas", "pandas", lambda _: RULES.to_pandas()),
    ("pandas", "pandas", lambda _: TOY.sensors.to_pandas()),
    ("pandas", "baselines", lambda _: th.baselines.FPGrowth().mine(TABLE)),
    ("mlxtend", "baselines", lambda _: th.baselines.HMine().mine(TABLE)),
    ("niapy", "baselines", lambda _: th.baselines.TSNARM(evaluations=10).mine(NUMBERS)),
    ("torch", "aerial", lambda _: th.Aerial().mine(TABLE)),
    ("torch", "aerial", lambda _: th.Exact(device="cuda").mine(TABLE)),
    ("torch", "aerial", lambda folder: AerialModel.load(folder)),
    ("torch", "baselines", lambda _: th.baselines.ARMAE().mine(TABLE)),
    ("safetensors", "aerial", lambda folder: AerialModel.load(folder)),
    ("sklearn", "sklearn", lambda _: th.estimators.RuleClassifier()),
    ("sklearn", "sklearn", lambda _: th.estimators.RuleFeatures()),
    ("starlette", "explorer", lambda folder: th.explore(folder)),
    ("uvicorn", "explorer", lambda folder: th.explore(folder)),
    ("altair", "plots", lambda _: RULES.plot()),
    ("vl_convert", "plots", lambda folder: save_picture(None, folder / "a.html")),
    ("matplotlib", "plots", lambda folder: reproduce("1.1", out=folder / "r")),
    ("wntr", "water", lambda folder: th.read_graph(_write(folder / "net.inp", "[JUNCTIONS]\n"))),
    ("pooch", "datasets", lambda folder: _fetch(folder)),
    ("requests", "datasets", lambda folder: _fetch(folder)),
    ("networkx", "networkx", lambda _: TOY.graph.to_networkx()),
    ("fastexcel", "excel", lambda folder: th.read_sensors(_write(folder / "a.xlsx", ""))),
    ("paho", "mqtt", lambda _: Broker("localhost", 1883).client("a", keep_session=False)),
    ("psycopg", "postgres", lambda _: TableNames("readings").query()),
    ("ray", "ray", lambda _: th.mine(TOY, executor="ray", progress="off")),
    ("adbc_driver_manager", "sql", lambda _: open_postgresql("postgresql://localhost/a")),
    ("adbc_driver_postgresql", "sql", lambda _: open_postgresql("postgresql://localhost/a")),
    ("duckdb", "sql", lambda folder: open_duckdb(f"duckdb:///{folder / 'a.duckdb'}")),
    ("neo4j", "neo4j", lambda _: open_bolt("bolt://127.0.0.1:7687").__enter__()),
]


def _fetch(folder: Path) -> None:
    """Ask for a file that is nowhere; what is missing is noticed before any address is asked."""
    file = Remote("a.csv", size=1, sha256="0" * 64, urls=("http://127.0.0.1:9/a.csv",))
    fetch(Published("a", (file,), "nobody", "", "", ""), [file], folder=folder, progress=silent)


def _write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.mark.parametrize(("package", "extra", "call"), CALLS, ids=[f"{package}-{extra}" for package, extra, _ in CALLS])
def test_a_missing_package_is_named_with_its_extra(
    package: str, extra: str, call: Callable[[Path], object], tmp_path: Path
) -> None:
    with without(package), pytest.raises(MissingExtraError) as raised:
        call(tmp_path)
    assert re.match(rf"the package '\w+' is needed but cannot be imported \(.*{package}", raised.value.message)
    assert raised.value.hint == f"pip install 'thence[{extra}]'"


def test_every_optional_package_that_is_imported_has_a_call() -> None:
    data_only = {"epyt", "six"}  # a file of data, and what other packages need
    assert {package for package, *_ in CALLS} == OPTIONAL - data_only


def test_everything_else_works_without_any_of_them() -> None:
    """Public names are there or raise the one error, and rules are mined and written."""
    code = f"""
import sys, tempfile, pathlib

class Blocked:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in {sorted(OPTIONAL)}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocked())
import thence as th

for name in th.__all__:
    for inner in getattr(getattr(th, name), '__all__', ()):
        getattr(getattr(th, name), inner)
toy = th.datasets.load("toy")
rules = th.mine(toy, windows="1h", bins=3, laws=False, controls=False, confirm=False, progress="off").rules
with tempfile.TemporaryDirectory() as folder:
    for suffix in ("json", "parquet", "csv", "md", "rq", "ttl"):
        th.write_rules(rules, pathlib.Path(folder) / f"rules.{{suffix}}")
print(rules, rules.to_polars(), rules._repr_html_()[:1])
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
