"""The miner protocol, its defaults, and miners by name.

Miners propose rules; their counts come from ``thence.statements.counting.recount``. A miner is immutable: its settings
are fixed when it is created, and the same settings and seed give the same rules. ``BaseMiner`` says everything that the
pipeline asks of a miner; a miner of another package only needs ``name``, ``wants`` and ``mine`` (``as_miner`` supplies
the rest).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import fields, is_dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, runtime_checkable

from thence._base.cluster.executors import Executor
from thence._base.progress import Progress, silent
from thence._base.settings.numbers import MOST_ANTECEDENTS
from thence._base.settings.registry import Registry
from thence._base.settings.typed import check_settings
from thence.errors import ConfigError, nearest
from thence.language.constraints import Constraint, is_constraint, prepare_constraint
from thence.search.neighbours import require_near
from thence.search.torch_runtime import require_device
from thence.statements.rules.ruleset import RuleSet
from thence.tables.transactions import TransactionTable

if TYPE_CHECKING:
    from thence.data.graph.knowledge_graph import KnowledgeGraph

MINERS: Registry[Any] = Registry(
    "miner",
    {
        "exact": "thence.search.exact.miner:Exact",
        "aerial": "thence.search.aerial.miner:Aerial",
        "fpgrowth": "thence.lab.baselines.exhaustive:FPGrowth",
        "hmine": "thence.lab.baselines.exhaustive:HMine",
        "naive-semrl": "thence.lab.baselines.semrl:NaiveSemRL",
        "ts-narm": "thence.lab.baselines.narm:TSNARM",
        "arm-ae": "thence.lab.baselines.arm_ae:ARMAE",
    },
    group="thence.miners",
    of=type,
)
DENOMINATORS = ("present", "all")


@runtime_checkable
class Miner(Protocol):
    """The least that a miner must have.

    ``wants`` names the table that it reads: ``"codes"`` (discretized transactions) or ``"numbers"`` (raw features).
    """

    name: ClassVar[str]
    wants: ClassVar[str]

    def mine(self, table: Any, *, progress: Progress = silent) -> RuleSet:
        """Return the rules that this miner finds in a table, with exact counts."""
        ...


@runtime_checkable
class TrainableMiner(Protocol):
    """A miner that learns a model first, which a run stores beside the rules."""

    def train(self, table: Any, *, progress: Progress = silent) -> Any:
        """Train a model on a table."""
        ...

    def extract(self, model: Any, table: Any, *, progress: Progress = silent) -> RuleSet:
        """Return the rules of a trained model, counted exactly on a table."""
        ...


class BaseMiner(ABC):
    """Everything that the pipeline asks of a miner, with defaults.

    Class attributes describe the algorithm:

    - ``name``: the name in configurations; ``wants``: ``"codes"`` or ``"numbers"``.
    - ``enrichment``: the enrichment that the miner is made for, if there is only one.
    - ``exhaustive``: whether it finds every rule within its thresholds.
    - ``order_free``: whether the order of columns does not matter although it is not exhaustive.
    - ``columns``: the extra columns that it adds to its rules.
    - ``spreads``: whether it can spread its work over a cluster; then ``mine``, or ``extract`` of a miner that learns a
      model, also takes an ``executor``.

    The other attributes are settings that refinement and the pipeline read; a miner that has the setting overrides it.
    """

    name: ClassVar[str]
    wants: ClassVar[str] = "codes"
    enrichment: ClassVar[str | None] = None
    exhaustive: ClassVar[bool] = False
    order_free: ClassVar[bool] = False
    columns: ClassVar[tuple[str, ...]] = ()
    spreads: ClassVar[bool] = False

    if TYPE_CHECKING:

        @property
        def max_antecedents(self) -> int | None: ...
        @property
        def min_support(self) -> float | None: ...
        @property
        def min_confidence(self) -> float | None: ...
        @property
        def assurance(self) -> float | None: ...
        @property
        def antecedent(self) -> Constraint: ...
        @property
        def consequent(self) -> Constraint: ...
        @property
        def denominator(self) -> str: ...
        @property
        def near(self) -> Any: ...
    else:
        max_antecedents = 1
        min_support = None
        min_confidence = None
        assurance = None
        antecedent = None
        consequent = None
        denominator = "present"
        near = None

    def __post_init__(self) -> None:
        """Check the settings: their declared types and ranges, and those that mean the same in every miner."""
        if not is_dataclass(self):
            return
        if self.max_antecedents is None:
            # Written as a number, since a configuration file has no null.
            object.__setattr__(self, "max_antecedents", MOST_ANTECEDENTS)
        check_settings(self)
        # Any other word would be taken for the first, and the counts would not be those asked for.
        if self.denominator not in DENOMINATORS:
            raise ConfigError(f"unknown denominator {self.denominator!r}", hint="'present' or 'all'")
        require_device(getattr(self, "device", "cpu"))
        require_near(self.near)
        for side in ("antecedent", "consequent"):
            try:
                object.__setattr__(self, side, prepare_constraint(getattr(self, side)))
            except ConfigError as error:
                raise ConfigError(f"'{side}': {error.message}", hint=error.hint) from None

    def longest(self, table: TransactionTable) -> int:
        """Return the largest number of antecedent items that a rule of this miner can have on a table.

        Args:
            table: The table.
        """
        widest = max((len(block.columns) for block in table.blocks), default=0)
        most = MOST_ANTECEDENTS if self.max_antecedents is None else self.max_antecedents
        return min(most, max(widest - 1, 1))

    @property
    def label(self) -> str:
        """The name of the method in tables of results."""
        return self.name

    @property
    def least_confidence(self) -> float | None:
        """The lowest confidence that a rule of this miner can have, if there is a bound."""
        return self.min_confidence

    @abstractmethod
    def mine(self, table: Any, *, progress: Progress = silent) -> RuleSet:
        """Return the rules that this miner finds in a table, with exact counts."""

    def mine_with_model(
        self, table: Any, *, progress: Progress = silent, executor: Executor | None = None
    ) -> tuple[RuleSet, Any]:
        """Return the rules, and the model behind them if the miner learns one.

        Args:
            table: The table to mine.
            progress: Called as mining advances.
            executor: Where the work is done; by default in this process.

        Returns:
            The rules, and the trained model or ``None``.

        Raises:
            ConfigError: If the executor is a cluster and the miner cannot use one.
        """
        where = self.require_executor(executor)
        if isinstance(self, TrainableMiner):
            model = self.train(table, progress=progress)
            return self.extract(model, table, progress=progress, **where), model
        return self.mine(table, progress=progress, **where), None

    def require_executor(self, executor: Executor | None) -> dict[str, Any]:
        """Return the keywords that say where this miner works: none if that is this process.

        Args:
            executor: Where the work is to be done.

        Raises:
            ConfigError: If the executor is a cluster and the miner cannot use one.
        """
        if executor is None or executor.is_local:
            return {}
        if not self.spreads:
            raise ConfigError(
                f"the miner '{self.name}' cannot be spread over a cluster",
                hint="use the executor 'local', or the miner 'exact' or 'aerial'",
            )
        device = getattr(self, "device", "cpu")
        if not str(device).startswith("cpu"):
            raise ConfigError(
                f"device '{device}' is a processor of this machine, but the executor is a cluster",
                hint="use the device 'cpu', or the executor 'local'",
            )
        return {"executor": executor}

    def within(self, table: Any, graph: KnowledgeGraph | None) -> BaseMiner:
        """Return this miner with ``near`` given as a number of hops replaced by the neighbourhoods in a table.

        Args:
            table: The table to mine.
            graph: The graph in which hops are counted.

        Raises:
            ConfigError: If ``near`` is a number of hops and there is no graph.
        """
        near = neighbourhoods(self.near, table, graph)
        return self if near is None else replace(self, near=near)  # type: ignore[type-var]

    def eased(self, table: Any, *, given: Collection[str]) -> tuple[BaseMiner, str]:
        """Return this miner with defaults that suit the size of a table, and a note on what was changed.

        Called only if the rules are refined, so that a search for millions of rules, most of which would be dropped
        again, can be avoided.

        Args:
            table: The table to mine.
            given: Names of the settings that the user gave, which must not be changed.

        Returns:
            The miner, and a note that is empty if nothing was changed.
        """
        return self, ""

    def resolved(self) -> Self:
        """Return this miner with every default that is derived from other settings written out."""
        return self


def neighbourhoods(near: Any, table: Any, graph: KnowledgeGraph | None) -> Any:
    """Return the neighbourhoods of a table for ``near`` hops, or ``None`` if ``near`` is not a number of hops."""
    if not isinstance(near, int) or not isinstance(table, TransactionTable):
        return None
    if graph is None:
        raise ConfigError("'near' counts hops in the graph, but no graph was given", hint="pass a graph and a binding")
    return table.within_hops(graph, hops=near)


class _Adapter(BaseMiner):
    """A miner of another package, with the defaults of ``BaseMiner`` for what it does not define.

    A setting counts only if it has the meaning that ours has, since another package may use the name differently.
    """

    def __init__(self, miner: Miner) -> None:
        self.inner = miner
        own = settings_of(miner)
        self.name = miner.name  # type: ignore[misc]
        self.wants = miner.wants  # type: ignore[misc]
        for trait in ("enrichment", "exhaustive", "order_free", "columns"):
            if trait in dir(type(miner)):
                setattr(self, trait, getattr(type(miner), trait))
        for bound in ("min_support", "min_confidence", "assurance", "max_antecedents"):
            if isinstance(own.get(bound), Real):
                setattr(self, bound, own[bound])
        for side in ("antecedent", "consequent"):
            if is_constraint(own.get(side)):
                setattr(self, side, own.get(side))
        if own.get("denominator") in DENOMINATORS:
            setattr(self, "denominator", own["denominator"])  # noqa: B010 (read-only for users of the type)
        setattr(self, "near", own.get("near"))  # noqa: B010
        self._label = str(getattr(miner, "label", miner.name))

    @property
    def label(self) -> str:
        return self._label

    def mine(self, table: Any, *, progress: Progress = silent) -> RuleSet:
        return self.inner.mine(table, progress=progress)

    def mine_with_model(
        self, table: Any, *, progress: Progress = silent, executor: Executor | None = None
    ) -> tuple[RuleSet, Any]:
        self.require_executor(executor)
        if isinstance(self.inner, TrainableMiner):
            model = self.inner.train(table, progress=progress)
            return self.inner.extract(model, table, progress=progress), model
        return self.inner.mine(table, progress=progress), None

    def within(self, table: Any, graph: KnowledgeGraph | None) -> BaseMiner:
        near = neighbourhoods(self.near, table, graph)
        return self if near is None else _Adapter(replace(self.inner, near=near))  # type: ignore[type-var]


def as_miner(miner: Miner) -> BaseMiner:
    """Return a miner as a ``BaseMiner``: itself, or an adapter around a miner of another package."""
    return miner if isinstance(miner, BaseMiner) else _Adapter(miner)


def settings_of(miner: Any) -> dict[str, Any]:
    """Return the settings of a miner by name; empty unless the miner is a dataclass."""
    if not is_dataclass(miner):
        return {}
    return {field.name: getattr(miner, field.name) for field in fields(miner) if field.init}


def miner_names() -> tuple[str, ...]:
    """Return the names that ``make_miner`` knows, plug-ins included.

    >>> "exact" in miner_names()
    True
    """
    return MINERS.names()


def make_miner(miner: str | type | Miner, **settings: Any) -> Miner:
    """Create a miner from a name or class and its settings, or return a miner instance as it is.

    >>> make_miner("exact", min_support=0.1).min_support
    0.1
    """
    chosen: Any = MINERS.load(miner) if isinstance(miner, str) else miner
    if not isinstance(chosen, type):
        if settings:
            raise ConfigError("settings need a miner's name or class, not an instance")
        made: Miner = chosen
        return made
    name = getattr(chosen, "name", chosen.__name__)
    try:
        made = chosen(**settings)
    except TypeError as error:
        accepted = [field.name for field in fields(chosen) if field.init] if is_dataclass(chosen) else []
        unknown = next((key for key in settings if accepted and key not in accepted), None)
        if unknown is None:
            raise ConfigError(f"the miner '{name}' does not accept these settings ({error})") from error
        raise ConfigError(
            f"the miner '{name}' has no setting '{unknown}'",
            hint=nearest(unknown, accepted) or "settings are: " + ", ".join(accepted),
        ) from error
    return made
