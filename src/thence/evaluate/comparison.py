"""Comparison of miners on the same data: the usual table of rule quality, cost, and overlap between rule sets.

Every method is counted by the same exact recount, so the rows of the table can be compared. Miners that read raw
numbers get the feature table of the same transactions. The published comparison in one word is
``published_methods``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from thence.errors import ConfigError, ThenceError, nearest, require
from thence.evaluate.footprint import Footprint, run_here, run_isolated
from thence.graph.system import System
from thence.miners.base import Miner, as_miner, make_miner, miner_names
from thence.progress import Progress, silent
from thence.rules.ruleset import RuleSet
from thence.runs import pipeline
from thence.settings.numbers import require_seed
from thence.tables.transactions import FeatureTable, TransactionTable

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table as RichTable

__all__ = ["METHODS", "Comparison", "Method", "compare", "method", "overlap", "published_methods"]

Method = str | type | Miner | Callable[[Mapping[str, RuleSet]], Any]
"""A miner by name, class or instance, or a function that makes one from the rules of the methods before it."""

_NUMERICAL = ("de", "ga", "pso", "lshade", "jde")
METHODS = ("aerial", "fpgrowth", "hmine", *_NUMERICAL, "arm-ae")
"""The nine methods of the published comparison."""

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


def method(name: str, **settings: Any) -> Miner:
    """A miner by its name, or by the name of one of the optimisers of TS-NARM.

    >>> method("lshade", evaluations=1000).evaluations
    1000
    """
    if name in _NUMERICAL:
        return make_miner("ts-narm", algorithm=name, **settings)
    return make_miner(name, **settings)


def published_methods(
    names: Iterable[str] = METHODS, *, evaluations: int = 50_000, population: int = 200, seed: int = 0
) -> dict[str, Method]:
    """The methods of the published comparison with its parameters.

    The threshold of the exhaustive ones is half of Aerial's mean support, and ARM-AE gets as many rules per consequent
    as Aerial found per feature, so Aerial must come first; it shows what its network proposes, as published, whatever
    the exact confidence is. Names other than the nine are registered miners.

    >>> list(published_methods(["aerial", "de"]))
    ['Aerial', 'DE']
    """
    from thence.miners.baselines.arm_ae import ARMAE
    from thence.miners.baselines.exhaustive import FPGrowth, HMine

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
            out[title] = method(name, evaluations=evaluations, population=population, seed=seed)
        elif name in made:
            out[title] = made[name]
        elif name == "aerial":
            out[title] = make_miner(name, seed=seed, min_confidence=0)
        else:
            out[title] = _seeded(make_miner(name), seed)
    return out


def _aerial(done: Mapping[str, RuleSet]) -> RuleSet:
    if not len(done.get("Aerial", ())):
        raise ConfigError(
            "the published parameters of this method follow from Aerial's rules, and there are none",
            hint="let 'aerial' come first, or give the method its own parameters",
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
    """Run several miners on the same data and put their results side by side.

    ``data`` is a table, or a ``System``, whose tables are made by
    ``transactions`` and ``feature_table`` with the further ``settings`` (``windows``, ``bins``,
    ``enrich``…). With a table, miners over raw numbers need its ``feature_table``, and Naive SemRL its
    ``existential_table``. ``seed`` overrules that of every miner that has one. ``isolate`` runs each miner in a process
    of its own, for figures of time and memory that others cannot disturb. A method that refuses the table with an
    error of the package keeps its row, with the reason.

    >>> import polars as pl
    >>> table = TransactionTable.from_frame(pl.DataFrame({"a": ["x", "y"] * 9, "b": ["u", "v"] * 9}))
    >>> result = compare(table, ["exact", "fpgrowth"])
    >>> result.to_polars()["rules"].to_list(), result.overlap("exact", "fpgrowth")
    ([4, 4], 1.0)
    """
    if seed is not None:
        require_seed(seed)
    tables = _Tables.of(data, feature_table, existential_table, settings)
    done: dict[str, RuleSet] = {}
    rows: list[dict[str, Any]] = []
    listed = _labelled(miners)
    for at, (label, chosen) in enumerate(listed):
        progress("comparing", at, len(listed), label)
        try:
            miner = _seeded(_made(chosen, done), seed)
            label = _unique(label or as_miner(miner).label, done)
            table = tables.of_miner(miner)
            found = run_isolated(miner, table) if isolate else run_here(miner, table, progress=progress)
        except ThenceError as error:
            label = _unique(label or str(getattr(chosen, "name", chosen)), done)
            rows.append({"method": label, **dict.fromkeys(_COLUMNS), "note": str(error)})
            done[label] = RuleSet.empty(str(error))
            continue
        rows.append({"method": label, **_summary(found), "note": "; ".join(found.rules.notes)})
        done[label] = found.rules
    progress("comparing", len(listed), len(listed))
    return Comparison(tuple(rows), done, overlap(list(done.values())))


def _labelled(miners: Iterable[Method] | Mapping[str, Method]) -> list[tuple[str, Method]]:
    if isinstance(miners, str):
        raise ConfigError(f"one method alone cannot be compared: '{miners}'", hint="give a list of methods")
    if isinstance(miners, Mapping):
        listed = [(str(label), chosen) for label, chosen in miners.items()]
    else:
        listed = [(chosen if isinstance(chosen, str) else "", chosen) for chosen in miners]
    known = (*miner_names(), *_NUMERICAL)
    for _, chosen in listed:
        # A misspelt name is found before the first hour of mining, not after.
        if isinstance(chosen, str) and chosen not in known:
            hint = nearest(chosen, known) or "known: " + ", ".join(known)
            raise ConfigError(f"unknown method '{chosen}'", hint=hint)
    return listed


def _made(chosen: Method, done: Mapping[str, RuleSet]) -> Miner:
    if isinstance(chosen, str):
        return method(chosen)
    if isinstance(chosen, (type, Miner)):
        return make_miner(chosen)
    made: Miner = chosen(done)
    return made


def _seeded(miner: Miner, seed: int | None) -> Miner:
    has_one = dataclasses.is_dataclass(miner) and any(field.name == "seed" for field in dataclasses.fields(miner))
    return dataclasses.replace(miner, seed=seed) if has_one and seed is not None else miner  # type: ignore[type-var]


def _unique(label: str, taken: Mapping[str, Any]) -> str:
    number = 2
    out = label
    while out in taken:
        out, number = f"{label} #{number}", number + 1
    return out


def _summary(found: Footprint) -> dict[str, Any]:
    told = found.rules.describe()
    return {
        "rules": told["rules"],
        "support": told["mean_support"],
        "confidence": told["mean_confidence"],
        "rule_coverage": told["mean_rule_coverage"],
        "data_coverage": told["data_coverage"],
        "zhang": told["mean_zhang"],
        "seconds": found.seconds,
        "peak_mb": None if found.peak_bytes is None else found.peak_bytes / 2**20,
    }


@dataclass
class _Tables:
    """The tables that miners may want, made from a data set when first asked for."""

    data: System | None
    codes: TransactionTable | None
    numbers: FeatureTable | None
    existential: TransactionTable | None
    settings: Mapping[str, Any]

    @staticmethod
    def of(
        data: Any, numbers: FeatureTable | None, existential: TransactionTable | None, settings: Mapping[str, Any]
    ) -> _Tables:
        if isinstance(data, (TransactionTable, FeatureTable)):
            if settings:
                unknown = next(iter(settings))
                raise ConfigError(f"'{unknown}' says how to make a table, and a table is given already")
            if isinstance(data, FeatureTable):
                return _Tables(None, None, data, existential, {})
            if data.enrichment == "existential":
                return _Tables(None, data, numbers, existential or data, {})
            return _Tables(None, data, numbers, existential, {})
        if not isinstance(data, System):
            raise ConfigError(
                f"cannot mine a {type(data).__name__}",
                hint="pass a table or a th.System",
            )
        return _Tables(data, None, numbers, existential, settings)

    def of_miner(self, miner: Miner) -> TransactionTable | FeatureTable:
        """The table that a miner wants."""
        if miner.wants == "numbers":
            if self.numbers is None:
                self.numbers = self._from_data(
                    pipeline.feature_table, miner, "feature_table=", "bins", "scope", "method"
                )
            return self.numbers
        if as_miner(miner).enrichment == "existential":
            if self.existential is None:
                self.existential = self._from_data(
                    pipeline.transactions, miner, "existential_table=", enrich="existential"
                )
            return self.existential
        if self.codes is None:
            self.codes = self._from_data(pipeline.transactions, miner, "a TransactionTable")
        return self.codes

    def _from_data(self, make: Callable[..., Any], miner: Miner, wanted: str, *without: str, **more: Any) -> Any:
        if self.data is None:
            raise ConfigError(f"{miner.name} cannot read the table that is given", hint=f"give {wanted} as well")
        settings = {name: value for name, value in self.settings.items() if name not in without} | more
        return make(self.data, **settings)


def overlap(rule_sets: Sequence[RuleSet]) -> npt.NDArray[np.float64]:
    """Jaccard similarity between rule sets: rules that both have, over rules that either has.

    Rules are the same when they have the same items; a range that another miner cut elsewhere is another item. Two
    empty sets are alike.

    >>> overlap([RuleSet.empty(), RuleSet.empty()]).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    numbers: dict[Any, int] = {}
    width = max((rules.antecedents.shape[1] for rules in rule_sets), default=1)
    rows = [_as_rows(rules, numbers, width) for rules in rule_sets]
    out = np.eye(len(rows))
    for a, first in enumerate(rows):
        for b, second in enumerate(rows[:a]):
            both = len(np.intersect1d(first, second, assume_unique=True))
            either = len(first) + len(second) - both
            out[a, b] = out[b, a] = both / either if either else 1.0
    return out


def _as_rows(rules: RuleSet, numbers: dict[Any, int], width: int) -> npt.NDArray[Any]:
    """The distinct rules as fixed-size records: consequent, pattern, antecedent items in order."""
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
    """The results of several methods: a row each, their rules, and how much their rules have in common."""

    rows: tuple[Mapping[str, Any], ...]
    rules: Mapping[str, RuleSet]
    overlaps: npt.NDArray[np.float64]

    @property
    def methods(self) -> tuple[str, ...]:
        """The names of the methods, in order."""
        return tuple(str(row["method"]) for row in self.rows)

    def overlap(self, first: str, second: str) -> float:
        """The Jaccard similarity of the rules of two methods."""
        return float(self.overlaps[self.methods.index(first), self.methods.index(second)])

    def to_polars(self) -> pl.DataFrame:
        """A row per method: mean measures, cost, a note, and one column per method with the overlap."""
        import polars as pl

        types = {"rules": pl.Int64, **dict.fromkeys(list(_COLUMNS)[1:], pl.Float64)}
        columns: dict[str, Any] = {"method": pl.Series(list(self.methods), dtype=pl.String)}
        columns |= {name: pl.Series([row[name] for row in self.rows], dtype=types[name]) for name in _COLUMNS}
        columns |= {f"overlap {name}": self.overlaps[:, at] for at, name in enumerate(self.methods)}
        columns["note"] = pl.Series([row["note"] for row in self.rows], dtype=pl.String)
        return pl.DataFrame(columns)

    def to_csv(self, path: str | Path) -> Path:
        """Write ``to_polars`` to a file, with all digits."""
        self.to_polars().write_csv(path)
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
        """The table for a terminal."""
        from rich.table import Table as RichTable

        out = RichTable(title="Rule quality and cost")
        out.add_column("method", no_wrap=True)
        for title, _ in _COLUMNS.values():
            out.add_column(title, justify="right")
        for texts in self._texts():
            out.add_row(*texts)
        return out

    def overlap_table(self) -> RichTable:
        """The overlap between the rule sets, for a terminal."""
        from rich.table import Table as RichTable

        out = RichTable(title="Rules in common (Jaccard)")
        out.add_column("method", no_wrap=True)
        for name in self.methods:
            out.add_column(name, justify="right")
        for name, values in zip(self.methods, self.overlaps, strict=True):
            out.add_row(name, *(f"{value:.2f}" for value in values))
        return out

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
        """Bars of every column, one panel each, as an Altair chart; written where the path ends in a known suffix."""
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
                raise ConfigError(f"a chart cannot be written as '{suffix}'", hint="use .svg, .png, .html or .json")
            if suffix in (".svg", ".png"):
                require("vl_convert", extra="plots")
            chart.save(str(path), **({"inline": True} if suffix == ".html" else {}))
        return chart
