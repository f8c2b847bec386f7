"""Packs what an agent did: its branch, its notes, its files as they are. Runs in a container.

Unlike an archive it is no copy of everything, and an instance goes on working meanwhile.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path

from cspace import proc
from cspace.errors import CommandFailed, CspaceError
from cspace.instance import snapshot_repository as repository_of
from cspace.instance.snapshot_fifos import find_in_repository, look_for_any
from cspace.instance.snapshot_git import (
    Scratch,
    check_paths,
    create_scratch,
    object_types,
    ref_fits,
)
from cspace.instance.snapshot_manifest import Carried, Repository, show
from cspace.instance.snapshot_walk import join, walk
from cspace.instance.work_answer import (
    ANSWER,
    MOST_LEFT_OUT,
    MOST_NOTES_REFS,
    NOTES,
    NOTES_PACK,
    PACK,
    Work,
    dump_work,
)
from cspace.instance.work_tree import Limits, take_tree

ATTEMPTS = 3
SCRATCH = "scratch"
_BRANCHES = b"refs/heads/"
# While a rebase is on its way the head is detached, and the branch what it was before.
_REBASED = (b"rebase-merge/head-name", b"rebase-apply/head-name")
_IDENTITY = {
    f"GIT_{role}_{field}": value
    for role in ("AUTHOR", "COMMITTER")
    for field, value in (
        ("NAME", "cspace"), ("EMAIL", "cspace@localhost"), ("DATE", "@0 +0000")
    )
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class WorkRequest:
    """What to pack.

    Attributes:
        known: commits that the host has, with everything they reach; unknown ones do no harm.
        committed: leave the files as they are alone.
    """

    known: tuple[str, ...] = ()
    object_format: str = "sha1"
    committed: bool = False
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True)
class _Names:
    """What the workspace's own repository names at one moment."""

    branch: bytes | None
    head: str | None
    notes: dict[str, str]
    cuts: frozenset[str]


def pack_work(workspace: Path, output: Path, request: WorkRequest) -> Work:
    """Write the answer, and a pack where there is something new, into output.

    Raises:
        CspaceError: there is no repository that git can follow, or it changes all the time.
    """
    _check_repository(workspace)
    failed: CspaceError | None = None
    try:
        for _ in range(ATTEMPTS):
            try:
                work = _attempt(workspace, output, request)
            except OSError as error:
                failed = CspaceError(f"{_where(error)} can not be read: {error.strerror}")
            except CommandFailed as error:
                failed = CspaceError(f"git can not read it: {repository_of.reason(error)}")
            else:
                (output / ANSWER).write_bytes(dump_work(work))
                return work
    finally:
        shutil.rmtree(output / SCRATCH, ignore_errors=True)
    assert failed is not None  # noqa: S101  there was an attempt
    raise failed


def _where(error: OSError) -> str:
    name = error.filename
    return show(name) if isinstance(name, bytes) else str(name or "the workspace")


def _check_repository(workspace: Path) -> None:
    try:
        whole = stat.S_ISDIR(os.lstat(workspace / ".git").st_mode)
    except OSError:
        whole = False
    if not whole:
        raise CspaceError("the workspace has no repository of its own")


def _attempt(workspace: Path, output: Path, request: WorkRequest) -> Work:
    names = _read_names(workspace)
    fifo = find_in_repository(join(workspace, b".git"))
    if fifo is not None:
        raise CspaceError(f"{show(fifo)} is a FIFO, for which git would wait")
    scratch = create_scratch(
        output / SCRATCH, [join(workspace, b".git/objects")],
        shallow=sorted(names.cuts), object_format=request.object_format,
    )  # fmt: skip
    why = repository_of.why_not_followed(scratch, join(workspace, b".git"), request.object_format)
    if why:
        raise CspaceError(f"its repository can not be followed: {why}")
    types = object_types(scratch, (*filter(None, [names.head]), *names.notes.values()))
    commits = {one for one, (kind, _) in types.items() if kind == "commit"}
    if names.head and names.head not in commits:
        raise CommandFailed(f"its head {names.head} is gone, or no commit")
    branch = names.branch.decode("utf-8", "backslashreplace") if names.branch else None
    notes = {name: one for name, one in names.notes.items() if one in commits}
    work = Work(branch, names.head, None, notes=notes)
    if not request.committed:
        work = _with_tree(scratch, workspace, work, request.limits)
    packing = _Packing(scratch, names.cuts, request)
    work = replace(work, packed=packing.write(output / PACK, work.ids, request.known))
    return _with_notes(packing, output / NOTES_PACK, work)


def _with_notes(packing: _Packing, pack: Path, work: Work) -> Work:
    """Pack what only notes reach; where that can not be, the work still comes along."""
    known = (*packing.request.known, *work.ids)
    try:
        packed = packing.write(pack, (*work.notes.values(),), known)
    except CommandFailed as error:
        return replace(work, notes={}, notes_problem=repository_of.reason(error))
    except CspaceError as error:
        return replace(work, notes={}, notes_problem=str(error))
    return replace(work, notes_packed=packed)


def _read_names(workspace: Path) -> _Names:
    tree = walk(workspace, b".git")
    if b".git" not in tree.repositories:
        raise CspaceError("its repository is damaged: HEAD, refs or objects is missing")
    found = repository_of.list_files(tree, Repository(0, b".git", Carried.OBJECTS))
    wanted = {name: entry for name, entry in found.items() if _is_wanted(name)}
    refs = repository_of.read_names(workspace, wanted).refs
    directory = join(workspace, b".git")
    head = repository_of.read(directory + b"/HEAD").strip()
    branch = next((one for one in (head.removeprefix(b"ref: "), *_rebased(directory, found))
                   if one.startswith(_BRANCHES)), None)  # fmt: skip
    notes = {
        name.decode(): refs[name]
        for name in sorted(refs)
        if name.startswith(NOTES.encode()) and ref_fits(name)
    }
    return _Names(
        branch=branch.removeprefix(_BRANCHES) if branch else None,
        head=refs.get(branch or b"HEAD"),
        notes=dict(list(_apart(notes).items())[:MOST_NOTES_REFS]),
        cuts=repository_of.read_shallow(directory),
    )


def _is_wanted(name: bytes) -> bool:
    return name in (b"HEAD", b"packed-refs") or name.startswith(b"refs/")


def _rebased(directory: bytes, found: Collection[bytes]) -> list[bytes]:
    return [
        repository_of.read(directory + b"/" + name).strip() for name in _REBASED if name in found
    ]


def _apart(refs: dict[str, str]) -> dict[str, str]:
    """Leave out what is below another one: a file can not be in a file's place."""
    kept: dict[str, str] = {}
    for name, one in refs.items():
        parts = name.split("/")
        if not any("/".join(parts[:length]) in kept for length in range(1, len(parts))):
            kept[name] = one
    return kept


def _with_tree(scratch: Scratch, workspace: Path, work: Work, limits: Limits) -> Work:
    """Add the files as they are; where that can not be, what is committed still comes along."""
    try:
        if work.head:
            check_paths(scratch, work.head)
        fifo = look_for_any(workspace)
        if fifo is not None:
            raise CspaceError(f"{show(fifo)} is a FIFO, for which git would wait")
        taken = take_tree(scratch, workspace, work.head, limits)
    except CommandFailed as error:
        return replace(work, problem=repository_of.reason(error))
    except CspaceError as error:
        return replace(work, problem=str(error))
    of_head = scratch.run("rev-parse", f"{work.head}^{{tree}}").text if work.head else None
    parent = ("-p", work.head) if work.head else ()
    words = ("commit-tree", taken.tree, *parent, "-m", "Work in progress")
    same = work.head is not None and taken.tree == of_head
    # The same tree makes the same commit, which then need not travel again.
    tree = work.head if same else scratch.run(*words, env=_IDENTITY).text
    left_out = taken.left_out[:MOST_LEFT_OUT]
    return replace(work, tree=tree, left_out=left_out, moving=taken.moving)


@dataclass(frozen=True, slots=True)
class _Packing:
    """Writes packs of what the host lacks."""

    scratch: Scratch
    cuts: frozenset[str]
    request: WorkRequest

    def write(self, pack: Path, ids: Collection[str], known: Collection[str]) -> bool:
        """Write a pack of what ids reach and known do not; return whether that is anything.

        Raises:
            CspaceError: the host could not hold it, or nobody's work is that large.
        """
        if set(ids) <= set(known):
            return False
        without = object_types(self.scratch, known)
        asked = "".join([*(f"{one}\n" for one in ids), *(f"^{one}\n" for one in without)]).encode()
        if self.cuts:
            listed = self.scratch.run("rev-list", "--stdin", stdin=asked).text.split()
            if not self.cuts.isdisjoint(listed):
                raise CspaceError("its history is cut where the host's is not")
        words = ("pack-objects", "--revs", "--thin", "--stdout", "--quiet")
        with (
            proc.talk("git", *words, env=self.scratch.environment()) as process,
            pack.open("wb") as file,
        ):
            assert process.stdin is not None  # noqa: S101  a pipe; tells the type checker
            assert process.stdout is not None  # noqa: S101  a pipe; tells the type checker
            process.stdin.write(asked)
            process.stdin.close()
            while chunk := process.stdout.read(1 << 16):
                file.write(chunk)
                if file.tell() > self.request.limits.pack:
                    raise CspaceError(
                        f"its new commits are above {self.request.limits.pack} bytes",
                        hint="take the large files out of its history: cspace shell NAME",
                    )
        return True
