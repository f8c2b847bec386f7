"""What the memory tools work with: the memories a caller may see, and where its wishes go."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cspace.errors import CspaceError, NotFound, UsageError
from cspace.memory.here import Here, Wanted
from cspace.memory.scopes import Scope
from cspace.memory.store import MemoryStore


@dataclass(frozen=True, slots=True)
class Desk:
    """A caller's view: on a host as the command line's, in an instance what is mounted there."""

    store: MemoryStore
    here: Here

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
        rest = self.store.scopes() if everything else ()
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
            raise _nowhere(slug, missing)
        return tuple(found), "\n".join(unreadable)


def _nowhere(slug: str, missing: list[NotFound]) -> NotFound:
    near = [error for error in missing if error.hint and "nearest" in error.hint]
    said = "; ".join(str(error) for error in (near or missing))
    hints = "; ".join(dict.fromkeys(error.hint for error in near if error.hint))
    return NotFound(said, hint=hints or "memory_list shows what there is")
