"""Mining, the whole way from readings to a run with its report: what ``th.mine`` is.

This module turns the keywords of ``mine`` into a configuration. Reading, mining and refining are wired together in
``runs.pipeline``, which knows nothing of reports.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from thence._base.cluster.executors import Executor
from thence._base.progress import Progress
from thence._base.settings.numbers import shown
from thence.errors import ConfigError
from thence.runs.configuration import Config, ExecutorConfig, RefineConfig
from thence.runs.inputs import recorded_input
from thence.runs.known import read_known
from thence.runs.pipeline import run_given
from thence.runs.planning import asked_refinement, given_values, read_as
from thence.runs.run import Run
from thence.search.base import Miner

__all__ = ["mine"]

_log = logging.getLogger(__name__)


def mine(
    sensors: Any = None,
    graph: Any = None,
    binding: Any = None,
    *,
    ontology: Any = None,
    target: str | None = None,
    windows: str | None = None,
    derive: str | Iterable[str] | None = None,
    enrich: str | None = None,
    bins: int | None = None,
    scope: str | None = None,
    categorical: str | Iterable[str] | None = None,
    numeric: str | Iterable[str] | None = None,
    miner: str | type | Miner | None = None,
    known: Any = None,
    refine: RefineConfig | Mapping[str, Any] | bool | str | None = "auto",
    laws: bool | None = None,
    controls: bool | None = None,
    seed: int | None = None,
    out: str | Path | None = None,
    force: bool = False,
    report: bool | None = None,
    executor: str | Executor | None = None,
    address: str | None = None,
    memory_limit: str | None = None,
    progress: str | bool | Progress = "auto",
    config: Config | None = None,
    **settings: Any,
) -> Run:
    """Mine rules: the whole way from readings to a run.

    Given nothing but the data, it finds lifted rules if there is a graph, over windows of the readings' own step, and
    returns a digest: at most 50 rules worth reading, each fact once; with them the laws that the quantities obey, and
    what makes actuators switch. ``refine=None`` returns all rules, and nothing else.

    A data frame without a time column is a plain table: its rows are the transactions. So is any frame or file for
    which a ``target`` is given.

    Ctrl-C keeps what the miner ``exact`` has found so far, and what any miner has found if it comes during refinement,
    in a run that says so; other searches leave nothing.

    Args:
        sensors: A ``System``, several of them, ``SensorData``, or whatever ``read_sensors`` takes.
        graph: A ``KnowledgeGraph``, or whatever ``read_graph`` takes.
        binding: A ``Binding``, a mapping from sensors to nodes, or whatever ``read_binding`` takes.
        ontology: An ``Ontology``, or whatever ``read_ontology`` takes.
        target: The column of a plain table that rules conclude about, such as a class.
        windows: The length of a window; by default the step of the readings.
        derive: Further features per window, such as ``"change"``, ``"hour"``, ``"lag:30min"``, ``"switch"``,
            ``"duration"`` and ``"within:30min"``.
        enrich: The enrichment: ``"none"``, ``"grounded"``, ``"existential"`` or ``"lifted"``. The default is
            ``"lifted"`` with a graph and ``"none"`` without.
        bins: The number of bins per quantity. The default is 10; for lifted rules 5, or 3 if 5 give very few rules.
        scope: Fit bins per ``"kind"`` of sensor or per ``"sensor"``.
        categorical: Names or patterns (with ``*`` and ``?``) of sensors or columns that hold states, not numbers.
        numeric: Names or patterns of sensors or columns that hold numbers, not states.
        miner: The name of a miner, a miner class, or a miner.
        known: Rules that are known already, as ``read_known`` takes them, besides those of the ontology. They are
            counted and listed apart, and what follows from them is left out by the refinement.
        refine: Settings of the refinement, such as ``{"significance": 0.05, "digest": 100}`` (see ``refine``);
            ``None`` or ``False`` to return all rules as they are found.
        laws: Whether to search the laws of the plant too (``find_laws``); by default if there is a graph and a digest
            of the rules is made.
        controls: Whether to search what makes actuators switch (``find_controls``); by default if a digest of the rules
            of one system is made.
        seed: The random seed.
        out: The folder to write the run to, in one step when it is complete.
        force: Replace a run that already exists at ``out``.
        report: Whether to add the report, ``report.html`` and ``report.json``, to the folder; it is by default.
        executor: Where to mine and count, with the same rules: ``"local"`` (the default), ``"ray"``, or an executor of
            ``thence._base.cluster``.
        address: The address of the Ray cluster, such as ``"10.0.0.4:6379"``.
        memory_limit: The memory to use, such as ``"12GiB"``, with the same rules; what does not fit lies in temporary
            files. The default is 80 % of the memory that is free.
        progress: ``"auto"`` (bars on a terminal), ``"on"``, ``"off"``, or a function.
        config: A configuration; the other keywords override its values.
        **settings: Settings of the miner.

    Returns:
        The run: rules, configuration, summary and provenance.

    Examples:
        >>> import thence as th
        >>> run = th.mine(th.datasets.load("toy"), windows="1h", bins=3, min_confidence=0.9, progress="off")
        >>> print(run.rules.top(1).rule(0).english)  # doctest: +ELLIPSIS
        if ..., then ...
    """
    _require_kinds(enrich=enrich, miner=miner, refine=refine, executor=executor, config=config, out=out)
    base = config or Config()
    if seed is not None:
        base = base.with_seed(seed)
    if enrich is not None:
        base = base.with_enrichment(enrich)
    given = (sensors, graph, binding, ontology)
    read = recorded_input(base.input, *given) if any(part is not None for part in given) else base.input
    asked = replace(
        base,
        known=base.known if known is None else read_known(known),
        input=read_as(given_values(read, target=target), **_listed(categorical=categorical, numeric=numeric)),
        windows=given_values(base.windows, every=windows, **_listed(derive=derive)),
        discretize=given_values(base.discretize, bins=bins, scope=scope),
        refine=asked_refinement(refine, base.refine),
        logic=given_values(base.logic, laws=laws, controls=controls),
        output=given_values(base.output, path=None if out is None else str(out), force=force or None, report=report),
        executor=_asked_executor(base.executor, executor, address),
        resources=given_values(base.resources, memory_limit=memory_limit),
    )
    run = run_given(
        asked,
        given,
        miner=miner,
        settings=settings,
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


def _require_kinds(*, enrich: Any, miner: Any, refine: Any, executor: Any, config: Any, out: Any) -> None:
    """Refuse what is neither a name nor an object of the right kind, before it fails somewhere deep."""
    for name, value, fits, kinds in (
        ("enrich", enrich, isinstance(enrich, str), "a name, such as 'lifted'"),
        (
            "miner",
            miner,
            isinstance(miner, (str, type)) or hasattr(miner, "mine"),
            "a name such as 'exact', or a miner",
        ),
        ("refine", refine, isinstance(refine, (str, bool, Mapping, RefineConfig)), "a table of settings, True or None"),
        ("executor", executor, isinstance(executor, str) or hasattr(executor, "map"), "'local', 'ray' or an executor"),
        ("config", config, isinstance(config, Config), "a Config"),
        ("out", out, isinstance(out, (str, Path)), "the path of a folder"),
    ):
        if value is not None and not fits:
            raise ConfigError(f"'{name}' must be {kinds}, got {shown(value)}")


def _asked_executor(base: ExecutorConfig, executor: str | Executor | None, address: str | None) -> ExecutorConfig:
    """The section with what a caller asked for; another executor by name has another address."""
    if executor is None:
        return replace(base, address=address) if address is not None else base
    if not isinstance(executor, str):
        return ExecutorConfig()
    return ExecutorConfig(name=executor, address=address or (base.address if executor == base.name else None))


def _listed(**given: Any) -> dict[str, tuple[str, ...] | None]:
    """Names as tuples: one name is a list of its own."""
    out: dict[str, tuple[str, ...] | None] = {}
    for name, value in given.items():
        several = (value,) if isinstance(value, str) else value
        if several is not None:
            if isinstance(several, Mapping) or not isinstance(several, Iterable):
                raise ConfigError(f"'{name}' must be a name or a list of names, got {shown(value)}")
            several = tuple(several)
            for one in several:
                if not isinstance(one, str):
                    raise ConfigError(f"'{name}' must be a name or a list of names, got {shown(one)} in it")
        out[name] = several
    return out
