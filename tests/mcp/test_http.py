"""The server over HTTP: who is let in, what is refused, and how it ends."""

from __future__ import annotations

import contextlib
import fcntl
import http.client
import json
import os
import signal
import socket
import stat
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from cspace.errors import UsageError
from cspace.mcp.http import MAX_BODY, check_exposure, load_token, parse_address
from tests.mcp.conftest import TIMEOUT, Environment

TOKEN = "correct-horse-battery-staple"
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
BEARER = {"Authorization": f"Bearer {TOKEN}"}
FINDING = {"title": "Sign-up fails", "category": "bug", "summary": "It does."}


@dataclass(frozen=True, slots=True)
class Served:
    """A running server."""

    url: str
    process: subprocess.Popen[bytes]

    def connect(self) -> http.client.HTTPConnection:
        place = urlsplit(self.url)
        assert place.hostname is not None
        return http.client.HTTPConnection(place.hostname, place.port, timeout=TIMEOUT)

    def ask(self, body: object = LIST, *, method: str = "POST", **headers: str) -> tuple[int, str]:
        """Send one request; return its status, and its body or who is asked to log in."""
        with contextlib.closing(self.connect()) as connection:
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            sent = HEADERS | {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, "/mcp", content, sent)
            answer = connection.getresponse()
            return answer.status, answer.headers["www-authenticate"] or answer.read().decode()

    def end(self, number: int) -> int:
        self.process.send_signal(number)
        return self.process.wait(TIMEOUT)


@pytest.fixture
def token(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text(f"{TOKEN}\n", encoding="utf-8")
    path.chmod(0o600)
    return path


Serve = Callable[..., Served]


@pytest.fixture
def serve(command: list[str], environment: Environment, root: Path) -> Iterator[Serve]:
    """Return a function that serves root, and says where."""
    with contextlib.ExitStack() as stack:

        def start(*words: str | Path) -> Served:
            whole = [*command, "--root", root, "--http", "--json", *words]
            pipe = subprocess.PIPE
            process = stack.enter_context(
                subprocess.Popen(whole, env=environment, stdout=pipe, stderr=pipe)
            )
            stack.callback(process.kill)
            assert process.stdout is not None
            said = b""
            while not said.endswith(b"}\n"):
                line = process.stdout.readline()
                assert line, (process.stderr or process.stdout).read()
                said += line
            return Served(json.loads(said)["url"], process)

        yield start


@pytest.fixture
def guarded(serve: Serve, token: Path) -> Served:
    return serve("--token-file", token)


def converse(served: Served, mode: str, name: str, **arguments: object) -> dict[str, Any]:
    async def conversation() -> dict[str, Any]:
        async with create_mcp_http_client(headers=BEARER) as web:
            transport = streamable_http_client(served.url, http_client=web)
            async with Client(transport, mode=mode) as client:
                return (await client.call_tool(name, arguments)).structured_content or {}

    return anyio.run(conversation)


@pytest.mark.parametrize("listen", ["127.0.0.1:0", "[::1]:0", "localhost:0"])
def test_the_sdks_own_client_works_in_both_eras(
    serve: Serve, token: Path, root: Path, listen: str
) -> None:
    served = serve("--token-file", token, "--listen", listen)
    for mode in ("auto", "legacy"):
        converse(served, mode, "log_finding", **FINDING)
    assert len(converse(served, "auto", "list_findings")["findings"]) == 2
    assert len(list(root.rglob("findings/*.md"))) == 2


def test_several_agents_at_once_see_each_others_records(guarded: Served, root: Path) -> None:
    async def agent(number: int) -> None:
        async with create_mcp_http_client(headers=BEARER) as web:
            transport = streamable_http_client(guarded.url, http_client=web)
            async with Client(transport, mode="auto" if number % 2 else "legacy") as client:
                for _ in range(5):
                    await client.call_tool("log_finding", FINDING)

    async def all_of_them() -> None:
        async with anyio.create_task_group() as group:
            for number in range(8):
                group.start_soon(agent, number)

    anyio.run(all_of_them)
    assert len(list(root.rglob("findings/*.md"))) == 40
    assert converse(guarded, "auto", "list_findings", limit=40)["left_out"] == 0


STRANGERS = (
    *("", "Bearer", "Bearer ", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}"),
    *("Bearer \xe9\xff", f"Bearer  {TOKEN}"),
)


def test_without_the_token_nobody_gets_in(guarded: Served) -> None:
    for given in STRANGERS:
        headers = {"Authorization": given} if given else {}
        for method in ("POST", "GET", "DELETE"):
            status, challenge = guarded.ask(method=method, **headers)
            assert (status, challenge[:6]) == (401, "Bearer"), given


def test_a_large_request_without_the_token_is_not_read(guarded: Served) -> None:
    with contextlib.closing(guarded.connect()) as connection:
        connection.putrequest("POST", "/mcp")
        connection.putheader("Content-Length", str(10**12))
        connection.endheaders()
        assert connection.getresponse().status == 401


def test_a_name_that_a_web_page_made_lead_here_is_refused(guarded: Served) -> None:
    port = urlsplit(guarded.url).port
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1:1", "127.0.0.1"):
        assert guarded.ask(Host=host, **BEARER) == (421, "Invalid Host header")


def test_a_web_pages_request_is_refused_with_and_without_a_token(serve: Serve, token: Path) -> None:
    guarded, bare = serve("--token-file", token), serve()
    for origin in ("http://evil.example", "null", "https://127.0.0.1"):
        assert guarded.ask(Origin=origin, **BEARER)[0] == 403
        assert bare.ask(Origin=origin)[0] == 403


def test_a_body_that_is_too_large_is_refused(guarded: Served) -> None:
    assert guarded.ask(b"x" * (MAX_BODY + 1), **BEARER)[0] == 413
    assert guarded.ask(**BEARER)[0] == 200


def test_a_body_that_is_no_message_is_an_error(guarded: Served) -> None:
    for body in (b"not json", b"\xff", b"[]", b"12", b'{"jsonrpc":"1.0","id":1}'):
        status, said = guarded.ask(body, **BEARER)
        assert status == 400
        assert json.loads(said)["error"]["code"] in {-32700, -32600, -32602}
    assert guarded.ask(**BEARER)[0] == 200


def test_one_megabyte_of_text_comes_back_as_it_was_given(guarded: Served) -> None:
    text = 'ä "\\\n\u2028' * 130_000
    slug = converse(guarded, "auto", "log_finding", **FINDING | {"details": text})["slug"]
    call = {"name": "read_finding", "arguments": {"slug": slug}}
    status, said = guarded.ask(LIST | {"method": "tools/call", "params": call}, **BEARER)
    assert status == 200
    assert text in json.loads(said)["result"]["content"][0]["text"]


def test_a_caller_elsewhere_removes_nothing_and_gets_no_commit(guarded: Served, root: Path) -> None:
    tools = json.loads(guarded.ask(**BEARER)[1])["result"]["tools"]
    assert "remove_entry" not in {tool["name"] for tool in tools}
    converse(guarded, "auto", "log_discovery", title="t", finding="f", impact="i")
    (record,) = root.rglob("discoveries/*.md")
    assert "commit:" not in record.read_text(encoding="utf-8")


def test_records_are_signed_with_the_author_that_was_given(serve: Serve, root: Path) -> None:
    served = serve("--author", "remote agent")
    converse(served, "auto", "log_finding", **FINDING)
    (record,) = root.rglob("findings/*.md")
    assert "— @remote agent — status: open" in record.read_text(encoding="utf-8")


def wait_until_nobody_is_let_in(served: Served) -> None:
    with contextlib.suppress(OSError, http.client.HTTPException):
        while True:
            served.ask(**BEARER)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_ends_it_after_the_last_answer(
    guarded: Served, root: Path, number: int, code: int
) -> None:
    slug = converse(guarded, "auto", "log_finding", **FINDING)["slug"]
    lock = root / f".cspace/context/findings/{slug}.md.lock"
    lock.touch()
    with lock.open() as held, contextlib.closing(guarded.connect()) as connection:
        fcntl.flock(held, fcntl.LOCK_EX)
        call = {"name": "append_to_finding", "arguments": {"slug": slug, "note": "late"}}
        body = json.dumps(LIST | {"method": "tools/call", "params": call})
        connection.request("POST", "/mcp", body, HEADERS | BEARER)
        assert guarded.ask(**BEARER)[0] == 200  # so the one before was read, too
        guarded.process.send_signal(number)
        wait_until_nobody_is_let_in(guarded)
        fcntl.flock(held, fcntl.LOCK_UN)
        assert b'"isError":false' in connection.getresponse().read()
    assert guarded.process.wait(TIMEOUT) == code


def test_nothing_that_is_printed_holds_the_token(guarded: Served) -> None:
    guarded.ask(**BEARER)
    guarded.ask(Host="evil.example", **BEARER)
    guarded.ask(Authorization=f"Bearer {TOKEN}x")
    assert guarded.end(signal.SIGTERM) == 0
    assert guarded.process.stdout is not None
    assert guarded.process.stderr is not None
    assert TOKEN.encode() not in guarded.process.stdout.read() + guarded.process.stderr.read()


def test_beyond_loopback_any_name_leads_here_and_the_token_decides(
    serve: Serve, token: Path
) -> None:
    served = serve("--listen", "0.0.0.0:0", "--token-file", token)
    assert served.ask(Host="host.docker.internal", **BEARER)[0] == 200
    assert served.ask(Host="host.docker.internal")[0] == 401


def test_without_a_token_it_says_who_can_reach_it(serve: Serve) -> None:
    served = serve()
    assert served.ask()[0] == 200
    served.end(signal.SIGTERM)
    assert served.process.stderr is not None
    assert b"every program on this machine" in served.process.stderr.read()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--http", "--listen", "0.0.0.0:0"], 2, "a token is needed"),
        (["--http", "--listen", "example.org:80"], 2, "is not HOST:PORT"),
        (["--http", "--token-file", "/no/such"], 2, "can not be read"),
        (["--http", "--listen", "{taken}"], 1, "Address already in use"),
        (["--listen", "127.0.0.1:0"], 2, "need --http"),
        (["--http", "--author", "a\nb"], 2, "is not a name"),
    ],
)
def test_what_can_not_be_served_is_an_error_with_a_next_step(
    command: list[str], environment: Environment, root: Path, words: list[str], code: int, said: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        given = [word.format(taken=f"127.0.0.1:{port}") for word in words]
        done = subprocess.run(
            [*command, "--root", root, *given],
            env=environment, capture_output=True, stdin=subprocess.DEVNULL, timeout=TIMEOUT,
            check=False,
        )  # fmt: skip
    assert done.returncode == code
    assert said in done.stderr.decode()
    assert b"hint: " in done.stderr
    assert done.stdout == b""


@pytest.mark.parametrize(
    ("text", "host", "port", "url"),
    [
        ("127.0.0.1:80", "127.0.0.1", 80, "http://127.0.0.1:80/mcp"),
        ("[::1]:0", "::1", 0, "http://[::1]:0/mcp"),
        ("localhost:65535", "127.0.0.1", 65535, "http://127.0.0.1:65535/mcp"),
    ],
)
def test_an_address_is_an_ip_address_and_a_port(text: str, host: str, port: int, url: str) -> None:
    address = parse_address(text)
    assert (str(address.host), address.port, address.url) == (host, port, url)


@pytest.mark.parametrize("text", ["", "80", ":80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536",
                                  "127.0.0.1:-1", "127.0.0.1:²", "[::1]", "a b:1"])  # fmt: skip
def test_another_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not HOST:PORT"):
        parse_address(text)


@pytest.mark.parametrize("text", ["0.0.0.0:1", "[::]:1", "10.0.0.1:1", "[::ffff:127.0.0.1]:1"])
def test_only_loopback_goes_without_a_token(text: str) -> None:
    with pytest.raises(UsageError, match="so a token is needed"):
        check_exposure(parse_address(text), None)
    check_exposure(parse_address(text), TOKEN.encode())
    check_exposure(parse_address("127.8.8.8:1"), None)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601, 0o777])
def test_a_token_that_others_can_read_or_change_is_refused(token: Path, mode: int) -> None:
    token.chmod(mode)
    with pytest.raises(UsageError, match=f"open to others: its mode is {mode:04o}") as caught:
        load_token(token)
    assert caught.value.hint == f"chmod 600 {token}"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"short",
        b"two words are no token",
        b"x" * 2000,
        b"caf\xc3\xa9-and-much-more-of-it",
        b"line-one-of-it\nline-two",
    ],
)
def test_a_file_without_a_usable_token_is_refused(token: Path, content: bytes) -> None:
    token.write_bytes(content)
    with pytest.raises(UsageError, match="does not hold a token") as caught:
        load_token(token)
    assert content.decode("latin-1") not in str(caught.value) or not content


def test_a_token_is_read_from_a_regular_file_only(token: Path, tmp_path: Path) -> None:
    assert load_token(token) == TOKEN.encode()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe, 0o600)
    for path in (pipe, tmp_path):
        with pytest.raises(UsageError, match=r"not a regular file|can not be read"):
            load_token(path)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
