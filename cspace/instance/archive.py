"""Keeps the work of a workspace in the host's repository, below `refs/cspace/archive`.

The host never opens the workspace: a throw-away container reads it into a bundle and writes it
from one. Commit notes of a workspace are among the archived refs, `0/refs/notes/…`.
"""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cspace import files, git, git_objects
from cspace.engine.model import Mount
from cspace.errors import CommandFailed, Conflict, CspaceError
from cspace.instance.exchange import (
    EXCHANGE,
    HOST,
    PROGRAM,
    WORKSPACE,
    Go,
    Isolated,
    Place,
    check_answer,
    exchanging,
    tell,
)
from cspace.instance.snapshot_bundle import Header, open_pack, read_header
from cspace.instance.snapshot_manifest import Manifest, parse_manifest
from cspace.instance.unchanged import check_unchanged

ROOT = "refs/cspace/archive"
# That of a million paths; what a container made can claim to be larger.
MAX_MANIFEST_BYTES = 256 * 1024 * 1024
_STAMP = "%Y%m%dT%H%M%SZ"
_REF = re.compile(rf"{ROOT}/([a-z0-9-]+)/(\d{{8}}T\d{{6}}Z(?:-\d+)?)/snapshot", re.ASCII)
_BUNDLE = "archive.bundle"


@dataclass(frozen=True, slots=True)
class Archive:
    """One archive: whose, when, and the commit of its snapshot.

    Attributes:
        stamp: UTC time as `20260414T103000Z`, with `-2` and on for more in one second.
    """

    name: str
    stamp: str
    commit: str

    @property
    def ref(self) -> str:
        """The prefix that its refs are below."""
        return f"{ROOT}/{self.name}/{self.stamp}"

    @property
    def own(self) -> str:
        """The prefix of the refs of the workspace's own repository."""
        return f"{self.ref}/0/"

    @property
    def reference(self) -> str:
        """What a person calls it."""
        return f"{self.name}/{self.stamp}"

    @property
    def time(self) -> datetime:
        """When it was made."""
        return datetime.strptime(self.stamp.partition("-")[0], _STAMP).replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Packing:
    """A started program that packs a workspace when it is told to.

    Attributes:
        repository: the project's worktree that the instance was made from.
        exchange: the directory that it shares with us.
    """

    repository: Path
    place: Place
    isolated: Isolated
    exchange: Path
    at: datetime
    go: Go


@contextlib.contextmanager
def packing(
    repository: Path, place: Place, isolated: Isolated, at: datetime, *, opaque: bool = False
) -> Iterator[Packing]:
    """Start what packs a workspace: it reads nothing of it before `archive_workspace` is called.

    Starting takes longer than packing, and an instance may be stopped meanwhile.
    """
    argv = (
        *PROGRAM, "pack", "--workspace", WORKSPACE, "--output", EXCHANGE,
        "--host", HOST, "--object-format", git.object_format(repository),
        f"--at={int(at.timestamp())}", *(("--opaque",) if opaque else ()),
    )  # fmt: skip
    with exchanging(place) as exchange:
        mounts = (Mount(place.workspace, WORKSPACE, read_only=True), Mount(exchange, EXCHANGE))
        with isolated(argv, mounts) as go:
            yield Packing(repository, place, isolated, exchange, at, go)


def archive_workspace(started: Packing) -> tuple[Archive, Manifest]:
    """Archive all work of a workspace; return the archive, and what it holds as it was read back.

    Raises:
        Conflict: something wrote to the workspace meanwhile.
        CspaceError: the archive would not be complete; the repository has no new ref.
    """
    repository, place = started.repository, started.place
    header = _carry(started)
    archive = Archive(place.name, _free_stamp(repository, place.name, started.at), header.snapshot)
    with _naming(repository, place.name):
        _create_refs(repository, archive, header)
    try:
        manifest = check_archive(repository, archive)
        check_unchanged(place.workspace, manifest)
    except BaseException:
        remove_archive(repository, archive)
        raise
    return archive, manifest


def _carry(started: Packing) -> Header:
    """Bring what a workspace holds into the host's repository, where nothing refers to it yet."""
    _pack(started)
    with contextlib.suppress(CommandFailed):
        return _take(started)
    # A history that the host refuses is still work: it comes along, but only as files, which git
    # on the host never takes for objects.
    repository, place = started.repository, started.place
    with packing(repository, place, started.isolated, started.at, opaque=True) as again:
        _pack(again)
        with _naming(repository, place.name):
            return _take(again)


@contextlib.contextmanager
def _naming(repository: Path, name: str) -> Iterator[None]:
    """Let what git refuses on the host say where that is, and what to do."""
    try:
        yield
    except CommandFailed as error:
        raise CommandFailed(
            f"the work of {name} can not be archived in {repository}: {error}",
            hint=f"repair it or make room there, then: cspace down {name}",
        ) from error


def _pack(started: Packing) -> None:
    place, repository = started.place, started.repository
    known, cuts = git.list_tips(repository), git.list_cuts(repository)
    tell(place, started.exchange, known=known, shallow=cuts)
    try:
        check_answer(started.go(), f"the work of {place.name} can not be archived")
    except CspaceError as error:
        first = error.hint or f"make room in {place.exchange}, or repair what is named"
        error.hint = (
            f"{first}; to do it inside: cspace start {place.name}; then: cspace down {place.name}"
        )
        raise


def _take(started: Packing) -> Header:
    bundle = started.exchange / _BUNDLE
    header = read_header(bundle)
    with open_pack(bundle, header) as pack:
        git_objects.index_pack(started.repository, pack)
    return header


def _free_stamp(repository: Path, name: str, now: datetime) -> str:
    first = now.astimezone(UTC).strftime(_STAMP)
    taken = {archive.stamp for archive in list_archives(repository, name)}
    stamps = itertools.chain((first,), (f"{first}-{number}" for number in itertools.count(2)))
    return next(one for one in stamps if one not in taken)


def _create_refs(repository: Path, archive: Archive, header: Header) -> None:
    """Create all refs of an archive at once; also those that no bundle brings.

    A bundle names no ref whose commit the host had already.
    """
    brought = {name.removeprefix(header.top): one for name, one in header.refs.items()}
    wanted = dict(load_manifest(repository, archive).refs) | brought
    git.create_refs(repository, {f"{archive.ref}/{name}": one for name, one in wanted.items()})


def check_archive(repository: Path, archive: Archive) -> Manifest:
    """Read an archive back: its refs, the bytes of every file, and all that its commits reach.

    Raises:
        CspaceError: something is missing.
    """
    manifest = load_manifest(repository, archive)
    found = git.list_refs(repository, archive.ref)
    for name, one in manifest.refs:
        if found.get(f"{archive.ref}/{name}") != one:
            raise CspaceError(f"archive {archive.ref} lacks its ref {name}")
    wanted = {entry.blob: entry.size for entry in manifest.entries if entry.blob}
    if wanted != git_objects.object_sizes(repository, wanted):
        raise CspaceError(f"archive {archive.ref} lacks the bytes of a file")
    held = git_objects.tree_objects(repository, (archive.commit, *manifest.shared))
    if wanted.keys() - held:
        raise CspaceError(f"archive {archive.ref} does not keep the bytes of a file alive")
    git_objects.check_connected(repository, archive.ref, ROOT)
    return manifest


def list_archives(repository: Path, name: str | None = None) -> tuple[Archive, ...]:
    """List the archives of one instance or of all, by name and then oldest first."""
    refs = git.list_refs(repository, f"{ROOT}/{name or '*'}/*/snapshot")
    found = ((_REF.fullmatch(ref), commit) for ref, commit in refs.items())
    archives = [Archive(words[1], words[2], commit) for words, commit in found if words]
    return tuple(sorted(archives, key=lambda one: (one.name, one.time, len(one.stamp), one.stamp)))


def load_manifest(repository: Path, archive: Archive) -> Manifest:
    """Return what an archive holds."""
    name, limit = "manifest.json", MAX_MANIFEST_BYTES
    return parse_manifest(git_objects.read_file(repository, archive.commit, name, limit=limit))


def remove_archive(repository: Path, archive: Archive) -> None:
    """Delete an archive's refs; git's own garbage collection takes its objects later."""
    remove_archives(repository, (archive,))


def remove_archives(repository: Path, archives: Iterable[Archive]) -> None:
    """Delete the refs of archives, all or none.

    Raises:
        Conflict: somebody else changed them meanwhile.
    """
    refs = dict[str, str]()
    for archive in archives:
        refs |= git.list_refs(repository, archive.ref)
    try:
        git.delete_refs(repository, refs)
    except CommandFailed as error:
        raise Conflict(f"the archives were not removed: {error}", hint="try again") from error


def make_bundle(
    repository: Path, archive: Archive, destination: Path, known: Collection[str] = ()
) -> None:
    """Write an archive into a bundle.

    Args:
        known: commits that the workspace has to which it is restored.
    """
    git_objects.create_bundle(repository, destination, f"{archive.ref}/*", known)


def restore_workspace(
    repository: Path,
    archive: Archive,
    place: Place,
    isolated: Isolated,
    *,
    known: Collection[str] = (),
) -> None:
    """Make a workspace what an archive holds; killed in between, the same call completes it.

    Args:
        place: a workspace that is empty or a fresh clone: what it holds otherwise is removed.
        known: the commits that it was cloned with.

    Raises:
        CspaceError: it could not be written.
    """
    with exchanging(place) as exchange:
        make_bundle(repository, archive, exchange / _BUNDLE, known)
        files.give(exchange / _BUNDLE, place.owner)
        tell(place, exchange, known=known)
        argv = (
            *PROGRAM, "unpack", "--workspace", WORKSPACE, "--bundle", f"{EXCHANGE}/{_BUNDLE}",
            "--host", HOST,
        )  # fmt: skip
        mounts = (Mount(place.workspace, WORKSPACE), Mount(exchange, EXCHANGE))
        with isolated(argv, mounts) as go:
            check_answer(go(), f"{archive.ref} can not be restored")
