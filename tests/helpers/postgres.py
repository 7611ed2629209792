"""A PostgreSQL server on loopback, if PostgreSQL is installed and can be started as its own user."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from tests.helpers.needs import find_program
from tests.helpers.processes import PATIENCE, free_port

INITDB, SERVER = find_program("initdb"), find_program("pg_ctl")


@contextmanager
def postgres_server(password: str) -> Iterator[str]:
    """Yield the URL of a fresh server, with the password in it."""
    folder = Path(tempfile.mkdtemp(prefix="thence-postgres-"))
    shutil.chown(folder, "postgres")
    (folder / "word").write_text(password)
    shutil.chown(folder / "word", "postgres")

    def as_postgres(*command: str, check: bool = True) -> int:
        return subprocess.run(command, user="postgres", cwd=folder, check=check, stdout=subprocess.DEVNULL).returncode

    initdb = [str(INITDB), "-D", f"{folder}/data", "-A", "scram-sha-256", f"--pwfile={folder}/word"]
    as_postgres(*initdb, "-E", "UTF8", "--locale=C")
    control = [str(SERVER), "-D", f"{folder}/data", "-w", "-t", f"{PATIENCE:.0f}"]
    try:
        for _ in range(3):  # another program may have taken the port meanwhile
            port = free_port()
            options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off"
            if not as_postgres(*control, "-l", f"{folder}/log", "-o", options, "start", check=False):
                break
        else:
            raise AssertionError((folder / "log").read_text())
        yield f"postgresql://postgres:{quote(password, safe='')}@127.0.0.1:{port}/postgres"
    finally:
        as_postgres(*control, "-m", "immediate", "stop", check=False)
        shutil.rmtree(folder)
