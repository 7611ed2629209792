"""Evidence cards: what a rule, a law or a control looks like in the data it was found in.

``Cards`` makes the cards of one run and computes what they share once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from thence.show.reports.control_cards import make_control_card
from thence.show.reports.evidence import Evidence
from thence.show.reports.law_cards import make_law_card
from thence.show.reports.material import Material
from thence.show.reports.rule_cards import make_rule_card
from thence.show.reports.schema import Card

__all__ = ["Cards"]


@dataclass(frozen=True, eq=False)
class Cards:
    """The evidence cards of a run.

    Args:
        material: The run, with its readings and its table.

    Examples:
        >>> import thence as th
        >>> from thence.show.reports.material import material_of
        >>> run = th.mine(th.datasets.load("toy"), windows="1h", bins=3, progress="off")
        >>> card = Cards(material_of(run)).rule(0)
        >>> [trace["role"] for trace in card["traces"]]
        ['the flow of Pipe AB', 'the pressure of Junction C']
        >>> sum(card["history"]["held"]) == int(run.rules.counts.n_both[0])
        True
    """

    material: Material

    @cached_property
    def _evidence(self) -> Evidence | None:
        readings = self.material.readings
        return None if readings is None or not len(readings) else Evidence(self.material, readings)

    def rule(self, position: int) -> Card | None:
        """Return the card of a rule; ``None`` if its data are not available or have no time.

        Args:
            position: The position of the rule in the rules of the run.
        """
        return None if self._evidence is None else make_rule_card(self._evidence, position)

    def law(self, position: int) -> Card | None:
        """Return the card of a law; ``None`` if its data are not available.

        Args:
            position: The position of the law in the laws of the run.
        """
        return None if self._evidence is None else make_law_card(self._evidence, position)

    def control(self, position: int) -> Card | None:
        """Return the card of a control; ``None`` if its data are not available.

        Args:
            position: The position of the control in the controls of the run.
        """
        return None if self._evidence is None else make_control_card(self._evidence, position)
