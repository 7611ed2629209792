"""Bindings from files, and complete bindings of the public data sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from thence.data.graph.binding import bind
from thence.data.loaders import read_binding, read_graph
from thence.errors import BindingError, GraphError

OPEN_SMART_HOME = {
    "(?P<room>[^_]+)_Temperature": "{room}-temp-Sensor",
    "(?P<room>[^_]+)_ThermostatTemperature": "{room}-tempT-Sensor",
    "(?P<room>[^_]+)_left_ThermostatTemperature": "{room}-tempTli-Sensor",
    "(?P<room>[^_]+)_right_ThermostatTemperature": "{room}-tempTre-Sensor",
    "(?P<room>[^_]+)_Humidity": "{room}-humid-Sensor",
    "(?P<room>[^_]+)_Brightness": "{room}-brigh-Sensor",
    "(?P<room>[^_]+)_SetpointHistory": "{room}-tempS-Actuator",
    # The publisher describes one outdoor sensor; the other series are of the room they are named after.
    "(?P<room>[^_]+)_(Virtual_)?OutdoorTemperature": ["{room}-outTemp-OutSensor", "{room}"],
}


def message(source: Any, **options: str) -> str:
    with pytest.raises(BindingError) as caught:
        read_binding(source, **options)
    return str(caught.value)


def test_csv(tmp_path: Path) -> None:
    file = tmp_path / "b.csv"
    file.write_text("sensor,node,note\nflow,Pipe 1,x\nlevel,Tank 1,\n", encoding="utf-8")
    assert read_binding(file) == {"flow": "Pipe 1", "level": "Tank 1"}
    file.write_text("tag;place\nflow;Pipe 1\nflow;Pipe 1\n", encoding="utf-8")
    assert read_binding(file, sensor="tag", node="place") == {"flow": "Pipe 1"}
    assert "missing column 'sensor'" in message(file) and "name the columns with sensor= and node=" in message(file)
    file.write_text("sensor,node\nflow,Pipe 1\nflow,Pipe 2\nlevel,\n", encoding="utf-8")
    text = message(file)
    assert "line 3: sensor 'flow' is bound to 'Pipe 2' and to 'Pipe 1'" in text
    assert "line 4: sensor and node must be non-empty strings, got 'level' and ''" in text


def test_json(tmp_path: Path) -> None:
    file = tmp_path / "b.json"
    file.write_text('{"flow": "Pipe 1"}', encoding="utf-8")
    assert read_binding(file) == {"flow": "Pipe 1"}
    file.write_text(json.dumps([{"sensor": "flow", "node": "Pipe 1"}]), encoding="utf-8")
    assert read_binding(file) == {"flow": "Pipe 1"}
    file.write_text('{"flow": "Pipe 1", "flow": "Pipe 2", "level": 3}', encoding="utf-8")
    text = message(file)
    assert "key 'flow': sensor 'flow' is bound to 'Pipe 2' and to 'Pipe 1'" in text
    assert "key 'level': sensor and node must be non-empty strings, got 'level' and 3" in text
    file.write_text('[{"sensor": "flow"}]', encoding="utf-8")
    assert "[0]: sensor and node must be non-empty strings, got 'flow' and None" in message(file)
    file.write_text("3", encoding="utf-8")
    assert "this JSON is not a binding" in message(file)
    file.write_text("{\n", encoding="utf-8")
    assert "line 2, column 1: not valid JSON" in message(file)


def test_the_format_is_the_suffix_or_given(tmp_path: Path) -> None:
    file = tmp_path / "b.xyz"
    file.write_text("sensor,node\nflow,Pipe 1\n", encoding="utf-8")
    assert f"no binding format has the suffix of {file} (known suffixes are .csv, .json, .ttl" in message(file)
    assert read_binding(file, format="csv") == {"flow": "Pipe 1"}
    assert "unknown binding format 'cvs' (did you mean 'csv'?)" in message(file, format="cvs")
    other = tmp_path / "b.csv"
    other.write_text("sensor,node\nflow,Pipe 1\n", encoding="utf-8")
    with pytest.raises(GraphError, match="a binding takes one file, got 2"):
        read_binding([other, other])


def test_references_in_rdf(tmp_path: Path) -> None:
    file = tmp_path / "b.ttl"
    prefixes = """@prefix brick: <https://brickschema.org/schema/Brick#> . @prefix sosa: <http://www.w3.org/ns/sosa/> .
        @prefix ref: <https://brickschema.org/schema/Brick/ref#> . @prefix dct: <http://purl.org/dc/terms/> .
        @prefix : <http://x/> . """
    file.write_text(
        prefixes
        + """:t a brick:Point ; ref:hasExternalReference [ a ref:TimeseriesReference ; ref:hasTimeseriesId "ts1" ] .
        :u a brick:Point ; brick:timeseries [ brick:hasTimeseriesId "ts2" ; brick:storedAt "db" ] .
        :v a brick:Point ; ref:hasTimeseriesId "ts3" .""",
        encoding="utf-8",
    )
    assert read_binding(file) == {"ts1": "t", "ts2": "u", "ts3": "v"}
    file.write_text(prefixes + ':s a sosa:Sensor ; dct:identifier "S7" . :a a sosa:Actuator .', encoding="utf-8")
    assert read_binding(file) == {"S7": "s", "a": "a"}
    file.write_text(prefixes + ':s ref:hasTimeseriesId "x" . :t ref:hasTimeseriesId "x" .', encoding="utf-8")
    assert "series 'x' belongs to s and t" in message(file)
    file.write_text(prefixes + ":s a brick:Point .", encoding="utf-8")
    assert "has no time series references" in message(file)


def test_the_fan_coil_binding(published: Path) -> None:
    folder = published / "lbnl_fcu_meta"
    graph = read_graph(folder / "LBNL_FDD_Data_Sets_FCU_corrected_version.ttl")
    binding = read_binding(folder / "lbnl_binding.json")
    assert len(binding) == 29 and binding["fcu_zone_Zone_Air_Temperature_Sensor"] == "RM_TEMP"
    binding.check(list(binding), graph)
    assert bind(list(binding), graph, table=binding) == binding


def test_open_smart_home_binds_all_its_series(published: Path) -> None:
    graph = read_graph(published / "opensmarthome")
    series = sorted(file.stem for file in (published / "opensmarthome" / "Measurements").glob("*.csv"))
    binding = bind(series, graph, rule=OPEN_SMART_HOME)
    assert len(series) == 37 and set(binding) == set(series) and not binding.left_out
    binding.check(series, graph)
    labels = {s: graph.node(n).labels for s, n in binding.items()}
    assert all("TemperatureSensor" in labels[s] for s in series if s.endswith("_Temperature"))
    assert all("ThermostatTemperatureSensor" in labels[s] for s in series if s.endswith("_ThermostatTemperature"))
    assert all("HumiditySensor" in labels[s] for s in series if s.endswith("_Humidity"))
    assert all("LightSensor" in labels[s] for s in series if s.endswith("_Brightness"))
    assert all("Actuator" in labels[s] for s in series if s.endswith("_SetpointHistory"))
    assert binding["Room3_Virtual_OutdoorTemperature"] == "Room3-outTemp-OutSensor"
    assert binding["Kitchen_Virtual_OutdoorTemperature"] == "Kitchen" and "Space" in graph.node("Kitchen").labels
    assert graph.value("wall_05b047f8-dd03-4cd9-a50c-d5d18c6f7ab7-0004d8eb", "dimensionsWidth") == 260.0
    # Its connection points carry the identifiers that the installation used.
    assert len(read_binding(published / "opensmarthome")) == 32
    assert bind(["KITemp"], graph)["KITemp"] == "Kitchen-temp-Sensor"


def test_citybench_binds_all_its_sensors(published: Path) -> None:
    graph = read_graph(published / "citybench" / "SensorRepository.n3")
    assert len(graph.with_label("Sensor")) == 899
    numbers = [c for c in pl.read_parquet_schema(published / "citybench" / "traffic_avgSpeed.parquet") if c.isdigit()]
    assert len(numbers) == 449
    binding = bind(numbers, graph, rule={r"(?P<n>\d+)": "AarhusTrafficData{n}"})
    assert len(set(binding.values())) == 449
    assert all("Sensor" in graph.node(node).labels for node in binding.nodes)
