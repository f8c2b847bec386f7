"""Archives in the host's repository: whole or absent, read back, listed, restored."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cspace import proc
from cspace.engine.model import Mount
from cspace.errors import CommandFailed, CspaceError
from cspace.instance.archive import (
    Archive,
    archive_workspace,
    check_archive,
    list_archives,
    load_manifest,
    make_bundle,
    packing,
    remove_archive,
    restore_workspace,
)
from cspace.instance.exchange import Go
from cspace.instance.snapshot_manifest import Carried
from cspace.instance.snapshot_pack import BUNDLE
from tests.conftest import Clock
from tests.instance.snapshot_trees import (
    archive_now,
    clone,
    commit,
    followed_by,
    fresh,
    git,
    isolated,
    outlook,
    place,
    survey,
)


@pytest.fixture
def archived(host: Path, workspace: Path, tmp_path: Path, clock: Clock) -> Callable[[], Archive]:
    """Return a function that archives the workspace."""
    return lambda: archive_now(host, place(tmp_path, workspace), isolated, clock)


def refs(host: Path) -> str:
    return git(host, "for-each-ref")


def test_a_workspace_is_archived_and_restored_byte_for_byte(
    host: Path, workspace: Path, tmp_path: Path, archived: Callable[[], Archive]
) -> None:
    work = commit(workspace, "work.txt")
    (workspace / "untracked").write_text("untracked\n", encoding="utf-8")
    before, said = survey(workspace), outlook(workspace)
    archive = archived()
    assert archive.ref == "refs/cspace/archive/mercury/20260414T103000Z"
    assert archive.time == datetime(2026, 4, 14, 10, 30, tzinfo=UTC)
    assert git(host, "rev-parse", f"{archive.ref}/0/refs/heads/cspace/mercury") == work
    known = fresh(host, workspace)
    restore_workspace(host, archive, place(tmp_path, workspace), isolated, known=known)
    assert survey(workspace) == before
    assert outlook(workspace) == said
    assert list((tmp_path / "state").iterdir()) == []


def test_an_archive_is_restored_into_an_empty_workspace(
    host: Path, workspace: Path, tmp_path: Path, archived: Callable[[], Archive]
) -> None:
    commit(workspace, "work.txt")
    before, said = survey(workspace), outlook(workspace)
    archive = archived()
    workspace.rename(tmp_path / "before")
    workspace.mkdir()
    restore_workspace(host, archive, place(tmp_path, workspace), isolated)
    assert survey(workspace) == before
    assert outlook(workspace) == said


def test_an_archive_outlives_every_other_ref_and_garbage_collection(
    host: Path, workspace: Path, tmp_path: Path, archived: Callable[[], Archive]
) -> None:
    (workspace / "src/main.py").write_text("stashed\n", encoding="utf-8")
    git(workspace, "stash", "--quiet")
    (workspace / "src/main.py").write_text("stashed too\n", encoding="utf-8")
    git(workspace, "stash", "--quiet")
    (workspace / "staged").write_text("staged\n", encoding="utf-8")
    git(workspace, "add", "staged")
    (workspace / "staged").write_text("changed\n", encoding="utf-8")
    before, said = survey(workspace), outlook(workspace)
    archive = archived()
    git(host, "switch", "--quiet", "--orphan", "other")
    git(host, "branch", "--quiet", "-D", "main")
    git(host, "reflog", "expire", "--expire=now", "--all")
    git(host, "gc", "--quiet", "--prune=now")
    check_archive(host, archive)
    workspace.rename(tmp_path / "before")
    workspace.mkdir()
    restore_workspace(host, archive, place(tmp_path, workspace), isolated)
    assert survey(workspace) == before
    assert outlook(workspace) == said


def test_two_archives_in_one_second_do_not_collide(
    host: Path, workspace: Path, archived: Callable[[], Archive], clock: Clock
) -> None:
    first = archived()
    commit(workspace, "later.txt")
    second, third = archived(), archived()
    clock.advance(seconds=1)
    fourth = archived()
    assert [one.stamp for one in (second, third, fourth)] == [
        "20260414T103000Z-2",
        "20260414T103000Z-3",
        "20260414T103001Z",
    ]
    assert list_archives(host) == (first, second, third, fourth)
    assert list_archives(host, "venus") == ()


def test_a_removed_archive_takes_only_its_own_refs(
    host: Path, workspace: Path, archived: Callable[[], Archive]
) -> None:
    first = archived()
    before = refs(host)
    second = archived()
    remove_archive(host, second)
    assert refs(host) == before
    assert list_archives(host) == (first,)


def test_an_archive_costs_only_what_the_host_does_not_have(
    host: Path, workspace: Path, tmp_path: Path, archived: Callable[[], Archive]
) -> None:
    before = int(git(host, "count-objects", "-v").split()[1])
    (workspace / "one.txt").write_text("one\n", encoding="utf-8")
    archived()
    # The file, manifest.json, the trees and the commit that hold them, and what keeps reflogs.
    assert int(git(host, "count-objects", "-v").split()[1]) - before < 15


def loosen(repository: Path) -> None:
    """Take a repository's objects out of its packs."""
    store = repository / ".git/objects/pack"
    for pack in list(store.glob("*.pack")):
        pack.rename(repository / "taken.pack")
        for left in store.glob(f"{pack.stem}.*"):
            left.unlink()
        content = (repository / "taken.pack").read_bytes()
        proc.run("git", "-C", repository, "unpack-objects", "-q", stdin=content)


@pytest.mark.parametrize("lost", ["ref", "blob"])
def test_an_archive_that_lost_something_is_found_out(
    host: Path, workspace: Path, archived: Callable[[], Archive], lost: str
) -> None:
    (workspace / "one.txt").write_text("only here\n", encoding="utf-8")
    archive = archived()
    check_archive(host, archive)
    if lost == "ref":
        git(host, "update-ref", "-d", f"{archive.ref}/0/refs/heads/cspace/mercury")
    else:
        blob = git(workspace, "hash-object", "one.txt")
        loosen(host)
        (host / ".git/objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(CspaceError, match="lacks"):
        check_archive(host, archive)


def test_a_loss_that_two_archives_share_is_found_out(
    host: Path, workspace: Path, archived: Callable[[], Archive]
) -> None:
    git(workspace, "switch", "--quiet", "-c", "aside")
    commit(workspace, "deep/work.txt")
    git(workspace, "switch", "--quiet", "cspace/mercury")
    first, second = archived(), archived()
    tree = git(workspace, "rev-parse", "aside:deep")
    loosen(host)
    (host / ".git/objects" / tree[:2] / tree[2:]).unlink()
    for archive in (first, second):
        with pytest.raises(CommandFailed, match=tree):
            check_archive(host, archive)


def test_a_failed_packing_leaves_no_ref_and_names_path_and_reason(
    host: Path, workspace: Path, tmp_path: Path, archived: Callable[[], Archive]
) -> None:
    (workspace / "nested").mkdir()
    git(workspace / "nested", "init", "--quiet")
    commit(workspace / "nested", "a")
    (workspace / "nested/.git/HEAD").unlink()
    before = refs(host)
    with pytest.raises(CspaceError, match=r"nested/\.git is broken") as caught:
        archived()
    assert caught.value.exit_code == 1
    assert "the work of mercury can not be archived" in str(caught.value)
    assert caught.value.hint == (
        "repair it or remove it: git -C nested/.git fsck; to do it inside: cspace start mercury;"
        " then: cspace down mercury"
    )
    assert refs(host) == before
    assert list((tmp_path / "state").iterdir()) == []


def test_what_is_written_before_the_packing_is_told_to_begin_comes_along(
    host: Path, workspace: Path, tmp_path: Path, clock: Clock
) -> None:
    with packing(host, place(tmp_path, workspace), isolated, clock()) as started:
        work = commit(workspace, "late.txt")
        archive, _ = archive_workspace(started)
    assert git(host, "rev-parse", f"{archive.ref}/0/refs/heads/cspace/mercury") == work


def test_a_packing_that_is_never_told_to_begin_leaves_nothing(
    host: Path, workspace: Path, tmp_path: Path, clock: Clock
) -> None:
    before = refs(host)
    with packing(host, place(tmp_path, workspace), isolated, clock()) as started:
        assert list(started.exchange.iterdir()) == []
    assert list((tmp_path / "state").iterdir()) == []
    assert refs(host) == before


def test_a_truncated_bundle_leaves_no_ref(
    host: Path, workspace: Path, tmp_path: Path, clock: Clock
) -> None:
    before, stored = refs(host), sorted((host / ".git").rglob("*"))

    def cut(exchange: Path) -> None:
        bundle = exchange / BUNDLE
        bundle.write_bytes(bundle.read_bytes()[:-100])

    with pytest.raises(CommandFailed, match="the work of mercury can not be archived") as caught:
        archive_now(host, place(tmp_path, workspace), followed_by(cut), clock)
    assert str(host) in str(caught.value)
    assert caught.value.hint is not None
    assert refs(host) == before
    assert sorted((host / ".git").rglob("*")) == stored


def test_a_program_that_does_not_answer_is_an_error_that_shows_what_it_said(
    host: Path, workspace: Path, tmp_path: Path, clock: Clock
) -> None:
    @contextlib.contextmanager
    def silent(argv: tuple[str, ...], mounts: tuple[Mount, ...]) -> Iterator[Go]:
        yield lambda: proc.Result(argv, 127, b"", b"python3: not found\n")

    with pytest.raises(CommandFailed, match="python3: not found"):
        archive_now(host, place(tmp_path, workspace), silent, clock)


def test_a_history_that_git_refuses_is_kept_as_files_and_comes_back(
    host: Path, workspace: Path, tmp_path: Path, archived: Callable[[], Archive]
) -> None:
    plant = b'[submodule "../../evil"]\n\tpath = a\n\turl = --upload-pack=evil\n'
    blob = proc.run("git", "-C", workspace, "hash-object", "-w", "--stdin", stdin=plant).text
    tree = proc.run(
        "git", "-C", workspace, "mktree", stdin=f"100644 blob {blob}\t.gitmodules\n".encode()
    ).text
    evil = git(workspace, "commit-tree", "-m", "evil", tree)
    git(workspace, "update-ref", "refs/heads/evil", evil)
    git(host, "-c", "fetch.fsckObjects=false", "fetch", "--quiet", workspace, "evil")  # it works
    git(host, "update-ref", "-d", "FETCH_HEAD")
    git(host, "gc", "--quiet", "--prune=now")
    before, said = survey(workspace), outlook(workspace)
    archive = archived()
    assert load_manifest(host, archive).repositories[0].carried is Carried.FILES
    missing = proc.run("git", "-C", host, "cat-file", "-e", evil, ok=(0, 1, 128))
    assert missing.code != 0
    known = fresh(host, workspace)
    restore_workspace(host, archive, place(tmp_path, workspace), isolated, known=known)
    assert survey(workspace) == before
    assert outlook(workspace) == said


def test_a_harmless_old_defect_in_a_history_is_no_obstacle(
    host: Path, workspace: Path, archived: Callable[[], Archive]
) -> None:
    tree = git(workspace, "rev-parse", "HEAD^{tree}")
    raw = f"tree {tree}\nauthor A <a@b> 1 +051800\ncommitter A <a@b> 1 +051800\n\nold\n"
    old = proc.run(
        "git", "-C", workspace, "hash-object", "-t", "commit", "-w", "--literally", "--stdin",
        stdin=raw.encode(),
    ).text  # fmt: skip
    git(workspace, "update-ref", "refs/heads/old", old)
    assert (
        "badTimezone"
        in proc.run(
            "git", "-C", workspace, "fsck", "--no-progress", ok=(0, 1, 4, 5)
        ).stderr.decode()
    )
    archive = archived()
    assert load_manifest(host, archive).repositories[0].carried is Carried.OBJECTS
    assert git(host, "rev-parse", f"{archive.ref}/0/refs/heads/old") == old


def test_the_users_fetch_settings_do_not_change_an_archive(
    host: Path, workspace: Path, archived: Callable[[], Archive]
) -> None:
    for key, value in (
        ("fetch.prune", "true"),
        ("fetch.pruneTags", "true"),
        ("protocol.file.allow", "never"),
        ("protocol.allow", "never"),
        ("fetch.recurseSubmodules", "true"),
        ("remote.origin.tagOpt", "--tags"),
    ):
        git(host, "config", key, value)
    git(host, "tag", "mine")
    commit(workspace, "work.txt")
    git(workspace, "tag", "theirs")
    archive = archived()
    assert git(host, "tag") == "mine"
    assert not (host / ".git/FETCH_HEAD").exists()
    assert list_archives(host) == (archive,)


def test_commit_notes_of_a_workspace_are_in_its_archive(
    host: Path, workspace: Path, archived: Callable[[], Archive]
) -> None:
    git(workspace, "notes", "--ref", "cs/decisions", "add", "-m", "why", "HEAD")
    archive = archived()
    assert git(host, "rev-parse", f"{archive.ref}/0/refs/notes/cs/decisions") == git(
        workspace, "rev-parse", "refs/notes/cs/decisions"
    )


def test_an_archive_works_from_a_linked_worktree(
    host: Path, workspace: Path, tmp_path: Path, clock: Clock
) -> None:
    linked = tmp_path / "linked"
    git(host, "worktree", "add", "--quiet", "--detach", linked)
    work = commit(workspace, "work.txt")
    archive = archive_now(linked, place(tmp_path, workspace), isolated, clock)
    assert list_archives(host) == (archive,)
    assert git(host, "rev-parse", f"{archive.ref}/0/refs/heads/cspace/mercury") == work


def test_a_bundle_for_a_clone_holds_only_what_it_lacks(
    host: Path, workspace: Path, tmp_path: Path, archived: Callable[[], Archive]
) -> None:
    (host / "large.dat").write_bytes(bytes(range(256)) * 40)
    base = commit(host, "other.txt", "\n".join(str(number**5) for number in range(20_000)))
    git(workspace, "pull", "--quiet", "--rebase", "origin", "main")
    archive = archived()
    make_bundle(host, archive, tmp_path / "whole")
    make_bundle(host, archive, tmp_path / "part", known=(base, "0" * 39 + "1"))
    assert (tmp_path / "part").stat().st_size * 5 < (tmp_path / "whole").stat().st_size


def test_a_manifest_is_data_that_a_person_can_read(
    host: Path, workspace: Path, archived: Callable[[], Archive]
) -> None:
    archive = archived()
    document = json.loads(git(host, "show", f"{archive.ref}/snapshot:manifest.json"))
    assert document["format"] == 1
    assert {"path": "src", "kind": "directory"}.items() <= next(
        entry for entry in document["entries"] if entry["path"] == "src"
    ).items()


def test_a_repository_that_names_objects_by_sha256_is_archived_and_restored(
    tmp_path: Path, clock: Clock
) -> None:
    host, workspace = tmp_path / "host", tmp_path / "workspace"
    host.mkdir()
    git(host, "init", "--quiet", "--object-format=sha256")
    commit(host, "a.txt")
    clone(host, workspace)
    (workspace / "old").mkdir()
    git(workspace / "old", "init", "--quiet", "--object-format=sha1")
    commit(workspace / "old", "inner.txt")
    work = commit(workspace, "work.txt")
    before, said = survey(workspace), outlook(workspace)
    archive = archive_now(host, place(tmp_path, workspace), isolated, clock)
    assert git(host, "rev-parse", f"{archive.ref}/0/refs/heads/cspace/mercury") == work
    assert [one.carried for one in load_manifest(host, archive).repositories] == [
        Carried.OBJECTS,
        Carried.FILES,
    ]
    known = fresh(host, workspace)
    restore_workspace(host, archive, place(tmp_path, workspace), isolated, known=known)
    assert survey(workspace) == before
    assert outlook(workspace) == said


def test_thousands_of_amended_commits_come_back(
    host: Path, workspace: Path, tmp_path: Path, archived: Callable[[], Archive]
) -> None:
    tree = git(workspace, "rev-parse", "HEAD^{tree}")
    commits = "".join(
        f"commit refs/heads/many\ncommitter A <a@b> {number} +0000\ndata 1\nx\n"
        f"M 040000 {tree} \n\n" + ("reset refs/heads/many\n\n" if number < 3000 else "")
        for number in range(1, 3001)
    )
    proc.run("git", "-C", workspace, "fast-import", "--quiet", "--force", stdin=commits.encode())
    ids = proc.run(
        "git", "-C", workspace, "cat-file", "--batch-all-objects", "--batch-check"
    ).text.splitlines()
    made = [line.split()[0] for line in ids if " commit " in line]
    assert len(made) >= 3000
    lines = "".join(f"{'0' * 40} {one} A <a@b> 1 +0000\tamend\n" for one in made)
    (workspace / ".git/logs/refs/heads/many").write_text(lines, encoding="utf-8")
    said = outlook(workspace)
    archive = archived()
    known = fresh(host, workspace)
    restore_workspace(host, archive, place(tmp_path, workspace), isolated, known=known)
    assert outlook(workspace) == said


def test_a_package_planted_in_the_work_directory_is_not_what_runs(
    host: Path, workspace: Path, tmp_path: Path, clock: Clock
) -> None:
    (workspace / "cspace/instance").mkdir(parents=True)
    planted = "import sys; sys.exit('planted')"
    (workspace / "cspace/__init__.py").write_text(planted, encoding="utf-8")
    words = (sys.executable, "-m", "cspace.instance.snapshot")
    assert b"planted" in proc.run(*words, cwd=workspace, ok=(1,)).stderr
    asked: list[tuple[str, ...]] = []

    def record(
        argv: tuple[str, ...], mounts: tuple[Mount, ...]
    ) -> contextlib.AbstractContextManager[Go]:
        asked.append(argv)
        return isolated(argv, mounts)

    archive_now(host, place(tmp_path, workspace), record, clock)
    flags = asked[0][1 : asked[0].index("-m")]
    said = proc.run(sys.executable, *flags, *words[1:], cwd=workspace, ok=(1, 2)).stderr
    assert b"planted" not in said
