"""What the one list of the explorer holds beside rules: laws, controls, places and sensors, each as a filter sees it.

Rules are many, so ``RuleIndex`` holds them as columns; these are few and are tested one by one. Must not know requests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from thence._base.display.plots import quantity
from thence.language.patterns import Pattern
from thence.show.explorer.rule_index import SINGLE, UNREVIEWED, WHOLE_SYSTEM, RuleFilter
from thence.statements.controls.control import Control
from thence.statements.controls.sentences import group_controls
from thence.statements.findings import Findings
from thence.statements.laws.law import Law
from thence.statements.search import Named, contains
from thence.statements.statement import FACETS, SearchTexts

KINDS = ("control", "law", "rule", "place", "sensor")
"""What the list can hold, in its order."""


@dataclass(frozen=True, eq=False)
class Entry:
    """A law, a control, a place or a sensor.

    Args:
        kind: One of ``KINDS``.
        position: Its position among those of its kind.
        finding: What it is shown with: controls of one actuator by one reading are one finding.
        texts: The texts in which words are looked up.
        names: What it is about, by facet.
        places: The nodes that it is about.
        key: The key of a statement; empty for places and sensors.
        share: The share of what applies in which a statement holds; ``None`` if it has none.
    """

    kind: str
    position: int
    finding: int
    texts: SearchTexts
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    places: tuple[str, ...] = ()
    key: str = ""
    share: Fraction | None = None

    def named(self, facet: str, verdicts: Mapping[str, str]) -> tuple[str, ...]:
        """Return the choices of a facet that it has.

        Args:
            facet: The name of the facet.
            verdicts: The verdicts by key.
        """
        if facet == "review":
            return (verdicts.get(self.key) or UNREVIEWED,) if self.key else ()
        return self.names.get(facet, ())

    def fits(self, wanted: RuleFilter, verdicts: Mapping[str, str]) -> bool:
        """Return whether it meets every condition; a bound on a measure that it does not have is not met.

        Args:
            wanted: The conditions.
            verdicts: The verdicts by key.
        """
        return (
            contains(self.texts, wanted.words)
            and all(set(wanted.chosen(facet)) <= set(self.named(facet, verdicts)) for facet in FACETS)
            and all(
                not wanted.chosen(facet) or not set(wanted.chosen(facet)).isdisjoint(self.named(facet, verdicts))
                for facet in SINGLE
            )
            and (wanted.node is None or wanted.node in self.places)
            and all(self._is_within(name, bound) for name, bound in wanted.bounds)
        )

    def _is_within(self, name: str, bound: float) -> bool:
        side, _, measure = name.partition("_")
        if measure != "confidence" or self.share is None:
            return False
        exact = Fraction(str(bound))
        return self.share >= exact if side == "min" else self.share <= exact


def entries_of(findings: Findings) -> list[Entry]:
    """Return the controls and laws of a run as entries, in reading order.

    Args:
        findings: The findings of the run.
    """
    group_of = {at: number for number, group in enumerate(group_controls(findings.controls)) for at in group}
    controls = [_entry(one, at, group_of[at]) for at, one in enumerate(findings.controls)]
    return controls + [_entry(one, at, at) for at, one in enumerate(findings.laws)]


def _entry(one: Control | Law, position: int, finding: int) -> Entry:
    about, counts = one.about, one.counts
    if isinstance(one, Control):
        pattern, conclusion = WHOLE_SYSTEM, [quantity(one.actuator_feature)]
    else:
        pattern = Pattern.parse(one.pattern).english
        conclusion = [term.name.replace("_", " ") for _, term in one.left]
    names = {facet: about.named(facet) for facet in FACETS}
    names |= {"pattern": (pattern,), "conclusion": tuple(dict.fromkeys(conclusion))}
    share = Fraction(counts.holds, counts.applies) if counts.applies else None
    return Entry(one.kind, position, finding, one.search_texts, names, about.places, one.key, share)


def entries_of_things(things: Iterable[Named]) -> list[Entry]:
    """Return places and sensors as entries.

    Args:
        things: The places and sensors.
    """
    return [
        Entry(
            one.kind,
            at,
            at,
            one.search_texts,
            {"kind": one.kinds, "class": one.classes, "property": one.properties},
            (one.node,) if one.node else (),
        )
        for at, one in enumerate(things)
    ]


def fold(entries: Iterable[Entry]) -> list[list[Entry]]:
    """Return entries by finding, in the order of the first of each.

    Args:
        entries: The entries.
    """
    out: dict[tuple[str, int], list[Entry]] = {}
    for one in entries:
        out.setdefault((one.kind, one.finding), []).append(one)
    return list(out.values())


def count_choices(entries: Sequence[Entry], wanted: RuleFilter, verdicts: Mapping[str, str]) -> dict[str, Counter[str]]:
    """Return how many findings have each choice of each facet, as ``RuleIndex.counts`` does for rules.

    Args:
        entries: The entries, those that meet the conditions and others.
        wanted: The conditions.
        verdicts: The verdicts by key.
    """
    out: dict[str, Counter[str]] = {}
    for facet in (*FACETS, *SINGLE):
        free = wanted.without(facet) if facet in SINGLE else wanted
        groups = fold(one for one in entries if one.fits(free, verdicts))
        named = (dict.fromkeys(name for one in group for name in one.named(facet, verdicts)) for group in groups)
        out[facet] = Counter(name for names in named for name in names)
    return out
