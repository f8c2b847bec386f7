"""What the memory tools work with: the memories a caller may see, and where its wishes go."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cspace.errors import CspaceError, NotFound, UsageError
from cspace.memory.changes import Change, Operation
from cspace.memory.filing import Filing
from cspace.memory.here import Here, Wanted
from cspace.memory.proposal import Provenance
from cspace.memory.proposals import Proposals
from cspace.memory.review import Review
from cspace.memory.scopes import Scope
from cspace.memory.store import MemoryStore
from cspace.memory.writer import Written


@dataclass(frozen=True, slots=True)
class Wish:
    """What a model wants remembered.

    Attributes:
        type, description: None where nobody says.
        append: add it to what is there; otherwise it takes that place, or is new.
    """

    slug: str
    body: str
    type: str | None
    description: str | None
    reason: str
    append: bool


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller's view: on a host as the command line's, in an instance what is mounted there.

    Attributes:
        outbox: where an instance's proposals go; None on a host.
    """

    store: MemoryStore
    here: Here
    outbox: Path | None = None

    def scope(self, wanted: Wanted) -> Scope:
        """Return the one scope that is named, or the default one.

        Raises:
            UsageError: it is none, or nothing here has what it names.
            NotFound: this is an instance that does not see it.
        """
        scope = self.here.get(wanted)
        if self.here.inside and scope not in self.here.scopes():
            seen = ", ".join(map(str, self.here.scopes()))
            raise NotFound(f"scope {scope} is not in this instance", hint=f"here are: {seen}")
        return scope

    def scopes(self, wanted: Wanted, *, everything: bool = False) -> tuple[Scope, ...]:
        """Return the scopes that a read is about: all that concern the caller where none is named.

        Args:
            everything: every scope that there is.
        """
        if wanted.named:
            return (self.scope(wanted),)
        here = self.here.scopes()
        rest = self.store.present_scopes() if everything else ()
        return (*here, *(one for one in rest if one not in here))

    def read(self, slug: str, wanted: Wanted) -> tuple[tuple[tuple[Scope, bytes], ...], str]:
        """Read every memory of that name, the most specific first; also say what is unreadable.

        Raises:
            NotFound: there is none; the hint has what is near.
            UsageError: the name can not be one.
        """
        found, missing, unreadable = [], [], []
        for scope in self.scopes(wanted):
            try:
                found.append((scope, self.store.read(scope, slug)))
            except NotFound as error:
                missing.append(error)
            except UsageError:
                raise
            except CspaceError as error:
                unreadable.append(str(error))
        if not found and not unreadable:
            raise _nowhere(missing)
        return tuple(found), "\n".join(unreadable)

    def file(self, wanted: Wanted, wish: Wish, provenance: Provenance) -> Review:
        """File a proposal, which a person decides about.

        Raises:
            Conflict: the same text was rejected before.
            NotFound: it is to be appended to, and is not there.
            UsageError: the name or one of the texts can not be.
        """
        scope = self.scope(wanted)
        is_there = self.store.find(scope, wish.slug) is not None
        operation = Operation.OVERWRITE if is_there else Operation.CREATE
        operation = Operation.APPEND if wish.append else operation
        change = Change(scope, wish.slug, operation, wish.body, wish.type, wish.description)
        filing = Filing(Proposals(self.store), self.here, self.outbox)
        return filing.file(wanted, change, provenance, wish.reason)

    def approve(self, review: Review) -> Written:
        """Write what a person was shown and said yes to.

        Raises:
            Conflict: the memory or the proposal changed since.
        """
        return Proposals(self.store).approve(review)


def _nowhere(missing: list[NotFound]) -> NotFound:
    near = [error for error in missing if error.hint and "nearest" in error.hint]
    said = "; ".join(str(error) for error in (near or missing))
    hints = "; ".join(dict.fromkeys(error.hint for error in near if error.hint))
    return NotFound(said, hint=hints or "memory_list shows what there is")
