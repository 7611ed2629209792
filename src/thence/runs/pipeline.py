"""The wiring: from what the user has to transactions, rules and a run. The only module that knows all the others.

Each step is a function of its own elsewhere; here they are put in a row, timed, and recorded.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thence.atomic import require_room
from thence.errors import ConfigError, nearest
from thence.miners.base import Miner, make_miner
from thence.progress import Progress, bars
from thence.readings.windows import WindowedReadings
from thence.runs.configuration import (
    Config,
    DiscretizeConfig,
    EnrichConfig,
    InputConfig,
    MinerConfig,
    RefineConfig,
    WindowsConfig,
)
from thence.runs.inputs import Inputs, gather, named_inputs, read_inputs
from thence.runs.provenance import environment, hash_files, hash_table
from thence.runs.run import FORMAT, Run, refuse_foreign
from thence.runs.sections import BUILT_IN_ONTOLOGY
from thence.runs.stages import (
    discrete_table,
    kept,
    localised,
    raw_table,
    refined,
    refuse_raw,
    scope_of,
    search,
    table_for,
    windowed,
)
from thence.tables.discretization import Discretizer
from thence.tables.transactions import FeatureTable, TransactionTable

if TYPE_CHECKING:
    from thence.graph.patterns import Pattern

__all__ = ["Inputs", "feature_table", "mine", "plan", "prepare", "read_inputs", "run_config", "transactions"]

Like = TransactionTable | Run | Discretizer | None


def transactions(
    sensors: Any,
    graph: Any = None,
    binding: Any = None,
    windows: str = "30min",
    enrich: str = "none",
    bins: int = 10,
    scope: str | None = None,
    *,
    ontology: Any = None,
    aggregate: str | Mapping[str, str] = "mean",
    derive: Iterable[str] = (),
    origin: str = "epoch",
    timezone: str = "UTC",
    method: str = "frequency",
    bin_edges: Mapping[str, Sequence[float]] | None = None,
    fit_until: str | None = None,
    hops: int = 0,
    edges: bool = False,
    properties: Iterable[str] | None = None,
    patterns: str | Pattern | Iterable[str | Pattern] = "auto",
    min_embeddings: int = 3,
    max_embeddings: int = 200_000,
    like: Like = None,
) -> TransactionTable:
    """Transactions from readings: windows, enrichment, bins.

    ``sensors``, ``graph``, ``binding`` and ``ontology`` are objects, or whatever ``read_sensors``, ``read_graph``,
    ``read_binding`` and ``read_ontology`` take. ``aggregate``, ``derive``, ``origin`` and ``timezone`` shape the
    windows; ``method``, ``bin_edges`` and ``fit_until`` the bins; ``hops`` to ``max_embeddings`` what the graph adds.
    ``scope`` is ``"kind"`` unless given, for lifted tables ``"sensor"``. ``like`` takes the bins of an earlier table or
    run, so that later data are cut at the same edges.

    >>> import thence as th
    >>> data = th.datasets.load("toy")
    >>> th.transactions(data.sensors, data.graph, data.binding, windows="1h", bins=3).n_features
    5
    """
    config = Config(
        windows=WindowsConfig(
            every=windows, aggregate=aggregate, derive=tuple(derive), origin=origin, timezone=timezone
        ),
        discretize=DiscretizeConfig(
            bins=bins,
            scope=scope,
            method=method,
            edges={key: tuple(cuts) for key, cuts in (bin_edges or {}).items()},
            fit_until=fit_until,
        ),
        enrich=EnrichConfig(
            mode=enrich,
            hops=hops,
            edges=edges,
            properties=None if properties is None else tuple(properties),
            patterns=_pattern_texts(patterns),
            min_embeddings=min_embeddings,
            max_embeddings=max_embeddings,
        ),
    )
    inputs = gather(sensors, graph, binding, ontology, config)
    return discrete_table(windowed(inputs, config), inputs, config, _bins_of(like))


def _bins_of(like: Like) -> Discretizer | None:
    if like is None or isinstance(like, Discretizer):
        return like
    if like.discretizer is None:
        raise ConfigError("that run has no bins to take over", hint="its miner found its own intervals")
    return like.discretizer


def _pattern_texts(patterns: str | Pattern | Iterable[str | Pattern]) -> str | tuple[str, ...]:
    from thence.graph.patterns import Pattern

    if isinstance(patterns, str):
        return patterns
    return tuple(str(pattern) for pattern in ([patterns] if isinstance(patterns, Pattern) else patterns))


def feature_table(
    sensors: Any,
    graph: Any = None,
    binding: Any = None,
    windows: str = "30min",
    enrich: str = "none",
    *,
    ontology: Any = None,
    aggregate: str | Mapping[str, str] = "mean",
    derive: Iterable[str] = (),
    origin: str = "epoch",
    timezone: str = "UTC",
    hops: int = 0,
    properties: Iterable[str] | None = None,
) -> FeatureTable:
    """The undiscretized transactions, for miners that find their own intervals; keywords as in ``transactions``.

    >>> import thence as th
    >>> data = th.datasets.load("toy")
    >>> th.feature_table(data.sensors, windows="1h").numbers.shape[1]
    5
    """
    config = Config(
        windows=WindowsConfig(
            every=windows, aggregate=aggregate, derive=tuple(derive), origin=origin, timezone=timezone
        ),
        enrich=EnrichConfig(mode=enrich, hops=hops, properties=None if properties is None else tuple(properties)),
    )
    inputs = gather(sensors, graph, binding, ontology, config)
    return raw_table(windowed(inputs, config), inputs, config)


def mine(
    sensors: Any = None,
    graph: Any = None,
    binding: Any = None,
    *,
    ontology: Any = None,
    windows: str | None = None,
    enrich: str | None = None,
    bins: int | None = None,
    scope: str | None = None,
    miner: str | type | Miner | None = None,
    refine: RefineConfig | Mapping[str, Any] | bool | None = None,
    seed: int | None = None,
    out: str | Path | None = None,
    force: bool = False,
    progress: str | bool | Progress = "auto",
    config: Config | None = None,
    **settings: Any,
) -> Run:
    """Mine rules: the whole way from readings to a run.

    The common things are keywords; everything else is in ``config``, whose values the keywords overrule. Further
    keywords are settings of the miner, which is a name (``"exact"``), a class or a made instance. ``refine=True``, or a
    mapping of its settings, keeps the rules worth reading (``refine``). With ``out`` the run is
    written to that folder, in one step when it is complete. Ctrl-C keeps what the miner Exact has found so far, and
    what any miner has found when it comes during refinement, in a run that says so; other searches leave nothing.

    >>> import thence as th
    >>> data = th.datasets.load("toy")
    >>> run = th.mine(data.sensors, data.graph, data.binding, windows="1h", bins=3, min_confidence=0.9, progress="off")
    >>> print(run.rules.top(1).rule(0).english)  # doctest: +ELLIPSIS
    if ..., then ...
    """
    base = config or Config()
    if seed is not None:
        base = base.with_seed(seed)
    if enrich is not None:
        base = base.with_enrichment(enrich)
    given = (sensors, graph, binding, ontology)
    asked = replace(
        base,
        input=named_inputs(base.input, *given) if any(part is not None for part in given) else base.input,
        windows=_given(base.windows, every=windows),
        discretize=_given(base.discretize, bins=bins, scope=scope),
        refine=_refinement(refine, base.refine),
        output=_given(base.output, path=None if out is None else str(out), force=force or None),
    )
    settled, made = plan(asked, miner, settings)

    def load(tell: Progress) -> Inputs:
        if all(part is None for part in given):
            return read_inputs(settled.input, settled.enrich.mode, progress=tell)
        return gather(*given, settled)

    with _shown(progress) as tell:
        return _run(settled, made, load, tell)


def plan(
    config: Config, miner: str | type | Miner | None = None, settings: Mapping[str, Any] | None = None
) -> tuple[Config, Miner]:
    """The miner, and the configuration with nothing left open, so that a run can be repeated when defaults change.

    >>> config, miner = plan(Config())
    >>> config.discretize.scope, config.miner.settings["min_support"]
    ('kind', 0.01)
    """
    made, described = _miner(miner, settings or {}, config)
    mode = config.enrich.mode
    if mode == "none":
        # Some miners are made for one enrichment.
        mode = getattr(made, "enrichment", mode)
    config = replace(config, miner=described, enrich=replace(config.enrich, mode=mode))
    config.enrich.refuse_idle()
    config.check_result()
    refuse_raw(made, config)
    return replace(config, discretize=replace(config.discretize, scope=scope_of(config))), made


def run_config(config: Config, *, progress: str | bool | Progress = "auto") -> Run:
    """Do what a configuration says.

    >>> config = Config.from_mapping({"input": {"dataset": "toy"}, "windows": {"every": "1h"}})
    >>> run_config(config, progress="off").complete
    True
    """
    return mine(config=config, progress=progress)


def prepare(inputs: Inputs, config: Config, miner: Miner) -> tuple[WindowedReadings, TransactionTable | FeatureTable]:
    """Everything up to mining: the windows, and the table that the miner will read.

    >>> config, miner = plan(Config(input=InputConfig(dataset="toy")))
    >>> readings, table = prepare(read_inputs(config.input), config, miner)
    >>> len(readings), table.n_rows
    (96, 96)
    """
    readings = windowed(inputs, config)
    return readings, table_for(miner, readings, inputs, config)


def _run(config: Config, miner: Miner, load: Callable[[Progress], Inputs], tell: Progress) -> Run:
    target = None if config.output.path is None else Path(config.output.path).absolute()
    if target is not None:
        # Better to refuse before an hour of mining than after it.
        refuse_foreign(target, force=config.output.force)
        require_room(target)
    seconds: dict[str, float] = {}
    with _timed("read", seconds):
        inputs = load(tell)
    with _timed("windows", seconds):
        readings = windowed(inputs, config)
    with _timed("transactions", seconds):
        table = table_for(miner, readings, inputs, config)
    with _timed("mine", seconds):
        found, model = search(localised(miner, table, inputs), table, tell)
    interrupted = any(note.startswith("interrupted") for note in found.notes)
    with _timed("refine", seconds):
        # Whoever interrupts a search does not want to wait for what comes after it.
        worth = found
        if not interrupted:
            try:
                worth = refined(found, table, miner, inputs, config, tell)
            except KeyboardInterrupt:
                interrupted = True
                worth = replace(found, notes=(*found.notes, "interrupted: these are the rules before refinement"))
        rules = kept(worth, config.refine)
        described = rules.describe()
    summary = {
        "format": FORMAT,
        "complete": not interrupted,
        "interrupted": interrupted,
        **described,
        "miner": miner.name,
        "enrichment": config.enrich.mode,
        "rules_found": len(found),
        "refine": rules.facts.get("refine"),
        "notes": list(dict.fromkeys([*getattr(table, "notes", ()), *rules.notes])),
        "seconds": {stage: round(spent, 4) for stage, spent in seconds.items()},
    }
    provenance = {**environment(seed=config.seed), "inputs": _hashes(config.input, readings, table)}
    settled = replace(rules, facts={**rules.facts, "data_coverage": described["data_coverage"]})
    bins = table.discretizer if isinstance(table, TransactionTable) else None
    run = Run(settled, config, summary, provenance, bins, None, table, model)
    return run if target is None else run.save(target, force=config.output.force)


def _hashes(given: InputConfig, readings: WindowedReadings, table: TransactionTable | FeatureTable) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if given.dataset is not None:
        out["dataset"] = {"name": given.dataset, "options": dict(given.options)}
    for name in ("sensors", "graph", "binding", "ontology"):
        paths = getattr(given, name)
        if paths is not None:
            listed = [paths] if isinstance(paths, str) else paths
            out[name] = hash_files(path for path in listed if name != "ontology" or path != BUILT_IN_ONTOLOGY)
    out["report"] = readings.report.to_dict()
    out["table_sha256"] = hash_table(table)
    return out


def _miner(miner: str | type | Miner | None, settings: Mapping[str, Any], config: Config) -> tuple[Miner, MinerConfig]:
    """The miner, and its whole configuration."""
    if miner is None or miner == config.miner.name:
        miner, settings = config.miner.name, {**config.miner.settings, **settings}
    made = make_miner(miner, **settings)
    if not is_dataclass(made):
        return made, MinerConfig(name=made.name, settings=dict(settings))
    names = [field.name for field in fields(made) if field.init]
    if "seed" in names and "seed" not in settings and isinstance(miner, (str, type)):
        made = replace(made, seed=config.seed)
    known = {name: getattr(made, name) for name in names}
    return made, MinerConfig(name=made.name, settings={name: value for name, value in known.items() if _is_set(value)})


def _is_set(value: Any) -> bool:
    """TOML has no word for nothing, so what is not set is not recorded."""
    return value is not None and not (isinstance(value, (Mapping, list, tuple)) and not value)


def _refinement(given: RefineConfig | Mapping[str, Any] | bool | None, base: RefineConfig) -> RefineConfig:
    if given is None or isinstance(given, RefineConfig):
        return given or base
    changes = {"apply": given} if isinstance(given, bool) else given
    known = [field.name for field in fields(base)]
    for name in changes:
        if name not in known:
            raise ConfigError(
                f"unknown setting '{name}' of refine", hint=nearest(name, known) or "there are: " + ", ".join(known)
            )
    return replace(base, **changes)


def _given(section: Any, **values: Any) -> Any:
    """A section in which the values that are not ``None`` are replaced."""
    return replace(section, **{name: value for name, value in values.items() if value is not None})


def _shown(progress: str | bool | Progress) -> AbstractContextManager[Progress]:
    if callable(progress):
        return nullcontext(progress)
    known: dict[str | bool, bool | None] = {"auto": None, "on": True, "off": False, True: True, False: False}
    if progress not in known:
        raise ConfigError(f"unknown way to show progress '{progress}'", hint="'auto', 'on', 'off' or a function")
    return bars(enabled=known[progress])


@contextmanager
def _timed(stage: str, seconds: dict[str, float]) -> Iterator[None]:
    begin = time.perf_counter()
    yield
    seconds[stage] = time.perf_counter() - begin
