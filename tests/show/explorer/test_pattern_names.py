"""Names of patterns: in words, each different."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from thence.show.explorer.rule_index import name_patterns

JUNCTION = "(j:Junction), (demand_j:demand)-[in?]->(j), (pressure_j:pressure)-[in]->(j)"
EVERY = "for every Junction j"


def test_patterns_with_the_same_words_are_told_apart_by_their_neighbours() -> None:
    near = f"{JUNCTION} | `3 nearest Junctions`: nearest 3 -[connected*]-(Junction).pressure"
    link = f"{JUNCTION} | `Junctions one Link away`: -[connected]-(Link)-[connected]-(Junction).pressure"
    assert name_patterns([(near, EVERY), (link, EVERY), ("(p:Pipe)", "for every Pipe p")]) == [
        "for every Junction j (3 nearest Junctions)",
        "for every Junction j (Junctions one Link away)",
        "for every Pipe p",
    ]


def test_patterns_with_the_same_neighbours_are_told_apart_by_their_sensors() -> None:
    other = "(j:Junction), (pressure_j:pressure)-[in]->(j), (water_level_j:water_level)-[in]->(j)"
    assert name_patterns([(JUNCTION, EVERY), (other, EVERY)]) == [f"{EVERY} (demand)", f"{EVERY} (water level)"]


def test_what_cannot_be_told_apart_is_numbered() -> None:
    optional = JUNCTION.replace("[in]", "[in?]")
    assert name_patterns([(JUNCTION, EVERY), (optional, EVERY)]) == [EVERY, f"{EVERY} (2)"]
    assert name_patterns([("no pattern", "x"), ("nor this (", "x"), ("", "x (2)")]) == ["x", "x (3)", "x (2)"]


@given(
    st.lists(
        st.tuples(st.sampled_from(["", "(", "(a:A)", "(a:A), (x:k)-[in]->(a)"]), st.sampled_from(["", "x", "x (2)"]))
    )
)
def test_names_differ(patterns: list[tuple[str, str]]) -> None:
    names = name_patterns(patterns)
    assert len(set(names)) == len(names) == len(patterns)
    assert all(names)
