"""The sections of a configuration as values: each checks its own ranges, and none knows of the others.

What a section cannot know by itself (the settings of a miner, the measures that there will be) is checked in
``thence.runs.configuration``, which puts the sections together. Nothing here reads sensors or mines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from numbers import Real
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from thence.errors import ConfigError, nearest
from thence.export import format_of

__all__ = [
    "BUILT_IN_ONTOLOGY",
    "DiscretizeConfig",
    "EnrichConfig",
    "InputConfig",
    "MinerConfig",
    "OutputConfig",
    "Paths",
    "RefineConfig",
    "WindowsConfig",
    "absolute",
    "require_zone",
    "usual_scope",
]

Paths = str | tuple[str, ...]

BUILT_IN_ONTOLOGY = "water"
# Written after the further files of a run, so one with such a name would be lost.
_RESERVED = ("summary.json", "provenance.json", "discretizer.json")


@dataclass(frozen=True, kw_only=True)
class InputConfig:
    """What is read: files, or a data set by name with its options; which sensors and which period of it.

    ``read_sensors``, ``read_graph`` and ``bind`` hold further keywords of the functions of the same names.
    """

    sensors: Paths | None = None
    graph: Paths | None = None
    ontology: Paths | None = None
    binding: Paths | None = None
    dataset: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    read_sensors: Mapping[str, Any] = field(default_factory=dict)
    read_graph: Mapping[str, Any] = field(default_factory=dict)
    bind: Mapping[str, Any] = field(default_factory=dict)
    select: tuple[str, ...] = ()
    start: str | None = None
    end: str | None = None

    def __post_init__(self) -> None:
        given = [name for name in ("sensors", "graph", "ontology", "binding") if getattr(self, name) is not None]
        if self.dataset is not None and given:
            raise ConfigError(f"a data set brings its own {given[0]}", hint=f"give 'dataset' or '{given[0]}', not both")
        if self.options and self.dataset is None:
            raise ConfigError("'options' are for a data set, and none is named", hint="set 'dataset'")


@dataclass(frozen=True, kw_only=True)
class WindowsConfig:
    """How readings are put into windows; see ``window``."""

    every: str = "30min"
    aggregate: str | Mapping[str, str] = "mean"
    derive: tuple[str, ...] = ()
    origin: str = "epoch"
    timezone: str = "UTC"

    def __post_init__(self) -> None:
        require_zone(self.timezone)


@dataclass(frozen=True, kw_only=True)
class DiscretizeConfig:
    """How numbers become bins; ``scope`` is ``kind`` unless the enrichment is ``lifted``, then ``sensor``.

    ``fit_until`` fits the bins on what was read before that time alone.
    """

    bins: int = 10
    scope: str | None = None
    method: str = "frequency"
    edges: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    fit_until: str | None = None


@dataclass(frozen=True, kw_only=True)
class EnrichConfig:
    """What the graph adds; see ``build``."""

    mode: str = "none"
    hops: int = 0
    edges: bool = False
    properties: tuple[str, ...] | None = None
    patterns: Paths = "auto"
    min_embeddings: int = 3
    max_embeddings: int = 200_000

    def __post_init__(self) -> None:
        for name, least in (("hops", 0), ("min_embeddings", 1), ("max_embeddings", 1)):
            if getattr(self, name) < least:
                raise ConfigError(f"'{name}' must be at least {least}, got {getattr(self, name)}")

    def used_by(self, mode: str) -> EnrichConfig:
        """The same for another mode: what that one makes no use of is as if it had not been given."""
        idle = {name: getattr(_PLAIN, name) for name in self._idle(mode)}
        return replace(self, mode=mode, **idle)

    def refuse_idle(self) -> None:
        """Raise where something is set that the mode makes no use of."""
        if self.mode not in _USES:
            raise ConfigError(
                f"unknown enrichment '{self.mode}'", hint=nearest(self.mode, _USES) or "one of " + ", ".join(_USES)
            )
        for name in self._idle(self.mode):
            using = [mode for mode, names in _USES.items() if name in names]
            raise ConfigError(
                f"the enrichment '{self.mode}' makes no use of '{name}'", hint=f"it is for {', '.join(using)}"
            )

    def _idle(self, mode: str) -> list[str]:
        used = ("mode", *_USES.get(mode, _USES["lifted"]))
        given = [f.name for f in fields(self) if getattr(self, f.name) != getattr(_PLAIN, f.name)]
        return [name for name in given if name not in used]


_USES: Mapping[str, tuple[str, ...]] = {
    "none": (),
    "grounded": ("hops", "edges", "properties"),
    "existential": ("properties",),
    "lifted": ("hops", "edges", "properties", "patterns", "min_embeddings", "max_embeddings"),
}
_PLAIN = EnrichConfig()


def usual_scope(mode: str) -> str:
    """Ranks in a sensor's own history carry over from sensor to sensor, which is what lifted rules are about."""
    return "sensor" if mode == "lifted" else "kind"


@dataclass(frozen=True, kw_only=True)
class MinerConfig:
    """Which miner, and its settings. In a file the settings stand beside the name."""

    name: str = "exact"
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class RefineConfig:
    """Which of the rules found are kept, and in which order.

    ``apply``, or any of the settings of ``refine`` from ``trivia`` to ``null``, runs the refinement.
    After it ``min`` and ``max`` bound any measure, and ``top`` keeps the best by the measure ``by``.
    """

    apply: bool = False
    trivia: bool | None = None
    redundancy: bool | None = None
    improvement: float | None = None
    assurance: float | None = None
    significance: float | None = None
    merge: bool | None = None
    cover: bool | float | None = None
    min_confidence: float | None = None
    null: Mapping[str, Any] = field(default_factory=dict)
    by: str = "zhang"
    top: int | None = None
    min: Mapping[str, float] = field(default_factory=dict)
    max: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.top is not None and self.top < 1:
            raise ConfigError(f"'top' must be at least 1, got {self.top}")
        if self.assurance:
            from thence.counting.assurance import require_assurance

            require_assurance(self.assurance)
        for name in ("improvement", "cover", "min_confidence"):
            share = getattr(self, name)
            if share is not None and not (isinstance(share, Real) and 0 <= float(share) <= 1):
                raise ConfigError(f"'{name}' must lie between 0 and 1, got {share!r}")
        level = self.significance
        if level is not None and not (isinstance(level, Real) and 0 < float(level) < 1):
            raise ConfigError(f"'significance' must lie between 0 and 1, got {level!r}")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the chosen steps add to the measures."""
        of_steps = ("improvement",) if self.steps is not None and self.redundancy is not False else ()
        of_assurance = ("assured_confidence",) if self.assurance else ()
        of_tests = () if self.significance is None else ("p_value", "p_adjusted", "p_simpler")
        return (*of_steps, *of_assurance, *of_tests)

    @property
    def steps(self) -> dict[str, Any] | None:
        """The settings of the refinement that are given, or ``None`` where there is to be none."""
        names = ("trivia", "redundancy", "improvement", "assurance", "significance", "merge", "cover", "min_confidence")
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        if self.null:
            given["null"] = dict(self.null)
        return given if self.apply or given else None


@dataclass(frozen=True, kw_only=True)
class OutputConfig:
    """Where the run goes, whether it replaces one that is there, and further files beside the rules.

    ``also`` names files to be written into the run folder, such as ``rules.md`` or ``rules.pmml``.
    """

    path: str | None = None
    force: bool = False
    also: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in self.also:
            if not re.fullmatch(r"\w[\w. -]*", name):
                raise ConfigError(f"'also' names files inside the run folder, got '{name}'")
            if name.lower() in _RESERVED:
                raise ConfigError(
                    f"'also' names '{name}', which every run holds for itself", hint="choose another name"
                )
            try:
                format_of(name)
            except ConfigError as error:
                raise ConfigError(f"'also' names '{name}': {error.message}", hint=error.hint) from error


def absolute(name: str, given: Paths, folder: Path) -> Paths:
    """Paths of the input ``name`` from a folder on; the ontology that ships with the package has a name, not a path.

    >>> absolute("ontology", "water", Path("/data")), absolute("sensors", "water", Path("/data"))
    ('water', '/data/water')
    """
    if not isinstance(given, str):
        return tuple(str(absolute(name, one, folder)) for one in given)
    return given if name == "ontology" and given == BUILT_IN_ONTOLOGY else str(folder / given)


def require_zone(name: str) -> None:
    """Raise where there is no such time zone, whether or not something will be told in it."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError) as error:
        raise ConfigError(
            f"'timezone' is '{name}', and there is no such zone", hint="write it as Europe/Berlin"
        ) from error
