"""A mosquitto broker on loopback that can be killed and started again, if mosquitto is installed."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

from tests.helpers.needs import find_program
from tests.helpers.processes import PATIENCE, end, free_port, until

MOSQUITTO = find_program("mosquitto")


class Mosquitto:
    """A broker that keeps its messages on disk.

    Args:
        folder: Where it keeps them.
        queued: Most messages for a client that is away; 0 for no limit.
    """

    def __init__(self, folder: Path, *, queued: int = 0) -> None:
        self.port = free_port()
        folder.mkdir(exist_ok=True)
        self._folder = folder
        self._config = folder / "mosquitto.conf"
        self._config.write_text(
            f"listener {self.port} 127.0.0.1\nallow_anonymous true\npersistence true\nmax_queued_messages {queued}\n"
            f"sys_interval 1\npersistence_location {folder}/\nuser root\n"
        )
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        assert MOSQUITTO is not None
        self._process = subprocess.Popen(
            [MOSQUITTO, "-c", str(self._config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        until(self._answers)

    def _answers(self) -> bool:
        assert self._process is not None and self._process.poll() is None, "mosquitto does not start"
        socket.create_connection(("127.0.0.1", self.port), 10).close()
        return True

    def forget(self) -> None:
        """Lose all sessions and messages, while it is stopped."""
        (self._folder / "mosquitto.db").unlink()

    def stop(self) -> None:
        """Stop as a service does: what it keeps is written to disk."""
        assert self._process is not None
        self._process.terminate()
        try:
            self._process.wait(PATIENCE)
        finally:
            end(self._process)
