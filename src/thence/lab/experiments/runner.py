"""The runner of the experiments: runs the missing repeats, in one or several processes, and writes the results.

What a repeat does is in ``experiments.procedures``.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from thence._base.cluster import Executor, open_executor
from thence._base.progress import Progress, show_progress
from thence._base.settings.numbers import require_integer, require_seed
from thence.errors import ConfigError, RunError, nearest, require
from thence.lab.experiments.files import (
    Experiment,
    Parameters,
    experiment_names,
    read_experiment,
    read_setup,
    select_parameters,
)
from thence.lab.experiments.page import format_text, write_page, write_tables
from thence.lab.experiments.procedures import PROCEDURES, warm_up
from thence.lab.experiments.results import ClaimVerdict, Repeat, Results, ResultStore, check_claims, summarise
from thence.lab.experiments.samples import identify_data, load_data
from thence.runs.provenance import environment
from thence.search.torch_runtime import one_thread

_THREADS = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "POLARS_MAX_THREADS",
    "THENCE_THREADS",
)


@dataclass(frozen=True)
class Task:
    """One repeat of one procedure on one data set.

    Args:
        procedure: Name of the procedure.
        dataset: Name of the data set, or a configuration file.
        repeat: Number of the repeat.
        seed: Random seed of the experiments.
        quick: Whether to use the options of quick runs.
        parameters: Parameters of the experiment.
        data: What ``identify_data`` returns for the data set.
    """

    procedure: str
    dataset: str
    repeat: int
    seed: int
    quick: bool
    parameters: Parameters
    data: Mapping[str, Any] = field(compare=False)

    @property
    def sensors(self) -> int:
        """Number of sensors to sample."""
        return PROCEDURES[self.procedure].sensors or self.parameters.sensors

    @property
    def made_with(self) -> dict[str, Any]:
        """Settings that a stored repeat must have to be the result of this task."""
        used = tuple(name for name in PROCEDURES[self.procedure].uses if name != "sensors")
        return {
            **select_parameters(self.parameters, used),
            "sensors": self.sensors,
            "seed": self.seed,
            **self.data,
        }


@dataclass(frozen=True)
class Reproduction:
    """Results of ``reproduce``.

    Args:
        results: Results by experiment.
        verdicts: Verdicts on the claims, by experiment.
        folder: The folder with repeats, tables and figures.
        page: The HTML page.
    """

    results: Mapping[str, Results]
    verdicts: Mapping[str, Sequence[ClaimVerdict]]
    folder: Path
    page: Path

    def __str__(self) -> str:
        parts = [format_text(results, self.verdicts[name]) for name, results in self.results.items()]
        return "\n\n".join([*parts, f"tables, figures and HTML page: {self.folder}"])


def reproduce(
    experiment: str | Sequence[str],
    *,
    dataset: str | Sequence[str] = "all",
    repeats: int = 20,
    quick: bool = False,
    out: str | os.PathLike[str] = "reproduction",
    jobs: int = 1,
    executor: str | Executor = "local",
    address: str | None = None,
    seed: int = 0,
    parameters: Mapping[str, Any] | None = None,
    progress: str | bool | Progress = "auto",
) -> Reproduction:
    """Repeat experiments of the paper and compare the results with the published numbers.

    Each repeat is stored when it is complete, and stored repeats are not run again: a second call continues the first.

    Args:
        experiment: Ids of the experiments, one or several, or ``"all"``.
        dataset: Data sets, one or several: names, or configuration files whose ``[input]`` and ``[windows]`` are used.
            ``"all"`` is all data sets of the experiment.
        repeats: Number of repeats.
        quick: Use less data and smaller settings, to test that everything works.
        out: The folder for repeats, tables, figures and the HTML page.
        jobs: Number of processes of this machine; only times depend on it.
        executor: Where repeats run: ``"local"``, ``"ray"``, or an executor of ``thence._base.cluster``. All machines
            need the data sets; results are stored here.
        address: The address of the Ray cluster, such as ``"10.0.0.4:6379"``.
        seed: Random seed.
        parameters: Parameters that override those of the experiment files, such as ``{"evaluations": 30_000}``.
        progress: ``"auto"`` (bars on a terminal), ``"on"``, ``"off"``, or a function.

    Returns:
        Results and verdicts, and where they were written.

    Raises:
        ConfigError: An experiment, a data set or a parameter is unknown, or a value is not allowed.
        MissingExtraError: The extra ``plots`` or ``baselines`` is not installed.
        RunError: ``out`` has repeats with other settings or of other data.
        ClusterError: The cluster cannot be reached or was lost; what was complete is stored.

    Examples:
        >>> reproduce("7")
        Traceback (most recent call last):
        ...
        thence.errors.ConfigError: unknown experiment '7' (known: 1.1, 1.2, 2.1, 2.2, 3, 4, 5, 6, ablation, complexity)
    """
    chosen = _list_experiments(experiment)
    # Check for missing packages first: the experiments may take hours.
    for module, extra in (("matplotlib", "plots"), ("mlxtend", "baselines"), ("niapy", "baselines")):
        require(module, extra=extra)
    require_integer("repeats", repeats)
    require_integer("jobs", jobs)
    require_seed(seed)
    plan = [(one, _list_datasets(one, dataset)) for one in chosen]
    tasks = _plan_tasks(plan, repeats=repeats, quick=quick, seed=seed, parameters=parameters or {})
    store = ResultStore(Path(out))
    missing = [task for task in tasks if _load_repeat(store, task) is None]
    with show_progress(progress) as progress_callback:
        with open_executor(executor, address=address) as where:
            _run_tasks(missing, store, jobs=jobs, executor=where, progress=progress_callback)
        found = [repeat for task in tasks if (repeat := _load_repeat(store, task)) is not None]
        return _write_results(plan, found, store, quick=quick, progress=progress_callback)


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
    """Write tables, figures and the HTML page from the stored repeats, without running anything.

    Args:
        out: The folder of ``reproduce``.
        experiment: Ids of the experiments, one or several, or ``"all"``.
        dataset: Data sets, one or several, or ``"all"``.
        quick: Whether the repeats are those of a quick run.
        seed: Random seed of the repeats.
        parameters: Parameters of the repeats that override those of the experiment files.
        progress: ``"auto"`` (bars on a terminal), ``"on"``, ``"off"``, or a function.

    Returns:
        Results and verdicts, and where they were written.

    Raises:
        RunError: No such repeats are stored, or they have other settings.
    """
    store = ResultStore(Path(out))
    plan = [(one, _list_datasets(one, dataset)) for one in _list_experiments(experiment)]
    repeats = store.count_repeats()
    tasks = _plan_tasks(plan, repeats=repeats, quick=quick, seed=seed, parameters=parameters or {}) if repeats else {}
    found = [repeat for task in tasks if (repeat := _load_repeat(store, task)) is not None]
    if not found:
        raise RunError("no repeats of these experiments in this folder", where=str(out), hint="run reproduce first")
    stored = {(repeat.work, repeat.dataset) for repeat in found}
    available = [
        (one, tuple(name for name in names if any((procedure, name) in stored for procedure in one.work)))
        for one, names in plan
    ]
    kept = [(one, names) for one, names in available if names]
    with show_progress(progress) as shown:
        return _write_results(kept, found, store, quick=quick, progress=shown)


def _list_experiments(wanted: str | Sequence[str]) -> list[Experiment]:
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    return [read_experiment(name) for name in (experiment_names() if names == ["all"] else names)]


def _list_datasets(experiment: Experiment, wanted: str | Sequence[str]) -> tuple[str, ...]:
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    if names == ["all"]:
        return experiment.datasets
    from thence.data.datasets import names as data_sets

    for name in names:
        if not name.endswith(".toml") and name not in data_sets():
            raise ConfigError(
                f"unknown data set '{name}'",
                hint=nearest(name, data_sets()) or "data sets of the paper: " + ", ".join(read_setup()[1]),
            )
    return tuple(names)


def _plan_tasks(
    plan: Sequence[tuple[Experiment, tuple[str, ...]]],
    *,
    repeats: int,
    quick: bool,
    seed: int,
    parameters: Mapping[str, Any],
) -> dict[Task, None]:
    """Return the tasks without duplicates, ordered by data set, so that each is loaded once."""
    found: dict[tuple[str, str, int], Task] = {}
    # Once per data set: files of a configuration are hashed, and may be large.
    data = {name: identify_data(name, quick) for name in dict.fromkeys(name for _, names in plan for name in names)}
    for experiment, datasets in plan:
        resolved = experiment.resolve_parameters(quick=quick, changes=parameters)
        for dataset in datasets:
            for procedure in experiment.work:
                for repeat in range(repeats):
                    task = Task(procedure, dataset, repeat, seed, quick, resolved, data[dataset])
                    known = found.setdefault((procedure, dataset, repeat), task)
                    if known.made_with != task.made_with:
                        raise ConfigError(
                            f"experiment {experiment.id} and another one have different parameters of '{procedure}'",
                            hint="run these experiments with different folders",
                        )
    names = list(data)
    return dict.fromkeys(sorted(found.values(), key=lambda task: (names.index(task.dataset), task.repeat)))


def _load_repeat(store: ResultStore, task: Task) -> Repeat | None:
    return store.load(task.procedure, task.dataset, task.repeat, task.made_with)


def run_task(task: Task, notify: Callable[[str], None] = lambda note: None) -> Repeat:
    """Run one repeat; ``notify`` receives notes about the progress."""
    with one_thread():
        warm_up()
        data = load_data(task.dataset, task.quick, task.data)
        sample = data.sample(task.sensors, seed=task.seed, repeat=task.repeat, parameters=task.parameters)
        seed = int(np.random.SeedSequence([task.seed, task.repeat]).generate_state(1)[0] >> 1)
        records = tuple(PROCEDURES[task.procedure].run(sample, task.parameters, seed, notify))
    return Repeat(
        task.procedure, task.dataset, task.repeat, task.made_with, sample.sensors, records, environment(seed=task.seed)
    )


def _run_tasks(
    missing: Sequence[Task], store: ResultStore, *, jobs: int, executor: Executor, progress: Progress
) -> None:
    if not missing:
        return
    begin = time.monotonic()

    def update(done: int, note: str) -> None:
        progress("repeats", done, len(missing), f"{note}{_format_time_left(begin, done, len(missing))}")

    update(0, "")
    if not executor.is_local:
        with closing(executor.map(_run_repeat, missing, shared=None)) as repeats:
            for done, repeat in enumerate(repeats, start=1):
                store.save(repeat)
                update(done, f"{repeat.dataset}: {repeat.work}")
        return
    if jobs == 1:
        for done, task in enumerate(missing):
            load_data(task.dataset, task.quick, task.data)
            store.save(run_task(task, lambda note, done=done, task=task: update(done, f"{task.dataset}: {note}")))  # type: ignore[misc]
        update(len(missing), "")
        return
    for task in {task.dataset: task for task in missing}.values():
        # Simulate a data set once, here; the processes find it in the cache.
        load_data(task.dataset, task.quick, task.data)
    with _single_threaded(), ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        waiting = {pool.submit(_run_and_save, task, store): task for task in missing}
        try:
            for done, future in enumerate(as_completed(waiting), start=1):
                future.result()
                update(done, f"{waiting[future].dataset}: {waiting[future].procedure}")
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _run_repeat(_: None, task: Task) -> Repeat:
    return run_task(task)


def _run_and_save(task: Task, store: ResultStore) -> None:
    store.save(run_task(task))


def _format_time_left(begin: float, done: int, total: int) -> str:
    if done == 0 or done == total:
        return ""
    seconds = (time.monotonic() - begin) / done * (total - done)
    if seconds >= 5400:
        return f", about {seconds / 3600:.1f} h left"
    return f", about {seconds / 60:.0f} min left" if seconds >= 90 else f", about {seconds:.0f} s left"


@contextmanager
def _single_threaded() -> Iterator[None]:
    """Let new processes use one thread each: libraries read these variables when they are imported."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name in _THREADS:
            os.environ.pop(name, None)
        os.environ.update({name: value for name, value in before.items() if value is not None})


def _write_results(
    plan: Sequence[tuple[Experiment, tuple[str, ...]]],
    repeats: Sequence[Repeat],
    store: ResultStore,
    *,
    quick: bool,
    progress: Progress,
) -> Reproduction:
    results: dict[str, Results] = {}
    for experiment, datasets in plan:
        own = [r for r in repeats if r.work in experiment.work and r.dataset in datasets]
        results[experiment.id] = summarise(experiment, own, datasets=datasets)
    verdicts = {name: check_claims(result) for name, result in results.items()}
    for done, (name, result) in enumerate(results.items()):
        progress("writing", done, len(results) + 1, name)
        write_tables(result, verdicts[name], store.folder / name)
    page = write_page(results, verdicts, repeats, store.folder, quick=quick)
    progress("writing", len(results) + 1, len(results) + 1)
    return Reproduction(results, verdicts, store.folder, page)
