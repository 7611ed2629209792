"""The stages between inputs and rules, one function each: windows, table, search, refinement.

Part of the wiring (:mod:`thence.pipeline` puts them in a row): each hands the right parts of the configuration to the
module that does the work.
"""

from __future__ import annotations

from dataclasses import is_dataclass, replace
from typing import Any

import numpy as np

from .config import Config, RefineConfig
from .discretize import Discretizer
from .errors import ConfigError
from .inputs import Inputs
from .locality import within_hops
from .miners.base import Miner
from .progress import Progress
from .rules import RuleSet
from .sensors import as_utc
from .transactions import FeatureTable, TransactionTable
from .windows import WindowedReadings, window

__all__ = ["discrete_table", "kept", "localised", "raw_table", "refined", "scope_of", "search", "table_for", "windowed"]


def scope_of(config: Config) -> str:
    """Ranks in a sensor's own history carry over from sensor to sensor, which is what lifted rules are about."""
    return config.discretize.scope or ("sensor" if config.enrich.mode == "lifted" else "kind")


def windowed(inputs: Inputs, config: Config) -> WindowedReadings:
    """The readings in windows."""
    chosen = config.windows
    return window(
        inputs.sensors,
        chosen.every,
        aggregate=chosen.aggregate,
        derive=chosen.derive,
        origin=chosen.origin,
        timezone=chosen.timezone,
    )


def discrete_table(
    readings: WindowedReadings, inputs: Inputs, config: Config, fitted: Discretizer | None = None
) -> TransactionTable:
    """The transactions; ``fitted`` bins are used as they are, otherwise bins are fitted to these readings."""
    from .enrich import build

    bins, chosen = config.discretize, config.enrich
    discretizer = fitted or Discretizer(bins.method, bins.bins, scope_of(config), bins.edges)
    frames: Any = slice(None)
    if bins.fit_until is not None:
        moment = as_utc(bins.fit_until).replace(tzinfo=None)
        frames = readings.times < np.datetime64(moment, "us")
        if not frames.any():
            raise ConfigError(f"no window lies before fit_until = {bins.fit_until}", where="[discretize]")
    return build(
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


def raw_table(readings: WindowedReadings, inputs: Inputs, config: Config) -> FeatureTable:
    """The transactions before discretization."""
    from .enrich import features

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
    raw = miner.wants == "numbers"
    return raw_table(readings, inputs, config) if raw else discrete_table(readings, inputs, config)


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
    if not isinstance(table, TransactionTable):
        raise ConfigError(
            f"the rules of the miner '{miner.name}' have intervals of their own, which cannot be refined",
            hint="leave the section [refine] to min, max, top and by",
        )
    from .refine import Null, refine

    if "null" in steps:
        steps["null"] = Null(**steps["null"])
    # The miner's own bounds: joined rules keep them, and no rule that it could not have found competes in a test.
    for bound in ("min_confidence", "min_support", "assurance"):
        steps.setdefault(bound, getattr(miner, bound, None))
    if steps["min_confidence"] is None:
        steps["min_confidence"] = getattr(miner, "least_confidence", None)
    denominator = getattr(miner, "denominator", "present")
    return refine(
        rules, table, ontology=inputs.ontology, denominator=denominator, seed=config.seed, progress=tell, **steps
    )


def kept(rules: RuleSet, refine: RefineConfig) -> RuleSet:
    """The rules within the bounds, in order, the best only where a number is given."""
    bounds: dict[str, Any] = {f"min_{name}": bound for name, bound in refine.min.items()}
    bounds |= {f"max_{name}": bound for name, bound in refine.max.items()}
    if bounds:
        rules = rules.filter(**bounds)
    return rules.sort([refine.by, "support"]) if refine.top is None else rules.top(refine.top, by=refine.by)
