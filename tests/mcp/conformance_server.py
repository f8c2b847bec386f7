"""What the official conformance suite asks for, behind our tools, prompts, resources and HTTP.

As a program it serves on a free port of 127.0.0.1 and prints its URL:

    python -m tests.mcp.conformance_server
"""

from __future__ import annotations

import base64
import json
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.prompts import Prompt
from mcp.server.mcpserver.prompts.base import Message, UserMessage
from mcp.server.mcpserver.resources import FunctionResource
from mcp.server.mcpserver.tools import Tool
from mcp_types import (
    AudioContent,
    CallToolResult,
    Completion,
    EmbeddedResource,
    ImageContent,
    TextContent,
    TextResourceContents,
)

from cspace.mcp import http
from cspace.mcp.server import Server
from cspace.mcp.tools import READ, strict_tool

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA=="
IMAGE = ImageContent(type="image", data=PNG, mime_type="image/png")
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def _text(text: str) -> TextContent:
    return TextContent(type="text", text=text)


def _embedded(uri: str, text: str, kind: str = "text/plain") -> EmbeddedResource:
    contents = TextResourceContents(uri=uri, mime_type=kind, text=text)
    return EmbeddedResource(type="resource", resource=contents)


def _result(*content: Any) -> CallToolResult:
    return CallToolResult(content=list(content))


def test_simple_text() -> str:
    """Answer with text."""
    return "This is a simple text response for testing."


def test_image_content() -> CallToolResult:
    """Answer with an image."""
    return _result(IMAGE)


def test_audio_content() -> CallToolResult:
    """Answer with a sound."""
    return _result(AudioContent(type="audio", data=WAV, mime_type="audio/wav"))


def test_embedded_resource() -> CallToolResult:
    """Answer with a resource."""
    return _result(_embedded("test://embedded-resource", "This is an embedded resource content."))


def test_multiple_content_types() -> CallToolResult:
    """Answer with several kinds of content."""
    mixed = json.dumps({"test": "data", "value": 123})
    resource = _embedded("test://mixed-content-resource", mixed, "application/json")
    return _result(_text("Multiple content types test:"), IMAGE, resource)


def test_error_handling() -> str:
    """Fail."""
    raise ToolError("This tool intentionally returns an error for testing")


def json_schema_2020_12_tool(name: str = "", phone: str = "", email: str = "") -> str:
    """Take what a rich schema allows."""
    return name + phone + email


TOOLS = (
    test_simple_text,
    test_image_content,
    test_audio_content,
    test_embedded_resource,
    test_multiple_content_types,
    test_error_handling,
    json_schema_2020_12_tool,
)


def build() -> Server:
    """Return the server, with strict tools as ours."""
    tools: list[Tool] = []
    for function in TOOLS:
        tool = strict_tool(function, title=function.__name__, annotations=READ)
        tool.output_schema = None
        tools.append(tool)
    tools[-1].parameters = SCHEMA
    server = Server(
        "conformance", version="1", tools=tools, log_level="WARNING", subscriptions=False
    )
    _add_resources(server)
    _add_prompts(server)
    return server


def _add_resources(server: Server) -> None:
    text = "This is the content of the static text resource."
    server.add_resource(
        FunctionResource.from_function(
            lambda: text, "test://static-text", name="text", mime_type="text/plain"
        )
    )
    server.add_resource(
        FunctionResource.from_function(
            lambda: base64.b64decode(PNG),
            "test://static-binary",
            name="binary",
            mime_type="image/png",
        )
    )

    @server.resource("test://template/{id}/data", name="template", mime_type="application/json")
    def template(id: str) -> str:  # noqa: A002  the suite's name
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})

    @server.completion()  # type: ignore[no-untyped-call, untyped-decorator]  # the SDK lacks them
    async def complete(*_: Any) -> Completion:
        return Completion(values=["paris", "park", "party"], total=3, has_more=False)


def _add_prompts(server: Server) -> None:
    def test_simple_prompt() -> str:
        """Say one thing."""
        return "This is a simple prompt for testing."

    def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
        """Say what was given."""
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    def test_prompt_with_embedded_resource(resourceUri: str) -> list[Message]:  # noqa: N803
        """Show a resource."""
        resource = _embedded(resourceUri, "Embedded resource content for testing.")
        return [UserMessage(resource), UserMessage("Please process the embedded resource above.")]

    def test_prompt_with_image() -> list[Message]:
        """Show an image."""
        return [UserMessage(IMAGE), UserMessage("Please analyze the image above.")]

    for function in (
        test_simple_prompt,
        test_prompt_with_arguments,
        test_prompt_with_embedded_resource,
        test_prompt_with_image,
    ):
        server.add_prompt(Prompt.from_function(function))


def main() -> None:
    """Serve until stopped."""
    listening, address = http.open_socket(http.parse_address("127.0.0.1:0"))
    print(address.url, flush=True)  # noqa: T201
    http.serve(http.application(build(), address, None), listening)


if __name__ == "__main__":
    main()
