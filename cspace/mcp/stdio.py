"""Serving over stdin and stdout, to the last answer.

The SDK cancels what is still running when stdin ends. A write that was done would then never be
acknowledged, so the end of stdin waits here for the answers that are owed. It also passes over a
line that is no message; who sent it would wait for ever, so it is answered here.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Self

import anyio
from mcp.server import MCPServer
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse, RequestId

from cspace.docstore.folder import LOCK_SECONDS
from cspace.mcp.refusal import refuse_line

if TYPE_CHECKING:  # private to the SDK, and needed for nothing but the checker
    from mcp.shared._stream_protocols import ReadStream, WriteStream

# A subscription is never answered: some time after the last answer the end of stdin ends it. A
# writer may wait for a lock that long, and is then owed an answer.
LAST_ANSWER_SECONDS = LOCK_SECONDS + 5.0


class StdioServer(MCPServer[object]):
    """A server that answers every request it has read before it ends."""

    async def run_stdio_async(self) -> None:
        """Serve until stdin ends and nothing is owed any more."""
        server = self._lowlevel_server
        owed = _Owed()
        with _stdin() as lines:
            async with stdio_server(anyio.wrap_file(lines)) as (incoming, outgoing):
                answers = _Outgoing(outgoing, owed)
                await server.run(
                    _Incoming(incoming, owed, answers),
                    answers,
                    server.create_initialization_options(),
                )


@contextlib.contextmanager
def _stdin() -> Iterator[io.TextIOWrapper]:
    """Take stdin over, so that no tool and no child reads from it.

    Unlike the SDK's own reader it keeps bytes that are not UTF-8 recognisable: replaced ones would
    go into a record as if the author had meant them.
    """
    # Never closed: a worker thread may still block on it when serving ends.
    private = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3)
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    os.dup2(nothing, 0)
    os.close(nothing)
    try:
        binary = os.fdopen(private, "rb", closefd=False)
        yield io.TextIOWrapper(binary, "utf-8", errors="surrogateescape", newline="\n")
    finally:
        os.dup2(private, 0)


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
        with anyio.move_on_after(LAST_ANSWER_SECONDS) as patience:
            while self._requests:
                self._answered = anyio.Event()
                await self._answered.wait()
                patience.deadline = anyio.current_time() + LAST_ANSWER_SECONDS


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
    def __init__(
        self, stream: ReadStream[SessionMessage | Exception], owed: _Owed, answers: _Outgoing
    ) -> None:
        super().__init__(stream)
        self._read = stream
        self._owed = owed
        self._answers = answers

    async def receive(self) -> SessionMessage | Exception:
        try:
            message = await self._read.receive()
        except anyio.EndOfStream:
            await self._owed.paid()
            raise
        self._owed.note(message)
        refusal = refuse_line(message) if isinstance(message, Exception) else None
        if refusal is not None:
            await self._answers.send(SessionMessage(refusal))
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
