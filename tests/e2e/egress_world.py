"""What instances could reach: a server on public addresses, and this machine itself."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.e2e.person import docker

METADATA = "169.254.169.254"
ALLOWED, LATER, OTHER, INWARD = (
    f"{word}.example.org" for word in ("allowed", "later", "other", "inward")
)
# Answers HTTP, TLS and DNS on every address; says which names it was asked for.
_SERVER = r"""
import http.server, socket, socketserver, ssl, subprocess, threading
class Six(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6
def serve(port, tls=False):
    server = Six(("::", port), http.server.SimpleHTTPRequestHandler)
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain("/tmp/cert", "/tmp/key")
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever).start()
subprocess.run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    " -subj /CN=world -keyout /tmp/key -out /tmp/cert", shell=True, check=True, capture_output=True)
serve(80); serve(8080); serve(443, tls=True)
names = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
names.bind(("::", 53))
print("ready", flush=True)
while True:
    question, asker = names.recvfrom(4096)
    print("asked", question[12:].split(b"\0")[0], flush=True)
    names.sendto(question[:2] + b"\x81\x80\0\1\0\1\0\0\0\0" + question[12:].split(b"\0")[0]
        + b"\0\0\1\0\1\xc0\x0c\0\1\0\1\0\0\0\1\0\4\xc6\x33\x64\x01", asker)
"""
# An address of this machine that nobody has to own: an alias of its loopback device.
_ALIAS = """
import fcntl, socket, struct, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
    def ask(number, rest):
        fcntl.ioctl(control, number, struct.pack("16s24s", b"lo:cspace", rest))
    if sys.argv[1] == "add":
        ask(0x8916, struct.pack("HH4s", socket.AF_INET, 0, socket.inet_aton(sys.argv[2])))
    else:
        ask(0x8914, struct.pack("H", 0))
"""


@dataclass(frozen=True, slots=True)
class World:
    """A container with the names of this module, and what it is reached by.

    Attributes:
        network: where it has public addresses, v4 and v6.
        inward: where INWARD leads to a private one.
    """

    container: str
    network: str
    inward: str
    v4: str
    v6: str

    @property
    def asked(self) -> str:
        """Everything that its name server was asked for."""
        return docker("logs", self.container)


@contextlib.contextmanager
def make_world(image: str) -> Iterator[World]:
    """Start the server in networks of its own; they go with it."""
    name = f"cspace-test-world-{os.getpid()}"
    number = os.getpid() % 15
    subnets = (f"--subnet=198.51.100.{16 * number}/28", f"--subnet=2001:db8:{number:x}::/64")
    docker("network", "create", "--ipv6", *subnets, name)
    docker("network", "create", f"{name}-inward")
    try:
        aliases = (f"--network-alias={each}" for each in (ALLOWED, LATER, OTHER))
        words = ("run", "--detach", "--rm", "--init", f"--name={name}", f"--network={name}")
        docker(*words, *aliases, "--user=0", "--entrypoint=python3", image, "-c", _SERVER)
        docker("network", "connect", f"--alias={INWARD}", f"{name}-inward", name)
        found = json.loads(docker("inspect", name))[0]["NetworkSettings"]["Networks"][name]
        patience = ("--retry-connrefused", "--retry", "50", "--retry-delay", "1")
        docker("exec", name, "curl", "-sk", *patience, "https://127.0.0.1/")
        yield World(name, name, f"{name}-inward", found["IPAddress"], found["GlobalIPv6Address"])
    finally:
        docker("rm", "--force", name)
        docker("network", "rm", "--force", name, f"{name}-inward")


class _Here(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        """Say nothing."""


class _Six(ThreadingHTTPServer):
    address_family = socket.AF_INET6

    def server_bind(self) -> None:
        self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        super().server_bind()


@dataclass(frozen=True, slots=True)
class Machine:
    """Services of this machine: HTTP on every address of both families, and a datagram's end."""

    port: int
    datagrams: socket.socket

    @property
    def takes_any_source(self) -> bool:
        """Whether no reverse-path filter keeps out what an address-less bridge brings."""
        found = Path("/proc/sys/net/ipv4/conf").glob("*/rp_filter")
        return all(each.read_text(encoding="ascii").strip() == "0" for each in found)

    def arrived(self) -> list[str]:
        """Return what datagrams came since the last call."""
        found = []
        with contextlib.suppress(BlockingIOError):
            while True:
                found.append(self.datagrams.recv(100).decode())
        return found


@contextlib.contextmanager
def make_machine(image: str) -> Iterator[Machine]:
    """Have this machine listen, and have the address of a cloud's metadata."""
    privileges = ("--network=host", "--user=0", "--cap-add=NET_ADMIN")
    alias = ("run", "--rm", *privileges, "--entrypoint=python3", image, "-c", _ALIAS)
    docker(*alias, "add", METADATA)
    four = ThreadingHTTPServer(("0.0.0.0", 0), _Here)  # noqa: S104  that is the point
    six = _Six(("::", four.server_port), _Here)
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagrams.bind(("0.0.0.0", four.server_port))  # noqa: S104
    datagrams.settimeout(0)
    try:
        for server in (four, six):
            threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Machine(four.server_port, datagrams)
    finally:
        datagrams.close()
        for server in (four, six):
            server.shutdown()
            server.server_close()
        docker(*alias, "remove")
