"""Merges the commit notes that came out of a workspace into the host's.

The merge is made in a scratch repository: `git notes merge` would use the user's configuration and
move the ref without looking whether somebody else moved it meanwhile.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection
from pathlib import Path

from cspace import git, git_objects
from cspace.errors import CommandFailed, Conflict, CspaceError, expected
from cspace.git_foreign_notes import check_notes
from cspace.instance.snapshot_git import create_scratch

NOTES = "refs/notes"
BUSY = "you are merging notes there: git notes merge --commit or --abort"
_ATTEMPTS = 5
_IDENTITY = {
    f"GIT_{role}_{field}": value
    for role in ("AUTHOR", "COMMITTER")
    for field, value in (("NAME", "cspace"), ("EMAIL", "cspace@localhost"))
}


def merge_notes(repository: Path, prefix: str, but: Collection[str] = ()) -> tuple[str, ...]:
    """Merge each notes ref that a workspace's repository had into the host's of that name.

    No line of a note is lost. Repeated, it changes nothing more. What can not be merged stays
    where it is, and a teardown goes on.

    Args:
        prefix: what the refs that came out of the workspace are below, with the final slash.
        but: the host's refs that somebody else merges.

    Returns:
        What was not merged and why, one sentence each.
    """
    found = git.list_refs(repository, f"{prefix}{NOTES}")
    busy = git.notes_in_merge(repository) if found else frozenset[str]()
    notices = []
    for name, theirs in found.items():
        ref = name.removeprefix(prefix)
        if ref in but:
            continue
        try:
            if ref in busy:
                raise Conflict(BUSY)
            _merge_into(repository, ref, theirs)
        except (CspaceError, OSError) as error:
            reason = str(expected(error)).strip().splitlines()[-1].strip()
            notices.append(f"{ref} was not merged, and is at {name}: {reason}")
    return tuple(notices)


def _merge_into(repository: Path, ref: str, theirs: str) -> None:
    """Make the host's ref hold the notes of a commit.

    Raises:
        CspaceError: the commit does not hold notes, or somebody else keeps moving the ref.
    """
    for _ in range(_ATTEMPTS):
        mine = git.list_refs(repository, ref).get(ref)
        if mine == theirs or (mine and git.is_ancestor(repository, theirs, mine)):
            return
        check_notes(repository, theirs)
        forward = mine is None or git.is_ancestor(repository, mine, theirs)
        merged = theirs if forward or mine is None else _merge(repository, mine, theirs)
        try:
            git.update_ref(repository, ref, merged, mine)
        except CommandFailed:
            if git.list_refs(repository, ref).get(ref) == mine:
                raise
        else:
            return
    raise Conflict("something else keeps moving it")


def _merge(repository: Path, mine: str, theirs: str) -> str:
    """Merge two commits of notes; the host's repository has the result, and no ref to it."""
    with tempfile.TemporaryDirectory(prefix="cspace-notes-") as temporary:
        directory = Path(temporary)
        scratch = create_scratch(
            directory / "scratch", [os.fsencode(git_objects.object_directory(repository))],
            object_format=git.object_format(repository),
        )  # fmt: skip
        for name, one in (("mine", mine), ("theirs", theirs)):
            scratch.run("update-ref", f"{NOTES}/{name}", one)
        words = ("notes", "--ref=mine", "merge", "--quiet", "--strategy=union", "theirs")
        scratch.run(*words, env=_IDENTITY)
        merged = scratch.run("rev-parse", "--verify", f"{NOTES}/mine").text
        asked = f"{merged}\n^{mine}\n^{theirs}\n".encode("ascii")
        pack = directory / "pack"
        pack.write_bytes(
            scratch.run("pack-objects", "--revs", "--thin", "--stdout", "-q", stdin=asked).stdout
        )
        with pack.open("rb") as file:
            git_objects.index_pack(repository, file)
        return merged
