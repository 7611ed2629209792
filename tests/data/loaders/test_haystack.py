"""Project Haystack: the same records in JSON of versions 3 and 4, Zinc and Trio are the same graph."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from thence.data.graph.binding import bind
from thence.data.graph.habits import in_one_habit
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.data.loaders import read_graph
from thence.errors import GraphError

ZINC = """ver:"3.0" projName:"demo" note:"commas, in, here"
id,dis,site,equip,ahu,vav,room,space,point,sensor,air,temp,discharge,zone,siteRef,equipRef,airRef,spaceRef,kind,unit,area,hidden
@s "Site, one","Site, one",M,,,,,,,,,,,,,,,,,,1200.5m²,[1, 2]
@a "AHU \\"1\\"","AHU \\"1\\"",,M,M,,,,,,,,,,@s,,,,,,,
@v,"VAV 1",,M,,M,,,,,,,,,@s,,@a,@r,,,,N
@r,"Room 1",,,,,M,M,,,,,,,@s,,,,,,,
@a.t,"Supply temp",,,,,,,M,M,M,M,M,,@s,@a,,,"Number","°C",,
@r.t,"Room temp",,,,,,,M,M,M,M,,M,@s,@v,,@r,"Number","°C",,T
"""
TRIO = """// records
id:@s
dis:"Site, one"
site
area:1200.5m²
---
id: @a
dis: AHU "1"
equip
ahu
siteRef:@s
doc:
  A unit
  of two lines
---
id:@v
dis:"VAV 1"
equip
vav
siteRef:@s
airRef:@a
spaceRef:@r
-----
id:@r
dis:"Room 1"
room
space
siteRef:@s
---
id:@a.t
dis:"Supply temp"
point
sensor
air
temp
discharge
siteRef:@s
equipRef:@a
kind:"Number"
unit:"°C"
---
id:@r.t
dis:"Room temp"
point
sensor
air
temp
zone
siteRef:@s
equipRef:@v
spaceRef:@r
kind:"Number"
unit:"°C"
"""
RECORDS = [
    {"id": "@s", "dis": "Site, one", "site": None, "area": 1200.5},
    {"id": "@a", "dis": 'AHU "1"', "equip": None, "ahu": None, "siteRef": "@s"},
    {"id": "@v", "dis": "VAV 1", "equip": None, "vav": None, "siteRef": "@s", "airRef": "@a", "spaceRef": "@r"},
    {"id": "@r", "dis": "Room 1", "room": None, "space": None, "siteRef": "@s"},
    {"id": "@a.t", "dis": "Supply temp", **dict.fromkeys(("point", "sensor", "air", "temp", "discharge")),
     "siteRef": "@s", "equipRef": "@a", "kind": "Number", "unit": "°C"},
    {"id": "@r.t", "dis": "Room temp", **dict.fromkeys(("point", "sensor", "air", "temp", "zone")),
     "siteRef": "@s", "equipRef": "@v", "spaceRef": "@r", "kind": "Number", "unit": "°C"},
]  # fmt: skip
CLASSES = {"s": "Site", "a": "AHU", "v": "VAV", "r": "Room", "a.t": "Supply_Air_Temperature_Sensor",
           "r.t": "Zone_Air_Temperature_Sensor"}  # fmt: skip


def _v4(value: object) -> object:
    if value is None:
        return {"_kind": "marker"}
    if isinstance(value, float):
        return {"_kind": "number", "val": value, "unit": "m²"}
    return {"_kind": "ref", "val": value[1:], "dis": "x"} if str(value).startswith("@") else value  # type: ignore[index]


def _v3(value: object) -> str:
    if value is None:
        return "m:"
    return (
        f"n:{value} m²"
        if isinstance(value, float)
        else f"r:{str(value)[1:]} x"
        if str(value)[0] == "@"
        else f"s:{value}"
    )


def write(folder: Path, form: str) -> Path:
    if form in ("zinc", "trio"):
        path = folder / f"model.{form}"
        path.write_text(ZINC if form == "zinc" else TRIO, encoding="utf-8")
        return path
    path = folder / "model.json"
    coded = _v3 if form == "3" else _v4
    rows = [{name: coded(value) for name, value in record.items()} for record in RECORDS]
    grids = {
        "3": {"meta": {"ver": "2.0"}, "cols": [{"name": "id"}], "rows": rows},
        "4": {"_kind": "grid", "meta": {"ver": "3.0"}, "cols": [], "rows": rows},
        "list": rows,
    }
    path.write_text(json.dumps(grids[form]), encoding="utf-8")
    return path


@pytest.mark.parametrize("form", ["3", "4", "list", "zinc", "trio"])
def test_every_form_is_the_same_graph(tmp_path: Path, form: str) -> None:
    graph = read_graph(write(tmp_path, form))
    assert {node.id: next(iter(node.labels)) for node in graph.nodes.values()} == CLASSES
    assert {f"{e.source} {'/'.join(e.labels)} {e.target}" for e in graph.edges.values()} == {
        "a siteRef s", "v siteRef s", "v airRef a", "v spaceRef r", "r siteRef s", "a.t siteRef s", "a.t equipRef a",
        "r.t siteRef s", "r.t equipRef v", "r.t spaceRef r",
    }  # fmt: skip
    assert graph.value("s", "area") == 1200.5
    assert graph.value("a", "dis") == 'AHU "1"'
    assert graph.value("a.t", "unit") == "°C"
    assert "discharge" in graph.value("a.t", "markers")  # type: ignore[operator]


@pytest.mark.parametrize("form", ["3", "4", "zinc", "trio"])
def test_references_become_relations(tmp_path: Path, form: str) -> None:
    graph = in_one_habit(read_graph(write(tmp_path, form)))
    assert {f"{e.source} {'/'.join(e.labels)} {e.target}" for e in graph.edges.values()} == {
        "a hasLocation s", "v hasLocation s", "s hasPart r", "a feeds v", "v feeds r", "a hasPoint a.t",
        "v hasPoint r.t", "r.t hasLocation r",
    }  # fmt: skip


@pytest.mark.parametrize(
    "names", [("a.t", "r.t"), ("@a.t", "@r.t"), ("Supply temp", "Room temp"), ("SUPPLY_TEMP", "r_t")]
)
def test_histories_are_bound_by_id_or_name(tmp_path: Path, names: tuple[str, str]) -> None:
    binding = bind(names, read_graph(write(tmp_path, "4")))
    assert [binding[name] for name in names] == ["a.t", "r.t"]


def test_zinc_and_trio_are_read_together(tmp_path: Path) -> None:
    (tmp_path / "more.trio").write_text("id:@a\nmanufacturer:Acme\n---\nid:@b\nequip\nboiler\n", encoding="utf-8")
    graph: KnowledgeGraph = read_graph([write(tmp_path, "zinc"), tmp_path / "more.trio"])
    assert graph.value("a", "manufacturer") == "Acme"
    assert graph.value("a", "dis") == 'AHU "1"'
    assert graph.with_label("Boiler") == ("b",)


def test_a_reference_to_nothing_is_a_property(tmp_path: Path) -> None:
    (tmp_path / "a.trio").write_text("id:@p\npoint\nconnRef:@elsewhere\n", encoding="utf-8")
    graph = read_graph(tmp_path / "a.trio")
    assert graph.value("p", "connRef") == "elsewhere"
    assert not graph.edges


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.zinc", "id,dis\n@a,1\n", "a grid begins with its version"),
        ("a.zinc", 'ver:"3.0"\nid,dis\n@a,"open\n', "not valid Zinc"),
        ("a.zinc", 'ver:"3.0"\nid,dis\n@a,"x",M\n', "the row has 3 cells, the header has 2"),
        ("a.zinc", 'ver:"3.0"\nempty\n', "no record with an id"),
        ("a.trio", "dis:Nobody\n", "no record with an id"),
    ],
)
def test_mistakes_name_the_place(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(GraphError, match=message) as caught:
        read_graph(tmp_path / name)
    assert name in str(caught.value)
