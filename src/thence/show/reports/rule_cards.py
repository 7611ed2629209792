"""Evidence cards of rules: one place and one period that show a rule, and how it does elsewhere and over time.

States are those of ``thence.statements.counting.states``, so that a card marks the rows that ``apply`` counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from thence.checks.application.parts import Part, encode_rules
from thence.data.graph.matching import with_ancestors
from thence.data.graph.records import list_values
from thence.errors import MiningError
from thence.language.items import Aspect, Interval, Item, Role, Value
from thence.language.time_names import STATE_PREFIX
from thence.search.refine.counterexamples import judge_places
from thence.show.reports.choosing import ANYWHERE, Aim, best_place, tell_choice
from thence.show.reports.evidence import Evidence
from thence.show.reports.periods import Chosen, add_up, begins_of, choose_period, join_frames
from thence.show.reports.schema import Band, Card, History, PlaceShare, Trace
from thence.show.reports.traces import FeatureSeries, Side, as_trace, bands_of, sensor_series, star_series_of
from thence.statements.counting.assurance import share_interval
from thence.statements.counting.by_place import CountsByPlace, name_places
from thence.statements.counting.states import find_states, tally_states
from thence.statements.rules.ruleset import RuleSet
from thence.tables.bitmaps.bits import unpack
from thence.tables.bitmaps.place_counts import count_places
from thence.tables.blocks import Block
from thence.tables.enrich.grounded import derived_values
from thence.tables.transactions import FeatureTable, TransactionTable

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

MOST_PLACES = 2_000
"""Places that a card names at most."""
_ASSURANCE = 0.95
_MOST_MEMBERS = 12  # nodes of a neighbourhood that are shown


def make_rule_card(evidence: Evidence, position: int, aim: Aim = ANYWHERE) -> Card | None:
    """Return the evidence for a rule.

    Args:
        evidence: The data.
        position: The position of the rule in the rules of the run.
        aim: What to show.

    Returns:
        The card; ``None`` if rows have no time, the table cannot count the rule, or the rule applies nowhere.
    """
    table = evidence.material.table
    if table is None:
        return None
    rules = _only(evidence.material.run.rules, position)
    try:
        parts, _ = encode_rules(rules, _only_columns(table, rules), times=evidence.readings.times)
    except MiningError:
        return None
    if not parts or any(part.times is None for part in parts):
        return None
    counted = _count(parts, evidence.denominator)
    chosen = _choose_place(counted, parts, evidence.bound, aim)
    if chosen is None:
        return None
    part, embedding = _find(parts, chosen)
    shown = _look(evidence, rules, part, embedding)
    assert part.times is not None
    every = evidence.readings.every
    period = choose_period(
        part.times, every, held=shown.held, violated=shown.violated, known=shown.known, around=aim.moment
    )
    cut = slice(period.start, period.stop)
    traces, members = _traces(evidence, shown, part.times, period)
    lifted = part.block is not None and part.block.is_lifted
    nodes = evidence.linked([*shown.nodes, *members])
    return {
        "key": f"rule-{position}",
        "about": "rule",
        "id": position,
        "spot": chosen if lifted else None,
        "violations": begins_of(shown.violated, part.times, every),
        "place": shown.name or " – ".join(dict.fromkeys(trace["node"] or trace["name"] for trace in traces)),
        "why": tell_choice(
            counted.n_antecedent,
            counted.n_both,
            chosen=chosen,
            period=period,
            held_shown=int(shown.held[cut].sum()),
            broken_shown=int(shown.violated[cut].sum()),
        ),
        "traces": traces,
        "held": join_frames(shown.held[cut], part.times, every, first=period.start),
        "violated": join_frames(shown.violated[cut], part.times, every, first=period.start),
        "history": _history(parts, evidence),
        "places": place_shares(counted, parts, evidence.bound) if lifted else [],
        "n_places": int((counted.n_antecedent > 0).sum()) if lifted else 0,
        "nodes": nodes,
        "edges": evidence.edges_among(nodes),
    }


def _only(rules: RuleSet, position: int) -> RuleSet:
    """One rule, with its own items only."""
    left = rules.antecedents[position]
    left = left[left >= 0]
    items = tuple(rules.items[at] for at in (*left.tolist(), int(rules.consequents[position])))
    return replace(
        rules.take(np.array([position])),
        items=items,
        antecedents=np.arange(len(left), dtype=np.int32)[None, :],
        consequents=np.array([len(left)], np.int32),
    )


def _only_columns(table: TransactionTable | FeatureTable, rules: RuleSet) -> TransactionTable | FeatureTable:
    """The table with the columns of a rule only, so that no other bitmaps are built or copied."""
    if isinstance(table, FeatureTable):
        return table
    pattern = rules.rule(0).pattern
    features = {item.feature for item in rules.items}
    blocks = [block for block in table.blocks if len(table.blocks) == 1 or str(block.pattern or "") == pattern]
    kept = tuple(
        replace(block, columns=tuple(column for column in block.columns if column.feature in features))
        for block in blocks
    )
    return replace(table, blocks=kept, finer=None)


def _count(parts: Sequence[Part], denominator: str) -> CountsByPlace:
    """Count the rule in every place of all parts, one after the other."""
    found = np.concatenate(
        [
            count_places(
                part.bank,
                antecedent=part.antecedents[0],
                consequent=int(part.consequents[0]),
                denominator=denominator,
            )
            for part in parts
        ]
    )
    block = parts[0].block or Block((), 0)
    return CountsByPlace(0, block, *found.T)


def _choose_place(counted: CountsByPlace, parts: Sequence[Part], bound: float, aim: Aim) -> int | None:
    """Choose the place that was asked for, if the rule applies there, or the one that shows the rule best."""
    applies = counted.n_antecedent > 0
    if aim.spot is not None and aim.spot < len(applies) and applies[aim.spot]:
        return aim.spot
    if aim.node:
        nodes = _names(parts, np.flatnonzero(applies))
        here = [at for at, (_, own) in zip(np.flatnonzero(applies).tolist(), nodes, strict=True) if aim.node in own]
        if here:
            return min(here, key=lambda at: counted.n_both[at] / counted.n_antecedent[at])
    _, holds = judge_places(counted, bound)
    return best_place(counted.n_antecedent, counted.n_both, keeps=holds)


def _find(parts: Sequence[Part], place: int) -> tuple[Part, int]:
    """The part of a place, and its embedding there."""
    for part in parts:
        if place < part.bank.n_embeddings:
            return part, place
        place -= part.bank.n_embeddings
    raise IndexError(place)


@dataclass(frozen=True, eq=False)
class _Shown:
    """The place that a card shows, with the states of the rule there in every frame."""

    name: str
    nodes: tuple[str, ...]
    held: Bools
    violated: Bools
    known: Bools
    series: tuple[tuple[Item, Side, FeatureSeries, Bools], ...]


def _look(evidence: Evidence, rules: RuleSet, part: Part, embedding: int) -> _Shown:
    """Look at the rule in one place."""
    bank, frames = part.bank, part.bank.n_frames
    own = replace(bank, row_of=bank.row_of[:, [embedding]], present_of=bank.present_of[:, [embedding]])
    states = find_states(own, antecedent=part.antecedents[0], consequent=int(part.consequents[0]))
    held, violated, missing = (
        unpack(words[0], n_rows=frames) for words in (states.satisfied, states.violated, states.missing)
    )
    name = ""
    nodes: tuple[str, ...] = ()
    place: tuple[str, ...] = ()
    if part.block is not None and part.block.is_lifted:
        at = int(part.embeddings[embedding])
        place = part.block.embeddings[at]
        (name,) = name_places(part.block, [at])
        pattern = part.block.pattern
        nodes = place[: len(pattern.nodes)] if pattern is not None else place
    series = []
    numbers = [*part.antecedents[0].tolist(), int(part.consequents[0])]
    for number, item, side in zip(numbers, rules.items, _sides(rules), strict=True):
        holds = unpack(own.words[own.row_of[number, 0]], n_rows=frames)
        for one in item.parts:
            found = _series_of(evidence, one, part, place, holds & held if held.any() else holds)
            if found is not None:
                series.append((one, side, found, holds))
    return _Shown(name, tuple(dict.fromkeys(nodes)), held, violated, ~missing, tuple(series))


def _sides(rules: RuleSet) -> Iterator[Side]:
    for _ in rules.items[:-1]:
        yield "if"
    yield "then"


def _series_of(
    evidence: Evidence, item: Item, part: Part, place: tuple[str, ...], shown: Bools
) -> FeatureSeries | None:
    """The series that an item is about at a place; ``None`` for what is no reading, such as a property or the hour."""
    feature = item.feature
    if feature.aspect is not Aspect.MEASUREMENT or feature.role is Role.TIME:
        return None
    if feature.role is Role.SENSOR:
        return sensor_series(evidence, feature.subject, name=feature.name)
    if feature.role is Role.SOME:
        return _witness(evidence, item, shown)
    pattern = None if part.block is None else part.block.pattern
    if feature.role is not Role.VARIABLE or pattern is None:
        return None
    at = dict(zip(pattern.variables, place, strict=True))
    if feature.reads:
        return star_series_of(evidence, feature, pattern, at.get(feature.place or feature.subject, ""))
    sensor = at.get(feature.subject, "")
    return sensor_series(evidence, sensor, name=feature.name, kind=feature.label, node=at.get(feature.place, ""))


def _witness(evidence: Evidence, item: Item, shown: Bools) -> FeatureSeries | None:
    """Of the sensors that a statement about some sensor may mean, the one that satisfies it most often."""
    feature = item.feature
    *facts, reading = feature.where
    system = evidence.material.system
    best: tuple[int, FeatureSeries] | None = None
    for sensor in evidence.readings.sensors:
        if (sensor.kind or sensor.id) != feature.label:
            continue
        node = evidence.node_of.get(sensor.id, "")
        if feature.subject and (
            system is None
            or system.graph is None
            or node not in system.graph
            or feature.subject not in with_ancestors(system.graph.node(node).labels, system.ontology)
        ):
            continue
        if facts and not _meets(evidence, node, facts):
            continue
        found = sensor_series(evidence, sensor.id, name=feature.name)
        if found is None:
            continue
        hits = int((_satisfies(evidence, sensor.id, reading, found) & shown).sum())
        if best is None or hits > best[0]:
            best = hits, found
    return None if best is None else best[1]


def _satisfies(evidence: Evidence, sensor: str, reading: Item, series: FeatureSeries) -> Bools:
    """In which frames a sensor satisfies the condition of a statement."""
    name = reading.feature.name.removeprefix(STATE_PREFIX)
    derived = evidence.readings.derived_states.get(name, {})
    if sensor in derived:
        codes: npt.NDArray[np.integer] = derived[sensor][0]
        values: Sequence[Value | Interval] = derived_values(derived[sensor][1])
    elif series.states:
        codes, values = np.where(np.isnan(series.values), -1, series.values).astype(np.int64), series.states
    else:
        return reading.mask(series.values) if reading.is_numeric else np.zeros(len(series.values), bool)
    return np.asarray(np.array([*(reading.holds(value) for value in values), False], bool)[codes])


def _meets(evidence: Evidence, node: str, facts: Sequence[Item]) -> bool:
    """Whether a node has the properties that a statement asks for, at any time."""
    graph = evidence.graph
    if graph is None or node not in graph:
        return False
    for fact in facts:
        name = fact.feature.name
        dated = graph.histories(node).get(name)
        values = [graph.node(node).properties.get(name)]
        if dated is not None:
            values += [graph.value(node, name, at=moment) for moment in evidence.readings.times[[0, -1]].tolist()]
        single = [one for several in values for one in list_values(several)]
        plain = [float(one) if isinstance(one, int) and not isinstance(one, bool) else one for one in single]
        if not any(fact.holds(one) for one in plain):
            return False
    return True


def _traces(
    evidence: Evidence, shown: _Shown, times: npt.NDArray[np.datetime64], period: Chosen
) -> tuple[list[Trace], list[str]]:
    """The traces of a card, each series once, and the nodes whose sensors they read."""
    ranks = 0 if evidence.bins is None else evidence.bins.n_ranks
    found: dict[tuple[str, str], tuple[FeatureSeries, list[Band]]] = {}
    for item, side, series, holds in shown.series:
        _, bands = found.setdefault((series.name, series.role), (series, []))
        bands += bands_of(item, side, series, n_ranks=ranks, held=holds)
    traces = [
        as_trace(series, bands, times=times, start=period.start, stop=period.stop) for series, bands in found.values()
    ]
    members = [node for series, _ in found.values() for node in series.nodes[:_MOST_MEMBERS]]
    return traces, members


def _history(parts: Sequence[Part], evidence: Evidence) -> History | None:
    """How often the rule applied and held, over the whole time and all places."""
    sums = []
    for part in parts:
        assert part.times is not None
        found = tally_states(part.bank, antecedents=part.antecedents[:1], consequents=part.consequents[:1])
        applied = found.frame_applicable
        held = applied - found.frame_violated
        if evidence.denominator == "all":
            # Rows in which the consequent is not known count as rows in which it does not hold.
            alone = tally_states(part.bank, antecedents=part.antecedents[:1], consequents=part.antecedents[:1, 0])
            applied = alone.frame_applicable
        sums.append((part.times, applied, held))
    return add_up(sums, evidence.readings.every)


def place_shares(counted: CountsByPlace, parts: Sequence[Part], bound: float) -> list[PlaceShare]:
    """Return how a rule does in its places: exceptions first, the lowest confidence first, then the largest places.

    The rows of an episode, in which the antecedent holds without a break, count as one for the lower end of the share.

    Args:
        counted: The counts by place.
        parts: The parts with these places, in order.
        bound: The confidence below which a rule fails in a place.
    """
    rows, held = counted.n_antecedent, counted.n_both
    enough, holds = judge_places(counted, bound)
    fails = enough & ~holds
    share = held / np.maximum(rows, 1)
    order = np.lexsort((np.arange(len(rows)), -rows, np.where(fails, share, 1.0), ~fails))
    order = order[rows[order] > 0][:MOST_PLACES]
    trials = counted.episodes[order].astype(np.float64)
    low, _ = share_interval(share[order], trials, np.full(len(order), np.inf), _ASSURANCE)
    names = _names(parts, order)
    out: list[PlaceShare] = []
    for at, (name, nodes), bottom in zip(order.tolist(), names, low.tolist(), strict=True):
        out.append(
            {
                "spot": at,
                "name": name,
                "rows": int(rows[at]),
                "held": int(held[at]),
                "share": round(float(share[at]), 6),
                "low": None if np.isnan(bottom) else round(bottom, 6),
                "exception": bool(fails[at]),
                "nodes": nodes,
            }
        )
    return out


def _names(parts: Sequence[Part], places: Ints) -> list[tuple[str, list[str]]]:
    """The names and the nodes of places."""
    known: dict[int, tuple[str, list[str]]] = {}
    first = 0
    for part in parts:
        own = [at for at in places.tolist() if first <= at < first + part.bank.n_embeddings]
        block = part.block
        if block is not None and own:
            inside = [int(part.embeddings[at - first]) for at in own]
            count = None if block.pattern is None else len(block.pattern.nodes)
            for at, embedding, name in zip(own, inside, name_places(block, inside), strict=True):
                known[at] = name, list(dict.fromkeys(block.embeddings[embedding][:count]))
        first += part.bank.n_embeddings
    return [known.get(at, ("", [])) for at in places.tolist()]
