"""Running experiments: which repeats are missing, doing them in one or several processes, and writing what came out."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from thence.errors import ConfigError, RunError, nearest, require
from thence.experiments.claims import Verdict, judge
from thence.experiments.files import Experiment, Parameters, as_mapping, experiment_names, read_experiment, read_setup
from thence.experiments.procedures import PROCEDURES
from thence.experiments.samples import load_data, made_from
from thence.experiments.store import Repeat, Store
from thence.experiments.summary import Results, summarise
from thence.progress import Progress, show_progress
from thence.runs.provenance import environment
from thence.settings.numbers import require_integer, require_seed

__all__ = ["Reproduction", "Task", "report", "reproduce"]

_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS")


@dataclass(frozen=True)
class Task:
    """One repeat of one work on one data set; everything that decides its outcome."""

    work: str
    dataset: str
    repeat: int
    seed: int
    quick: bool
    parameters: Parameters
    data: Mapping[str, Any] = field(compare=False)

    @property
    def sensors(self) -> int:
        """How many sensors are asked for."""
        return PROCEDURES[self.work].sensors or self.parameters.sensors

    @property
    def made_with(self) -> dict[str, Any]:
        """What a stored repeat must have been made with to stand for this task."""
        used = tuple(name for name in PROCEDURES[self.work].uses if name != "sensors")
        return {
            **as_mapping(self.parameters, used),
            "sensors": self.sensors,
            "seed": self.seed,
            **self.data,
        }


@dataclass(frozen=True)
class Reproduction:
    """What ``reproduce`` found, and where it wrote it."""

    results: Mapping[str, Results]
    verdicts: Mapping[str, Sequence[Verdict]]
    folder: Path
    page: Path

    def __str__(self) -> str:
        from thence.experiments.tables import as_text

        parts = [as_text(results, self.verdicts[name]) for name, results in self.results.items()]
        return "\n\n".join([*parts, f"tables, figures and the page: {self.folder}"])


def reproduce(
    experiment: str | Sequence[str],
    *,
    dataset: str | Sequence[str] = "all",
    repeats: int = 20,
    quick: bool = False,
    out: str | os.PathLike[str] = "reproduction",
    jobs: int = 1,
    seed: int = 0,
    parameters: Mapping[str, Any] | None = None,
    progress: str | bool | Progress = "auto",
) -> Reproduction:
    """Run one of the paper's experiments again (or ``"all"``), or finish one that was begun.

    Every repeat is stored under ``out`` as it finishes, and what is stored is not run again. ``dataset`` is one of
    the paper's (``"all"``: each that the experiment has), any other data set by name, or a configuration file whose
    ``[input]`` and ``[windows]`` say what to read. ``quick`` takes less data and smaller settings, to see that
    everything works. ``jobs`` is the number of processes; nothing but times depends on it. ``parameters`` replaces
    parameters of the experiment files, such as ``{"evaluations": 30_000}``.

    >>> reproduce("7")
    Traceback (most recent call last):
    ...
    thence.errors.ConfigError: there is no experiment '7' (there are: 1.1, 1.2, 2.1, 2.2, 3, 4, 5, 6)
    """
    chosen = _experiments(experiment)
    # What is missing should be said before hours of work, not after.
    for module, extra in (
        ("altair", "plots"),
        ("vl_convert", "plots"),
        ("mlxtend", "baselines"),
        ("niapy", "baselines"),
    ):
        require(module, extra=extra)
    require_integer("repeats", repeats)
    require_integer("jobs", jobs)
    require_seed(seed)
    plan = [(one, _datasets(one, dataset)) for one in chosen]
    tasks = _tasks(plan, repeats=repeats, quick=quick, seed=seed, parameters=parameters or {})
    store = Store(Path(out))
    missing = [task for task in tasks if _stored(store, task) is None]
    with show_progress(progress) as tell:
        _do(missing, store, jobs=jobs, tell=tell)
        found = [repeat for task in tasks if (repeat := _stored(store, task)) is not None]
        return _write(plan, found, store, quick=quick, tell=tell)


def report(
    out: str | os.PathLike[str],
    *,
    experiment: str | Sequence[str] = "all",
    dataset: str | Sequence[str] = "all",
    quick: bool = False,
    seed: int = 0,
    parameters: Mapping[str, Any] | None = None,
    progress: str | bool | Progress = "auto",
) -> Reproduction:
    """Tables, figures and the page of whatever repeats are stored under a folder; nothing is run."""
    store = Store(Path(out))
    plan = [(one, _datasets(one, dataset)) for one in _experiments(experiment)]
    most = store.most_repeats()
    tasks = _tasks(plan, repeats=most, quick=quick, seed=seed, parameters=parameters or {}) if most else {}
    found = [repeat for task in tasks if (repeat := _stored(store, task)) is not None]
    if not found:
        raise RunError("no repeats of these experiments are stored here", where=str(out), hint="run reproduce first")
    held = {(repeat.work, repeat.dataset) for repeat in found}
    kept = [
        (one, tuple(name for name in names if any((work, name) in held for work in one.work))) for one, names in plan
    ]
    with show_progress(progress) as tell:
        return _write([(one, names) for one, names in kept if names], found, store, quick=quick, tell=tell)


def _experiments(wanted: str | Sequence[str]) -> list[Experiment]:
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    return [read_experiment(name) for name in (experiment_names() if names == ["all"] else names)]


def _datasets(experiment: Experiment, wanted: str | Sequence[str]) -> tuple[str, ...]:
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    if names == ["all"]:
        return experiment.datasets
    from thence.datasets import names as data_sets

    for name in names:
        if not name.endswith(".toml") and name not in data_sets():
            raise ConfigError(
                f"there is no data set '{name}'",
                hint=nearest(name, data_sets()) or "the paper's are: " + ", ".join(read_setup()[1]),
            )
    return tuple(names)


def _tasks(
    plan: Sequence[tuple[Experiment, tuple[str, ...]]],
    *,
    repeats: int,
    quick: bool,
    seed: int,
    parameters: Mapping[str, Any],
) -> dict[Task, None]:
    """All tasks in order, those that several experiments share once; data set by data set, since loading takes time."""
    found: dict[tuple[str, str, int], Task] = {}
    # Looked at once: one's own files may be large.
    data = {name: made_from(name, quick) for name in dict.fromkeys(name for _, names in plan for name in names)}
    for experiment, datasets in plan:
        settled = experiment.settle(quick=quick, changes=parameters)
        for dataset in datasets:
            for work in experiment.work:
                for repeat in range(repeats):
                    task = Task(work, dataset, repeat, seed, quick, settled, data[dataset])
                    known = found.setdefault((work, dataset, repeat), task)
                    if known.made_with != task.made_with:
                        raise ConfigError(
                            f"experiment {experiment.id} gives the work '{work}' other parameters than another"
                        )
    names = list(data)
    return dict.fromkeys(sorted(found.values(), key=lambda task: (names.index(task.dataset), task.repeat)))


def _stored(store: Store, task: Task) -> Repeat | None:
    return store.load(task.work, task.dataset, task.repeat, task.made_with)


def perform(task: Task, tell: Callable[[str], None] = lambda note: None) -> Repeat:
    """Do one repeat."""
    from thence.experiments.methods import warm_up
    from thence.miners.torch_runtime import one_thread

    with one_thread():
        warm_up()
        data = load_data(task.dataset, task.quick, task.data)
        sample = data.sample(task.sensors, seed=task.seed, repeat=task.repeat, parameters=task.parameters)
        seed = int(np.random.SeedSequence([task.seed, task.repeat]).generate_state(1)[0] >> 1)
        records = tuple(PROCEDURES[task.work].run(sample, task.parameters, seed, tell))
    return Repeat(
        task.work, task.dataset, task.repeat, task.made_with, sample.sensors, records, environment(seed=task.seed)
    )


def _do(missing: Sequence[Task], store: Store, *, jobs: int, tell: Progress) -> None:
    if not missing:
        return
    begin = time.monotonic()

    def report(done: int, note: str) -> None:
        tell("repeats", done, len(missing), f"{note}{_time_left(begin, done, len(missing))}")

    report(0, "")
    if jobs == 1:
        for done, task in enumerate(missing):
            load_data(task.dataset, task.quick, task.data)
            store.save(perform(task, lambda note, done=done, task=task: report(done, f"{task.dataset}: {note}")))  # type: ignore[misc]
        report(len(missing), "")
        return
    for task in {task.dataset: task for task in missing}.values():
        # A simulated data set is made once, here; the processes find it in the cache.
        load_data(task.dataset, task.quick, task.data)
    with _few_threads(), ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        waiting = {pool.submit(_perform_and_save, task, store): task for task in missing}
        try:
            for done, future in enumerate(as_completed(waiting), start=1):
                future.result()
                report(done, f"{waiting[future].dataset}: {waiting[future].work}")
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _perform_and_save(task: Task, store: Store) -> None:
    store.save(perform(task))


def _time_left(begin: float, done: int, total: int) -> str:
    if done == 0 or done == total:
        return ""
    seconds = (time.monotonic() - begin) / done * (total - done)
    text = (
        f"{seconds / 3600:.1f} h"
        if seconds >= 5400
        else f"{seconds / 60:.0f} min"
        if seconds >= 90
        else f"{seconds:.0f} s"
    )
    return f", about {text} left"


@contextmanager
def _few_threads() -> Iterator[None]:
    """Processes that start now use one thread each; their libraries read this when they are imported."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _write(
    plan: Sequence[tuple[Experiment, tuple[str, ...]]],
    found: Sequence[Repeat],
    store: Store,
    *,
    quick: bool,
    tell: Progress,
) -> Reproduction:
    from thence.experiments.page import write_page
    from thence.experiments.tables import write_tables

    results: dict[str, Results] = {}
    for experiment, datasets in plan:
        own = [r for r in found if r.work in experiment.work and r.dataset in datasets]
        results[experiment.id] = summarise(experiment, own, datasets=datasets)
    verdicts = {name: judge(result) for name, result in results.items()}
    for done, (name, result) in enumerate(results.items()):
        tell("writing", done, len(results) + 1, name)
        write_tables(result, verdicts[name], store.folder / name)
    page = write_page(results, verdicts, found, store.folder, quick=quick)
    tell("writing", len(results) + 1, len(results) + 1)
    return Reproduction(results, verdicts, store.folder, page)
