"""The proposals that wait for a person, and what becomes of them.

They lie in `.proposals/<id>.yaml` below the memory's root. One lock serialises all decisions; no
memory changes but through `approve`.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace

from cspace.docstore.opened import Skipped
from cspace.errors import Conflict, CspaceError, UsageError
from cspace.memory.changes import Change, Operation, apply_change, revision_of
from cspace.memory.entries import default_description, default_type
from cspace.memory.log import LOG, LogLine, append_log
from cspace.memory.pending import HINT, Pending
from cspace.memory.proposal import (
    MAX_PENDING,
    Proposal,
    Provenance,
    Source,
    dump_proposal,
    id_of,
)
from cspace.memory.rejections import Rejection, Rejections
from cspace.memory.review import Review, review_proposal
from cspace.memory.sameness import Duplicates
from cspace.memory.store import MemoryStore
from cspace.memory.writer import Written

_OF_MODELS = frozenset({Source.SESSION, Source.JOB})


@dataclass(frozen=True, slots=True)
class Waiting:
    """One line of the list.

    Attributes:
        stale: whether the memory changed since the proposal was made.
        duplicates: memories and proposals that hold the same text.
        problem: why the memory can not be read; empty where it can.
    """

    proposal: Proposal
    stale: bool = False
    duplicates: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """All proposals that wait, oldest first, and files that are none."""

    waiting: tuple[Waiting, ...]
    skipped: tuple[Skipped, ...] = ()


@dataclass(frozen=True, slots=True)
class Proposals:
    """The pending proposals of one memory root."""

    store: MemoryStore

    @property
    def pending(self) -> Pending:
        """The files of those that wait."""
        return Pending(self.store.root, self.store.owner, self.store.by)

    @property
    def rejections(self) -> Rejections:
        """The texts that were rejected before."""
        return Rejections(self.store.root, self.store.owner)

    def draft(self, change: Change, provenance: Provenance, reason: str = "") -> Review:
        """Look at what would be proposed; nothing is written. Also inside an instance.

        Raises:
            Conflict: the same text was rejected before; or it is to be created and is there.
            NotFound: it is to be appended to or removed and is not there.
            UsageError: the name or one of the texts can not be.
        """
        made = self.make(change, provenance, reason)
        review = review_proposal(self.store, made)
        return replace(review, duplicates=Duplicates(self.store, self.pending.all()).of(made))

    def make(self, change: Change, provenance: Provenance, reason: str = "") -> Proposal:
        """Return what would be filed; nothing is written. Errors as for `draft`."""
        self.refuse_rejected(change)
        store = self.store
        before = store.find(change.scope, change.slug)
        apply_change(before, change, store.now())
        made = Proposal(
            _filled(change), revision_of(before), provenance, store.now(), reason=reason
        )
        dump_proposal(made)
        return made

    def file(self, change: Change, provenance: Provenance, reason: str = "") -> Review:
        """File a proposal on the host, and return it with its id; errors as for `draft`.

        Raises:
            UsageError: a model proposes, and as many as may wait do already.
        """
        review = self.draft(change, provenance, reason)
        content = dump_proposal(review.proposal)
        made = replace(review.proposal, id=id_of(os.urandom(8).hex(), content))
        with self.pending.locked():
            self._check_room(provenance)
            self.pending.put(made)
        return replace(review, proposal=made, stored=revision_of(content))

    def list_pending(self) -> Listing:
        """Read all proposals that wait, each beside what is there now."""
        found, skipped = self.pending.load_all()
        duplicates = Duplicates(self.store, found)
        ordered = sorted(found, key=lambda one: (one.time, one.id))
        return Listing(tuple(self._wait(one, duplicates) for one in ordered), skipped)

    def _wait(self, proposal: Proposal, duplicates: Duplicates) -> Waiting:
        try:
            before = self.store.find(proposal.change.scope, proposal.change.slug)
            stale = revision_of(before) != proposal.revision
            return Waiting(proposal, stale, duplicates.of(proposal))
        except CspaceError as error:
            return Waiting(proposal, problem=str(error))

    def get(self, id_: str) -> Proposal:
        """Return one proposal, by its id or as much of it as tells it apart.

        Raises:
            NotFound: there is none, or several start so.
            CspaceError: its file can not be read.
        """
        return self.pending.load(id_)[0]

    def review(self, id_: str) -> Review:
        """Look at one proposal beside what is there now; errors as for `get`."""
        proposal, stored = self.pending.load(id_)
        review = review_proposal(self.store, proposal, stored)
        return replace(review, duplicates=Duplicates(self.store, self.pending.all()).of(proposal))

    def approve(self, review: Review, *, allow_hidden: bool = False) -> Written:
        """Write exactly the bytes that a person was shown, and close the proposal.

        Args:
            review: what they were shown.

        Raises:
            Conflict: the proposal, or the memory that it is about, is no longer as it was shown;
                it is stale, or does not fit. Nothing is written.
            UsageError: something in it is hidden, and nobody allowed that.
        """
        proposal = review.proposal
        self.check(review, allow_hidden=allow_hidden)
        with self.pending.locked():
            self._check_unchanged(review)
            try:
                written = self.store.write(
                    proposal.change, review.after, proposal.revision, proposal=proposal.id
                )
            except Conflict as error:
                raise Conflict(str(error), hint=f"cspace memory rebase {proposal.id}") from error
            except CspaceError:
                # On a full disk what is written may be missing in the log only.
                change = proposal.change
                if self.store.find(change.scope, change.slug) == review.after:
                    self.pending.remove(proposal.id)
                raise
            self.pending.remove(proposal.id)
        return written

    def check(self, review: Review, *, allow_hidden: bool = False) -> None:
        """Refuse what can not be approved as it was shown; errors as for `approve`."""
        proposal = review.proposal
        if review.stale:
            with self.pending.locked():
                self._check_open(proposal.id)
            raise Conflict(
                f"{proposal.target} changed since proposal {proposal.id} was made",
                hint=f"cspace memory rebase {proposal.id}",
            )
        if review.problem:
            raise Conflict(review.problem, hint=f"cspace memory reject {proposal.id}")
        if review.hidden and not allow_hidden:
            raise _hides(review)

    def reject(self, id_: str, reason: str = "") -> Proposal:
        """Close a proposal without changing a memory, and remember its text; errors as for `get`.

        Raises:
            Conflict: somebody else decided meanwhile.
        """
        proposal = self.get(id_)
        with self.pending.locked():
            self._check_open(proposal.id)
            said = Rejection(reason, self.store.now(), proposal.id)
            self.rejections.add(proposal.change, said)
            self.log("reject", proposal)
            self.pending.remove(proposal.id)
        return proposal

    def rebase(self, id_: str) -> Review:
        """Make a proposal anew against what is there now; a person still has to approve it.

        What was to be created and is there now becomes an overwrite; what was to be changed and is
        gone is created.

        Raises:
            NotFound: as for `get`.
            Conflict: it fits nothing any longer.
        """
        proposal = self.get(id_)
        with self.pending.locked():
            self._check_open(proposal.id)
            before = self.store.find(proposal.change.scope, proposal.change.slug)
            change = replace(proposal.change, operation=_fitting(proposal, before))
            made = replace(proposal, change=change, revision=revision_of(before))
            review = review_proposal(self.store, made)
            if review.problem:
                raise Conflict(review.problem, hint=f"cspace memory reject {proposal.id}")
            self.pending.put(made, over=True)
        return self.review(proposal.id)

    def refuse_rejected(self, change: Change) -> None:
        """Refuse a text that a person rejected.

        Raises:
            Conflict: they did; the message has what they said.
        """
        found = self.rejections.find(change)
        if found is None:
            return
        when = f" on {found.time:%Y-%m-%d}" if found.time else ""
        said = f": {found.reason}" if found.reason else ""
        raise Conflict(
            f"the same text was rejected for {change.scope}{when}{said}",
            hint="propose something else; a person may write it: cspace memory write",
        )

    def log(self, operation: str, proposal: Proposal) -> None:
        """Add a decision that changes no memory to the log."""
        change, revision = proposal.change, proposal.revision
        append_log(
            self.store.root,
            LogLine(
                time=self.store.now(),
                operation=operation,
                scope=str(change.scope),
                slug=change.slug,
                by=self.store.by,
                before=revision,
                after=revision,
                proposal=proposal.id,
            ),
            self.store.owner,
        )

    def count_of(self, instance: str) -> int:
        """Return how many proposals of an instance wait."""
        return sum(one.instance == instance for one in self.pending.all())

    def _check_room(self, provenance: Provenance) -> None:
        """Let models fill neither the disk nor a person's list; a person may file any number."""
        if provenance.source not in _OF_MODELS:
            return
        ours = [one.provenance.source for one in self.pending.all() if not one.instance]
        if sum(source in _OF_MODELS for source in ours) >= MAX_PENDING:
            raise UsageError(
                f"{MAX_PENDING} proposals of models wait on this host already",
                hint="a person has to look at them first: cspace memory proposals",
            )

    def _check_unchanged(self, review: Review) -> None:
        id_ = review.proposal.id
        self.pending.check_there(id_)
        if self.pending.load(id_)[1] != review.stored:
            raise Conflict(
                f"proposal {id_} is not the one that was shown",
                hint=f"cspace memory proposals {id_}",
            )

    def _check_open(self, id_: str) -> None:
        """Refuse to decide what was decided, and close what a kill left open; under the lock."""
        self.pending.check_there(id_)
        if self._was_approved(id_):
            self.pending.remove(id_)
            raise Conflict(f"proposal {id_} was approved before", hint=HINT)

    def _was_approved(self, id_: str) -> bool:
        """Tell whether a proposal was written, by one that was killed before it said so."""
        try:
            lines = (self.store.root / LOG).read_bytes().splitlines()
        except FileNotFoundError:
            return False
        wanted = f'"proposal": {json.dumps(id_)}'.encode()
        operations = tuple(f'"operation": "{one}"'.encode() for one in Operation)
        return any(wanted in line and any(one in line for one in operations) for line in lines)


def _filled(change: Change) -> Change:
    """Say what a new memory's header would get by itself."""
    if change.operation is not Operation.CREATE:
        return change
    made = change.description
    return replace(
        change,
        type=change.type or default_type(change.scope),
        description=default_description(change.body) if made is None else made,
    )


def _fitting(proposal: Proposal, before: bytes | None) -> Operation:
    operation = proposal.change.operation
    if before is not None and operation is Operation.CREATE:
        return Operation.OVERWRITE
    if before is None and operation in (Operation.APPEND, Operation.OVERWRITE):
        return Operation.CREATE
    return operation


def _hides(review: Review) -> UsageError:
    first, number = review.hidden[0], len(review.hidden)
    place = f"line {first.line}, column {first.column}" if first.line else "the description"
    more = f", and {number - 1} more" if number > 1 else ""
    id_ = review.proposal.id
    return UsageError(
        f"proposal {id_} hides {first.name} in {place}{more}",
        hint=f"cspace memory reject {id_}; where it belongs there: "
        f"cspace memory approve {id_} --allow-hidden",
    )
