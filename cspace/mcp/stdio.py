"""Serving over stdin and stdout, to the last answer.

The SDK cancels what is still running when stdin ends. A write that was done would then never be
acknowledged, so the end of stdin waits here for the answers that are owed.
"""

from __future__ import annotations

import contextlib
from types import TracebackType
from typing import TYPE_CHECKING, Self

import anyio
from mcp.server import MCPServer
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse, RequestId

if TYPE_CHECKING:  # private to the SDK, and needed for nothing but the checker
    from mcp.shared._stream_protocols import ReadStream, WriteStream

# A subscription is never answered: the end of stdin ends it.
LAST_ANSWER_SECONDS = 10.0


class StdioServer(MCPServer[object]):
    """A server that answers every request it has read before it ends."""

    async def run_stdio_async(self) -> None:
        """Serve until stdin ends and nothing is owed any more."""
        server = self._lowlevel_server
        owed = _Owed()
        async with stdio_server() as (incoming, outgoing):
            await server.run(
                _Incoming(incoming, owed),
                _Outgoing(outgoing, owed),
                server.create_initialization_options(),
            )


class _Owed:
    """The requests that were read and not answered."""

    def __init__(self) -> None:
        self._requests: set[RequestId] = set()
        self._answered = anyio.Event()

    def note(self, message: SessionMessage | Exception) -> None:
        match message:
            case SessionMessage(message=JSONRPCRequest(id=request)):
                self._requests.add(request)
            case SessionMessage(
                message=JSONRPCNotification(
                    method="notifications/cancelled", params={"requestId": int() | str() as request}
                )
            ):
                self._requests.discard(request)  # a cancelled request is not answered

    def settle(self, message: SessionMessage) -> None:
        if isinstance(message.message, JSONRPCResponse | JSONRPCError):
            if message.message.id is not None:
                self._requests.discard(message.message.id)
            self._answered.set()

    async def paid(self) -> None:
        with anyio.move_on_after(LAST_ANSWER_SECONDS):
            while self._requests:
                self._answered = anyio.Event()
                await self._answered.wait()


class _Wrapped:
    """What both directions share: closing goes through."""

    def __init__(
        self, stream: ReadStream[SessionMessage | Exception] | WriteStream[SessionMessage]
    ) -> None:
        self._stream = stream

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


class _Incoming(_Wrapped):
    def __init__(self, stream: ReadStream[SessionMessage | Exception], owed: _Owed) -> None:
        super().__init__(stream)
        self._read = stream
        self._owed = owed

    async def receive(self) -> SessionMessage | Exception:
        try:
            message = await self._read.receive()
        except anyio.EndOfStream:
            await self._owed.paid()
            raise
        self._owed.note(message)
        return message

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        with contextlib.suppress(anyio.EndOfStream):
            return await self.receive()
        raise StopAsyncIteration


class _Outgoing(_Wrapped):
    def __init__(self, stream: WriteStream[SessionMessage], owed: _Owed) -> None:
        super().__init__(stream)
        self._write = stream
        self._owed = owed

    async def send(self, item: SessionMessage) -> None:
        await self._write.send(item)
        self._owed.settle(item)
