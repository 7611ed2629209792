"""TS-NARM: numerical association rules without bins, found by an optimiser (Fister et al. 2023).

The optimisers are NiaPy's, the encoding of rules is NiaARM's, and the fitness is compiled code of our own. The miner
reads the raw ``FeatureTable``, and its rules have real-valued ranges. A closed range [low, high] of the encoding is
written half-open, with the shortest decimal numbers that contain the same values.

Consequents of NiaARM may have several items, a rule here has one: see ``TSNARM.consequents``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from thence._base.progress import Progress, silent
from thence.errors import ConfigError, MiningError, require
from thence.lab.baselines.narm_fitness import Encoding, encode
from thence.lab.baselines.narm_options import OPTIONS, RELEASED, complete_options
from thence.lab.baselines.narm_rules import WholeRules
from thence.language.constraints import Constraint, Where, list_alternatives
from thence.language.items import Feature, Item, Value
from thence.search.base import BaseMiner
from thence.statements.rules.ruleset import Ending, RuleSet
from thence.tables.transactions import FeatureTable

__all__ = ["TSNARM"]

_CHOICES = {
    "objective": ("confidence", "support-confidence"),
    "consequents": ("split", "single"),
    "distinct": ("values", "borders"),
    "constants": ("numbers", "labels"),
}


@dataclass(frozen=True, kw_only=True)
class TSNARM(BaseMiner):
    """Mine numerical association rules by maximising their confidence with an optimiser (Fister et al. 2023).

    Every rule that the search encounters and that holds in at least one row is kept once. The miner reads a raw
    ``FeatureTable``. Needs NiaPy (``pip install 'thence[baselines]'``).

    Args:
        algorithm: The optimiser: ``"de"``, ``"ga"``, ``"pso"``, ``"lshade"``, ``"jde"`` or ``"shade"``, with the
            parameters of the published comparison.
        population: The size of the optimiser's population, at least 5.
        evaluations: The number of rules to evaluate.
        objective: What the search maximises: ``"confidence"``, or ``"support-confidence"``, the mean of support (over
            all rows) and confidence.
        optimiser: Parameters of the optimiser that replace its defaults, such as ``{"inertia": 1.0}`` for ``"pso"``.
            The guide to the baselines lists them.
        consequents: ``"split"`` turns p → q ∧ r into p → q and p → r, each at least as confident as the whole;
            ``"single"`` keeps only the rules whose consequent has one item. The confidence of the whole, which the
            search maximises, is in the column ``joint_confidence``.
        distinct: When two rules are the same: if their ranges contain the same ``"values"`` of the data, or if they
            have the same items in the same order, with the same ``"borders"`` within one millionth, as in NiaARM.
        constants: Whether a numeric column with a single value is encoded like other ``"numbers"``, with three entries
            of the vector, or as one of the ``"labels"``, a category with two entries.
        antecedent: Which features may be in an antecedent. Constraints on values are refused, since the search chooses
            the ranges itself.
        consequent: Which features may be a consequent. Constraints on values are refused.
        context_consequents: Whether constants and graph context may be consequents.
        time_limit: The search ends after this many seconds. Its result may then not be reproducible.
        seed: Random seed.

    Raises:
        ConfigError: If a setting has an impossible value.

    Examples:
        >>> import polars as pl
        >>> from thence.tables.frames import raw_columns
        >>> flow = [float(i % 24) for i in range(240)]
        >>> table = FeatureTable(*raw_columns(pl.DataFrame({"flow": flow, "double": [2 * x for x in flow]}), units={}))
        >>> miner = TSNARM(population=20, evaluations=400, seed=1)
        >>> list(miner.mine(table)) == list(miner.mine(table))
        True
    """

    name: ClassVar[str] = "ts-narm"
    wants: ClassVar[str] = "numbers"
    columns: ClassVar[tuple[str, ...]] = ("joint_confidence",)
    order_free: ClassVar[bool] = True

    algorithm: Literal["de", "ga", "pso", "lshade", "jde", "shade"] = "de"
    population: int = 200
    evaluations: int = 50_000
    objective: Literal["confidence", "support-confidence"] = "confidence"
    optimiser: Mapping[str, float] = field(default_factory=dict)
    consequents: Literal["split", "single"] = "split"
    distinct: Literal["values", "borders"] = "values"
    constants: Literal["numbers", "labels"] = "numbers"
    antecedent: Constraint = None
    consequent: Constraint = None
    context_consequents: bool = False
    time_limit: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.algorithm not in OPTIONS:
            raise ConfigError(f"unknown optimiser '{self.algorithm}'", hint="known: " + ", ".join(OPTIONS))
        complete_options(self.algorithm, self.optimiser)
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                known = " or ".join(repr(one) for one in allowed)
                raise ConfigError(f"{name} must be {known}, got {getattr(self, name)!r}")
        if self.population < 5:
            raise ConfigError(f"population must be at least 5, got {self.population}")
        if self.evaluations < 1:
            raise ConfigError(f"evaluations must be at least 1, got {self.evaluations}")
        if self.time_limit is not None and self.time_limit <= 0:
            raise ConfigError(f"time_limit must be positive, got {self.time_limit}")

    @classmethod
    def published(cls, algorithm: str = "de", **changes: Any) -> Self:
        """Make a miner that searches as the released code of the paper does, which differs from the paper's text.

        The goal is the mean of support and confidence; constants are labels; rules with different borders are
        different; there are 1,000 evaluations. ``"lshade"`` is SHADE with a constant population, ``"pso"`` has no
        damping and no limit of velocity, and ``"jde"`` has 50 individuals and weights from 1 to 200. The measures of
        that code are those of the rules before they are split: see ``search``.

        Args:
            algorithm: The optimiser, by the name that the paper uses.
            **changes: Settings that override all others, so that the effect of each can be told alone.

        Raises:
            ConfigError: If a setting has an impossible value.

        Examples:
            >>> TSNARM.published("lshade").algorithm
            'shade'
            >>> TSNARM.published("jde", evaluations=50_000).population
            50
        """
        chosen: dict[str, Any] = {
            "algorithm": "shade" if algorithm == "lshade" else algorithm,
            "population": 50 if algorithm == "jde" else 200,
            "evaluations": 1_000,
            "objective": "support-confidence",
            "optimiser": dict(RELEASED.get(algorithm, {})),
            "distinct": "borders",
            "constants": "labels",
            "context_consequents": True,
        }
        return cls(**(chosen | changes))

    @property
    def label(self) -> str:
        """The name of the method in tables of results."""
        return {"jde": "jDE"}.get(self.algorithm, self.algorithm.upper())

    def mine(self, table: FeatureTable, *, progress: Progress = silent) -> RuleSet:
        """Return the rules that the search finds in a raw table, in the order of discovery, with exact counts.

        Args:
            table: A raw table.
            progress: Called as the search advances.

        Raises:
            MissingExtraError: If NiaPy is not installed.
            MiningError: If the table is of another kind, or a constraint names a value.
        """
        found = self.search(table, progress=progress)
        if not found.notes:
            return RuleSet.empty("a rule needs two features with values, one of which may be a consequent")
        return found.split(single=self.consequents == "single").to_rule_set()

    def search(self, table: FeatureTable, *, progress: Progress = silent) -> WholeRules:
        """Return the rules of the search before they are split: a consequent may have several items.

        These are the rules that the paper counts and measures for TS-NARM.

        Args:
            table: A raw table.
            progress: Called as the search advances.

        Raises:
            MissingExtraError: If NiaPy is not installed.
            MiningError: If the table is of another kind, or a constraint names a value.

        Examples:
            >>> import polars as pl
            >>> table = FeatureTable.from_frame(pl.DataFrame({"a": [1.0, 2.0, 3.0], "b": [2.0, 4.0, 6.0]}))
            >>> found = TSNARM(population=10, evaluations=100, seed=1).search(table)
            >>> bool((found.measure("support") > 0).all())
            True
        """
        if not isinstance(table, FeatureTable):
            raise MiningError(
                f"{self.name} finds ranges itself and reads raw numbers, not a {type(table).__name__}",
                hint="pass th.feature_table(…)",
            )
        left, right = self._sides(table)
        chosen = _usable(table, left | right)
        numbers, categories = _columns(table, chosen, as_labels=self.constants == "labels")
        encoding = encode(
            numbers,
            np.array([known is not None for known in categories], bool),
            antecedent_ok=left[chosen],
            consequent_ok=right[chosen],
        )
        if len(chosen) < 2 or not (left[chosen].any() and right[chosen].any()):
            return _nothing(table, chosen, categories, encoding)
        require("niapy.algorithms.modified.shade", extra="baselines")
        from thence.lab.baselines import narm_search as _narm_search

        found = _narm_search.search(
            encoding,
            _narm_search.make_algorithm(
                self.algorithm, population=self.population, seed=self.seed, options=self.optimiser
            ),
            evaluations=self.evaluations,
            seconds=self.time_limit,
            progress=progress,
            objective=self.objective,
            distinct=self.distinct,
        )
        notes = [f"{self.label}: {found.evaluations:,} evaluations, {len(found.rules):,} rules before the split"]
        if found.out_of_time:
            notes.append(f"stopped by the time limit after {found.evaluations:,} of {self.evaluations:,} evaluations")
        return WholeRules(
            table,
            chosen,
            categories,
            encoding,
            found.rules,
            found.n_antecedent,
            found.n_both,
            tuple(notes),
            Ending.LIMIT if found.out_of_time else Ending.COMPLETE,
        )

    def _sides(self, table: FeatureTable) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Return which features may be in an antecedent, and which may be a consequent."""
        left = _matching(table.features, self.antecedent, "antecedent")
        right = _matching(table.features, self.consequent, "consequent")
        if not self.context_consequents:
            right &= ~np.array([_is_constant(table.numbers[:, at]) for at in range(len(table.features))], bool)
            if table.context:
                right &= ~np.array(table.context, bool)
        return left, right


def _matching(features: tuple[Feature, ...], constraint: Constraint, side: str) -> npt.NDArray[np.bool_]:
    choices = list_alternatives(constraint)
    if choices is None:
        return np.ones(len(features), bool)
    if any(choice.tests_values() for choice in choices):
        raise MiningError(
            f"ts-narm chooses the ranges of a rule itself and cannot apply the value in the constraint on the {side}",
            hint="leave out 'value' and filter the rules afterwards, or use a miner that reads bins",
        )
    return np.array([_fits(choices, feature) for feature in features], bool)


def _fits(choices: tuple[Where, ...], feature: Feature) -> bool:
    anything = Item.is_(feature, 0.0)
    return any(choice.matches(anything) for choice in choices)


def _is_constant(values: npt.NDArray[np.float64]) -> bool:
    present = values[~np.isnan(values)]
    return bool(len(present) == 0 or (present == present[0]).all())


def _usable(table: FeatureTable, allowed: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Return the allowed features that have values, in an order that does not depend on that of the columns."""
    known = ~np.isnan(table.numbers).all(axis=0) if table.n_rows else np.zeros(len(table.features), bool)
    chosen = np.flatnonzero(known & allowed)
    return np.array(sorted(chosen, key=lambda at: table.features[at].key), np.int64)


def _columns(
    table: FeatureTable, chosen: npt.NDArray[np.int64], *, as_labels: bool
) -> tuple[npt.NDArray[np.float64], tuple[tuple[Value, ...] | None, ...]]:
    """Return the chosen columns and their categories; constants become categories of one value if ``as_labels``."""
    numbers = table.numbers[:, chosen]
    categories = [table.categories[at] for at in chosen]
    if as_labels:
        numbers = numbers.copy()
        for column, known in enumerate(categories):
            present = ~np.isnan(numbers[:, column])
            if known is None and _is_constant(numbers[:, column]):
                categories[column] = (float(numbers[present, column][0]),)
                numbers[present, column] = 0.0
    return numbers, tuple(categories)


def _nothing(
    table: FeatureTable,
    chosen: npt.NDArray[np.int64],
    categories: tuple[tuple[Value, ...] | None, ...],
    encoding: Encoding,
) -> WholeRules:
    none = np.zeros(0, np.int64)
    return WholeRules(table, chosen, categories, encoding, (), none, none)
