"""Data sets by name: ``load("net3")`` returns a ``System`` of readings, graph, ontology, binding and labels.

Data sets are simulated, or read from files of their publishers, which are downloaded on first use. Each has a module of
its own, imported when it is loaded.

A new data set is one module that defines a ``NamedDataset`` (see ``thence.data.datasets.named``) and one line in
``DATASETS``. Another package adds a data set with an entry point in its ``pyproject.toml``:

```toml
[project.entry-points."thence.datasets"]
my-plant = "my_package.plant:DATASET"
```
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thence._base.progress import Progress, show_progress
from thence._base.settings.registry import Registry
from thence._base.settings.typed import Location, check_types
from thence.data.datasets.named import NamedDataset
from thence.data.graph.system import System
from thence.errors import ConfigError, nearest

__all__ = ["DATASETS", "NamedDataset", "check_options", "info", "load", "names"]

DATASETS = Registry(
    "data set",
    {
        "toy": "thence.lab.datasets.toy:DATASET",
        "net1": "thence.lab.datasets.library:NET1",
        "net3": "thence.lab.datasets.library:NET3",
        "ky4": "thence.lab.datasets.library:KY4",
        "ky10": "thence.lab.datasets.library:KY10",
        "net6": "thence.lab.datasets.library:NET6",
        "hanoi": "thence.lab.datasets.hanoi:DATASET",
        "ltown": "thence.lab.datasets.ltown:DATASET",
        "lbnl-ahu": "thence.lab.datasets.lbnl_ahu:DATASET",
        "open-smart-home": "thence.lab.datasets.open_smart_home:DATASET",
        "citybench": "thence.lab.datasets.citybench:DATASET",
    },
    group="thence.datasets",
    of=NamedDataset,
)


def names() -> tuple[str, ...]:
    """Return the names of all data sets.

    Examples:
        >>> names()[:3]
        ('toy', 'net1', 'net3')
    """
    return DATASETS.names()


def info(name: str) -> NamedDataset:
    """Return what a data set is, what it needs and which options it takes, without loading it.

    Args:
        name: The name of a data set.

    Examples:
        >>> print(info("toy"))
        toy: five sensors on two pipes, two days, made by hand
          needs: nothing
          options: none
    """
    return DATASETS.load(name)


def load(name: str, *, progress: str | bool | Progress = "auto", **options: Any) -> System:
    """Load a data set by name. Files of its publisher that are not on this machine are downloaded.

    Args:
        name: The name of a data set.
        progress: How to show the progress of a download or simulation: ``"auto"`` (bars on a terminal), ``"on"``,
            ``"off"``, or a function that receives it.
        **options: Options of the data set, as listed by ``info``.

    Returns:
        The readings with graph, binding, ontology and labels.

    Raises:
        ConfigError: If the data set or an option is unknown, or the value of an option is not allowed.
        InputError: If files of the data set are missing and cannot be downloaded; the message names their addresses
            and where to put them.

    Examples:
        >>> load("toy")
        System 'toy': 5 sensors, 5 nodes, 4 edges, 0 labelled periods; made by hand for Thence
    """
    chosen = info(name)
    for option in options:
        if option not in chosen.options:
            listed = ", ".join(chosen.options) or "none"
            raise ConfigError(
                f"the data set '{name}' has no option '{option}'; options are: {listed}",
                hint=nearest(option, chosen.options),
            )
    check_options(name, options)
    if not chosen.reports_progress:
        return chosen.load(**options)
    with show_progress(progress) as shown:
        return chosen.load(**options, progress=shown)


def check_options(name: str, options: Mapping[str, Any], *, location: Location | None = None) -> None:
    """Raise a ``ConfigError`` for an option whose value has the wrong type.

    Args:
        name: The name of a data set.
        options: The options to check.
        location: Where the options are in a configuration file.
    """
    check_types(info(name).load, options, location)
