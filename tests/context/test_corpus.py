"""Files of people, editors and older tools, as they are found in repositories: none is damaged."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cspace.context import listing
from cspace.context.listing import Wanted
from cspace.context.records import Kind
from cspace.context.store import ContextStore
from cspace.errors import CspaceError
from tests.context.test_properties import changed_lines

CORPUS = Path(__file__).parent / "corpus"
# What each file means: title, status, tags, created, the sections that are found, the notes of its
# updates; whether an append takes a note, and whether it can replace the status.
EXPECTED: dict[str, dict[str, Any]] = json.loads((CORPUS / "expected.json").read_bytes())
DAY = "2026-01-02-"


@pytest.fixture(params=EXPECTED)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def expected(name: str) -> dict[str, Any]:
    return EXPECTED[name]


@pytest.fixture
def path(root: Path, name: str) -> Path:
    """Put one file of the corpus into a store."""
    found = root / ".cspace/context/findings" / f"{DAY}{name}.md"
    found.parent.mkdir(parents=True)
    found.write_bytes((CORPUS / f"{name}.md").read_bytes())
    return found


def notes(store: ContextStore, path: Path) -> list[str]:
    return [update.note for update in store.read_entry(Kind.FINDING, path.name).updates]


def test_every_file_of_the_corpus_has_an_expectation() -> None:
    assert {path.stem for path in CORPUS.glob("*.md")} == set(EXPECTED)
    assert len(EXPECTED) >= 25


def test_it_is_read_as_it_was_meant(
    store: ContextStore, path: Path, expected: dict[str, Any]
) -> None:
    entry = store.read_entry(Kind.FINDING, path.name)
    assert entry.text == path.read_bytes().decode("utf-8", "replace")
    created = entry.info.created.isoformat() if entry.info.created else None
    assert {"title": entry.info.title, "status": entry.info.status, "created": created} == {
        key: expected[key] for key in ("title", "status", "created")
    }
    assert list(entry.info.tags) == expected["tags"]
    assert list(entry.sections) == expected["sections"]
    assert notes(store, path) == expected["notes"]


def test_it_is_listed_beside_others(
    store: ContextStore, path: Path, expected: dict[str, Any]
) -> None:
    path.with_name(f"{DAY}other.md").write_bytes((CORPUS / "as-we-write.md").read_bytes())
    found = listing.list_findings(store, Wanted())
    assert {info.slug: info.title for info in found.entries} == {
        path.stem: expected["title"],
        f"{DAY}other": "Sign-up fails",
    }
    assert found.skipped == ()


def test_a_note_changes_none_of_its_bytes(
    store: ContextStore, path: Path, expected: dict[str, Any]
) -> None:
    before = path.read_bytes()
    if not expected["takes_notes"]:
        with pytest.raises(CspaceError, match="UTF-16"):
            store.append_to_finding(path.stem, "seen")
        assert path.read_bytes() == before
        return
    for _ in range(2):
        store.append_to_finding(path.stem, "## Updates\r\nseen\n\n")
    assert path.read_bytes().startswith(before)
    assert notes(store, path) == [*expected["notes"], *["## Updates\r\nseen\n\n"] * 2]


def test_a_new_status_changes_one_line_or_nothing(
    store: ContextStore, path: Path, expected: dict[str, Any]
) -> None:
    before = path.read_bytes()
    if not expected["resolves"]:
        with pytest.raises(CspaceError, match=r"safely|UTF-16"):
            store.append_to_finding(path.stem, "done", status="wontfix")
        assert path.read_bytes() == before
        return
    store.append_to_finding(path.stem, "done", status="wontfix")
    assert store.read_entry(Kind.FINDING, path.name).info.status == "wontfix"
    after, block = path.read_bytes().split(b"\n### 2026-04-14T10:30:00Z", 1)
    assert block.endswith(b" status: wontfix\ndone\n")
    after = after.removesuffix(b"\n## Updates")
    old, new = changed_lines(before, after if before[-1:] == b"\n" else after.removesuffix(b"\n"))
    assert re.fullmatch(rb"status: wontfix\s*", new)
    assert old == b"" or b"status" in old or expected["status"].encode() in old
