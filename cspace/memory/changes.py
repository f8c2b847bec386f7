"""What a change makes of a memory's bytes. Pure: nothing is read or written."""

from __future__ import annotations

import codecs
import hashlib
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from cspace.docstore.frontmatter import parse_front_matter, replace_value
from cspace.docstore.nested import nested_text, replace_nested
from cspace.errors import Conflict, CspaceError, NotFound, UsageError
from cspace.memory.entries import (
    METADATA,
    TYPE,
    UPDATED,
    check_description,
    check_type,
    default_description,
    default_type,
    dump_entry,
    header_text,
)
from cspace.memory.scopes import Scope, check_name

# Of a whole memory: these are short rules, and each of them is read by every agent.
MAX_BYTES = 256 * 1024


class Operation(StrEnum):
    """What is done to a memory."""

    CREATE = "create"
    APPEND = "append"
    OVERWRITE = "overwrite"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class Change:
    """What somebody wants of one memory.

    Attributes:
        body: markdown; kept byte for byte, but for a line end at its end.
        type, description: None where nobody says; an append keeps both, so it takes neither.
    """

    scope: Scope
    slug: str
    operation: Operation
    body: str = ""
    type: str | None = None
    description: str | None = None


def revision_of(content: bytes | None) -> str | None:
    """Return what tells a memory's bytes from all others, None where there is no memory."""
    return None if content is None else hashlib.sha256(content).hexdigest()


def apply_change(before: bytes | None, change: Change, now: datetime) -> bytes | None:
    """Return a memory's bytes after a change, None where it is removed.

    An append keeps all that is there but `metadata.updated_at`. An overwrite keeps the header's
    other keys, and makes a memory where there is none.

    Raises:
        Conflict: it is to be created, and is there.
        NotFound: it is to be appended to or removed, and is not there.
        UsageError: the name, the type, the description or the body can not be.
        CspaceError: the header that is there can not be changed safely.
    """
    if change.operation is Operation.REMOVE:
        _check_there(before, change)
        return None
    body = encode_body(change.body)
    if change.operation is Operation.APPEND:
        after = _append(_check_there(before, change), change, body, now)
    elif before is None:
        after = _create(change, body, now)
    elif change.operation is Operation.CREATE:
        raise Conflict(
            f"{change.scope}/{change.slug} exists already",
            hint="--append adds to it, --force replaces it",
        )
    else:
        after = _overwrite(before, change, body, now)
    check_size(after)
    return after


def encode_body(body: str) -> bytes:
    """Return a body's bytes, which end with a line end.

    Raises:
        UsageError: it is empty, or no text.
    """
    if not body.strip():
        raise UsageError("body is empty", hint="write what is to be remembered")
    if "\0" in body:
        raise UsageError("body holds a NUL character", hint="take it out, then try again")
    try:
        content = body.encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            f"body holds half a character, U+{ord(body[error.start]):04X}",
            hint="save the text as UTF-8",
        ) from None
    if content.endswith(b"\n"):
        return content
    return content + (b"\r\n" if b"\r\n" in content else b"\n")


def check_size(content: bytes) -> None:
    """Refuse a memory that is too big.

    Raises:
        UsageError: it has more than MAX_BYTES.
    """
    if len(content) > MAX_BYTES:
        raise UsageError(
            f"the memory would have {len(content)} bytes, more than {MAX_BYTES}",
            hint="a memory is a short rule: start another one, or refer to a file",
        )


def rename_in(content: bytes, old: str, new: str) -> bytes:
    """Return a memory's bytes with its new name in the header, where the old one stood there."""
    if parse_front_matter(content).text("name") != old:
        return content
    return replace_value(content, "name", new)


def _check_there(before: bytes | None, change: Change) -> bytes:
    if before is None:
        raise NotFound(
            f"{change.scope}/{change.slug} does not exist",
            hint=f"see what there is: cspace memory list --scope {change.scope}",
        )
    return before


def _create(change: Change, body: bytes, now: datetime) -> bytes:
    return dump_entry(check_name("slug", change.slug), *_facts(change), now, body)


def _append(before: bytes, change: Change, body: bytes, now: datetime) -> bytes:
    for field, given in (("type", change.type), ("description", change.description)):
        if given is not None:
            raise UsageError(
                f"{field} {given[:60]!a} can not be given: an append keeps the one that is there",
                hint=f"leave {field} out, or replace the memory with --force",
            )
    _check_encoding(before)
    start = parse_front_matter(before).body
    stamped = stamp(before, now)
    after = stamped + _separator(before[start:]) + body
    moved = len(stamped) - len(before)
    if parse_front_matter(after).body != start + moved:
        # A `---` in the body closed a header that nobody had closed.
        raise CspaceError(
            "the body would be read as a part of the front matter, which nobody closed",
            hint="close the front matter with a line `---`, then try again",
        )
    return after


def _separator(text: bytes) -> bytes:
    """Return what makes the next text a paragraph of its own."""
    ending = b"\r\n" if b"\r\n" in text else b"\n"
    if not text.strip() or text.endswith((b"\n\n", b"\n\r\n")):
        return b"" if not text or text.endswith(b"\n") else ending
    return ending if text.endswith(b"\n") else ending * 2


def _overwrite(before: bytes, change: Change, body: bytes, now: datetime) -> bytes:
    _check_encoding(before)
    header = parse_front_matter(before)
    if not header.values:
        return dump_entry(change.slug, *_facts(change), now, body)
    kept = before[: header.body]
    if not kept.endswith(b"\n"):
        kept += b"\n"
    if change.type is not None and header_text(header, TYPE) != change.type:
        nested = nested_text(header, METADATA, TYPE) is not None or TYPE not in header.values
        kind = check_type(change.type)
        kept = (
            replace_nested(kept, METADATA, TYPE, kind)
            if nested
            else replace_value(kept, TYPE, kind)
        )
    description = _new_description(before, change)
    if description is not None:
        kept = replace_value(kept, "description", description)
    return stamp(kept, now) + body


def _facts(change: Change) -> tuple[str, str]:
    kind = default_type(change.scope) if change.type is None else check_type(change.type)
    given = change.description
    description = default_description(change.body) if given is None else check_description(given)
    return kind, description


def _new_description(before: bytes, change: Change) -> str | None:
    """Return what to put in the place of a description; one that we made goes with its text."""
    if change.description is not None:
        return check_description(change.description)
    header = parse_front_matter(before)
    present = header_text(header, "description")
    made = default_description(before[header.body :].decode("utf-8", "replace"))
    return default_description(change.body) if present in ("", made) else None


def stamp(content: bytes, now: datetime) -> bytes:
    """Return a memory with its time of change; one without a header stays as it is."""
    if not parse_front_matter(content).values:
        return content
    return replace_nested(content, METADATA, UPDATED, now.replace(microsecond=0))


def _check_encoding(before: bytes) -> None:
    if before.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise CspaceError(
            "the memory is written in UTF-16, and a text in UTF-8 would garble it",
            hint="save the file as UTF-8, then try again",
        )
