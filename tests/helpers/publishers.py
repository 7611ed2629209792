"""A web server on loopback that publishes files, and can cut them off, stall, redirect and refuse."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Publisher:
    """What the server does, by path.

    Args:
        url: Its address.
        files: The contents.
        redirects: Where else a path is.
        cuts: After how many bytes the next answers end.
        stalls: Paths whose answers begin and do not go on.
        ranges: Whether it can send a part of a file.
        log: The requests so far: path and ``Range``.
    """

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    cuts: dict[str, list[int]] = field(default_factory=dict)
    stalls: set[str] = field(default_factory=set)
    ranges: bool = True
    log: list[tuple[str, str | None]] = field(default_factory=list)


@contextmanager
def publish() -> Iterator[Publisher]:
    """Yield a server that runs until the block ends."""
    publisher = Publisher()
    ended = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers["Range"]
            publisher.log.append((self.path, wanted))
            if self.path in publisher.redirects:
                self._answer(302, Location=publisher.redirects[self.path])
                return
            if self.path not in publisher.files:
                self._answer(404)
                return
            content = publisher.files[self.path]
            start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and publisher.ranges else 0
            if start and start >= len(content):
                self._answer(416)
                return
            ranges = {"Content_Range": f"bytes {start}-{len(content) - 1}/{len(content)}"} if start else {}
            self._answer(206 if start else 200, Content_Length=str(len(content) - start), **ranges)
            cuts = publisher.cuts.get(self.path)
            self.wfile.write(content[start : start + cuts.pop(0)] if cuts else content[start:])
            if self.path in publisher.stalls:
                self.wfile.flush()
                ended.wait()

        def _answer(self, status: int, **headers: str) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    publisher.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield publisher
    finally:
        ended.set()
        server.shutdown()
        server.server_close()
        thread.join()
