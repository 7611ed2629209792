"""The pipeline: from a system to rules and a run. With ``runs.preparation`` it wires the parts together.

Each step is a function of its own elsewhere. Here the steps get their part of the configuration, run in order, and are
timed and recorded; ``generalise``, ``compare`` and the experiments call the same steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from thence._base.atomic import claim, hold_interrupts, require_writable
from thence._base.cluster import open_executor
from thence._base.cluster.executors import Executor
from thence._base.progress import Progress, show_progress
from thence.data.graph.system import System
from thence.data.readings.windows import WindowedReadings
from thence.data.stores.urls import is_url, without_credentials
from thence.errors import ConfigError, RunError, quote, reported_as
from thence.runs.configuration import AUTO, BUILT_IN_ONTOLOGY, Config, InputConfig, RefineConfig
from thence.runs.frames import build_row_features, build_rows, is_plain_table, read_rows
from thence.runs.inputs import gather_system, load_job
from thence.runs.known import count_known, count_known_rows
from thence.runs.logic import drop_implied, search_logic
from thence.runs.planning import (
    bins_to_try,
    given_settings,
    has_graph,
    is_set,
    names_graph,
    plan,
    plan_fallback,
    refuse_raw,
    resolved_refinement,
    with_bins,
)
from thence.runs.preparation import Prepared, Table, prepare, table_for, window_text
from thence.runs.provenance import environment, hash_binding, hash_files, hash_graph, hash_table
from thence.runs.run import Run, refuse_foreign
from thence.runs.silent import describe_silent
from thence.runs.summaries import FORMAT
from thence.search.base import BaseMiner, Miner, settings_of
from thence.search.joint import join_consequents, with_joint
from thence.search.refine import Null, add_exceptions, refine, sharpen_ranges
from thence.search.refine.confirmation import Evidence, describe_unconfirmed, gather_evidence, recounted
from thence.statements.constants import find_constants
from thence.statements.counting.by_place import with_site_columns
from thence.statements.counting.occasions import FEWEST_OCCASIONS
from thence.statements.counting.recount import counted_on
from thence.statements.rules.extra_columns import EXTRA_COLUMNS
from thence.statements.rules.measures import MEASURES
from thence.statements.rules.ruleset import RuleSet, SearchStatus
from thence.tables.admissibility import require_matches
from thence.tables.transactions import TransactionTable

FEW_RULES = 10
"""With fewer rules than this, a table with fewer bins is tried."""
LARGE = float(1 << 36)
"""Items × rows of a table that is not built again with fewer bins."""
HARDLY_ANY = 5
"""With fewer lifted rules than this, rules about single sensors are mined, unless lifted ones were asked for."""


def run_given(
    asked: Config,
    given: tuple[Any, Any, Any, Any],
    *,
    miner: str | type | Miner | None,
    settings: Mapping[str, Any],
    progress: str | bool | Progress,
    executor: Executor | None,
) -> Run:
    """Mine what a caller has given: files, frames or objects in memory.

    Args:
        asked: The configuration that the caller asked for.
        given: Sensors, graph, binding and ontology; ``None`` for what the configuration names.
        miner: The miner, if the caller has chosen one.
        settings: Settings of the miner.
        progress: As in ``mine``.
        executor: Where to mine and count, if the caller has passed one.
    """
    sensors, *others = given
    if asked.input.has_rows or (others[0] is None and others[1] is None and is_plain_table(sensors)):
        if any(part is not None for part in others):
            raise ConfigError(
                "'target' is for a table whose rows are transactions, without a graph",
                hint="for sensor data, give 'consequent' instead",
            )
        source = asked.input.sensors if sensors is None else sensors
        with show_progress(progress) as report:
            return _run_rows(asked, miner, settings, source, report, executor)
    planned, made = plan(asked, miner, settings, graph=has_graph(asked.input, *given) or names_graph(asked))

    def load(report: Progress) -> System:
        if all(part is None for part in given):
            return load_job(planned, progress=report)
        return gather_system(*given, planned.input, planned.enrich.mode)

    with show_progress(progress) as report:
        chosen = given_settings(asked, miner, settings)
        return _run(
            planned, made, load, report, given=chosen, fallback=plan_fallback(asked, planned), executor=executor
        )


def _open(config: Config, executor: Executor | None) -> AbstractContextManager[Executor]:
    """The executor that the configuration names, unless the caller has passed one."""
    if executor is not None:
        return nullcontext(executor)
    return open_executor(config.executor.name, address=config.executor.address)


def run_config(
    config: Config, *, progress: str | bool | Progress = "auto", check: Callable[[System], None] | None = None
) -> Run:
    """Do what a configuration says.

    Args:
        config: The configuration.
        progress: As in ``mine``.
        check: Called with the system once it is read; it may raise to stop the run.

    Examples:
        >>> config = Config.from_mapping({"input": {"dataset": "toy"}, "windows": {"every": "1h"}})
        >>> run_config(config, progress="off").complete
        True
    """
    if config.input.has_rows:
        with show_progress(progress) as report:
            return _run_rows(config, None, {}, config.input.sensors, report)
    planned, miner = plan(config)

    def load(report: Progress) -> System:
        system = load_job(planned, progress=report)
        if check is not None:
            check(system)
        return system

    with show_progress(progress) as report:
        given = given_settings(config, None, {})
        return _run(planned, miner, load, report, given=given, fallback=plan_fallback(config, planned))


def mine_rules(
    miner: BaseMiner,
    table: Table,
    system: System | None,
    *,
    progress: Progress,
    executor: Executor | None = None,
) -> tuple[RuleSet, Any]:
    """Return the rules of a table, and the model behind them if the miner learns one."""
    graph = None if system is None else system.graph
    return miner.within(table, graph).mine_with_model(table, progress=progress, executor=executor)


def refine_rules(
    rules: RuleSet,
    table: Table,
    miner: BaseMiner,
    system: System | None,
    config: Config,
    *,
    known: RuleSet | None = None,
    progress: Progress,
) -> RuleSet:
    """Return the rules worth reading, if refinement is asked for; otherwise the rules as they are."""
    refuse_raw(miner, config)
    chosen = resolved_refinement(config.refine, miner)
    steps = chosen.steps
    if steps is None:
        return rules
    if chosen.confirms:
        steps["sharpen"] = False  # after the confirmation, on all the time
        # Twice as long as the time that confirms, so that most rules have enough occasions there.
        steps["occasions"] = 2 * FEWEST_OCCASIONS
    assert isinstance(table, TransactionTable)
    if "null" in steps:
        steps["null"] = Null(**steps["null"])
    # The miner's own bounds: merged rules keep them, and no rule that it could not have found competes in a test.
    return refine(
        rules,
        table,
        min_support=miner.min_support,
        antecedent=miner.antecedent,
        consequent=miner.consequent,
        ontology=None if system is None else system.ontology,
        denominator=miner.denominator,
        seed=config.seed,
        known=known,
        progress=progress,
        **steps,
    )


def _absent_columns(rules: RuleSet, refine: RefineConfig) -> list[str]:
    """Names in ``refine`` that these rules have no column for; one that no rules can have is an error."""
    asked = {*([refine.by] if refine.by else ()), *refine.min, *refine.max}
    absent = sorted(asked - {*MEASURES, *rules.extras, "antecedents"})
    for name in absent if len(rules) else ():
        if name not in EXTRA_COLUMNS:
            rules.measure(name)  # raises, and suggests the nearest
    return absent


def select_rules(rules: RuleSet, refine: RefineConfig) -> RuleSet:
    """Return the rules within the bounds of ``refine``, sorted, and the best only if ``top`` is set.

    An extra column that steps or miners may add, but these rules do not have, is ignored, and a note says so.
    """
    bounds: dict[str, Any] = {f"min_{name}": bound for name, bound in refine.min.items()}
    bounds |= {f"max_{name}": bound for name, bound in refine.max.items()}
    known: set[str] = {*MEASURES, *rules.extras, "antecedents"}
    absent = _absent_columns(rules, refine)
    if absent and len(rules):
        note = f"the rules have no column {', '.join(absent)}: they are neither filtered nor sorted by it"
        rules = replace(rules, notes=(*rules.notes, note))
    bounds = {name: bound for name, bound in bounds.items() if name[4:] in known}
    if bounds:
        rules = rules.filter(**bounds)
    if refine.by is not None or not rules.ordered:
        rules = rules.sort([refine.by if refine.by in known else "zhang", "support"])
    return rules if refine.top is None else rules.top(refine.top)


def _run(
    config: Config,
    miner: BaseMiner,
    load: Callable[[Progress], System],
    report: Progress,
    *,
    given: frozenset[str],
    fallback: Config | None = None,
    executor: Executor | None = None,
) -> Run:
    seconds: dict[str, float] = {}
    with _claim_target(config), _open(config, executor) as where:
        miner.require_executor(where)
        return _run_on(where, config, miner, load, report, seconds, given=given, fallback=fallback)


def _run_on(
    executor: Executor,
    config: Config,
    miner: BaseMiner,
    load: Callable[[Progress], System],
    report: Progress,
    seconds: dict[str, float],
    *,
    given: frozenset[str],
    fallback: Config | None,
) -> Run:
    with _timed("read", seconds):
        system = load(report)
    with _timed("windows", seconds):
        data = _prepared(system, config)
        config, readings = data.config, data.readings
    known = None
    given_rules = tuple(dict.fromkeys((*config.known, *(system.ontology.known if system.ontology else ()))))
    if given_rules:
        with _timed("known rules", seconds):
            known = count_known(given_rules, data, denominator=miner.denominator)
    search = partial(_search, data=data, miner=miner, report=report, seconds=seconds, given=given)
    search = partial(search, executor=executor, known=known)
    tried: list[_Searched] = []
    try:
        for n_bins in bins_to_try(config):
            tried.append(search(with_bins(config, n_bins)))
            # A rule that nobody finds about fifths may be one about thirds.
            last = tried[-1]
            if last.n_kept >= FEW_RULES or last.rules.ending is not SearchStatus.COMPLETE or _is_large(last):
                break
        best = max(tried, key=lambda one: one.n_kept)
        hardly_any = best.n_kept < HARDLY_ANY and best.rules.ending is SearchStatus.COMPLETE
        if fallback is not None and hardly_any and len(system.sites) == 1:
            tried.append(search(replace(fallback, windows=config.windows)))
            best = _with_fallback(best, tried[-1])
    except KeyboardInterrupt:
        if not tried:
            raise
        best = _interrupted(max(tried, key=lambda one: one.n_kept), "a further search was not finished")
    best = _finish_rules(best, miner, sum(len(one.rules) for one in tried), report, seconds)
    laws = controls = None
    wanted = best.config.logic.laws or best.config.logic.controls
    if wanted and best.rules.ending is SearchStatus.COMPLETE:
        with _timed("laws and controls", seconds):
            try:
                laws, controls = search_logic(replace(data, config=best.config), progress=report)
            except KeyboardInterrupt:
                best = _interrupted(best, "laws and controls are missing")

    def finish() -> Run:
        inputs = _hashes(best.config, readings, best.table, system)
        kept = best
        if laws and best.config.refine.most:
            kept = best._replace(rules=drop_implied(best.rules, laws))
        constants = find_constants(readings, data.node_of)
        logic = [note for part in (constants, known, laws, controls) if part is not None for note in part.notes]
        run = _finish(kept, miner, [*readings.report.remarks(), *readings.notes], inputs, seconds, logic)
        parts = (("known", known), ("laws", laws), ("controls", controls))
        counted = {name: len(part) for name, part in parts if part is not None}
        summary = {**run.summary, **counted}
        if readings.health:
            summary["health"] = [one.to_dict() for one in readings.health]
        run = replace(run, known=known, system=system, readings=readings)
        run = replace(run, laws=laws, controls=controls, constants=constants, summary=summary)
        if (note := describe_silent(run.findings, system)) is not None:
            run = replace(run, summary={**run.summary, "notes": [*run.summary["notes"], note]})
        return run

    return _saved(finish)


def _with_counters(config: Config, system: System) -> Config:
    """The configuration with the counters that were read as rates, so that later files are read alike."""
    counters = sorted(system.sensors.readings.counters) if len(system.sites) == 1 else []
    if not counters:
        return config
    options = {**config.input.read_sensors, "counters": counters}
    return replace(config, input=replace(config.input, read_sensors=options))


def _interrupted(searched: _Searched, what: str) -> _Searched:
    """What was found before Ctrl-C, marked as such."""
    rules = searched.rules
    marked = replace(rules, notes=(*rules.notes, f"interrupted: {what}"), ending=SearchStatus.INTERRUPTED)
    return searched._replace(rules=marked)


def _saved(finish: Callable[[], Run]) -> Run:
    """The run that ``finish`` returns, written if the configuration says where.

    Ctrl-C takes effect when that is done: what was found is not lost any more.
    """
    with hold_interrupts() as held:
        run = finish()
        output = run.config.output
        if output.path is not None:
            run = run.save(output.path, force=output.force)
    if held.pressed and run.path is not None:
        raise KeyboardInterrupt(f"the run was saved: {run.path}")
    if held.pressed:
        # A run that is only in memory would be lost.
        notes = [*run.summary["notes"], "interrupted after the search: nothing is missing"]
        run = replace(run, summary={**run.summary, "notes": notes})
    return run


def _run_rows(
    config: Config,
    miner: str | type | Miner | None,
    settings: Mapping[str, Any],
    source: Any,
    report: Progress,
    executor: Executor | None = None,
) -> Run:
    """Mine a table whose rows are transactions."""
    target = config.input.target
    if target is not None:
        # The configuration of an earlier run has both.
        if {**config.miner.settings, **settings}.get("consequent") not in (None, target):
            raise ConfigError("'target' and 'consequent' exclude each other", hint="give one of them")
        if miner is None or isinstance(miner, (str, type)):
            settings = {**settings, "consequent": target}
        elif is_dataclass(miner) and not isinstance(miner, type):
            miner = replace(miner, consequent=target)
    if config.enrich.mode not in ("none", AUTO) or config.discretize.fit_until is not None:
        name = "fit_until" if config.discretize.fit_until is not None else "enrich"
        raise ConfigError(f"'{name}' does not apply to a table whose rows are transactions", hint="leave it out")
    planned, made = plan(config, miner, settings, graph=False)
    with _claim_target(planned):
        chosen = given_settings(config, miner, settings)
        return _run_frame(planned, made, source, report, chosen, executor)


def _run_frame(
    planned: Config, made: BaseMiner, source: Any, report: Progress, given: frozenset[str], executor: Executor | None
) -> Run:
    seconds: dict[str, float] = {}
    with _timed("read", seconds):
        frame = read_rows(source, planned.input)
    with _timed("transactions", seconds):
        raw = made.wants == "numbers"
        table: Table = (
            build_row_features(frame, planned.input) if raw else build_rows(frame, planned.input, planned.discretize)
        )
    known = None
    if planned.known:
        with _timed("known rules", seconds):
            known = count_known_rows(planned.known, frame, planned, denominator=made.denominator)
    with _open(planned, executor) as where:
        searched = _mine_table(planned, made, table, None, report, seconds, given, where, known)
    searched = _finish_rules(searched, made, len(searched.rules), report, seconds)

    def finish() -> Run:
        inputs: dict[str, Any] = {"table_sha256": hash_table(table)}
        if planned.input.sensors is not None:
            inputs["sensors"] = hash_files(_several_paths(planned.input.sensors))
        run = _finish(searched, made, (), inputs, seconds, () if known is None else known.notes)
        if known is None:
            return run
        return replace(run, known=known, summary={**run.summary, "known": len(known)})

    return _saved(finish)


def _several_paths(paths: str | tuple[str, ...]) -> tuple[str, ...]:
    return (paths,) if isinstance(paths, str) else paths


@contextmanager
def _claim_target(config: Config) -> Iterator[None]:
    """Better to refuse a folder before an hour of mining than after it: one that exists, or that another run claims."""
    if config.output.path is None:
        yield
        return
    target = Path(config.output.path).absolute()
    with reported_as(RunError, "cannot be written", where=quote(target)[1:-1]):
        refuse_foreign(target, force=config.output.force)
        require_writable(target)
    with claim(target):
        # The run that claimed it before may have written it.
        refuse_foreign(target, force=config.output.force)
        yield


def _finish(
    searched: _Searched,
    miner: BaseMiner,
    notes: Sequence[str],
    inputs: Mapping[str, Any],
    seconds: Mapping[str, float],
    logic: Sequence[str] = (),
) -> Run:
    """The run of what was found."""
    config, table, found, rules, model, _ = searched
    described = rules.describe()
    interrupted = rules.ending is SearchStatus.INTERRUPTED
    summary = {
        "format": FORMAT,
        "complete": not interrupted,
        "interrupted": interrupted,
        "ending": rules.ending.value,
        **described,
        "miner": miner.name,
        "enrichment": config.enrich.mode,
        "rules_found": len(found),
        "refine": rules.facts.get("refine"),
        "notes": list(dict.fromkeys([*notes, *table.notes, *rules.notes, *logic])),
        "seconds": {stage: round(spent, 4) for stage, spent in seconds.items()},
    }
    provenance = {**environment(seed=config.seed), "inputs": inputs}
    final = replace(rules, facts={**rules.facts, "data_coverage": described["data_coverage"]})
    bins = table.discretizer if isinstance(table, TransactionTable) else None
    return Run(final, config.without_credentials(), summary, provenance, bins, None, table, model)


class _Searched(NamedTuple):
    """What came of mining one table.

    Args:
        config: The configuration.
        table: The table.
        found: Rules as they were found.
        rules: Rules as they were refined: candidates, if there is evidence.
        model: The model behind them.
        evidence: What the time that was not searched says about the candidates.
    """

    config: Config
    table: Table
    found: RuleSet
    rules: RuleSet
    model: Any
    evidence: Evidence | None = None

    @property
    def n_kept(self) -> int:
        """Number of rules that are kept, if nothing else is tried."""
        if self.evidence is None:
            return len(self.rules)
        floor = self.config.refine.min_confidence or 0.0
        return int(self.evidence.confirms(floor, len(self.rules)).sum())


def _search(
    config: Config,
    data: Prepared,
    miner: BaseMiner,
    report: Progress,
    seconds: dict[str, float],
    given: frozenset[str],
    executor: Executor,
    known: RuleSet | None = None,
) -> _Searched:
    """Build the table, mine and refine; the seconds of each step are added up."""
    with _timed("transactions", seconds):
        table = table_for(miner, replace(data, config=config))
    return _mine_table(config, miner, table, data.system, report, seconds, given, executor, known)


def _mine_table(
    config: Config,
    miner: BaseMiner,
    table: Table,
    system: System | None,
    report: Progress,
    seconds: dict[str, float],
    given: frozenset[str],
    executor: Executor,
    known: RuleSet | None = None,
) -> _Searched:
    """Mine and refine."""
    with _timed("mine", seconds):
        config, miner, searched, notes = plan_search(config, miner, table, system, given)
        confirms = searched is not table
        found, model = mine_rules(miner, searched, system, progress=report, executor=executor)
        found = replace(found, notes=(*notes, *found.notes))
    with _timed("refine", seconds):
        # After an interrupt nobody wants to wait for refinement.
        refined, evidence = found, None
        if found.ending is not SearchStatus.INTERRUPTED:
            try:
                refined = refine_rules(found, searched, miner, system, config, known=known, progress=report)
                if confirms and isinstance(table, TransactionTable):
                    evidence = gather_evidence(refined, table, min_confidence=_floor(config, miner))
            except KeyboardInterrupt:
                note = "interrupted: these are the rules before refinement"
                refined = replace(found, notes=(*found.notes, note), ending=SearchStatus.INTERRUPTED)
    if confirms and evidence is None:
        note = "not confirmed, and counted on the first two thirds of the time"
        return _Searched(config, searched, found, replace(refined, notes=(*refined.notes, note)), model)
    return _Searched(config, table, found, refined, model, evidence)


class SearchPlan(NamedTuple):
    """What a search does with a table: the settings that suit its size, and the rows that it reads.

    Args:
        config: The configuration, with the settings of the miner.
        miner: The miner.
        searched: The table without the time that confirms; the table itself if nothing is confirmed.
        notes: What was changed, and why.
    """

    config: Config
    miner: BaseMiner
    searched: Table
    notes: tuple[str, ...] = ()


def plan_search(
    config: Config, miner: BaseMiner, table: Table, system: System | None, given: frozenset[str]
) -> SearchPlan:
    """Return what a search does with a table, as ``mine`` does it and ``check`` tells.

    Args:
        config: The configuration.
        miner: The miner.
        table: The table.
        system: The system that it was made of.
        given: The settings of the miner that somebody chose.
    """
    if not isinstance(table, TransactionTable):
        return SearchPlan(*_eased(config, miner, table, system, given)[:2], table)
    context = bool(getattr(miner, "context_consequents", False))
    require_matches(table, antecedent=miner.antecedent, consequent=miner.consequent, context_consequents=context)
    config, miner, notes = _eased(config, miner, table, system, given)
    confirms = resolved_refinement(config.refine, miner).confirms
    return SearchPlan(config, miner, table.earlier() if confirms else table, notes)


def prepare_search(system: System, config: Config, miner: BaseMiner) -> tuple[Prepared, Table]:
    """Return a prepared system with what was decided for it, and the first table that ``mine`` searches.

    Args:
        system: The system.
        config: The planned configuration.
        miner: The miner.
    """
    data = _prepared(system, config)
    data = replace(data, config=with_bins(data.config, bins_to_try(data.config)[0]))
    return data, table_for(miner, data)


def _prepared(system: System, config: Config) -> Prepared:
    """The readings in windows, and the configuration with the windows that were chosen."""
    open_ended = config.windows.derive is None
    data = prepare(system, config)
    readings, windows = data.readings, data.config.windows
    if open_ended and windows.derive:
        zone = f"rules may name the hour of day, in the time zone {windows.timezone}"
        readings = replace(readings, notes=(*readings.notes, zone))
    chosen = replace(data.config, windows=replace(windows, every=window_text(readings)))
    return replace(data, config=_with_counters(chosen, system), readings=readings)


def _floor(config: Config, miner: BaseMiner) -> float:
    """The minimum confidence of refined rules."""
    return resolved_refinement(config.refine, miner).min_confidence or 0.0


def _finish_rules(
    best: _Searched, miner: BaseMiner, candidates: int, report: Progress, seconds: dict[str, float]
) -> _Searched:
    """Keep the rules that are confirmed, counted over all the time, within the bounds that were asked for.

    Confirmed once, after all searches: ``candidates`` is the number of rules that any of them has proposed.
    """
    config, table = best.config, best.table
    rules = best.rules
    _absent_columns(best.found, config.refine)  # also if none of these rules is kept
    with _timed("refine", seconds), hold_interrupts() as held:
        if best.evidence is not None and isinstance(table, TransactionTable):
            rules = _confirmed(best, miner, candidates, report)
        if config.refine.max_consequents > 1 and isinstance(table, TransactionTable):
            rules = with_joint(rules, _joined(rules, best, miner))
        rules = select_rules(rules, config.refine)
        own = counted_on(rules)
        if config.refine.sharpen and isinstance(own, TransactionTable):
            table = own  # with the cuts of sharpened ranges
        if isinstance(table, TransactionTable):
            rules = with_site_columns(rules, table, denominator=miner.denominator)
        finished = best._replace(table=table, rules=rules)
    return _interrupted(finished, "nothing was searched after these rules") if held.pressed else finished


def _confirmed(best: _Searched, miner: BaseMiner, candidates: int, report: Progress) -> RuleSet:
    """The candidates that the last third of the time confirms."""
    rules, table, evidence = best.rules, best.table, best.evidence
    assert isinstance(table, TransactionTable) and evidence is not None
    floor = _floor(best.config, miner)
    counting: dict[str, Any] = {"min_confidence": floor, "denominator": miner.denominator}
    passed = evidence.confirms(floor, candidates)
    kept = recounted(rules.take(np.flatnonzero(passed)), table, evidence.take(passed), **counting)
    if best.config.refine.sharpen and len(kept):
        assurance = resolved_refinement(best.config.refine, miner).assurance
        kept = sharpen_ranges(
            kept, table, min_support=miner.min_support or 0.0, assurance=assurance, progress=report, **counting
        )
    if len(kept):
        own = counted_on(kept)
        kept = add_exceptions(kept, own if isinstance(own, TransactionTable) else table, **counting)
    note = describe_unconfirmed(evidence, floor, kept=len(kept), seldom=_left_out(rules, "unsteady"), table=table)
    return replace(kept, notes=(*kept.notes, note)) if note else kept


def _joined(rules: RuleSet, best: _Searched, miner: BaseMiner) -> RuleSet:
    """The rules with several items in the consequent, of those kept; confirmed as a whole if their parts are."""
    floor = _floor(best.config, miner) if best.evidence is not None else miner.min_confidence or 0.0
    counting: dict[str, Any] = {"min_confidence": floor, "denominator": miner.denominator}
    own = counted_on(rules)
    table = own if isinstance(own, TransactionTable) else best.table
    assert isinstance(table, TransactionTable)
    joint = join_consequents(
        rules, table, most=best.config.refine.max_consequents, min_support=miner.min_support or 0.0, **counting
    )
    if best.evidence is None or not len(joint):
        return joint
    evidence = gather_evidence(joint, table, min_confidence=floor)
    passed = evidence.confirms(floor, len(joint))
    return recounted(joint.take(np.flatnonzero(passed)), table, evidence.take(passed), **counting)


def _left_out(rules: RuleSet, step: str) -> int:
    """How many rules a step of the refinement has left out."""
    steps = (rules.facts.get("refine") or {}).get("steps", ())
    return sum(one["before"] - one["after"] for one in steps if one["step"] == step)


def _eased(
    config: Config, miner: BaseMiner, table: Table, system: System | None, given: frozenset[str]
) -> tuple[Config, BaseMiner, tuple[str, ...]]:
    """The miner with settings that suit the size of the table, if only a digest of its rules is wanted."""
    if config.refine.steps is None or not config.refine.most or not isinstance(table, TransactionTable):
        return config, miner, ()
    graph = None if system is None else system.graph
    placed = miner.within(table, graph)
    suggested, note = placed.eased(table, given=given)
    if not note:
        return config, miner, ()
    # A number of hops stays one: the lists of neighbours are no setting that a person would write down.
    changed = {name: value for name, value in vars(suggested).items() if value is not getattr(placed, name)}
    eased = replace(miner, **changed)  # type: ignore[type-var]
    settings = {name: value for name, value in settings_of(eased).items() if is_set(value)}
    return replace(config, miner=replace(config.miner, settings=settings)), eased, (note,)


def _with_fallback(lifted: _Searched, plain: _Searched) -> _Searched:
    """Rules about single sensors, if there are clearly more of them, with a note that says why.

    A rule about places says more than one about sensors: it holds for others of their kind.
    """
    if plain.n_kept <= lifted.n_kept + (HARDLY_ANY if lifted.n_kept else 0):
        return lifted
    count = lifted.n_kept
    note = (
        f"{f'only {count}' if count else 'no'} rule{'' if count == 1 else 's'} for all places of a pattern met the"
        " thresholds: these are rules about single sensors (enrich='lifted' tells more)"
    )
    notes = tuple(dict.fromkeys([note, *lifted.table.notes, *plain.rules.notes]))
    return plain._replace(rules=replace(plain.rules, notes=notes))


def _is_large(searched: _Searched) -> bool:
    """Whether another search of the same size would take too long for something that nobody asked for."""
    table = searched.table
    return isinstance(table, TransactionTable) and float(table.n_items) * table.n_rows > LARGE


def _hashes(config: Config, readings: WindowedReadings, table: Table, system: System) -> dict[str, Any]:
    out = _hash_inputs(config.input)
    if config.system:
        out["systems"] = {one.name: _hash_inputs(one) for one in config.system}
    for one in system.sites:
        given = next((part for part in config.system if part.name == one.name), config.input)
        if found := _hash_served(given, config.input, one):
            (out["systems"][one.name] if given is not config.input else out)["servers"] = found
    out["report"] = readings.report.to_dict()
    out["table_sha256"] = hash_table(table)
    return out


def _hash_inputs(given: InputConfig) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if given.dataset is not None:
        out["dataset"] = {"name": given.dataset, "options": dict(given.options)}
    for name in ("sensors", "graph", "binding", "ontology"):
        paths = getattr(given, name)
        if paths is not None:
            listed = [paths] if isinstance(paths, str) else paths
            out[name] = hash_files(path for path in listed if name != "ontology" or path != BUILT_IN_ONTOLOGY)
    return out


def _hash_served(given: InputConfig, common: InputConfig, system: System) -> dict[str, Any]:
    """What was read from graph servers: hashes of its content, since there are no files."""
    out: dict[str, Any] = {}
    graph, binding = (url if is_url(url := _given_or(given, common, name)) else None for name in ("graph", "binding"))
    if graph is not None and system.graph is not None:
        sizes = {"nodes": len(system.graph.nodes), "edges": len(system.graph.edges)}
        out["graph"] = {"url": without_credentials(graph), **sizes, "sha256": hash_graph(system.graph)}
    if binding is not None and system.binding is not None:
        sizes = {"sensors": len(system.binding)}
        out["binding"] = {"url": without_credentials(binding), **sizes, "sha256": hash_binding(system.binding)}
    return out


def _given_or(given: InputConfig, common: InputConfig, name: str) -> Any:
    """A source of a system, or the common one of all systems; the only entry of a list."""
    source = getattr(given, name) or getattr(common, name)
    return source[0] if isinstance(source, tuple) and len(source) == 1 else source


@contextmanager
def _timed(stage: str, seconds: dict[str, float]) -> Iterator[None]:
    begin = time.perf_counter()
    yield
    seconds[stage] = seconds.get(stage, 0.0) + time.perf_counter() - begin
