"""``thence monitor``: the rules of a run on live readings."""

from __future__ import annotations

import hashlib
import os
import signal
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thence.cli.job import with_table
from thence.cli.options import Quiet, Reviewed, RunFolder, Statements
from thence.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from thence.checks.detect.detector import Detector
    from thence.checks.monitor.engine import Monitor
    from thence.checks.monitor.outlets import Outlet
    from thence.checks.monitor.service import Service
    from thence.checks.monitor.sources.base import Source
    from thence.checks.monitor.sources.mqtt import Broker
    from thence.checks.monitor.stopping import StopRequest
    from thence.data.graph.system import System
    from thence.runs.run import Run


def _option(panel: str, help: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel, **more)


_source, _system, _decision, _alerting, _state = (
    partial(_option, panel) for panel in ("Source", "System", "Decisions", "Alerts", "State")
)


@with_table("graph", "binding", "ontology", "read_sensors", reads="nothing", panel="System")
def monitor(
    run: RunFolder,
    settings: dict[str, Any],
    file: Annotated[
        list[str] | None, _source("Readings of files, in the order of their times; may be repeated.")
    ] = None,
    speed: Annotated[str, _source("Speed of a file: 'max', or a multiple of real time such as 60x.")] = "max",
    mqtt: Annotated[
        str | None,
        _source("Readings of an MQTT broker: host or host:port. THENCE_MQTT_USERNAME and THENCE_MQTT_PASSWORD log in."),
    ] = None,
    topic: Annotated[str, _source("Topics to subscribe to, such as site/+/+.")] = "#",
    topic_sensor: Annotated[str, _source("How topics name sensors: '{2}.{3}' (default: by what is known).")] = "",
    sensor_key: Annotated[str, _source("Key of the sensor in JSON messages.")] = "sensor",
    time_key: Annotated[str, _source("Key of the time in JSON messages.")] = "time",
    value_key: Annotated[str, _source("Key of the value in JSON messages.")] = "value",
    client_id: Annotated[str | None, _source("Name of the MQTT session (default: made from --state).")] = None,
    tls: Annotated[bool, _source("Encrypt the connection to the broker.", "--tls")] = False,
    postgres: Annotated[
        str | None,
        _source("Readings of a PostgreSQL database: its URL, or 'env' for the variable THENCE_POSTGRES_URL."),
    ] = None,
    table: Annotated[str, _source("Table of the database.")] = "readings",
    time_column: Annotated[str, _source("Column of the times.")] = "time",
    sensor_column: Annotated[str, _source("Column of the sensors.")] = "sensor",
    value_column: Annotated[str, _source("Column of the values.")] = "value",
    poll: Annotated[str, _source("Time between two looks at the table.")] = "5s",
    since: Annotated[str | None, _source("Rows of the table before this time are not read.")] = None,
    max_ahead: Annotated[
        str, _source("Live readings later than now by more are rejected; 'none' for no limit.")
    ] = "5min",
    sensors: Annotated[
        list[str] | None,
        _system("Readings that name the sensors (default: those of --file, or those mined); may be repeated."),
    ] = None,
    reference: Annotated[
        bool,
        _system(
            "The readings of --sensors are of a normal period: fit bins of sensors that the run has not seen.",
            "--reference",
        ),
    ] = False,
    lateness: Annotated[
        str | None,
        _decision(
            "How much later than the end of a window its readings may come (default: 1 minute, or a window if that is "
            "shorter; 0s for files)."
        ),
    ] = None,
    block: Annotated[str, _decision("Violations within a block are one observation of the test.")] = "1d",
    false_alarm: Annotated[
        float, _decision("Probability that any rule that still holds is ever called drifted.")
    ] = 0.01,
    tolerance: Annotated[float, _decision("How much lower the confidence may be before it matters.")] = 0.05,
    violations: Annotated[
        bool, _alerting("Also report each time a rule begins to be violated.", "--violations")
    ] = False,
    alerts: Annotated[Path | None, _alerting("File for alerts, each exactly once.")] = None,
    alert_mqtt: Annotated[str | None, _alerting("Topic for alerts, at the broker of --mqtt or --alert-broker.")] = None,
    alert_broker: Annotated[str | None, _alerting("Broker for alerts, if not that of --mqtt.")] = None,
    alert_url: Annotated[list[str] | None, _alerting("URL to post alerts to; may be repeated.")] = None,
    health: Annotated[Path | None, _alerting("File for the health of all rules: .parquet, .csv or .json.")] = None,
    metrics_port: Annotated[int | None, _alerting("Port for metrics in the format of Prometheus.")] = None,
    metrics_host: Annotated[str, _alerting("Address for metrics.")] = "127.0.0.1",
    state: Annotated[Path | None, _state("Folder for the state, so that a restart goes on.")] = None,
    save_every: Annotated[int, _state("Number of windows after which the state is saved.", min=1)] = 100,
    detector: Annotated[
        Path | None, _decision("A detector that 'thence detect --save' wrote, whose alarms are reported too.")
    ] = None,
    statements: Statements = "rules",
    reviewed: Reviewed = "not-rejected",
    quiet: Quiet = False,
) -> None:
    """Watch the rules of a run on live readings, and print an alert as a line of JSON when one no longer holds."""
    from thence.checks.monitor.engine import Monitor, MonitorSettings
    from thence.checks.monitor.service import Service
    from thence.checks.monitor.store import Store
    from thence.runs.run import load_run

    if sum(given is not None for given in (file or None, mqtt, postgres)) != 1:
        raise ConfigError("a monitor has one source", hint="pass --file FILE, --mqtt HOST or --postgres URL")
    loaded = load_run(run)
    decisions = MonitorSettings(
        lateness=lateness or _usual_lateness(loaded, live=not file),
        block=block,
        false_alarm=false_alarm,
        tolerance=tolerance,
        violations=violations,
        reference=reference,
    )
    if reference and not sensors:
        raise ConfigError("--reference is about the readings of --sensors, which is not given")
    log = _make_logger(quiet=quiet)
    ahead = None if max_ahead == "none" else _microseconds(max_ahead)
    login = {
        "username": os.environ.get("THENCE_MQTT_USERNAME", ""),
        "password": os.environ.get("THENCE_MQTT_PASSWORD", ""),
        "tls": tls,
    }
    with ExitStack() as stack:
        system = _load(loaded, sensors or file, settings)
        watch = Monitor(
            loaded,
            system,
            decisions,
            detector=_load_detector(detector),
            reviewed=reviewed,
            statements=statements,
        )
        readings = _load(loaded, file, settings) if file and sensors else system
        # From here on, which the first line says, a request to end is one to save the state and end well.
        stop = _stop_on_signals(stack)
        _log_start(watch, log)
        store = None if state is None else stack.enter_context(Store(state.absolute()))
        outlets = _open_outlets(alerts, alert_mqtt, _broker(alert_broker or mqtt, login), alert_url or (), log)
        for outlet in outlets:
            stack.callback(outlet.close)
        service = Service(watch, outlets, store=store, save_every=save_every, health=health, say=log)
        if service.restore():
            log(f"goes on after {watch.n_windows:,} windows and {watch.n_alerts:,} alerts")
        if metrics_port is not None:
            stack.callback(_serve(service, metrics_port, metrics_host, log).close)
        source: Source
        if file:
            source = _file_source(readings, watch, speed)
        elif mqtt is not None:
            from thence.checks.monitor.messages import MessageFormat
            from thence.checks.monitor.sources.mqtt import MqttSource

            broker = _broker(mqtt, login)
            assert broker is not None
            form = MessageFormat(sensor=sensor_key, time=time_key, value=value_key, topic=topic_sensor, max_ahead=ahead)
            name = client_id or ("" if state is None else _client_id(state))
            source = MqttSource(broker, topic, watch.roster, form, client_id=name, say=log)
        else:
            names = {"time": time_column, "sensor": sensor_column, "value": value_column}
            source = _table_source(str(postgres), table, names, watch, poll, since, ahead, log)
        service.run(source, stop, finish=bool(file))
        _log_end(service, log)


def _make_logger(*, quiet: bool) -> Any:
    def log(text: str) -> None:
        if not quiet:
            typer.echo(f"thence monitor: {text}", err=True)

    return log


def _load(run: Run, sensors: list[str] | None, given: dict[str, Any]) -> System:
    """Read the readings that name the sensors; by default those that were mined."""
    from thence.checks.application.later import gather_later
    from thence.runs.configuration import InputConfig
    from thence.runs.inputs import load_job

    graph, binding, ontology = (given.get(name) for name in ("graph", "binding", "ontology"))
    if sensors:
        options = InputConfig(read_sensors=given.get("read_sensors", {}))
        return gather_later(run, sensors, graph, binding, ontology, options)
    if graph or binding or ontology:
        raise ConfigError("another graph needs readings that name its sensors", hint="pass --sensors FILE")
    try:
        return load_job(run.config)
    except OSError as error:
        raise ConfigError(
            f"the readings that were mined cannot be read ({error}), so the sensors are not known",
            hint="pass --sensors FILE with some readings of all sensors",
        ) from error


def _usual_lateness(run: Run, *, live: bool) -> str:
    """Return a minute, or a window if that is shorter: sensors and their clocks are seldom exact."""
    from thence.data.readings.durations import format_duration

    seconds = run.discretizer.window_seconds if run.discretizer is not None else 0.0
    shortest = min(60_000_000, round(seconds * 1_000_000))
    return format_duration(shortest) if live and shortest else "0s"


def _load_detector(path: Path | None) -> Detector | None:
    if path is None:
        return None
    from thence.checks.detect.detector import Detector

    return Detector.load(path)


def _broker(text: str | None, login: dict[str, Any]) -> Broker | None:
    from thence.checks.monitor.sources.mqtt import parse_broker

    return None if text is None else parse_broker(text, **login)


def _open_outlets(
    path: Path | None, topic: str | None, broker: Broker | None, urls: Iterable[str], log: Any
) -> list[Outlet]:
    from thence.checks.monitor.outlets import AlertFile, NetworkOutlet, StandardOutput, open_outlet, publish_to

    out: list[Outlet] = [StandardOutput()]
    if path is not None:
        out.append(AlertFile(path.absolute()))
    if topic is not None:
        if broker is None:
            raise ConfigError("--alert-mqtt needs a broker", hint="pass --alert-broker HOST")
        out.append(NetworkOutlet(publish_to(broker, topic), name=f"the topic {topic}", say=log))
    return [*out, *(open_outlet(url, log) for url in urls)]


def _serve(service: Service, port: int, host: str, log: Any) -> Any:
    from thence.checks.monitor.metrics import MetricsServer

    server = MetricsServer(service.metrics, port=port, host=host)
    log(f"metrics at http://{host}:{server.port}/metrics")
    return server


def _file_source(system: System, watch: Monitor, speed: str) -> Source:
    from thence.checks.monitor.sources.files import FileSource

    factor = None
    if speed != "max":
        try:
            factor = float(speed.removesuffix("x"))
        except ValueError:
            factor = 0.0
        if not 0 < factor < float("inf"):
            raise ConfigError(f"--speed must be 'max' or a multiple such as 60x, got '{speed}'")
    return FileSource(system.sensors, watch.roster, every=watch.every, speed=factor)


def _table_source(
    url: str,
    table: str,
    names: dict[str, str],
    watch: Monitor,
    poll: str,
    since: str | None,
    ahead: int | None,
    log: Any,
) -> Source:
    from thence.checks.monitor.messages import parse_time
    from thence.checks.monitor.sources.postgres import PostgresSource, TableNames

    start = 0 if since is None else parse_time(since)
    if start is None:
        raise ConfigError(f"--since takes a time such as 2024-01-31T00:00:00Z, got '{since}'")
    if url == "env":
        url = os.environ.get("THENCE_POSTGRES_URL", "")
        if not url:
            raise ConfigError("the variable THENCE_POSTGRES_URL is not set")
    return PostgresSource(
        url,
        TableNames(table, **names),
        watch.roster,
        pending=watch.open.pending,
        open_since=lambda: watch.open_since,
        poll=_microseconds(poll) / 1e6,
        start=start,
        max_ahead=ahead,
        say=log,
    )


def _microseconds(text: str) -> int:
    from thence.data.readings.durations import parse_duration

    return parse_duration(text)


def _client_id(state: Path) -> str:
    """Return a name for the session that is the same whenever the monitor is started with this state."""
    return "thence-" + hashlib.sha256(str(state.absolute()).encode()).hexdigest()[:16]


def _stop_on_signals(stack: ExitStack) -> StopRequest:
    """Return an event that is set when the process is asked to end. Asked a second time, it ends at once."""
    from thence.checks.monitor.stopping import StopRequest

    stop = StopRequest()
    before = {number: signal.getsignal(number) or signal.SIG_DFL for number in (signal.SIGTERM, signal.SIGINT)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def ask(_number: int, _frame: Any) -> None:
        stop.set()
        restore()

    stack.callback(restore)
    for number in before:
        signal.signal(number, ask)
    return stop


def _log_start(watch: Monitor, log: Any) -> None:
    from thence.data.readings.durations import format_duration

    lost = [one for one in watch.not_bound if one.rule not in watch.left_out]
    noun = "rules, laws and controls" if watch.others.watched else "rules"
    log(
        f"{len(watch.health.bound):,} of {len(watch.bounds):,} {noun} on {len(watch.roster.sensors):,} sensors, "
        f"windows of {format_duration(watch.every)}, blocks of {format_duration(watch.block)}"
    )
    for note in watch.notes:
        log(note)
    if lost:
        log(f"{len(lost):,} {noun} cannot be watched; the first: {lost[0].reason}")


def _log_end(service: Service, log: Any) -> None:
    watch = service.monitor
    found = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in watch.open.found.items() if count)
    refused = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in service.rejected.items() if count)
    log(f"{watch.n_windows:,} windows, {watch.n_alerts:,} alerts; readings: {found or 'none'}")
    if refused:
        log(f"not used: {refused}")
