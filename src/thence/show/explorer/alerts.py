"""Alerts of a running monitor, read from the file that it writes: whatever was added since the last look.

The file may not exist yet, may be cut or replaced, and its last line may be torn; a line that is no alert is counted
and left out. Must not write anything, and takes no lock of the monitor.
"""

from __future__ import annotations

import json
import os
import threading
import zlib
from collections import Counter, deque
from datetime import datetime
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from thence.errors import InputError
from thence.show.explorer.alert_text import read_alert
from thence.show.explorer.schema import Alert, AlertPage, Monitor

_ALERTS = "alerts.jsonl"
_SNAPSHOT = "state.npz"
_MOST_KEPT = 10_000
_MOST_AT_ONCE = 1_000
_LARGEST_READ = 1 << 24


class AlertReader:
    """The alerts of one monitor; may be used from several threads.

    Alerts are numbered as they are read, 1, 2, 3, …; a file that is cut or replaced is read from its beginning, and
    what was read before is kept.

    Args:
        number: The id of the monitor in the explorer.
        name: What it is called.
        path: The file of alerts.
        state: The folder of its state, if that is known.

    Examples:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "alerts.jsonl"
        ...     watched = AlertReader(0, "plant", path)
        ...     before = watched.page(0)["alerts"]
        ...     alert = {"alert": 1, "kind": "silent", "time": "2024-01-02T00:00:00Z", "message": "x"}
        ...     _ = path.write_text(json.dumps(alert) + chr(10))
        ...     before, [alert["sentence"] for alert in watched.page(0)["alerts"]]
        ([], ['x'])
    """

    def __init__(self, number: int, name: str, path: Path, *, state: Path | None = None) -> None:
        self.number, self.name = number, name
        self._path, self._state = path, state
        self._kept: deque[Alert] = deque(maxlen=_MOST_KEPT)
        self._kinds: Counter[str] = Counter()
        self._at, self._inode, self._read, self._rejected = 0, -1, 0, 0
        self._lock = threading.Lock()

    def page(self, after: int) -> AlertPage:
        """Return the alerts after a given one, the oldest first, at most 1,000.

        Args:
            after: The id of the last alert that is known; 0 for all.
        """
        with self._lock:
            self._look()
            found = [alert for alert in self._kept if alert["id"] > after][:_MOST_AT_ONCE]
            first = self._kept[0]["id"] if self._kept else self._read + 1
            return {
                "alerts": found,
                "last": found[-1]["id"] if found else min(after, self._read) if after else self._read,
                "forgotten": max(first - after - 1, 0) if after < first else 0,
            }

    def describe(self) -> Monitor:
        """Return the monitor as the explorer lists it."""
        with self._lock:
            self._look()
            last = self._kept[-1]["time"] if self._kept else None
            health = {"file": "is read" if self._path.is_file() else "does not exist yet"}
            health |= {kind: f"{count:,}" for kind, count in sorted(self._kinds.items())}
            if self._rejected:
                health["lines that are no alerts"] = f"{self._rejected:,}"
            health |= _snapshot_facts(self._state)
            return {"id": self.number, "name": self.name, "alerts": self._read, "last": last, "health": health}

    def _look(self) -> None:
        """Read what was added since the last look."""
        try:
            with self._path.open("rb") as file:
                stat = os.fstat(file.fileno())
                if stat.st_ino != self._inode or stat.st_size < self._at:
                    self._inode, self._at = stat.st_ino, 0
                while True:
                    file.seek(self._at)
                    data = file.read(_LARGEST_READ)
                    whole = data[: data.rfind(b"\n") + 1]  # a line that is not finished is read next time
                    if not whole:
                        if len(data) == _LARGEST_READ:  # no alert is that long
                            self._at += len(data)
                            self._rejected += 1
                            continue
                        return
                    self._at += len(whole)
                    for line in whole.splitlines():
                        self._take(line)
        except OSError:
            return

    def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            alert = read_alert(json.loads(line.decode("utf-8")), number=self._read + 1, monitor=self.number)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
            self._rejected += 1
            return
        self._read += 1
        self._kinds[alert["kind"]] += 1
        self._kept.append(alert)


def open_monitor(path: str | Path, number: int) -> AlertReader:
    """Watch a monitor: by its file of alerts, or by the folder of its state with ``alerts.jsonl`` in it.

    Args:
        path: The file or the folder.
        number: The id of the monitor in the explorer.

    Raises:
        InputError: If the path is a folder without a monitor in it, or nothing can appear there.
    """
    given = Path(path).absolute()
    if given.is_dir():
        if not (given / _ALERTS).is_file() and not (given / _SNAPSHOT).is_file():
            raise InputError(
                f"holds neither {_ALERTS} nor the state of a monitor",
                where=str(given),
                hint=f"start the monitor with --state {given} --alerts {given / _ALERTS}",
            )
        return AlertReader(number, given.name, given / _ALERTS, state=given)
    if given.suffix.lower() not in (".jsonl", ".json", ".ndjson", ".log", ".txt") or not given.parent.is_dir():
        raise InputError(
            "no such folder or file of alerts",
            where=str(given),
            hint="give the file of 'thence monitor --alerts', or the folder of its --state",
        )
    state = given.parent if (given.parent / _SNAPSHOT).is_file() else None
    return AlertReader(
        number, given.name if given.stem == "alerts" and state is None else given.stem, given, state=state
    )


def _snapshot_facts(folder: Path | None) -> dict[str, str]:
    """What the last snapshot of a monitor says of itself."""
    if folder is None or not (folder / _SNAPSHOT).is_file():
        return {}
    try:
        with np.load(folder / _SNAPSHOT, allow_pickle=False) as stored:
            numbers = json.loads(stored["numbers"].tobytes())
        saved = datetime.fromtimestamp((folder / _SNAPSHOT).stat().st_mtime).astimezone()
        rejected = sum(int(count) for count in numbers.get("rejected", {}).values())
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, BadZipFile, zlib.error):
        return {"state": "cannot be read"}
    out = {"state saved": saved.isoformat(sep=" ", timespec="seconds")}
    return out | ({"messages rejected": f"{rejected:,}"} if rejected else {})
