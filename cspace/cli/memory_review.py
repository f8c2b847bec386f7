"""How proposals of memories are opened and shown."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cspace.cli import render
from cspace.deps import Deps, make_deps
from cspace.errors import CspaceError
from cspace.events import ignore

if TYPE_CHECKING:  # they load YAML
    from datetime import datetime

    from cspace.memory.hidden import HiddenCharacter
    from cspace.memory.outbox import Ingested
    from cspace.memory.proposal import Proposal
    from cspace.memory.proposals import Proposals
    from cspace.memory.review import Review

MOST_NAMED = 10


def complete_proposal(incomplete: str) -> list[str]:
    """Complete a proposal that waits, by its id or by its memory's name."""
    from cspace.memory.proposals import Proposals  # noqa: PLC0415  only when a shell asks

    words: list[str] = []
    with contextlib.suppress(CspaceError):
        found = Proposals(make_deps(ignore).memory()).pending.all()
        words = [*(one.id for one in found), *(one.target for one in found)]
    return [word for word in words if word.startswith(incomplete)]


def open_proposals(deps: Deps, words: str) -> Proposals:
    """Open the proposals that wait on this host, with what instances proposed until now.

    Raises:
        UsageError: this is an instance.
    """
    from cspace.memory.outbox import ingest  # noqa: PLC0415  loads YAML
    from cspace.memory.projects import Projects  # noqa: PLC0415
    from cspace.memory.proposals import Proposals  # noqa: PLC0415

    proposals = Proposals(deps.memory_to_change(words))
    note_ingested(ingest(deps.user, proposals, Projects(proposals.store.root).name_of_id))
    return proposals


def note_ingested(found: Ingested) -> None:
    """Say on stderr what came from instances, and what did not."""
    for proposal in found.taken:
        render.note(f"{proposal.instance} proposes {proposal.target}: {proposal.id}")
    for one in found.bad[:MOST_NAMED]:
        render.note(f"note: ~/.cspace/outbox/{one.path} stays where it is: {one.reason}")
    if len(found.bad) > MOST_NAMED:
        render.note(f"note: so do {len(found.bad) - MOST_NAMED} more files in outboxes")
    if found.bad:
        render.note("they are named until they are gone: look at them, then remove them")
    if found.rejected:
        said = render.count(found.rejected, "proposal")
        render.note(f"{said} dropped: the same text was rejected before")
    if found.left:
        said = render.count(found.left, "file")
        render.note(f"{said} left in outboxes: decide first what waits")


def list_review(review: Review) -> Iterator[str]:
    """Give a proposal's lines: what it is, and its diff."""
    yield from _list_facts(review.proposal)
    if review.stale:
        yield f"stale        {review.proposal.target} changed since: {rebase_hint(review)}"
    if review.problem:
        yield f"problem      {review.problem}"
    yield from (f"duplicate    {name} has this text" for name in review.duplicates)
    yield ""
    yield from review.diff.lines


def _list_facts(proposal: Proposal) -> Iterator[str]:
    from cspace.memory.hidden import reveal  # noqa: PLC0415  not for `--help`

    change, origin = proposal.change, proposal.provenance
    facts = (
        ("proposal", proposal.id),
        ("memory", proposal.target),
        ("operation", change.operation),
        ("type", change.type),
        ("description", change.description),
        ("source", f"{origin.source} {origin.ref}".rstrip()),
        ("instance", proposal.instance),
        ("time", render.moment(proposal.time)),
        ("reason", proposal.reason),
    )
    yield from (f"{name:<12} {reveal(value)}" for name, value in facts if value)


def note_hidden(review: Review) -> None:
    """Say on stderr what nobody sees in a change."""
    for one in review.hidden[:MOST_NAMED]:
        render.note(f"note: {place_of(one)} hides {one.name}")
    if len(review.hidden) > MOST_NAMED:
        render.note(f"note: and {len(review.hidden) - MOST_NAMED} more hidden characters")


def place_of(hidden: HiddenCharacter) -> str:
    """Say where a hidden character stands."""
    return f"line {hidden.line}, column {hidden.column}" if hidden.line else "the description"


def rebase_hint(review: Review) -> str:
    """Return the command that makes a stale proposal anew."""
    return f"cspace memory rebase {review.proposal.id}"


def tell_proposal(proposal: Proposal) -> dict[str, Any]:
    """Return a proposal for JSON, with the fields of its file."""
    change, origin = proposal.change, proposal.provenance
    return {
        "id": proposal.id,
        "scope": str(change.scope),
        "slug": change.slug,
        "type": change.type,
        "description": change.description,
        "operation": change.operation,
        "revision": proposal.revision,
        "provenance": {"source": origin.source, "ref": origin.ref},
        "time": proposal.time,
        "instance": proposal.instance or None,
        "reason": proposal.reason or None,
        "body": change.body,
    }


def tell_review(review: Review) -> dict[str, Any]:
    """Return a proposal for JSON, with its diff."""
    return tell_proposal(review.proposal) | {
        "stale": review.stale,
        "problem": review.problem or None,
        "duplicates": review.duplicates,
        "hidden": review.hidden,
        "diff": review.diff.lines,
    }


def age(then: datetime, now: datetime) -> str:
    """Write how long ago something was."""
    seconds = max(0, int((now - then).total_seconds()))
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"
