"""A process that has everything imported and forks a child per command: a signal then meets the work, not the imports.

It must run nothing itself, since threads do not survive a fork.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from tests.helpers.processes import PATIENCE

PROGRAM = """
import json, os, signal, sys
import pyarrow.parquet, rdflib
import thence.statements.files.rules_json
import thence.statements.files.rules_parquet
import thence.statements.files.tables
import thence.search.exact.miner
import thence.runs.pipeline, thence.show.reports.build, thence.show.reports.run_report
import thence.checks.application.apply, thence.runs.reviews
import thence.checks.monitor.service, thence.lab.datasets.toy, thence.show.explorer.serve
import thence.lab.experiments.procedures
import thence.lab.experiments.page
import thence.data.stores.local_copy
from thence.cli.app import app

for line in sys.stdin:
    arguments, variables = json.loads(line)
    # What Python does after a fork is no part of the command: an interrupt waits until the command begins.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    child = os.fork()
    if child == 0:
        status = 70
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.environ.update(variables)
            status = app(arguments, standalone_mode=False) or 0
        except SystemExit as end:
            status = end.code or 0
        except KeyboardInterrupt:
            status = 130  # before or after the command
        except BaseException as error:
            import traceback
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status if isinstance(status, int) else 0)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""


class Nursery:
    """Runs commands in children of a warm process.

    Args:
        log: The file to which children write their errors.
    """

    def __init__(self, log: Path) -> None:
        self.log = log
        self._errors = log.open("ab")
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env={**os.environ, "THENCE_PROGRESS": "off"},
        )

    def __enter__(self) -> Nursery:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=PATIENCE)
        self._process.stdout.close()
        self._errors.close()

    def run(
        self,
        arguments: list[str],
        *,
        variables: Mapping[str, str] | None = None,
        send: signal.Signals | None = None,
        when: Callable[[], bool] | None = None,
        after: float = 0.0,
    ) -> int:
        """Run a command and return the status of its process, as ``os.waitpid`` gives it.

        Args:
            arguments: The command.
            variables: Further variables of the environment.
            send: A signal to send to it.
            when: Wait with the signal until this holds or the command has ended.
            after: Seconds to wait then.
        """
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps([arguments, dict(variables or {})]) + "\n")
        process.stdin.flush()
        child = int(process.stdout.readline())
        assert child > 1, "a signal to process 0 would end this one"
        if send is not None:
            with suppress(ProcessLookupError):
                while when is not None and not when():
                    os.kill(child, 0)
                    time.sleep(0.001)
                time.sleep(after)
                os.kill(child, send)
        return int(process.stdout.readline())

    def errors(self) -> str:
        """Return what children wrote to standard error."""
        return self.log.read_text(encoding="utf-8", errors="replace")
