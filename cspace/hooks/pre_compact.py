"""Before a compaction: keeps in the session's notes what is known at that moment."""

from __future__ import annotations

from cspace.clock import Clock
from cspace.hooks.event import HookEvent
from cspace.sessions.kept import Compaction, keep
from cspace.sessions.place import Place, Session
from cspace.sessions.sections import EMPTY
from cspace.sessions.store import change_notes, load_moment

# Another writer holds the lock for milliseconds; nobody waits longer for a compaction.
LOCK_SECONDS = 1.0


def keep_current_state(event: HookEvent, place: Place, clock: Clock) -> None:
    """Write the block into Current State and a line into Worklog; make the notes where missing.

    Raises:
        CspaceError, OSError: nothing was changed.
    """
    now = clock()
    compaction = Compaction(now, event.cause, event.instructions)
    moment = load_moment(place, event.slug, event.session)
    session = Session(place.instance, event.slug, event.session, now, None, None)
    change_notes(
        place,
        session,
        lambda before: keep(EMPTY if before is None else before, compaction, moment),
        patience=LOCK_SECONDS,
    )
