"""One markdown page of what a project knows, for an agent that is about to work."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cspace.context.entryfile import dump_update
from cspace.context.kinds import BY_PLURAL, LIVE, SECTIONS
from cspace.context.listing import ALWAYS, DEFAULT_LIMIT, Period, Wanted, newest
from cspace.context.records import (
    HUMAN,
    LAYOUTS,
    UPDATES,
    Entry,
    Kind,
    Listing,
)
from cspace.context.store import ContextStore
from cspace.docstore.opened import Skipped
from cspace.errors import CspaceError

MAX_FINDINGS = 10
LAST_UPDATES = 3
# A text this long is for read_entry; the digest says how much it leaves out.
MAX_TEXT = 4000
# So many unreadable files are named; an answer is no place for ten thousand.
MAX_SKIPPED = 20

# The digest's own headings are of the first two levels, so no record may have one of these.
# Readers take more than a line feed for the end of a line.
_START = r"(?:^|(?<=[\r\v\f\x1c-\x1e\x85\u2028\u2029]))"
_OWN_LEVEL = re.compile(rf"{_START}(?=[^\S\n]{{0,3}}#{{1,2}}(?:\s|$))", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Digest:
    """A markdown page, and the files that could not be read for it."""

    text: str
    skipped: tuple[Skipped, ...]


def read_context(
    store: ContextStore,
    sections: tuple[str, ...] = (),
    *,
    period: Period = ALWAYS,
    limit: int = DEFAULT_LIMIT,
) -> Digest:
    """Render sections, all of them when none is named.

    Human-owned files are whole. Records come newest first; of findings the open and acknowledged
    ones, at most 10, each with its last 3 updates. What is left out is counted.

    Raises:
        NotFound: the store's root is missing.
    """
    store.check_root()
    wanted = [name for name in SECTIONS if name in sections] if sections else list(SECTIONS)
    parts: list[str] = []
    skipped: list[Skipped] = []
    for name in wanted:
        if name in HUMAN:
            parts.append(_human(store, name))
            continue
        kind = BY_PLURAL[name]
        found = _records(store, kind, period, limit)
        parts.append(_render_records(kind, found))
        skipped += found.skipped
    if skipped:
        parts.append(render_skipped(tuple(skipped)))
    return Digest("\n\n".join(parts) + "\n", tuple(skipped))


def _human(store: ContextStore, name: str) -> str:
    try:
        text = store.read_human(name)
    except CspaceError as error:
        return f"# {name}.md\n\n(not readable: {error})"
    if text is None:
        return f"# {name}.md\n\n(not written yet)"
    return f"# {name}.md\n\n{text.rstrip()}"


def _records(store: ContextStore, kind: Kind, period: Period, limit: int) -> Listing[Entry]:
    if kind is not Kind.FINDING:
        return newest(store, kind, period=period, limit=limit)
    live = Wanted(status=LIVE)
    return newest(store, kind, period=period, limit=min(limit, MAX_FINDINGS), accept=live.matches)


def _render_records(kind: Kind, found: Listing[Entry]) -> str:
    shown = "open and acknowledged, newest first" if kind is Kind.FINDING else "newest first"
    heading = f"# {kind.plural} ({shown})"
    if not found.entries:
        return f"{heading}\n\n(none)"
    parts = [heading, *(render_record(entry) for entry in found.entries)]
    if found.left_out:
        parts.append(f"({found.left_out} more left out: raise limit, or set since)")
    return "\n\n".join(parts)


def render_record(entry: Entry) -> str:
    """Render one record; its texts can not be taken for headings of the digest."""
    info = entry.info
    facts = (info.date, info.author and f"@{info.author}", info.category, info.status)
    line = no_heading(" · ".join(one_line(fact) for fact in facts if fact))
    tags = f" · tags: {one_line(', '.join(info.tags))}" if info.tags else ""
    parts = [f"## {info.slug}", f"**{one_line(info.title)}**\n{line}{tags}"]
    texts = {
        name: text
        for name in LAYOUTS[info.kind].names
        if name != UPDATES and (text := entry.sections.get(name, "").strip())
    }
    if not entry.sections:
        parts.append(_shown(entry.body.strip()))
    parts += [f"### {name}\n{_shown(text)}" for name, text in texts.items()]
    if entry.updates:
        parts.append(_render_updates(entry))
    return "\n\n".join(part for part in parts if part)


def _render_updates(entry: Entry) -> str:
    earlier = len(entry.updates) - LAST_UPDATES
    counted = f" (last {LAST_UPDATES}, {earlier} earlier left out)" if earlier > 0 else ""
    blocks = [_shown(dump_update(update).strip()) for update in entry.updates[-LAST_UPDATES:]]
    return "\n\n".join([f"### {UPDATES}{counted}", *(f"#{block}" for block in blocks)])


def render_skipped(skipped: tuple[Skipped, ...]) -> str:
    """Count what could not be read, and name the first of it."""
    names = "\n".join(f"- {line}" for line in skipped_lines(skipped))
    return f"# skipped ({len(skipped)} not readable)\n\n{names}"


def skipped_lines(skipped: tuple[Skipped, ...]) -> list[str]:
    """Return a line for each of the first files that could not be read, and one for the rest."""
    lines = [f"{one_line(one.path)}: {one_line(one.reason)}" for one in skipped[:MAX_SKIPPED]]
    more = len(skipped) - len(lines)
    return [*lines, f"… and {more} more (cspace doctor names them)"] if more else lines


def _shown(text: str) -> str:
    cut = text[:MAX_TEXT]
    more = len(text) - len(cut)
    escaped = no_heading(cut)
    return f"{escaped}\n… ({more} more characters: read_entry has them)" if more else escaped


def no_heading(text: str) -> str:
    """Return text whose headings can not be taken for the digest's own."""
    return _OWN_LEVEL.sub(r"\\", text)


def one_line(text: str) -> str:
    """Return text on one line, without characters that a reader can not see."""
    joined = " ".join(text.split())
    if joined.isprintable():
        return joined
    return "".join(mark if mark.isprintable() else "\N{REPLACEMENT CHARACTER}" for mark in joined)
