"""How our tools are built: strict arguments, small schemas, one error boundary, one channel.

A tool either returns a body, as markdown text and nothing else, or facts, as structured content
that is mirrored in text: clients drop one of the two when both are there and differ.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cspace.errors import CspaceError

READ = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
ADD = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)
DESTROY = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False
)
# Of what a refusal says: it may quote an argument, and a model pays for all of it.
MOST_SAID, MOST_LINES, MOST_OF_A_NAME = 1_600, 10, 100
ASK_A_PERSON = {"anthropic/requiresUserInteraction": True}


class StrictTool(Tool):
    """A tool whose every expected failure tells a model what to change.

    Attributes:
        root: errors name what lies below it by its relative path.
    """

    root: Path | None = Field(default=None, exclude=True)

    async def run(
        self,
        arguments: dict[str, Any],
        context: Context[Any, Any],
        convert_result: bool = False,  # noqa: FBT001, FBT002  the SDK's signature
    ) -> Any:
        """Run the tool; only ToolError's text reaches the model, so that is what is raised."""
        try:
            return await super().run(arguments, context, convert_result)
        except ToolError as error:
            if isinstance(error.__cause__, CspaceError):
                raise ToolError(explain(error.__cause__, self.root)) from error.__cause__
            if isinstance(error.__cause__, ValidationError):
                wrong = explain_arguments(self.name, error.__cause__, self.parameters)
                raise ToolError(wrong) from error.__cause__
            raise


def strict_tool(
    function: Callable[..., Any],
    *,
    title: str,
    annotations: ToolAnnotations,
    meta: dict[str, Any] | None = None,
) -> StrictTool:
    """Build a tool from a function: its docstring is the description, its return type the channel.

    Unknown arguments are refused. A function that returns str has no structured content.
    """
    made = StrictTool.from_function(
        function,
        title=title,
        annotations=annotations,
        meta=meta,
        structured_output=function.__annotations__["return"] not in (str, "str"),
    )
    tool = cast("StrictTool", made)
    metadata = tool.fn_metadata
    strict = type(
        metadata.arg_model.__name__,
        (metadata.arg_model,),
        {"model_config": ConfigDict(extra="forbid")},
    )
    metadata.arg_model = strict
    # The same as the stricter model's own schema, which takes as long again to make.
    tool.parameters = _slim({**tool.parameters, "additionalProperties": False})
    if metadata.output_schema is not None:
        metadata.output_schema = _slim(metadata.output_schema, "description")
    tool.description = " ".join(tool.description.split())
    return tool


def facts(model: BaseModel) -> CallToolResult:
    """Return facts as structured content, mirrored in text without what is not known."""
    content = model.model_dump(mode="json", exclude_none=True)
    text = json.dumps(content, ensure_ascii=False)
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=content)


def explain(error: CspaceError, root: Path | None) -> str:
    """Return what a model reads of an expected failure.

    Where root lies on this machine is nothing to a caller on another: paths are relative to it.
    """
    said = f"{_short(str(error))}\nhint: {error.hint}" if error.hint else _short(str(error))
    for place in () if root is None else {root, root.resolve()} - {Path("/")}:
        said = re.sub(rf"{re.escape(str(place))}(?:/|(?![\w.-]))", _from_root, said)
    return said


def _short(said: str) -> str:
    """Cut out the middle of what an argument of any length made long."""
    half = MOST_SAID // 2
    return said if len(said) <= MOST_SAID else f"{said[:half]} … {said[-half:]}"


def _from_root(found: re.Match[str]) -> str:
    return "" if found[0].endswith("/") else "."


def explain_arguments(tool: str, error: ValidationError, schema: dict[str, Any]) -> str:
    """Return one line for each argument that is wrong, and what the tool accepts."""
    lines = [
        _short(f"{'.'.join(str(part)[:MOST_OF_A_NAME] for part in one['loc'])}: {one['msg']}")
        for one in error.errors(include_url=False, include_input=False, include_context=False)
    ][:MOST_LINES]
    required = schema.get("required", [])
    accepted = ", ".join(f"{name}*" if name in required else name for name in schema["properties"])
    return "\n".join([*lines, f"hint: call {tool} again; it accepts {accepted} (* required)"])


def _slim(schema: dict[str, Any], *unwanted: str) -> dict[str, Any]:
    """Drop what a model pays for and does not need: generated titles, null as another type."""
    dropped = ("title", "anyOf", "default", *unwanted)
    slim = {key: value for key, value in schema.items() if key not in dropped}
    if schema.get("default") not in (None, "", []):
        slim["default"] = schema["default"]
    if "anyOf" in schema:
        kinds = [kind for kind in schema["anyOf"] if kind != {"type": "null"}]
        slim |= kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    for key in ("properties", "$defs"):
        if key in slim:
            slim[key] = {name: _slim(value, *unwanted) for name, value in slim[key].items()}
    if isinstance(slim.get("items"), dict):
        slim["items"] = _slim(slim["items"], *unwanted)
    return slim
