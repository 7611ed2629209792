"""What `import thence as th` offers: every name resolves, is documented, and its example runs."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import operator
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import thence as th
from tests.helpers.names import public_names

ROOT = Path(__file__).parents[1]
NAMES = [name for name in th.__all__ if name != "__version__"]
NAMESPACES = {name: value for name in NAMES if isinstance(value := getattr(th, name), ModuleType)}
# ``errors`` also has functions for the package itself, and the page of data sets shows all of ``datasets``.
MEMBERS = {
    f"{space}.{name}": getattr(value, name)
    for space, value in NAMESPACES.items()
    for name in public_names(value)
    if space != "datasets" and (space != "errors" or name.endswith("Error"))
}
# Records are shown in the example of the function that makes them, errors in that of their base class.
SHOWN_ELSEWHERE = {name for name in MEMBERS if re.match(r"errors\.(?!ThenceError)|scoring\.[A-Z]", name)}


def test_the_root_has_few_names_and_each_name_is_in_one_place() -> None:
    assert len(th.__all__) <= 47
    members = [name.partition(".")[2] for name in MEMBERS]
    assert len(set(members)) == len(members)
    assert not {*members} & {*NAMES}


def test_the_reference_lists_every_public_name() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("docs/reference/*.md")))
    listed = re.findall(r"^::: thence\.([\w.]+)$", text, flags=re.M)
    assert len(listed) == len(set(listed)), "a name is listed twice"
    longer = {name for name in listed if name.count(".") > 1}  # records, by the module that they are in
    assert {*listed} - longer == {*NAMES, *MEMBERS}, "add the name as '::: thence.NAME' to docs/reference/"
    for name in longer:
        module, _, leaf = name.rpartition(".")
        assert inspect.getdoc(getattr(importlib.import_module(f"thence.{module}"), leaf)), name


@pytest.mark.parametrize("name", sorted({*NAMES, *MEMBERS} - SHOWN_ELSEWHERE))
def test_a_public_name_has_a_documented_example_that_runs(name: str) -> None:
    value = operator.attrgetter(name)(th)
    assert inspect.getdoc(value)
    if isinstance(value, ModuleType):
        tests = doctest.DocTestFinder().find(value, name, module=value)
    else:
        home = inspect.getmodule(value)
        tests = doctest.DocTestFinder(recurse=False).find(value, name, module=home, globs=dict(vars(home)))
    assert any(test.examples for test in tests), f"th.{name} has no example"
    runner = doctest.DocTestRunner(verbose=False)
    for test in tests:
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


def test_the_example_of_the_package_runs() -> None:
    assert doctest.testmod(th).failed == 0
    assert doctest.testmod(th).attempted >= 3


LAZY = [th, *(value for value in NAMESPACES.values() if hasattr(value, "__getattr__"))]


@pytest.mark.parametrize("package", LAZY, ids=lambda package: package.__name__)
def test_types_for_checkers_are_the_names_at_run_time(package: ModuleType) -> None:
    """Regression: ``th.mine`` was one function for type checkers and another one at run time."""
    tree = ast.parse(Path(inspect.getfile(package)).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    declared = {alias.asname: node.module for node in imports for alias in node.names}
    assert declared.keys() == set(package.__all__) - {"__version__"}
    for name, module in declared.items():
        value = getattr(package, name)
        assert getattr(importlib.import_module(str(module)), name) is value
        if not isinstance(value, ModuleType):
            assert value.__module__ == inspect.getmodule(value).__name__  # type: ignore[union-attr]
            assert getattr(sys.modules[value.__module__], value.__name__) is value, name
            assert not hasattr(value, "__wrapped__")


def test_a_namespace_lists_its_names_and_suggests_the_nearest() -> None:
    assert dir(th.baselines) == th.baselines.__all__ == sorted(th.baselines.__all__)
    with pytest.raises(AttributeError, match=r"module 'thence.lab.baselines' .* did you mean 'FPGrowth'"):
        th.baselines.FPGrow  # noqa: B018


ORDERS = {
    "modules first": "load(modules); check(resolve())",
    "modules backwards": "load(reversed(modules)); check(resolve())",
    "names first": "before = resolve(); load(modules); check(before)",
}
IN_ORDER = """
import importlib, pkgutil, sys
import thence as th

spaces = "baselines datasets errors estimators evaluate graph integrity language scoring stores tables".split()
names = [name for name in th.__all__ if name != "__version__"]
modules = [f"thence.{one.name}" for one in pkgutil.iter_modules(th.__path__) if one.name != "__main__"]
modules += ["thence.tables.transactions", "thence.show.reports.rows", "thence.search.refine.counterexamples"]
load = lambda some: [importlib.import_module(name) for name in some]
resolve = lambda: {name: getattr(th, name) for name in names}

def check(before):
    for name, value in before.items():
        assert getattr(th, name) is value, f"th.{name} was {value!r} and is {getattr(th, name)!r}"
        if isinstance(value, type(sys)):
            assert value is sys.modules[value.__name__] and name in spaces, name
    for name in [name for name in sys.modules if name.startswith("thence.")]:
        package, _, leaf = name.rpartition(".")
        found = getattr(sys.modules[package], leaf)
        assert found is sys.modules[name], f"{name} is hidden by {found!r}"
"""


@pytest.mark.parametrize("order", ORDERS)
def test_a_public_name_is_the_same_object_whatever_was_imported_before(order: str) -> None:
    """Regression: ``th.report`` was a function at first, and a module that could be called after ``th.mine``."""
    subprocess.run([sys.executable, "-c", IN_ORDER + ORDERS[order]], check=True)


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import sys, thence; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert "thence" in loaded
    assert not {"numpy", "numba", "polars", "torch", "pyarrow", "rich", "typer"} & set(loaded)


def test_the_command_line_starts_without_the_heavy_packages() -> None:
    code = "import sys\nfrom thence.cli.app import app\nprint(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert not {"numba", "polars", "torch", "pyarrow", "wntr"} & set(loaded)


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(AttributeError, match="did you mean 'read_sensors'"):
        th.read_sensor  # noqa: B018
    assert not hasattr(th, "__wrapped__")


def test_dir_lists_the_public_names_and_no_others() -> None:
    # It also listed modules that happened to be imported, and names that the package uses itself.
    import thence.tables.transactions

    assert thence.tables.transactions
    assert dir(th) == sorted(th.__all__)
