"""The contract of the context tools: arguments, schemas, sizes, channels, errors."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import anyio
import jsonschema  # type: ignore[import-untyped]  # its stubs are not worth a dependency
import pytest
from mcp import Client
from mcp.server import MCPServer
from mcp_types import CallToolResult, TextContent, Tool

from cspace.context.records import Origin
from cspace.context.store import ContextStore
from cspace.mcp import context_server
from tests.mcp.conftest import Call

# tool: required arguments, then optional ones
TABLE = {
    "read_context": ("", "sections since limit"),
    "log_decision": ("title context alternatives decision consequences", ""),
    "log_discovery": ("title finding impact", ""),
    "log_finding": ("title category summary", "details status tags related author"),
    "append_to_finding": ("slug note", "status author"),
    "list_entries": ("", "kind since until limit"),
    "list_findings": ("", "status category tags since until limit"),
    "read_finding": ("slug", ""),
    "read_entry": ("kind slug", ""),
    "remove_entry": ("kind slug", ""),
    "search_context": ("query", "sections limit"),
}
BODIES = {"read_context", "read_finding", "read_entry", "search_context"}
READS = BODIES | {"list_entries", "list_findings"}
STATUS = ["open", "acknowledged", "resolved", "wontfix"]
CATEGORY = ["bug", "observation", "refactor"]
SECTIONS = ["direction", "principles", "roadmap", "decisions", "discoveries", "findings"]
KIND = ["decision", "discovery", "finding"]
ENUMS = {
    ("read_context", "sections"): SECTIONS,
    ("search_context", "sections"): SECTIONS,
    ("log_finding", "category"): CATEGORY,
    ("log_finding", "status"): STATUS,
    ("append_to_finding", "status"): STATUS,
    ("list_findings", "status"): STATUS,
    ("list_findings", "category"): CATEGORY,
    ("list_entries", "kind"): ["decisions", "discoveries", "findings", "all"],
    ("read_entry", "kind"): KIND,
    ("remove_entry", "kind"): KIND,
}
FINDING = {"title": "Sign-up fails", "category": "bug", "summary": "It does."}


def tools_of(server: MCPServer[Any]) -> dict[str, Tool]:
    async def conversation() -> dict[str, Tool]:
        async with Client(server) as client:
            return {tool.name: tool for tool in (await client.list_tools()).tools}

    return anyio.run(conversation)


@pytest.fixture
def tools(server: MCPServer[Any]) -> dict[str, Tool]:
    return tools_of(server)


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def test_the_tools_have_the_documented_arguments(tools: dict[str, Tool]) -> None:
    found = {
        name: (set(schema.get("required", [])), set(schema["properties"]))
        for name, schema in ((name, tool.input_schema) for name, tool in tools.items())
    }
    assert found == {
        name: (set(required.split()), {*required.split(), *optional.split()})
        for name, (required, optional) in TABLE.items()
    }


def test_every_closed_set_is_an_enum(tools: dict[str, Tool]) -> None:
    for (name, argument), values in ENUMS.items():
        schema = tools[name].input_schema["properties"][argument]
        assert schema.get("items", schema)["enum"] == values


def test_limits_are_in_the_schema(tools: dict[str, Tool]) -> None:
    limit = tools["read_context"].input_schema["properties"]["limit"]
    assert (limit["minimum"], limit["maximum"], limit["default"]) == (1, 200, 20)


def test_the_server_fits_what_clients_show(server: MCPServer[Any], tools: dict[str, Tool]) -> None:
    listed = [
        tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools.values()
    ]
    assert len(json.dumps(listed).encode()) < 10_000
    assert max(len((tool.description or "").encode()) for tool in tools.values()) < 600
    assert len((server.instructions or "").encode()) < 2_000


def test_every_tool_says_whether_it_reads_adds_or_destroys(tools: dict[str, Tool]) -> None:
    hints = {}
    for name, tool in tools.items():
        assert tool.annotations is not None
        assert tool.annotations.idempotent_hint is (name in READS)
        hints[name] = (tool.annotations.read_only_hint, tool.annotations.destructive_hint)
    assert hints == {
        name: (name in READS, name == "remove_entry") for name in TABLE
    }  # fmt: skip


def test_bodies_are_text_and_facts_have_an_output_schema(tools: dict[str, Tool]) -> None:
    assert {name for name, tool in tools.items() if tool.output_schema is None} == BODIES


def test_removing_asks_a_person_and_is_absent_inside_instances(
    tools: dict[str, Tool], root: Path
) -> None:
    assert tools["remove_entry"].meta == {"anthropic/requiresUserInteraction": True}
    inside = context_server.build(ContextStore(root, Origin("mercury", "mercury")))
    assert set(tools_of(inside)) == set(TABLE) - {"remove_entry"}


def test_facts_come_as_structured_content_mirrored_in_text(
    call: Call, tools: dict[str, Tool]
) -> None:
    slug = (call("log_finding", **FINDING).structured_content or {})["slug"]
    conversation: list[tuple[str, dict[str, object]]] = [
        ("log_discovery", {"title": "t", "finding": "f", "impact": "i"}),
        ("append_to_finding", {"slug": slug, "note": "n", "status": "resolved"}),
        ("list_entries", {}),
        ("list_findings", {"status": ["resolved"]}),
        ("remove_entry", {"kind": "finding", "slug": slug}),
    ]
    for name, arguments in conversation:
        result = call(name, **arguments)
        assert result.is_error is False
        assert result.structured_content == json.loads(text_of(result))
        jsonschema.validate(result.structured_content, tools[name].output_schema or {})


def test_bodies_come_as_text_alone(call: Call) -> None:
    slug = (call("log_finding", **FINDING).structured_content or {})["slug"]
    for name, arguments in (
        ("read_context", {}),
        ("read_finding", {"slug": slug}),
        ("read_entry", {"kind": "finding", "slug": f"{slug}.md"}),
        ("search_context", {"query": "sign"}),
    ):
        result = call(name, **arguments)
        assert result.is_error is False
        assert result.structured_content is None
        assert "Sign-up fails" in text_of(result)


@pytest.mark.parametrize("text", ['{"a": 1}', "[1, 2]", "null", "12", "true"])
def test_a_text_that_looks_like_json_stays_a_text(call: Call, root: Path, text: str) -> None:
    result = call("log_finding", **FINDING | {"details": text, "summary": text})
    path = root / (result.structured_content or {})["path"]
    assert f"## Summary\n{text}\n\n## Details\n{text}\n" in path.read_text(encoding="utf-8")


def test_null_means_not_given(call: Call) -> None:
    result = call("append_to_finding", slug="x", note="n", status=None)
    assert "does not exist" in text_of(result)
    assert call("list_findings", status=None, since=None).is_error is False


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("log_finding", FINDING | {"category": "crash"}, ["category", "bug", "refactor"]),
        ("log_finding", FINDING | {"tagz": []}, ["tagz", "call log_finding again", "tags"]),
        ("log_finding", {"title": "x"}, ["category", "summary", "required"]),
        ("log_finding", FINDING | {"summary": " "}, ["summary is empty", "hint:"]),
        ("log_finding", FINDING | {"author": "a\nb"}, ["author", "hint:"]),
        ("read_context", {"limit": 201}, ["limit", "200"]),
        ("read_context", {"since": "yesterday"}, ["since", "date"]),
        ("read_entry", {"kind": "finding", "slug": "../x"}, ["'../x'", "a-z, 0-9", "listing"]),
        ("read_finding", {"slug": "gone"}, ["findings/gone.md does not exist", "hint:"]),
        ("search_context", {"query": "?"}, ["query", "hint:"]),
    ],
)
def test_an_error_names_the_field_what_is_allowed_and_the_next_call(
    call: Call, root: Path, tool: str, arguments: dict[str, object], said: list[str]
) -> None:
    result = call(tool, **arguments)
    assert result.is_error is True
    assert [part for part in said if part not in text_of(result)] == []
    assert os.listdir(root) == []


def test_an_error_names_no_path_of_this_machine(call: Call, root: Path, tmp_path: Path) -> None:
    context = root / ".cspace/context"
    context.mkdir(parents=True)
    (context / "findings").symlink_to(tmp_path)
    said = [str(call("list_findings").content), str(call("log_finding", **FINDING).content)]
    shutil.rmtree(context)
    context.touch()
    said.append(str(call("log_finding", **FINDING).content))
    shutil.rmtree(root)
    said.append(str(call("read_context").content))
    assert [one for one in said if str(tmp_path) in one] == []
    assert ".cspace/context/findings" in said[0]
    assert "root . is not a directory" in said[-1]


def test_reads_create_nothing(call: Call, root: Path) -> None:
    for name, arguments in (
        ("read_context", {}),
        ("list_entries", {}),
        ("list_findings", {}),
        ("search_context", {"query": "x"}),
        ("read_finding", {"slug": "x"}),
    ):
        call(name, **arguments)
    assert os.listdir(root) == []
