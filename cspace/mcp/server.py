"""What every server of ours adds to the SDK's: resources that change, prompts with clear errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import anyio
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.prompts import Prompt
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, GetPromptResult, InputRequiredResult
from mcp_types import Resource as ListedResource

from cspace.errors import CspaceError, NotFound, UsageError
from cspace.mcp.stdio import StdioServer
from cspace.mcp.tools import explain


class Server(StdioServer):
    """A server whose list of resources is made when it is asked for."""

    listed: Callable[[], Sequence[ListedResource]] | None = None

    async def list_resources(self) -> list[ListedResource]:
        """List what there is now; the SDK's own list where nothing else was said."""
        if self.listed is None:
            return await super().list_resources()
        try:
            return list(await anyio.to_thread.run_sync(self.listed))
        except CspaceError as error:
            raise protocol_error(error) from error

    async def get_prompt(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        context: Context[object, Any] | None = None,
    ) -> GetPromptResult | InputRequiredResult:
        """Render a prompt.

        Raises:
            MCPError: there is no such prompt, it takes other arguments, or what it shows can not be
                read.
        """
        known = {prompt.name: prompt for prompt in self._prompt_manager.list_prompts()}
        if name not in known:
            said = f"prompt {name!r} is none of {', '.join(known)}"
            raise MCPError(code=INVALID_PARAMS, message=said)
        _check_arguments(known[name], arguments or {})
        try:
            return await super().get_prompt(name, arguments, context)
        except ValueError as error:
            known_error = _cause(error)
            if known_error is None:
                raise
            raise protocol_error(known_error) from error


def _check_arguments(prompt: Prompt, given: dict[str, Any]) -> None:
    accepted = {one.name: one.required for one in prompt.arguments or ()}
    wrong = [f"{name} is not an argument" for name in given if name not in accepted]
    wrong += [f"{name} is missing" for name, need in accepted.items() if need and name not in given]
    if wrong:
        takes = ", ".join(accepted) or "none"
        said = f"prompt {prompt.name}: {'; '.join(wrong)}\nhint: its arguments are: {takes}"
        raise MCPError(code=INVALID_PARAMS, message=said)


def protocol_error(error: CspaceError) -> MCPError:
    """Return what a client is told where an answer has no place for an error of a tool."""
    theirs = isinstance(error, UsageError | NotFound)
    return MCPError(code=INVALID_PARAMS if theirs else INTERNAL_ERROR, message=explain(error))


def _cause(error: BaseException) -> CspaceError | None:
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, CspaceError):
        cause = cause.__cause__
    return cause
