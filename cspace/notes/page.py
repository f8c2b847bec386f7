"""One commit's note while records are added to it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cspace.errors import Conflict, NotFound
from cspace.git_notes_tree import NotesTree
from cspace.notes.forgetting import drop_forgotten, removed_ids
from cspace.notes.memory import Memory, remember, settle
from cspace.notes.namespaces import Namespace
from cspace.notes.note import append_record, parse_note
from cspace.notes.record import Record, dump_record

_ID = re.compile(rb'^id: "?([0-9a-f]{16})"?$', re.MULTILINE)
# What a record's id is not made of.
_FIELDS = ("phase", "tags", "severity", "category", "file", "line", "of")


@dataclass(slots=True)
class Page:
    """What stands on a commit, and what it becomes; only what is forgotten loses its bytes."""

    namespace: Namespace
    commit: str
    content: bytes
    is_changed: bool = False

    @classmethod
    def open(cls, notes: NotesTree, namespace: Namespace, commit: str) -> Page:
        """Read the note that a commit has; an empty page where it has none."""
        return cls(namespace, commit, notes.read(commit) or b"")

    def memories(self) -> tuple[Memory, ...]:
        """Return what stands there now."""
        return settle(self.namespace, self.commit, parse_note(self.namespace, self.content))

    def check_living(self, memory: Memory) -> None:
        """Refuse to speak of a memory that is not there any more.

        Raises:
            NotFound: it is not.
        """
        if all(one.id != memory.id for one in self.memories()):
            raise NotFound(
                f"{memory.reference}: somebody has just removed it",
                hint=f"see what there is: cspace notes list --namespace {memory.namespace}",
            )

    def add(self, record: Record) -> tuple[Memory, bool]:
        """Add a record unless it stands there; return its memory, and whether it is new.

        Raises:
            Conflict: it was removed there, or stands there with other fields.
        """
        # Not parsed for a new one: the time of a capture does not grow with what is there.
        ids = {one.decode("ascii") for one in _ID.findall(self.content)}
        # Of a forgotten one no more than its tombstone names it.
        known = self._known(record) if record.id.encode("ascii") in self.content else None
        if known is None:
            whole = append_record(self.content, dump_record(record))
            self.content = drop_forgotten(self.namespace, whole)
            self.is_changed = True
        return remember(known or record, self.commit, sorted(ids | {record.id})), known is None

    def _known(self, record: Record) -> Record | None:
        note = parse_note(self.namespace, self.content)
        if record.id in removed_ids(note.records):
            raise Conflict(
                f"{self.namespace}:{self.commit[:7]}/{record.id}: it was forgotten on this commit",
                hint="say it in other words, or capture it on another commit",
            )
        known = next((one for one in note.records if one.id == record.id), None)
        if known is not None:
            _check_same(record, known)
        return known


def _check_same(new: Record, known: Record) -> None:
    for name in _FIELDS:
        was, wanted = getattr(known, name), getattr(new, name)
        if was != wanted:
            raise Conflict(
                f"{name} {wanted!r}: the same summary and body stand there with {name} {was!r}",
                hint="say in the summary or the body what makes it another one",
            )
