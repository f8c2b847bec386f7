"""Serving over HTTP: an address, a token, and nothing that a web page could reach."""

from __future__ import annotations

import contextlib
import functools
import hmac
import ipaddress
import os
import re
import signal
import socket
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from mcp.server import MCPServer
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.routing import Route

from cspace import beneath
from cspace.errors import CspaceError, UsageError, expected

PATH = "/mcp"
DEFAULT_ADDRESS = "127.0.0.1:0"
# The largest document, with room for JSON's escapes.
MAX_BODY = 2 * beneath.MAX_BYTES
MAX_CONNECTIONS = 256
LAST_ANSWER_SECONDS = 5
MIN_TOKEN = 16
MAX_TOKEN = 1024
_TOKEN = re.compile(rb"[!-~]{%d,%d}" % (MIN_TOKEN, MAX_TOKEN))
HOW_TO_MAKE_ONE = "(umask 077; head -c 32 /dev/urandom | base64 > {path})"


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen; port 0 is any that is free."""

    host: ipaddress.IPv4Address | ipaddress.IPv6Address
    port: int

    @property
    def name(self) -> str:
        """The host as it stands in a URL."""
        return f"[{self.host}]" if self.host.version == 6 else str(self.host)

    @property
    def url(self) -> str:
        """What a client is given."""
        return f"http://{self.name}:{self.port}{PATH}"


def parse_address(text: str) -> Address:
    """Read HOST:PORT; a host is an IP address or localhost, so no name has to be looked up.

    Raises:
        UsageError: it is neither.
    """
    host, _, port = text.rpartition(":")
    host = "127.0.0.1" if host == "localhost" else host.removeprefix("[").removesuffix("]")
    with contextlib.suppress(ValueError):
        if port.isascii() and port.isdecimal() and int(port) < 2**16:
            return Address(ipaddress.ip_address(host), int(port))
    raise UsageError(
        f"address {text!r} is not HOST:PORT with an IP address and a port up to 65535",
        hint="--listen 127.0.0.1:8765, or --listen '[::1]:8765'",
    )


def load_token(path: Path) -> bytes:
    """Read a token from a file that only its owner can read.

    Raises:
        UsageError: the file is missing, not regular, open to others, or holds no token.
    """
    try:
        # O_NONBLOCK: opening a FIFO that nobody writes to must not hang.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _unusable(path, f"can not be read: {error.strerror}") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise _unusable(path, "is not a regular file")
        if status.st_mode & 0o077:
            raise UsageError(
                f"token file {path} is open to others: its mode is {status.st_mode & 0o777:04o}",
                hint=f"chmod 600 {path}",
            )
        token = os.read(descriptor, MAX_TOKEN + 2).strip()
    finally:
        os.close(descriptor)
    if not _TOKEN.fullmatch(token):
        what = f"{MIN_TOKEN} to {MAX_TOKEN} visible ASCII characters"
        raise _unusable(path, f"does not hold a token: {what}, without a space")
    return token


def _unusable(path: Path, what: str) -> UsageError:
    return UsageError(f"token file {path} {what}", hint=HOW_TO_MAKE_ONE.format(path=path))


def check_exposure(address: Address, token: bytes | None) -> None:
    """Refuse to serve others than this machine to everybody.

    Raises:
        UsageError: the address is not a loopback one, and there is no token.
    """
    if token is None and not address.host.is_loopback:
        raise UsageError(
            f"address {address.host} can be reached from other machines, so a token is needed",
            hint="add --token-file FILE, or listen on 127.0.0.1",
        )


def open_socket(address: Address) -> tuple[socket.socket, Address]:
    """Listen, and return the address with the port that was taken.

    Raises:
        CspaceError: the system refuses the address.
    """
    family = socket.AF_INET6 if address.host.version == 6 else socket.AF_INET
    try:
        listening = socket.create_server((str(address.host), address.port), family=family)
    except OSError as error:
        reason = expected(OSError(error.errno, os.strerror(error.errno or 0)))
        raise CspaceError(
            f"can not listen on {address.name}:{address.port}: {reason}",
            hint="choose another port, or 0 for any that is free",
        ) from error
    return listening, Address(address.host, listening.getsockname()[1])


def application(server: MCPServer[Any], address: Address, token: bytes | None) -> Starlette:
    """Return a server as a web application.

    There are no sessions: a request carries everything that it needs, and a client notices nothing
    of a restart. So a tool can not ask the client that called it, which none of ours does.
    """
    plain = server.streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=True,
        json_response=True,
        max_request_body_size=MAX_BODY,
        transport_security=_guard(address),
    )
    if token is None:
        return plain
    # The SDK's own way to a token wants a whole OAuth issuer, which would send clients there.
    endpoint = StreamableHTTPASGIApp(server.session_manager)
    guarded = Route(PATH, endpoint=RequireAuthMiddleware(endpoint, []))
    backend = BearerAuthBackend(_OneToken(token))
    return Starlette(
        routes=[guarded],
        middleware=[Middleware(AuthenticationMiddleware, backend=backend)],
        lifespan=lambda _: server.session_manager.run(),
    )


def _guard(address: Address) -> TransportSecuritySettings:
    """Refuse what a web page sends: by its origin, and by the name that it made lead here.

    Beyond loopback any name may be the right one, and what a page lacks is the token.
    """
    names = ("127.0.0.1", "localhost", "[::1]")
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=address.host.is_loopback,
        allowed_hosts=[f"{name}:{address.port}" for name in names],
        allowed_origins=[f"http://{name}:{address.port}" for name in names],
    )


class _OneToken:
    """Knows one token, and takes as long for every other one."""

    def __init__(self, token: bytes) -> None:
        self._token = token

    async def verify_token(self, token: str) -> AccessToken | None:
        if hmac.compare_digest(token.encode("utf-8"), self._token):
            return AccessToken(token="", client_id="holder", scopes=[])
        return None


def serve(application: Starlette, listening: socket.socket) -> None:
    """Serve until SIGTERM or SIGINT; what was asked before is answered.

    Raises:
        KeyboardInterrupt: it was SIGINT.
    """
    import uvicorn  # noqa: PLC0415  only for who serves

    from cspace.mcp.patience import HurriedProtocol  # noqa: PLC0415  as above

    config = uvicorn.Config(
        application,
        # Nothing of a request goes into a log: it carries the token.
        access_log=False,
        log_config=None,
        http=HurriedProtocol,
        ws="none",
        server_header=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_graceful_shutdown=LAST_ANSWER_SECONDS,
    )
    server = uvicorn.Server(config)
    # It raises the signal again when it is done, and the end that was asked for is no failure.
    signal.signal(signal.SIGTERM, server.handle_exit)
    anyio.run(functools.partial(server.serve, sockets=[listening]))
