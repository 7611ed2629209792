"""What a named data set is: the type that every data set module defines one object of.

Data sets of this package have a line in ``thence.data.datasets.DATASETS``; another package adds one through the entry
point group ``thence.datasets``. This module loads nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from thence.data.datasets.published import Published
from thence.data.graph.system import System


@dataclass(frozen=True)
class NamedDataset:
    """A data set that can be loaded by name.

    Args:
        name: The name, the same as in the registry.
        summary: What the data set is, in a line.
        needs: Which extras and files it needs.
        load: ``load(**options)`` returns the ``System``. Its keyword parameters are the options; a parameter called
            ``progress`` is not an option but receives a ``thence._base.progress.Progress``.
        published: The files that ``load`` finds with ``thence.lab.datasets.folders.find_folder``.
    """

    name: str
    summary: str
    needs: str
    load: Callable[..., System]
    published: tuple[Published, ...] = ()

    @property
    def options(self) -> dict[str, Any]:
        """The options and their default values."""
        parameters = inspect.signature(self.load).parameters
        return {option: parameter.default for option, parameter in parameters.items() if option != "progress"}

    @property
    def reports_progress(self) -> bool:
        """Whether ``load`` reports its progress."""
        return "progress" in inspect.signature(self.load).parameters

    def describe(self) -> dict[str, Any]:
        """Name, summary, needs, options and published files, ready for JSON."""
        return {
            "name": self.name,
            "summary": self.summary,
            "needs": self.needs,
            "options": self.options,
            "published": [publication.describe() for publication in self.published],
        }

    def __str__(self) -> str:
        options = ", ".join(f"{name}={default!r}" for name, default in self.options.items()) or "none"
        return f"{self.name}: {self.summary}\n  needs: {self.needs}\n  options: {options}"
