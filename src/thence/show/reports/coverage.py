"""How much of the data the rules speak of: over time, by node, and the number of rules by node.

A row (a frame of a place) is covered if the antecedent of some rule holds in it. Counts are exact, made on the bitmaps
of the table; shares are of all rows of the table, as ``data_coverage`` of a rule set is. Must not draw or select.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thence.errors import MiningError
from thence.show.reports.inputs import span_edges
from thence.show.reports.numbers import milliseconds
from thence.show.reports.schema import Count, Coverage, NodeShare
from thence.statements.counting.encoding import EncodedBlock, encode_blocks
from thence.statements.rules.ruleset import RuleSet
from thence.tables.bitmaps.bits import Words, n_words
from thence.tables.blocks import Block
from thence.tables.transactions import FeatureTable, TransactionTable

SPANS = 96
MOST_PLACES = 5_000
"""Places that are listed; of those with equally many rules all or none, unless the first are already too many."""
MOST_RULES = 100_000
"""Rules that are counted, the first; a note says so if there are more."""
BUDGET = 400_000_000
"""Words of bitmaps to combine; rules after that are not counted, and a note says so."""
_CHUNK = 4_000_000
"""Words of bitmaps that are held at once."""

Ints = npt.NDArray[np.int64]
Times = npt.NDArray[np.datetime64]


def measure_coverage(
    rules: RuleSet, table: TransactionTable | FeatureTable, *, nodes: Mapping[str, int], budget: int = BUDGET
) -> tuple[Coverage | None, str]:
    """Return what the rules cover, and what could not be counted, as a sentence.

    Args:
        rules: The rules.
        table: The table that they were counted on.
        nodes: The positions of the nodes in the drawing, by id.
        budget: How many words of bitmaps to combine at most.

    Returns:
        The coverage, ``None`` if there are no times or no rules, and a note that is empty if all rules were counted.

    Examples:
        >>> import thence as th
        >>> run = th.mine(th.datasets.load("toy"), windows="1h", bins=3, progress="off", confirm=False)
        >>> coverage, note = measure_coverage(run.rules, run.table, nodes={"Pipe AB": 0})
        >>> len(coverage["edges"]) - 1 == len(coverage["share"]), coverage["nodes"][0]["node"], note
        (True, 0, '')
    """
    clocks = [clock for clock, _ in _clocks(table) if len(clock)]
    if not clocks or not len(rules):
        return None, ""
    steps = [np.diff(clock.astype("datetime64[us]")).min() for clock in clocks if len(clock) > 1]
    every = min(steps, default=np.timedelta64(1_000_000, "us"))
    if not every > np.timedelta64(0, "us"):
        return None, "Coverage over time is not shown: the times of the table repeat."
    edges = span_edges(np.concatenate(clocks), every, most=SPANS)
    try:
        parts = list(_parts(rules.take(np.arange(min(len(rules), MOST_RULES))), table))
    except MiningError as error:
        return None, f"Coverage is not shown: {error.message}."
    cost = sum(part.cost * len(part.antecedents) for part in parts)
    if cost > budget:
        parts = [part.first(int(len(part.antecedents) * budget / cost)) for part in parts]
    covered = np.zeros(len(edges) - 1, np.int64)
    seen: dict[str, Words] = {}
    n_rules: dict[str, int] = {}
    for part in parts:
        by_span, by_node, rules_at = _count_part(part, edges)
        covered += by_span
        for node, held in by_node.items():
            seen[node] = seen[node] | held if node in seen else held
        for node, count in rules_at.items():
            n_rules[node] = n_rules.get(node, 0) + count
    frames = {node: part.frames_at(node) for part in parts for node in part.nodes}
    shares = {
        nodes[node]: int(np.bitwise_count(held).sum()) / frames[node]
        for node, held in seen.items()
        if node in nodes and frames[node]
    }
    often = sorted(n_rules.items(), key=lambda pair: (-pair[1], pair[0]))
    coverage = Coverage(
        edges=milliseconds(edges),
        share=[
            round(int(some) / int(every_row), 4) if every_row else None
            for some, every_row in zip(covered, _rows_by_span(table, edges), strict=True)
        ],
        nodes=[NodeShare(node=node, share=round(share, 4)) for node, share in sorted(shares.items())],
        places=[Count(name=name, count=count) for name, count in _whole_groups(often, MOST_PLACES) if count],
    )
    counted = sum(sum(map(len, part.rules)) for part in parts)
    few = counted < len(rules)
    return coverage, f"Coverage is that of {counted:,} of {len(rules):,} rules." if few else ""


def _whole_groups(often: Sequence[tuple[str, int]], most: int) -> Sequence[tuple[str, int]]:
    """The first places, without the last of equally many rules that would be cut apart."""
    if len(often) <= most:
        return often
    whole = [pair for pair in often[:most] if pair[1] > often[most][1]]
    return whole or often[:most]


@dataclass(frozen=True, eq=False)
class _Antecedents:
    """The distinct antecedents of the rules of a block, and the bitmaps that they are counted on.

    Args:
        words: Bitmaps over frames.
        row_of: The bitmap of each item in each embedding.
        antecedents: The items of each antecedent.
        rules: The positions of the rules with each antecedent.
        nodes: The ids of nodes, each once.
        node_of: The nodes of each embedding (embeddings × variables), as positions in ``nodes``; ``None`` if the nodes
            belong to the rules instead.
        nodes_of_rules: The nodes of the rules with each antecedent, if there is one embedding.
        clocks: The times of each site, and which embeddings are there.
    """

    words: Words
    row_of: npt.NDArray[np.int32]
    antecedents: Sequence[Ints]
    rules: Sequence[Ints]
    nodes: Sequence[str]
    node_of: Ints | None
    nodes_of_rules: Sequence[Mapping[str, int]]
    clocks: Sequence[tuple[Times, Ints]]

    @property
    def cost(self) -> int:
        """Words of bitmaps that one antecedent combines."""
        width = max((len(one) for one in self.antecedents), default=1)
        return int(self.row_of.shape[1] * self.words.shape[1] * width)

    def first(self, number: int) -> _Antecedents:
        """The part with its first antecedents only."""
        kept = slice(0, max(number, 1))
        return _Antecedents(
            self.words,
            self.row_of,
            self.antecedents[kept],
            self.rules[kept],
            self.nodes,
            self.node_of,
            self.nodes_of_rules[kept],
            self.clocks,
        )

    def frames_at(self, node: str) -> int:
        """The number of frames at a node: those of its site."""
        if self.node_of is None:
            return len(self.clocks[0][0])
        at = self.nodes.index(node) if len(self.clocks) > 1 else -1
        return max(
            len(clock) for clock, members in self.clocks if len(self.clocks) == 1 or (self.node_of[members] == at).any()
        )


def _parts(rules: RuleSet, table: TransactionTable | FeatureTable) -> Iterator[_Antecedents]:
    """The parts of a table that have rules."""
    for encoded in encode_blocks(rules, table, antecedents_only=True):
        clocks = _clocks(table) if encoded.block is None else _block_clocks(encoded.block)
        yield _part(rules, encoded, list(clocks))


def _part(rules: RuleSet, encoded: EncodedBlock, clocks: list[tuple[Times, Ints]]) -> _Antecedents:
    chosen, words, row_of = encoded.rules, encoded.bank.words, encoded.bank.row_of
    lifted = encoded.block if encoded.block is not None and encoded.block.pattern is not None else None
    left = np.sort(encoded.antecedents, axis=1)
    _, first, place = np.unique(left, axis=0, return_index=True, return_inverse=True)
    in_order = np.argsort(first, kind="stable")
    by_place = np.argsort(place.ravel(), kind="stable")
    groups = np.split(chosen[by_place], np.cumsum(np.bincount(place.ravel(), minlength=len(first)))[:-1])
    antecedents = [left[first[one]][left[first[one]] >= 0].astype(np.int64) for one in in_order.tolist()]
    own = [groups[one] for one in in_order.tolist()]
    if lifted is None:
        place_of, places = _places_of_items(rules)
        of_rules = [_nodes_of_rules(rules, members, place_of, places) for members in own]
        names = list(dict.fromkeys(name for one in of_rules for name in one))
        return _Antecedents(words, row_of, antecedents, own, names, None, of_rules, clocks)
    assert lifted.pattern is not None
    variables = len(lifted.pattern.nodes)
    number: dict[str, int] = {}
    node_of = [[number.setdefault(name, len(number)) for name in one[:variables]] for one in lifted.embeddings]
    matrix = np.array(node_of, np.int64).reshape(len(node_of), variables)
    return _Antecedents(words, row_of, antecedents, own, list(number), matrix, [{} for _ in own], clocks)


def _places_of_items(rules: RuleSet) -> tuple[Ints, list[str]]:
    """The number of the node of each item, −1 for none; position −1 is that of no item. And the nodes."""
    number: dict[str, int] = {}
    named = (item.feature.place for item in rules.items)
    own = [number.setdefault(name, len(number)) if name else -1 for name in named]
    return np.array([*own, -1], np.int64), list(number)


def _nodes_of_rules(rules: RuleSet, members: Ints, place_of: Ints, places: Sequence[str]) -> dict[str, int]:
    """The nodes that rules about single sensors speak of, each with the number of rules."""
    items = np.column_stack([rules.antecedents[members], rules.consequents[members]])
    rows = np.sort(place_of[items], axis=1)
    rows[:, 1:][rows[:, 1:] == rows[:, :-1]] = -1  # a rule that names a node twice is one rule
    found, counts = np.unique(rows[rows >= 0], return_counts=True)
    return {places[at]: count for at, count in zip(found.tolist(), counts.tolist(), strict=True)}


def _count_part(part: _Antecedents, edges: Times) -> tuple[Ints, dict[str, Words], dict[str, int]]:
    """Covered rows by span, covered frames by node, and the number of rules that apply at each node."""
    by_span = np.zeros(len(edges) - 1, np.int64)
    width = part.words.shape[1]
    at_node = np.zeros((len(part.nodes), width), np.uint64)
    rules_at = np.zeros(len(part.nodes), np.int64)
    number = {name: at for at, name in enumerate(part.nodes)}
    sizes = [len(members) for members in part.rules]
    applied = np.zeros((len(part.antecedents), len(part.nodes)), bool) if part.node_of is not None else None
    n_embeddings = part.row_of.shape[1]
    step = max(1, _CHUNK // max(width, 1))
    for start in range(0, n_embeddings, step):
        own = np.arange(start, min(start + step, n_embeddings))
        covered = np.zeros((len(own), width), np.uint64)
        for at, antecedent in enumerate(part.antecedents):
            held = np.bitwise_and.reduce(part.words[part.row_of[antecedent][:, own]], axis=0)
            covered |= held
            if part.node_of is not None and applied is not None:
                applied[at, part.node_of[own[held.any(axis=1)]].ravel()] = True
            else:
                somewhere = bool(held.any())
                for name, count in part.nodes_of_rules[at].items():
                    at_node[number[name]] |= held[0]
                    rules_at[number[name]] += count * somewhere
        if part.node_of is not None:
            for variable in part.node_of[own].T:
                np.bitwise_or.at(at_node, variable, covered)
        for clock, members in part.clocks:
            here = np.isin(own, members) if len(part.clocks) > 1 else slice(None)
            by_span += _count_spans(covered[here], np.searchsorted(clock, edges))
    if applied is not None:
        rules_at = np.asarray(np.array(sizes, np.int64) @ applied)
    some = np.flatnonzero(at_node.any(axis=1)) if width else np.zeros(0, np.int64)
    return (
        by_span,
        {part.nodes[at]: at_node[at] for at in some.tolist()},
        {name: int(rules_at[at]) for at, name in enumerate(part.nodes)},
    )


def _count_spans(covered: Words, bounds: Ints) -> Ints:
    """The ones of bitmaps between each two of the bounds."""
    out = np.zeros(len(bounds) - 1, np.int64)
    for at, (low, high) in enumerate(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)):
        if high <= low:
            continue
        first, last = low // 64, n_words(high)
        part = covered[:, first:last]
        mask = np.full(last - first, ~np.uint64(0), np.uint64)
        mask[0] &= ~np.uint64(0) << np.uint64(low % 64)
        if high % 64:
            mask[-1] &= (np.uint64(1) << np.uint64(high % 64)) - np.uint64(1)
        out[at] = int(np.bitwise_count(part & mask).sum(dtype=np.int64))
    return out


def _rows_by_span(table: TransactionTable | FeatureTable, edges: Times) -> Ints:
    """The rows of the whole table in each span."""
    out = np.zeros(len(edges) - 1, np.int64)
    for clock, places in _clocks(table):
        out += np.diff(np.searchsorted(clock, edges)) * len(places)
    return out


def _clocks(table: TransactionTable | FeatureTable) -> Iterator[tuple[Times, Ints]]:
    """The times of each block and site, and the embeddings that have rows then."""
    if isinstance(table, FeatureTable):
        if table.times is not None:
            yield table.times, np.zeros(1, np.int64)
        return
    for block in table.blocks:
        yield from _block_clocks(block)


def _block_clocks(block: Block) -> Iterator[tuple[Times, Ints]]:
    if block.site_of is not None:
        for number, site in enumerate(block.sites):
            yield site.times, np.flatnonzero(block.site_of == number)
    elif block.times is not None:
        yield block.times, np.arange(block.n_embeddings)
