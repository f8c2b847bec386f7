"""One proposal: what somebody wants changed in the memory, and where the wish comes from.

Its file is YAML without anchors, aliases or tags; what is read is text only. It is not memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TypeVar

from cspace.clock import parse_time
from cspace.docstore.frontmatter import dump_value
from cspace.errors import UsageError
from cspace.memory.changes import Change, Operation
from cspace.memory.entries import check_type
from cspace.memory.scopes import check_name, parse_scope

SUFFIX = ".yaml"
MAX_BYTES = 256 * 1024
MAX_REF, MAX_REASON = 200, 1000
# Of one instance, and of all models on the host.
MAX_PENDING = 100
# A proposal has two mappings and some twenty scalars: what has more was written to be slow.
_MAX_EVENTS, _MAX_DEPTH = 64, 2
_ID_LENGTH = 10
_FIELDS = frozenset(
    {
        *("scope", "slug", "type", "description", "operation", "revision", "provenance", "time"),
        *("instance", "reason", "body"),
    }
)
_Choice = TypeVar("_Choice", bound=StrEnum)


class Source(StrEnum):
    """What made a memory useful."""

    ASK = "ask"
    SESSION = "session"
    JOB = "job"
    HUMAN = "human"
    IMPORT = "import"


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a proposal comes from.

    Attributes:
        ref: a stable id or anything that a person understands; any text, on one line.
    """

    source: Source
    ref: str = ""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change that waits for a person.

    Attributes:
        revision: of the memory that it was made against, None where there was none.
        instance: `<project-id>/<name>` of the one that filed it; empty for the host.
        reason: why, in the proposer's words; any text.
        id: empty before it is filed.
    """

    change: Change
    revision: str | None
    provenance: Provenance
    time: datetime
    instance: str = ""
    reason: str = ""
    id: str = ""

    @property
    def target(self) -> str:
        """The memory's name as it is shown: `projects/web/testing`."""
        return f"{self.change.scope}/{self.change.slug}"


def id_of(name: str, content: bytes) -> str:
    """Return the id of a proposal by the file that it was filed in first.

    The same file has the same id whoever asks, so what was taken over is known after a crash.
    """
    digest = hashlib.sha256(name.encode("utf-8", "surrogateescape") + b"\0" + content)
    return digest.hexdigest()[:_ID_LENGTH]


def dump_proposal(proposal: Proposal) -> bytes:
    """Write a proposal's file.

    Raises:
        UsageError: a text in it can not be written, or it would have more than MAX_BYTES.
    """
    change = proposal.change
    _check_lengths(proposal.provenance.ref, proposal.reason)
    pairs: list[tuple[str, str | None]] = [
        ("scope", str(change.scope)),
        ("slug", change.slug),
        ("type", change.type),
        ("description", change.description),
        ("operation", change.operation),
    ]
    lines = [f"{key}: {_dump_text(key, text)}\n" for key, text in pairs if text is not None]
    source, ref = proposal.provenance.source, _dump_text("ref", proposal.provenance.ref)
    lines += [
        f"revision: {proposal.revision or 'null'}\n",
        f"provenance:\n  source: {source}\n  ref: {ref}\n",
        f"time: {dump_value(proposal.time.replace(microsecond=0))}\n",
    ]
    for key, text in (("instance", proposal.instance), ("reason", proposal.reason)):
        lines += [f"{key}: {_dump_text(key, text)}\n"] if text else []
    content = "".join([*lines, f"body: {_dump_body(change.body)}\n"]).encode()
    if len(content) > MAX_BYTES:
        raise UsageError(
            f"the proposal has {len(content)} bytes, more than {MAX_BYTES}",
            hint="a memory is a short rule: propose a shorter one, or refer to a file",
        )
    return content


def parse_proposal(content: bytes, id_: str) -> Proposal:
    """Read a proposal's file, whoever wrote it.

    Raises:
        UsageError: it is none; the message names the field.
    """
    values = _load(content)
    unknown = sorted(set(values) - _FIELDS)
    if unknown:
        raise UsageError(f"field {unknown[0][:60]!a} is none of a proposal's")
    origin = values.get("provenance", {})
    if not isinstance(origin, dict):
        raise UsageError("provenance is not source and ref")
    revision = _text(values, "revision")
    ref, reason = _text(origin, "ref", ""), _text(values, "reason", "")
    _check_lengths(ref, reason)
    return Proposal(
        change=_change(values),
        revision=None if revision == "null" else _check_revision(revision),
        provenance=Provenance(_choice(Source, "source", _text(origin, "source", "session")), ref),
        time=parse_time(_text(values, "time", "")) or datetime.fromtimestamp(0, UTC),
        instance=_text(values, "instance", ""),
        reason=reason,
        id=id_,
    )


def _change(values: Mapping[str, object]) -> Change:
    type_ = _text(values, "type") if "type" in values else None
    return Change(
        scope=parse_scope(_text(values, "scope")),
        slug=check_name("slug", _text(values, "slug")),
        operation=_choice(Operation, "operation", _text(values, "operation", Operation.CREATE)),
        body=_text(values, "body", ""),
        type=None if type_ is None else check_type(type_),
        description=_text(values, "description") if "description" in values else None,
    )


def _load(content: bytes) -> dict[str, object]:
    import yaml  # noqa: PLC0415  30 ms

    if len(content) > MAX_BYTES:
        raise UsageError(f"it has more than {MAX_BYTES} bytes")
    try:
        source = content.decode("utf-8")
        _check_plain(source)
        loaded = yaml.load(source, Loader=yaml.CBaseLoader)  # noqa: S506  builds only str, list, dict
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        if isinstance(error, UsageError):
            raise
        said = getattr(error, "problem", None) or "no UTF-8" if content else "it is empty"
        raise UsageError(f"it is no YAML: {str(said)[:100]}") from None
    if not isinstance(loaded, dict) or not all(isinstance(key, str) for key in loaded):
        raise UsageError("it is no mapping of a proposal's fields")
    return loaded


def _check_plain(source: str) -> None:
    """Refuse what no proposal needs: an alias is a few bytes that stand for many."""
    import yaml  # noqa: PLC0415  as above

    depth = 0
    for count, event in enumerate(yaml.parse(source, Loader=yaml.CBaseLoader)):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH or count > _MAX_EVENTS:
            raise UsageError("it has more parts than a proposal")
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise UsageError("it has an anchor or an alias, which no proposal needs")
        if getattr(event, "tag", None):
            raise UsageError("it has a tag, which no proposal needs")


def _text(values: Mapping[str, object], key: str, default: str | None = None) -> str:
    value = values.get(key, default)
    if not isinstance(value, str):
        raise UsageError(f"{key} is missing" if value is None else f"{key} is no text")
    return value


def _choice(kind: type[_Choice], field: str, given: str) -> _Choice:
    try:
        return kind(given)
    except ValueError:
        raise UsageError(f"{field} {given[:60]!a} is none", hint=", ".join(kind)) from None


def _check_revision(given: str) -> str:
    if len(given) != 64 or set(given) - set("0123456789abcdef"):
        raise UsageError(f"revision {given[:70]!a} is none")
    return given


def _check_lengths(ref: str, reason: str) -> None:
    for field, text, most in (("ref", ref, MAX_REF), ("reason", reason, MAX_REASON)):
        if len(text) > most:
            raise UsageError(f"{field} has {len(text)} characters, more than {most}")


def _dump_text(field: str, text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            f"{field} holds half a character, U+{ord(text[error.start]):04X}",
            hint="save the text as UTF-8",
        ) from None
    return dump_value(text)


def _dump_body(body: str) -> str:
    """Write a text so that a person can read it, where YAML gives it back as it is."""
    block = _block(body)
    return _dump_text("body", body) if block is None else block


def _block(body: str) -> str | None:
    """Write a text as a block, None where that would not come back byte for byte."""
    lines = body.removesuffix("\n").split("\n")
    plain = all(line.replace("\t", " ").isprintable() for line in lines)
    # What counts for the block's end are its last lines.
    if not plain or not lines[-1].strip() or any(line.isspace() for line in lines):
        return None
    keep = "" if body.endswith("\n") else "-"
    return "\n".join([f"|2{keep}", *(f"  {line}" if line else "" for line in lines)])
