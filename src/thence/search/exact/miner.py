"""The exact miner: every rule that meets the thresholds.

It searches depth first over bitmaps (``thence.search.exact.search``) and compares thresholds as exact fractions. The
bitmaps of all embeddings of a lifted table are concatenated, up to a limit on memory.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from thence._base.cluster.executors import Executor
from thence._base.progress import FIRST_RUN, Progress, silent
from thence._base.settings.numbers import MOST_ANTECEDENTS
from thence._base.settings.typed import number
from thence.errors import ConfigError, nearest
from thence.language.constraints import Constraint, explain_no_match
from thence.search.base import BaseMiner
from thence.search.codes import require_codes
from thence.search.exact.estimate import require_room, search_input, suggest_settings
from thence.search.exact.kernels import continue_search, count_pairs_of
from thence.search.exact.search import RuleBlock, mine_exact
from thence.search.neighbours import near_columns
from thence.search.torch_runtime import find_device, is_on_cpu, require_torch
from thence.statements.counting.recount import recount
from thence.statements.rules.measures import MEASURES, Counts
from thence.statements.rules.ruleset import RuleSet, SearchStatus
from thence.tables.admissibility import trivial_pairs, without_trivial
from thence.tables.bitmaps.bits import needs_compiling
from thence.tables.transactions import TransactionTable

# The share of ``max_rules`` that a search finds before it estimates whether there are more than that.
_ASK_AFTER = 0.05


@dataclass(frozen=True, kw_only=True)
class Exact(BaseMiner):
    """Mine every rule with one consequent that meets the thresholds and holds in at least one row.

    Rules that never hold are left out, also with ``min_support=0`` and ``min_confidence=0``. All thresholds and
    bounds are decided exactly, as the decimal numbers that were written (0.8 is 4/5).

    Args:
        max_antecedents: The largest number of antecedent items; ``None`` for no limit.
        min_support: The lowest support of a rule, from 0 to 1.
        min_confidence: The lowest confidence of a rule, from 0 to 1.
        antecedent: Which items may be in an antecedent.
        consequent: Which items may be a consequent.
        context_consequents: Whether constants and graph context may be consequents.
        bounds: Further bounds on any measure, such as ``{"min_zhang": 0.5}``, decided as in ``RuleSet.filter``.
        near: Which features may appear in the same rule, per block (made by ``table.within_hops``). Through ``th.mine``
            and in a configuration also a number of hops. The time then grows with the number of features instead of its
            third power.
        max_rules: The most rules.
        on_limit: ``"raise"`` refuses a search that would find more than ``max_rules``, before it starts (see
            ``estimate_rules``); ``"stop"`` ends it after ``max_rules`` rules, with a note.
        denominator: Which rows a rule is counted over: ``"present"`` are those in which all its features are present,
            ``"all"`` are all rows.
        device: Where to search, with the same rules: ``"cpu"``, or ``"cuda"`` for a graphics processor (which needs the
            extra ``aerial``).

    Raises:
        ConfigError: If a setting has an impossible value.

    Examples:
        >>> import polars as pl
        >>> table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "x", "y", "y"], "b": ["u", "u", "v", "v"]}))
        >>> rules = Exact(min_support=0.1).mine(table)
        >>> len(rules)
        4
    """

    name: ClassVar[str] = "exact"
    exhaustive: ClassVar[bool] = True
    spreads: ClassVar[bool] = True

    max_antecedents: int | None = number(2, least=1, most=MOST_ANTECEDENTS)
    min_support: float = number(0.01, least=0, most=1)
    min_confidence: float = number(0.8, least=0, most=1)
    antecedent: Constraint = None
    consequent: Constraint = None
    context_consequents: bool = False
    bounds: Mapping[str, float] = field(default_factory=dict)
    near: Sequence[Any] | None = None
    max_rules: int = number(5_000_000, least=1)
    on_limit: Literal["raise", "stop"] = "raise"
    denominator: str = "present"
    device: str = "cpu"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.bounds:
            side, _, measure = name.partition("_")
            if side not in ("min", "max") or measure not in MEASURES:
                known = [f"{s}_{m}" for m in MEASURES for s in ("min", "max")]
                raise ConfigError(
                    f"unknown bound '{name}'", hint=nearest(name, known) or "use min_<measure>, max_<measure>"
                )

    def eased(self, table: TransactionTable, *, given: Collection[str]) -> tuple[BaseMiner, str]:
        """Return this miner with fewer antecedents or a higher support where there would be too many rules.

        Args:
            table: The table to mine.
            given: Names of settings that must not be changed.
        """
        return suggest_settings(table, self, given=given)

    def mine(
        self, table: TransactionTable, *, progress: Progress = silent, executor: Executor | None = None
    ) -> RuleSet:
        """Return all rules of a table that meet the thresholds, with exact counts.

        An interrupted search returns the rules found so far, with a note.

        Args:
            table: A discretized table.
            progress: Called as the search advances.
            executor: Where to search and count, with the same rules; by default in threads of this process.

        Raises:
            ConfigError: If ``device`` is not ``"cpu"`` and the executor is a cluster.
            MiningError: If the table is of another kind, its bitmaps need too much memory, or the search would find
                more than ``max_rules`` rules.
        """
        require_codes(table, self.name)
        self.require_executor(executor)
        parts: list[RuleSet] = []
        room = self.max_rules
        for at in range(len(table.blocks)):
            found = self._mine_block(table, at, room, progress, executor)
            parts.append(found)
            room -= len(found)
            if found.ending is not SearchStatus.COMPLETE:
                break
        if not parts:
            return RuleSet.empty("the table has no rows to mine", *table.notes)
        rules = RuleSet.concat(parts)
        if len(rules) == 0:
            return replace(RuleSet.empty(*self._why_empty(table), facts=parts[0].facts), ending=rules.ending)
        return rules.filter(bounds=self.bounds) if self.bounds else rules

    def stream(self, table: TransactionTable) -> Generator[RuleBlock]:
        """Yield the rules of a table in blocks of arrays, for searches whose rules do not fit in memory.

        Items are numbered as in the bitmaps of each block of the table, of which at least support and confidence are
        met; ``bounds`` are not applied. The search ends after ``max_rules`` rules of a block of the table.

        Args:
            table: A discretized table.

        Examples:
            >>> import polars as pl
            >>> frame = pl.DataFrame({"a": ["x", "y"] * 50, "b": ["u", "v"] * 50})
            >>> sum(len(piece) for piece in Exact().stream(TransactionTable.from_frame(frame)))
            4
        """
        require_codes(table, self.name)
        for at in range(len(table.blocks)):
            yield from self._search(table, at, self.max_rules, None)

    def _mine_block(
        self, table: TransactionTable, at: int, room: int, progress: Progress, executor: Executor | None
    ) -> RuleSet:
        block = table.blocks[at]
        found: list[RuleBlock] = []
        notes: list[str] = []
        ending = SearchStatus.COMPLETE
        # The rules of earlier blocks were within the limit, or the question was asked there.
        unasked = self.on_limit == "raise" and self.max_rules - room <= self.max_rules * _ASK_AFTER
        label = f"mining {at + 1}/{len(table.blocks)}" if len(table.blocks) > 1 else "mining"
        n_rules = 0
        try:
            if is_on_cpu(self.device) and needs_compiling(
                continue_search if self.longest(table) > 1 else count_pairs_of
            ):
                progress(label, 0.0, 1.0, FIRST_RUN)
            with closing(self._search(table, at, room, executor)) as pieces:
                for piece in pieces:
                    found.append(piece)
                    n_rules += len(found[-1])
                    if unasked and self.max_rules - room + n_rules > self.max_rules * _ASK_AFTER:
                        # Few searches come that far, so that most need no estimate.
                        require_room(table, self)
                        unasked = False
                    progress(label, piece.progress, 1.0, f"{n_rules:,} rules")
                    if piece.capped:
                        ending = SearchStatus.LIMIT
                        notes.append(
                            f"stopped at {self.max_rules:,} rules, but there are more: raise min_support or "
                            "min_confidence, constrain the items, or raise max_rules"
                        )
        except KeyboardInterrupt:
            ending = SearchStatus.INTERRUPTED
            notes.append("interrupted: only the rules found so far are returned")
        width = self.longest(table)
        antecedents = np.concatenate([p.antecedents for p in found]) if found else np.zeros((0, width), np.int32)
        consequents = np.concatenate([p.consequents for p in found]) if found else np.zeros(0, np.int32)
        counts = np.concatenate([p.counts for p in found]) if found else np.zeros((0, 4), np.int64)
        # A lifted block is recounted, because its rules also need their supports over frames and embeddings.
        own = None if block.is_lifted else Counts.from_matrix(counts, n_rows=block.n_rows)
        rules = recount(
            antecedents,
            consequents,
            table,
            block=at,
            counts=own,
            notes=notes,
            denominator=self.denominator,
            executor=executor,
        )
        return replace(rules, ending=ending)

    def _search(self, table: TransactionTable, at: int, room: int, executor: Executor | None) -> Generator[RuleBlock]:
        """Search a block of the table for at most ``room`` rules; those that hold by definition are left out."""
        block = table.blocks[at]
        trivial = trivial_pairs(block)
        device = None
        if not is_on_cpu(self.device):
            require_torch(extra="aerial")
            device = find_device(self.device)
        pieces = mine_exact(
            search_input(self, block, self.longest(table)),
            near=None if self.near is None else near_columns(self.near, at, len(block.columns)),
            executor=executor,
            device=device,
            max_rules=room,
        )
        with closing(pieces):
            for piece in pieces:
                if trivial is not None:
                    piece = piece.select(without_trivial(piece.antecedents, piece.consequents, trivial))
                yield piece

    def _why_empty(self, table: TransactionTable) -> list[str]:
        reasons = [*table.notes]
        if table.n_rows == 0:
            reasons.append("the table has no rows")
        elif table.n_features < 2:
            reasons.append(
                "a rule needs two features, but the table has one" if table.n_features else "the table has no features"
            )
        elif all(column.is_constant for block in table.blocks for column in block.columns):
            reasons.append("every feature is constant")
        elif unfit := [
            reason
            for side in ("antecedent", "consequent")
            if (reason := explain_no_match(table.iter_items(), side, getattr(self, side))) is not None
        ]:
            reasons += unfit
        else:
            reasons.append(
                f"no rule has support ≥ {float(self.min_support):g} and confidence ≥ {float(self.min_confidence):g}: "
                "lower one of them"
            )
        return reasons
