"""Metrics in the text format of Prometheus, served on a port of this machine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from thence.checks.monitor.engine import Monitor
from thence.checks.monitor.health import STATUS
from thence.errors import ConfigError

_MOST_RULES = 1_000
Metric = tuple[str, str, list[tuple[Mapping[str, str], float]]]
"""What it is, its type, and its values by labels."""


def collect_metrics(
    monitor: Monitor, *, rejected: Mapping[str, int], alerts: Mapping[str, int], source: Mapping[str, float]
) -> dict[str, Metric]:
    """Return the metrics of a monitor by name.

    Args:
        monitor: The monitor.
        rejected: Messages and readings that could not be used, by reason.
        alerts: Alerts by kind.
        source: Numbers about the source.
    """
    found, health = monitor.open.found, monitor.health
    status = [int((health.status[health.bound] == code).sum()) for code in range(len(STATUS))]
    share, low, high = health.confidence()
    shown = health.bound[:_MOST_RULES].tolist()
    labels = {at: {kind: str(number)} for at in shown for kind, number in [monitor.label(at)]}
    out: dict[str, Metric] = {
        "readings_total": (
            "Readings by what became of them.",
            "counter",
            [({"result": k}, v) for k, v in found.items()],
        ),
        "rejected_total": (
            "Messages and readings that could not be used.",
            "counter",
            [({"reason": k}, v) for k, v in rejected.items()],
        ),
        "gaps_total": (
            "Gaps between two readings of a sensor that are longer than its usual step.",
            "counter",
            [({}, monitor.open.gaps.total)],
        ),
        "gap_readings_total": (
            "Readings that would have come in these gaps at the usual step.",
            "counter",
            [({}, monitor.open.gaps.missing)],
        ),
        "windows_total": ("Windows that were checked.", "counter", [({}, monitor.n_windows)]),
        "blocks_total": ("Blocks that were tested.", "counter", [({}, health.n_blocks)]),
        "alerts_total": ("Alerts by kind.", "counter", [({"kind": k}, v) for k, v in alerts.items()]),
        "pending_readings": ("Readings of windows that are still open.", "gauge", [({}, monitor.open.n_pending)]),
        "last_window_timestamp_seconds": ("Start of the last window.", "gauge", [({}, monitor.last_window / 1e6)]),
        "last_reading_timestamp_seconds": (
            "Time of the latest reading.",
            "gauge",
            [({}, max(monitor.open.newest, 0) / 1e6)],
        ),
        "rules": (
            "Rules by status.",
            "gauge",
            [
                *(({"status": name}, count) for name, count in zip(STATUS, status, strict=True)),
                ({"status": "not bound"}, len(monitor.not_bound) - len(monitor.left_out)),
                ({"status": "left out"}, len(monitor.left_out)),
            ],
        ),
        "rows_total": (
            "Rows by rule state, over all rules.",
            "counter",
            [
                ({"state": name}, int(count))
                for name, count in zip(
                    ("satisfied", "violated", "not_applicable", "missing"), health.total.sum(axis=0), strict=True
                )
            ],
        ),
        "rule_confidence": (
            "Confidence of a rule in the last blocks.",
            "gauge",
            [(labels[r], share[r]) for r in shown],
        ),
        "rule_confidence_low": ("Its lower bound.", "gauge", [(labels[r], low[r]) for r in shown]),
        "rule_confidence_high": ("Its upper bound.", "gauge", [(labels[r], high[r]) for r in shown]),
        "rule_drifted": (
            "Whether a rule has drifted.",
            "gauge",
            [(labels[r], health.status[r] == 2) for r in shown],
        ),
    }
    for name, value in source.items():
        out[f"source_{name}"] = ("About the source.", "gauge", [({}, value)])
    return out


def format_metrics(metrics: Mapping[str, Metric]) -> str:
    """Return metrics in the text format of Prometheus.

    Args:
        metrics: The metrics by name.

    Examples:
        >>> print(format_metrics({"windows_total": ("Windows.", "counter", [({}, 3)])}), end="")
        # HELP thence_monitor_windows_total Windows.
        # TYPE thence_monitor_windows_total counter
        thence_monitor_windows_total 3
    """
    lines = []
    for name, (help_text, kind, values) in metrics.items():
        full = f"thence_monitor_{name}"
        lines += [f"# HELP {full} {help_text}", f"# TYPE {full} {kind}"]
        for labels, value in values:
            inner = ",".join(f'{key}="{_escape(text)}"' for key, text in labels.items())
            number = "NaN" if value != value else f"{float(value):.15g}"
            lines.append(f"{full}{{{inner}}} {number}" if inner else f"{full} {number}")
    return "\n".join(lines) + "\n"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class MetricsServer:
    """Serves metrics over HTTP.

    Args:
        collect: Returns the text to serve.
        port: The port; 0 for any that is free.
        host: The address to listen at.

    Raises:
        ConfigError: If the port is in use.
    """

    def __init__(self, collect: Callable[[], str], *, port: int, host: str = "127.0.0.1") -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                known = self.path.partition("?")[0] in ("/", "/metrics")
                body = collect().encode() if known else b"not found\n"
                self.send_response(200 if known else 404)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                return

        try:
            self._server = ThreadingHTTPServer((host, port), Handler)
        except OSError as error:
            raise ConfigError(
                f"metrics cannot be served at {host}:{port} ({error.strerror or error})", hint="choose another port"
            ) from error
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])
        threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True).start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
