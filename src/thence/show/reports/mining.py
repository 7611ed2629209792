"""Mining, the whole way from readings to a run with its report: what ``th.mine`` is.

This module turns the keywords of ``mine`` into a configuration. Reading, mining and refining are wired together in
``runs.pipeline``, which knows nothing of reports.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack, overload

from thence._base.cluster.executors import Executor
from thence._base.progress import Progress
from thence._base.settings.numbers import shown
from thence.errors import ConfigError
from thence.runs.configuration import AUTO, Config, ExecutorConfig, RefineConfig
from thence.runs.options import OPTIONS, MineOptions, with_keywords, with_options
from thence.runs.pipeline import run_given
from thence.runs.run import Run
from thence.search.base import Miner

_log = logging.getLogger(__name__)
_FOR_CONFIG = frozenset(option.name for option in OPTIONS if not option.places[0].startswith("miner."))
# What else than a name each may be, the attribute that an object must have, and this in words.
_KINDS: dict[str, tuple[Any, str, str]] = {
    "miner": ((str, type), "mine", "a name such as 'exact', or a miner"),
    "refine": ((str, bool, Mapping, RefineConfig), "", "a table of settings, True or None"),
    "executor": (str, "map", "'local', 'ray' or an executor"),
    "config": (Config, "", "a Config"),
    "out": ((str, Path), "", "the path of a folder"),
}
Refine = RefineConfig | Mapping[str, Any] | bool | str | None


@overload
def mine(
    sensors: Any = ...,
    graph: Any = ...,
    binding: Any = ...,
    *,
    ontology: Any = ...,
    miner: str | type | Miner | None = ...,
    refine: Refine = ...,
    executor: str | Executor | None = ...,
    progress: str | bool | Progress = ...,
    config: Config | None = ...,
    **options: Unpack[MineOptions],
) -> Run: ...


@overload
def mine(sensors: Any = ..., graph: Any = ..., binding: Any = ..., *, miner: str | type, **settings: Any) -> Run: ...


@with_keywords(MineOptions)
def mine(
    sensors: Any = None,
    graph: Any = None,
    binding: Any = None,
    *,
    ontology: Any = None,
    miner: str | type | Miner | None = None,
    refine: Refine = "auto",
    executor: str | Executor | None = None,
    progress: str | bool | Progress = "auto",
    config: Config | None = None,
    **options: Any,
) -> Run:
    """Mine rules: the whole way from readings to a run.

    Given nothing but the data, it finds lifted rules if there is a graph, over windows of the readings' own step, and
    returns a digest: at most 50 rules worth reading, each fact once; with them the laws that the quantities obey, and
    what makes actuators switch. ``refine=None`` returns all rules, and nothing else.

    A data frame without a time column is a plain table: its rows are the transactions. So is any frame or file for
    which a ``target`` is given. Keywords that are not listed here are settings of the miner.

    Ctrl-C keeps what the miner ``exact`` has found so far, and what any miner has found if it comes during refinement,
    in a run that says so; other searches leave nothing.

    Args:
        sensors: A ``System``, several of them, ``SensorData``, or whatever ``read_sensors`` takes.
        graph: A ``KnowledgeGraph``, or whatever ``read_graph`` takes.
        binding: A ``Binding``, a mapping from sensors to nodes, or whatever ``read_binding`` takes.
        ontology: An ``Ontology``, or whatever ``read_ontology`` takes.
        miner: The name of a miner, a miner class, or a miner.
        refine: Settings of the refinement, such as ``{"significance": 0.05, "improvement": 0.02}`` (see ``refine``);
            ``None`` or ``False`` to return all rules as they are found.
        executor: Where to mine and count, with the same rules: ``"local"`` (the default), ``"ray"``, or an executor of
            ``thence._base.cluster``.
        progress: ``"auto"`` (bars on a terminal), ``"on"``, ``"off"``, or a function.
        config: A configuration; the other keywords override its values.
        **options: Any option of the guide's page of options by its keyword, such as ``windows``, ``bins``, ``enrich``,
            ``digest`` and ``out``. All other keywords are settings of the miner.

    Returns:
        The run: rules, configuration, summary and provenance.

    Examples:
        >>> import thence as th
        >>> run = th.mine(th.datasets.load("toy"), windows="1h", bins=3, confirm=False, progress="off")
        >>> print(run.rules.top(1).rule(0).english)  # doctest: +ELLIPSIS
        for every Pipe: if ..., then ...
    """
    objects = {"miner": miner, "refine": refine, "executor": executor, "config": config, "out": options.get("out")}
    for name, value in objects.items():
        kinds, attribute, text = _KINDS[name]
        if value is not None and not (isinstance(value, kinds) or (attribute and hasattr(value, attribute))):
            raise ConfigError(f"'{name}' must be {text}, got {shown(value)}")
    base = config or Config()
    given = (sensors, graph, binding, ontology)
    chosen = {name: value for name, value in options.items() if name in _FOR_CONFIG} | _refinement(refine)
    if any(part is not None for part in given):
        # Objects have no path to record.
        base = replace(base, input=base.input.without_source())
        files = zip(("sensors", "graph", "binding", "ontology"), given, strict=True)
        chosen |= {name: part for name, part in files if _are_paths(part)}
    if isinstance(refine, RefineConfig):
        base = replace(base, refine=refine)
    if isinstance(executor, str):
        chosen["executor"] = executor
    elif executor is not None:
        base = replace(base, executor=ExecutorConfig())
    run = run_given(
        with_options(base, chosen),
        given,
        miner=miner,
        settings={name: value for name, value in options.items() if name not in _FOR_CONFIG},
        progress=progress,
        executor=None if isinstance(executor, str) else executor,
    )
    if run.path is None:
        return run
    # What makes a report need not be loaded where none is made.
    from thence.show.reports.run_report import PAGE, add_report

    run = add_report(run)
    if run.path is not None and run.config.output.report and not (run.path / PAGE).is_file():
        _log.warning("warning: %s", run.summary["notes"][-1])
    return run


def _refinement(refine: Refine) -> dict[str, Any]:
    """The options that ``refine`` stands for."""
    if isinstance(refine, str):
        if refine != AUTO:
            raise ConfigError(f"unknown value '{refine}' of refine", hint="use settings, True, or None for all rules")
        return {}
    if isinstance(refine, RefineConfig):
        return {}
    return {"refine_set": refine} if isinstance(refine, Mapping) and refine else {"refine": bool(refine)}


def _are_paths(part: Any) -> bool:
    several = part if isinstance(part, (list, tuple)) and part else [part]
    return all(isinstance(one, (str, Path)) for one in several)
