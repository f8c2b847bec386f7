"""What a container says of an instance's work: a branch, its notes, and the tree as it is."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from cspace.errors import MALFORMED, CspaceError
from cspace.instance.snapshot_git import ref_fits
from cspace.instance.snapshot_manifest import LeftOut

PACK, NOTES_PACK, ANSWER = "work.pack", "notes.pack", "work.json"
MOST_NOTES_REFS = 100
MOST_LEFT_OUT = 1000
NOTES = "refs/notes/"
_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Work:
    """An instance's work at one moment.

    Attributes:
        branch: what the workspace is on, or rebases; None for a detached head.
        head: the commit of that branch, or the detached one; None before the first.
        tree: a commit on top of head that holds the files as they are; head itself where nothing
            is uncommitted; None where it was not asked for, or for `problem`.
        problem: why there is no tree.
        notes: notes ref to commit.
        left_out: what the tree lacks; for a directory a repository of its own.
        moving: whether files changed all the time, so that the tree is of several moments.
        packed, notes_packed: whether there is a pack, and one of what only notes reach.
        notes_problem: why there are no notes although the instance has some.
    """

    branch: str | None
    head: str | None
    tree: str | None
    problem: str | None = None
    notes: dict[str, str] = field(default_factory=dict)
    left_out: tuple[LeftOut, ...] = ()
    moving: bool = False
    packed: bool = False
    notes_packed: bool = False
    notes_problem: str | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """The commits of its files, once each."""
        return tuple(dict.fromkeys(one for one in (self.head, self.tree) if one))


def dump_work(work: Work) -> bytes:
    """Write it as JSON; `parse_work` returns an equal one."""
    left_out = [
        [each.path.decode("utf-8", "surrogateescape"), each.size, each.reason]
        for each in work.left_out
    ]
    document = {
        "branch": work.branch,
        "head": work.head,
        "tree": work.tree,
        "problem": work.problem,
        "notes": work.notes,
        "left_out": left_out,
        "moving": work.moving,
        "packed": work.packed,
        "notes_packed": work.notes_packed,
        "notes_problem": work.notes_problem,
    }
    return json.dumps(document).encode("ascii")


def parse_work(raw: bytes) -> Work:
    """Read what a container said.

    Raises:
        CspaceError: it is not of the form that `dump_work` writes.
    """
    try:
        found: dict[str, Any] = json.loads(raw)
        notes = {name: _id(one) for name, one in found["notes"].items()}
        left_out = tuple(
            LeftOut(path.encode("utf-8", "surrogateescape"), int(size), str(reason))
            for path, size, reason in found["left_out"]
        )
        work = Work(
            branch=_text(found["branch"]),
            head=_id(found["head"]) if found["head"] is not None else None,
            tree=_id(found["tree"]) if found["tree"] is not None else None,
            problem=_text(found["problem"]),
            notes=notes,
            left_out=left_out,
            moving=bool(found["moving"]),
            packed=bool(found["packed"]),
            notes_packed=bool(found["notes_packed"]),
            notes_problem=_text(found["notes_problem"]),
        )
    except (*MALFORMED, AttributeError) as error:
        raise CspaceError(f"the container's answer is damaged: {error}") from error
    if len(notes) > MOST_NOTES_REFS or not all(map(_is_notes_ref, notes)):
        raise CspaceError("the container's answer names what is no ref of notes")
    return work


def _is_notes_ref(name: str) -> bool:
    return name.startswith(NOTES) and ref_fits(name.encode("utf-8", "replace"))


def _id(value: object) -> str:
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise TypeError(f"{value!r} is no object's name")
    return value


def _text(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value if value is None else value.encode("utf-8").decode("utf-8")
