"""The rules of a run on windows that come in parts: the same bins, patterns and states as in the run.

Every part is built into a table like the table of the run. In front of its windows stand *guards*, windows that show
every bin and state once, so that the columns of a table never depend on which readings a part happens to hold; they
are cut off before anything is counted. Sensors that the run has no bins for are left out, never cut by bins of a part.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

from thence.checks.application.bound import NotBound, bind_named, bind_to_table
from thence.checks.monitor.batches import Roster
from thence.checks.monitor.history import Complete
from thence.data.graph.system import System
from thence.data.readings.derived import MAX_STATES
from thence.data.readings.findings import ReadReport
from thence.data.readings.windows import WindowedReadings
from thence.runs.configuration import Config
from thence.statements.counting.by_place import name_places
from thence.statements.counting.encoding import EncodedBlock, encode_blocks
from thence.statements.counting.states import Tallies, find_states, tally_states
from thence.statements.rules.ruleset import RuleSet
from thence.tables.bitmaps.bits import unpack
from thence.tables.blocks import Block
from thence.tables.discretization import Binning, Discretizer
from thence.tables.enrich import build
from thence.tables.transactions import TransactionTable

Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int32]

_LEAST_GUARDS = 48  # enough for two aggregates of the same sensors to differ in one of them


@dataclass(frozen=True, eq=False)
class Counted:
    """Numbers of rows of every rule by state.

    Args:
        satisfied: Rows in which each rule is satisfied.
        violated: Rows in which each rule is violated.
        not_applicable: Rows in which its antecedent does not hold.
        missing: Rows in which a reading is missing.
    """

    satisfied: Ints
    violated: Ints
    not_applicable: Ints
    missing: Ints


class RuleFrames:
    """Rules that are counted on parts of the windows.

    Args:
        rules: The rules.
        roster: The sensors.
        system: The graph, the binding and the ontology around them.
        bins: The bins of the run, as far as they apply to this system.
        config: The configuration of the run for other data.
        same_system: Whether the data are of the system that was mined.
        mined: The name of that system, for messages.
        left_out: Positions of rules that are not watched, because of their reviews.
    """

    def __init__(
        self,
        rules: RuleSet,
        roster: Roster,
        system: System,
        bins: Discretizer,
        config: Config,
        *,
        every: int,
        aggregates: Mapping[str, str],
        same_system: bool = True,
        mined: str = "",
        left_out: Collection[int] = (),
    ) -> None:
        self.roster, self.system, self.bins, self.config = roster, system, bins, config
        self.every, self.aggregates = every, aggregates
        self.n_rules = len(rules)
        ids = [sensor.id for sensor in roster.sensors]
        lacking = {one.rule: one for one in bind_named(rules, system, ids, same=same_system, system=mined)}
        lacking |= {rule: NotBound(rule, "review", "", "left out because of its review") for rule in left_out}
        self.left_out = frozenset(left_out)
        self._rules, self._watched, self._bound = rules, rules, np.arange(len(rules))
        self.not_bound: tuple[NotBound, ...] = ()
        self.notes: tuple[str, ...] = ()
        self._empty = len(lacking) == len(rules)
        if not self._empty:
            self._n_guards = self._count_guards()
        self._lacking = lacking

    def bind(self, example: Complete, anchor: int) -> None:
        """Find out which rules bind, given no or some windows with everything that is derived from them.

        Args:
            example: The windows.
            anchor: A moment at which a window starts, in microseconds.
        """
        lacking = dict(self._lacking)
        if not self._empty:
            readings = self._readings(example, anchor)
            table = self._table(readings)
            self.notes = table.notes
            for one in bind_to_table(self._rules, table, readings, self.system):
                lacking.setdefault(one.rule, one)
        self.not_bound = tuple(lacking[rule] for rule in sorted(lacking))
        self._bound = np.array([at for at in range(self.n_rules) if at not in lacking], np.int64)
        self._watched = self._rules.take(self._bound)

    @property
    def bound(self) -> Ints:
        """Positions of the rules that are counted."""
        return self._bound

    def encode(self, windows: Complete, anchor: int) -> EncodedFrames:
        """Prepare windows for counting.

        Args:
            windows: The windows.
            anchor: A moment at which a window starts, in microseconds.
        """
        if not len(self._bound) or not len(windows):
            return EncodedFrames((), self.n_rules, len(windows))
        table = self._table(self._readings(windows, anchor))
        first, last = self._n_guards, self._n_guards + len(windows)
        encoded = tuple(
            replace(part, rules=self._bound[part.rules], bank=part.bank.slice_frames(first, last))
            for part in encode_blocks(self._watched, table)
        )
        return EncodedFrames(encoded, self.n_rules, len(windows))

    def _table(self, readings: WindowedReadings) -> TransactionTable:
        chosen = self.config.enrich
        return build(
            readings,
            mode=chosen.mode,
            graph=self.system.graph,
            binding=self.system.binding,
            ontology=self.system.ontology,
            discretizer=self.bins,
            # Bins that the run lacks are fitted on nothing, so that they tell nothing apart.
            fit_frames=np.zeros(len(readings), bool),
            hops=chosen.hops,
            edges=chosen.edges,
            properties=chosen.properties,
            patterns=chosen.patterns if isinstance(chosen.patterns, str) else list(chosen.patterns),
            min_embeddings=chosen.min_embeddings,
            max_embeddings=chosen.max_embeddings,
        )

    def _numeric(self) -> list[int]:
        return [at for at, sensor in enumerate(self.roster.sensors) if not sensor.categorical]

    def _shown(self, at: int, name: str = "") -> list[float]:
        """Return a number in every bin of a sensor."""
        sensor = self.roster.sensors[at]
        keys = [self.bins.group(kind=kind, sensor=sensor.id, name=name) for kind in (sensor.kind, "")]
        binning = next((self.bins.binnings[key] for key in (*keys, sensor.kind) if key in self.bins.binnings), None)
        return [0.0] if binning is None else _examples(binning)

    def _count_guards(self) -> int:
        sizes = [len(self._shown(at, name)) for at in self._numeric() for name in ("", "change")]
        states = [max(len(known), 1) for known in self.bins.states.values()]
        # Durations have the most derived states: one per edge, and none.
        return max([*sizes, *states, _LEAST_GUARDS, MAX_STATES + 1])

    def _guards(self, numeric: Sequence[int], name: str = "") -> npt.NDArray[np.float64]:
        """Return windows in which every sensor shows all its bins, each in an order of its own.

        If all showed their lowest bin at once, the mean and the highest of some sensors could not be told apart, and a
        table has only one column for what is the same.
        """
        columns = [np.empty((self._n_guards, 0))]
        for at in numeric:
            shown = np.resize(np.asarray(self._shown(at, name), np.float64), self._n_guards)
            columns.append(np.random.default_rng(at).permutation(shown)[:, None])
        return np.concatenate(columns, axis=1)

    def _readings(self, windows: Complete, anchor: int) -> WindowedReadings:
        """Return guards and windows as readings."""
        n, numeric = self._n_guards, self._numeric()
        guards = self._guards(numeric)
        starts = windows.numbers * self.every + anchor
        first = starts[:1] if len(starts) else np.array([anchor], np.int64)
        times = np.concatenate([np.repeat(first, n), starts]).view("datetime64[us]")
        states = {}
        for at, sensor in enumerate(self.roster.sensors):
            if sensor.categorical:
                names = self.roster.names(at)
                codes = np.arange(n, dtype=np.int32) % len(names) if names else np.full(n, -1, np.int32)
                states[sensor.id] = (np.concatenate([codes, windows.codes[:, at]]), names)
        derived: dict[str, npt.NDArray[Any]] = {}
        for name, values in windows.numbers_derived.items():
            if values.ndim == 1:
                derived[name] = np.concatenate([np.zeros(n, values.dtype), values])
            else:
                own = "" if name.startswith("lag") else name
                derived[name] = np.concatenate([self._guards(numeric, own), values])
        derived_states = {
            name: {
                id: (np.concatenate([np.arange(n, dtype=np.int16) % max(len(known), 1), codes]), known)
                for id, (codes, known) in of.items()
            }
            for name, of in windows.states_derived.items()
        }
        return WindowedReadings(
            times=times,
            sensors=self.roster.sensors,
            values=np.concatenate([guards, windows.values[:, numeric]]),
            states=states,
            derived=derived,
            every=timedelta(microseconds=self.every),
            aggregates=self.aggregates,
            report=ReadReport(),
            derived_states=derived_states,
        )


@dataclass(frozen=True, eq=False)
class EncodedFrames:
    """Windows as bitmaps, ready to be counted.

    Args:
        parts: The rules of each block.
        n_rules: Number of rules.
        n_frames: Number of windows.
    """

    parts: Sequence[EncodedBlock]
    n_rules: int
    n_frames: int

    def count(self, start: int, stop: int) -> Counted:
        """Count the states of all rules in some of the windows; of rules that do not bind, all are 0.

        Args:
            start: The first window.
            stop: The window after the last.
        """
        out = {name: np.zeros(self.n_rules, np.int64) for name in Counted.__dataclass_fields__}
        for part in self.parts:
            found: Tallies = tally_states(
                part.bank.slice_frames(start, stop),
                antecedents=part.antecedents,
                consequents=part.consequents,
                threads=1,
            )
            for name, column in out.items():
                column[part.rules] = getattr(found, name)
        return Counted(**out)

    def violations(self, rules: Sequence[int]) -> Iterator[tuple[int, npt.NDArray[np.bool_], Block]]:
        """Yield where rules are violated: the rule, a matrix (places × windows), and the block with the places.

        Args:
            rules: Positions of the rules.
        """
        wanted = set(rules)
        for part in self.parts:
            assert part.block is not None
            for row, rule in enumerate(part.rules.tolist()):
                if rule in wanted:
                    states = find_states(
                        part.bank, antecedent=part.antecedents[row], consequent=int(part.consequents[row])
                    )
                    yield rule, unpack(states.violated, n_rows=self.n_frames), part.block


def place_names(block: Block, places: Sequence[int]) -> list[str]:
    """Return the names of places of a block; none if its rules are about the whole system.

    Args:
        block: The block.
        places: Positions of the places.
    """
    return name_places(block, list(places)) if block.is_lifted else []


def _examples(binning: Binning) -> list[float]:
    """Return a number in each bin, and each frequent value."""
    if binning.categories is not None:
        return binning.categories.tolist() or [0.0]
    edges = [] if not binning.has_ranks else binning.bin_edges.tolist()
    ties = [] if binning.ties is None else binning.ties.tolist()
    return [*([edges[0] - 1.0] if edges else []), *edges, *ties] or [0.0]
