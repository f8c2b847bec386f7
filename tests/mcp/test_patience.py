"""Who connects over HTTP and does not ask is hung up on."""

from __future__ import annotations

import asyncio

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from uvicorn.server import ServerState

from cspace.mcp.patience import HurriedProtocol

TIMEOUT = 30.0
HEAD = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n"


class Quick(HurriedProtocol):
    seconds = 0.3


async def echo(request: Request) -> PlainTextResponse:
    body = await request.body()
    await asyncio.sleep(2 * Quick.seconds)  # an answer may take longer than a question
    return PlainTextResponse(body)


async def talk(*parts: bytes) -> bytes:
    """Send parts on one connection, and return what comes until it is closed."""
    config = uvicorn.Config(Starlette(routes=[Route("/", echo, methods=["POST"])]))
    config.load()
    loop = asyncio.get_running_loop()
    state = ServerState()
    server = await loop.create_server(lambda: Quick(config, state, {}), "127.0.0.1", 0)
    async with server, asyncio.timeout(TIMEOUT):
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        for part in parts:
            writer.write(part)
            await writer.drain()
        try:
            return await reader.read()
        except ConnectionResetError:
            return b""
        finally:
            writer.close()


@pytest.mark.parametrize("part", [b"", HEAD[:20], HEAD, HEAD + b"a"])
def test_half_a_request_hazard_takes_no_place_for_ever(part: bytes) -> None:
    assert asyncio.run(talk(part)) == b""


def test_a_whole_request_may_take_its_time_to_answer() -> None:
    closing = HEAD.replace(b"Host", b"Connection: close\r\nHost")
    assert asyncio.run(talk(closing, b"a", b"b")).endswith(b"\r\n\r\nab")
