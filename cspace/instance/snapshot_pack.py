"""Packs a workspace into a bundle. Runs where the workspace's owner runs, never on the host.

Objects of a repository travel as git objects, under refs of their own. Where git can not follow
them (a partial clone, a history cut elsewhere than the host's, damage) its object store travels as
plain files instead: nothing is lost, it only takes more room.
"""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from cspace.errors import CommandFailed, CspaceError
from cspace.instance import snapshot_repository as repository_of
from cspace.instance.snapshot_fifos import find_in_repository, find_in_work_tree
from cspace.instance.snapshot_files import Importer, importing, leave_out, name_blobs
from cspace.instance.snapshot_git import (
    Scratch,
    create_scratch,
    ignored_files,
    index_objects,
    object_types,
    tree_objects,
)
from cspace.instance.snapshot_manifest import (
    Carried,
    Entry,
    Kind,
    LeftOut,
    Manifest,
    Problem,
    Repository,
    dump_manifest,
    show,
)
from cspace.instance.snapshot_refs import Refs, plan_refs
from cspace.instance.snapshot_walk import Tree, join, walk

BUNDLE = "archive.bundle"
SNAPSHOT = "snapshot"
PREFIX = "refs/a/"
IGNORED_EACH = 1 << 20
IGNORED_TOTAL = 64 << 20


@dataclass(frozen=True, slots=True)
class Request:
    """How to pack.

    Attributes:
        known: commits that the host has, with everything they reach; unknown ones do no harm.
        shallow: the commits at which the host's own history is cut.
        at: time of the archive, in seconds since 1970.
        opaque: carry every repository as plain files.
        ignored_each, ignored_total: bytes of ignored files that come along.
    """

    known: tuple[str, ...] = ()
    shallow: frozenset[str] = frozenset()
    object_format: str = "sha1"
    at: int = 0
    opaque: bool = False
    ignored_each: int = IGNORED_EACH
    ignored_total: int = IGNORED_TOTAL


class _Unfollowed(Exception):
    """A repository that must travel as plain files; broken when its reason is a defect."""

    def __init__(self, path: bytes, reason: str, *, broken: bool = True) -> None:
        super().__init__(reason)
        self.path, self.reason, self.broken = path, reason, broken


def pack(workspace: Path, output: Path, request: Request) -> Manifest:
    """Write output/archive.bundle and return what it holds. The workspace is only read.

    Raises:
        CspaceError: a file can not be read or a repository is broken; no bundle was written.
    """
    packing = _Packing(workspace, output / "scratch", request)
    try:
        packing.look()
        while True:
            try:
                manifest = packing.write()
                break
            except _Unfollowed as unfollowed:
                packing.carry_as_files(unfollowed)
        (packing.directory / BUNDLE).replace(output / BUNDLE)
        return manifest
    except OSError as error:
        raise _unreadable(workspace, error) from error
    finally:
        shutil.rmtree(packing.directory, ignore_errors=True)


def _unreadable(workspace: Path, error: OSError) -> CspaceError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return CspaceError(f"the bundle can not be written: {error.strerror}")
    name = error.filename
    raw = (
        name
        if isinstance(name, bytes)
        else str(name or workspace).encode("utf-8", "surrogateescape")
    )
    return CspaceError(
        f"{show(raw)} can not be packed: {error.strerror}",
        hint=f"make it readable or remove it: ls -ld {show(raw)}",
    )


class _Packing:
    """One packing: what was seen, and which repositories travel as plain files so far."""

    def __init__(self, workspace: Path, directory: Path, request: Request) -> None:
        self.workspace, self.directory, self.request = workspace, directory, request
        self.problems: list[Problem] = []
        self.left_out: list[LeftOut] = []
        self.entries: list[Entry] = []
        self.tree = Tree()
        self.followed: dict[bytes, Repository] = {}
        self.as_files: dict[bytes, Repository] = {}

    def look(self) -> None:
        """Walk the workspace, decide what comes along, and name its bytes."""
        self.tree = walk(self.workspace)
        paths = sorted(self.tree.repositories)
        numbers = {
            path: number for number, path in enumerate((p for p in paths if p != b".git"), 1)
        }
        for path in paths:
            number = numbers.get(path, 0)
            self.followed[path] = Repository(number, path, Carried.OBJECTS)
        waiting = self._find_waiting()
        ignored = self._ignored(waiting=bool(waiting))
        kept, dropped = leave_out(
            self.tree.entries, ignored,
            each=self.request.ignored_each, total=self.request.ignored_total,
        )  # fmt: skip
        kept = [replace(one, ignored=True) if one.path in ignored else one for one in kept]
        outside = repository_of.list_outside(self.workspace, self.tree)
        self.left_out = [*self.tree.specials, *dropped, *outside]
        self.entries = name_blobs(self.workspace, kept, self.request.object_format)
        self._find_damage()
        for path, fifo in waiting.items():
            self.carry_as_files(_Unfollowed(path, f"{show(fifo)} is a FIFO"))
        self._choose_files()

    def _find_waiting(self) -> dict[bytes, bytes]:
        """Return the repositories that no git can be started on, and the FIFO in each."""
        found = {p: find_in_repository(join(self.workspace, p)) for p in self.followed}
        return {path: fifo for path, fifo in found.items() if fifo is not None}

    def _find_damage(self) -> None:
        for path in self.tree.damaged:
            self._report(
                path, "it is no git repository: HEAD, refs or objects is missing or damaged"
            )
        if b".git" not in (*self.tree.repositories, *self.tree.damaged):
            self.problems.append(Problem(b".git", "the workspace has no repository"))

    def _report(self, path: bytes, reason: str) -> None:
        """Note a broken repository; the workspace's own never stops the packing."""
        if path != b".git":
            raise CspaceError(
                f"the repository {show(path)} is broken: {reason}",
                hint=f"repair it or remove it: git -C {show(path)} fsck",
            )
        self.problems.append(Problem(path, reason))

    def _choose_files(self) -> None:
        """Carry as plain files what git could not follow to the end."""
        cut = self._shallow()
        for path, repository in list(self.followed.items()):
            try:
                why = self._why_files(repository, cut)
            except CommandFailed as error:
                self.carry_as_files(_Unfollowed(path, repository_of.reason(error)))
                continue
            if why:
                self.carry_as_files(_Unfollowed(path, why, broken=False))

    def _shallow(self) -> frozenset[str]:
        if b".git" not in self.followed:
            return frozenset()
        return repository_of.read_shallow(join(self.workspace, b".git"))

    def _why_files(self, repository: Repository, cut: frozenset[str]) -> str | None:
        if self.request.opaque:
            return "asked for"
        directory = join(self.workspace, repository.path)
        scratch = self._scratch([directory])
        why = repository_of.why_not_followed(scratch, directory, self.request.object_format)
        if why is not None:
            return why
        # One scratch repository can be cut in one way only: the workspace's own.
        if repository.number and (
            cut or self.request.shallow or repository_of.read_shallow(directory)
        ):
            return "its history or the host's is cut"
        if object_types(scratch, self.request.shallow - cut):
            return "it holds more of a history than the host"
        return None

    def carry_as_files(self, unfollowed: _Unfollowed) -> None:
        """Take a repository's object store as plain files from now on."""
        if unfollowed.broken:
            self._report(unfollowed.path, unfollowed.reason)
        repository = self.followed.pop(unfollowed.path)
        self.as_files[unfollowed.path] = replace(repository, carried=Carried.FILES)
        store = walk(self.workspace, unfollowed.path + b"/objects", repositories=False)
        seen = {entry.path for entry in self.entries}
        new = [entry for entry in store.entries if entry.path not in seen]
        self.entries += name_blobs(self.workspace, new, self.request.object_format)
        self.left_out += store.specials

    def _scratch(self, directories: Iterable[bytes], shallow: Iterable[str] = ()) -> Scratch:
        return create_scratch(
            self.directory,
            [directory + b"/objects" for directory in directories],
            shallow=sorted(shallow),
            object_format=self.request.object_format,
        )

    def _ignored(self, *, waiting: bool) -> set[bytes]:
        """Return the ignored files; where git can not tell, nothing counts as ignored."""
        if waiting or find_in_work_tree(self.tree.specials):
            return set()
        directories = [join(self.workspace, path) for path in self.followed]
        scratch = self._scratch(directories)
        found: set[bytes] = set()
        for worktree, directory in repository_of.find_worktrees(self.workspace, self.tree):
            exclude = repository_of.read_exclude(directory)
            top = join(self.workspace, worktree)
            try:
                names = ignored_files(scratch, top, directory + b"/index", exclude)
            except CommandFailed:
                continue
            found.update(worktree + b"/" + name if worktree else name for name in names)
        guarded = tuple(path + b"/" for path in self.tree.guarded)
        return {name for name in found if not name.startswith(guarded)}

    def write(self) -> Manifest:
        """Write the bundle of what was seen."""
        directories = [join(self.workspace, path) for path in self.followed]
        scratch = self._scratch(directories, self._shallow())
        refs = self._refs(scratch)
        known = tuple(object_types(scratch, self.request.known))
        self._check_cut(scratch, refs, known)
        manifest = self._import(scratch, refs)
        words = ("bundle", "create", "--quiet", BUNDLE, f"--glob={PREFIX}*", "--stdin")
        tips = "".join(f"^{one}\n" for one in known)
        try:
            scratch.run(*words, stdin=tips.encode())
        except CommandFailed:
            self._find_broken(scratch, refs, known)
            raise
        return manifest

    def _refs(self, scratch: Scratch) -> Refs:
        refs = Refs()
        for path, repository in self.followed.items():
            files = repository_of.list_files(self.tree, repository)
            names = repository_of.read_names(self.workspace, files)
            try:
                indexed = set[str]().union(*(index_objects(scratch, i) for i in names.indexes))
                covered = tree_objects(scratch, names.heads)
            except CommandFailed as error:
                raise _Unfollowed(path, repository_of.reason(error)) from error
            gone = plan_refs(scratch, refs, repository, names, indexed - covered)
            if gone:
                raise _Unfollowed(path, gone)
            refs.covered |= covered
        return refs

    def _check_cut(self, scratch: Scratch, refs: Refs, known: Iterable[str]) -> None:
        """The host could not hold a history that ends where its own does not."""
        cut = self._shallow()
        if not cut:
            return
        lines = [*refs.all_ids(), *(f"^{one}" for one in known)]
        asked = "".join(f"{line}\n" for line in lines).encode()
        try:
            listed = scratch.run("rev-list", "--stdin", stdin=asked).text.split()
        except CommandFailed:
            self._find_broken(scratch, refs, known)
            raise
        if not cut.isdisjoint(listed):
            raise _Unfollowed(b".git", "its history is cut where the host's is not", broken=False)

    def _find_broken(self, scratch: Scratch, refs: Refs, known: Iterable[str]) -> None:
        """Raise for the first repository whose objects can not all be read."""
        for path, repository in self.followed.items():
            lines = [*refs.ids_of(repository.number), "--not", *known]
            asked = "".join(f"{line}\n" for line in lines).encode()
            try:
                scratch.run("pack-objects", "--revs", "--quiet", "probe", stdin=asked)
            except CommandFailed as error:
                raise _Unfollowed(path, repository_of.reason(error)) from error

    def _import(self, scratch: Scratch, refs: Refs) -> Manifest:
        blobs = {e.blob: e for e in self.entries if e.kind is Kind.FILE}
        # Git takes its time to say that an object is not there, so only likely ones are asked for;
        # another that is there is written again, and travels once.
        likely = refs.covered.union(*(keep.blobs for keep in refs.keeps.values()))
        present = object_types(scratch, blobs.keys() & likely)
        with importing(scratch, self.request.at) as importer:
            for blob, entry in blobs.items():
                if blob not in present:
                    importer.add_blob(self.workspace, entry)
            self._import_keeps(importer, refs)
            manifest = self._manifest(refs)
            importer.snapshot(
                PREFIX + SNAPSHOT, dump_manifest(manifest), blobs.keys() - refs.covered
            )
        lines = b"".join(
            b"create %s%s\0%s\0" % (PREFIX.encode(), name.encode(), one.encode())
            for name, one in refs.named.items()
        )
        scratch.run("update-ref", "--stdin", "-z", stdin=lines)
        return manifest

    def _import_keeps(self, importer: Importer, refs: Refs) -> None:
        for number, keep in refs.keeps.items():
            refs.kept[f"{number}/keep"] = importer.keep(replace(keep, ref=f"{PREFIX}{keep.ref}"))

    def _manifest(self, refs: Refs) -> Manifest:
        repositories = [*self.followed.values(), *self.as_files.values()]
        return Manifest(
            entries=tuple(sorted(self.entries, key=lambda entry: entry.path.split(b"/"))),
            left_out=tuple(self.left_out),
            problems=tuple(self.problems),
            repositories=tuple(sorted(repositories, key=lambda one: one.number)),
            refs=tuple(sorted((refs.named | refs.kept).items())),
            shared=tuple(sorted(refs.heads)),
        )
