"""Names of modules."""

from __future__ import annotations

from types import ModuleType


def public_names(module: ModuleType) -> list[str]:
    """Return ``__all__`` of a package, or the functions and classes without underscore that a module defines."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    own = (name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__)
    return sorted(name for name in own if not name.startswith("_"))
