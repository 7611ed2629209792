"""Packages whose public names are imported when they are first used, so that importing the package costs nothing."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(
    package: str, modules: Mapping[str, tuple[str, ...]], namespaces: Mapping[str, str] | None = None
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a package that imports its names when they are used.

    Args:
        package: The name of the package.
        modules: Module, within Thence, to the names that the package offers from it.
        namespaces: Name to a module, within Thence, that the package offers as a whole.

    Examples:
        >>> names, get, _ = lazy_names("thence.tables", {"tables.discretization": ("Discretizer",)})
        >>> names, get("Discretizer").__name__
        (['Discretizer'], 'Discretizer')
    """
    whole = namespaces or {}
    home = {name: module for module, names in modules.items() for name in names}
    public = sorted((*whole, *home))

    def get(name: str) -> Any:
        if name in whole:
            value: Any = importlib.import_module(f"thence.{whole[name]}")
        elif name in home:
            value = getattr(importlib.import_module(f"thence.{home[name]}"), name)
        else:
            raise AttributeError(f"module '{package}' has no attribute '{name}'{_suggestion(name, public)}")
        setattr(sys.modules[package], name, value)
        return value

    return public, get, lambda: public


def _suggestion(name: str, public: list[str]) -> str:
    from thence.errors import nearest

    # Dunder names are asked for by tools all the time; only a person misspells the others.
    hint = None if name.startswith("_") else nearest(name, public)
    return f"; {hint}" if hint else ""
