"""Every name that a lenient file system takes for a sensitive one is sensitive."""

from __future__ import annotations

import pytest

from cspace.instance.sensitive import is_sensitive

SENSITIVE = (
    ".mcp.json",
    ".claude/settings.json",
    ".claude",
    "sub/.claude/commands/x.md",
    ".cspace.json",
    ".cspace.local.json",
    ".devcontainer/devcontainer.json",
    ".devcontainer.json",
    ".gitattributes",
    "deep/er/.gitattributes",
    ".gitmodules",
    ".worktreeinclude",
    ".cspace/agents/a.md",
    ".cspace/agents",
    ".cspace",
    ".MCP.JSON",
    ".Claude/settings.json",
    ".CSPACE/Agents/a.md",
    ".gıtattributes".replace("ı", "I"),
    ".mcp.j\N{LATIN SMALL LETTER LONG S}on",
    ".c\N{ZERO WIDTH JOINER}laude/x",
    "\N{LEFT-TO-RIGHT MARK}.mcp.json",
    "\N{FULLWIDTH FULL STOP}claude/x",
    ".\N{FULLWIDTH LATIN SMALL LETTER M}cp.json",
    ".mcp.json.",
    ".claude /x",
    ".mcp.json::$DATA",
    ".claude:stream/x",
    "MCP~1.JSO",
    "CLAUDE~1/x",
    "GITATT~1",
    "CSPACE~2.JSO",
    ".claude\\settings.json",
)
HARMLESS = (
    "README.md",
    "mcp.json",
    "claude/x",
    ".cspace/context/direction.md",
    ".cspace/memory/MEMORY.md",
    ".gitignore",
    "src/agents/a.py",
    "agents/x",
    "docs/.claude.md",
    "x~1",
    "backup~1.txt",
    "notes.gitattributes",
    ".github/workflows/ci.yml",
)


@pytest.mark.parametrize("path", SENSITIVE, ids=ascii)
def test_a_person_is_shown(path: str) -> None:
    assert is_sensitive(path.encode())


@pytest.mark.parametrize("path", HARMLESS)
def test_nobody_is_bothered_with(path: str) -> None:
    assert not is_sensitive(path.encode())


def test_a_name_that_is_no_text_is_read_all_the_same() -> None:
    assert is_sensitive(b"\xff/.mcp.json")
    assert not is_sensitive(b"\xff\xfe")
