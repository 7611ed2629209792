"""Cases are read in a watched process: it is ended if a case takes too long or too much memory, and another goes on.

``python -m tests.fuzz.watch`` is that process. It announces each case before it reads it, and tells what became of it.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.fuzz.targets import Target

LIMIT_SECONDS = 10.0  # of processors: a busy machine must not fail a case
PATIENCE = 30  # times as long on the clock, for a case that only waits, but not for a processor
LIMIT_BYTES = 1 << 30
ADDRESS_SPACE = 8 << 30  # beyond what the process has at its start: an allocation at once is not seen by looking
LONGEST_MESSAGE = 5_000
GOOD = ("read", "refused")
Job = tuple[str, int, int]


@dataclass(frozen=True)
class Outcome:
    """What became of a case.

    ``read`` and ``refused`` (an error of Thence) are right. ``foreign`` (another exception), ``message`` (an error
    whose text is too long or has control characters), ``hang``, ``memory`` and ``died`` are defects.
    """

    target: str
    number: int
    kind: str
    detail: str = ""
    seconds: float = 0.0


def judge(read: object, *arguments: object) -> tuple[str, str]:
    """Call a function and return the kind of the outcome and its details."""
    from thence.errors import ThenceError

    try:
        assert callable(read)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            read(*arguments)
    except ThenceError as error:
        text = str(error)
        if len(text) > LONGEST_MESSAGE:
            return "message", f"{len(text)} characters: {text[:200]}"
        if any(ord(letter) < 32 and letter not in "\n\t" for letter in text) or "\x7f" in text:
            return "message", f"control characters: {text[:200]!r}"
        return "refused", type(error).__name__
    except MemoryError as error:
        return "memory", repr(error)[:200]
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # panics of a library are no Exception
        trace, last = error.__traceback__, ""
        while trace is not None:
            if "thence" in trace.tb_frame.f_code.co_filename:
                last = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
            trace = trace.tb_next
        return "foreign", f"{type(error).__name__} at {last}: {str(error)[:300]}"
    return "read", ""


def write_case(files: dict[str, bytes], folder: Path) -> None:
    """Write the files of a case into an empty folder."""
    for name, data in files.items():
        (folder / name).write_bytes(data)


def _work(jobs: list[Job]) -> None:
    """The watched process: read cases, and tell of each on the descriptor that was standard output."""
    told = os.fdopen(os.dup(1), "w", buffering=1)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    from tests.fuzz.targets import MISBEHAVED, find

    warm: set[str] = set()
    for name, first, last in jobs:
        target = find(name)
        if name not in warm:
            _warm(target, skip=name in MISBEHAVED)
            warm.add(name)
        for number in range(first, last):
            with tempfile.TemporaryDirectory() as folder:
                write_case(target.case(name, number), Path(folder))
                told.write(json.dumps([name, number, _resident(os.getpid()), time.process_time()]) + "\n")
                begin = time.process_time()
                kind, detail = judge(target.read, Path(folder))
                seconds = round(time.process_time() - begin, 4)
                told.write(json.dumps([name, number, kind, detail, seconds]) + "\n")


def _warm(target: Target, *, skip: bool) -> None:
    """Load and compile what reading needs, and allow so much more memory than the process has then."""
    for files in () if skip else target.seeds():
        with tempfile.TemporaryDirectory() as folder:
            write_case(files, Path(folder))
            judge(target.read, Path(folder))
    size = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (size + ADDRESS_SPACE, resource.getrlimit(resource.RLIMIT_AS)[1]))


def watch(jobs: Iterable[Job], *, seconds: float = LIMIT_SECONDS) -> Iterator[Outcome]:
    """Read the cases of jobs in watched processes, one after the other, and yield what became of each.

    Args:
        jobs: Target, first and last number (excluded).
        seconds: The longest time of a case, in seconds of processors.
    """
    left = [job for job in jobs if job[1] < job[2]]
    while left:
        last: tuple[str, int] | None = None
        for outcome in _watch_one(left, seconds):
            last = (outcome.target, outcome.number)
            yield outcome
        if last is None:
            raise RuntimeError(f"no case was read of {left}")
        while not (left[0][0] == last[0] and left[0][1] <= last[1] < left[0][2]):  # a target may have several jobs
            left.pop(0)
        left[0] = (left[0][0], last[1] + 1, left[0][2])
        left = [job for job in left if job[1] < job[2]]


def _watch_one(jobs: list[Job], seconds: float) -> Iterator[Outcome]:
    """Yield outcomes until all cases are read, or one has ended the process."""
    errors = tempfile.TemporaryFile()  # noqa: SIM115 - not a pipe, which would be full some time; closed below
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.fuzz.watch", json.dumps(jobs)], stdout=subprocess.PIPE, stderr=errors
    )
    assert process.stdout is not None
    case: tuple[str, int] | None = None
    begin = time.monotonic()
    base, used, queued = 0, 0.0, 0.0
    rest = b""
    why = ""
    try:
        while True:
            ready, _, _ = select.select([process.stdout], [], [], 0.02)
            if ready:
                piece = os.read(process.stdout.fileno(), 1 << 16)
                if not piece:
                    process.wait(timeout=60)
                    break
                *whole, rest = (rest + piece).split(b"\n")
                for line in whole:
                    told = json.loads(line)
                    if len(told) == 4:
                        case, base, used, begin = (told[0], told[1]), told[2], told[3], time.monotonic()
                        queued = _queued(process.pid)
                    else:
                        case = None
                        yield Outcome(*told)
            if case is None:
                continue
            waited = time.monotonic() - begin - (_queued(process.pid) - queued)
            if _processor(process.pid) - used > seconds or waited > PATIENCE * seconds:
                why = "hang"
            elif _resident(process.pid) - base > LIMIT_BYTES:
                why = "memory"
            if why:
                process.kill()
                break
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        errors.seek(0)
        message = errors.read().decode(errors="replace")[-300:]
        errors.close()
    if case is None and process.returncode:
        raise RuntimeError(f"a case of {jobs} could not be made: {message}")
    if case is not None:
        detail = "" if why else f"status {process.returncode}: {message}"
        yield Outcome(*case, why or "died", detail, seconds if why == "hang" else 0.0)


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0


def _processor(pid: int) -> float:
    """Seconds that a process has used of all processors."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return 0.0


def _queued(pid: int) -> float:
    """Seconds that a process has waited for a processor; 0 where the kernel does not count them."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def record(outcome: Outcome) -> str:
    """Return an outcome as a line of JSON."""
    return json.dumps(asdict(outcome))


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _work([tuple(job) for job in json.loads(sys.argv[1])])
    os._exit(0)  # what libraries do at the end of a process is not tested
