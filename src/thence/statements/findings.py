"""Findings: the statements of a run as one sequence, in reading order: controls, then laws, then rules.

Rules stay columns of a ``RuleSet``: a rule becomes an object when somebody looks at it, so a million of them cost what
they cost without findings. This module selects, lists and writes; it counts nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt
import polars as pl

from thence._base.atomic import new_file
from thence._base.display.html import panel, small, table
from thence._base.display.percent import percent
from thence._base.frames import without_formulas
from thence.errors import ConfigError
from thence.statements.controls.control import Controls
from thence.statements.files import Format, find_format, write_rules
from thence.statements.files.tables import escape_markdown
from thence.statements.keys import is_key, key_text
from thence.statements.laws.law import Laws
from thence.statements.rules.bounds import is_within
from thence.statements.rules.measures import Counts
from thence.statements.rules.ruleset import RuleSet
from thence.statements.schema import document
from thence.statements.search import RuleTexts, contains, split_words
from thence.statements.statement import PLAIN, Features, Statement, parse_kinds

Mask = npt.NDArray[np.bool_]
PlaceCounts = Callable[[RuleSet], pl.DataFrame | None]

_SHOWN = 20
_SCHEMA: dict[str, Any] = {
    "key": pl.String,
    "kind": pl.String,
    "sentence": pl.String,
    **dict.fromkeys(("applies", "holds"), pl.Int64),
    "share": pl.Float64,
    **dict.fromkeys(("later_applies", "later_holds"), pl.Int64),
}
_BY_PLACE: dict[str, Any] = {name: _SCHEMA[name] for name in ("key", "kind")} | {"place": pl.String}
_BY_PLACE |= {name: _SCHEMA[name] for name in ("applies", "holds", "share")}


def _nothing(_: RuleSet) -> pl.DataFrame | None:
    return None


@dataclass(frozen=True, eq=False, repr=False)
class Findings(Sequence[Statement]):
    """The statements of a run: controls, laws and rules, in the order in which they are to be read.

    Args:
        controls: What makes actuators switch.
        laws: What quantities always obey.
        rules: The rules.
        place_counts: Returns the counts of rules by place, as ``Run.places`` does, if they are known.

    Examples:
        >>> import thence as th
        >>> miner = th.Exact(min_support=0.2, max_antecedents=1)
        >>> run = th.mine(th.datasets.load("net3", days=14), miner=miner, progress="off")
        >>> run.findings
        Findings(6 controls, 7 laws, 9 rules)
        >>> found = run.findings.search("Pump 335")
        >>> print(found[0].kind, "|", found[0].sentence().partition(";")[0])
        control | Pipe 330 closes when the level of Tank 1 falls below 5.21 m
        >>> found[0] is run.findings[found[0].key], run.findings.rules is run.rules
        (True, True)
    """

    controls: Controls
    laws: Laws
    rules: RuleSet
    place_counts: PlaceCounts = field(default_factory=lambda: _nothing)

    def __len__(self) -> int:
        return len(self.controls) + len(self.laws) + len(self.rules)

    def __iter__(self) -> Iterator[Statement]:
        return chain(self.controls, self.laws, self.rules)

    @overload
    def __getitem__(self, at: int | str) -> Statement: ...
    @overload
    def __getitem__(self, at: slice) -> Findings: ...
    def __getitem__(self, at: int | str | slice) -> Statement | Findings:
        if isinstance(at, slice):
            chosen = np.zeros(len(self), bool)
            chosen[at] = True
            return self._take(chosen)
        if isinstance(at, str):
            found = self.find(at)
            if found is None:
                raise ConfigError(
                    f"no rule, law or control has the key '{at[:40]}'",
                    hint="findings.to_polars() lists the keys, 'thence show RUN --json' prints those of rules",
                )
            return found
        number = range(len(self))[at]
        for part in (self.controls, self.laws):
            if number < len(part):
                return part[number]
            number -= len(part)
        return self.rules.rule(number)

    def __contains__(self, one: object) -> bool:
        key = one if isinstance(one, str) else getattr(one, "key", "")
        return self.find(key) is not None

    @property
    def _logic(self) -> list[Statement]:
        """The controls and laws."""
        return [*self.controls, *self.laws]

    def find(self, key: str) -> Statement | None:
        """Return the statement with a key, or ``None``.

        Args:
            key: The key.
        """
        for one in self._logic:
            if one.key == key:
                return one
        at = self.rule_at(key)
        return None if at is None else self.rules.rule(at)

    def rule_at(self, key: str) -> int | None:
        """Return the position among the rules of the rule with a key; of several with the same key, the first.

        Args:
            key: The key.
        """
        if not is_key(key) or not len(self.rules):
            return None
        keys, order = self._sorted_keys
        wanted = np.uint64(int(key, 16))
        at = int(np.searchsorted(keys, wanted))
        return int(order[at]) if at < len(keys) and keys[at] == wanted else None

    @cached_property
    def _sorted_keys(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
        """The keys of the rules in order, and the rule of each."""
        order = np.argsort(self.rules.keys, kind="stable")
        return self.rules.keys[order], order

    @cached_property
    def texts(self) -> RuleTexts:
        """The texts of the rules, for searching."""
        return RuleTexts(self.rules)

    @cached_property
    def _about(self) -> list[Features]:
        """What each item of the rules is about."""
        return [Features.of([item.feature]) for item in self.rules.items]

    def _take(self, chosen: Mask) -> Findings:
        """The statements of a mask."""
        first, second = len(self.controls), len(self.controls) + len(self.laws)
        of_controls, of_laws, of_rules = np.split(chosen, [first, second])
        return replace(
            self,
            controls=Controls((one for one, on in zip(self.controls, of_controls, strict=True) if on)),
            laws=Laws(tuple(one for one, on in zip(self.laws, of_laws, strict=True) if on)),
            rules=self.rules if of_rules.all() else self.rules.take(np.flatnonzero(of_rules)),
        )

    def _select(self, test: Callable[[Statement], bool], rules: Mask) -> Findings:
        """The controls and laws that pass a test, and the rules of a mask."""
        return self._take(np.concatenate([np.array([test(one) for one in self._logic], bool), rules]))

    def search(self, text: str) -> Findings:
        """Return the statements that have each of some words, in reading order.

        A word may occur anywhere in the items, places and names of a statement. The report and the explorer find the
        same.

        Args:
            text: Words; a phrase in double quotes is one word, ``if:`` and ``then:`` look at one side only.
        """
        words = split_words(text)
        rules = np.ones(len(self.rules), bool)
        for word in words:
            rules &= self.texts.find(word)
        return self._select(lambda one: contains(one.search_texts, words), rules)

    def filter(
        self,
        *,
        kind: str | None = None,
        quantity: str | None = None,
        sensor: str | None = None,
        cls: str | None = None,
        property: str | None = None,
        min_applies: int = 0,
        min_share: float | None = None,
        where: Callable[[Statement], bool] | None = None,
    ) -> Findings:
        """Return the statements that meet every condition, in reading order.

        Args:
            kind: ``"control"``, ``"law"`` or ``"rule"``; several separated by commas, or ``"all"``.
            quantity: A kind of sensor that it is about, such as ``"flow"``.
            sensor: The id of a sensor that it names.
            cls: A class of nodes that it is about.
            property: A property that it is about.
            min_applies: Least number of rows (of controls: switches) in which it applies.
            min_share: Least share of these in which it holds, decided exactly.
            where: Keep statements for which this function returns true.

        Raises:
            ConfigError: If there is no such kind.
        """
        kinds = parse_kinds("all" if kind is None else kind)
        wanted = {"kinds": quantity, "sensors": sensor, "classes": cls, "properties": property}
        names = {field: name for field, name in wanted.items() if name is not None}
        least = None if min_share is None else Fraction(str(min_share))

        def fits(one: Statement) -> bool:
            counts = one.counts
            return (
                one.kind in kinds
                and all(name in getattr(one.about, field) for field, name in names.items())
                and counts.applies >= min_applies
                and (least is None or (counts.applies > 0 and Fraction(counts.holds, counts.applies) >= least))
                and (where is None or where(one))
            )

        counts = self.rules.counts
        rules = np.full(len(self.rules), "rule" in kinds) & (counts.n_antecedent >= min_applies)
        if min_share is not None:
            rules &= is_within(counts, "confidence", min_share, least=True)
        for field_name, name in names.items():
            rules &= self.texts.carried([name in getattr(about, field_name) for about in self._about])
        if where is not None:
            rules[rules] = [where(self.rules.rule(int(at))) for at in np.flatnonzero(rules)]
        return self._select(fits, rules)

    def at(self, place: str) -> Findings:
        """Return the statements about a place: those that name it or a sensor there, and those that were counted there.

        Args:
            place: The id of a node.
        """
        rules = self.texts.carried([place in about.places for about in self._about])
        counted = self.place_counts(self.rules)
        if counted is not None and counted.height:
            here = counted.filter(
                (pl.col("applies") > 0)
                & pl.col("nodes").list.eval(pl.element().struct.field("node") == place).list.any()
            )
            rules[here["rule"].to_numpy()] = True
        return self._select(lambda one: place in one.about.places, rules)

    def top(self, n: int) -> Findings:
        """Return the first statements in reading order.

        Args:
            n: How many.
        """
        if n < 0:
            raise ConfigError(f"the number of statements must be at least 0, got {n}")
        return self[:n]

    def by_place(self) -> pl.DataFrame:
        """Return how often each statement applied and held at each place, as far as that was counted.

        Columns: ``key``, ``kind``, ``place``, ``applies``, ``holds`` and ``share``.
        """
        logic = [
            (one.key, one.kind, place, applies, holds, holds / applies if applies else None)
            for one in self._logic
            for place, (applies, holds) in one.counts.by_place.items()
        ]
        parts = [pl.DataFrame(logic, schema=_BY_PLACE, orient="row")]
        counted = self.place_counts(self.rules)
        if counted is not None and counted.height:
            keys = pl.Series([key_text(key) for key in self.rules.keys], dtype=pl.String)
            columns: dict[str, Any] = {
                "key": keys.gather(counted["rule"]),
                "kind": pl.lit("rule"),
                **{name: counted[name] for name in ("place", "applies", "holds")},
                "share": counted["confidence"],
            }
            parts.append(counted.select(**columns))
        return pl.concat(parts)

    def to_polars(self, *, sentences: bool = True) -> pl.DataFrame:
        """Return one row per statement.

        Columns: ``key``, ``kind``, ``sentence``, ``applies``, ``holds``, ``share``, and of the later part of the time,
        which was not searched, ``later_applies`` and ``later_holds``. ``run.rules.to_polars()`` has all measures of
        rules.

        Args:
            sentences: Whether to add the sentences, the slowest column by far.
        """
        counts, n = self.rules.counts, len(self.rules)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.asarray(counts.n_both) / np.asarray(counts.n_antecedent)
        later = self.rules.extras.get("confirmed_rows")
        none = pl.Series([None] * n, dtype=pl.Int64)
        rules = {
            "key": [key_text(key) for key in self.rules.keys],
            "kind": ["rule"] * n,
            "sentence": [rule.english for rule in self.rules] if sentences else [None] * n,
            "applies": counts.n_antecedent,
            "holds": counts.n_both,
            "share": pl.Series(share, nan_to_null=True),
            "later_applies": none if later is None else later,
            "later_holds": none if later is None else np.rint(self.rules.extras["confirmed_confidence"] * later),
        }
        logic = pl.DataFrame(list(map(_row, self._logic)), schema=_SCHEMA, orient="row")
        frame = pl.concat([logic, pl.DataFrame(rules, schema=_SCHEMA)])
        return frame if sentences else frame.drop("sentence")

    def worded_as_rules(self) -> RuleSet:
        """Return the rules, and after them the controls that can be said as rules; those have no counts.

        The last notes say which laws and controls are left out and why.
        """
        added = [rule for one in self.controls if (rule := one.rule) is not None]
        left_out: list[tuple[str, Statement]] = [("a law relates quantities, not items", one) for one in self.laws]
        left_out += [("neither a time of day nor a start is an item", one) for one in self.controls if one.rule is None]
        told = [f"the {one.kind} cannot be said as a rule, since {why}: {one.sentence()}" for why, one in left_out]
        notes = (*self.rules.notes, *told)
        if not added:
            return replace(self.rules, notes=notes)
        unknown = Counts.from_matrix([[0, 0, 0, 0]] * (len(self.rules) + len(added)))
        return RuleSet.from_rules([*self.rules, *added], unknown, notes=notes)

    def unsaid(self, format: Format) -> list[str]:
        """Return which statements a format leaves out and why, one sentence each.

        Args:
            format: The format.
        """
        return [] if format.counts else list(self.worded_as_rules().notes[len(self.rules.notes) :])

    def export(self, path: str | Path, format: str | None = None, **options: Any) -> Path:
        """Write the statements to a file; an existing one is replaced when the new one is complete.

        JSON (in the schema of ``thence.statements.schema``), Parquet, CSV and Markdown have all statements. SPARQL and
        SHACL have rules and the controls that can be said as rules, and list in comments what was left out and why. The
        formats of other packages hold rules only.

        Args:
            path: The file to write.
            format: ``"json"``, ``"parquet"``, ``"csv"``, ``"markdown"`` or another format of ``th.write_rules``; by
                default the suffix of ``path`` decides.
            **options: Options of SPARQL, SHACL and the formats of other packages, as for ``th.write_rules``.

        Returns:
            The path.

        Raises:
            ConfigError: If the format is unknown, has no such option, or cannot hold laws and controls, and there are
                some.
        """
        chosen = find_format(path, format)
        if chosen.name not in _WRITERS:
            if chosen.counts and len(self) > len(self.rules):
                raise ConfigError(
                    f"{chosen.name} holds rules only, and there are {len(self) - len(self.rules):,} laws and controls",
                    hint="export findings.filter(kind='rule'), or use json, parquet, csv or markdown",
                )
            rules = self.rules if chosen.counts else self.worded_as_rules()
            return write_rules(rules, path, format=chosen.name, **options)
        if options:
            raise ConfigError(
                f"{chosen.name} of statements has no options, got {', '.join(options)}",
                hint="th.write_rules(run.rules, …) takes options of files of rules",
            )
        with new_file(Path(path)) as draft:
            _WRITERS[chosen.name](self, draft)
        return Path(path)

    def __str__(self) -> str:
        lines = [f"{at:>3}. {one.sentence()}" for at, one in enumerate(self.top(_SHOWN), start=1)]
        more = [f"  … and {len(self) - _SHOWN:,} more"] if len(self) > _SHOWN else []
        return "\n".join([self._title, *lines, *more])

    @property
    def by_kind(self) -> dict[str, Sequence[Statement] | RuleSet]:
        """The statements of each kind, by its name in the plural, in reading order."""
        return {"controls": self.controls, "laws": self.laws, "rules": self.rules}

    @property
    def _title(self) -> str:
        named = self.by_kind.items()
        parts = [f"{len(part):,} {name[:-1] if len(part) == 1 else name}" for name, part in named if len(part)]
        return ", ".join(parts) or "no statement was found"

    def __repr__(self) -> str:
        return f"Findings({self._title})"

    def _repr_html_(self) -> str:
        rows = [
            (str(at), one.kind, one.sentence(), f"{one.counts.holds:,} of {one.counts.applies:,}", _percent(one))
            for at, one in enumerate(self.top(_SHOWN), start=1)
        ]
        more = f"… and {len(self) - _SHOWN:,} more" if len(self) > _SHOWN else ""
        return panel(self._title, table(("#", "kind", "statement", "held", "share"), rows, numbers=(3, 4)), small(more))


def _row(one: Statement) -> tuple[Any, ...]:
    counts = one.counts
    share = counts.share if counts.applies else None
    later = (counts.later_applies, counts.later_holds)
    return one.key, one.kind, one.sentence(PLAIN), counts.applies, counts.holds, share, *later


def _percent(one: Statement) -> str:
    return percent(one.counts.share, "inside") if one.counts.applies else "–"


def _write_json(found: Findings, path: Path) -> None:
    path.write_text(json.dumps(document(found), ensure_ascii=False, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def _write_csv(found: Findings, path: Path) -> None:
    without_formulas(found.to_polars()).select("sentence", pl.exclude("sentence")).write_csv(path)


def _write_markdown(found: Findings, path: Path) -> None:
    lines = [
        "# Findings",
        "",
        f"{found._title}.",
        "",
        "| # | kind | statement | held | share |",
        "|--:|:--|:--|--:|--:|",
    ]
    for at, one in enumerate(found, start=1):
        held = f"{one.counts.holds:,} of {one.counts.applies:,}"
        lines.append(f"| {at} | {one.kind} | {escape_markdown(one.sentence())} | {held} | {_percent(one)} |")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _write_parquet(found: Findings, path: Path) -> None:
    found.to_polars().write_parquet(path, compression="zstd", statistics=False)


_WRITERS: dict[str, Callable[[Findings, Path], None]] = {
    "json": _write_json,
    "csv": _write_csv,
    "markdown": _write_markdown,
    "parquet": _write_parquet,
}
