"""Counts by place in a run folder: in how many rows each lifted rule applied and held, in every place of its pattern.

``places.parquet`` has a row for each rule and place, with exact integers, so that a run that was read from disk knows
its exceptions and can be compared place by place. It is left out where it would be large or slow to make. This module
counts, writes and reads; it judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from thence.errors import PatternError, RunError
from thence.language.patterns import Pattern
from thence.statements.counting.by_place import CountsByPlace, count_by_place, find_lifted, name_places
from thence.statements.counting.encoding import find_countable
from thence.statements.keys import key_text
from thence.statements.rules.ruleset import RuleSet
from thence.tables.blocks import Block, SiteFrames
from thence.tables.transactions import TransactionTable

PLACES = "places.parquet"
"""The file in a run folder."""
MOST_CELLS = 2_000_000
"""Most rows of the file: rules × places."""
_MOST_RULES = 10_000
_MOST_WORK = 1_000_000_000  # words of bitmaps to be counted: about a second
_WORD = 64
_COUNTS = ("n", "n_antecedent", "n_consequent", "n_both", "episodes")
_LIST = pl.List(pl.String)
_SCHEMA: dict[str, Any] = {
    "rule": pl.Int32,
    "key": pl.String,
    "pattern": pl.String,
    "place": pl.String,
    "site": pl.String,
    "nodes": _LIST,
    "sensors": _LIST,
    **dict.fromkeys(_COUNTS, pl.Int64),
}
_NODES = pl.List(pl.Struct({"variable": pl.String, "node": pl.String}))
_SHOWN: dict[str, Any] = {
    "rule": pl.Int64,
    "place": pl.String,
    "site": pl.String,
    "nodes": _NODES,
    **dict.fromkeys(("rows", "applies", "holds"), pl.Int64),
    "confidence": pl.Float64,
    "episodes": pl.Int64,
}


@dataclass(frozen=True, eq=False)
class RulePlaces:
    """The counts of lifted rules in each place, by the key of the rule.

    Args:
        by_key: The counts; each with a block that knows its places and has no columns.
        names: The name of each place of a block, by the pattern of the block.
    """

    by_key: Mapping[str, CountsByPlace]
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def of(self, rules: RuleSet) -> Iterator[CountsByPlace]:
        """Yield the counts of those rules that have some, with their positions in ``rules``.

        Args:
            rules: The rules, which may be fewer or more than those that were counted.
        """
        for number, key in enumerate(map(key_text, rules.keys)):
            if key in self.by_key:
                yield replace(self.by_key[key], rule=number)

    def frame(self, rules: RuleSet, rule: int | None = None) -> pl.DataFrame:
        """Return a row for each rule and place; see ``Run.places``.

        Args:
            rules: The rules.
            rule: The position of one rule; all by default.
        """
        some = rules if rule is None else rules.take(np.array([rule]))
        parts = []
        for counted in self.of(some):
            block = counted.block
            number = counted.rule if rule is None else rule
            confidence = counted.n_both / np.where(counted.n_antecedent > 0, counted.n_antecedent, np.nan)
            columns = {
                "rule": np.full(block.n_embeddings, number),
                "place": list(self.names[_text(block)]),
                "site": _sites_of(block),
                "nodes": _nodes_of(block),
                "rows": counted.n,
                "applies": counted.n_antecedent,
                "holds": counted.n_both,
                "confidence": pl.Series(confidence, nan_to_null=True),
                "episodes": counted.episodes,
            }
            parts.append(pl.DataFrame(columns, schema=_SHOWN))
        return pl.concat(parts) if parts else pl.DataFrame(schema=_SHOWN)


def count_run_places(rules: RuleSet, table: TransactionTable) -> RulePlaces:
    """Count lifted rules in each place.

    Args:
        rules: The rules.
        table: The table that they were mined from.

    Examples:
        >>> import thence as th
        >>> run = th.mine(th.datasets.load("toy"), windows="1h", bins=3, enrich="lifted", progress="off")
        >>> counted = count_run_places(run.rules, run.table).frame(run.rules)
        >>> counted.columns
        ['rule', 'place', 'site', 'nodes', 'rows', 'applies', 'holds', 'confidence', 'episodes']
        >>> counted["holds"].sum() == int(run.rules.counts.n_both.sum())
        True
    """
    chosen = rules.take(find_lifted(rules, table))
    keys = chosen.keys
    by_key: dict[str, CountsByPlace] = {}
    names: dict[str, tuple[str, ...]] = {}
    for counted in count_by_place(chosen, table):
        block = counted.block
        if _text(block) not in names:
            names[_text(block)] = tuple(name_places(block, range(block.n_embeddings)))
        by_key[key_text(keys[counted.rule])] = counted
    return RulePlaces(by_key, names)


def why_not_kept(rules: RuleSet, table: TransactionTable) -> str:
    """Return why the counts by place of some rules are not kept, as a sentence; an empty string if they can be.

    Args:
        rules: The rules.
        table: The table that they were mined from.
    """
    chosen = rules.take(find_lifted(rules, table))
    if not len(chosen):
        return ""
    size = {str(block.pattern or ""): (block.n_embeddings, -(-block.n_frames // _WORD)) for block in table.blocks}
    own = np.full(len(chosen), -1) if chosen.pattern_of is None else chosen.pattern_of
    sizes = np.array([*(size.get(text, (0, 0)) for text, _ in chosen.patterns), size.get("", (0, 0))], np.int64)[own]
    items = (chosen.antecedents >= 0).sum(axis=1) + 1
    cells, work = int(sizes[:, 0].sum()), int((sizes[:, 0] * sizes[:, 1] * items).sum())
    if cells <= MOST_CELLS and work <= _MOST_WORK and len(chosen) <= _MOST_RULES:
        if find_countable(chosen, table)[0].all():
            return ""
        return "counts by place are not kept with the run: its table cannot count every rule"
    return (
        f"counts by place are not kept with the run: {len(chosen):,} rules have {cells:,} places, which is too many;"
        " 'apply' compares places with what they were if it reads the data again (recount)"
    )


def write_places(places: RulePlaces, rules: RuleSet, path: Path) -> None:
    """Write the counts of rules by place; equal counts give equal bytes.

    Args:
        places: The counts.
        rules: The rules of the run.
        path: The file to write.
    """
    shared: dict[str, pl.DataFrame] = {}
    keys = rules.keys
    parts = []
    for counted in places.of(rules):
        block = counted.block
        text = _text(block)
        if text not in shared:
            shared[text] = _block_frame(block, text, places.names[text])
        counts = [pl.Series(name, getattr(counted, name), dtype=pl.Int64) for name in _COUNTS]
        rule = pl.lit(counted.rule, dtype=pl.Int32).alias("rule")
        parts.append(shared[text].select(rule, pl.lit(key_text(keys[counted.rule])).alias("key"), pl.all(), *counts))
    frame = pl.concat(parts) if parts else pl.DataFrame(schema=_SCHEMA)
    frame.select(list(_SCHEMA)).write_parquet(path, compression="zstd", statistics=False)


def _block_frame(block: Block, text: str, names: Iterable[str]) -> pl.DataFrame:
    """The places of a block, a row each."""
    n_nodes = 0 if block.pattern is None else len(block.pattern.nodes)
    split = [(list(one[:n_nodes]), list(one[n_nodes:])) for one in block.embeddings]
    columns = {
        "pattern": [text] * block.n_embeddings,
        "place": list(names),
        "site": _sites_of(block),
        "nodes": [nodes for nodes, _ in split],
        "sensors": [sensors for _, sensors in split],
    }
    return pl.DataFrame(columns, schema={name: _SCHEMA[name] for name in columns})


# Panics of polars at damaged files are no ``Exception``.
_FOREIGN = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError, TypeError, KeyError)


def read_places(path: Path) -> RulePlaces:
    """Read counts that ``write_places`` wrote.

    Args:
        path: The file.

    Raises:
        RunError: If the file is damaged.
    """
    try:
        frame = pl.read_parquet(path)
        if dict(frame.schema) != _SCHEMA or any(frame[name].null_count() for name in ("key", *_COUNTS)):
            raise ValueError("it has other columns")
        blocks: dict[str, Block] = {}
        names: dict[str, tuple[str, ...]] = {}
        by_key: dict[str, CountsByPlace] = {}
        for (key,), rows in frame.group_by("key", maintain_order=True):
            text = str(rows["pattern"][0])
            if text not in blocks:
                blocks[text], names[text] = _read_block(rows, text), tuple(rows["place"].to_list())
            if rows.height != blocks[text].n_embeddings:
                raise ValueError("places are missing")
            by_key[str(key)] = CountsByPlace(0, blocks[text], *(rows[name].to_numpy() for name in _COUNTS))
    except (*_FOREIGN, PatternError) as error:
        raise RunError(
            f"the counts by place cannot be read: {error}",
            where=str(path),
            hint="the file was changed or damaged; delete it to go on without, or mine again",
        ) from error
    return RulePlaces(by_key, names)


def _read_block(rows: pl.DataFrame, text: str) -> Block:
    """A block with places and without columns."""
    pairs = zip(rows["nodes"].to_list(), rows["sensors"].to_list(), strict=True)
    embeddings = tuple((*nodes, *sensors) for nodes, sensors in pairs)
    sites = list(dict.fromkeys(name for name in rows["site"].to_list() if name is not None))
    number = {name: at for at, name in enumerate(sites)}
    nothing = np.zeros(0, "datetime64[us]")
    return Block(
        (),
        0,
        len(embeddings),
        pattern=Pattern.parse(text) if text else None,
        embeddings=embeddings,
        sites=tuple(SiteFrames(name, nothing) for name in sites),
        site_of=np.array([number[name] for name in rows["site"].to_list()], np.int32) if sites else None,
    )


def _text(block: Block) -> str:
    return str(block.pattern or "")


def _sites_of(block: Block) -> list[str | None]:
    if block.site_of is None:
        return [None] * block.n_embeddings
    return [block.sites[int(site)].name for site in block.site_of]


def _nodes_of(block: Block) -> list[list[dict[str, str]]]:
    variables = [] if block.pattern is None else [node.name for node in block.pattern.nodes]
    return [
        [{"variable": name, "node": node} for name, node in zip(variables, names, strict=False)]
        for names in block.embeddings
    ]
