"""References to series with the same id in several files: readings are bound by their file."""

from __future__ import annotations

from pathlib import Path

import pytest

import thence as th
from thence.errors import BindingError

BRICK = "https://brickschema.org/schema/Brick"
PREFIXES = f"@prefix brick: <{BRICK}#> .\n@prefix ref: <{BRICK}/ref#> .\n@prefix : <urn:x#> .\n"


def write(folder: Path, stored: str) -> tuple[Path, Path, Path]:
    """Two buildings in one graph whose series have the same id, and a file of readings for each."""
    text = PREFIXES
    for name in ("north", "south"):
        place = stored.format(name)
        text += f":{name}_temp a brick:Zone_Air_Temperature_Sensor ; ref:hasExternalReference [ "
        text += f'a ref:TimeseriesReference ; ref:hasTimeseriesId "t1" ; ref:storedAt {place} ] .\n'
        rows = "\n".join(f"2024-01-01T{hour:02}:00:00Z,{20 + hour}" for hour in range(5))
        (folder / f"{name}.csv").write_text(f"time,t1\n{rows}\n")
    (folder / "both.ttl").write_text(text)
    return folder / "north.csv", folder / "south.csv", folder / "both.ttl"


@pytest.mark.parametrize("stored", ['"{}.csv"', '"data/{}.csv"', ":{}"])
def test_readings_are_bound_to_the_nodes_of_their_file(tmp_path: Path, stored: str) -> None:
    north, south, graph = write(tmp_path, stored)
    for path in (north, south):
        system = th.read_system(path, graph)
        assert system.binding is not None
        assert system.binding["t1"].endswith(f"{path.stem}_temp")


def test_without_the_file_in_the_graph_the_id_stays_ambiguous(tmp_path: Path) -> None:
    north, _, graph = write(tmp_path, '"{}-2023.csv"')
    with pytest.raises(BindingError):
        th.read_system(north, graph)
