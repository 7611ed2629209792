"""The overview of all results: which of the main claims hold, which do not, and why.

Verdicts come from ``experiments.claims``. A reason is given only where the numbers of every data set support it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from thence._base.display.percent import percent
from thence.lab.experiments.claims import NO_VERDICT, Verdict
from thence.lab.experiments.files import VARIANTS
from thence.lab.experiments.samples import find_dataset_setup
from thence.lab.experiments.summary import Results, format_number

__all__ = ["GROUPS", "Headline", "list_headlines", "list_reasons", "name_briefly"]

GROUPS = {
    "holds": "Holds",
    "as described": "Holds as the paper describes the method, not corrected",
    "depends": "Depends on the data or the variant",
    "fails": "Does not hold",
    "open": "Open: a search was cut off at its limit",
}
"""The groups of claims, in the order of the overview, with their titles."""
_JUDGED = ("published", "faithful", "corrected")


@dataclass(frozen=True)
class Headline:
    """A main claim with its verdicts.

    Args:
        experiment: Id of the experiment.
        text: The claim as a sentence.
        group: One of ``GROUPS``.
        held: The verdict by variant and data set: ``"yes"``, ``"in part"``, ``"no"`` or ``"–"``.
    """

    experiment: str
    text: str
    group: str
    held: Mapping[tuple[str, str], str]


def name_briefly(dataset: str) -> str:
    """Return the name of a data set without details.

    >>> name_briefly("hanoi"), name_briefly("ltown")
    ('Hanoi', 'L-Town')
    """
    return find_dataset_setup(dataset).label.partition(",")[0]


def list_headlines(verdicts: Mapping[str, Sequence[Verdict]]) -> list[Headline]:
    """Return the main claims in the order of their groups.

    Args:
        verdicts: Verdicts by experiment.
    """
    found: list[Headline] = []
    for experiment, judged in verdicts.items():
        for id_ in dict.fromkeys(v.claim.id for v in judged if v.claim.headline):
            own = [v for v in judged if v.claim.id == id_ and v.variant in _JUDGED]
            if own:
                held = {(v.variant, v.dataset): v.held for v in own}
                found.append(Headline(experiment, own[0].claim.text, find_group(held), held))
    order = list(GROUPS)
    return sorted(found, key=lambda one: order.index(one.group))


def find_group(held: Mapping[tuple[str, str], str]) -> str:
    """Return the group of a claim.

    Args:
        held: The verdict by variant and data set.

    Examples:
        >>> find_group({("faithful", "hanoi"): "yes", ("corrected", "hanoi"): "no"})
        'as described'
    """
    by_variant: dict[str, set[str]] = {}
    for (variant, _), verdict in held.items():
        by_variant.setdefault(variant, set()).add(verdict)
    if NO_VERDICT in held.values():
        return "open"
    everything = set().union(*by_variant.values())
    if everything == {"yes"}:
        return "holds"
    if everything == {"no"}:
        return "fails"
    if by_variant.get("faithful") == {"yes"} and by_variant.get("corrected", {"yes"}) != {"yes"}:
        return "as described"
    return "depends"


def list_sources(headlines: Iterable[Headline]) -> list[str]:
    """Return the variants that have a verdict, in their usual order."""
    present = {variant for one in headlines for variant, _ in one.held}
    return [variant for variant in VARIANTS if variant in present]


def list_reasons(results: Mapping[str, Results]) -> list[str]:
    """Return why claims hold or not, as sentences with the numbers that show it.

    Args:
        results: Results by experiment.
    """
    quality = results.get("1.1")
    if quality is None:
        return []
    reasons = [_tell_constants(quality), _tell_ids(quality), _tell_same_table(quality), _tell_variables(quality)]
    return [reason for reason in reasons if reason]


def _means(results: Results, variant: str, row: str, metric: str) -> dict[str, float]:
    """Return the means of a row by data set."""
    cells = {dataset: results.cell(dataset, variant, (row, None), metric) for dataset in results.datasets}
    return {dataset: cell.mean for dataset, cell in cells.items() if cell is not None}


def _list_pairs(left: Mapping[str, float], right: Mapping[str, float], metric: str) -> str:
    return ", ".join(
        f"{format_number(left[name], metric)} against {format_number(right[name], metric)} ({name_briefly(name)})"
        for name in left
    )


def _tell_constants(results: Results) -> str:
    static = _means(results, "faithful", "Aerial w-s", "static_consequents")
    zhang = _means(results, "faithful", "Aerial w-s", "zhang")
    without = _means(results, "faithful", "Aerial wo-s", "zhang")
    if not static or min(static.values()) <= 0.5 or not all(zhang[n] < without.get(n, 0.0) for n in zhang):
        return ""
    shares = ", ".join(f"{percent(share)} ({name_briefly(name)})" for name, share in static.items())
    return (
        "Support and coverage of Aerial come from constants. As described, most of its rules with semantics have a "
        f"static property as their consequent: {shares}. Such a property never changes, so the rules have high support "
        f"and say nothing: mean Zhang {_list_pairs(zhang, without, 'zhang')} without semantics."
    )


def _tell_ids(results: Results) -> str:
    bare = _means(results, "corrected", "FP-Growth w-s (ids dropped, no properties)", "support")
    full = _means(results, "corrected", "FP-Growth w-s", "support")
    if not bare or bare.keys() != full.keys() or not all(bare[name] > full[name] for name in bare):
        return ""
    return (
        "Support of FP-Growth comes from dropped sensor ids: “some sensor” is easier to satisfy than “this sensor”. "
        f"Items without any property have more support than items with them: {_list_pairs(bare, full, 'support')}."
    )


def _tell_same_table(results: Results) -> str:
    exhaustive = _means(results, "corrected", "FP-Growth wo-s", "rules")
    aerial = _means(results, "corrected", "Aerial wo-s", "rules")
    if not exhaustive or exhaustive.keys() != aerial.keys() or not all(aerial.values()):
        return ""
    if not all(exhaustive[name] < 2 * aerial[name] for name in exhaustive):
        return ""
    return (
        "Aerial is concise beside exhaustive mining of another table. On the same table, at half of Aerial's mean "
        f"support, exhaustive mining has about as many rules: {_list_pairs(exhaustive, aerial, 'rules')}."
    )


def _tell_variables(results: Results) -> str:
    lifted = _means(results, "lifted", "Aerial w-s", "zhang")
    grounded = _means(results, "corrected", "Aerial w-s", "zhang")
    if not lifted or not all(lifted[name] > grounded.get(name, 1.0) for name in lifted):
        return ""
    return (
        "Rules about any sensor in a context need variables. Lifted rules have more association strength than grounded "
        f"ones: mean Zhang {_list_pairs(lifted, grounded, 'zhang')}."
    )
