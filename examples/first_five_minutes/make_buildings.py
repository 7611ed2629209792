"""Write two office buildings: a Brick model and readings each, with different equipment, names and steps.

The north building has two air handling units with a cooling coil, and reads every 15 minutes. The south building has
three units with a cooling and a heating coil, reads every 30 minutes in another month, and names its units otherwise.

    python examples/first_five_minutes/make_buildings.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

HEAD = """@prefix brick: <https://brickschema.org/schema/Brick#> .
@prefix ref: <https://brickschema.org/schema/Brick/ref#> .
@prefix unit: <http://qudt.org/vocab/unit/> .
@prefix : <urn:{name}#> .

"""
POINTS = {
    "Supply_Air_Temperature_Sensor": "DEG_C",
    "Mixed_Air_Temperature_Sensor": "DEG_C",
    "Cooling_Valve_Command": "PERCENT",
    "Heating_Valve_Command": "PERCENT",
    "Fan_On_Off_Status": None,
    "Zone_Air_Temperature_Sensor": "DEG_C",
}


def simulate(rng: np.random.Generator, times: pd.DatetimeIndex, warmth: float, *, heating: bool) -> pd.DataFrame:
    """Readings of one unit: the fan follows the working day, the valves follow the mixed air, the zone follows both."""
    hour = times.hour + times.minute / 60
    weekday = times.day_of_week < 5
    on = weekday & (hour >= 6.5 + rng.uniform(-0.5, 0.5)) & (hour < 18.5)
    outside = warmth + 8 * np.sin((hour - 9) / 24 * 2 * np.pi) + rng.normal(0, 0.15, len(times)).cumsum()
    mixed = np.where(on, 0.4 * outside + 0.6 * 22.5, 21.0) + rng.normal(0, 0.2, len(times))
    cooling = np.where(on, np.clip(25 * (mixed - 15), 0, 100), 0.0)
    warming = np.where(on & heating, np.clip(25 * (15 - mixed), 0, 100), 0.0)
    supply = np.where(on, mixed - 0.06 * cooling + 0.06 * warming, 21.0) + rng.normal(0, 0.2, len(times))
    zone = 22 + np.where(on, 0.12 * (supply - 15), 0.15 * (outside - 20)) + rng.normal(0, 0.2, len(times))
    out = pd.DataFrame(
        {
            "Supply_Air_Temperature_Sensor": supply.round(1),
            "Mixed_Air_Temperature_Sensor": mixed.round(1),
            "Cooling_Valve_Command": cooling.round(0),
            "Fan_On_Off_Status": on.astype(int),
            "Zone_Air_Temperature_Sensor": zone.round(1),
        }
    )
    if heating:
        out["Heating_Valve_Command"] = warming.round(0)
    return out


def write(folder: Path, name: str, units: list[str], times: pd.DatetimeIndex, *, warmth: float, heating: bool) -> None:
    """Write ``model.ttl`` and ``readings.csv`` of one building."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(len(units))
    model = HEAD.format(name=name) + f":{name} a brick:Building .\n"
    columns: dict[str, object] = {"time": times.strftime("%Y-%m-%d %H:%M:%S")}
    for unit in units:
        model += f":{unit} a brick:AHU ; brick:hasLocation :{name} .\n"
        for number, (point, readings) in enumerate(simulate(rng, times, warmth, heating=heating).items()):
            series = f"{unit.lower()}-{number}"
            columns[series] = readings
            of_unit = f" ; brick:hasUnit unit:{POINTS[point]}" if POINTS[point] else ""
            model += f":{unit} brick:hasPoint :{unit}.{point} .\n:{unit}.{point} a brick:{point}{of_unit} ;\n"
            model += f'    ref:hasExternalReference [ a ref:TimeseriesReference ; ref:hasTimeseriesId "{series}" ] .\n'
    (folder / "model.ttl").write_text(model, encoding="utf-8")
    pd.DataFrame(columns).to_csv(folder / "readings.csv", index=False)


def main(folder: Path) -> None:
    june = pd.date_range("2026-06-01", "2026-06-28 23:45", freq="15min")
    april = pd.date_range("2026-04-01", "2026-04-28 23:30", freq="30min")
    write(folder / "north", "north", ["AHU1", "AHU2"], june, warmth=22.0, heating=False)
    write(folder / "south", "south", ["RTU_A", "RTU_B", "RTU_C"], april, warmth=11.0, heating=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
