"""Commits the context, and nothing else, to the branch that the main worktree is on."""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from cspace import beneath, git, git_commits, git_objects
from cspace.context.commit_message import Action, Changed, dump_message
from cspace.context.entryfile import parse_entry
from cspace.context.records import ROOT, Entry, Kind
from cspace.docstore.folder import Folder
from cspace.docstore.opened import SUFFIX, Skipped, show_path
from cspace.errors import CommandFailed, Conflict, CspaceError, UsageError
from cspace.git import Staged
from cspace.git_commits import NO_FILE, Change
from cspace.git_import import blob_id

_FOLDERS = (ROOT, *(ROOT / kind.plural for kind in Kind))
_KINDS = {ROOT / kind.plural: kind for kind in Kind}
# Git commands hold the index for moments.
LOCK_SECONDS = 2.0
LOCK_POLL_SECONDS = 0.05
_AGAIN = "cspace context commit"
_REGULAR = ("100644", "100755")
_HIDDEN = re.compile(rb"(?:^|/)\.[^/]*$")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to commit, and how.

    Attributes:
        message: None for one that is made of what changed.
        removals: whether files that vanished are removed from the branch, too.
        dry_run: nothing is written, neither objects nor refs nor the index.
    """

    message: str | None = None
    removals: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Committed:
    """A commit of the context.

    Attributes:
        commit: None when there was nothing to commit, and in a dry run.
        branch: None for a detached HEAD.
        root: the main worktree, whose branch it is.
        left: tracked files that vanished and were left on the branch.
        skipped: files that can not be committed, and why.
    """

    commit: str | None
    branch: str | None
    root: Path
    message: str
    changes: tuple[Changed, ...]
    left: tuple[str, ...]
    skipped: tuple[Skipped, ...]


def commit_context(root: Path, wanted: Wanted) -> Committed:
    """Commit every regular `*.md` of the context as it stands on disk.

    The user's index is neither used nor changed, but for the entries of the files that were
    committed; no hook and no filter runs. The branch moves only from where it was seen.

    Args:
        root: the main worktree: the context of all linked ones lies there.

    Raises:
        Conflict: a merge or the like is not ended, or somebody else moved the branch or has the
            index; nothing was committed.
        CommandFailed: git does not know who commits, or refuses for another reason.
    """
    _refuse_unfinished(root)
    head = git.resolve(root, "HEAD")
    with tempfile.TemporaryDirectory(prefix="cspace-context-") as copies:
        survey = _survey(root, head, Path(copies), removals=wanted.removals)
        changes = tuple(change for change, _ in survey.found)
        message = dump_message(changes, wanted.message) if changes else ""
        commit = None
        if changes and not wanted.dry_run:
            commit = _apply(root, head, survey, message)
    return Committed(
        commit, git_commits.branch_of(root), root, message, changes, survey.left, survey.skipped
    )


def _refuse_unfinished(root: Path) -> None:
    worktree = git.find_worktree(root)
    if worktree is None:
        raise UsageError(f"{root} is not a work tree")
    if begun := git_commits.operation_in_progress(worktree.git_directory):
        raise Conflict(
            f"a {begun} is in progress in {root}; nothing was committed",
            hint=f"end it first: git {begun} --continue, or git {begun} --abort",
        )
    if waiting := git_commits.list_unmerged(root, str(ROOT)):
        name = os.fsdecode(waiting[0])
        raise Conflict(
            f"{name!r} has a conflict in the index; nothing was committed",
            hint="resolve it, then git add it",
        )


@dataclass(frozen=True, slots=True)
class _Survey:
    """What differs between the disk and a commit.

    Attributes:
        copies: where each changed file's content stands, named by its id.
    """

    copies: Path
    found: tuple[tuple[Changed, Change], ...]
    left: tuple[str, ...]
    skipped: tuple[Skipped, ...]


def _survey(root: Path, head: str | None, copies: Path, *, removals: bool) -> _Survey:
    tracked = git_commits.list_tree(root, head, str(ROOT.parent)) if head else {}
    _refuse_odd_tree(tracked)
    surveyor = _Surveyor(root, git.object_format(root), tracked, copies)
    found = [surveyor.change(path, content) for path, content in surveyor.iter_changed()]
    fresh = [entry.path for change, entry in found if change.action is Action.RECORDED]
    ignored = git_commits.list_ignored(root, fresh) if fresh else frozenset[bytes]()
    kept = [pair for pair in found if pair[1].path not in ignored]
    skipped = surveyor.skipped + [
        Skipped(os.fsdecode(path), "git ignores it: git check-ignore -v names the line")
        for path in sorted(ignored)
    ]
    gone = surveyor.list_gone()
    if removals:
        kept += [surveyor.removal(path) for path in gone]
        gone = ()
    return _Survey(copies, tuple(kept), tuple(map(os.fsdecode, gone)), tuple(skipped))


def _refuse_odd_tree(tracked: dict[bytes, Staged]) -> None:
    for folder in (ROOT.parent, *_FOLDERS):
        if os.fsencode(folder) in tracked:
            raise CspaceError(
                f"{folder} is a file, a link or a submodule in the commit that is checked out",
                hint=f"take it out of git first: git rm --cached {folder}",
            )


@dataclass(frozen=True, slots=True)
class _Surveyor:
    """Compares the files on disk with those that a commit tracks."""

    root: Path
    object_format: str
    tracked: dict[bytes, Staged]
    copies: Path
    skipped: list[Skipped] = field(default_factory=list)

    def iter_changed(self) -> Iterator[tuple[PurePosixPath, bytes]]:
        """Yield the files that the commit has otherwise or not, with their content."""
        for folder in _FOLDERS:
            try:
                yield from self._iter_changed(Folder(self.root, folder))
            except CspaceError as error:
                self.skipped.append(Skipped(str(folder), str(error)))

    def _iter_changed(self, folder: Folder) -> Iterator[tuple[PurePosixPath, bytes]]:
        for stem, found in folder.read_all():
            path = folder.path_of(stem)
            known = self.tracked.get(os.fsencode(path))
            if isinstance(found, CspaceError):
                reason = str(found).removeprefix(f"{show_path(path)}: ")
                self.skipped.append(Skipped(str(path), reason))
            elif not (known and known.mode in _REGULAR and known.id == self._id_of(found)):
                yield path, found

    def _id_of(self, content: bytes) -> str:
        # Of thousands of files only those that differ are handed to git.
        return blob_id(content, self.object_format)

    def change(self, path: PurePosixPath, content: bytes) -> tuple[Changed, Change]:
        """Describe a file that changed, and keep its content."""
        name = os.fsencode(path)
        known = self.tracked.get(name)
        mode = known.mode if known and known.mode in _REGULAR else _REGULAR[0]
        one = self._id_of(content)
        (self.copies / one).write_bytes(content)
        action = Action.UPDATED if known else Action.RECORDED
        return self._describe(path, content, action), Change(name, mode, one)

    def removal(self, path: bytes) -> tuple[Changed, Change]:
        """Describe a file that vanished."""
        name = PurePosixPath(os.fsdecode(path))
        known = self.tracked[path]
        changed = Changed(str(name), _KINDS.get(name.parent), Action.REMOVED, name.stem)
        return changed, Change(path, NO_FILE, "0" * len(known.id))

    def _describe(self, path: PurePosixPath, content: bytes, action: Action) -> Changed:
        kind = _KINDS.get(path.parent)
        if kind is None:
            return Changed(str(path), None, action, path.stem)
        entry = parse_entry(kind, path.stem, str(path), content)
        before = self._before(kind, path) if action is Action.UPDATED else None
        return Changed(str(path), kind, action, entry.info.title, _authors(entry, before))

    def _before(self, kind: Kind, path: PurePosixPath) -> Entry | None:
        one = self.tracked[os.fsencode(path)].id
        size = git_objects.object_sizes(self.root, [one]).get(one, beneath.MAX_BYTES + 1)
        if size > beneath.MAX_BYTES:
            return None
        return parse_entry(kind, path.stem, str(path), git_objects.read_blob(self.root, one))

    def list_gone(self) -> tuple[bytes, ...]:
        """Return what the commit tracks of the context, and nothing stands for on disk."""
        folders = {os.fsencode(folder) for folder in _FOLDERS}
        return tuple(
            path
            for path in sorted(self.tracked)
            if os.path.dirname(path) in folders  # noqa: PTH120  bytes
            and path.endswith(SUFFIX.encode())
            and not _HIDDEN.search(path)
            and not os.path.lexists(os.path.join(os.fsencode(self.root), path))  # noqa: PTH118
        )


def _authors(entry: Entry, before: Entry | None) -> tuple[str, ...]:
    """Return who wrote what is new: of updates their authors, else the record's own."""
    new = Counter(entry.updates) - Counter(before.updates if before else ())
    names = [*(update.author for update in new), *([] if before and new else [entry.info.author])]
    return tuple(dict.fromkeys(name for name in names if name))


def _apply(root: Path, head: str | None, survey: _Survey, message: str) -> str:
    entries = tuple(entry for _, entry in survey.found)
    kept = {entry.id for entry in entries if entry.mode != NO_FILE}
    git_commits.write_blobs(root, (survey.copies / one for one in sorted(kept)))
    tree = git_commits.write_tree(root, head, entries)
    commit = git_commits.write_commit(root, tree, head, message)
    index = git.list_index(root, path=str(ROOT))
    before = tuple(_change_of(one, index) for one in entries)
    # The index first: a kill in between leaves what is staged, and not what looks taken back.
    _stage(root, entries)
    try:
        subject = message.partition("\n")[0]
        git_commits.move_head(root, commit, head, f"context commit: {subject}")
    except CommandFailed as error:
        now = git.resolve(root, "HEAD")
        _stage(root, _taken_back(root, before, head, now))
        if now != head:
            raise Conflict(
                "somebody else committed meanwhile; nothing was committed", hint=_AGAIN
            ) from error
        raise _locked(error, "the branch") from error
    return commit


def _taken_back(
    root: Path, before: tuple[Change, ...], head: str | None, now: str | None
) -> tuple[Change, ...]:
    """Return what the index has to hold again: what was not staged is what is checked out now."""
    old, new = (
        git_commits.list_tree(root, one, str(ROOT.parent)) if one else {} for one in (head, now)
    )
    return tuple(_change_of(one, new) if one == _change_of(one, old) else one for one in before)


def _change_of(like: Change, tree: dict[bytes, Staged]) -> Change:
    """Return what makes a path what a tree or an index says of it."""
    known = tree.get(like.path, Staged(NO_FILE, "0" * len(like.id), hidden=False))
    return Change(like.path, known.mode, known.id)


def _stage(root: Path, entries: tuple[Change, ...]) -> None:
    """Change the user's index, as soon as no other git command holds it."""
    deadline = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            git_commits.stage(root, entries)
        except CommandFailed as error:
            if ".lock" not in str(error) or time.monotonic() >= deadline:
                raise _locked(error, "the index") from error
            time.sleep(LOCK_POLL_SECONDS)
        else:
            return


def _locked(error: CommandFailed, what: str) -> CspaceError:
    """Say who is in the way where git could not lock something; any other error stays."""
    if ".lock" not in str(error):
        return error
    return Conflict(
        f"another git command holds the lock of {what}; nothing was committed",
        hint=f"wait for it to end, then: {_AGAIN}",
    )
