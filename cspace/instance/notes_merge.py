"""Merges the commit notes of an archived workspace into the host's.

The merge is made in a scratch repository: `git notes merge` would use the user's configuration and
move the ref without looking whether somebody else moved it meanwhile.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

from cspace import git, git_objects
from cspace.errors import CommandFailed, Conflict, CspaceError, expected
from cspace.instance.archive import Archive
from cspace.instance.snapshot_git import create_scratch

NOTES = "refs/notes"
MOST_NOTES = 500_000
LARGEST_NOTE = 1 << 20
_ATTEMPTS = 5
_HEX = re.compile(rb"[0-9a-f]+")
_IDENTITY = {
    f"GIT_{role}_{field}": value
    for role in ("AUTHOR", "COMMITTER")
    for field, value in (("NAME", "cspace"), ("EMAIL", "cspace@localhost"))
}


def merge_notes(repository: Path, archive: Archive) -> tuple[str, ...]:
    """Merge each notes ref of an archived workspace's own repository into the host's of that name.

    No line of a note is lost. Repeated, it changes nothing more. What can not be merged stays in
    the archive, which a teardown goes on with.

    Returns:
        What was not merged and why, one sentence each.
    """
    prefix = f"{archive.ref}/0/"
    found = git.list_refs(repository, f"{prefix}{NOTES}")
    busy = git.notes_in_merge(repository) if found else frozenset[str]()
    notices = []
    for name, theirs in found.items():
        ref = name.removeprefix(prefix)
        try:
            if ref in busy:
                raise Conflict("you are merging notes there: git notes merge --commit or --abort")
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
        _check_notes(repository, theirs)
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


def _check_notes(repository: Path, commit: str) -> None:
    """Refuse what an agent could have put in the place of notes; stops early where it is endless.

    Raises:
        CspaceError: with what is wrong.
    """
    if (kind := git_objects.object_type(repository, commit)) != "commit":
        raise CspaceError(f"it is a {kind}, not a commit of notes")
    for number, entry in enumerate(git_objects.iter_tree(repository, commit, trees=True)):
        if number >= MOST_NOTES:
            raise CspaceError(f"it holds more than {MOST_NOTES} notes")
        if entry.kind not in ("blob", "tree") or entry.mode not in ("100644", "100755", "040000"):
            raise CspaceError(f"it holds a {entry.kind} of mode {entry.mode}, which is no note")
        if not _HEX.fullmatch(name := entry.path.replace(b"/", b"")):
            raise CspaceError("it holds a path that names no object")
        if entry.kind == "blob" and len(name) != len(commit):
            raise CspaceError("it holds a path that names no object")
        if entry.size > LARGEST_NOTE:
            raise CspaceError(f"it holds a note of {entry.size} bytes")


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
