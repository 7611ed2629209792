"""Write the files of a small water utility: an EPANET network, and the export of its SCADA system.

The export is as such exports are: hourly, with days first (31/01/26 14:00), names such as P_117 and S_335, pumps as
0 and 1, an operator's flag that belongs to nothing in the network, two decimals, and a day without readings.

    python examples/first_five_minutes/make_scada.py FOLDER
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import wntr

DAYS = 28


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    source = Path(wntr.__file__).parent / "library" / "networks" / "Net3.inp"
    shutil.copyfile(source, folder / "network.inp")
    network = wntr.network.WaterNetworkModel(str(source))
    rng = np.random.default_rng(7)
    hours = 24 * DAYS
    for name, junction in network.junctions():
        for demand in junction.demand_timeseries_list:
            if demand.base_value == 0:
                continue
            shape = np.array([demand.at(3600 * hour) for hour in range(hours)]) / demand.base_value
            noisy = shape * np.repeat(rng.normal(1, 0.1, DAYS), 24) * rng.normal(1, 0.05, hours)
            network.add_pattern(f"demand_{name}", noisy)
            demand.pattern_name = f"demand_{name}"
    network.options.time.duration = 3600 * (hours - 1)
    network.options.time.pattern_timestep = network.options.time.report_timestep = 3600
    found = wntr.sim.EpanetSimulator(network).run_sim(file_prefix=str(folder / "run"))
    for leftover in folder.glob("run*"):
        leftover.unlink()

    columns: dict[str, pd.Series] = {}
    for name in [*network.junction_name_list[::3], "117", "119"]:
        columns[f"P_{name}"] = found.node["pressure"][name].round(2)
    for name in network.tank_name_list:
        columns[f"L_{name}"] = found.node["pressure"][name].round(2)
    for name in [*network.pump_name_list, *network.pipe_name_list[::4]]:
        columns[f"Q_{name}"] = (3600 * found.link["flowrate"][name]).round(1)
    for name in network.pump_name_list:
        columns[f"S_{name}"] = found.link["status"][name].astype(int)
    columns["operator_flag"] = pd.Series(rng.integers(0, 2, hours), index=found.link["status"].index)
    times = pd.Timestamp("2026-01-01") + pd.to_timedelta(found.link["status"].index, unit="s")
    export = pd.DataFrame({name: series.to_numpy() for name, series in columns.items()})
    export.insert(0, "Time", times.strftime("%d/%m/%y %H:%M"))
    export.drop(index=range(300, 324)).to_csv(folder / "scada.csv", index=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
