"""Compare the package with the oracle on one system: tables, rules, measures, refinement, and the order of files."""

from __future__ import annotations

import math
import random
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import thence as th
from tests.oracle.definitions import windows
from tests.oracle.exports import expected_by_shape, found_by_query, found_by_shape, store_of
from tests.oracle.rules import Counter, Counts, Test, measures
from tests.oracle.sentences import AmbiguousError, Reader
from tests.oracle.tables import LENGTH, Block, Lifted, Readings, Setup, existential_table, plain_table
from tests.oracle.worlds import World, make_world
from thence.language.patterns import Pattern

ENRICHMENTS = ("none", "grounded", "existential", "lifted")

PATTERNS = (
    "auto",
    "(a:flow)-[in]->(p)-[touches]-(q)<-[in]-(b:flow)",
    "(a:heat)-[in]->(p:Space)-[touches]->(q:Space)<-[in]-(b:heat)",
    "(a:flow)-[in]->(p), (b:flow)-[in]->(p)",
    "(a:flow)-[in]->(p)-[linked]->(q)<-[in]-(b:heat)",
    "(a:flow)-[in?]->(p)-[linked]-(q)<-[in?]-(b:heat)",
    "(a:flow)-[in]->(p)-[]-(q)-[]-(r)<-[in?]-(b:valve)",
    "(a:heat)-[in?]->(p), (b:valve)-[in?]->(p), (c:heat)-[in?]->(p)",
    "(p:Room)<-[in]-(a:heat) | around: -[touches]-(Space).heat | ahead: -[linked]->().heat",
    "(p) | into: <-[linked]-().flow | out: -[linked]->().flow | far: -[touches]-()-[touches]-().flow",
    "(p)<-[in]-(a:flow) | near: nearest 2 -[*]-().flow | warm: nearest 1 <-[linked*]-().heat | by: -[linked]-().flow",
)


@dataclass
class Report:
    """What was compared, and what differs."""

    tables: int = 0
    cells: int = 0
    rules: int = 0
    refined: int = 0
    sentences: int = 0
    ambiguous: int = 0
    queries: int = 0
    permuted: int = 0
    mismatches: list[str] = field(default_factory=list)

    def wrong(self, where: str, what: str) -> None:
        self.mismatches.append(f"{where}: {what}")

    def __str__(self) -> str:
        return (
            f"{self.tables:,} tables, {self.cells:,} cells, {self.rules:,} rules, {self.refined:,} refined rules, "
            f"{self.sentences:,} sentences ({self.ambiguous:,} ambiguous), {self.queries:,} exported queries, "
            f"{self.permuted:,} rule sets from files in another order, {len(self.mismatches):,} mismatches"
        )


def choose_setup(rng: random.Random, world: World, enrich: str) -> Setup:
    """Random settings of a table."""
    scope = rng.choice(["kind", "sensor"]) if enrich in ("none", "grounded", "lifted") else "kind"
    if enrich == "lifted" and rng.random() < 0.4:
        scope = "sensor"
    starts = windows(world, LENGTH)
    return Setup(
        enrich,
        bins=rng.randint(2, 4),
        scope=scope,
        method=rng.choice(["frequency", "frequency", "width", "distinct"]) if scope == "kind" else "frequency",
        aggregate=rng.choice(["mean", "last", "max", "sum", "median", "range"]),
        hold=rng.choice(["none", "none", "20min", "1h30min"]),
        derive=tuple(name for name in ("change", "hour", "weekday") if rng.random() < 0.2),
        fit_until=rng.choice(starts[1:]) if len(starts) > 2 and rng.random() < 0.2 else None,
        hops=1 if enrich == "grounded" and rng.random() < 0.3 else None,
        given={"flow": (2.0, 11.5)} if scope == "kind" and "flow" in world.kinds.values() and rng.random() < 0.1
        and any(world.kinds[s] == "flow" for s in world.readings.keys() - world.states) else {},
    )  # fmt: skip


def build(system: th.System, setup: Setup, pattern: str) -> th.TransactionTable:
    """The package's table."""
    lifted = {"patterns": "auto" if pattern == "auto" else [pattern], "min_embeddings": 1}
    return th.transactions(
        system.sensors,
        system.graph,
        system.binding,
        ontology=system.ontology,
        windows="30min",
        enrich=setup.enrich,
        bins=setup.bins,
        scope=setup.scope if setup.enrich != "existential" else None,
        method=setup.method,
        aggregate=setup.aggregate,
        hold=setup.hold,
        derive=setup.derive,
        bin_edges=setup.given,
        fit_until=None if setup.fit_until is None else setup.fit_until.isoformat(),
        hops=setup.hops,
        **(lifted if setup.enrich == "lifted" else {}),  # type: ignore[arg-type]
    )


def expected(world: World, setup: Setup, table: th.TransactionTable) -> list[Block]:
    """The oracle's table; for a lifted one, of the patterns of the package's blocks."""
    if setup.enrich in ("none", "grounded"):
        return plain_table(world, setup)
    if setup.enrich == "existential":
        return existential_table(world, setup)
    lifted = Lifted(world, setup)
    return [block for part in table.blocks if (block := lifted.block(part.pattern)) is not None]


def compare_table(table: th.TransactionTable, blocks: list[Block], where: str, report: Report) -> bool:
    """Compare the columns and every cell."""
    before = len(report.mismatches)
    if len(table.blocks) != len(blocks):
        report.wrong(where, f"{len(table.blocks)} blocks instead of {len(blocks)}")
        return False
    for part, block in zip(table.blocks, blocks, strict=True):
        ours = [tuple(names) for names in part.embeddings]
        if sorted(ours) != sorted(block.places):
            missing, surplus = sorted(set(block.places) - set(ours)), sorted(set(ours) - set(block.places))
            report.wrong(where, f"{block.pattern}: embeddings lack {missing[:3]}, have {surplus[:3]} too")
            continue
        if part.n_frames != block.frames:
            report.wrong(where, f"{part.n_frames} frames instead of {block.frames}")
            continue
        codes = part.flat()
        order = [ours.index(place) for place in block.places]
        rows = np.concatenate([np.arange(at * part.n_frames, (at + 1) * part.n_frames) for at in order])
        held = {str(column.feature): (column, codes[rows, at]) for at, column in enumerate(part.columns)}
        for text in held.keys() - block.columns.keys():
            report.wrong(where, f"a column {text}, which is not expected")
        for text, column in list(block.columns.items()):
            theirs = [None if cell is None else cell.code for cell in column.cells]
            if text not in held:
                # An aggregate that tells the same rows apart as another one of the same sensors is left out.
                twins = [o for t, o in block.columns.items() if t in held and o.about == column.about and o.about]
                if not any(_same_partition(theirs, [cell and cell.code for cell in twin.cells]) for twin in twins):
                    report.wrong(where, f"no column {text}")
                del block.columns[text]
                continue
            package, numbers = held[text]
            names = [_plain(value) for value in package.values]
            found = [None if code < 0 else names[code] for code in numbers.tolist()]
            report.cells += len(found)
            if found != theirs:
                at = next(i for i, (a, b) in enumerate(zip(found, theirs, strict=True)) if a != b)
                report.wrong(where, f"{text} is {found[at]!r} instead of {theirs[at]!r} in row {at}")
            if package.context != column.context:
                report.wrong(where, f"{text} is {'' if package.context else 'no '}context")
    return len(report.mismatches) == before


def _same_partition(first: list[Any], second: list[Any]) -> bool:
    pairs = set(zip(first, second, strict=True))
    return len(pairs) == len(set(first)) == len(set(second)) and all((a is None) == (b is None) for a, b in pairs)


def _plain(value: Any) -> Any:
    return (value.low, value.high) if isinstance(value, th.language.Interval) else value


@dataclass(frozen=True)
class Listed:
    """A rule of the package as plain values: its pattern, and tests of features."""

    pattern: str
    antecedent: tuple[Test, ...]
    consequent: Test

    def __str__(self) -> str:
        tests = [" ".join(map(str, test)) for test in (*self.antecedent, self.consequent)]
        return f"{self.pattern} {' ∧ '.join(tests[:-1])} → {tests[-1]}"


def list_rules(rules: th.RuleSet) -> Iterator[tuple[Listed, Counts]]:
    """The rules of a rule set and their counts."""
    tests = [(str(item.feature), str(item.operator), item.value) for item in rules.items]
    names = [text for text, _ in rules.patterns]
    own = rules.pattern_of.tolist() if rules.pattern_of is not None else [-1] * len(rules)
    counts = rules.counts
    columns = (counts.n.tolist(), counts.n_antecedent.tolist(), counts.n_consequent.tolist(), counts.n_both.tolist())
    for left, right, pattern, row in zip(
        rules.antecedents.tolist(), rules.consequents.tolist(), own, zip(*columns, strict=True), strict=True
    ):
        chosen = tuple(sorted((tests[i] for i in left if i >= 0), key=str))
        yield Listed(names[pattern] if pattern >= 0 else "", chosen, tests[right]), row


def compare_counts(
    rules: th.RuleSet, counters: dict[str, Counter], where: str, report: Report, *, present: bool
) -> list[tuple[Listed, Counts]]:
    """Count every rule anew, and compare counts, supports over places, and measures."""
    values = {name: rules.measure(name).tolist() for name in measures((1, 1, 1, 1), 1)}
    lifted = {name: rules.extras[name].tolist() for name in _PLACE_COLUMNS if name in rules.extras}
    checked: set[tuple[Counts, int]] = set()
    out: list[tuple[Listed, Counts]] = []
    for r, (rule, ours) in enumerate(list_rules(rules)):
        counter = counters[rule.pattern]
        theirs = counter.count(rule.antecedent, rule.consequent, present=present)
        out.append((rule, theirs))
        if ours != theirs:
            report.wrong(where, f"{rule} has the counts {ours} instead of {theirs}")
            continue
        if (theirs, counter.block.rows) not in checked:
            checked.add((theirs, counter.block.rows))
            for name, value in measures(theirs, counter.block.rows).items():
                wanted = math.sqrt(value) if name == "cosine" else float(value)
                if not math.isclose(values[name][r], wanted, rel_tol=1e-12, abs_tol=1e-15):
                    report.wrong(where, f"{rule} has {name} {values[name][r]} instead of {value}")
        if rule.pattern and lifted:
            spread = counter.places(rule.antecedent, rule.consequent, present=present)
            for name, share in zip(_PLACE_COLUMNS, spread, strict=True):
                if not math.isclose(lifted[name][r], share, abs_tol=1e-12):
                    report.wrong(where, f"{rule} has {name} {lifted[name][r]} instead of {share}")
    return out


_PLACE_COLUMNS = ("support_time", "support_embeddings", "confidence_low")


def compare_rules(
    table: th.TransactionTable, blocks: list[Block], rng: random.Random, where: str, report: Report
) -> th.RuleSet:
    """Mine, count every rule anew, find the rules that were missed, check bounds, and refine."""
    denominator = rng.choice(["present", "present", "all"])
    support, confidence = rng.choice(["0", "0.05", "0.2"]), rng.choice(["0.3", "0.5", "0.75", "0.9"])
    miner = th.Exact(min_support=float(support), min_confidence=float(confidence), denominator=denominator)
    rules = miner.mine(table)
    counters = {block.pattern: Counter(block) for block in blocks}
    present = denominator == "present"
    counted = compare_counts(rules, counters, where, report, present=present)
    report.rules += len(rules)
    found = {(frozenset(map(_key, rule.antecedent)), _key(rule.consequent), rule.pattern) for rule, _ in counted}
    if len(found) != len(rules):
        report.wrong(where, f"{len(rules) - len(found)} rules are repeated")
    thresholds = {"support": Fraction(support), "confidence": Fraction(confidence)}
    for pattern, counter in counters.items():
        for left, right, counts, shared in counter.every_rule(**thresholds, present=present):
            key = (frozenset(map(_point, left)), _point(right), pattern)
            if key in found:
                found.discard(key)
            elif not shared:
                report.wrong(where, f"{left} → {right} with {counts} was not found")
    for key in found:
        report.wrong(where, f"{key} does not reach the thresholds")
    _compare_bounds(rules, counted, counters, rng, where, report)
    if len(rules) and rng.random() < 0.6:
        floor = rng.choice([None, float(confidence)])
        refined = th.refine(
            rules, table, min_confidence=floor, denominator=denominator, cover=rng.random() < 0.3, improvement=0.0
        )
        report.refined += len(refined)
        again = compare_counts(refined, counters, where + " refined", report, present=present)
        least = Fraction(confidence) if floor else min(Fraction(b, x) for _, (_, x, _, b) in counted)
        for rule, (_, x, _, b) in again:
            if b < least * x:
                report.wrong(where, f"refined rule {rule} has confidence {b}/{x}, below {least}")
        return refined if denominator == "present" else th.evaluate.count_rules(refined, table)
    return rules if denominator == "present" else th.evaluate.count_rules(rules, table)


def _point(item: tuple[str, Any]) -> tuple[str, Any]:
    """An item; a range that holds one number is that number."""
    feature, code = item
    is_point = isinstance(code, tuple) and code[1] == math.nextafter(code[0], math.inf)
    return (feature, code[0]) if is_point else item


def _key(test: Test) -> tuple[str, Any]:
    """A test of one bin or category, as the oracle has it."""
    feature, operator, value = test
    if operator == "<":
        return feature, (-math.inf, value)
    if operator == "≥":
        return feature, (value, math.inf)
    if operator == ">":
        return feature, (math.nextafter(value, math.inf), math.inf)
    return feature, _plain(value)


def _compare_bounds(
    rules: th.RuleSet,
    counted: list[tuple[Listed, Counts]],
    counters: dict[str, Counter],
    rng: random.Random,
    where: str,
    report: Report,
) -> None:
    """Filter by a random bound that some rule may meet exactly."""
    if not len(rules):
        return
    name = rng.choice(sorted(measures((1, 1, 1, 1), 1)))
    bound = Fraction(rng.randint(-2, 8), rng.choice([1, 2, 4, 5, 8, 10]))
    square = bound * abs(bound) if name == "cosine" else bound
    kept = {rule for rule, _ in list_rules(rules.filter(bounds={f"min_{name}": float(bound)}))}
    meets: dict[tuple[Counts, int], bool] = {}
    for rule, counts in counted:
        key = counts, counters[rule.pattern].block.rows
        if key not in meets:
            meets[key] = measures(*key)[name] >= square
        if meets[key] != (rule in kept):
            report.wrong(where, f"{rule} with {counts} is {'' if rule in kept else 'not '}kept at {name} ≥ {bound}")


def compare_world(seed: int, report: Report, *, permute: bool = True) -> None:
    """Compare all enrichments on one random system, and the rules of the same system from permuted files."""
    world = make_world(seed)
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        system = world.load(Path(folder))
        other = world.permuted(seed + 1).load(_sub(folder)) if permute else None
        for enrich in ENRICHMENTS:
            setup = choose_setup(rng, world, enrich)
            pattern = rng.choice(PATTERNS)
            if enrich == "lifted" and not _kinds_of(pattern) <= set(world.kinds.values()):
                pattern = "auto"
            where = f"world {seed}, {enrich}" + (f" {pattern}" if enrich == "lifted" else "")
            report.tables += 1
            try:
                table = build(system, setup, pattern)
            except th.errors.PatternError:
                if Lifted(world, setup).block(Pattern.parse(pattern)) is not None:
                    report.wrong(where, "the pattern was refused, but has places")
                pattern = "auto"
                table = build(system, setup, pattern)
            blocks = expected(world, setup, table)
            if not compare_table(table, blocks, where, report):
                continue
            rules = compare_rules(table, blocks, rng, where, report)
            compare_words(world, system, setup, table, blocks, rules, rng, where, report)
            if other is not None:
                report.tables += 1
                report.permuted += 1
                again = build(other, setup, pattern)
                compare_order(table, again, where, report)


def compare_words(
    world: World,
    system: th.System,
    setup: Setup,
    table: th.TransactionTable,
    blocks: list[Block],
    rules: th.RuleSet,
    rng: random.Random,
    where: str,
    report: Report,
) -> None:
    """Read sentences back, and run exported queries, for some rules."""
    chosen = rules.take(np.array(rng.sample(range(len(rules)), min(len(rules), 4)), np.int64))
    if not len(chosen) or (setup.method == "distinct" and setup.fit_until is not None):
        return  # a number that was not among the fitted ones counts as missing, which neither words nor queries say
    counters = {block.pattern: Counter(block) for block in blocks}
    reader, store = Reader(world, Readings(world, setup)), store_of(system, setup, table)
    for rule, (listed, counts) in zip(chosen, list_rules(chosen), strict=True):
        pattern = th.language.Pattern.parse(rule.pattern) if rule.pattern else None
        _, x, _, b = counts
        found = found_by_query(store, rule)
        report.queries += 2
        if found != (b, x - b):
            report.wrong(where, f"queries of {listed} find {found} matches and violations instead of {(b, x - b)}")
        if setup.enrich != "existential":
            report.queries += 1
            variables = list(pattern.variables) if pattern else []
            wanted = expected_by_shape(counters[rule.pattern], listed.antecedent, listed.consequent, variables)
            if (shown := found_by_shape(store, rule)) != wanted:
                report.wrong(where, f"the shape of {listed} reports {shown} violations instead of {wanted}")
        if any(".rank" in test[0] for test in (*listed.antecedent, listed.consequent)) or (pattern and pattern.roles):
            continue
        places = None
        if pattern is not None:
            embedded = [place[: len(pattern.nodes)] for place in counters[rule.pattern].block.places]
            places = set(embedded)
            if len(places) < len(embedded):
                report.ambiguous += 1
                continue
        try:
            read = reader.count(rule.english, places)
        except AmbiguousError:
            report.ambiguous += 1
            continue
        report.sentences += 1
        if read != counts:
            report.wrong(where, f"'{rule.english}' is true of {read} rows instead of {counts}")


def _sub(folder: str) -> Path:
    path = Path(folder) / "permuted"
    path.mkdir()
    return path


def _kinds_of(pattern: str) -> set[str]:
    parsed = th.language.Pattern.parse(pattern) if pattern != "auto" else None
    if parsed is None:
        return set()
    return {v.kind for v in parsed.sensors} | {role.kind for role in parsed.roles}


def compare_order(table: th.TransactionTable, again: th.TransactionTable, where: str, report: Report) -> None:
    """The order of nodes, edges, sensors and rows in the files changes neither the rules nor their counts."""
    miner = th.Exact(min_support=0.0, min_confidence=0.6)
    first, second = dict(list_rules(miner.mine(table))), dict(list_rules(miner.mine(again)))
    if first != second:
        rule, counts = next(pair for pair in (first.items() ^ second.items()))
        report.wrong(where, f"rules depend on the order of the files, such as {rule} with {counts}")
