"""Which rules of a run to show or export, in which order, and the options of both commands that say so."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from thence.cli.options import (
    Bounds,
    By,
    FeatureText,
    Kind,
    Reviewed,
    Top,
    parameters_of,
    parse_numbers,
    set_parameters,
)
from thence.errors import ConfigError, nearest

if TYPE_CHECKING:
    from thence.language.items import Item
    from thence.runs.run import Run
    from thence.statements.findings import Findings
    from thence.statements.rules.ruleset import RuleSet
    from thence.statements.statement import Statement

_MOST_LISTED = 20
_NAMED_BOUNDS = {
    "min_support": "Lower bound on the support.",
    "min_confidence": "Lower bound on the confidence.",
    "min_zhang": "Lower bound on Zhang's metric.",
    "min_lift": "Lower bound on the lift.",
}
_OPTIONS: dict[str, Any] = {
    "by": By,
    **{name: Annotated[float | None, typer.Option(help=help)] for name, help in _NAMED_BOUNDS.items()},
    "bound": Bounds,
    "feature": FeatureText,
    "antecedent": Annotated[str | None, typer.Option(help="Only rules with this text in the antecedent.")],
    "consequent": Annotated[str | None, typer.Option(help="Only rules with this text in the consequent.")],
    "kind": Kind,
}


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Conditions on rules, and their order.

    Args:
        top: The number of rules; 0 for all.
        by: The measure to sort by; by default the rules stay in the order of the run.
        bounds: Bounds on measures by name, such as ``{"min_lift": 2}``.
        feature: Text that occurs in an item of the rule.
        antecedent: Text that occurs in an item of the antecedent.
        consequent: Text that occurs in the consequent.
        kind: A kind of sensor or class of node that the rule is about, in upper or lower case.
        reviewed: Which rules, given their reviews.
    """

    top: int = 0
    by: str | None = None
    bounds: Mapping[str, float] = field(default_factory=dict)
    feature: str | None = None
    antecedent: str | None = None
    consequent: str | None = None
    kind: str | None = None
    reviewed: str = "all"

    def apply(self, run: Run) -> Selected:
        """Return the selected rules of a run."""
        import numpy as np

        from thence.runs.reviews import select_reviewed, with_reviews

        reviews = run.reviews
        rules, numbers = run.rules, "number in the run"
        keep = select_reviewed(rules, reviews, self.reviewed)
        marked = with_reviews(replace(rules, extras={**rules.extras, numbers: np.arange(1, len(rules) + 1)}), reviews)
        used = marked if keep.all() else marked.take(np.flatnonzero(keep))
        matching = used.filter(
            feature=self.feature,
            antecedent=self.antecedent,
            consequent=self.consequent,
            kind=None if self.kind is None else _match_kind(rules, self.kind),
            bounds=self.bounds,
        )
        found = matching.top(self.top if self.top > 0 else len(matching), by=self.by)
        extras = {name: column for name, column in found.extras.items() if name != numbers}
        at = found.extras[numbers].tolist()
        return Selected(replace(found, extras=extras), tuple(at), len(matching), int((~keep).sum()))

    def select_statements(self, run: Run, kinds: Collection[str]) -> tuple[Findings, dict[str, int]]:
        """Return the selected statements of some kinds in reading order, and how many of each reviews leave out.

        Measures are bounds of rules; texts, kinds of sensors and reviews are conditions on all statements.
        """
        from thence.runs.reviews import is_used

        reviews, found = run.reviews, run.findings[:0]
        left_out = dict.fromkeys(kinds, 0)
        for kind in (kind for kind in kinds if kind != "rule"):
            listed = run.findings.filter(kind=kind)
            used = listed.filter(where=lambda one: is_used(reviews.get(one.key), self.reviewed))
            left_out[kind] = len(listed) - len(used)
            part = used.filter(where=self._fits)
            found = replace(found, controls=part.controls or found.controls, laws=part.laws or found.laws)
        if "rule" in kinds:
            selected = self.apply(run)
            left_out["rule"] = selected.left_out
            found = replace(found, rules=selected.rules)
        return (found.top(self.top) if self.top > 0 else found), left_out

    def _fits(self, one: Statement) -> bool:
        """Whether a law or a control has the texts and is about the kind that are wanted."""
        left, right, whole = one.search_texts
        sides = ((self.feature, (*left, *right, *whole)), (self.antecedent, left), (self.consequent, right))
        named = {name.casefold() for name in (*one.about.kinds, *one.about.classes)}
        return (self.kind is None or self.kind.casefold() in named) and all(
            wanted is None or any(wanted.casefold() in text for text in texts) for wanted, texts in sides
        )


class Selected(NamedTuple):
    """Rules that were selected.

    Args:
        rules: The rules, with columns of their reviews if there are any.
        numbers: The number of each in the run, from 1.
        matching: How many rules meet the conditions.
        left_out: How many rules of the run are left out because of their reviews.
    """

    rules: RuleSet
    numbers: tuple[int, ...]
    matching: int
    left_out: int


def with_selection(*, top: int, reviewed: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options that select rules, in the place of its parameter ``selection``.

    Args:
        top: The default number of rules; 0 for all.
        reviewed: The default choice by reviews.
    """

    def give(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def selecting(**given: Any) -> None:
            wanted = {name: given.pop(name) for name in ("top", *_OPTIONS, "reviewed")}
            for name in ("feature", "antecedent", "consequent"):
                if wanted[name] == "":
                    raise ConfigError(f"--{name} must not be empty", hint=f"leave out --{name} for all rules")
            named = {name: value for name in _NAMED_BOUNDS if (value := wanted.pop(name)) is not None}
            bounds = {**named, **parse_numbers(wanted.pop("bound"), flag="--bound")}
            command(selection=Selection(bounds=bounds, **wanted), **given)

        parameters: list[inspect.Parameter] = []
        for one in parameters_of(command):
            parameters += _parameters(top, reviewed) if one.name == "selection" else [one]
        set_parameters(selecting, parameters)
        return selecting

    return give


def _parameters(top: int, reviewed: str) -> list[inspect.Parameter]:
    kind = inspect.Parameter.KEYWORD_ONLY
    first = inspect.Parameter("top", kind, default=top, annotation=Top)
    last = inspect.Parameter("reviewed", kind, default=reviewed, annotation=Reviewed)
    middle = [inspect.Parameter(name, kind, default=None, annotation=one) for name, one in _OPTIONS.items()]
    return [first, *middle, last]


def _match_kind(rules: RuleSet, kind: str) -> str:
    """A kind or class as the rules spell it."""
    known = sorted({name for item in rules.items for name in _kinds(item)})
    matching = [name for name in known if name.lower() == kind.lower()]
    if not matching and known:
        hint = nearest(kind, known) or "known: " + ", ".join(known[:_MOST_LISTED])
        raise ConfigError(f"no rule is about '{kind}'", hint=hint)
    return kind if kind in matching or not matching else matching[0]


def _kinds(item: Item) -> Iterator[str]:
    yield from (name for name in (item.feature.label, item.feature.name) if name)
    for inner in item.feature.where:
        yield from _kinds(inner)
