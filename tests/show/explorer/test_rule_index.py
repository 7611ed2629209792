"""The index of rules against brute force: filters, facets, order and pages."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.rule_sets import FEATURES, HOSTILE, PATTERNS, rule_sets
from thence._base.display.plots import quantity
from thence.errors import ConfigError
from thence.language.english import format_clause
from thence.show.explorer.rule_index import (
    MOST_CHOICES,
    UNREVIEWED,
    WHOLE_SYSTEM,
    RuleFilter,
    RuleIndex,
    name_patterns,
    rank_choices,
)
from thence.show.reports.rows import rule_rows
from thence.statements.rules.ruleset import RuleSet
from thence.statements.search import split_words
from thence.statements.statement import FACETS, Features

NAMES = {facet: sorted({n for f in FEATURES for n in Features.of([f]).named(facet)}) for facet in FACETS}
CONCLUSIONS = sorted({quantity(feature) for feature in FEATURES})
MEASURES = ("support", "confidence", "lift", "zhang")


@st.composite
def filters(draw: st.DrawFn) -> RuleFilter:
    def some(names: list[str], most: int = 2) -> tuple[str, ...]:
        return tuple(draw(st.lists(st.sampled_from([*names, "nobody"]), max_size=most, unique=True)))

    words = draw(
        st.lists(
            st.sampled_from(["flow", "link", "pipe 1", "0–1", "then:flow", "if:pressure", "x", "script"]), max_size=2
        )
    )
    bounds = draw(
        st.lists(
            st.tuples(
                st.sampled_from([f"{side}_{name}" for side in ("min", "max") for name in MEASURES]),
                st.sampled_from([0.0, 0.2, 0.25, 0.5, 1.0, 2.0, -1.0]),
            ),
            max_size=2,
        )
    )
    return RuleFilter(
        words=tuple(words),
        kind=some(NAMES["kind"], 1),
        cls=some(NAMES["class"], 1),
        property=some(NAMES["property"], 1),
        pattern=some([*name_patterns(PATTERNS), WHOLE_SYSTEM]),
        conclusion=some(CONCLUSIONS),
        review=some(["accepted", "rejected", UNREVIEWED]),
        bounds=tuple(bounds),
    )


def meets(rules: RuleSet, number: int, wanted: RuleFilter, verdicts: dict[int, str]) -> bool:
    """Whether a rule meets all conditions but bounds, by its definition."""
    rule = rules.rule(number)
    items = [*rule.antecedent, rule.consequent]

    def contains(some: list, word: str) -> bool:
        return any(word in f"{format_clause(item)}\n{item}".casefold() for item in some)

    for word in wanted.words:
        side, _, rest = word.partition(":")
        place = (
            ""
            if rules.pattern_of is None or rules.pattern_of[number] < 0
            else rules.patterns[rules.pattern_of[number]][1]
        )
        if side == "if":
            found = contains(list(rule.antecedent), rest)
        elif side == "then":
            found = contains([rule.consequent], rest)
        else:
            found = contains(items, word) or word in place.casefold()
        if not found:
            return False
    for facet in FACETS:
        held = {name for item in items for name in Features.of([item.feature]).named(facet)}
        if not held.issuperset(wanted.chosen(facet)):
            return False
    own = {
        "pattern": pattern_name(rule.pattern),
        "conclusion": quantity(rule.consequent.feature),
        "review": verdicts.get(number) or UNREVIEWED,
    }
    return all(not wanted.chosen(facet) or own[facet] in wanted.chosen(facet) for facet in own)


def pattern_name(text: str) -> str:
    names = dict(zip((text for text, _ in PATTERNS), name_patterns(PATTERNS), strict=True))
    return names.get(text, WHOLE_SYSTEM)


verdicts_of = st.dictionaries(st.integers(0, 11), st.sampled_from(["accepted", "rejected", ""]), max_size=4)


@given(rule_sets(), filters(), verdicts_of)
def test_a_filter_keeps_what_meets_its_conditions(rules: RuleSet, wanted: RuleFilter, verdicts: dict[int, str]) -> None:
    verdicts = {at: verdict for at, verdict in verdicts.items() if at < len(rules)}
    index = RuleIndex(rules)
    found = np.flatnonzero(index.select(wanted, reviewed=verdicts)).tolist()
    bounded = {"p": np.arange(len(rules), dtype=float)}
    numbered = replace(rules, extras={**rules.extras, **bounded})
    for name, bound in wanted.bounds:
        numbered = numbered.filter(**{name: bound})
    expected = [int(at) for at in numbered.extras["p"] if meets(rules, int(at), wanted, verdicts)]
    assert found == expected


@given(rule_sets(), st.sampled_from(["flow", "Pipe", "0.0", "<SCRIPT>", "", "pressure"]))
def test_words_agree_with_the_filter_of_rule_sets(rules: RuleSet, text: str) -> None:
    rules = replace(rules, extras={"at": np.arange(len(rules), dtype=float)})
    index = RuleIndex(rules)
    for side, name in (("if:", "antecedent"), ("then:", "consequent")):
        if not text:
            continue
        formal = rules.filter(**{name: text}).extras["at"].tolist()
        found = np.flatnonzero(index.select(RuleFilter(words=(side + text.casefold(),)))).tolist()
        assert set(formal) <= set(found)


@given(rule_sets(), filters(), verdicts_of)
def test_facets_count_what_a_further_choice_leaves(
    rules: RuleSet, wanted: RuleFilter, verdicts: dict[int, str]
) -> None:
    verdicts = {at: verdict for at, verdict in verdicts.items() if at < len(rules)}
    index = RuleIndex(rules)
    mask = index.select(wanted, reviewed=verdicts)
    counts = index.counts(mask, wanted, reviewed=verdicts)
    facets = [rank_choices(name, count, wanted) for name, count in counts.items()]
    assert [facet["name"] for facet in facets] == ["kind", "class", "property", "pattern", "conclusion", "review"]
    for facet in facets:
        field = "cls" if facet["name"] == "class" else facet["name"]
        assert len({choice["name"] for choice in facet["choices"]}) == len(facet["choices"])
        for choice in facet["choices"]:
            chosen = wanted.chosen(facet["name"])
            more = (*chosen, choice["name"]) if facet["name"] in FACETS else (choice["name"],)
            expected = index.select(replace(wanted, **{field: tuple(dict.fromkeys(more))}), reviewed=verdicts).sum()
            assert choice["count"] == expected, (facet["name"], choice)
        listed = {choice["name"] for choice in facet["choices"] if choice["count"]}
        if facet["name"] in FACETS:
            rows = rule_rows(rules, np.flatnonzero(mask))
            held = {
                n
                for r in np.flatnonzero(mask)
                for i in (*rules.rule(r).antecedent, rules.rule(r).consequent)
                for n in Features.of([i.feature]).named(facet["name"])
            }
            if facet["name"] == "class":  # what every rule of the run has is listed only if it is chosen
                held -= {name for name in held if all(name in _classes(rules, at) for at in range(len(rules)))}
                held |= {name for name in wanted.cls if mask.any()}
            assert listed == held
            if facet["name"] == "kind":
                assert listed == {kind for row in rows for kind in row["kinds"]}


def _classes(rules: RuleSet, number: int) -> set[str]:
    rule = rules.rule(number)
    return {n for item in (*rule.antecedent, rule.consequent) for n in Features.of([item.feature]).named("class")}


@given(rule_sets(), st.sampled_from(["", "support", "confidence", "lift", "p_value", "antecedents"]), st.booleans())
def test_pages_are_a_partition_in_order(rules: RuleSet, sort: str, descending: bool) -> None:
    if sort == "p_value" and "p_value" not in rules.extras:
        return
    index = RuleIndex(rules)
    mask = np.arange(len(rules)) % 3 != 1
    found = index.positions(mask, sort=sort, descending=descending)
    pages = [found[low : low + 2] for low in range(0, len(found), 2)]
    joined = np.concatenate([np.zeros(0, np.int64), *pages])
    assert sorted(joined.tolist()) == np.flatnonzero(mask).tolist()
    if sort:
        values = rules.measure(sort)[joined]
        known = values[~np.isnan(values)]
        assert np.isnan(values[len(known) :]).all()
        assert (np.diff(known) <= 0).all() if descending else (np.diff(known) >= 0).all()
        ties = np.flatnonzero(np.diff(known) == 0)
        assert all(joined[at] < joined[at + 1] for at in ties)


def test_many_choices_are_counted_and_the_chosen_ones_listed() -> None:
    from thence.language.items import Feature, Item
    from thence.statements.rules.measures import Counts
    from thence.statements.rules.ruleset import Rule

    names = [f"column {number:04}" for number in range(MOST_CHOICES + 5)]
    rules = RuleSet.from_rules(
        [Rule((Item.is_(Feature("a"), "x"),), Item.is_(Feature(name), "y")) for name in names],
        Counts.from_matrix(np.tile([4, 2, 2, 1], (len(names), 1))),
    )
    index = RuleIndex(rules)
    wanted = RuleFilter(conclusion=(names[-1],))
    facet = rank_choices("conclusion", index.counts(index.select(wanted), wanted)["conclusion"], wanted)
    assert len(facet["choices"]) == MOST_CHOICES
    assert facet["more"] == 5
    assert names[-1] in {choice["name"] for choice in facet["choices"]}


def test_words_are_split_as_people_type_them() -> None:
    assert split_words('If  the FLOW, then "Is On" then:"a b" and') == ("the", "flow", "is on", "then:a b")
    assert split_words('""  " ') == ()
    assert split_words('"unfinished phrase') == ("unfinished phrase",)


def test_a_whole_sentence_finds_its_rule() -> None:
    import thence as th

    rules = th.mine(
        th.datasets.load("toy"), windows="1h", bins=3, enrich="grounded", confirm=False, progress="off"
    ).rules
    index = RuleIndex(rules)
    for number in range(len(rules)):
        assert index.select(RuleFilter(words=split_words(rules.rule(number).english.split(", and vice versa")[0])))[
            number
        ]


def test_unknown_measures_are_refused() -> None:
    index = RuleIndex(RuleSet.empty())
    with pytest.raises(ConfigError, match="no measure 'suport'"):
        index.order("suport", descending=True)
    with pytest.raises(ConfigError, match="unknown filter"):
        index.select(RuleFilter(bounds=(("support", 1.0),)))


@given(rule_sets(), st.sampled_from(["Pipe 1", "Junction 2", "l", "nowhere", *HOSTILE]))
def test_rules_about_a_node_name_it(rules: RuleSet, node: str) -> None:
    found = RuleIndex(rules).rules_about(
        node, sensors=frozenset({"s2"} if node == "Junction 2" else ()), patterns=frozenset()
    )
    for number, hit in enumerate(found.tolist()):
        rule = rules.rule(number)
        texts = " ".join(str(item) for item in (*rule.antecedent, rule.consequent))
        places = {item.feature.place for item in (*rule.antecedent, rule.consequent)}
        if node in ("Pipe 1", "Junction 2"):
            assert hit == (node in texts or node in places)
        elif node == "l":
            assert not hit  # a variable is not a node


@given(rule_sets(), filters(), st.integers(1, 4))
def test_variants_of_a_finding_are_counted_once(rules: RuleSet, wanted: RuleFilter, size: int) -> None:
    entries = [list(range(at, min(at + size, len(rules)))) for at in range(0, len(rules), size)]
    index = RuleIndex(rules, entries)
    mask = index.select(wanted)
    heads = np.flatnonzero(index.fold(mask)).tolist()
    matching = [[at for at in entry if mask[at]] for entry in entries]
    assert heads == [entry[0] for entry in matching if entry]
    assert [index.variants(at, mask) for at in heads] == [entry for entry in matching if entry]
    for facet, count in index.counts(mask, wanted).items():
        for name, number in count.items():
            field = "cls" if facet == "class" else facet
            chosen = (*wanted.chosen(facet), name) if facet in FACETS else (name,)
            more = index.select(replace(wanted, **{field: tuple(dict.fromkeys(chosen))}))
            assert number in (index.fold(more).sum(), 0 if facet == "class" else -1)
