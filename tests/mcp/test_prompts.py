"""The prompts: how a coordinator begins, and how an implementer ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mcp_types import INVALID_PARAMS, TextContent

from cspace.context.skeleton import ensure_skeleton
from tests.mcp.conftest import Ask, Call
from tests.mcp.test_resources import FINDING


def shown(ask: Ask, prompt: str, **arguments: str) -> str:
    (message,) = ask(lambda client: client.get_prompt(prompt, arguments)).messages
    assert isinstance(message.content, TextContent)
    assert message.role == "user"
    return message.content.text


def test_both_prompts_are_listed_with_optional_arguments(ask: Ask) -> None:
    prompts = ask(lambda client: client.list_prompts()).prompts
    found = {one.name: [(each.name, each.required) for each in one.arguments] for one in prompts}
    assert found == {"brief": [("focus", False)], "wrap-up": [("resolves", False)]}
    assert [one.name for one in prompts if not (one.title and one.description)] == []


def test_a_brief_holds_direction_roadmap_and_the_open_findings(
    ask: Ask, call: Call, root: Path
) -> None:
    call("log_finding", **FINDING)
    call("log_finding", **FINDING | {"title": "Long since done", "status": "resolved"})
    (root / ".cspace/context/direction.md").write_text("north {{ x }} %s", encoding="utf-8")
    (root / ".cspace/context/roadmap.md").write_text("then east", encoding="utf-8")
    text = shown(ask, "brief", focus="the sign-up")
    for part in ("about: the sign-up", "north {{ x }} %s", "then east", "Sign-up fails"):
        assert part in text
    assert "Long since done" not in text
    assert "STRATEGIC_CONTEXT_PREAMBLE" not in text


def test_a_brief_of_an_empty_project_says_what_is_missing_and_creates_nothing(
    ask: Ask, root: Path
) -> None:
    assert shown(ask, "brief").count("(not written yet)") == 2
    assert list(root.iterdir()) == []


def test_a_wrap_up_names_the_calls_and_the_finding_that_is_resolved(ask: Ask, call: Call) -> None:
    slug = (call("log_finding", **FINDING).structured_content or {})["slug"]
    plain, resolving = shown(ask, "wrap-up"), shown(ask, "wrap-up", resolves=slug)
    assert resolving.startswith(plain)
    assert f"(cs-finding:{slug})" in resolving
    for tool in ("log_decision", "log_discovery", "log_finding", "append_to_finding"):
        assert tool in plain


@pytest.mark.parametrize(
    ("prompt", "arguments", "said"),
    [
        ("nope", {}, "'nope' is none of brief, wrap-up"),
        ("brief", {"focsu": "x"}, "focsu is not an argument"),
        ("wrap-up", {"resolves": "gone"}, "findings/gone.md does not exist"),
        ("wrap-up", {"resolves": "../x"}, "a-z, 0-9 and -"),
    ],
)
def test_a_wrong_prompt_is_an_error_that_says_what_is_right(
    ask: Ask, root: Path, prompt: str, arguments: dict[str, Any], said: str
) -> None:
    ensure_skeleton(root)
    error = ask(lambda client: client.get_prompt(prompt, arguments))
    assert error.code == INVALID_PARAMS
    assert said in error.message


def test_a_missing_root_is_an_error(ask: Ask, root: Path) -> None:
    root.rmdir()
    error = ask(lambda client: client.get_prompt("brief", {}))
    assert "root . is not a directory" in error.message
