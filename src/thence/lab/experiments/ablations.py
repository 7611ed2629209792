"""Ablations: from the released code of the paper to ours, one named setting at a time.

Each chain begins with the settings of the released code. Every step changes one setting and keeps those of the steps
before, until the miner and the table of *corrected* are reached; on the way lies *faithful*. ``masking`` starts from
*faithful* and from *corrected* instead and changes a single setting of each, so that the effect of one can be told
from that of the others. Steps are data; ``experiments.procedures`` runs them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from thence.lab.baselines.arm_ae import ARMAE
from thence.lab.experiments.files import Parameters
from thence.lab.experiments.methods import make_aerial
from thence.lab.experiments.published_tables import Encoding
from thence.lab.experiments.samples import Sample
from thence.search.aerial.miner import Aerial
from thence.search.aerial.settings import TrainingSettings
from thence.tables.transactions import TransactionTable

__all__ = [
    "AERIAL_STEPS",
    "ARM_AE_STEPS",
    "MASKING",
    "NARM_STEPS",
    "Step",
    "list_aerial",
    "list_arm_ae",
    "list_masking",
]


@dataclass(frozen=True)
class Step:
    """One change of a chain.

    Args:
        name: What changes, as the name of the row says it.
        variant: The column of the row: the variant that the chain has come from.
        training: Settings of the training that change.
        miner: Other settings of the miner that change.
        encoding: Points of the table of the released code that change.
        table: ``"zero"`` or ``"missing"`` for our table, with missing values replaced by 0 or left missing; by default
            the table stays what it was.
    """

    name: str
    variant: str = "published"
    training: Mapping[str, Any] = field(default_factory=dict)
    miner: Mapping[str, Any] = field(default_factory=dict)
    encoding: Mapping[str, Any] = field(default_factory=dict)
    table: str = ""


AERIAL_STEPS = (
    Step("released code"),
    Step("softmax per feature", training={"softmax": "feature"}),
    Step("loss per row", training={"loss_per": "row"}),
    Step("tanh in the bottleneck", training={"bottleneck": "tanh"}),
    Step("least widths", training={"least_widths": (16, 8, 4)}),
    Step("batches of 32", training={"batch_size": 32}),
    Step("5 epochs", training={"epochs": 5}),
    Step("rows shuffled in each epoch", training={"reshuffle": True}),
    Step("rules above the threshold that hold", training={"proposals": "paper"}),
    Step("means not rounded", encoding={"rounding": "none"}),
    Step("half-open bins, properties once per node (faithful)", "faithful", table="zero"),
    Step("static properties not consequents", "corrected", miner={"context_consequents": False}),
    Step("missing values stay missing", "corrected", table="missing"),
    Step("constants not among the inputs", "corrected", miner={"keep_constants": False}),
    Step("masking", "corrected", training={"corruption": "mask"}),
    Step("widths of ours", "corrected", training={"faithful_widths": False}),
    Step(
        "batches, epochs, rate and stop of ours (corrected)",
        "corrected",
        training={
            "batch_size": None,
            "epochs": None,
            "learning_rate": None,
            "decay": True,
            "held_out": TrainingSettings().held_out,
            "early_stopping": True,
            "max_rows": None,
        },
    ),
)
"""From Aerial as released to Aerial as we run it."""

NARM_STEPS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "released code": {},
        "goal: confidence": {"objective": "confidence"},
        "LSHADE instead of SHADE": {"algorithm": "lshade", "optimiser": {}},
        "constants as numbers": {"constants": "numbers"},
        "rules by their values": {"distinct": "values"},
    }
)
"""From LSHADE of TS-NARM as released to the paper's text."""

ARM_AE_STEPS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "released code": {},
        "one item per feature": {"one_per_feature": True},
        "each rule once": {"unique": True},
        "four layers": {"layers": 4},
        "sigmoid at the output": {"output": "sigmoid"},
        "batches of 128, rate 0.01, 2 epochs": {"batch_size": 128, "learning_rate": 0.01, "epochs": 2},
    }
)
"""From ARM-AE as released to ARM-AE as published by its authors."""


MASKING: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "as it is": (),
        "noise of the other": ("corruption",),
        "widths of the other": ("faithful_widths",),
        "epochs of the other": ("epochs", "max_rows"),
        "batches of the other": ("batch_size",),
        "learning rate of the other": ("learning_rate", "decay"),
        "held-out rows and early stop of the other": ("held_out", "early_stopping"),
    }
)
"""Settings that faithful and corrected Aerial exchange, one group at a time."""


def list_aerial(sample: Sample, p: Parameters, seed: int) -> Iterator[tuple[Step, Aerial, TransactionTable]]:
    """Yield the steps of Aerial with the miner and the table of each.

    Args:
        sample: The sample of sensors.
        p: Parameters of the experiment.
        seed: Random seed.
    """
    miner, encoding, table = make_aerial("published", p, seed), Encoding(), ""
    for step in AERIAL_STEPS:
        encoding, table = replace(encoding, **step.encoding), step.table or table
        assert miner.settings is not None
        changes: dict[str, Any] = dict(step.training)
        if changes.get("max_rows", 0) is None:
            changes["max_rows"] = p.training_rows
        miner = replace(miner, settings=replace(miner.settings, **changes), **step.miner)
        given = sample.table("grounded", gaps=table) if table else sample.published_table("grounded", encoding=encoding)
        yield step, miner, given


def list_masking(p: Parameters, seed: int) -> Iterator[tuple[str, str, Aerial]]:
    """Yield faithful and corrected Aerial, each also with one setting of the other: name, variant, miner.

    Args:
        p: Parameters of the experiment.
        seed: Random seed.
    """
    ours, theirs = TrainingSettings(max_rows=p.training_rows), TrainingSettings.faithful(seed=seed)
    for variant, own, other in (("faithful", theirs, ours), ("corrected", ours, theirs)):
        for name, fields in MASKING.items():
            settings = replace(own, **{field: getattr(other, field) for field in fields})
            yield name, variant, _train_with(settings, p, seed)
        # Only masking has a curriculum, so that it cannot be changed alone in the faithful variant.
        plain = replace(own, corruption="mask", curriculum=False)
        yield "masking without a curriculum", variant, _train_with(plain, p, seed)


def _train_with(settings: TrainingSettings, p: Parameters, seed: int) -> Aerial:
    base = make_aerial("corrected", p, seed)
    return replace(base, settings=settings)


def list_arm_ae(sample: Sample, seed: int) -> Iterator[tuple[str, ARMAE, TransactionTable]]:
    """Yield the steps of ARM-AE: the name, the miner and the table of each.

    Args:
        sample: The sample of sensors.
        seed: Random seed.
    """
    miner, table = ARMAE.published(seed=seed), sample.published_table("none")
    for name, changes in ARM_AE_STEPS.items():
        miner = replace(miner, **changes)
        yield name, miner, table
    yield "half-open bins, means not rounded", miner, sample.table("none", gaps="zero")
    yield "with properties (faithful)", miner, sample.table("grounded", gaps="zero")
