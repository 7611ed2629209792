"""Docstrings of public names: every parameter has an entry in an ``Args:`` section, and no entry is left over.

Covers every name of ``th.__all__``: functions, constructors (dataclasses: their fields, in the docstring of the class)
and public methods. The style is Google's, as mkdocstrings reads it.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

import thence as th
from tests.helpers.names import public_names

NAMES = [name for name in th.__all__ if name != "__version__"]


def documented(docstring: str) -> list[str]:
    """Names in the ``Args:`` section of a docstring.

    >>> documented("Add.\\n\\nArgs:\\n    a: One.\\n    *rest: More,\\n        and more.\\n\\nReturns:\\n    x: y")
    ['a', 'rest']
    """
    section = re.search(r"^Args:\n((?:[ \t]+.*\n|\n)*)", inspect.cleandoc(docstring) + "\n", flags=re.M)
    return re.findall(r"^    \*{0,2}(\w+)(?: \([^)]*\))?:", section[1], flags=re.M) if section else []


def parameters(function: Any, *, bound: bool) -> list[str]:
    """Names of the parameters that a caller gives; the first of a ``bound`` method is the object itself."""
    return list(inspect.signature(function).parameters)[int(bound) :]


def callables(name: str) -> Iterator[tuple[str, list[str], str]]:
    """What is documented under a public name: its label, its parameters, and the docstring to read."""
    value = getattr(th, name)
    if isinstance(value, ModuleType) and callable(value):
        # A package that is called like the function in it, of which this is the one to read.
        value = getattr(importlib.import_module(f"thence.{name}.run_{name}"), name)
    if isinstance(value, ModuleType):
        for inner in public_names(value):
            if callable(getattr(value, inner)):
                yield from members(f"{name}.{inner}", getattr(value, inner))
    else:
        yield from members(name, value)


def members(label: str, value: Any) -> Iterator[tuple[str, list[str], str]]:
    if not isinstance(value, type):
        yield label, parameters(value, bound=False), value.__doc__ or ""
        return
    if "__init__" in vars(value) or dataclasses.is_dataclass(value):
        docstrings = [value.__doc__ or ""] + ([] if dataclasses.is_dataclass(value) else [value.__init__.__doc__ or ""])
        yield label, parameters(value, bound=False), "\n\n".join(inspect.cleandoc(one) for one in docstrings)
    for inner in dir(value):
        method = inspect.getattr_static(value, inner)
        function = getattr(method, "__func__", method)
        public = not inner.startswith("_") and inspect.isfunction(function)
        if public and function.__module__.startswith("thence."):
            wanted = parameters(function, bound=not isinstance(method, staticmethod))
            yield f"{label}.{inner}", wanted, inspect.getdoc(getattr(value, inner)) or ""


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_is_documented(name: str) -> None:
    problems = []
    for label, wanted, docstring in callables(name):
        found = documented(docstring)
        if missing := [one for one in wanted if one not in found]:
            problems.append(f"th.{label}: no entry for {', '.join(missing)}")
        if extra := [one for one in found if one not in wanted]:
            problems.append(f"th.{label}: no parameter {', '.join(extra)}")
    assert not problems, "complete the Args: section:\n" + "\n".join(problems)


@pytest.mark.parametrize("name", NAMES)
def test_docstrings_are_markdown(name: str) -> None:
    for label, _, docstring in callables(name):
        assert docstring.strip(), f"th.{label} has no docstring"
        assert not re.search(r":(?:func|class|meth|mod|attr|param|returns?):", docstring), f"th.{label} has an RST role"
