"""Prepared data: readings in windows, with the table and the graph behind them, on which statements are checked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from thence.checks.application.states import find_states
from thence.data.graph.system import System
from thence.data.readings.windows import WindowedReadings
from thence.errors import ConfigError
from thence.language.items import Role
from thence.runs.run import Run
from thence.statements.counting.by_place import name_places
from thence.statements.counting.encoding import EncodedBlock, encode_blocks
from thence.statements.rules.measures import Counts
from thence.statements.rules.ruleset import Rule, RuleSet
from thence.statements.statement import States, Trace
from thence.tables.bitmaps.bits import unpack
from thence.tables.blocks import Block
from thence.tables.transactions import FeatureTable, TransactionTable

__all__ = ["PreparedData"]


@dataclass(frozen=True, eq=False)
class PreparedData:
    """Data on which any statement can be checked (``thence.statements.statement.Data``).

    Args:
        system: The system; ``None`` for a plain table.
        readings: Its readings in windows.
        table: The table of its windows, with the bins and patterns of the rules.
        timezone: The time zone of times of day.

    Examples:
        >>> import thence as th
        >>> run = th.mine(th.datasets.load("toy"), windows="1h", bins=3, progress="off")
        >>> data = PreparedData.of_run(run)
        >>> states = run.findings[0].check(data)
        >>> states.counts.applies, states.counts.holds == run.findings[0].counts.holds
        (8, True)
        >>> [trace.sensor for trace in run.findings[0].traces(data, "")]
        ['flow_AB', 'pressure_C']
    """

    system: System | None
    readings: WindowedReadings | None
    table: TransactionTable | FeatureTable | None
    timezone: str = "UTC"

    @staticmethod
    def of_run(run: Run) -> PreparedData:
        """Return the data that a run was mined from, if it was mined in this process.

        Args:
            run: The run.
        """
        return PreparedData(run.system, run.readings, run.table, run.config.windows.timezone)

    def rule_states(self, rule: Rule) -> States:
        """Return the states of a rule, found with the bitmaps of the table.

        Args:
            rule: The rule.

        Raises:
            ConfigError: If there is no table of bins.
            MiningError: If the table lacks the pattern or a feature of the rule.
        """
        part, block = self._find(rule)
        bank = part.bank
        found = find_states(bank, antecedent=part.antecedents[0], consequent=int(part.consequents[0]))
        holds, violated, missing = (
            unpack(words, n_rows=bank.n_frames) for words in (found.satisfied, found.violated, found.missing)
        )
        return States.of(_names(block), applies=holds | violated, holds=holds, missing=missing)

    def rule_sensors(self, rule: Rule, place: str) -> tuple[str, ...]:
        """Return the ids of the sensors that a rule reads at a place.

        Args:
            rule: The rule.
            place: The name of the place; empty for a rule about the whole system.
        """
        features = [item.feature for item in (*rule.antecedent, rule.consequent)]
        named = [one.subject for one in features if one.role is Role.SENSOR]
        if not rule.pattern:
            return tuple(dict.fromkeys(named))
        _, block = self._find(rule)
        names = _names(block)
        if block.pattern is None or place not in names:
            return ()
        nodes = len(block.pattern.nodes)
        return tuple(filter(None, block.embeddings[names.index(place)][nodes:]))

    def traces(self, sensors: Iterable[str]) -> tuple[Trace, ...]:
        """Return the readings of sensors, window by window; those that have none are left out.

        Args:
            sensors: Their ids.
        """
        readings = self.readings
        if readings is None:
            return ()
        column = {sensor.id: at for at, sensor in enumerate(readings.numeric)}
        unit = {sensor.id: sensor.unit for sensor in readings.sensors}
        out = []
        for id in sensors:
            if id in column:
                out.append(Trace(id, unit[id], readings.values[:, column[id]]))
            elif id in readings.states:
                codes, known = readings.states[id]
                out.append(Trace(id, unit[id], np.where(codes < 0, np.nan, codes), tuple(known)))
        return tuple(out)

    def _find(self, rule: Rule) -> tuple[EncodedBlock, Block]:
        """The rule as item numbers, and the block of the table that it is about."""
        if not isinstance(self.table, TransactionTable):
            raise ConfigError("a rule is checked on a table of bins, and there is none", hint="use th.apply")
        rules = RuleSet.from_rules([rule], Counts.from_matrix([[0, 0, 0, 0]]))
        (part,) = encode_blocks(rules, self.table)
        assert part.block is not None
        return part, part.block


def _names(block: Block) -> list[str]:
    return name_places(block, range(block.n_embeddings)) if block.is_lifted else [""] * block.n_embeddings
