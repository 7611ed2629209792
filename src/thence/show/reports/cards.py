"""Evidence cards: what a rule, a law or a control looks like in the data it was found in.

``Cards`` makes the cards of one run and computes what they share once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from thence._base.settings.registry import Registry
from thence.show.reports.choosing import ANYWHERE, Aim
from thence.show.reports.control_cards import make_control_card
from thence.show.reports.evidence import Evidence
from thence.show.reports.law_cards import make_law_card
from thence.show.reports.material import Material
from thence.show.reports.rule_cards import make_rule_card
from thence.show.reports.schema import Card
from thence.statements.controls.sentences import group_controls
from thence.statements.statement import Statement


@dataclass(frozen=True)
class Column:
    """What cards say of a statement in words, beside the pictures.

    Args:
        heading: What it is.
        text: Returns it, from the statement and its card; an empty string for nothing.
    """

    heading: str
    text: Callable[[Statement, Card], str]


def _confirmation(statement: Statement, card: Card) -> str:
    return statement.counts.confirmation("switches" if statement.kind == "control" else "rows")


CONFIRMED = Column("Confirmed", _confirmation)

COLUMNS: Registry[Column] = Registry(
    "column of a card",
    {"confirmed": "thence.show.reports.cards:CONFIRMED"},
    group="thence.card_columns",
    of=Column,
)
"""The columns of cards, in the order in which they are shown."""


@dataclass(frozen=True, eq=False)
class Cards:
    """The evidence cards of a run.

    Args:
        material: The run, with its readings and its table.

    Examples:
        >>> import thence as th
        >>> from thence.show.reports.material import material_of
        >>> run = th.mine(th.datasets.load("toy"), windows="1h", bins=3, progress="off", confirm=False)
        >>> card = Cards(material_of(run)).card("rule", 0)
        >>> [trace["role"] for trace in card["traces"]]
        ['the flow of Pipe BC', 'the pressure of the Junction it ends at']
        >>> sum(card["history"]["held"]) == int(run.rules.counts.n_both[0])
        True
    """

    material: Material

    @cached_property
    def _evidence(self) -> Evidence | None:
        readings = self.material.readings
        return None if readings is None or not len(readings) else Evidence(self.material, readings)

    def card(self, kind: str, position: int, aim: Aim = ANYWHERE) -> Card | None:
        """Return the card of a statement; ``None`` if its data are not available or have no time.

        Args:
            kind: ``"rule"``, ``"law"`` or ``"control"``.
            position: Its position in the rules, laws or controls of the run.
            aim: What it is to show.
        """
        card = None if self._evidence is None else _MAKERS[kind](self._evidence, position, aim)
        if card is None or not COLUMNS.names():
            return card
        run = self.material.run
        of_kind: Any = {"rule": run.rules, "law": run.laws, "control": run.controls}[kind]
        own = [of_kind.rule(position)] if kind == "rule" else [of_kind[at] for at in self._members(kind, position)]
        texts = {column.heading: _text(column, own, card) for column in map(COLUMNS.load, COLUMNS)}
        return {**card, "columns": {heading: text for heading, text in texts.items() if text}}

    def _members(self, kind: str, position: int) -> list[int]:
        """The statements of a card: controls of one actuator by one reading have one."""
        groups = group_controls(self.material.run.controls or ()) if kind == "control" else ()
        return next((group for group in groups if position in group), [position])


def _text(column: Column, own: Sequence[Statement], card: Card) -> str:
    """What a column says of the statements of a card; of several, each after its own name."""
    texts = {one: text for one in own if (text := column.text(one, card))}
    if len(own) == 1:
        return "".join(texts.values())
    return "; ".join(f"{one.sentence().partition(' when ')[0]}: {text}" for one, text in texts.items())


_MAKERS: dict[str, Callable[[Evidence, int, Aim], Card | None]] = {
    "rule": make_rule_card,
    "law": make_law_card,
    "control": make_control_card,
}
