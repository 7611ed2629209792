"""The explorer at work: a server on this machine, its address, and how it ends.

The server is started with a socket that is bound already, so that the address is known before the first request.
"""

from __future__ import annotations

import errno
import logging
import socket
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from thence.data.graph.system import System
from thence.errors import ConfigError, require
from thence.runs.run import Run
from thence.show.explorer.security import SHORTEST_TOKEN, is_loopback, make_token, require_token
from thence.show.explorer.state import State, open_state

_PATIENCE = 10.0
_GRACE = 2
"""Seconds that requests have to end."""


class Explorer:
    """A running explorer; made by ``explore``.

    Args:
        state: What is open.
        host: The host to listen on.
        port: The port; 0 for a free one.
        token: The token; a random one by default.

    Raises:
        ConfigError: If the port is taken, the host is not one of this machine, or others could reach it without a
            token of the caller's own choice.
        MissingExtraError: If the extra ``explorer`` is not installed.
    """

    def __init__(self, state: State, *, host: str = "127.0.0.1", port: int = 0, token: str | None = None) -> None:
        uvicorn = require("uvicorn", extra="explorer")
        from thence.show.explorer.app import create_app

        if token is None and not is_loopback(host):
            raise ConfigError(
                f"other machines could reach the explorer on '{host}', so it needs a token",
                hint=f"pass --token with at least {SHORTEST_TOKEN} characters, or leave out --host",
            )
        if token is not None:
            require_token(token)
        self._state = state
        self._token = token or make_token()
        self._socket = _bind(host, port)
        self._host, self._port = host, int(self._socket.getsockname()[1])
        app = create_app(state, self._token, host=host)
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_GRACE,
            lifespan="off",
        )
        self._server: Any = uvicorn.Server(config)
        handle_exit = self._server.handle_exit

        def end(sig: int, frame: Any) -> None:
            self._ask_to_end()
            handle_exit(sig, frame)

        self._server.handle_exit = end
        self._thread: threading.Thread | None = None

    @property
    def address(self) -> str:
        """The whole address, with the token: all that a browser needs."""
        shown = "127.0.0.1" if self._host in ("0.0.0.0", "") else "::1" if self._host == "::" else self._host
        shown = f"[{shown}]" if ":" in shown and not shown.startswith("[") else shown
        return f"http://{shown}:{self._port}/?token={self._token}"

    def serve(self) -> None:
        """Answer requests until the process is interrupted."""
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._close()

    def start(self) -> Explorer:
        """Answer requests in the background, and return when the first one can be answered."""
        if self._thread is not None:
            return self
        self._thread = threading.Thread(target=self.serve, daemon=True, name="explorer")
        self._thread.start()
        end = time.monotonic() + _PATIENCE
        while not self._server.started and self._thread.is_alive() and time.monotonic() < end:
            time.sleep(0.01)
        return self

    def stop(self) -> None:
        """End the server and what runs in the background; may be called twice."""
        self._ask_to_end()
        self._server.should_exit = True
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_PATIENCE)
        self._close()

    def _ask_to_end(self) -> None:
        """Let live alerts end; a request that does not end in time is cut off, which needs no traceback."""
        self._state.closing.set()
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)

    def _close(self) -> None:
        self._state.close()
        self._socket.close()

    def __enter__(self) -> Explorer:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"Explorer({self.address!r})"


def explore(
    *runs: Run | str | Path,
    monitors: str | Path | Iterable[str | Path] = (),
    system: System | None = None,
    port: int = 0,
    host: str = "127.0.0.1",
    token: str | None = None,
    browser: bool = True,
) -> Explorer:
    """Open the rule explorer on runs, in the background.

    A server on this machine shows the rules with search, the graph, series, comparison, reviews and live alerts. It
    needs the extra ``explorer``. Every answer needs the token in the address.

    Args:
        *runs: Runs, or their folders.
        monitors: Files of alerts of ``thence monitor --alerts``, or folders of the state of monitors, to watch.
        system: The system that the first run was mined from, if the run was read from disk and was made from objects
            in memory.
        port: The port; 0 for a free one.
        host: The host to listen on. Anything but this machine itself needs a ``token``.
        token: The token, at least 16 characters; by default a random one.
        browser: Whether to open the address in the browser.

    Returns:
        The explorer, with ``address`` and ``stop()``.

    Raises:
        RunError: If a folder is not a run.
        InputError: If a monitor cannot be watched.
        ConfigError: If the server cannot listen, or others could reach it without a token.
        MissingExtraError: If the extra ``explorer`` is not installed.

    Examples:
        >>> import thence as th
        >>> run = th.mine(th.datasets.load("toy"), windows="1h", bins=3, progress="off")
        >>> with th.explore(run, browser=False) as explorer:
        ...     explorer.address.startswith("http://127.0.0.1:")
        True
    """
    require("uvicorn", extra="explorer")
    require("starlette", extra="explorer")
    watched = [monitors] if isinstance(monitors, (str, Path)) else list(monitors)
    state = open_state(runs, monitors=watched, systems=[system])
    explorer = Explorer(state, host=host, port=port, token=token).start()
    if browser:
        open_browser(explorer.address)
    return explorer


def open_browser(address: str) -> None:
    """Open an address in the browser, if there is one.

    Args:
        address: The address.
    """
    import webbrowser
    from contextlib import suppress

    with suppress(webbrowser.Error, OSError):
        webbrowser.open(address)


def _bind(host: str, port: int) -> socket.socket:
    if not 0 <= port <= 65535:
        raise ConfigError(f"a port must be from 0 to 65535, got {port}")
    plain = host.strip("[]")
    family = socket.AF_INET6 if ":" in plain else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((plain, port))
        bound.listen(128)  # a browser that is quicker than the server waits instead of failing
    except (OSError, OverflowError, UnicodeError) as error:
        bound.close()
        taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        reason = "another program uses it" if taken else getattr(error, "strerror", None) or str(error)
        hint = "leave out --port for a free one" if port else "leave out --host"
        raise ConfigError(f"cannot listen on {host} port {port}: {reason}", hint=hint) from error
    return bound
