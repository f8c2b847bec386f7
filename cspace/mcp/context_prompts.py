"""The prompts of the context: how a coordinator begins, and how an implementer ends."""

from __future__ import annotations

from typing import Annotated

from mcp.server.mcpserver.prompts import Prompt
from pydantic import Field

from cspace.context import digest
from cspace.context.playbook import (
    Playbook,
    load_preamble,
    load_template,
    load_wrap_up,
    render_playbook,
)
from cspace.context.records import Kind
from cspace.context.store import ContextStore
from cspace.mcp.server import Server

Focus = Annotated[str, Field(description="What this round of work is about.")]
Resolves = Annotated[str, Field(description="The slug of a finding that your work resolves.")]


def add_prompts(server: Server, store: ContextStore) -> None:
    """Offer `brief` and `wrap-up`."""

    def brief(focus: Focus = "") -> str:
        """Begin as a coordinator: direction, roadmap, open findings, and how to hand work out."""
        playbook = render_playbook(load_template(Playbook.COORDINATOR), load_preamble(store))
        findings = digest.read_context(store, (Kind.FINDING.plural,)).text
        return "\n".join([*_focus(focus), playbook.decode("utf-8", "replace"), findings])

    def wrap_up(resolves: Resolves = "") -> str:
        """End as an implementer: what to record before you stop."""
        return "\n".join([load_wrap_up().decode(), *_resolved(store, resolves)])

    server.add_prompt(Prompt.from_function(brief, title="Brief a coordinator"))
    server.add_prompt(Prompt.from_function(wrap_up, name="wrap-up", title="Wrap up your work"))


def _focus(focus: str) -> list[str]:
    return [f"This round of work is about: {focus}\n"] if focus.strip() else []


def _resolved(store: ContextStore, slug: str) -> list[str]:
    if not slug:
        return []
    info = store.read_entry(Kind.FINDING, slug).info
    marker = f"(cs-finding:{info.slug})"
    call = f'append_to_finding("{info.slug}", note, status="resolved")'
    title = digest.one_line(info.title)
    return [f"Your work resolves “{title}”: {marker} in the commit's message, and {call}."]
