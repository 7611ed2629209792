"""No module of Thence loads or writes pickles, or runs text: neither by name nor through a library."""

from __future__ import annotations

import ast
from pathlib import Path

import thence

SOURCES = sorted(Path(thence.__file__).parent.rglob("*.py"))
MODULES = {"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}
CALLS = {"eval", "exec", "compile", "__import__"}
METHODS = {"read_pickle", "to_pickle", "unsafe_load", "Unpickler", "Pickler"}


def find_forbidden(source: str) -> list[str]:
    """What a module does that could run what a file holds."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names]
            found += [f"line {node.lineno}: {name}" for name in names if name.partition(".")[0] in MODULES]
        elif isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name) and called.id in CALLS:
                found.append(f"line {node.lineno}: {called.id}")
            if isinstance(called, ast.Attribute):
                keywords = {one.arg: one.value for one in node.keywords}
                if called.attr in METHODS:
                    found.append(f"line {node.lineno}: {called.attr}")
                pickled, weights = keywords.get("allow_pickle"), keywords.get("weights_only")
                if pickled is not None and not _is(pickled, False):
                    found.append(f"line {node.lineno}: allow_pickle")
                if weights is not None and not _is(weights, True):
                    found.append(f"line {node.lineno}: weights_only")
                owner = called.value.id if isinstance(called.value, ast.Name) else ""
                if (owner, called.attr) in (("torch", "load"), ("torch", "save")):
                    found.append(f"line {node.lineno}: {owner}.{called.attr}")
    return found


def _is(node: ast.expr, value: bool) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def test_no_module_loads_what_could_run() -> None:
    found = {str(path): told for path in SOURCES if (told := find_forbidden(path.read_text(encoding="utf-8")))}
    assert not found
