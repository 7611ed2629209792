"""Properties of edges, and properties with several values, in every enrichment: against brute force on small graphs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest

import thence as th
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.graph.ontology import Ontology, Relation
from thence.data.graph.records import DatedValue, Edge, Node, Values, list_values
from thence.data.graph.system import System
from thence.data.readings.windows import window
from thence.language.items import Aspect, Feature, Item, Role
from thence.search.exact.miner import Exact
from thence.search.refine.redundancy import drop_mirrored
from thence.tables.blocks import Block
from thence.tables.discretization import Discretizer
from thence.tables.enrich import build, features
from thence.tables.transactions import TransactionTable

FRAMES = 6
START = datetime(2024, 1, 1, tzinfo=UTC)
PATTERN = "(s:speed)-[in]->(a:Crossing)-[road]->(b:Crossing)"
TIMES = [START + timedelta(hours=frame) for frame in range(FRAMES)]
WAYS = Ontology(
    {"Crossing": []},
    {
        "way": Relation(),
        "road": Relation(parents=frozenset({"way"})),
        "path": Relation(parents=frozenset({"way"}), symmetric=True),
    },
)


def some_of(rng: np.random.Generator, values: list) -> list:
    return [value for value in values if rng.random() < 0.4]


def town(seed: int, *, several: bool = True) -> System:
    """Crossings with speeds, linked by roads and paths, some of them twice; some values change in the fourth hour."""
    rng = np.random.default_rng(seed)
    names = [f"X{number}" for number in range(5)]
    uses = [some_of(rng, ["bus", "tram", "taxi"]) if several else [str(rng.choice(["bus", "tram"]))] for _ in names]
    nodes = [Node(name, frozenset({"Crossing"}), {"use": use}) for name, use in zip(names, uses, strict=True)]
    edges: list[Edge] = []
    dated: list[DatedValue] = []
    for a in names:
        for b in names:
            for relation in ("road", "path"):
                for copy in range(1 + several):
                    if a != b and rng.random() < 0.3:
                        lanes = some_of(rng, [1, 2.5, 4]) if several else [float(rng.integers(1, 5))]
                        surface = {"surface": str(rng.choice(["stone", "tar"]))} if rng.random() < 0.7 else {}
                        name = f"{a}{b}{relation}{copy}"
                        edges.append(Edge(name, a, b, frozenset({relation}), {"lanes": lanes, **surface}))
                        if rng.random() < 0.3:
                            dated.append(DatedValue(name, "surface", TIMES[3], "mud"))
    readings = {f"speed_{name}": rng.normal(50, 10, FRAMES).tolist() for name in names}
    frame = pl.DataFrame({"time": TIMES, **readings})
    sensors = th.read_sensors(frame, kinds=dict.fromkeys(readings, "speed"))
    graph = KnowledgeGraph(nodes, edges, dated=dated, property_units={"lanes": "m"})
    return System(
        sensors, graph, th.graph.bind(sensors, graph, table={s: s.removeprefix("speed_") for s in readings}), WAYS
    )


def table(net: System, mode: str, **options: object) -> TransactionTable:
    return build(
        window(net.sensors, "1h"), mode=mode, graph=net.graph, binding=net.binding, ontology=net.ontology,
        discretizer=Discretizer(bins=2, scope="kind"), **options,  # type: ignore[arg-type]
    )  # fmt: skip


def edges_between(net: System, one: str, other: str, relation: str, *, directed: bool) -> list[Edge]:
    assert net.graph is not None
    found = []
    for edge in net.graph.edges.values():
        (label,) = edge.labels
        both = not directed or relation == "path"
        ends = {(edge.source, edge.target), (edge.target, edge.source)} if both else {(edge.source, edge.target)}
        if (one, other) in ends and (not relation or WAYS.is_relation(label, relation)):
            found.append(edge)
    return found


def values_of(net: System, feature: Feature, at: dict[str, str], frame: int, *, directed: bool) -> list[object]:
    """The values of a property of a variable or link in a place, looked up one by one."""
    assert net.graph is not None
    subjects: list[str] = [at.get(feature.subject, feature.subject)]
    if feature.other:
        edges = edges_between(net, at[feature.subject], at[feature.other], feature.label, directed=directed)
        subjects = [edge.id for edge in edges]
    found = [net.graph.value(subject, feature.name, TIMES[frame]) for subject in subjects]
    return [float(one) if isinstance(one, int) else one for value in found for one in list_values(value)]


def check(net: System, block: Block, *, directed: bool) -> set[str]:
    """Compare every column of a property with brute force; return the texts of their features."""
    seen = set()
    for column in block.columns:
        feature = column.feature
        if feature.aspect is not Aspect.PROPERTY:
            continue
        seen.add(str(feature))
        for row in range(block.n_embeddings):
            at = {} if block.pattern is None else dict(zip(block.pattern.variables, block.embeddings[row], strict=True))
            codes = np.broadcast_to(column.codes[column.series[row]], (FRAMES,))
            for frame in range(FRAMES):
                held = values_of(net, feature, at, frame, directed=directed)
                code = int(codes[frame])
                if not held:
                    assert code == -1
                elif feature.where:
                    assert code == int(any(feature.where[-1].holds(one) for one in held))  # type: ignore[arg-type]
                else:
                    assert len(set(held)) == 1 and column.item(code).holds(held[0])  # type: ignore[arg-type]
    return seen


@pytest.mark.parametrize("link", ["-[road]->", "-[way]->", "-[path]->", "-[way]-", "-[]-", "-[]->"])
def test_lifted_items_of_links_are_those_of_the_edges_that_match(link: str) -> None:
    seen: set[str] = set()
    for seed in range(6):
        net = town(seed, several=seed % 2 == 0)
        pattern = f"(s:speed)-[in]->(b:Crossing){link}(a:Crossing)"
        made = table(net, "lifted", patterns=pattern)
        seen |= check(net, made.blocks[0], directed=link.endswith(">"))
    relation = link.strip("-[]>")
    # Both ends of an undirected link are alike, and are named in alphabetical order.
    ends = f"(?b)-[{relation}]-(?a)" if link.endswith(">") else f"(?a)-[{relation}]-(?b)"
    assert f"{ends}.surface" in seen or f"some {ends}.surface = 'tar'" in seen
    assert any(text.startswith(f"some {ends}.lanes") for text in seen)
    assert "some (?b:Crossing).use = 'tram'" in seen
    assert all(str(Item.parse(text if text.startswith("some") else f"{text} = 1.0")).startswith(text) for text in seen)


def test_grounded_items_of_edges_and_of_several_values() -> None:
    seen: set[str] = set()
    for seed in range(6):
        net = town(seed, several=seed % 2 == 0)
        made = table(net, "grounded")
        seen |= check(net, made.blocks[0], directed=True)
        raw = features(window(net.sensors, "1h"), mode="grounded", graph=net.graph, binding=net.binding)
        assert {
            str(feature) for feature in raw.features if feature.aspect is Aspect.PROPERTY and not feature.where
        } == {
            str(c.feature)
            for c in made.blocks[0].columns
            if c.feature.aspect is Aspect.PROPERTY and not c.feature.where
        }
    for start in ("[X0X1road0:road].lanes", "some [X", "some (X", "(X1:Crossing).use"):
        assert any(text.startswith(start) for text in seen), start


def holds(net: System, item: Item, at: dict[str, str], frame: int) -> bool:
    """Whether an item holds in a place and frame, looked up in readings and graph."""
    feature = item.feature
    if feature.aspect is Aspect.MEASUREMENT:
        readings = window(net.sensors, "1h")
        column = [sensor.id for sensor in readings.numeric].index(at[feature.subject])
        return item.holds(float(readings.values[frame, column]))
    test = feature.where[-1] if feature.where else item
    return any(test.holds(one) for one in values_of(net, feature, at, frame, directed=True))  # type: ignore[arg-type]


def test_rules_about_edges_and_several_values_count_rows() -> None:
    """Rules of the exact miner that have such an item, counted row by row in plain Python."""
    compared = 0
    for seed in range(3):
        net = town(seed)
        (block,) = (made := table(net, "lifted", patterns=PATTERN)).blocks
        assert block.pattern is not None
        places = [dict(zip(block.pattern.variables, names, strict=True)) for names in block.embeddings]
        rules = Exact(min_support=0.01, min_confidence=0.1, max_antecedents=2).mine(made)
        about = [n for n, rule in enumerate(rules) if any(i.feature.aspect is Aspect.PROPERTY for i in rule.antecedent)]
        for number in about[:: len(about) // 20 + 1]:
            rule = rules.rule(number)
            rows = [(at, frame) for at in places for frame in range(FRAMES)]
            applied = [row for row in rows if all(holds(net, item, *row) for item in rule.antecedent)]
            assert int(rules.counts.n_antecedent[number]) == len(applied)
            assert int(rules.counts.n_both[number]) == sum(holds(net, rule.consequent, *row) for row in applied)
            compared += 1
    assert compared > 30


def test_existential_conditions_ask_for_one_of_several_values() -> None:
    net = town(0)
    made = table(net, "existential")
    readings = window(net.sensors, "1h")
    assert net.graph is not None and net.binding is not None
    seen = 0
    for column in made.blocks[0].columns:
        *facts, reading = column.feature.where
        if not facts:
            continue
        (fact,) = facts
        hosts = [
            place
            for place, sensor in enumerate(readings.numeric)
            if any(fact.holds(one) for one in list_values(net.graph.value(net.binding[sensor.id], "use")))
        ]
        for frame in range(FRAMES):
            expected = max(int(reading.holds(float(readings.values[frame, place]))) for place in hosts)
            assert column.codes[0, frame] == expected
        seen += 1
    assert seen


def test_mirror_images_of_rules_about_a_link_are_one_rule() -> None:
    net = town(1, several=False)
    pattern = "(s:speed)-[in]->(a:Crossing)-[way]-(b:Crossing)<-[in]-(t:speed)"
    made = table(net, "lifted", patterns=pattern)
    found = Exact(min_support=0.01, min_confidence=0.1, max_antecedents=2).mine(made)
    turned = {"a": "b", "b": "a", "s": "t", "t": "s"}

    def mirrored(item: Item) -> Item:
        feature = item.feature
        ends = [turned.get(feature.subject, feature.subject), turned.get(feature.other, feature.other)]
        ends = sorted(ends) if feature.is_link else ends
        return Item(
            Feature(ends[0], feature.aspect, feature.name, feature.role, feature.label, ends[1]),
            item.operator,
            item.value,
        )

    rules = {(frozenset(rule.antecedent), rule.consequent) for rule in drop_mirrored(found, made)}
    about = [(left, right) for left, right in rules if any(item.feature.is_link for item in left)]
    assert about
    for left, right in about:
        image = frozenset(map(mirrored, left)), mirrored(right)
        assert image == (left, right) or image not in rules


def test_a_known_rule_may_ask_for_one_of_several_values() -> None:
    net = town(2)
    assert net.graph is not None
    text = f"{PATTERN} |- some (?a)-[road]-(?b).lanes < 3 => s > 45"
    run = th.mine(net, known=text, windows="1h", enrich="lifted", miner="exact", progress="off")
    assert run.known is not None, run.summary["notes"]
    assert len(run.known) == 1, run.known.notes
    readings = window(net.sensors, "1h")
    pairs = {(e.source, e.target) for e in net.graph.edges.values() if e.labels == {"road"}}
    wide = [
        (a, b)
        for a, b in sorted(pairs)
        if any(
            one < 3
            for e in edges_between(net, a, b, "road", directed=True)
            for one in list_values(e.properties.get("lanes"))
        )  # type: ignore[operator]
    ]
    column = {sensor.id: readings.values[:, place] for place, sensor in enumerate(readings.numeric)}
    assert int(run.known.counts.n_antecedent[0]) == len(wide) * FRAMES
    assert int(run.known.counts.n_both[0]) == sum(int((column[f"speed_{a}"] > 45).sum()) for a, _ in wide)


def test_sentences_name_edges_and_values() -> None:
    lanes = Feature("a", Aspect.PROPERTY, "lanes", role=Role.VARIABLE, label="road", other="b", unit="m")
    use = Feature("a", Aspect.PROPERTY, "use", role=Role.VARIABLE, label="Crossing")
    speed = Feature("s", role=Role.VARIABLE, label="speed", place="a")
    some = Item.is_(use.with_some(Item.is_(use, "bus")), True)
    rule = th.Rule((Item.compare(speed, ">", 3.0), Item.compare(lanes, ">", 3.0), some), Item.compare(speed, "<", 9.0))
    assert rule.english == (
        "if the speed of a (use including bus) is above 3 and the road link between a and b has lanes above 3 m, "
        "then the speed of a is below 9"
    )
    wide = Item.is_(lanes.with_some(Item.compare(lanes, "<", 3.0)), True)
    assert "the road link between a and b has some lanes of below 3 m" in th.Rule((wide,), rule.consequent).english
    assert "use not including bus" in th.Rule((some.negated(),), rule.consequent).english


@pytest.mark.parametrize(
    ("given", "kept"),
    [(["b", "a", "b"], ("a", "b")), ([3], 3), ({True, "x"}, (True, "x")), ((2, 1.5), (1.5, 2)), ("a", "a")],
)
def test_several_values_are_a_set(given: object, kept: Values) -> None:
    assert Node("n", properties={"p": given}).properties["p"] == kept  # type: ignore[dict-item]
    assert DatedValue("n", "p", START, given).value == kept  # type: ignore[arg-type]
    assert "p" not in Node("n", properties={"p": []}).properties  # type: ignore[dict-item]
