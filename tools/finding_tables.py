"""Tables of the findings: which cells of ``docs/results`` the pages show side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from tools.evidence_table import evidence_rows, rediscovered_controls, rediscovered_laws
from tools.result_numbers import NOTHING, ResultNumbers

DATASETS = MappingProxyType({"hanoi": "Hanoi", "ltown": "L-Town", "lbnl-ahu": "LBNL AHU"})
VARIANTS = ("paper", "published", "faithful", "corrected", "lifted")
OPTIMISERS = ("DE", "GA", "PSO", "LSHADE", "jDE")
QUALITY = ("rules", "support", "confidence", "zhang")
CLAIMS = (
    ("1.1", "support-aerial"),
    ("1.1", "coverage-aerial"),
    ("1.1", "strength-aerial"),
    ("1.1", "support-2-3-aerial"),
    ("1.1", "coverage-2-3-aerial"),
    ("1.1", "support-fpgrowth"),
    ("1.1", "support-fpgrowth-grounded"),
    ("1.1", "support-2-3-fpgrowth"),
    ("1.1", "properties-raise-support"),
    ("1.1", "more-rules-fpgrowth"),
    ("1.1", "fewer-rules-aerial"),
    ("1.1", "confidence-unchanged"),
    ("4", "more-sensors-aerial"),
    ("4", "more-sensors-fpgrowth"),
    ("2.2", "full-coverage"),
    ("2.2", "concise"),
    ("2.2", "concise-same-encoding"),
    ("2.2", "confident"),
    ("2.2", "strong"),
    ("2.2", "strongest"),
    ("3", "fewer"),
    ("3", "more-confident"),
    ("3", "more-support"),
    ("3", "stronger"),
    ("2.2", "lshade-best"),
    ("2.2", "lshade-strongest"),
    ("2.2", "optimisers-weak"),
    ("2.1", "evaluations-confidence"),
    ("2.1", "evaluations-rules"),
    ("6", "not-confident"),
    ("6", "dissociated"),
    ("1.2", "time-aerial"),
    ("1.2", "time-fpgrowth"),
    ("2.1", "rules-antecedents"),
    ("2.1", "rules-support"),
    ("2.1", "time-support"),
    ("2.1", "aerial-concise"),
    ("2.2", "faster"),
    ("2.1", "aerial-faster-optimisers"),
    ("2.1", "exhaustive-faster-optimisers"),
    ("2.1", "aerial-faster-mlxtend"),
    ("2.1", "aerial-faster-exhaustive"),
    ("complexity", "training-linear"),
    ("complexity", "time-of-support"),
    ("complexity", "exhaustive-time-of-support"),
)
MAIN_CLAIMS = (
    ("1.1", "support-aerial"),
    ("1.1", "support-fpgrowth"),
    ("1.1", "support-2-3-aerial"),
    ("1.1", "confidence-unchanged"),
    ("1.1", "fewer-rules-aerial"),
    ("1.1", "more-rules-fpgrowth"),
    ("4", "more-sensors-aerial"),
    ("2.2", "full-coverage"),
    ("2.2", "confident"),
    ("2.2", "concise"),
    ("2.2", "concise-same-encoding"),
    ("2.2", "strong"),
    ("3", "more-confident"),
    ("2.2", "lshade-best"),
    ("2.1", "evaluations-confidence"),
    ("6", "not-confident"),
    ("1.2", "time-aerial"),
    ("2.2", "faster"),
    ("2.1", "aerial-faster-exhaustive"),
)
AVERAGES = (
    *(
        ("1.1", f"as-published-{metric}-{condition}")
        for condition in ("w-s", "wo-s")
        for metric in ("support", "rule-coverage", "confidence", "rules")
    ),
    ("2.2", "as-published-strength"),
    ("2.2", "as-published-optimisers"),
    ("2.2", "as-published-optimiser-rules"),
    ("6", "as-published-strength"),
)


def make_table(name: str, numbers: ResultNumbers) -> str:
    """Return a table as Markdown.

    Args:
        name: Name of the table.
        numbers: The numbers.
    """
    heads, rows = TABLES[name](numbers)
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


Table = tuple[Sequence[str], Iterable[Sequence[str]]]


def _cell(
    numbers: ResultNumbers, where: tuple[str, str, str], metrics: Sequence[str], variant: str, at: float | None = None
) -> str:
    """Metrics of a row, separated by slashes; one dash if there is none of them."""
    experiment, dataset, row = where
    found = [numbers.find(experiment, dataset, row, metric, variant, at=at) for metric in metrics]
    if all(one is None for one in found):
        return NOTHING
    return " / ".join(NOTHING if one is None else one.show() for one in found)


def _ratio(numbers: ResultNumbers, experiment: str, dataset: str, rows: tuple[str, str], variant: str) -> str:
    one, other = (numbers.find(experiment, dataset, row, "seconds", variant) for row in rows)
    return NOTHING if one is None or other is None or not other.mean else f"{one.mean / other.mean:.2g}"


def _verdicts(numbers: ResultNumbers, experiment: str, claim: str, variant: str) -> str:
    held = [numbers.verdict(experiment, claim, dataset, variant).get("holds", NOTHING) for dataset in DATASETS]
    return held[0] if len(set(held)) == 1 else " · ".join(held)


def _claims(numbers: ResultNumbers, claims: Sequence[tuple[str, str]] = CLAIMS) -> Table:
    return ["", "claim", "paper", "published", "faithful", "corrected"], [
        [experiment, text, *(_verdicts(numbers, experiment, claim, variant) for variant in VARIANTS[:-1])]
        for experiment, claim in claims
        if (text := numbers.claim_text(experiment, claim))
    ]


def _averages(numbers: ResultNumbers) -> Table:
    return ["", "is it the paper's?", "published", "faithful"], [
        [experiment, text, *(_verdicts(numbers, experiment, claim, variant) for variant in ("published", "faithful"))]
        for experiment, claim in AVERAGES
        if (text := numbers.claim_text(experiment, claim))
    ]


def _spread(numbers: ResultNumbers) -> Table:
    """Means with standard deviations, beside the paper: for the rows and metrics of its Table 5."""
    rows = []
    for dataset, label in DATASETS.items():
        for row in ("Aerial w-s", "FP-Growth w-s", "Aerial wo-s", "FP-Growth wo-s"):
            line = [label, row]
            for metric in ("rules", "support", "rule_coverage", "confidence"):
                paper = numbers.find("1.1", dataset, row, metric, "paper")
                ours = numbers.find("1.1", dataset, row, metric, "faithful")
                line.append(f"{paper.show() if paper else NOTHING}: {ours.show('±') if ours else NOTHING}")
            rows.append(line)
    return ["data", "", "rules", "support", "rule coverage", "confidence"], rows


def _semantics(numbers: ResultNumbers) -> Table:
    names = ("Aerial w-s", "Aerial w-s (constants kept)", "Aerial wo-s", "FP-Growth w-s", "FP-Growth wo-s")
    return ["data", "", *VARIANTS], [
        [label, row, *(_cell(numbers, ("1.1", dataset, row), QUALITY, variant) for variant in VARIANTS)]
        for dataset, label in DATASETS.items()
        for row in names
    ]


def _constants(numbers: ResultNumbers) -> Table:
    metrics = (("rules", ""), ("support", ".3f"), ("zhang", ".3f"))
    rows = []
    for dataset, label in DATASETS.items():
        line = [label]
        for row in ("Aerial wo-s", "Aerial w-s", "Aerial w-s (constants kept)"):
            found = [(numbers.find("1.1", dataset, row, metric, "corrected"), style) for metric, style in metrics]
            line.append(" / ".join(NOTHING if one is None else one.show(style) for one, style in found))
        rows.append(line)
    return ["data", "wo-s", "w-s, constants left out", "w-s, constants kept"], rows


def _dropped_ids(numbers: ResultNumbers) -> Table:
    names = (
        "FP-Growth wo-s",
        "FP-Growth w-s (ids dropped, no properties)",
        "FP-Growth w-s",
        "FP-Growth w-s (grounded)",
    )
    rows = []
    for dataset, label in DATASETS.items():
        found = [numbers.find("1.1", dataset, name, "support", "corrected") for name in names]
        rows.append([label, *(NOTHING if one is None else one.show(".3f") for one in found)])
    return ["data", "wo-s", "ids dropped, no properties", "w-s (existential)", "w-s (grounded)"], rows


def _sensors(numbers: ResultNumbers) -> Table:
    rows = []
    for dataset, label in DATASETS.items():
        for row in ("Aerial w-s", "Aerial wo-s", "FP-Growth w-s", "FP-Growth wo-s"):
            kept = "Aerial w-s (constants kept)" if row == "Aerial w-s" else row
            line = [label, row]
            for at in (10.0, 15.0, 20.0):
                parts = [("paper", row), ("published", row), ("faithful", row), ("corrected", kept)]
                cells = [_cell(numbers, ("4", dataset, name), ("support",), variant, at) for variant, name in parts]
                line.append(" → ".join(cells))
            rows.append(line)
    return ["data", "", "10 sensors", "15", "20"], rows


def _concise(numbers: ResultNumbers) -> Table:
    columns = (
        ("2.2", "Aerial", "paper"),
        ("2.2", "Exhaustive", "paper"),
        ("2.2", "Aerial", "published"),
        ("2.2", "Exhaustive", "published"),
        ("2.2", "Aerial", "corrected"),
        ("2.2", "Exhaustive", "corrected"),
        ("2.2", "Exhaustive (grounded)", "corrected"),
        ("1.1", "FP-Growth wo-s", "corrected"),
    )
    heads = ["data", "paper: Aerial", "paper: exhaustive", "published: Aerial", "published: exhaustive"]
    return [*heads, "corrected: Aerial", "existential", "grounded", "same table (wo-s)"], [
        [label, *(_cell(numbers, (name, dataset, row), ("rules",), variant) for name, row, variant in columns)]
        for dataset, label in DATASETS.items()
    ]


def _quality(numbers: ResultNumbers) -> Table:
    names = ["Exhaustive", "HMine", *OPTIMISERS, "Aerial"]
    return ["data", "", *VARIANTS], [
        [label, row, *(_cell(numbers, ("2.2", dataset, row), QUALITY, variant) for variant in VARIANTS)]
        for dataset, label in DATASETS.items()
        for row in names
        if any(numbers.find("2.2", dataset, row, "rules", variant) for variant in VARIANTS)
    ]


def _thresholds(numbers: ResultNumbers) -> Table:
    metrics = ("rules", "confidence", "zhang")
    return ["data", "similarity", *VARIANTS], [
        [
            label,
            f"{at:g}",
            *(_cell(numbers, ("3", dataset, "Aerial w-s"), metrics, variant, at) for variant in VARIANTS),
        ]
        for dataset, label in DATASETS.items()
        for at in (0.5, 0.7, 0.9)
    ]


def _evaluations(numbers: ResultNumbers) -> Table:
    rows = []
    for dataset, label in DATASETS.items():
        experiment = "2.1" if dataset == "hanoi" else "5"
        for row in OPTIMISERS:
            line = [label, row]
            for at in (1_000.0, 10_000.0, 30_000.0, 50_000.0):
                shown = ("paper", "published", "faithful")
                cells = [_cell(numbers, (experiment, dataset, row), ("confidence",), one, at) for one in shown]
                line.append(" → ".join(cells))
            rows.append([*line, _cell(numbers, (experiment, dataset, row), ("rules",), "faithful", 50_000.0)])
    heads = ["data", "", "1,000", "10,000", "30,000", "50,000"]
    return [*heads, "rules at 50,000, faithful (split)"], rows


def _arm_ae(numbers: ResultNumbers) -> Table:
    metrics = ("confidence", "zhang")
    return ["data", *VARIANTS[:-1]], [
        [label, *(_cell(numbers, ("6", dataset, "ARM-AE"), metrics, variant) for variant in VARIANTS[:-1])]
        for dataset, label in DATASETS.items()
    ]


def _times(numbers: ResultNumbers) -> Table:
    rows = []
    for dataset, label in DATASETS.items():
        pair = ("Aerial w-s", "Aerial wo-s")
        kept = ("Aerial w-s (constants kept)", "Aerial wo-s")
        seconds = [
            _cell(numbers, ("1.2", dataset, row), ("seconds",), variant)
            for row, variant in (("FP-Growth w-s", "faithful"), ("Exact w-s", "corrected"))
        ]
        rows.append(
            [
                label,
                _ratio(numbers, "1.2", dataset, pair, "published"),
                _ratio(numbers, "1.2", dataset, pair, "faithful"),
                _ratio(numbers, "1.2", dataset, pair, "corrected"),
                _ratio(numbers, "1.2", dataset, kept, "corrected"),
                _ratio(numbers, "1.2", dataset, ("FP-Growth w-s", "FP-Growth wo-s"), "faithful"),
                _ratio(numbers, "1.2", dataset, ("Exact w-s", "Exact wo-s"), "corrected"),
                " / ".join(seconds),
            ]
        )
    heads = ["data", "Aerial, published", "Aerial, faithful", "Aerial, corrected", "Aerial, constants kept"]
    return [*heads, "FP-Growth", "exact miner", "FP-Growth / exact, s"], rows


def _sweep(numbers: ResultNumbers) -> Table:
    columns = [("Exhaustive by antecedents", float(at)) for at in (1, 2, 3, 4)]
    columns += [("Aerial by antecedents", float(at)) for at in (2, 3, 4)]
    rows = []
    for dataset, label in DATASETS.items():
        line = [label]
        for row, at in columns:
            rules, seconds = (
                numbers.find("2.1", dataset, row, one, "corrected", at=at) for one in ("rules", "seconds")
            )
            line.append(NOTHING if rules is None or seconds is None else f"{rules.show()} ({seconds.show()} s)")
        rows.append(line)
    return ["data", "1 antecedent", "2", "3", "4", "Aerial, 2", "Aerial, 3", "Aerial, 4"], rows


def _lifted(numbers: ResultNumbers) -> Table:
    columns = (
        ("FP-Growth w-s", ("rules", "confidence", "zhang", "data_coverage")),
        ("Aerial w-s", ("rules", "confidence", "zhang", "data_coverage")),
    )
    return ["data", "exhaustive", "Aerial"], [
        [label, *(_cell(numbers, ("1.1", dataset, row), metrics, "lifted") for row, metrics in columns)]
        for dataset, label in DATASETS.items()
    ]


def _ablation(numbers: ResultNumbers) -> Table:
    """The chain of Aerial, then those of LSHADE and ARM-AE; a row is in the column of one variant."""
    metrics = ("rules", "support", "confidence", "zhang", "data_coverage", "static_consequents")
    rows = []
    for row in numbers.rows("ablation", "hanoi"):
        if row.startswith("Aerial wo-s: "):
            continue
        found = [
            numbers.find("ablation", "hanoi", row, metric, numbers.variants("ablation", row)[0]) for metric in metrics
        ]
        rows.append([row, *(NOTHING if one is None else one.show() for one in found)])
    return ["Hanoi", "rules", "support", "confidence", "Zhang", "data coverage", "static consequents"], rows


def _masking(numbers: ResultNumbers) -> Table:
    names = [row for row in numbers.rows("ablation", "hanoi") if row.startswith("Aerial wo-s: ")]
    metrics = ("rules", "confidence", "zhang")
    return ["Hanoi, without semantics", "faithful", "corrected"], [
        [
            row.removeprefix("Aerial wo-s: "),
            *(_cell(numbers, ("ablation", "hanoi", row), metrics, variant) for variant in ("faithful", "corrected")),
        ]
        for row in names
    ]


def _complexity(numbers: ResultNumbers) -> Table:
    columns = [
        ("Aerial's training by sensors", at, variant)
        for variant in ("faithful", "corrected")
        for at in (10, 20, 40, 80)
    ]
    cells = [
        _cell(numbers, ("complexity", "hanoi", row), ("seconds",), variant, float(at)) for row, at, variant in columns
    ]
    supports = (0.05, 0.1, 0.2, 0.3)
    rows = [["Aerial's training, faithful", *cells[:4]], ["Aerial's training, corrected", *cells[4:]]]
    for name in ("Aerial by minimum support", "Exhaustive by minimum support"):
        where = ("complexity", "hanoi", name)
        rows.append([name, *(_cell(numbers, where, ("seconds",), "corrected", at) for at in supports)])
    return ["Hanoi, seconds", "10 sensors, or 0.05", "20, or 0.1", "40, or 0.2", "80, or 0.3"], rows


def _repeats(numbers: ResultNumbers) -> Table:
    works = dict.fromkeys(repeat.work for repeat in numbers.repeats)
    rows = []
    for work in sorted(works):
        own = [repeat for repeat in numbers.repeats if repeat.work == work]
        counts = [sum(repeat.dataset == dataset for repeat in own) for dataset in DATASETS]
        variants = dict.fromkeys(record["variant"] for repeat in own for record in repeat.records)
        rows.append([work, *map(str, counts), ", ".join(one for one in VARIANTS if one in variants)])
    return ["procedure", *DATASETS.values(), "variants"], rows


TABLES: Mapping[str, Callable[[ResultNumbers], Table]] = MappingProxyType(
    {
        "claims": _claims,
        "main-claims": lambda numbers: _claims(numbers, MAIN_CLAIMS),
        "averages": _averages,
        "spread": _spread,
        "semantics": _semantics,
        "constants": _constants,
        "dropped-ids": _dropped_ids,
        "sensors": _sensors,
        "concise": _concise,
        "quality": _quality,
        "thresholds": _thresholds,
        "evaluations": _evaluations,
        "arm-ae": _arm_ae,
        "times": _times,
        "sweep": _sweep,
        "lifted": _lifted,
        "ablation": _ablation,
        "masking": _masking,
        "complexity": _complexity,
        "repeats": _repeats,
        "rediscovered-controls": lambda _: rediscovered_controls(),
        "rediscovered-laws": lambda _: rediscovered_laws(),
        "evidence": lambda _: evidence_rows(""),
        "evidence-readme": lambda _: evidence_rows("docs/"),
    }
)
