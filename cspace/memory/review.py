"""What a person is shown of a proposal, and what is then written, byte for byte."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cspace.docstore.frontmatter import parse_front_matter
from cspace.errors import CspaceError
from cspace.memory.changes import apply_change, check_size, revision_of
from cspace.memory.diff import Diff, render_diff
from cspace.memory.entries import header_text
from cspace.memory.hidden import HiddenCharacter, find_hidden
from cspace.memory.proposal import Proposal
from cspace.memory.store import MemoryStore


@dataclass(frozen=True, slots=True)
class Review:
    """A proposal beside what is there now.

    Attributes:
        stored: the revision of the proposal's own file; None before it is filed.
        before, after: the memory's bytes; None where there is none.
        diff: from before to after; where the proposal does not fit, of its text alone.
        stale: whether the memory changed since the proposal was made.
        problem: why it does not fit what is there; empty where it does.
        duplicates: memories and proposals that hold the same text.
    """

    proposal: Proposal
    stored: str | None
    before: bytes | None
    after: bytes | None
    diff: Diff
    stale: bool
    problem: str = ""
    duplicates: tuple[str, ...] = ()

    @property
    def hidden(self) -> tuple[HiddenCharacter, ...]:
        """What nobody sees in the added lines, and in a new description, which YAML may escape.

        The latter stands in line 0.
        """
        description = _description(self.after)
        fresh = "" if description == _description(self.before) else description
        return (*self.diff.hidden, *find_hidden(fresh, line=0))


def review_proposal(store: MemoryStore, proposal: Proposal, stored: str | None = None) -> Review:
    """Look at a proposal beside what is there now; nothing is written.

    Raises:
        CspaceError: the memory can not be read.
    """
    change = proposal.change
    before = store.find(change.scope, change.slug)
    stale = revision_of(before) != proposal.revision
    name = f"{proposal.target}.md"
    try:
        after = apply_change(before, change, store.now())
    except CspaceError as error:
        alone = render_diff(None, change.body.encode("utf-8", "surrogateescape"), name)
        return Review(proposal, stored, before, None, alone, stale, str(error))
    return Review(proposal, stored, before, after, render_diff(before, after, name), stale)


def revise(review: Review, after: bytes) -> Review:
    """Put what a person made of a proposal's result in its place, with a diff of its own.

    Raises:
        UsageError: it is too big.
    """
    check_size(after)
    diff = render_diff(review.before, after, f"{review.proposal.target}.md")
    return replace(review, after=after, diff=diff)


def _description(content: bytes | None) -> str:
    return header_text(parse_front_matter(content or b""), "description")
