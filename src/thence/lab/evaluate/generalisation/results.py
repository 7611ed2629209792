"""Results of ``generalisation``: by enrichment and group of places, and for each site that was left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from thence.lab.evaluate.generalisation.hiding import GROUPS
from thence.lab.evaluate.generalisation.places import GroupResult
from thence.statements.rules.ruleset import RuleSet

__all__ = ["Generalisation", "ModeResult", "SiteGeneralisation"]


@dataclass(frozen=True)
class ModeResult:
    """Results of the rules of one enrichment, by group of places, in the later part of the time.

    Args:
        enrichment: The enrichment.
        mined: Number of rules that were mined.
        rules: Number of rules that were selected.
        seen: Result on seen places.
        partly_unseen: Result on hidden places near a seen one.
        wholly_unseen: Result on hidden places around which everything is hidden, as far as a rule reaches.
        selected: The selected rules.
    """

    enrichment: str
    mined: int
    rules: int
    seen: GroupResult
    partly_unseen: GroupResult
    wholly_unseen: GroupResult
    selected: RuleSet = field(repr=False, compare=False)

    def describe(self) -> dict[str, Any]:
        """Return the numbers as a dict that JSON can hold, without the rules."""
        counts = {"enrichment": self.enrichment, "mined": self.mined, "rules": self.rules}
        return counts | {group: getattr(self, group).describe() for group in GROUPS}


@dataclass(frozen=True)
class Generalisation:
    """Results of ``generalisation``: one per enrichment, and the split.

    Args:
        modes: The result of each enrichment.
        split: How places were split: ``"region"``, ``"random"`` or ``"another system"``.
        choose: On what rules were selected: ``"seen"`` or ``"transductive"``.
        unseen_nodes: Ids of the nodes that were hidden, or of the nodes with sensors of the other system.
        wholly_unseen_nodes: Ids of those among them that are wholly unseen.
        seen_nodes: Ids of the nodes with sensors that rules were mined on.
        later_from: Start of the part of the time that rules were measured on.
        frames: Number of frames that rules were measured on.
    """

    modes: Mapping[str, ModeResult]
    split: str
    choose: str
    unseen_nodes: tuple[str, ...]
    wholly_unseen_nodes: tuple[str, ...]
    seen_nodes: tuple[str, ...]
    later_from: str
    frames: int

    def describe(self) -> dict[str, Any]:
        """Return the result as a dict that JSON can hold, without the rules."""
        return {
            "split": self.split,
            "choose": self.choose,
            "seen_nodes": len(self.seen_nodes),
            "unseen_nodes": len(self.unseen_nodes),
            "wholly_unseen_nodes": len(self.wholly_unseen_nodes),
            "later_from": self.later_from,
            "frames": self.frames,
            "modes": {name: result.describe() for name, result in self.modes.items()},
        }

    def __str__(self) -> str:
        chosen = "seen places" if self.choose == "seen" else "all places (transductive)"
        lines = [
            f"{len(self.seen_nodes)} seen and {len(self.unseen_nodes)} unseen places ({self.split}), "
            f"{len(self.wholly_unseen_nodes)} of them wholly unseen",
            f"rules chosen on {chosen}, measured in {self.frames:,} frames from {self.later_from} on",
            f"{'':<26}" + "".join(f"{group.replace('_', ' '):>26}" for group in _SHOWN),
            f"{'enrichment':<12}{'mined':>9}{'kept':>5}" + f"{'coverage':>10}{'conf.':>7}{'sensors':>9}" * len(GROUPS),
        ]
        for name, result in self.modes.items():
            shares = [getattr(result, group) for group in _SHOWN]
            lines.append(
                f"{name:<12}{result.mined:>9,}{result.rules:>5,}"
                + "".join(
                    f"{_format_share(found.coverage):>10}{_format_share(found.confidence):>7}"
                    f"{_format_share(found.sensor_share):>9}"
                    for found in shares
                )
            )
        lines.append(
            "coverage: of the places × frames with a reading; sensors: share that the rules read; –: never applied"
        )
        return "\n".join(lines)


_SHOWN = GROUPS[::-1]


def _format_share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


@dataclass(frozen=True)
class SiteGeneralisation:
    """Results of ``generalisation`` with ``by="site"``: one per site that was left out.

    Args:
        sites: The result of leaving out each site, by its name: its places are the wholly unseen ones.
    """

    sites: Mapping[str, Generalisation]

    def describe(self) -> dict[str, Any]:
        """Return the results as a dict that JSON can hold, without the rules."""
        return {"split": "site", "sites": {name: result.describe() for name, result in self.sites.items()}}

    def __str__(self) -> str:
        lines = [
            f"rules of {len(self.sites) - 1} site{'' if len(self.sites) == 2 else 's'}, measured on the site left out",
            f"{'site left out':<16}{'places':>7}{'frames':>8}{'mined':>9}{'kept':>5}"
            f"{'coverage':>10}{'conf.':>7}{'sensors':>9}{'others: coverage':>18}{'conf.':>7}",
        ]
        for name, result in self.sites.items():
            for found in result.modes.values():
                there, here = found.wholly_unseen, found.seen
                lines.append(
                    f"{name:<16}{there.places:>7,}{result.frames:>8,}{found.mined:>9,}{found.rules:>5,}"
                    f"{_format_share(there.coverage):>10}{_format_share(there.confidence):>7}"
                    f"{_format_share(there.sensor_share):>9}"
                    f"{_format_share(here.coverage):>18}{_format_share(here.confidence):>7}"
                )
        lines.append(
            "coverage: of the places × frames with a reading; sensors: share that the rules read; –: never applied"
        )
        return "\n".join(lines)
