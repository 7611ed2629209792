"""Searches that run in the background: one at a time, each in a process of its own that can be ended.

A search writes its run into a folder of the explorer, which is removed when the explorer ends unless the run is saved.
Must not know requests.
"""

from __future__ import annotations

import json
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from thence._base.atomic import new_folder
from thence.errors import ConfigError, RunError, ThenceError
from thence.runs.run import load_run
from thence.show.explorer.constraints import constrained_config
from thence.show.explorer.mining import CONFIG, RUN, SYSTEMS, write_systems
from thence.show.explorer.open_run import OpenRun
from thence.show.explorer.problems import RequestError
from thence.show.explorer.schema import Job, Saved

__all__ = ["Jobs"]

_PATIENCE = 5.0
_MOST_JOBS = 100


class Jobs:
    """The searches of an explorer.

    Args:
        add: Opens a run; called with the run, ``name``, ``saved`` and ``system``.
    """

    def __init__(self, add: Callable[..., OpenRun]) -> None:
        self._add = add
        self._jobs: dict[str, Job] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._running: str | None = None
        self._origins: dict[int, OpenRun] = {}
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._lock = threading.RLock()

    def start(self, origin: OpenRun, wishes: Mapping[str, Any]) -> Job:
        """Mine the data of a run again, with other constraints and thresholds.

        Args:
            origin: The run.
            wishes: What a client wishes, a ``MineRequest``.

        Raises:
            RequestError: If a wish is not understood, the data are not at hand, or another search is running.
        """
        material = origin.material
        if material.table is None:
            why = material.why or "The data of the run are not at hand."
            raise RequestError(why, hint="wait until they are read, or mine again with 'thence mine'", status=409)
        config = constrained_config(origin.run.config, wishes, material.table.features)
        named = any(one.dataset is not None or one.sensors is not None for one in (config.input, *config.system))
        if not named and material.system is None:
            raise RequestError(
                "the table was given in memory, so it cannot be mined again here", hint="call thence.mine", status=409
            )
        with self._lock:
            if self._running is not None:
                raise RequestError("another search is running", hint="wait for it or cancel it", status=409)
            if len(self._jobs) >= _MOST_JOBS:
                del self._jobs[next(iter(self._jobs))]
            number = secrets.token_hex(8)
            folder = self._new_folder(number)
            (folder / CONFIG).write_text(config.to_toml(), encoding="utf-8")
            if not named:
                assert material.system is not None
                write_systems(material.system, folder / SYSTEMS)
            job: Job = {"id": number, "state": "running", "stage": "start", "share": None, "message": "", "run": None}
            self._jobs[number], self._running = job, number
            with (folder / "errors.txt").open("wb") as errors:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "thence.show.explorer.mining", str(folder)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                )
            args = (job, self._process, folder, origin)
            threading.Thread(target=self._follow, args=args, daemon=True, name="mining").start()
            return Job(**job)

    def get(self, number: str) -> Job:
        """Return a search.

        Args:
            number: Its id.

        Raises:
            ConfigError: If there is none.
        """
        with self._lock:
            if number not in self._jobs:
                raise ConfigError(f"there is no search '{number[:40]}'")
            return Job(**self._jobs[number])

    def cancel(self, number: str) -> Job:
        """End a search; one that has ended stays as it is.

        Args:
            number: Its id.
        """
        self.get(number)
        with self._lock:
            job = self._jobs[number]
            if job["state"] == "running":
                job["state"], job["message"] = "cancelled", "cancelled"
                if self._process is not None:
                    self._process.kill()
        return self.get(number)

    def save(self, opened: OpenRun) -> Saved:
        """Write the run of a search beside the run that it came from; the explorer chooses the name.

        Args:
            opened: The run.

        Raises:
            RequestError: If the run is not one of a search, or the one it came from has no folder.
        """
        with self._lock:
            origin = self._origins.get(opened.number)
            if opened.saved or origin is None or opened.run.path is None:
                raise RequestError("the run is saved already, or was not made here", status=409)
            root = origin
            while not root.saved and root.number in self._origins:
                root = self._origins[root.number]
            if root.run.path is None or not root.saved:
                raise RequestError(
                    "the first run has no folder", hint="save it from Python with run.save(path)", status=409
                )
            target = _free_folder(root.run.path)
            skip = shutil.ignore_patterns("*.lock")
            with new_folder(target) as draft:
                shutil.copytree(opened.run.path, draft, dirs_exist_ok=True, ignore=skip)
            opened.run, opened.name, opened.saved = replace(opened.run, path=target), target.name, True
            return {"run": opened.number, "name": target.name}

    def close(self) -> None:
        """End the search that is running, and remove what was not saved."""
        with self._lock:
            if self._running is not None:
                self.cancel(self._running)
            process, self._process = self._process, None
            folder, self._folder = self._folder, None
        if process is not None:
            process.wait(_PATIENCE)
        if folder is not None:
            folder.cleanup()

    def _new_folder(self, number: str) -> Path:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="thence-explorer-", ignore_cleanup_errors=True)
        path = Path(self._folder.name) / number
        path.mkdir()
        return path

    def _follow(self, job: Job, process: subprocess.Popen[bytes], folder: Path, origin: OpenRun) -> None:
        """Read the lines of a search until it ends, and open its run."""
        assert process.stdout is not None
        said = self._listen(job, process.stdout)
        status = process.wait()
        process.stdout.close()
        if process.stdin is not None:
            process.stdin.close()
        opened = None
        if status == 0 and said.get("done") and job["state"] == "running":
            try:
                run = load_run(folder / RUN)
                system = origin.material.system
                opened = self._add(run, name=f"{origin.name}, mined again", saved=False, system=system)
            except (ThenceError, OSError) as error:
                said = {"error": str(error)}
        with self._lock:
            if job["state"] == "running" and opened is not None:
                self._origins[opened.number] = origin
                rules = len(opened.run.rules)
                message = f"{rules:,} rule{'' if rules == 1 else 's'}"
                job.update({"state": "done", "stage": "done", "share": 1.0, "message": message, "run": opened.number})
            elif job["state"] == "running":
                why, hint = said.get("error", "the search ended without a result"), said.get("hint", "")
                job.update({"state": "failed", "share": None, "message": f"{why}{f' ({hint})' if hint else ''}"})
            self._running = None

    def _listen(self, job: Job, lines: IO[bytes]) -> dict[str, Any]:
        """Take the progress from the lines of a search, and return the last line that says how it ended."""
        said: dict[str, Any] = {}
        for line in lines:
            try:
                told = json.loads(line)
            except ValueError:
                continue
            if not isinstance(told, dict):
                continue
            if "done" in told or "error" in told:
                said = told
                continue
            with self._lock:
                if job["state"] == "running" and isinstance(told.get("stage"), str):
                    share = told.get("share")
                    job["stage"], job["message"] = told["stage"], str(told.get("message", ""))
                    job["share"] = float(share) if isinstance(share, (int, float)) else None
        return said


def _free_folder(path: Path) -> Path:
    """A name beside a folder that nothing has yet."""
    for number in range(2, 10_000):
        target = path.with_name(f"{path.name}-{number}")
        if not target.exists() and not target.is_symlink():
            return target
    raise RunError("no free name beside the run", where=str(path))
