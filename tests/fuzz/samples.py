"""Small, valid files of every format, from which the mutations start. Each is made once, in memory or in a folder."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
import xlsxwriter

import thence as th
from tests.helpers.plants import plant
from thence._base.integrity.checksums import seal
from thence.lab.experiments.results import Repeat, ResultStore

Files = dict[str, bytes]

HOURS = [datetime(2024, 1, 1) + timedelta(hours=hour) for hour in range(36)]
WIDE = "time,p1_flow,j1_pressure,v1_state\n" + "".join(
    f"{time:%Y-%m-%d %H:%M},{10 + number % 7}.5,{40 - number % 5}.25,{('open', 'closed')[number % 2]}\n"
    for number, time in enumerate(HOURS)
)
LONG = "time,sensor,value\n" + "".join(
    f"{time:%Y-%m-%dT%H:%M:%SZ},{sensor},{number % 9}.5\n" for number, time in enumerate(HOURS) for sensor in ("a", "b")
)
EUROPEAN = "Datum;Durchfluss [m³/h];Druck\n" + "".join(
    f"{time:%d.%m.%Y %H:%M};{10 + number % 7},5;{40 - number % 5},25\n" for number, time in enumerate(HOURS)
)
TITLED = "Report of plant 7\nmade,2024-02-01 08:00\n\n#,Time [UTC],Flow (m3/h),State\nRN,,m3/h,\n" + "".join(
    f"{number},{time:%Y-%m-%d %H:%M},{10 + number % 7}.5,{('open', 'closed')[number % 2]}\n"
    for number, time in enumerate(HOURS)
)
NODES = "id,labels,length [m],material\np1,Pipe,820,PVC\nj1,Junction,,\nv1,Valve,,\nj2,Junction,,\n"
EDGES = "source,target,labels\np1,j1,starts_at\np1,j2,ends_at\nv1,j2,ends_at\n"
VALUES = "subject,property,from,value\nj1,elevation,2024-01-01,12.5\nj1,elevation,2024-02-01,13\n"
BINDING = "sensor,node\np1_flow,p1\nj1_pressure,j1\nv1_state,v1\n"
KINDS = "sensor,kind,unit\np1_flow,flow,m³/h\nj1_pressure,pressure,m\n"
PROPERTY_GRAPH = {
    "nodes": [
        {"id": "p1", "labels": ["Pipe"], "properties": {"length": 820, "material": "PVC"}},
        {"id": "j1", "labels": ["Junction"], "properties": {"elevation": 12.5}},
    ],
    "edges": [{"source": "p1", "target": "j1", "labels": ["starts_at"], "properties": {"since": 2001}}],
    "property_units": {"length": "m"},
}
NODE_LINK = {
    "directed": True,
    "multigraph": False,
    "graph": {},
    "nodes": [{"id": "p1", "label": "Pipe", "length": 3.5}, {"id": "j1", "label": "Junction"}],
    "links": [{"source": "p1", "target": "j1", "label": "starts_at"}],
}
GRAPHML = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="node" attr.name="label" attr.type="string"/>
  <key id="d1" for="node" attr.name="length" attr.type="double"><default>1.5</default></key>
  <key id="d2" for="edge" attr.name="label" attr.type="string"/>
  <graph edgedefault="directed">
    <node id="p1"><data key="d0">Pipe</data><data key="d1">820</data></node>
    <node id="j1"><data key="d0">Junction</data></node>
    <edge source="p1" target="j1"><data key="d2">starts_at</data></edge>
  </graph>
</graphml>
"""
TURTLE = """@prefix ex: <http://example.org/> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix sosa: <http://www.w3.org/ns/sosa/> .
ex:p1 a ex:Pipe ; rdfs:label "Pipe 1"@en ; ex:length 820 ; ex:laid "2001-05-01"^^xsd:date ; ex:starts ex:j1 .
ex:j1 a ex:Junction ; ex:elevation "12.5"^^xsd:decimal ; ex:parts ( ex:a ex:b ) ; ex:at [ a ex:Place ; ex:lat 52.1 ] .
ex:s1 a sosa:Sensor ; sosa:isHostedBy ex:p1 .
"""
ONTOLOGY_TURTLE = """@prefix ex: <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
ex:Asset a owl:Class . ex:Pipe a owl:Class ; rdfs:subClassOf ex:Asset .
ex:Either a owl:Class ; owl:equivalentClass [ owl:unionOf ( ex:Pipe ex:Asset ) ] .
ex:starts a owl:ObjectProperty, owl:SymmetricProperty ; rdfs:domain ex:Pipe ; rdfs:range ex:Asset .
ex:starts owl:inverseOf ex:begun .
ex:length a owl:DatatypeProperty ; rdfs:domain ex:Pipe ; rdfs:range xsd:double .
ex:Old a owl:Class ; owl:deprecated true .
ex:Shape a sh:NodeShape ; sh:targetClass ex:Pipe ; sh:property [ sh:path ex:length ; sh:datatype xsd:double ] .
"""
RDF_XML = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:ex="http://example.org/">
  <ex:Pipe rdf:about="http://example.org/p1">
    <ex:length rdf:datatype="http://www.w3.org/2001/XMLSchema#double">820</ex:length>
    <ex:starts rdf:resource="http://example.org/j1"/>
  </ex:Pipe>
  <ex:Junction rdf:about="http://example.org/j1"><ex:elevation>12.5</ex:elevation></ex:Junction>
</rdf:RDF>
"""
JSON_LD = {
    "@context": {
        "ex": "http://example.org/",
        "length": {"@id": "ex:length"},
        "starts": {"@id": "ex:starts", "@type": "@id"},
    },
    "@graph": [
        {"@id": "ex:p1", "@type": "ex:Pipe", "length": 820, "starts": "ex:j1"},
        {"@id": "ex:j1", "@type": "ex:Junction", "ex:elevation": 12.5, "ex:parts": {"@list": [{"@id": "ex:a"}]}},
    ],
}
EPANET = """[TITLE]
A small network
[JUNCTIONS]
 J1 10 36
 J2 12 0
[RESERVOIRS]
 R1 50
[TANKS]
 T1 30 2 1 5 8 0
[PIPES]
 P1 R1 J1 1000 300 120 0.5 CV
 P2 J1 T1 500 200 110 0 Open
[PUMPS]
 PU J1 J2 POWER 7.5
[VALVES]
 V1 J2 J1 150 PRV 20 0
[DEMANDS]
 J2 18 PAT
[PATTERNS]
 PAT 1 2
[COORDINATES]
 J1 1 2
[OPTIONS]
 Units CMH
 Headloss H-W
[END]
"""
ONTOLOGY_TOML = """name = "tiny"
[classes.Asset]
[classes.Pipe]
parents = ["Asset"]
[classes.Old]
deprecated = "Pipe"
[relations.starts_at]
domain = ["Pipe"]
range = ["Asset"]
inverse = "begun"
symmetric = false
[properties.length]
owners = ["Pipe"]
unit = "m"
"""
CONFIGURATION = """seed = 0
[input]
dataset = "toy"
start = "2024-01-01"
[windows]
every = "1h"
aggregate = "mean"
derive = ["change"]
empty = "drop"
[discretize]
bins = 3
scope = "kind"
method = "frequency"
bin_edges = { pressure = [20, 35, 50] }
[enrich]
mode = "grounded"
hops = 1
[miner]
name = "exact"
min_support = 0.05
min_confidence = 0.9
max_antecedents = 2
[refine]
redundancy = true
"""


def system() -> th.System:
    """Return a system of three sensors on a small network."""
    with TemporaryDirectory() as folder:
        for name, text in (("a.csv", WIDE), ("nodes.csv", NODES), ("edges.csv", EDGES), ("values.csv", VALUES)):
            (Path(folder) / name).write_text(text, encoding="utf-8")
        sensors = th.read_sensors(Path(folder) / "a.csv")
        graph = th.read_graph(Path(folder) / "nodes.csv")
    return th.System(sensors, graph, binding=th.graph.Binding({"p1_flow": "p1", "j1_pressure": "j1", "v1_state": "v1"}))


@cache
def run_folder() -> Files:
    """Return the files of a small run."""
    with TemporaryDirectory() as folder:
        th.mine(
            system(), windows="1h", bins=3, enrich="grounded", out=Path(folder) / "run", confirm=False, progress="off"
        )
        return {
            path.name: path.read_bytes()
            for path in sorted((Path(folder) / "run").iterdir())
            if path.is_file() and not path.name.startswith("report.")
        }


@cache
def rules_in(suffix: str) -> bytes:
    """Return the rules of the small run in a format."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "rules.parquet").write_bytes(run_folder()["rules.parquet"])
        path = th.write_rules(th.read_rules(Path(folder) / "rules.parquet"), Path(folder) / f"out.{suffix}")
        return path.read_bytes()


@cache
def saved_table(enrich: str) -> bytes:
    """Return a saved table of transactions."""
    with TemporaryDirectory() as folder:
        table = th.transactions(system(), windows="1h", bins=3, enrich=enrich)
        table.save(Path(folder) / "table.npz")
        return (Path(folder) / "table.npz").read_bytes()


@cache
def detector() -> bytes:
    """Return a detector that has learned from a few days of a plant."""
    with TemporaryDirectory() as folder:
        found = th.Detector(windows="30min", bins=3, memory="2h").fit(plant(6))
        return found.save(Path(folder) / "d.json").read_bytes()


@cache
def later() -> th.SensorData:
    """Return readings for the detector."""
    return th.read_sensors(plant(2, seed=1, first_day=6))


@cache
def detection() -> bytes:
    """Return what ``thence detect --out`` writes."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "d.json").write_bytes(detector())
        fitted = th.Detector.load(Path(folder) / "d.json")
        record = {"detector": fitted.describe(), **fitted.detect(later()).to_dict()}
        return json.dumps(seal(record)).encode()


@cache
def applied_folder() -> Files:
    """Return what ``thence apply --out`` writes."""
    with TemporaryDirectory() as folder:
        run = th.mine(system(), windows="1h", bins=3, enrich="grounded", refine=None, progress="off")
        written = th.apply(run, system()).write(Path(folder) / "applied")
        return {path.name: path.read_bytes() for path in sorted(written.iterdir())}


REPEAT = {"bins": 10, "algorithms": ["de"], "options": {"days": 28}}


@cache
def repeat() -> bytes:
    """Return a stored repeat of an experiment."""
    record = {"row": "Aerial", "at": None, "values": {"rules": 3.0, "confidence": 0.875}, "seconds": 0.1}
    with TemporaryDirectory() as folder:
        stored = Repeat("arm-ae", "hanoi", 3, REPEAT, ("a", "b"), (record,), {"cores": 2})
        return ResultStore(Path(folder)).save(stored).read_bytes()


@cache
def model_folder() -> Files:
    """Return the files of a trained network."""
    from tests.search.aerial.networks import save
    from thence.search.aerial.autoencoder import initialise

    with TemporaryDirectory() as folder:
        save(initialise([2, 3], widths=(4, 2), seed=1), Path(folder))
        return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


@cache
def workbook() -> bytes:
    """Return a workbook of numbers, text, times and a sheet of something else."""
    out = io.BytesIO()
    with xlsxwriter.Workbook(out, {"in_memory": True, "default_date_format": "yyyy-mm-dd hh:mm"}) as book:
        sheet = book.add_worksheet("data")
        sheet.write_row(0, 0, ["time", "flow", "state"])
        for number, time in enumerate(HOURS[:20], start=1):
            sheet.write_datetime(number, 0, time)
            sheet.write_number(number, 1, number * 1.5)
            sheet.write_string(number, 2, ("open", "closed")[number % 2])
        book.add_worksheet("notes").write(0, 0, "made for a test")
        titled = book.add_worksheet("Levels (m)")
        titled.write(0, 0, "Report of plant 7")
        titled.write_row(2, 0, ["time", "tank [m]"])
        titled.write_row(3, 0, ["", "m"])
        for number, time in enumerate(HOURS[:20], start=4):
            titled.write_datetime(number, 0, time)
            titled.write_number(number, 1, number * 0.25)
        book.set_properties({"created": datetime(2024, 1, 1, tzinfo=UTC).replace(tzinfo=None)})
    return out.getvalue()


@cache
def parquet() -> bytes:
    """Return a Parquet file of readings."""
    out = io.BytesIO()
    numbers = np.arange(len(HOURS))
    pl.DataFrame(
        {"time": HOURS, "flow": numbers * 1.5, "state": [("open", "closed")[k % 2] for k in numbers]}
    ).write_parquet(out)
    return out.getvalue()


def as_json(document: object) -> bytes:
    """Return a document as JSON."""
    return json.dumps(document).encode()
