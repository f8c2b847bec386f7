"""Adopting an orchestrator's directory: one link, recorded, and followed only as recorded."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cspace.errors import Conflict, CspaceError, NotFound, UsageError
from cspace.memory.changes import Change, Operation, apply_change
from cspace.memory.orchestrator import MARKER, RECORD, adopt, find_adopted, find_workspace, release
from cspace.memory.scopes import Kind, Scope
from cspace.memory.store import MemoryStore
from tests.conftest import Clock

ORCHESTRATOR = Scope(Kind.ORCHESTRATOR)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    place = tmp_path / "desk"
    (place / "memory").mkdir(parents=True)
    return place


def test_an_adopted_directory_is_the_scope_and_stays_where_it_is(
    root: Path, workspace: Path, clock: Clock
) -> None:
    adopt(root, workspace, workspace / "memory")
    store = MemoryStore(root, now=clock)
    change = Change(ORCHESTRATOR, "brief", Operation.CREATE, "Say who decides.")
    store.write(change, apply_change(None, change, clock.now), None)
    assert (workspace / "memory/brief.md").is_file()
    assert store.read(ORCHESTRATOR, "brief").endswith(b"Say who decides.\n")
    assert (root / "orchestrator").readlink() == workspace / "memory"


def test_adopting_the_same_again_changes_nothing_and_another_one_is_refused(
    root: Path, workspace: Path, tmp_path: Path
) -> None:
    adopted = adopt(root, workspace, workspace / "memory")
    assert adopt(root, workspace, workspace / "memory") == adopted
    with pytest.raises(Conflict, match="is there already, and leads to"):
        adopt(root, tmp_path, tmp_path)
    assert find_adopted(root) == adopted


def test_the_workspace_is_known_by_its_marker_and_only_where_it_was_adopted(
    root: Path, workspace: Path, tmp_path: Path
) -> None:
    (workspace / "below").mkdir()
    assert find_workspace(root, workspace) is None
    adopt(root, workspace, workspace / "memory")
    assert find_workspace(root, workspace / "below") == workspace
    forged = tmp_path / "forged"
    forged.mkdir()
    (forged / MARKER).write_bytes((workspace / MARKER).read_bytes())
    assert find_workspace(root, forged) is None
    (workspace / MARKER).unlink()
    assert find_workspace(root, workspace) is None


def test_a_link_that_leads_elsewhere_than_recorded_is_not_followed(
    root: Path, workspace: Path, tmp_path: Path
) -> None:
    adopt(root, workspace, workspace / "memory")
    (tmp_path / "secret.md").write_text("secret", encoding="utf-8")
    (root / "orchestrator").unlink()
    (root / "orchestrator").symlink_to(tmp_path)
    with pytest.raises(CspaceError, match="a link that cspace did not make"):
        MemoryStore(root).find(ORCHESTRATOR, "secret")


def test_an_adopted_directory_that_was_swapped_for_a_link_is_not_followed(
    root: Path, workspace: Path, tmp_path: Path
) -> None:
    adopt(root, workspace, workspace / "memory")
    (tmp_path / "secret.md").write_text("secret", encoding="utf-8")
    (workspace / "memory").rmdir()
    (workspace / "memory").symlink_to(tmp_path)
    with pytest.raises(CspaceError, match="a link that cspace did not make"):
        MemoryStore(root).find(ORCHESTRATOR, "secret")


def test_a_link_without_a_record_is_not_followed(root: Path, tmp_path: Path) -> None:
    root.mkdir()
    (root / "orchestrator").symlink_to(tmp_path)
    with pytest.raises(CspaceError, match="a link that cspace did not make"):
        MemoryStore(root).list_entries(ORCHESTRATOR)


def test_what_was_adopted_can_be_released_and_keeps_its_memories(
    root: Path, workspace: Path
) -> None:
    adopted = adopt(root, workspace, workspace / "memory")
    (workspace / "memory/rule.md").write_text("stays", encoding="utf-8")
    assert release(root) == adopted
    assert (workspace / "memory/rule.md").read_text(encoding="utf-8") == "stays"
    assert (find_workspace(root, workspace), (workspace / MARKER).exists()) == (None, False)
    assert not os.path.lexists(root / "orchestrator")
    with pytest.raises(NotFound, match="no orchestrator's directory is adopted"):
        release(root)
    assert adopt(root, workspace, workspace / "memory") == adopted


def test_a_release_removes_no_link_that_leads_elsewhere(
    root: Path, workspace: Path, tmp_path: Path
) -> None:
    adopt(root, workspace, workspace / "memory")
    (root / "orchestrator").unlink()
    (root / "orchestrator").symlink_to(tmp_path)
    release(root)
    assert (root / "orchestrator").readlink() == tmp_path


def test_a_directory_in_the_links_place_is_left_alone(root: Path, workspace: Path) -> None:
    (root / "orchestrator").mkdir(parents=True)
    with pytest.raises(Conflict, match="is there already"):
        adopt(root, workspace, workspace / "memory")
    assert not (workspace / MARKER).exists()
    assert not (root / RECORD).exists()


@pytest.mark.parametrize("place", ["missing", "file"])
def test_what_is_no_directory_is_refused(root: Path, workspace: Path, place: str) -> None:
    (workspace / "file").write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="is no directory"):
        adopt(root, workspace, workspace / place)
    assert not root.exists()


def test_the_memorys_own_directory_can_not_be_adopted(root: Path) -> None:
    (root / "user").mkdir(parents=True)
    with pytest.raises(UsageError, match="lies in the memory's own directory"):
        adopt(root, root, root / "user")


@pytest.mark.parametrize("record", ["{", "[]", json.dumps({"orchestrator": "relative"})])
def test_a_broken_record_is_named(root: Path, record: str) -> None:
    root.mkdir()
    (root / RECORD).write_text(record, encoding="utf-8")
    with pytest.raises(CspaceError, match="does not say what was adopted"):
        find_adopted(root)
