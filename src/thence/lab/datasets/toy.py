"""The toy data set: three junctions in a row, two pipes between them, five sensors, two days at 30 minutes.

Made by hand and included in the package. It contains one known rule: whenever the flow in pipe AB is 40 m³/h or more
(20 of the 96 readings), the pressure at junction C is below 41 m.
"""

from __future__ import annotations

import polars as pl

from thence.data.datasets.named import NamedDataset
from thence.data.graph.system import System, label_frame
from thence.data.loaders import read_binding, read_graph, read_ontology
from thence.data.readings.sensors import SensorData
from thence.lab.datasets.folders import packaged_file
from thence.lab.datasets.water import Gauge


def load() -> System:
    """Load the toy data set.

    >>> toy = load()
    >>> toy.sensors.ids
    ('pressure_A', 'pressure_B', 'pressure_C', 'flow_AB', 'flow_BC')
    >>> toy.binding["flow_AB"], toy.graph.neighbours("Pipe AB")
    ('Pipe AB', {'Junction A': 1, 'Junction B': 1})
    """
    frame = pl.read_csv(packaged_file("toy_readings.csv")).with_columns(
        pl.col("time").str.to_datetime("%Y-%m-%dT%H:%M:%SZ", time_unit="us").dt.replace_time_zone("UTC")
    )
    sensors = [Gauge.from_id(column).sensor for column in frame.columns if column != "time"]
    return System(
        name="toy",
        sensors=SensorData.from_wide(frame, sensors=sensors, source="toy_readings.csv"),
        graph=read_graph(packaged_file("toy_graph.json")),
        ontology=read_ontology("water"),
        binding=read_binding(packaged_file("toy_binding.csv")),
        labels=label_frame([]),
        description="three junctions, two pipes, five sensors, two days at 30 min",
        source="made by hand for Thence",
    )


DATASET = NamedDataset("toy", "five sensors on two pipes, two days, made by hand", "nothing", load)
