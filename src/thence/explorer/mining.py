"""A search of its own process: reads a job from a folder, mines, and writes the run into the folder.

Run by ``thence.explorer.jobs`` as ``python -m thence.explorer.mining FOLDER``. Progress goes to standard output as JSON
lines. It ends when its standard input is closed, so that it does not outlive the explorer.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
import threading
import time
from pathlib import Path
from typing import Any

from thence.errors import ThenceError

__all__ = ["CONFIG", "RUN", "SYSTEM", "main", "mine_job"]

CONFIG, SYSTEM, RUN = "config.toml", "system.pickle", "run"
"""The files of a job: what to do, the data if the configuration does not name them, and the result."""
_PAUSE = 0.2


def mine_job(folder: Path, *, tell: Any) -> None:
    """Do the job in a folder.

    Args:
        folder: The folder, with a configuration in it.
        tell: Called with what a line of progress holds.
    """
    from thence.runs.configuration import Config
    from thence.runs.pipeline import mine, run_config

    last: list[Any] = ["", 0.0]

    def progress(stage: str, done: float, total: float, note: str = "") -> None:
        now = time.monotonic()
        if stage != last[0] or now - last[1] > _PAUSE:
            last[:] = [stage, now]
            share = min(max(done / total, 0.0), 1.0) if total else None
            tell({"stage": stage, "share": share, "message": note})

    config = Config.from_toml(folder / CONFIG, check=False)
    given = folder / SYSTEM
    if given.is_file():
        # Written by the explorer into a folder that only this user can read.
        system = pickle.loads(given.read_bytes())
        run = mine(system, config=config, progress=progress)
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
