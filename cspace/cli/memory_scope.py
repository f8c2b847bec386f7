"""Whose memory a command of `cspace memory` means: options, names, and what a shell completes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from cspace.deps import Deps, make_deps
from cspace.errors import CspaceError, UsageError
from cspace.events import ignore
from cspace.memory.here import Wanted
from cspace.memory.scopes import SCOPES, Kind, Scope

CLAUDE = "claude"
_HERE = ("project", "persona")


def complete_scope(incomplete: str) -> list[str]:
    """Complete a scope: those that are there, and those that may be."""
    words = [Kind.GLOBAL, Kind.USER, *_HERE, CLAUDE]
    with contextlib.suppress(CspaceError):
        words += map(str, make_deps(ignore).memory().scopes())
    return _matching(words, incomplete)


def complete_project(incomplete: str) -> list[str]:
    """Complete a project that has a name or a memory."""
    with contextlib.suppress(CspaceError):
        return _matching((one.name for one in make_deps(ignore).here.projects.list()), incomplete)
    return []


def complete_persona(incomplete: str) -> list[str]:
    """Complete a persona that has a memory."""
    with contextlib.suppress(CspaceError):
        return _matching(make_deps(ignore).here.personas.names(), incomplete)
    return []


def complete_type(incomplete: str) -> list[str]:
    """Complete a type of memories."""
    from cspace.memory.entries import Type  # noqa: PLC0415  loads YAML

    return _matching(Type, incomplete)


def complete_slug(context: typer.Context, incomplete: str) -> list[str]:
    """Complete a memory of the scope that was named before, or of all that concern one."""
    given = context.params
    names: list[str] = []
    with contextlib.suppress(CspaceError):
        deps = make_deps(ignore)
        if given.get("scope") == CLAUDE or given.get("host"):
            return _complete_file(deps, incomplete, host=bool(given.get("host")))
        wanted = Wanted(given.get("scope"), given.get("project"), given.get("persona"))
        store = deps.memory()
        names = [slug for scope in deps.here.to_read(wanted) for slug in store.slugs(scope)]
    return _matching(names, incomplete)


def _complete_file(deps: Deps, incomplete: str, *, host: bool) -> list[str]:
    from cspace.claude_memory.tree import Walk  # noqa: PLC0415  only when a shell asks

    walk = Walk(deps.claude_memory(host=host))
    return _matching((str(one.path) for one in walk.found() if one.document), incomplete)


def _matching(words: Iterable[str], incomplete: str) -> list[str]:
    return [word for word in dict.fromkeys(map(str, words)) if word.startswith(incomplete)]


def _scope_option(more: str) -> Any:
    return typer.Option(
        "--scope",
        metavar="SCOPE",
        help=f"global, user, project, projects/NAME, persona, personas/NAME, orchestrator{more}.",
        autocompletion=complete_scope,
    )


ReadScope = Annotated[str | None, _scope_option(", or claude: its own [all that concern you here]")]
ScopeName = Annotated[str | None, _scope_option(" [where you are]")]
ProjectName = Annotated[
    str | None,
    typer.Option(
        "--project",
        metavar="NAME",
        help="Short for --scope projects/NAME.",
        autocompletion=complete_project,
    ),
]
PersonaName = Annotated[
    str | None,
    typer.Option(
        "--persona",
        metavar="NAME",
        help="Short for --scope personas/NAME.",
        autocompletion=complete_persona,
    ),
]
AllScopes = Annotated[bool, typer.Option("--all", help="Every scope that there is.")]
Host = Annotated[
    bool,
    typer.Option("--host", help="What Claude Code itself keeps on this host, of this directory."),
]
Slug = Annotated[
    str,
    typer.Argument(metavar="SLUG", help="The memory's name.", autocompletion=complete_slug),
]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a command reads.

    Attributes:
        every: all scopes that there are.
        host: the memory that Claude Code keeps on this host.
    """

    wanted: Wanted
    every: bool = False
    host: bool = False

    @property
    def is_claudes(self) -> bool:
        """Whether Claude's own memory is meant.

        Raises:
            UsageError: another one is named as well.
        """
        named = self.wanted.project or self.wanted.persona or self.every
        own = self.wanted.scope == CLAUDE
        if (own and named) or (self.host and (named or self.wanted.scope not in (None, CLAUDE))):
            raise UsageError(
                f"{'--host' if self.host else '--scope claude'} means Claude's own memory alone",
                hint="leave the other scopes out",
            )
        return own or self.host

    def scopes(self, deps: Deps) -> tuple[Scope, ...]:
        """Return the scopes that are meant, the most specific first.

        Raises:
            UsageError: two things are said, or what is named is no scope.
        """
        if self.every and self.wanted.named:
            raise UsageError("--all and a scope say two things", hint="leave one of them out")
        if self.every:
            return deps.memory().present_scopes()
        try:
            return deps.here.to_read(self.wanted)
        except UsageError as error:
            if error.hint != SCOPES:
                raise
            raise UsageError(str(error), hint=f"{SCOPES}; or {CLAUDE}: its own") from None
