"""Files what a model wants remembered, and asks a person for a yes where its client can."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import anyio
from mcp.server.elicitation import render_elicitation_schema
from mcp.server.mcpserver.context import Context
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)
from mcp_types.version import is_version_at_least
from pydantic import BaseModel, Field, ValidationError

from cspace.errors import Conflict
from cspace.mcp.memory_results import FiledFacts
from cspace.mcp.tools import facts
from cspace.memory.entries import plain_line
from cspace.memory.framing import quote_line
from cspace.memory.proposal import MAX_REF
from cspace.memory.review import Review

# From here on a server asks by its answer, and the call comes again with what was said.
ASKS_BY_ANSWER = "2026-07-28"
# A client may cut a longer question, and a person would say yes to what was not shown.
MOST_SHOWN = 8_000
# Questions that nobody answered are forgotten, the oldest first; their proposals wait.
MOST_ASKED = 100
_QUESTION = "approve"


class Consent(BaseModel):
    """A person's answer."""

    approve: bool = Field(title="Write it into the memory", default=False)


@dataclass(frozen=True, slots=True)
class Asking:
    """Asks about proposals that are filed; a no, no answer and no client that can ask leave them.

    Attributes:
        approve: writes what was shown, and nothing else; None where no person can be asked: in an
            instance the client is the agent's too.
        asked: what was shown and not answered, by the token that the answer carries.
    """

    approve: Callable[[Review], object] | None
    asked: dict[str, Review] = field(default_factory=dict)

    def answered(self, context: Context[Any, Any]) -> Review | None:
        """Return what a call answers that comes again with a person's word; None for a first one.

        Raises:
            Conflict: nobody knows the question any more.
        """
        if context.request_state is None:
            return None
        review = self.asked.pop(context.request_state, None)
        if review is None:
            raise Conflict(
                "this question is not open any more; the proposal waits for a person",
                hint="a person sees it with: cspace memory proposals",
            )
        return review

    async def settle(
        self, context: Context[Any, Any], review: Review
    ) -> CallToolResult | InputRequiredResult:
        """Ask about a proposal, or take in what was said; return what the model is told."""
        if self.approve is None or not _can_ask(context) or not _can_be_shown(review):
            return told(review, wrote(review))
        if context.request_state is None and is_version_at_least(
            context.protocol_version or "", ASKS_BY_ANSWER
        ):
            return self._ask_by_answer(review)
        if not await _says_yes(context, review):
            return told(review, ["Nobody said yes, so nothing is written.", waits(review)])
        approve = self.approve
        await anyio.to_thread.run_sync(lambda: approve(review))
        return told(review, ["A person said yes: it is written."], status="approved")

    def _ask_by_answer(self, review: Review) -> InputRequiredResult:
        while len(self.asked) >= MOST_ASKED:
            del self.asked[next(iter(self.asked))]
        token = secrets.token_hex(16)
        self.asked[token] = review
        schema = render_elicitation_schema(Consent)
        question = ElicitRequestFormParams(message=_question(review), requested_schema=schema)
        return InputRequiredResult(
            input_requests={_QUESTION: ElicitRequest(params=question)}, request_state=token
        )


def told(review: Review, says: list[str], *, status: str = "proposed") -> CallToolResult:
    """Return what a model is told of a proposal; hidden characters and duplicates are said."""
    proposal = review.proposal
    if review.hidden:
        names = ", ".join(dict.fromkeys(one.name for one in review.hidden[:5]))
        says = [*says, f"It hides {names}, which a person has to allow: propose it without."]
    if review.duplicates:
        says = [*says, f"The same text is in {', '.join(review.duplicates)} already."]
    return facts(
        FiledFacts(
            proposal=proposal.id,
            status=status,
            memory=proposal.target,
            operation=proposal.change.operation,
            says=says,
            diff="\n".join(review.diff.lines),
        )
    )


def waits(review: Review) -> str:
    """Say what happens next."""
    return (
        f"Proposal {review.proposal.id} waits for a person, who decides on the host:"
        f" cspace memory approve {review.proposal.id}"
    )


def wrote(review: Review) -> list[str]:
    """Say what memory_write did where no person was asked."""
    return ["memory_write filed a proposal and wrote nothing.", waits(review)]


def reference(context: Context[Any, Any]) -> str:
    """Name the program that a proposal comes from, by what it says of itself."""
    params = context.session.client_params
    said = f"{params.client_info.name} {params.client_info.version}" if params else ""
    return plain_line(said)[:MAX_REF]


def _can_ask(context: Context[Any, Any]) -> bool:
    known = context.client_capabilities
    asks = known.elicitation if known is not None else None
    # An empty one is of the time before there were two forms.
    return asks is not None and (asks.form is not None or asks.url is None)


def _can_be_shown(review: Review) -> bool:
    return not review.hidden and not review.problem and len(_question(review)) <= MOST_SHOWN


def _question(review: Review) -> str:
    proposal = review.proposal
    why = [f"Why: {quote_line(proposal.reason)}"] if proposal.reason else []
    head = f"An agent wants to change the memory {proposal.target} ({proposal.change.operation})."
    return "\n".join([head, *why, "", *review.diff.lines])


async def _says_yes(context: Context[Any, Any], review: Review) -> bool:
    """Tell whether a person said yes; whatever else happens is none."""
    if context.request_state is not None:
        answer = (context.input_responses or {}).get(_QUESTION)
        return isinstance(answer, ElicitResult) and _is_yes(answer)
    try:
        asked = await context.elicit(_question(review), Consent)
    except (MCPError, ValueError):
        return False
    return asked.action == "accept" and asked.data.approve


def _is_yes(answer: ElicitResult) -> bool:
    try:
        return answer.action == "accept" and Consent.model_validate(answer.content).approve
    except ValidationError:
        return False
