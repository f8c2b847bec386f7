"""Brings the memories of two machines together through a remote that both push to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cspace.errors import CommandFailed, Conflict
from cspace.memory.applying import apply_updates, check_still
from cspace.memory.incoming import check_incoming, check_outgoing, list_incoming
from cspace.memory.keeping import Done, Keeper
from cspace.memory.located import KEPT, parse_path
from cspace.memory.reconcile import Chosen, Files, Read, Reconciled, iter_problems, reconcile
from cspace.memory.remote import Remote

TRIES = 5


@dataclass(frozen=True, slots=True)
class Plan:
    """What a sync would change here.

    Attributes:
        ours, theirs: the commits; None where a side has none.
    """

    ours: str | None
    theirs: str | None
    reconciled: Reconciled

    def check(self) -> None:
        """Refuse what nobody can merge.

        Raises:
            Conflict: both sides changed one memory; the error names it.
        """
        found = self.reconciled.conflicts
        if found:
            name = found[0].located.name
            raise Conflict(
                f"changed on both sides: {', '.join(iter_problems(found))}; nothing was applied",
                hint=f"cspace memory sync --ours {name}, or --theirs {name}; or edit yours so that"
                " it has both, then --ours",
            )


@dataclass(frozen=True, slots=True)
class Synced:
    """What a sync did.

    Attributes:
        applied: names of what changed here.
        pushed: the commit that the remote got; None where it had all.
    """

    applied: tuple[str, ...]
    pushed: str | None


@dataclass(frozen=True, slots=True)
class Sync:
    """One sync with one remote."""

    keeper: Keeper
    remote: Remote
    chosen: Chosen

    def run(self, agree: Callable[[Plan], None]) -> Synced:
        """Fetch, plan, ask, apply and push; anew when the remote moved meanwhile.

        Args:
            agree: is shown each plan and raises where it may not be applied.

        Raises:
            Conflict: both sides changed one memory, or the remote moves faster than we push.
            Refused: the remote holds what is no memory.
            CommandFailed: git, or the remote, said no.
        """
        applied: list[str] = []
        before: str | None = ""
        for _ in range(TRIES):
            plan = self.plan()
            if plan.theirs == before:
                raise CommandFailed(
                    f"{self.remote.name} refuses the push, though it did not move",
                    hint=self.keeper.repository.command("push", self.remote.name, "HEAD"),
                )
            before = plan.theirs
            agree(plan)
            head = self.apply(plan)
            applied += [one.located.name for one in plan.reconciled.updates if not one.says_nothing]
            if head is None or head == plan.theirs:
                return Synced(tuple(applied), None)
            if self.remote.push(head):
                return Synced(tuple(applied), head)
        raise Conflict(
            f"{self.remote.name} moved at each of {TRIES} tries", hint="sync again in a while"
        )

    def plan(self) -> Plan:
        """Commit what is not yet, fetch, check what comes in, and merge; applies nothing."""
        repository = self.keeper.repository
        with repository.locked(self.keeper.store.by):
            ours = self.keeper.settle()
        theirs = self.remote.fetch()
        if theirs == ours:
            return Plan(ours, theirs, Reconciled((), ()))
        here = repository.list_files(ours)
        there = list_incoming(repository, theirs) if theirs else {}
        base = repository.list_files(self._base(ours, theirs))
        with repository.reader() as read:
            # What is as it was came from here: who mended it here is not refused what was there.
            check_incoming(_differing(read, there, here, base))
            check_outgoing(_differing(read, here, there))
            found = (
                reconcile(base, here, there, read, self.chosen) if theirs else Reconciled((), ())
            )
            return Plan(ours, theirs, found)

    def _base(self, ours: str | None, theirs: str | None) -> str | None:
        if ours is None or theirs is None:
            return None
        found = self.keeper.repository.git("merge-base", ours, theirs, ok=(0, 1)).text
        return found.split("\n")[0] or None

    def apply(self, plan: Plan) -> str | None:
        """Write what was agreed on and commit it; return the commit that the remote should have.

        Raises:
            Conflict: something was changed here since the plan.
        """
        repository, store = self.keeper.repository, self.keeper.store
        if plan.theirs is None or plan.theirs == plan.ours:
            return plan.ours
        with repository.locked(store.by):
            if repository.head() != plan.ours:
                raise Conflict(
                    "a memory was changed here meanwhile: nothing was applied",
                    hint="cspace memory sync",
                )
            check_still(store, plan.reconciled.updates)
            repository.mark_unkept()
            apply_updates(store, plan.reconciled.updates, "sync", self.keeper.report)
            self._make_indexes(plan.theirs)
            self._join(plan.ours, plan.theirs)
            repository.clear_unkept()
            return repository.head()

    def _make_indexes(self, theirs: str) -> None:
        """Make our lines anew in each index that is not as theirs, so that both become equal."""
        store, known = self.keeper.store, self.keeper.repository.list_files(theirs)
        differing = self.keeper.differences(known)
        indexes = [parse_path(path) for path in differing]
        scopes = {one.scope for one in indexes if one is not None and one.is_index and one.scope}
        for scope in sorted(scopes & set(store.scopes())):
            store.reindex(scope)
        for scope in store.scopes():
            if scope.kind in KEPT:
                store.point_to(scope)

    def _join(self, ours: str | None, theirs: str) -> None:
        """Go forward to their commit where that is what is here now, else merge it."""
        repository, keeper = self.keeper.repository, self.keeper
        behind = ours is None or self._base(ours, theirs) == ours
        same = not keeper.differences(repository.list_files(theirs))
        if behind and same:
            repository.move(theirs, ours)
            return
        done = Done(f"Merge what {self.remote.name} had", "sync", keeper.store.by)
        if ours is None:
            repository.move(theirs, None)
            keeper.commit_all(done)
        elif self._base(ours, theirs) != theirs:
            keeper.commit_all(done, theirs)
        else:
            keeper.commit_all(done)


def _differing(read: Read, files: Files, *others: Files) -> Iterator[tuple[str, bytes]]:
    """Read the files of one side that are in none of the others, one by one."""
    for path, one in files.items():
        if all(other.get(path) != one for other in others):
            yield path, read(one) or b""
