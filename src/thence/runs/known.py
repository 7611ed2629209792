"""Known rules of a run: read from files, and counted on the data exactly as they are written.

The ranges of a known rule need not be bins of the table that is mined, so they are counted on a table of their own that
is cut at their ends, over the same windows. A rule that these data cannot be asked about is left out, and a note says
why. What follows from known rules is decided in ``thence.search.refine.known``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from thence._base.settings.documents import parse_toml, read_text
from thence.errors import ConfigError, InputError, MiningError, PatternError, ThenceError
from thence.language.items import Aspect, Item, Role
from thence.language.known import FoundFeatures, KnownRule
from thence.language.patterns import Pattern
from thence.runs.configuration import Config
from thence.runs.frames import build_rows
from thence.runs.planning import bins_of
from thence.runs.preparation import Prepared
from thence.runs.run import Run, load_run
from thence.statements.counting.recount import count_rules
from thence.statements.files import find_format, read_rules
from thence.statements.rules.measures import Counts
from thence.statements.rules.ruleset import Rule, RuleSet
from thence.tables.discretization import Binning, Discretizer
from thence.tables.transactions import TransactionTable

if TYPE_CHECKING:
    import polars as pl

_MOST_PARTS = 200
"""The most parts into which the bins of the search are cut to reach the ends of a range of ranks."""

Make = Callable[[Discretizer | None], TransactionTable]


def read_known(source: Any) -> tuple[KnownRule, ...]:
    """Read known rules.

    Args:
        source: A TOML file with tables ``[[known]]``; rules that Thence wrote (``.json``, ``.parquet``, …); a run or
            its folder, of which the accepted rules are taken, or all that are not rejected if none was accepted; rules;
            a rule as text; or a list of any of these.

    Returns:
        The known rules, each once.

    Raises:
        ConfigError: If a rule cannot be parsed, or the source is of another type.
        InputError: If a file cannot be read.

    Examples:
        >>> [str(rule) for rule in read_known("level < 3.3 => pump = on")]
        ['level < 3.3 → pump = on']
    """
    return tuple(dict.fromkeys(_read(source)))


def _read(source: Any) -> Iterable[KnownRule]:
    if isinstance(source, KnownRule):
        return [source]
    if isinstance(source, Rule):
        return [KnownRule.of(source)]
    if isinstance(source, RuleSet):
        return [KnownRule.of(rule) for rule in source]
    if isinstance(source, Run):
        accepted = source.reviewed_rules("accepted")
        return _read(accepted if len(accepted) else source.reviewed_rules())
    if isinstance(source, Mapping):
        return [KnownRule.from_mapping(source)]
    if isinstance(source, Path) or (isinstance(source, str) and not _is_rule(source)):
        return _read_path(Path(source).expanduser())
    if isinstance(source, str):
        return [KnownRule.parse(source)]
    if isinstance(source, Iterable):
        return [rule for one in source for rule in _read(one)]
    raise ConfigError(
        f"known rules must be text, a file, a run or rules, got {type(source).__name__}",
        hint="such as known='rules.toml' or known=['level < 3.3 => pump = on']",
    )


def _is_rule(text: str) -> bool:
    return "=>" in text or "→" in text


def _read_path(path: Path) -> Iterable[KnownRule]:
    if path.is_dir():
        return _read(load_run(path))
    if not path.is_file():
        raise InputError(
            "no such file",
            where=str(path),
            hint="pass a TOML file with tables [[known]], a run, or a rule such as 'level < 3.3 => pump = on'",
        )
    if path.suffix.lower() == ".toml":
        return _read_toml(path)
    find_format(path.name)
    return _read(read_rules(path))


def _read_toml(path: Path) -> Iterable[KnownRule]:
    data = parse_toml(read_text(path, error=InputError), where=str(path), error=InputError)
    listed = data.get("known")
    if not isinstance(listed, list) or not all(isinstance(one, Mapping) for one in listed):
        raise ConfigError("the file has no tables [[known]]", where=str(path), hint="write [[known]] above each rule")
    out = []
    for number, one in enumerate(listed, start=1):
        try:
            out.append(KnownRule.from_mapping(one))
        except ConfigError as error:
            raise ConfigError(error.message, where=f"{path}, [[known]] {number}", hint=error.hint) from error
    return out


def count_known(known: Sequence[KnownRule], data: Prepared, *, denominator: str) -> RuleSet | None:
    """Count known rules on windowed readings.

    Args:
        known: The known rules.
        data: The system with its readings in windows.
        denominator: Rows over which rules are counted, as in ``count_rules``.

    Returns:
        The rules with exact counts, in the order given, and the column ``name``; ``None`` if there are none. Notes name
        those that were left out.

    Raises:
        ConfigError: If a name in a rule stands for several things.
    """

    groups: dict[tuple[Any, ...], tuple[Config, Discretizer | None, list[int]]] = {}
    counted = _KnownCounts(known)
    for number, rule in enumerate(known):
        chosen = _config_for(rule, data.config)
        try:
            start = _first_bins(rule, chosen)
        except InputError as error:
            counted.leave_out(number, error)
            continue
        enrich, scope = chosen.enrich, chosen.discretize.scope
        # A statement about some sensor or some value has one range, so that no other rule may cut it.
        alone = number if any(item.feature.where for item in rule.exact_items) else -1
        key = (enrich.mode, enrich.patterns, enrich.edges, scope, 0 if start is None else start.parts, alone)
        groups.setdefault(key, (chosen, start, []))[2].append(number)
    for chosen, start, numbers in groups.values():
        counted.add(numbers, partial(_build, replace(data, config=chosen)), start, denominator)
    return counted.rules()


def _build(data: Prepared, bins: Discretizer | None) -> TransactionTable:
    return replace(data, bins=bins, same_system=True).table


def count_known_rows(
    known: Sequence[KnownRule], frame: pl.DataFrame, config: Config, *, denominator: str
) -> RuleSet | None:
    """Count known rules on a plain table; see ``count_known``.

    Args:
        known: The known rules.
        frame: The rows.
        config: The configuration, of which ``input`` and ``discretize`` are used.
        denominator: Rows over which rules are counted.
    """

    counted = _KnownCounts(known)
    counted.add(
        range(len(known)), lambda bins: build_rows(frame, config.input, config.discretize, like=bins), None, denominator
    )
    return counted.rules()


class _KnownCounts:
    """Known rules that are counted a few at a time, and why others are left out.

    Args:
        known: The known rules.
    """

    def __init__(self, known: Sequence[KnownRule]) -> None:
        self.known = known
        self._found: dict[int, RuleSet] = {}
        self._notes: dict[int, str] = {}

    def leave_out(self, number: int, error: ThenceError) -> None:
        """Note why a rule cannot be counted."""
        rule = self.known[number]
        hint = f" ({error.hint})" if error.hint else ""
        self._notes[number] = f"the known rule '{rule.name or rule}' is left out: {error.message}{hint}"

    def add(self, numbers: Sequence[int], make: Make, start: Discretizer | None, denominator: str) -> None:
        """Count some rules on one table, which is cut where they ask for it."""
        try:
            table = make(start)
        except PatternError as error:
            for number in numbers:
                self.leave_out(number, error)
            return
        found: dict[int, Rule] = {}
        for number in numbers:
            try:
                found[number] = _resolve(self.known[number], table)
            except InputError as error:
                self.leave_out(number, error)
        ends: dict[str, set[float]] = {}
        for rule in found.values():
            _add_ends((*rule.antecedent, rule.consequent), ends)
        if ends:
            bins = table.discretizer
            cut = {key: _cut(binning, ends.get(key, set())) for key, binning in bins.binnings.items()}
            table = make(replace(bins, binnings=cut))
        zero = np.zeros(1, np.int64)
        for number, rule in found.items():
            single = RuleSet.from_rules([rule], Counts(zero, zero, zero, zero))
            try:
                self._found[number] = count_rules(single, table, denominator=denominator)
            except MiningError as error:
                self.leave_out(number, error)

    def rules(self) -> RuleSet | None:
        """Return the rules that could be counted, in the order given; ``None`` if no rule was given."""
        if not self.known:
            return None
        numbers = sorted(self._found)
        together = RuleSet.concat([self._found[number] for number in numbers]) if numbers else RuleSet.empty()
        names = np.array([self.known[number].name for number in numbers], dtype=str)
        notes = tuple(self._notes[number] for number in sorted(self._notes))
        extras = {**together.extras, "name": names}
        return replace(together, extras=extras, facts={}, notes=notes, coverage_of=None, ordered=True)


def _resolve(rule: KnownRule, table: TransactionTable) -> Rule:
    if not table.blocks:
        raise InputError(f"the pattern {rule.pattern} has no place among the nodes with sensors")
    block = table.blocks[0]
    features: FoundFeatures = {column.feature: column.values for column in block.columns}
    left, right = rule.resolve(features)
    found = Rule(left, right, rule.pattern, "" if block.pattern is None else block.pattern.english)
    return found if block.pattern is None else replace(found, pattern=str(block.pattern))


def _add_ends(items: Iterable[Item], ends: dict[str, set[float]]) -> None:
    """Add the ends of the ranges of items, by the key of the binning that they have to be edges of; ranks have none."""
    for one in (inner for item in items for inner in item.feature.where or (item,)):
        found = set() if one.feature.relative else _ends_of(one)
        for key in _keys(one) if found else ():
            ends.setdefault(key, set()).update(found)


def _keys(item: Item) -> tuple[str, ...]:
    """The keys that the binning of a feature may have: by its kind or class, or by the sensor."""
    feature = item.feature
    if feature.aspect is Aspect.PROPERTY:
        owner = feature.subject if feature.role is Role.SOME else feature.label
        return (f"{owner}.{feature.name}",)
    earlier = feature.time is not None
    names = [feature.label, feature.subject] if feature.role is Role.SENSOR else [feature.label]
    return tuple(f"{name}.{feature.name}" if feature.name and not earlier else name for name in names if name)


def _ends_of(item: Item) -> set[float]:
    range_ = item.interval or item.negated().interval
    if range_ is not None:
        return {end for end in (range_.low, range_.high) if math.isfinite(end)}
    members = item.value if isinstance(item.value, frozenset) else {item.value}
    numbers = [one for one in members if isinstance(one, float) and not isinstance(one, bool)]
    return {end for one in numbers for end in (one, math.nextafter(one, math.inf))}


def _cut(binning: Binning, ends: set[float]) -> Binning:
    """Return bins that are also cut at some numbers."""
    if binning.categories is not None or not binning.has_ranks:
        return binning
    return replace(binning, bin_edges=np.unique(np.concatenate([binning.bin_edges, sorted(ends)])))


def _config_for(rule: KnownRule, config: Config) -> Config:
    """The configuration of the table on which a rule is counted: that of the run, but for what the rule speaks of."""
    items = rule.exact_items
    scope = "sensor" if any(item.feature.relative for item in items) else "kind"
    discretize = replace(config.discretize, scope=scope, bin_edges={}, method="frequency", towards=None)
    if rule.pattern:
        enrich = replace(config.enrich.for_mode("lifted"), patterns=(str(Pattern.parse(rule.pattern)),))
        wanted = any(item.feature.aspect in (Aspect.LABEL, Aspect.EDGE) for item in items)
        enrich = replace(enrich, min_embeddings=1, edges=wanted, properties=None)
        return replace(config, enrich=enrich.resolved(), discretize=discretize)
    roles = {item.feature.role for item in items}
    mode = "existential" if Role.SOME in roles else "grounded" if roles & {Role.NODE, Role.EDGE} else "none"
    enrich = config.enrich if config.enrich.mode == mode else config.enrich.for_mode(mode)
    if mode == "grounded":
        enrich = replace(enrich, edges=True)
    return replace(config, enrich=replace(enrich, properties=None).resolved(), discretize=discretize)


def _first_bins(rule: KnownRule, config: Config) -> Discretizer | None:
    """Bins to begin with: those that end where the ranks of the rule do, or where an existential statement does."""
    items, bins = rule.exact_items, bins_of(config)
    ends: dict[str, set[float]] = {}
    _add_ends([item for item in items if item.feature.where], ends)
    cuts = {key: Binning(np.array(sorted(several))) for key, several in ends.items()}
    shares = {end for item in items if item.feature.relative and item.is_numeric for end in _ends_of(item)}
    for parts in range(1, _MOST_PARTS // bins + 1):
        ranks = bins * parts
        if all(round(share * ranks) / ranks == share for share in shares):
            asked = parts > 1 or bool(cuts)
            scope = config.discretize.scope or "kind"
            return Discretizer(bins=bins, scope=scope, parts=parts, binnings=cuts) if asked else None
    raise InputError(f"its ranks are no multiples of 1/{bins}, nor of any finer part up to 1/{_MOST_PARTS}")
