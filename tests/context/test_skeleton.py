"""The skeleton is created once, and a person's file is never written again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cspace import proc
from cspace.context.records import Discovery, Origin
from cspace.context.skeleton import ensure_skeleton
from cspace.context.store import ContextStore
from tests.conftest import Clock


def test_it_creates_directories_human_files_and_ignore_rules(root: Path) -> None:
    ensure_skeleton(root, None)
    files = sorted(str(path.relative_to(root / ".cspace")) for path in root.glob(".cspace/**/*"))
    assert files == [
        ".gitignore",
        "context",
        "context/decisions",
        "context/direction.md",
        "context/discoveries",
        "context/findings",
        "context/principles.md",
        "context/roadmap.md",
    ]
    assert (
        (root / ".cspace/context/direction.md")
        .read_text(encoding="utf-8")
        .startswith("# Direction\n\n<!--")
    )


def test_what_a_person_wrote_is_left_alone(root: Path) -> None:
    ensure_skeleton(root)
    (root / ".cspace/context/direction.md").write_text("Ours.", encoding="utf-8")
    (root / ".cspace/.gitignore").write_bytes(b"m\xefne")
    for _ in range(2):
        ensure_skeleton(root)
    assert (root / ".cspace/context/direction.md").read_text(encoding="utf-8") == "Ours."
    ignored = (root / ".cspace/.gitignore").read_bytes()
    assert ignored == b"m\xefne\n*.md.lock\n.*.cspace-tmp\n"


def test_git_ignores_locks_and_temporary_files_and_nothing_else(repo: Path) -> None:
    ensure_skeleton(repo)
    findings = repo / ".cspace/context/findings"
    for name in ("a.md", "a.md.lock", ".a.md.0123456789ab.cspace-tmp"):
        (findings / name).touch()
    shown = proc.run("git", "-C", repo, "status", "--porcelain", "-uall", ".cspace").text
    assert "findings/a.md" in shown
    assert "lock" not in shown
    assert "tmp" not in shown


def test_the_first_log_on_a_host_seeds_the_human_files(store: ContextStore, root: Path) -> None:
    store.log_discovery(Discovery("t", "f", "i"))
    assert (root / ".cspace/context/roadmap.md").exists()


def test_inside_an_instance_nothing_is_seeded(root: Path, clock: Clock) -> None:
    store = ContextStore(root, Origin("mercury", "mercury"), clock=clock)
    store.log_discovery(Discovery("t", "f", "i"))
    assert os.listdir(root / ".cspace/context") == ["discoveries"]


def test_a_link_in_the_place_of_the_context_is_not_followed(root: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (root / ".cspace").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match=r"directory|symbolic"):
        ensure_skeleton(root)
    assert os.listdir(tmp_path / "elsewhere") == []


def test_what_a_killed_writer_left_beside_the_human_files_is_swept(root: Path) -> None:
    ensure_skeleton(root)
    for name in ("context/.direction.md.0.cspace-tmp", "..gitignore.0.cspace-tmp"):
        (root / ".cspace" / name).touch()
    ensure_skeleton(root)
    assert list(root.glob(".cspace/**/*.cspace-tmp")) == []
