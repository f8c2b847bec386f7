"""What an instance proposes: a file in a directory of its own, which the host takes over.

The directory is the agent's. So nothing in it is followed, each file is read once and no more than
a proposal may have, and who proposed what is said by the host.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from cspace import beneath, files
from cspace.docstore.opened import Skipped, reason, show_path
from cspace.errors import CspaceError, UsageError
from cspace.memory.changes import Change, Operation, encode_body, revision_of
from cspace.memory.entries import check_description
from cspace.memory.personas import Personas
from cspace.memory.proposal import (
    MAX_BYTES,
    MAX_PENDING,
    SUFFIX,
    Proposal,
    Provenance,
    Source,
    dump_proposal,
    id_of,
    parse_proposal,
)
from cspace.memory.proposals import Proposals
from cspace.memory.review import Review
from cspace.memory.scopes import Kind
from cspace.paths import outboxes_directory

# What one look at one outbox may cost, whatever lies in it; the rest is for the next look.
MAX_NAMES = 5000
MAX_READ = 32 * 1024 * 1024

NameOf = Callable[[str], str | None]


class BadProposal(CspaceError):
    """A file in an outbox that is no proposal, or none that this instance may make."""


@dataclass(frozen=True, slots=True)
class Ingested:
    """What became of the outboxes.

    Attributes:
        taken: proposals that wait for a person now, with their ids.
        bad: files that stay where they are, and why; their paths are relative to the outboxes.
        rejected: how many were removed because the same text was rejected before.
        left: how many wait in their outbox, since their instance has too many pending.
    """

    taken: tuple[Proposal, ...] = ()
    bad: tuple[Skipped, ...] = ()
    rejected: int = 0
    left: int = 0


@dataclass(slots=True)
class _Tally:
    taken: list[Proposal] = field(default_factory=list)
    bad: list[Skipped] = field(default_factory=list)
    rejected: int = 0
    left: int = 0

    def frozen(self) -> Ingested:
        return Ingested(tuple(self.taken), tuple(self.bad), self.rejected, self.left)


def file_in_outbox(
    proposals: Proposals,
    outbox: Path,
    change: Change,
    provenance: Provenance,
    reason_: str = "",
) -> Review:
    """File a proposal from inside an instance, and return it with the id that the host will use.

    Errors as for `Proposals.draft`.

    Args:
        proposals: of the memory as the instance sees it.
        outbox: the instance's own, INSIDE.outbox.

    Raises:
        UsageError: as many as may wait lie there already; or there is no outbox.
    """
    review = proposals.draft(change, provenance, reason_)
    content = dump_proposal(review.proposal)
    _check_room(outbox)
    name = os.urandom(8).hex() + SUFFIX
    # Not published by a link: the host takes no file that has two names.
    files.write_atomic(outbox / name, content, owner=proposals.store.owner)
    return replace(review, proposal=replace(review.proposal, id=id_of(name, content)))


def _check_room(outbox: Path) -> None:
    try:
        names = os.listdir(outbox)  # noqa: PTH208  names are all that is asked for
    except FileNotFoundError:
        raise UsageError(
            f"{outbox} does not exist: nothing can be proposed here",
            hint="on the host: cspace down and up make this instance anew",
        ) from None
    if sum(not name.startswith(".") for name in names) >= MAX_PENDING:
        raise UsageError(
            f"{MAX_PENDING} proposals wait in this instance already",
            hint="a person has to look at them first: cspace memory proposals, on the host",
        )


def ingest(user: Path, proposals: Proposals, name_of: NameOf) -> Ingested:
    """Take over what all instances proposed. Cheap where there is nothing.

    A kill at any step loses nothing, and nothing is taken over twice: the file goes only when its
    proposal is stored, under an id that is made of the file.

    Args:
        user: `~/.cspace`.
        name_of: gives the memory's name of a project by the project's id, None where it has none.
    """
    tally = _Tally()
    for project_id, name in _list_outboxes(user):
        place = PurePosixPath(project_id, name)
        try:
            # Unlocked: what its agent lets nobody remove would be proposed again and again.
            with beneath.pinned(outboxes_directory(user), place, unlock=True) as directory:
                names = _list_files(directory)
                if names:
                    _Ingest(proposals, place, name_of(project_id), tally).run(directory, names)
        except OSError as error:
            tally.bad.append(Skipped(show_path(place), reason(error)))
    return tally.frozen()


def _list_outboxes(user: Path) -> Iterator[tuple[str, str]]:
    root = outboxes_directory(user)
    for project_id in _subdirectories(root, PurePosixPath()):
        for name in _subdirectories(root, PurePosixPath(project_id)):
            yield project_id, name


def _subdirectories(root: Path, relative: PurePosixPath) -> list[str]:
    try:
        with beneath.pinned(root, relative) as place, os.scandir(place) as entries:
            names = [one.name for one in entries if one.is_dir(follow_symlinks=False)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(name for name in names if not name.startswith("."))


def _list_files(directory: Path) -> list[str]:
    """Return what lies in an outbox, without what is being written; no more than a look costs."""
    names = []
    with os.scandir(directory) as entries:
        for entry in entries:
            if not entry.name.startswith("."):
                names.append(entry.name)
            if len(names) == MAX_NAMES:
                break
    return sorted(names)


@dataclass(slots=True)
class _Ingest:
    """Takes over one outbox."""

    proposals: Proposals
    place: PurePosixPath
    project: str | None
    tally: _Tally
    read: int = 0

    @property
    def instance(self) -> str:
        return str(self.place)

    def run(self, directory: Path, names: list[str]) -> None:
        with self.proposals.pending.locked():
            room = MAX_PENDING - self.proposals.count_of(self.instance)
            for number, name in enumerate(names):
                if room <= 0 or self.read >= MAX_READ:
                    self.tally.left += len(names) - number
                    return
                try:
                    room -= self._take(directory, name)
                except FileNotFoundError:
                    continue
                except (CspaceError, OSError) as error:
                    self.tally.bad.append(Skipped(show_path(self.place / name), _say(error)))

    def _take(self, directory: Path, name: str) -> bool:
        """Take one file over, and return whether there is a new proposal."""
        content, status = _read(directory, name)
        self.read += len(content)
        proposal = self._attributed(parse_proposal(content, id_of(name, content)))
        new = False
        if self.proposals.rejections.find(proposal.change) is not None:
            self.proposals.log("drop", proposal)
            self.tally.rejected += 1
        else:
            new = self.proposals.pending.put(proposal)
            if new:
                self.tally.taken.append(proposal)
        _remove(directory, name, status)
        return new

    def _attributed(self, proposal: Proposal) -> Proposal:
        """Return a proposal with what only the host can say of it.

        Raises:
            BadProposal: the instance may not propose this.
            UsageError: a text in it can not be.
        """
        change = proposal.change
        self._check_scope(change)
        if change.operation is not Operation.REMOVE:
            encode_body(change.body)
        if change.description is not None:
            check_description(change.description)
        # A job and a session are equally much the agent's word; the others are a person's.
        claimed = proposal.provenance.source
        source = Source.JOB if claimed is Source.JOB else Source.SESSION
        store, revision = self.proposals.store, proposal.revision
        if change.scope.kind is Kind.PERSONA and revision is None:
            # It may have seen no memory of this persona.
            revision = revision_of(store.find(change.scope, change.slug))
        return replace(
            proposal,
            provenance=Provenance(source, proposal.provenance.ref),
            instance=self.instance,
            time=store.now(),
            revision=revision,
        )

    def _check_scope(self, change: Change) -> None:
        scope = change.scope
        match scope.kind:
            case Kind.GLOBAL | Kind.USER:
                allowed = True
            case Kind.PROJECT:
                allowed = scope.name == self.project
            case Kind.PERSONA:
                allowed = scope.name in Personas(self.proposals.store.root).names()
            case _:
                allowed = False
        if not allowed:
            raise BadProposal(f"scope {scope} is none that this instance may propose for")


def _say(error: CspaceError | OSError) -> str:
    if isinstance(error, CspaceError):
        return str(error)
    return "it is no regular file" if error.errno == errno.EISDIR else reason(error)


def _read(directory: Path, name: str) -> tuple[bytes, os.stat_result]:
    if not name.endswith(SUFFIX):
        raise BadProposal(f"its name does not end with {SUFFIX}")
    descriptor = beneath.open_child_file(int(directory.name), name)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        content = file.read(MAX_BYTES + 1)
    # Asked of the name and not of what is open: that loses a name when the agent replaces it.
    found = (directory / name).lstat()
    if found.st_nlink != 1:
        raise BadProposal(f"it has {found.st_nlink} names: another program may change it")
    if (found.st_dev, found.st_ino) != (status.st_dev, status.st_ino):
        raise BadProposal("it was replaced while it was read")
    return content, status


def _remove(directory: Path, name: str, status: os.stat_result) -> None:
    """Remove a file that was taken over, unless it is another one by now."""
    with contextlib.suppress(FileNotFoundError):
        found = (directory / name).lstat()
        if stat.S_ISREG(found.st_mode) and found.st_ino == status.st_ino:
            (directory / name).unlink()
