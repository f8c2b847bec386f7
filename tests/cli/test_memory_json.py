"""What scripts rely on: the keys of the document that each `cspace memory … --json` prints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.memories import document, memory, root

ENTRY = {
    *("scope", "slug", "type", "description", "updated", "stamped", "size", "name", "problem"),
}
PROPOSAL = {
    *("id", "scope", "slug", "type", "description", "operation", "revision", "provenance"),
    *("time", "instance", "reason", "body"),
}
WAITING = PROPOSAL | {"stale", "duplicates", "problem"}
REVIEW = WAITING | {"hidden", "diff"}
WRITTEN = {"scope", "slug", "path", "before", "after"}


@pytest.fixture
def filled(repo: Path) -> Path:
    """Return a project with a memory and a proposal."""
    memory("write", "rule", "--body", "Ask first.", "--yes", cwd=repo)
    memory("propose", "wish", "--body", "Ask twice.", cwd=repo)
    return repo


def keys(found: Any) -> set[str]:
    """Return the keys of a document, without that of the schema."""
    return set(found) - {"schema_version"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("list",), {"scopes", "entries", "skipped"}),
        (("show", "rule"), {"memories", "skipped"}),
        (("show", "MEMORY"), {"files", "skipped"}),
        (("search", "first"), {"hits", "left_out", "skipped"}),
        (("path",), {"scope", "path", "exists"}),
        (("reindex",), {"lines"}),
        (("doctor",), {"scopes", "diagnoses"}),
        (("write", "new", "--body", "b", "--yes"), {"written", "diff"}),
        (("mv", "rule", "law", "--yes"), {"written", "diff"}),
        (("rm", "rule", "--yes"), {"written", "diff"}),
        (("proposals",), {"proposals", "skipped"}),
        (("proposals", "wish"), {"proposal"}),
        (("propose", "new", "--body", "b"), {"proposal"}),
        (("approve", "wish", "--yes"), {"approved", "failed"}),
        (("reject", "wish"), {"rejected", "failed"}),
        (("rebase", "wish"), {"proposal"}),
        (("history",), {"changes"}),
        (("init", "--git"), {"root", "commit"}),
        (("projects", "list"), {"projects"}),
        (("projects", "use", "web"), {"project"}),
        (("projects", "forget", "sample"), {"forgotten"}),
        (("persona", "show"), {"persona", "personas"}),
        (("persona", "use", "a"), {"persona"}),
        (("persona", "clear"), {"persona"}),
    ],
)
def test_each_command_prints_one_document_of_known_keys(
    filled: Path, words: tuple[str, ...], expected: set[str]
) -> None:
    assert keys(document(*words, cwd=filled)) == expected


def test_memories_and_proposals_have_the_same_keys_everywhere(filled: Path) -> None:
    def one(*words: str, key: str) -> Any:
        found = document(*words, cwd=filled)[key]
        return found[0] if isinstance(found, list) else found

    assert keys(one("list", key="entries")) == ENTRY
    assert keys(one("show", "rule", key="memories")) == ENTRY | {"frame", "text"}
    hit = {"scope", "slug", "type", "description", "score", "lines"}
    assert keys(one("search", "first", key="hits")) == hit
    assert keys(one("proposals", key="proposals")) == WAITING
    assert keys(one("proposals", "wish", key="proposal")) == REVIEW
    assert keys(one("approve", "wish", "--yes", key="approved")) == REVIEW | {"path", "after"}
    assert keys(one("mv", "rule", "law", "--yes", key="written")) == WRITTEN
    past = {"time", "operation", "by", "entry", "id", "proposal", "subject"}
    assert keys(one("history", key="changes")) == past


def test_what_git_and_an_adoption_tell_has_known_keys(filled: Path, home: Path) -> None:
    (filled / "desk/memory").mkdir(parents=True)
    adopted = document("adopt", "desk", cwd=filled)["adopted"]
    assert keys(adopted) == {"workspace", "memory"}
    assert document("adopt", "--undo", cwd=filled)["released"] == adopted
    memory("init", "--git", cwd=filled)
    memory("write", "more", "--body", "b", "--yes", cwd=filled)
    assert keys(document("undo", "--yes", cwd=filled)) == {"commit", "undone", "changed"}
    assert not (root(home) / "projects/sample/more.md").exists()
