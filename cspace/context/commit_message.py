"""What a commit of the context says: what changed, and who wrote it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from cspace.context.authored import check_text, signature_of
from cspace.context.digest import one_line
from cspace.context.records import Kind
from cspace.errors import UsageError

TRAILER = "Context-author"
MAX_TITLES = 20
MAX_TITLE = 100
MAX_AUTHORS = 50
MAX_SUBJECT = 72
_TRAILER_LINE = re.compile(r"[A-Za-z0-9-]+: \S.*")


class Action(StrEnum):
    """What became of a file."""

    RECORDED = "record"
    UPDATED = "update"
    REMOVED = "remove"


@dataclass(frozen=True, slots=True)
class Changed:
    """One file of the context that a commit changes.

    Attributes:
        path: relative to the project's root.
        kind: None for a file that is no record.
        authors: who wrote what changed, as far as the file says.
    """

    path: str
    kind: Kind | None
    action: Action
    title: str
    authors: tuple[str, ...] = ()


def dump_message(changes: tuple[Changed, ...], message: str | None = None) -> str:
    """Write the whole message: the user's own or one that lists the titles, then the authors.

    Nothing in a title or an author can become a line of its own.

    Raises:
        UsageError: the user's message is empty or can not be stored.
    """
    if message is not None and not check_text("message", message).strip():
        raise UsageError("message is empty", hint="leave --message out to have one made")
    text = _described(changes) if message is None else message.strip()
    authors = sorted({signature_of(name) for change in changes for name in change.authors})
    if len(authors) > MAX_AUTHORS:
        text += f"\n\nand {len(authors) - MAX_AUTHORS} authors more"
    if not authors:
        return f"{text}\n"
    trailers = "\n".join(f"{TRAILER}: {name}" for name in authors[:MAX_AUTHORS])
    return f"{text}{_before_trailers(text)}{trailers}\n"


def _before_trailers(text: str) -> str:
    """Return what joins trailers: those that a user wrote at the end are of the same paragraph."""
    paragraphs = text.split("\n\n")
    last = paragraphs[-1].split("\n")
    own = len(paragraphs) > 1 and all(_TRAILER_LINE.fullmatch(line) for line in last)
    return "\n" if own else "\n\n"


def _described(changes: tuple[Changed, ...]) -> str:
    lines = [f"- {_safe(change.title)}" for change in changes[:MAX_TITLES]]
    if len(changes) > MAX_TITLES:
        lines.append(f"- and {len(changes) - MAX_TITLES} more")
    return "\n".join([_subject(changes), "", *lines])


def _subject(changes: tuple[Changed, ...]) -> str:
    parts = [
        f"{action} {_counted(one for one in changes if one.action is action)}"
        for action in Action
        if any(one.action is action for one in changes)
    ]
    subject = ", ".join(parts)
    if len(subject) > MAX_SUBJECT:
        subject = f"change {len(changes)} files of the context"
    return subject[:1].upper() + subject[1:]


def _counted(changes: Iterable[Changed]) -> str:
    kinds = Counter(change.kind for change in changes)
    words = [
        f"{kinds[kind]} {kind if kinds[kind] == 1 else kind.plural}" for kind in Kind if kinds[kind]
    ]
    if others := kinds[None]:
        words.append(f"{others} page{'' if others == 1 else 's'}")
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _safe(title: str) -> str:
    # A title is not a claim that this commit resolves a finding.
    return one_line(title)[:MAX_TITLE].replace("cs-finding:", "cs-finding ")
