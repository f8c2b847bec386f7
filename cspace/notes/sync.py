"""Brings the notes of two repositories together through a remote that both push to.

What goes to the remote is one commit on top of its own, with our tree: no older state of ours
leaves this machine, so that a text taken out before is not in what is pushed.
"""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from cspace import files, git, git_foreign_notes
from cspace.errors import CommandFailed, Conflict, CspaceError, expected
from cspace.git_objects import object_type
from cspace.notes.memory import Memory
from cspace.notes.namespaces import PREFIX, Namespace
from cspace.notes.outgoing import Leaked, find_leaks
from cspace.notes.remote import NotesRemote
from cspace.notes.store import NotesStore
from cspace.notes.union import Union, add_notes, unite
from cspace.notes.writing import ensure_place

TRIES = 20
# How often a remote may refuse what did not move there: somebody else is just pushing.
PATIENCE = 5
LOCK = "sync.lock"
LOCK_SECONDS = 60.0
_PAUSE_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Synced:
    """What a sync did with one namespace, or would.

    Attributes:
        received, sent: records that are new here, and there.
        blocked: why it was not pushed; what came in is here nevertheless.
        refused: why nothing was done with it.
    """

    namespace: Namespace
    received: int = 0
    sent: int = 0
    blocked: tuple[Leaked, ...] = ()
    refused: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether both sides have everything now."""
        return not self.blocked and self.refused is None


@dataclass(frozen=True, slots=True)
class _Outgoing:
    """A commit that the remote should get, and ours whose tree it has."""

    ours: str
    commit: str


@dataclass(slots=True)
class Sync:
    """One sync with one remote.

    Attributes:
        allow_secret: push what looks like a secret, too.
        restored: memories that git's own command had taken away, and that came back before.
    """

    store: NotesStore
    remote: NotesRemote
    allow_secret: bool = False
    restored: tuple[Memory, ...] = ()
    _done: dict[Namespace, Synced] = field(default_factory=dict)

    def plan(self) -> tuple[Synced, ...]:
        """Say what `run` would do. Fetches into the tracking namespace; no note changes."""
        theirs = self.remote.fetch()
        for namespace, tip in self._sides(theirs):
            self._look(namespace, tip, theirs.get(namespace))
        return self._results()

    def run(self) -> tuple[Synced, ...]:
        """Fetch, merge by set, push; anew when the remote moved meanwhile.

        A namespace that holds what is no note, or a leak, does not hold up the others.

        Raises:
            Conflict: the remote moves faster than we push, or another sync runs.
            CommandFailed: the remote can not be reached, or refuses what did not move.
        """
        with self._locked():
            self.restored = self.store.mend()
            before: dict[Namespace, str] = {}
            refused: dict[Namespace, str] = {}
            for attempt in range(TRIES):
                theirs = self.remote.fetch()
                if refused and theirs == before:
                    self._wait_or_raise(attempt, refused)
                outgoing = self._merge_all(theirs)
                before, refused = theirs, self._push(outgoing, theirs)
                if not refused:
                    return self._results()
        raise Conflict(
            f"{self.remote.name} moved at each of {TRIES} tries", hint="sync again in a while"
        )

    def _sides(self, theirs: Mapping[Namespace, str]) -> Iterator[tuple[Namespace, str | None]]:
        """Yield what either side has, with the commit that we have."""
        refs = git.list_refs(self.store.repository, PREFIX.rstrip("/"))
        for namespace in Namespace:
            if namespace.ref in refs or namespace in theirs:
                yield namespace, refs.get(namespace.ref)

    def _merge_all(self, theirs: Mapping[Namespace, str]) -> dict[Namespace, _Outgoing]:
        outgoing = {}
        for namespace, ours in self._sides(theirs):
            one = self._merge(namespace, ours, theirs.get(namespace))
            if one is not None:
                outgoing[namespace] = one
        return outgoing

    def _merge(
        self, namespace: Namespace, ours: str | None, theirs: str | None
    ) -> _Outgoing | None:
        union = self._look(namespace, ours, theirs)
        if union is None:
            return None
        if union.incoming:
            ours = self._take_in(union, ours, theirs)
            # Once more: somebody may have captured meanwhile, and that is looked at as well.
            union = unite(self.store.repository, namespace, ours, theirs)
            self._note(union, received=0)
        return self._offer(union, ours, theirs)

    def _look(self, namespace: Namespace, ours: str | None, theirs: str | None) -> Union | None:
        """Compare the sides and note what there is to do; None where it can not be done."""
        known = self._done.get(namespace, Synced(namespace))
        try:
            if namespace.ref in git.notes_in_merge(self.store.repository):
                raise Conflict("you are merging notes there: git notes merge --commit or --abort")
            if ours is not None and object_type(self.store.repository, ours) != "commit":
                raise Conflict(f"{namespace.ref} here is no commit of notes")
            if theirs is not None:
                git_foreign_notes.check_notes(self.store.repository, theirs)
        except (CspaceError, OSError) as error:
            self._done[namespace] = replace(known, refused=str(expected(error)))
            return None
        union = unite(self.store.repository, namespace, ours, theirs)
        self._note(union, received=union.received)
        return union

    def _note(self, union: Union, *, received: int) -> None:
        """Note what goes out, and what more came in."""
        leaks = () if self.allow_secret else tuple(find_leaks(union))
        known = self._done.get(union.namespace, Synced(union.namespace))
        self._done[union.namespace] = Synced(
            union.namespace, known.received + received, 0 if leaks else union.sent, leaks
        )

    def _take_in(self, union: Union, ours: str | None, theirs: str | None) -> str | None:
        """Make ours hold all that theirs does, and return the commit that it is at then."""
        repository, ref = self.store.repository, union.namespace.ref
        if union.incoming and not union.outgoing and theirs is not None:
            with contextlib.suppress(CommandFailed):  # moved meanwhile, or held by another git
                git.update_ref(repository, ref, theirs, ours)
                return theirs
        add_notes(self.store, union.namespace, union.incoming)
        return git.list_refs(repository, ref).get(ref)

    def _offer(self, union: Union, ours: str | None, theirs: str | None) -> _Outgoing | None:
        """Store the commit that the remote should get; None where it has all, or may not get it."""
        if not union.outgoing or ours is None or self._done[union.namespace].blocked:
            return None
        commit = git_foreign_notes.put_on_top(self.store.repository, ours, theirs, self.store.now())
        return _Outgoing(ours, commit)

    def _push(
        self, outgoing: Mapping[Namespace, _Outgoing], theirs: Mapping[Namespace, str]
    ) -> dict[Namespace, str]:
        """Push, and go on from what the remote has now, so that plain git goes forward, too."""
        if not outgoing:
            return {}
        pushed = {namespace: one.commit for namespace, one in outgoing.items()}
        refused = self.remote.push(pushed, theirs)
        for namespace, one in outgoing.items():
            if not refused:
                with contextlib.suppress(CommandFailed):  # captured on meanwhile
                    git.update_ref(self.store.repository, namespace.ref, one.commit, one.ours)
        return refused

    def _wait_or_raise(self, attempt: int, refused: Mapping[Namespace, str]) -> None:
        """Wait a moment for somebody who is just pushing."""
        if attempt >= PATIENCE:
            told = "; ".join(f"{one}: {reason}" for one, reason in refused.items())
            by_hand = f"git push {self.remote.name} {next(iter(refused)).ref}"
            raise CommandFailed(
                f"{self.remote.name} refuses the push, though it did not move: {told}",
                hint=f"ask who runs it whether notes may be pushed; by hand: {by_hand}",
            )
        time.sleep(random.uniform(0, _PAUSE_SECONDS))  # noqa: S311  no secret

    def _results(self) -> tuple[Synced, ...]:
        """Return all that a side has; what a remote lost meanwhile is left out."""
        return tuple(self._done[one] for one in Namespace if one in self._done)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        lock = ensure_place(self.store.place, self.store.owner) / LOCK
        with files.lock(
            lock, timeout=LOCK_SECONDS, holder=self.store.by, owner=self.store.owner, name="sync"
        ):
            yield
