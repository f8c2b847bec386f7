"""Changes of a memory: each checked, done under the lock of its scope, and logged."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from cspace import files
from cspace.clock import Clock
from cspace.docstore.opened import Document
from cspace.errors import Conflict, NotFound, UsageError
from cspace.files import Owner
from cspace.memory import index
from cspace.memory.changes import (
    Change,
    apply_change,
    check_size,
    rename_in,
    revision_of,
)
from cspace.memory.log import Log, LogLine, open_log
from cspace.memory.place import Place, check_file, file_name, find_place, list_scopes
from cspace.memory.scopes import NAMED, Scope, check_name
from cspace.memory.writing import LOCK, Held, locked

Seen = Callable[[bytes | None, bytes | None], None]


@dataclass(frozen=True, slots=True)
class Written:
    """What was done.

    Attributes:
        path: of the memory's file, there or gone.
        before, after: revisions; None where there was no memory, or is none.
    """

    path: Path
    scope: Scope
    slug: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Writer:
    """What changes the memories below one root; the attributes are those of the store."""

    root: Path
    owner: Owner | None
    by: str
    now: Clock

    def write(
        self, change: Change, content: bytes | None, expected: str | None, *, proposal: str = ""
    ) -> Written:
        """See `MemoryStore.write`."""
        check_file(change.slug)
        if expected is None:
            check_name("slug", change.slug)
        if content is not None:
            check_size(content)
        elif expected is None:
            missing = f"{change.scope}/{change.slug} does not exist"
            raise NotFound(missing, hint="there is nothing to remove")
        with self._changing(change.scope, create=expected is None) as (held, log):
            before = held.check(change.slug, expected)
            return self._put(held, log, (change, before), content, proposal)

    def change(self, change: Change, seen: Seen, *, proposal: str = "") -> Written:
        """See `MemoryStore.change`."""
        check_file(change.slug)
        if not os.path.lexists(find_place(self.root, change.scope).directory):
            # What can not be leaves no directory behind.
            apply_change(None, change, self.now())
        with self._changing(change.scope, create=True) as (held, log):
            before = held.find(change.slug)
            present = before.content if before else None
            after = apply_change(present, change, self.now())
            seen(present, after)
            return self._put(held, log, (change, before), after, proposal)

    def _put(
        self,
        held: Held,
        log: Log,
        what: tuple[Change, Document | None],
        content: bytes | None,
        proposal: str,
    ) -> Written:
        change, before = what
        if before is None:
            held.check_twins(change.slug)
        held.put(change.slug, content, before)
        revisions = revision_of(before.content if before else None), revision_of(content)
        done = _written(held, (change.scope, change.slug), *revisions)
        self._note(log, change.operation, done, proposal)
        return done

    @contextlib.contextmanager
    def _changing(self, scope: Scope, *, create: bool) -> Iterator[tuple[Held, Log]]:
        with self._locked(scope, create=create) as held, open_log(self.root, self.owner) as log:
            yield held, log

    def move(self, source: tuple[Scope, str], target: tuple[Scope, str], expected: str) -> Written:
        """See `MemoryStore.move`."""
        (old_scope, old), (new_scope, new) = source, target
        check_file(old)
        check_name("slug", new)
        if source == target:
            raise UsageError(f"{old_scope}/{old} has that name already", hint="give another one")
        with contextlib.ExitStack() as stack:
            # Always in one order: two that move both ways would wait for each other.
            held = {
                scope: stack.enter_context(self._locked(scope, create=scope == new_scope))
                for scope in sorted({old_scope, new_scope})
            }
            log = stack.enter_context(open_log(self.root, self.owner))
            before = held[old_scope].check(old, expected)
            held[new_scope].check(new, None)
            held[new_scope].check_twins(new, besides=old if old_scope == new_scope else "")
            content = rename_in(before.content if before else b"", old, new)
            held[new_scope].put(new, content, None)
            held[old_scope].put(old, None, before)
            gone = _written(held[old_scope], source, expected, None)
            done = _written(held[new_scope], target, None, revision_of(content))
            self._note(log, "move", gone, "")
            self._note(log, "move", done, "")
        return done

    def reindex(self, scope: Scope) -> int:
        """See `MemoryStore.reindex`."""
        with self._locked(scope, create=False) as held:
            files.sweep(held.directory)
            lines = held.reindex()
        self.point_to(scope)
        return lines

    def point_to(self, scope: Scope) -> None:
        """See `MemoryStore.point_to`."""
        place = Place(self.root, PurePosixPath())
        names = {scope, *list_scopes(self.root)}
        with self._hold(place, place.relative, create=True) as held:
            held.point(index.scope_prefix(str(scope)), [index.scope_prefix(str(n)) for n in names])

    @contextlib.contextmanager
    def _locked(self, scope: Scope, *, create: bool) -> Iterator[Held]:
        place = find_place(self.root, scope)
        if not os.path.lexists(place.directory):
            if not create:
                raise NotFound(f"scope {scope} does not exist", hint="cspace memory list --all")
            self._check_scope_twins(scope)
        if create and not os.path.lexists(place.directory / LOCK):
            # The first write of all.
            self.point_to(scope)
        with self._hold(place, scope.relative, create=create) as held:
            yield held

    def _hold(
        self, place: Place, relative: PurePosixPath, *, create: bool
    ) -> AbstractContextManager[Held]:
        return locked(place, relative, by=self.by, owner=self.owner, create=create)

    def _check_scope_twins(self, scope: Scope) -> None:
        if scope.kind not in NAMED:
            return
        with Place(self.root, PurePosixPath(scope.kind)).opened() as opened:
            for name in opened.list_names():
                if name != scope.name and name.casefold() == scope.name:
                    raise Conflict(
                        f"{scope} and {name!a} are one directory where case does not count",
                        hint="choose another name, or rename that directory",
                    )

    def _note(self, log: Log, operation: str, done: Written, proposal: str) -> None:
        log.append(
            LogLine(
                time=self.now(),
                operation=operation,
                scope=str(done.scope),
                slug=done.slug,
                by=self.by,
                before=done.before,
                after=done.after,
                proposal=proposal,
            )
        )


def _written(held: Held, name: tuple[Scope, str], before: str | None, after: str | None) -> Written:
    return Written(held.place.directory / file_name(name[1]), *name, before, after)
