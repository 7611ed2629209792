"""Comparison of miners on the same data: rule quality, cost, and overlap between rule sets.

The rules of every miner are counted by the same exact recount, so the rows of the table can be compared. Miners that
read raw numbers get the feature table of the same transactions. ``published_methods`` are the methods of the paper.
``fidelity`` compares the rules of one miner with all rules.

This module compares and prints; ``evaluate.footprint`` runs and measures one miner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from thence._base.frames import without_formulas
from thence._base.progress import Progress, silent
from thence._base.settings.numbers import require_seed
from thence.data.graph.system import System
from thence.errors import ConfigError, ThenceError, nearest, require
from thence.lab.evaluate.footprint import Footprint, run_here, run_isolated, with_settings
from thence.runs.preparation import feature_table, transactions
from thence.search.base import Miner, as_miner, make_miner, miner_names
from thence.statements.rules.ruleset import RuleSet
from thence.tables.transactions import FeatureTable, TransactionTable

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table as RichTable

Method = str | type | Miner | Callable[[Mapping[str, RuleSet]], Any]
"""A miner by name, class or instance, or a function that builds one from the rules of the methods before it."""

_NUMERICAL = ("de", "ga", "pso", "lshade", "jde")
METHODS = ("aerial", "fpgrowth", "hmine", *_NUMERICAL, "arm-ae")
"""Names of the nine methods of the published comparison."""

_COLUMNS = {
    "rules": ("rules", "{:,.0f}"),
    "support": ("support", "{:.3f}"),
    "confidence": ("confid.", "{:.3f}"),
    "rule_coverage": ("rule cov.", "{:.3f}"),
    "data_coverage": ("data cov.", "{:.3f}"),
    "zhang": ("Zhang", "{:.3f}"),
    "seconds": ("seconds", "{:.2f}"),
    "peak_mb": ("peak MB", "{:,.0f}"),
}


def make_method(name: str, **settings: Any) -> Miner:
    """Create a miner by its name, or by the name of an optimiser of TS-NARM.

    Args:
        name: Name of a miner, or ``"de"``, ``"ga"``, ``"pso"``, ``"lshade"`` or ``"jde"``.
        **settings: Settings of the miner.

    Returns:
        The miner.

    Examples:
        >>> make_method("lshade", evaluations=1000).evaluations
        1000
    """
    if name in _NUMERICAL:
        return make_miner("ts-narm", algorithm=name, **settings)
    return make_miner(name, **settings)


def published_methods(
    names: Iterable[str] = METHODS, *, evaluations: int = 50_000, population: int = 200, seed: int = 0
) -> dict[str, Method]:
    """Return the methods of the published comparison with the parameters of the paper.

    Aerial must come first if FP-Growth, HMine or ARM-AE are among the methods: the minimum support of FP-Growth and
    HMine is half of the mean support of Aerial's rules, and ARM-AE returns as many rules per consequent as Aerial found
    per feature. Aerial has ``min_confidence=0``, so that every rule that its network proposes is evaluated, as in the
    paper.

    Args:
        names: Names from ``METHODS``; any other name is that of a registered miner, with its defaults.
        evaluations: Number of fitness evaluations of TS-NARM, with whichever optimiser.
        population: Population size of TS-NARM.
        seed: Random seed of every method that has one.

    Returns:
        A mapping from display names to methods, for ``compare``.

    Examples:
        >>> list(published_methods(["aerial", "de"]))
        ['Aerial', 'DE']
    """
    from thence.lab.baselines.arm_ae import ARMAE
    from thence.lab.baselines.exhaustive import FPGrowth, HMine

    made: dict[str, Method] = {
        "fpgrowth": lambda done: FPGrowth.half_of(_aerial(done)),
        "hmine": lambda done: HMine.half_of(_aerial(done)),
        "arm-ae": lambda done: ARMAE.sized_like(_aerial(done), seed=seed),
    }
    titles = {"aerial": "Aerial", "fpgrowth": "FP-Growth", "hmine": "HMine", "jde": "jDE", "arm-ae": "ARM-AE"}
    out: dict[str, Method] = {}
    for name in names:
        title = titles.get(name, name.upper() if name in _NUMERICAL else name)
        if name in _NUMERICAL:
            out[title] = make_method(name, evaluations=evaluations, population=population, seed=seed)
        elif name in made:
            out[title] = made[name]
        elif name == "aerial":
            out[title] = make_miner(name, seed=seed, min_confidence=0)
        else:
            asked = {"evaluations": evaluations, "population": population, "seed": seed}
            out[title] = with_settings(make_miner(name), asked)
    return out


def _aerial(done: Mapping[str, RuleSet]) -> RuleSet:
    if not len(done.get("Aerial", ())):
        raise ConfigError(
            "the published parameters of this method depend on Aerial's rules, but there are none",
            hint="put 'aerial' first, or pass a miner with explicit parameters",
        )
    return done["Aerial"]


def compare(
    data: System | TransactionTable | FeatureTable,
    miners: Iterable[Method] | Mapping[str, Method],
    *,
    feature_table: FeatureTable | None = None,
    existential_table: TransactionTable | None = None,
    seed: int | None = None,
    isolate: bool = False,
    progress: Progress = silent,
    **settings: Any,
) -> Comparison:
    """Run several miners on the same data and compare their rules, time and memory.

    A method that fails with a ``ThenceError`` keeps its row, without numbers; the column ``note`` has the reason.

    Args:
        data: A ``System``, whose tables are built by ``transactions`` and ``feature_table``, or a table.
        miners: Methods to run, in order: names of miners or of TS-NARM optimisers, miner classes, miners, or functions
            that take the rules of the methods before (a mapping from labels to rule sets) and return a miner. The keys
            of a mapping are the labels of the methods.
        feature_table: Raw numbers of the same transactions, for miners that read them; built if ``data`` is a
            ``System``.
        existential_table: The same transactions with existential features, for Naive SemRL; built if ``data`` is a
            ``System``.
        seed: Random seed that overrides the seed of every miner that has one.
        isolate: Run each miner in its own process, so that measurements of time and memory do not affect each other.
        progress: Called with the progress; not called from within isolated processes.
        **settings: Settings of ``transactions`` and ``feature_table``, such as ``windows``, ``bins`` and ``enrich``;
            only if ``data`` is a ``System``.

    Returns:
        A row per method, the rules of every method, and the overlap between the rule sets.

    Raises:
        ConfigError: A method is unknown, ``seed`` is not valid, or ``settings`` are given together with a table.

    Examples:
        >>> import polars as pl
        >>> table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "y"] * 9, "b": ["u", "v"] * 9}))
        >>> result = compare(table, ["exact", "fpgrowth"])
        >>> result.to_polars()["rules"].to_list(), result.overlap("exact", "fpgrowth")
        ([4, 4], 1.0)
    """
    if seed is not None:
        require_seed(seed)
    tables = _Tables.from_input(data, feature_table, existential_table, settings)
    done: dict[str, RuleSet] = {}
    rows: list[dict[str, Any]] = []
    listed = _list_methods(miners)
    for at, (label, chosen) in enumerate(listed):
        progress("comparing", at, len(listed), label)
        try:
            miner = with_settings(_build_miner(chosen, done), {} if seed is None else {"seed": seed})
            label = _make_unique(label or as_miner(miner).label, done)
            table = tables.for_miner(miner)
            found = run_isolated(miner, table) if isolate else run_here(miner, table, progress=progress)
        except ThenceError as error:
            label = _make_unique(label or str(getattr(chosen, "name", chosen)), done)
            rows.append({"method": label, **dict.fromkeys(_COLUMNS), "note": str(error)})
            done[label] = RuleSet.empty(str(error))
            continue
        rows.append({"method": label, **_summarise(found), "note": "; ".join(found.rules.notes)})
        done[label] = found.rules
    progress("comparing", len(listed), len(listed))
    return Comparison(tuple(rows), done, measure_overlap(list(done.values())))


def _list_methods(miners: Iterable[Method] | Mapping[str, Method]) -> list[tuple[str, Method]]:
    """Methods with their labels; a label is empty where the miner has to supply it."""
    if isinstance(miners, str):
        raise ConfigError(f"miners must be a list or a mapping, got '{miners}'", hint=f"pass ['{miners}']")
    if isinstance(miners, Mapping):
        listed = [(str(label), chosen) for label, chosen in miners.items()]
    else:
        listed = [(chosen if isinstance(chosen, str) else "", chosen) for chosen in miners]
    known = (*miner_names(), *_NUMERICAL)
    for _, chosen in listed:
        # Check names before anything runs: mining may take hours.
        if isinstance(chosen, str) and chosen not in known:
            hint = nearest(chosen, known) or "known: " + ", ".join(known)
            raise ConfigError(f"unknown method '{chosen}'", hint=hint)
    return listed


def _build_miner(chosen: Method, done: Mapping[str, RuleSet]) -> Miner:
    if isinstance(chosen, str):
        return make_method(chosen)
    if isinstance(chosen, (type, Miner)):
        return make_miner(chosen)
    made: Miner = chosen(done)
    return made


def _make_unique(label: str, taken: Mapping[str, Any]) -> str:
    number = 2
    out = label
    while out in taken:
        out, number = f"{label} #{number}", number + 1
    return out


def _summarise(found: Footprint) -> dict[str, Any]:
    summary = found.rules.describe()
    return {
        "rules": summary["rules"],
        "support": summary["mean_support"],
        "confidence": summary["mean_confidence"],
        "rule_coverage": summary["mean_rule_coverage"],
        "data_coverage": summary["data_coverage"],
        "zhang": summary["mean_zhang"],
        "seconds": found.seconds,
        "peak_mb": None if found.peak_bytes is None else found.peak_bytes / 2**20,
    }


@dataclass
class _Tables:
    """The tables that miners may read, built from a system on first use."""

    data: System | None
    codes: TransactionTable | None
    numbers: FeatureTable | None
    existential: TransactionTable | None
    settings: Mapping[str, Any]

    @staticmethod
    def from_input(
        data: Any, numbers: FeatureTable | None, existential: TransactionTable | None, settings: Mapping[str, Any]
    ) -> _Tables:
        if isinstance(data, (TransactionTable, FeatureTable)):
            if settings:
                unknown = next(iter(settings))
                raise ConfigError(
                    f"'{unknown}' is a setting for building tables, but data is already a table",
                    hint=f"remove '{unknown}', or pass a th.System",
                )
            if isinstance(data, FeatureTable):
                return _Tables(None, None, data, existential, {})
            if data.enrichment == "existential":
                return _Tables(None, data, numbers, existential or data, {})
            return _Tables(None, data, numbers, existential, {})
        if not isinstance(data, System):
            raise ConfigError(
                f"data must be a System or a table, got {type(data).__name__}", hint="pass a th.System or a table"
            )
        return _Tables(data, None, numbers, existential, settings)

    def for_miner(self, miner: Miner) -> TransactionTable | FeatureTable:
        """Return the table that a miner reads."""
        if miner.wants == "numbers":
            if self.numbers is None:
                self.numbers = self._build(feature_table, miner, "feature_table=", "bins", "scope", "method")
            return self.numbers
        if as_miner(miner).enrichment == "existential":
            if self.existential is None:
                self.existential = self._build(transactions, miner, "existential_table=", enrich="existential")
            return self.existential
        if self.codes is None:
            self.codes = self._build(transactions, miner, "a TransactionTable")
        return self.codes

    def _build(self, make: Callable[..., Any], miner: Miner, wanted: str, *without: str, **more: Any) -> Any:
        """Build a table from the system; ``without`` names settings that do not apply to it."""
        if self.data is None:
            raise ConfigError(f"the miner '{miner.name}' cannot read this kind of table", hint=f"pass {wanted} as well")
        settings = {name: value for name, value in self.settings.items() if name not in without} | more
        return make(self.data, **settings)


def measure_overlap(rule_sets: Sequence[RuleSet]) -> npt.NDArray[np.float64]:
    """Compute the Jaccard similarity of every two rule sets: rules in both, divided by rules in either.

    Rules are the same if they have the same items. Intervals with different ends are different items. The similarity of
    two empty sets is 1.

    Args:
        rule_sets: The rule sets to compare.

    Returns:
        A symmetric matrix with a row and a column per rule set.

    Examples:
        >>> measure_overlap([RuleSet.empty(), RuleSet.empty()]).tolist()
        [[1.0, 1.0], [1.0, 1.0]]
    """
    numbers: dict[Any, int] = {}
    width = max((rules.antecedents.shape[1] for rules in rule_sets), default=1)
    rows = [_pack_rules(rules, numbers, width) for rules in rule_sets]
    out = np.eye(len(rows))
    for a, first in enumerate(rows):
        for b, second in enumerate(rows[:a]):
            both = len(np.intersect1d(first, second, assume_unique=True))
            either = len(first) + len(second) - both
            out[a, b] = out[b, a] = both / either if either else 1.0
    return out


def _pack_rules(rules: RuleSet, numbers: dict[Any, int], width: int) -> npt.NDArray[Any]:
    """Return the distinct rules as fixed-size records: consequent, pattern, sorted antecedent items."""
    remap = np.array([*(numbers.setdefault(item, len(numbers)) for item in rules.items), -1], np.int64)
    named = [numbers.setdefault(pattern, len(numbers)) for pattern, _ in rules.patterns]
    matrix = np.full((len(rules), width + 2), -1, np.int64)
    matrix[:, 0] = remap[rules.consequents]
    if rules.pattern_of is not None:
        matrix[:, 1] = np.array([*named, -1], np.int64)[rules.pattern_of]
    antecedents = np.sort(remap[rules.antecedents], axis=1)
    matrix[:, 2 : 2 + antecedents.shape[1]] = antecedents
    matrix[:, 2:].sort(axis=1)
    return np.unique(matrix.view([("", np.int64)] * (width + 2)).ravel())


@dataclass(frozen=True)
class Comparison:
    """Results of several methods on the same data, as ``compare`` returns them.

    Args:
        rows: A mapping per method: ``method``, mean measures, ``seconds``, ``peak_mb`` and ``note``.
        rules: The rule set of each method, by label.
        overlaps: Jaccard similarity of every two rule sets, in the order of ``rows``.
    """

    rows: tuple[Mapping[str, Any], ...]
    rules: Mapping[str, RuleSet]
    overlaps: npt.NDArray[np.float64]

    @property
    def methods(self) -> tuple[str, ...]:
        """Labels of the methods, in the order in which they ran."""
        return tuple(str(row["method"]) for row in self.rows)

    def overlap(self, first: str, second: str) -> float:
        """Return the Jaccard similarity of the rules of two methods.

        Args:
            first: Label of a method.
            second: Label of another method.
        """
        return float(self.overlaps[self.methods.index(first), self.methods.index(second)])

    def to_polars(self) -> pl.DataFrame:
        """Return a frame with a row per method: mean measures, cost, the overlap with every method, and a note."""
        import polars as pl

        types = {"rules": pl.Int64, **dict.fromkeys(list(_COLUMNS)[1:], pl.Float64)}
        columns: dict[str, Any] = {"method": pl.Series(list(self.methods), dtype=pl.String)}
        columns |= {name: pl.Series([row[name] for row in self.rows], dtype=types[name]) for name in _COLUMNS}
        columns |= {f"overlap {name}": self.overlaps[:, at] for at, name in enumerate(self.methods)}
        columns["note"] = pl.Series([row["note"] for row in self.rows], dtype=pl.String)
        return pl.DataFrame(columns)

    def to_csv(self, path: str | Path) -> Path:
        """Write the frame of ``to_polars`` to a CSV file, without rounding. No text in it is a formula.

        Args:
            path: The file to write.

        Returns:
            The path.
        """
        without_formulas(self.to_polars()).write_csv(path)
        return Path(path)

    def _texts(self) -> list[list[str]]:
        return [
            [
                str(row["method"]),
                *("–" if row[name] is None else f.format(row[name]) for name, (_, f) in _COLUMNS.items()),
            ]
            for row in self.rows
        ]

    def table(self) -> RichTable:
        """Return the rows as a table for a terminal."""
        return _rich_table("Rule quality and cost", [title for title, _ in _COLUMNS.values()], self._texts())

    def overlap_table(self) -> RichTable:
        """Return the overlap between the rule sets as a table for a terminal."""
        shares = [[f"{value:.2f}" for value in values] for values in self.overlaps]
        lines = [[name, *texts] for name, texts in zip(self.methods, shares, strict=True)]
        return _rich_table("Rules in common (Jaccard)", self.methods, lines)

    def __str__(self) -> str:
        lines = [["method", *(title for title, _ in _COLUMNS.values())], *self._texts()]
        widths = [max(len(line[at]) for line in lines) for at in range(len(lines[0]))]
        out = [
            "  ".join(
                [line[0].ljust(widths[0]), *(text.rjust(w) for text, w in zip(line[1:], widths[1:], strict=True))]
            )
            for line in lines
        ]
        out += [f"{row['method']}: {row['note']}" for row in self.rows if row["rules"] is None]
        return "\n".join(out)

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw a bar chart with a panel per column.

        Args:
            path: File to write the chart to: ``.svg``, ``.png``, ``.html`` or ``.json``. By default nothing is written.

        Returns:
            The Altair chart.

        Raises:
            ConfigError: The suffix of ``path`` is not supported.
            MissingExtraError: The extra ``plots`` is not installed.
        """
        altair = require("altair", extra="plots")
        frame = self.to_polars().select("method", *_COLUMNS)
        values = [row for row in frame.unpivot(index="method").to_dicts() if row["value"] is not None]
        panels = [
            altair.Chart(
                altair.Data(values=[v for v in values if v["variable"] == name]),
                title=name.replace("_", " "),
                width=220,
            )
            .mark_bar()
            .encode(
                x=altair.X("value:Q", title=None),
                y=altair.Y("method:N", title=None, sort=list(self.methods)),
            )
            for name in _COLUMNS
        ]
        chart = altair.concat(*panels, columns=4)
        if path is not None:
            suffix = Path(path).suffix.lower()
            if suffix not in (".svg", ".png", ".html", ".json"):
                raise ConfigError(
                    f"a chart cannot be written as '{suffix}'",
                    where=str(path),
                    hint="use .svg, .png, .html or .json",
                )
            if suffix != ".json":  # a page of its own needs the library too
                require("vl_convert", extra="plots")
            chart.save(str(path), **({"inline": True} if suffix == ".html" else {}))
        return chart


def _rich_table(title: str, heads: Sequence[str], lines: Iterable[Sequence[str]]) -> RichTable:
    from rich.table import Table as RichTable

    out = RichTable(title=title)
    out.add_column("method", no_wrap=True)
    for head in heads:
        out.add_column(head, justify="right")
    for texts in lines:
        out.add_row(*texts)
    return out


def fidelity(rules: RuleSet, exact: RuleSet) -> dict[str, float]:
    """Compare a rule set with the exact one: recall, precision and Jaccard similarity.

    Two rules are the same if they have the same pattern and the same items; their counts are not compared. Use the same
    thresholds for both, or recall and precision also measure the difference between the thresholds.

    Args:
        rules: Rules to evaluate, such as those of ``th.Aerial``.
        exact: Reference: all rules of the same table within the thresholds, such as those of ``th.Exact``.

    Returns:
        A dict with the keys ``recall`` (share of ``exact`` that is in ``rules``; 1 if ``exact`` is empty),
        ``precision`` (share of ``rules`` that is in ``exact``; 1 if ``rules`` is empty) and ``jaccard`` (rules in both
        sets, divided by rules in either; 1 if both are empty).

    Examples:
        >>> import polars as pl, thence as th
        >>> table = th.TransactionTable.from_frame(pl.DataFrame({"a": ["x", "y"] * 5, "b": ["u", "v"] * 5}))
        >>> exact = th.Exact().mine(table)
        >>> th.evaluate.fidelity(exact[:2], exact)
        {'recall': 0.5, 'precision': 1.0, 'jaccard': 0.5}
    """
    ours, theirs = set(rules), set(exact)
    both = len(ours & theirs)
    either = len(ours | theirs)
    return {
        "recall": both / len(theirs) if theirs else 1.0,
        "precision": both / len(ours) if ours else 1.0,
        "jaccard": both / either if either else 1.0,
    }
