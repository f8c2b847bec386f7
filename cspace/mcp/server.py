"""What every server of ours adds to the SDK's: resources that change, prompts with clear errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import anyio
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.prompts import Prompt
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    GetPromptResult,
    InputRequiredResult,
    ResourceTemplate,
)
from mcp_types import Prompt as ListedPrompt
from mcp_types import Resource as ListedResource
from pydantic import AnyUrl

from cspace.errors import CspaceError, NotFound, UsageError
from cspace.mcp.stdio import StdioServer
from cspace.mcp.tools import StrictTool, explain


class Server(StdioServer):
    """A server whose list of resources is made when it is asked for.

    Attributes:
        listed: makes that list; None for the SDK's own.
        root: errors name what lies below it by its relative path.
        prepare: adds resources and prompts before the first of them is asked for: most clients want
            tools alone, at once.
    """

    listed: Callable[[], Sequence[ListedResource]] | None = None
    prepare: Callable[[], None] | None = None
    root: Path | None = None

    def _prepare(self) -> None:
        prepare, self.prepare = self.prepare, None
        if prepare is not None:
            prepare()

    async def list_resource_templates(self) -> list[ResourceTemplate]:
        """List what records have for an address."""
        self._prepare()
        return await super().list_resource_templates()

    async def read_resource(
        self, uri: AnyUrl | str, context: Context[object, Any] | None = None
    ) -> Iterable[ReadResourceContents] | InputRequiredResult:
        """Read a resource; errors as the SDK's."""
        self._prepare()
        return await super().read_resource(uri, context)

    async def list_prompts(self) -> list[ListedPrompt]:
        """List the prompts."""
        self._prepare()
        return await super().list_prompts()

    async def list_resources(self) -> list[ListedResource]:
        """List what there is now."""
        self._prepare()
        if self.listed is None:
            return await super().list_resources()
        try:
            return list(await anyio.to_thread.run_sync(self.listed))
        except CspaceError as error:
            raise protocol_error(error, self.root) from error

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
        self._prepare()
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
            raise protocol_error(known_error, self.root) from error


def _check_arguments(prompt: Prompt, given: dict[str, Any]) -> None:
    accepted = {one.name: one.required for one in prompt.arguments or ()}
    wrong = [f"{name} is not an argument" for name in given if name not in accepted]
    wrong += [f"{name} is missing" for name, need in accepted.items() if need and name not in given]
    if wrong:
        takes = ", ".join(accepted) or "none"
        said = f"prompt {prompt.name}: {'; '.join(wrong)}\nhint: its arguments are: {takes}"
        raise MCPError(code=INVALID_PARAMS, message=said)


def protocol_error(error: CspaceError, root: Path | None) -> MCPError:
    """Return what a client is told where an answer has no place for an error of a tool."""
    theirs = isinstance(error, UsageError | NotFound)
    code = INVALID_PARAMS if theirs else INTERNAL_ERROR
    return MCPError(code=code, message=explain(error, root))


def _cause(error: BaseException) -> CspaceError | None:
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, CspaceError):
        cause = cause.__cause__
    return cause


def build_server(
    name: str, instructions: str, tools: Iterable[StrictTool], *, root: Path, version: str
) -> Server:
    """Return a server of tools.

    Args:
        root: errors name what lies below it by its relative path.
    """
    offered = list(tools)
    for tool in offered:
        tool.root = root
    return Server(
        name,
        instructions=instructions,
        version=version,
        tools=[*offered],
        log_level="WARNING",
        # What others write is not ours to announce: nobody shall wait for news from here.
        subscriptions=False,
    )
