"""Data sets by name: ``load("net3")`` gives readings, graph, ontology, binding and labels, ready to be mined.

Data sets are simulated on the spot or read from the publishers' own files; nothing is downloaded. One module per data
set, imported when it is asked for.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from thence.errors import ConfigError, nearest
from thence.graph.system import System
from thence.progress import Progress, silent
from thence.settings.typed import Place, check_kinds

__all__ = ["Info", "check_options", "info", "load", "names"]


@dataclass(frozen=True)
class Info:
    """What there is to know of a data set before loading it; ``options`` says what ``load`` takes, with defaults."""

    name: str
    summary: str
    needs: str
    options: dict[str, Any]

    def __str__(self) -> str:
        options = ", ".join(f"{name}={default!r}" for name, default in self.options.items()) or "none"
        return f"{self.name}: {self.summary}\n  needs: {self.needs}\n  options: {options}"


# name → (module, what it is, what it needs)
_KNOWN = {
    "toy": ("toy", "five sensors on two pipes, two days, made by hand", "nothing"),
    "net3": (
        "net3",
        "EPANET's example network Net3, simulated on the spot: 275 sensors, 28 days at 30 min",
        "the extra 'water'",
    ),
    "hanoi": (
        "hanoi",
        "Hanoi, regenerated after LeakDB: 97 sensors, a year at 30 min, leaks of 1000 scenarios, labelled",
        "the extra 'water'; network, demand coefficients and leak table of LeakDB",
    ),
    "ltown": (
        "ltown",
        "L-Town, simulated with BattLeDIM's 119 sensors and its leaks of 2019, labelled, at 5 min",
        "the extra 'water'; L-TOWN.inp (or the package epyt) and, for leaks, BattLeDIM's leak tables",
    ),
    "lbnl-ahu": (
        "lbnl_ahu",
        "three air handling units with imposed faults, labelled, at 1 min, with Brick models",
        "LBNL's fault detection data; Brick 1.3",
    ),
    "open-smart-home": (
        "open_smart_home",
        "a flat with 32 sensors and its SOSA/SSN/BOT graph, three months",
        "Fraunhofer IBP's Open Smart Home data",
    ),
    "citybench": (
        "citybench",
        "speed and vehicle count on 449 road segments in Aarhus, two months at 5 min",
        "CityBench's traffic data",
    ),
}


def names() -> tuple[str, ...]:
    """The names of all data sets.

    >>> names()
    ('toy', 'net3', 'hanoi', 'ltown', 'lbnl-ahu', 'open-smart-home', 'citybench')
    """
    return tuple(_KNOWN)


def info(name: str) -> Info:
    """What a data set is, what it needs and which options it takes.

    >>> print(info("toy"))
    toy: five sensors on two pipes, two days, made by hand
      needs: nothing
      options: none
    """
    module, summary, needs = _entry(name)
    parameters = inspect.signature(_loader(module)).parameters
    options = {option: parameter.default for option, parameter in parameters.items() if option != "progress"}
    return Info(name, summary, needs, options)


def load(name: str, *, progress: Progress = silent, **options: Any) -> System:
    """Load a data set by name, with the options that ``info`` lists.

    A simulation tells ``progress`` how far it is.

    >>> load("toy")
    System 'toy': 5 sensors, 5 nodes, 4 edges, 0 labelled periods; made by hand for Thence
    """
    known = info(name).options
    for option in options:
        if option not in known:
            listed = ", ".join(known) or "none"
            raise ConfigError(
                f"the data set '{name}' has no option '{option}'; options are: {listed}", hint=nearest(option, known)
            )
    check_options(name, options)
    loader = _loader(_entry(name)[0])
    if "progress" in inspect.signature(loader).parameters:
        options["progress"] = progress
    dataset: System = loader(**options)
    return dataset


def check_options(name: str, options: Mapping[str, Any], *, place: Place | None = None) -> None:
    """Raise for an option whose value is not of the kind that the data set takes; ``place`` says where it stands."""
    check_kinds(_loader(_entry(name)[0]), options, place)


def _entry(name: str) -> tuple[str, str, str]:
    try:
        return _KNOWN[name]
    except KeyError:
        raise ConfigError(
            f"there is no data set '{name}'; data sets are {', '.join(_KNOWN)}",
            hint=nearest(name.lower().replace("_", "-"), _KNOWN),
        ) from None


def _loader(module: str) -> Any:
    return importlib.import_module(f"thence.datasets.{module}").load
