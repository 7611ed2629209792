"""A search of its own process: reads a job from a folder, mines, and writes the run into the folder.

Run by ``thence.show.explorer.jobs`` as ``python -m thence.show.explorer.mining FOLDER``. Progress goes to standard
output as JSON lines. It ends when its standard input is closed, so that it does not outlive the explorer.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thence.errors import ThenceError

if TYPE_CHECKING:
    from thence.data.graph.sites import AnySystem
    from thence.data.graph.system import System

__all__ = ["CONFIG", "RUN", "SYSTEMS", "main", "mine_job", "read_systems", "write_systems"]

CONFIG, SYSTEMS, RUN = "config.toml", "systems", "run"
"""The files of a job: what to do, the data if the configuration does not name them, and the result."""
_PAUSE = 0.2
_ABOUT = "about.json"


def write_systems(system: AnySystem, folder: Path) -> None:
    """Write data that no configuration names as files: a folder per system.

    Args:
        system: The system, or the several that are mined together.
        folder: The folder to make.
    """
    from thence._base.settings.toml import toml_text
    from thence.data.graph.sites import Sites
    from thence.data.stores.local_copy import write_copy

    for number, one in enumerate(system.systems if isinstance(system, Sites) else (system,)):
        place = folder / f"{number:04}"
        place.mkdir(parents=True)
        about = {name: getattr(one, name) for name in ("name", "description", "source")}
        (place / _ABOUT).write_text(json.dumps(about), encoding="utf-8")
        (place / CONFIG).write_text(toml_text({"input": write_copy(one, place)}), encoding="utf-8")


def read_systems(folder: Path) -> list[System]:
    """Read what ``write_systems`` wrote.

    Args:
        folder: The folder.
    """
    from thence.runs.configuration import Config
    from thence.runs.inputs import load_system

    systems = []
    for place in sorted(folder.iterdir()):
        about = json.loads((place / _ABOUT).read_bytes())
        given = Config.from_toml(place / CONFIG, check=False).input
        systems.append(replace(load_system(given), **about))
    return systems


def mine_job(folder: Path, *, tell: Any) -> None:
    """Do the job in a folder.

    Args:
        folder: The folder, with a configuration in it.
        tell: Called with what a line of progress holds.
    """
    from thence.runs.configuration import Config
    from thence.runs.pipeline import run_config
    from thence.show.reports.mining import mine

    last: list[Any] = ["", 0.0]

    def progress(stage: str, done: float, total: float, note: str = "") -> None:
        now = time.monotonic()
        if stage != last[0] or now - last[1] > _PAUSE:
            last[:] = [stage, now]
            share = min(max(done / total, 0.0), 1.0) if total else None
            tell({"stage": stage, "share": share, "message": note})

    config = Config.from_toml(folder / CONFIG, check=False)
    if (folder / SYSTEMS).is_dir():
        systems = read_systems(folder / SYSTEMS)
        run = mine(systems if len(systems) > 1 else systems[0], config=config, progress=progress)
    else:
        run = run_config(config, progress=progress)
    run.save(folder / RUN)


def main(folder: str) -> int:
    """Do the job in a folder, and print lines of progress; return the exit status.

    Args:
        folder: The folder.
    """
    lock = threading.Lock()
    out = sys.stdout

    def tell(line: dict[str, Any]) -> None:
        with lock:
            out.write(json.dumps(line) + "\n")
            out.flush()

    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        mine_job(Path(folder), tell=tell)
    except ThenceError as error:
        tell({"error": error.message, "hint": error.hint or ""})
        return 1
    except MemoryError:
        tell({"error": "the search needs more memory than there is", "hint": "raise min_support, or allow fewer items"})
        return 1
    tell({"done": True})
    return 0


def _end_with_parent() -> None:
    """End this process when nobody holds the other end of standard input any more."""
    while os.read(0, 1):  # not through sys.stdin, whose lock a thread must not hold at exit
        pass
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
