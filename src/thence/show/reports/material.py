"""What a report is made of: a run, and the system, readings and table behind it as far as they are available.

In the process that mined, all of it is in memory. For a run that was read from disk, ``recover`` reads again what the
configuration names and uses it only if it is what was mined. Must not draw or write anything.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from thence._base.progress import Progress, silent
from thence.data.graph.system import System
from thence.data.readings.windows import WindowedReadings
from thence.errors import ThenceError
from thence.runs.configuration import BUILT_IN_ONTOLOGY, Config, InputConfig
from thence.runs.frames import build_rows, read_rows
from thence.runs.inputs import load_job
from thence.runs.preparation import prepare
from thence.runs.provenance import hash_files, hash_table
from thence.runs.run import Run
from thence.search.refine.sharpening import cut_for
from thence.statements.counting.recount import count_rules
from thence.tables.transactions import FeatureTable, TransactionTable

_PARTS = ("sensors", "graph", "binding", "ontology")


@dataclass(frozen=True, eq=False)
class Material:
    """A run with what is available of the data behind it.

    Args:
        run: The run.
        system: What was mined: sensors, graph, binding.
        readings: The readings as they were mined: in windows, with derived values.
        table: The table that was mined.
        why: Why something is missing, as a sentence; empty if nothing is.

    Examples:
        >>> import thence as th
        >>> run = th.mine(th.datasets.load("toy"), windows="1h", bins=3, progress="off")
        >>> material_of(run).why
        ''
    """

    run: Run
    system: System | None = None
    readings: WindowedReadings | None = None
    table: TransactionTable | FeatureTable | None = None
    why: str = ""

    @property
    def transactions(self) -> TransactionTable | None:
        """The table, if its rules can be counted on codes."""
        return self.table if isinstance(self.table, TransactionTable) else None


def material_of(run: Run, *, system: System | None = None, progress: Progress = silent) -> Material:
    """Return the material of a run: from memory if it was mined in this process, otherwise read again.

    Args:
        run: The run.
        system: The system that was mined, if the run was read from disk and its configuration does not name files.
        progress: Called with the progress of reading.
    """
    if system is not None and run.system is None:
        return _from_system(run, system)
    if run.table is not None:
        return Material(run, run.system, run.readings, run.table)
    return recover(run, progress=progress)


def recover(run: Run, *, progress: Progress = silent) -> Material:
    """Read again what the configuration of a run names, and check that it is what was mined.

    Never raises because of the inputs: what cannot be read, or is not what was mined, is not used, and ``why`` says so.

    Args:
        run: A run that was read from disk.
        progress: Called with the progress of reading.

    Examples:
        >>> import tempfile, thence as th
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = th.mine(config=th.Config.from_mapping({"input": {"dataset": "toy"}}), out=f"{folder}/a",
        ...                 progress="off")
        ...     material = recover(th.load_run(f"{folder}/a"))
        >>> material.system
        System 'toy': 5 sensors, 5 nodes, 4 edges, 0 labelled periods; made by hand for Thence
    """
    if not _names_inputs(run.config):
        return Material(run, why="The run was made from objects in memory, so its data cannot be read again.")
    changed = _changed_inputs(run)
    if changed:
        return Material(run, why=changed)
    try:
        if run.config.input.has_rows:
            frame = read_rows(run.config.input.sensors, run.config.input)
            table = build_rows(frame, run.config.input, run.config.discretize)
            return _if_same(Material(run, table=table))
        return _from_system(run, load_job(run.config, progress=progress))
    except ThenceError as error:
        return Material(run, why=f"The data of the run cannot be read again: {_short(error)}.")
    except (OSError, ValueError, KeyError, TypeError) as error:
        return Material(run, why=f"The data of the run cannot be read again ({type(error).__name__}).")


def _from_system(run: Run, system: System) -> Material:
    """The material of a run and the system that was mined, built as it was then."""
    try:
        data = prepare(system, run.config)
        table = data.numbers if run.discretizer is None else data.table
        return _if_same(Material(run, system, data.readings, table))
    except ThenceError as error:
        return Material(run, why=f"The table of the run cannot be built again: {_short(error)}.")


def _if_same(material: Material) -> Material:
    """The material, if its table is the one that was mined."""
    run = material.run
    if run.config.refine.sharpen and isinstance(material.table, TransactionTable):
        return _if_counted(replace(material, table=cut_for(run.rules, material.table)))
    recorded = _inputs_of(run).get("table_sha256")
    if recorded is None or (material.table is not None and hash_table(material.table) == recorded):
        return material
    return Material(run, why="The data give another table today than the one that was mined, so they are not used.")


def _if_counted(material: Material) -> Material:
    """The material of a run with sharpened ranges, if its rules have the same counts on the table."""
    run = material.run
    denominator = run.config.miner.settings.get("denominator", "present")
    assert material.table is not None
    again = count_rules(run.rules, material.table, denominator=denominator).counts
    names = ("n", "n_antecedent", "n_consequent", "n_both")
    if all(np.array_equal(getattr(again, name), getattr(run.rules.counts, name)) for name in names):
        return material
    why = "The data give other counts of the sharpened rules today than when they were mined, so they are not used."
    return Material(run, why=why)


def _names_inputs(config: Config) -> bool:
    """Whether a configuration names what to read."""
    return any(one.dataset is not None or one.sensors is not None for one in (config.input, *config.system))


def _inputs_of(run: Run) -> dict[str, Any]:
    inputs = run.provenance.get("inputs")
    return inputs if isinstance(inputs, dict) else {}


def _changed_inputs(run: Run) -> str:
    """What is no longer as it was mined, as a sentence; empty if nothing is known to differ."""
    recorded = _inputs_of(run)
    parts: list[tuple[InputConfig, dict[str, Any]]] = [(run.config.input, recorded)]
    systems = recorded.get("systems")
    parts += [(one, systems.get(one.name) or {}) for one in run.config.system if isinstance(systems, dict)]
    for given, known in parts:
        for name in _PARTS:
            before = known.get(name)
            if not isinstance(before, list):
                continue
            now = {one["path"]: one["sha256"] for one in hash_files(_paths(given, name))}
            for one in before:
                path = one.get("path", "")
                if path not in now:
                    return f"The file {path}, which the run was mined from, is not there."
                if now[path] != one.get("sha256"):
                    return f"The file {path} has changed since the run was mined."
            if len(now) > len(before):
                return f"There are more files of {name} than the run was mined from."
    return ""


def _paths(given: InputConfig, name: str) -> list[str]:
    paths = getattr(given, name)
    listed = [paths] if isinstance(paths, str) else list(paths or ())
    return [path for path in listed if name != "ontology" or path != BUILT_IN_ONTOLOGY]


def _short(error: ThenceError) -> str:
    return f"{error.where}: {error.message}" if error.where else error.message
