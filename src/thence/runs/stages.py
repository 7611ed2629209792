"""The stages between inputs and rules, one function each: windows, table, search, refinement.

Part of the wiring (``thence.runs.pipeline`` puts them in a row): each hands the right parts of the configuration to the
module that does the work.
"""

from __future__ import annotations

from dataclasses import is_dataclass, replace
from typing import Any

import numpy as np

from thence.counting.recount import SUPPORTS
from thence.errors import ConfigError, InputError, nearest
from thence.miners.base import Miner
from thence.progress import Progress
from thence.readings.sensors import as_utc
from thence.readings.windows import WindowedReadings, window
from thence.rules.constraints import is_constraint
from thence.rules.measures import MEASURES
from thence.rules.ruleset import RuleSet
from thence.runs.configuration import Config, RefineConfig
from thence.runs.inputs import Inputs
from thence.runs.sections import usual_scope
from thence.tables.discretization import Discretizer
from thence.tables.locality import within_hops
from thence.tables.transactions import FeatureTable, TransactionTable

__all__ = [
    "discrete_table",
    "kept",
    "localised",
    "raw_table",
    "refined",
    "refuse_raw",
    "scope_of",
    "search",
    "table_for",
    "windowed",
]


def scope_of(config: Config) -> str:
    """What bins are fitted to: a kind of sensor or each one, as asked for or as is usual."""
    return config.discretize.scope or usual_scope(config.enrich.mode)


def windowed(inputs: Inputs, config: Config) -> WindowedReadings:
    """The readings in windows."""
    chosen, given = config.windows, config.input
    readings = window(
        inputs.sensors,
        chosen.every,
        aggregate=chosen.aggregate,
        derive=chosen.derive,
        origin=chosen.origin,
        timezone=chosen.timezone,
    )
    if not len(readings) and (given.start or given.end):
        period = f"between {given.start} and {given.end}" if given.start and given.end else ""
        period = period or (f"from {given.start} on" if given.start else f"before {given.end}")
        raise InputError(f"there are no readings {period}", where="[input]", hint="look at 'start' and 'end'")
    return readings


def discrete_table(
    readings: WindowedReadings, inputs: Inputs, config: Config, fitted: Discretizer | None = None
) -> TransactionTable:
    """The transactions; ``fitted`` bins are used as they are, otherwise bins are fitted to these readings."""
    from thence.tables.enrich import build

    bins, chosen = config.discretize, config.enrich
    discretizer = fitted or Discretizer(bins.method, bins.bins, scope_of(config), bins.edges)
    frames: Any = slice(None)
    if bins.fit_until is not None:
        moment = as_utc(bins.fit_until).replace(tzinfo=None)
        frames = readings.times < np.datetime64(moment, "us")
        if not frames.any():
            raise ConfigError(f"no window lies before fit_until = {bins.fit_until}", where="[discretize]")
    _refuse_unknown_properties(inputs, config)
    table = build(
        readings,
        mode=chosen.mode,
        graph=inputs.graph,
        binding=inputs.binding,
        ontology=inputs.ontology,
        discretizer=discretizer,
        fit_frames=frames,
        hops=chosen.hops,
        edges=chosen.edges,
        properties=chosen.properties,
        patterns=chosen.patterns if isinstance(chosen.patterns, str) else list(chosen.patterns),
        min_embeddings=chosen.min_embeddings,
        max_embeddings=chosen.max_embeddings,
    )
    if fitted is None:
        _refuse_idle_edges(table, readings, config)
    return table


def _refuse_unknown_properties(inputs: Inputs, config: Config) -> None:
    """A misspelt property would leave its items out in silence."""
    wanted, graph = config.enrich.properties, inputs.graph
    if not wanted or graph is None or config.enrich.mode == "none":
        return
    known = {name for node in graph.nodes.values() for name in node.properties} | {
        value.property for value in graph.dated
    }
    for name in wanted:
        if name not in known:
            hint = nearest(name, known) or "there are: " + (", ".join(sorted(known)) or "none")
            raise ConfigError(f"no node of the graph has a property '{name}'", where="[enrich]", hint=hint)


def _refuse_idle_edges(table: TransactionTable, readings: WindowedReadings, config: Config) -> None:
    """Edges that no bins were cut at are a misspelt kind, or meant for bins that there are not."""
    lifted, kinds = config.enrich.mode == "lifted", {sensor.kind for sensor in readings.sensors}
    if config.discretize.edges and lifted and scope_of(config) == "sensor":
        raise ConfigError(
            "'edges' cut readings, and lifted bins are ranks in the history of each sensor",
            where="[discretize]",
            hint="set scope = 'kind'",
        )
    known = {*(table.discretizer.binnings if table.discretizer else ()), *(kinds if lifted else ())}
    for name in config.discretize.edges:
        if name not in known:
            hint = nearest(name, known) or "there are: " + ", ".join(sorted(known))
            raise ConfigError(
                f"nothing is binned as '{name}', so its edges have no use", where="[discretize]", hint=hint
            )


def raw_table(readings: WindowedReadings, inputs: Inputs, config: Config) -> FeatureTable:
    """The transactions before discretization."""
    from thence.tables.enrich import features

    _refuse_unknown_properties(inputs, config)
    chosen = config.enrich
    return features(
        readings,
        mode=chosen.mode,
        graph=inputs.graph,
        binding=inputs.binding,
        ontology=inputs.ontology,
        hops=chosen.hops,
        properties=chosen.properties,
    )


def table_for(
    miner: Miner, readings: WindowedReadings, inputs: Inputs, config: Config
) -> TransactionTable | FeatureTable:
    """The table that a miner reads: codes, or numbers."""
    if miner.wants == "numbers":
        return raw_table(readings, inputs, config)
    table = discrete_table(readings, inputs, config)
    if config.refine.significance is not None:
        from thence.refinement import Null
        from thence.refinement.significance.testing import require_worlds

        # Better to refuse before an hour of mining than after it.
        require_worlds(table, Null(**config.refine.null))
    return table


def localised(miner: Miner, table: TransactionTable | FeatureTable, inputs: Inputs) -> Miner:
    """A miner that is told ``near`` as a number of hops gets the neighbourhoods of this table instead."""
    hops = getattr(miner, "near", None)
    if not isinstance(hops, int) or not is_dataclass(miner) or not isinstance(table, TransactionTable):
        return miner
    if inputs.graph is None:
        raise ConfigError("'near' counts hops in the graph, and there is none", hint="give a graph and a binding")
    return replace(miner, near=within_hops(table, inputs.graph, hops=hops))


def search(miner: Miner, table: TransactionTable | FeatureTable, tell: Progress) -> tuple[RuleSet, Any]:
    """The rules, and the model behind them where the miner learns one."""
    train, extract = getattr(miner, "train", None), getattr(miner, "extract", None)
    if train is None or extract is None:
        return miner.mine(table, progress=tell), None
    model = train(table, progress=tell)
    return extract(model, table, progress=tell), model


def refuse_raw(miner: Miner, config: Config) -> None:
    """Raise where rules are to be refined that cannot be."""
    if config.refine.steps is not None and miner.wants == "numbers":
        raise ConfigError(
            f"the rules of the miner '{miner.name}' have intervals of their own, which cannot be refined",
            hint="leave the section [refine] to min, max, top and by",
        )


def refined(
    rules: RuleSet,
    table: TransactionTable | FeatureTable,
    miner: Miner,
    inputs: Inputs,
    config: Config,
    tell: Progress,
) -> RuleSet:
    """The rules worth reading, where refinement is asked for."""
    steps = config.refine.steps
    if steps is None:
        return rules
    refuse_raw(miner, config)
    assert isinstance(table, TransactionTable)
    from thence.refinement import Null, refine

    if "null" in steps:
        steps["null"] = Null(**steps["null"])
    # The miner's own bounds: joined rules keep them, and no rule that it could not have found competes in a test.
    for bound in ("min_confidence", "min_support", "assurance"):
        steps.setdefault(bound, getattr(miner, bound, None))
    if steps["min_confidence"] is None:
        steps["min_confidence"] = getattr(miner, "least_confidence", None)
    for side in ("antecedent", "consequent"):
        # A miner of others may call something else by that name.
        constraint = getattr(miner, side, None)
        steps[side] = constraint if is_constraint(constraint) else None
    denominator = getattr(miner, "denominator", "present")
    if denominator not in ("present", "all"):
        denominator = "present"
    return refine(
        rules, table, ontology=inputs.ontology, denominator=denominator, seed=config.seed, progress=tell, **steps
    )


# Columns that a step of refinement, a miner or a lifted table adds, where there is something to add.
_ADDED = (
    *("improvement", "p_value", "p_adjusted", "p_simpler", "assured_confidence", "probability", "joint_confidence"),
    *SUPPORTS,
)


def kept(rules: RuleSet, refine: RefineConfig) -> RuleSet:
    """The rules within the bounds, in order, the best only where a number is given.

    A column that steps or miners may add, and these rules have not, is passed over, and a note says so.
    """
    bounds: dict[str, Any] = {f"min_{name}": bound for name, bound in refine.min.items()}
    bounds |= {f"max_{name}": bound for name, bound in refine.max.items()}
    known = {*MEASURES, *rules.extras, "antecedents"}
    absent = sorted({refine.by, *refine.min, *refine.max} - known)
    for name in absent if len(rules) else ():
        if name not in _ADDED:
            rules.measure(name)  # raises, and names the nearest
    if absent and len(rules):
        note = f"the rules have no column {', '.join(absent)}: they are neither bounded nor ordered by it"
        rules = replace(rules, notes=(*rules.notes, note))
    bounds = {name: bound for name, bound in bounds.items() if name[4:] in known}
    if bounds:
        rules = rules.filter(**bounds)
    by = refine.by if refine.by in known else "zhang"
    return rules.sort([by, "support"]) if refine.top is None else rules.top(refine.top, by=by)
