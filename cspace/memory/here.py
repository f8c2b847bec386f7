"""Which scopes concern a place: a directory of this host, or an instance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cspace.errors import UsageError
from cspace.memory.orchestrator import find_adopted, find_workspace
from cspace.memory.personas import Personas
from cspace.memory.projects import Known, Projects
from cspace.memory.scopes import Kind, Scope, check_name, parse_scope

if TYPE_CHECKING:
    from cspace.project import Repository

# What tells an instance where it stands: it has neither the table nor the marker.
INSTANCE, PROJECT, PERSONA = "CSPACE_INSTANCE", "CSPACE_MEMORY_PROJECT", "CSPACE_PERSONA"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A scope as somebody named it; nothing named is where one stands.

    Attributes:
        scope: as `parse_scope` reads it; also `project` and `persona`, this and the active one.
        project, persona: a name, short for a scope of that kind.
    """

    scope: str | None = None
    project: str | None = None
    persona: str | None = None

    @property
    def named(self) -> bool:
        return any(one is not None for one in (self.scope, self.project, self.persona))


@dataclass(frozen=True, slots=True)
class Here:
    """Where one stands. Nothing is asked or read before it is needed.

    Attributes:
        user: `~/.cspace`.
    """

    directory: Path
    user: Path
    environ: Mapping[str, str]
    projects: Projects
    personas: Personas

    @property
    def inside(self) -> bool:
        """Whether this is an instance."""
        return bool(self.environ.get(INSTANCE))

    def scopes(self) -> tuple[Scope, ...]:
        """Return all scopes that concern this place, the most specific first.

        Raises:
            UsageError: this is an agent's directory, where no git runs.
        """
        place, persona = self._place(claim=False), self.persona()
        return (
            *((place,) if place else ()),
            *((Scope(Kind.PERSONA, persona),) if persona else ()),
            Scope(Kind.USER),
            Scope(Kind.GLOBAL),
        )

    def get(self, wanted: Wanted, *, claim: bool = False) -> Scope:
        """Return the scope that was named, or the default one of this place.

        Args:
            claim: give the project its name for good, as what writes does.

        Raises:
            UsageError: it is none, or two were named, or nothing here has what it names.
        """
        if not wanted.named:
            return self._place(claim=claim) or Scope(Kind.USER)
        scope = self._parse(wanted, claim=claim)
        if scope.kind is Kind.ORCHESTRATOR and not self.inside and not find_adopted(self._root):
            raise UsageError(
                "no orchestrator's directory is adopted",
                hint="cspace memory adopt ~/orchestrator",
            )
        return scope

    def check_proposed(self, scope: Scope) -> None:
        """Refuse what the host would not take over from this instance.

        It knows of no persona but its own, so it can not tell which others there are.

        Raises:
            UsageError: the scope does not concern it.
        """
        scopes = self.scopes() if self.inside else ()
        if self.inside and scope.kind is not Kind.PERSONA and scope not in scopes:
            raise UsageError(
                f"an instance proposes nothing for {scope}",
                hint=f"it may for {', '.join(map(str, scopes))}, and personas that exist",
            )

    def to_read(self, wanted: Wanted) -> tuple[Scope, ...]:
        """Return what a read is about: the scope that was named, else all that concern this place.

        Errors as for `get` and `scopes`.
        """
        return (self.get(wanted),) if wanted.named else self.scopes()

    def persona(self) -> str | None:
        """Return the active persona, None where none is."""
        if self.inside:
            named = self.environ.get(PERSONA)
            return check_name(PERSONA, named) if named else None
        return self.personas.active()

    def project(self, *, claim: bool = False) -> str | None:
        """Return the name of this project's memory, None outside of any project.

        Before it is claimed it is the name that it would get, under which nothing lies.
        """
        if self.inside:
            named = self.environ.get(PROJECT)
            return check_name(PROJECT, named) if named else None
        repository = self.repository()
        if repository is None:
            return None
        common = repository.common_directory
        known = self.projects.name_of(common)
        if known:
            return known
        named_by = self.projects.claim if claim else self.projects.expected
        return named_by(common, repository.project_id)

    def use(self, name: str) -> Known:
        """Let this repository have a project's memory.

        Raises:
            UsageError: this is no repository, or an agent's directory; or it is no name.
        """
        repository = self.repository()
        if repository is None:
            raise UsageError(f"{self.directory} is in no project", hint="cd into the repository")
        return self.projects.use(repository.common_directory, repository.project_id, name)

    def repository(self) -> Repository | None:
        """Find the repository around this place, None outside of any.

        Raises:
            UsageError: this is an agent's directory, where no git runs.
        """
        from cspace.project import find_repository, refuse_instance  # noqa: PLC0415  hooks need none

        refuse_instance(self.directory, self.user)
        return find_repository(self.directory)

    @property
    def _root(self) -> Path:
        return self.projects.root

    def _place(self, *, claim: bool) -> Scope | None:
        if not self.inside and find_workspace(self._root, self.directory):
            return Scope(Kind.ORCHESTRATOR)
        name = self.project(claim=claim)
        return Scope(Kind.PROJECT, name) if name else None

    def _parse(self, wanted: Wanted, *, claim: bool) -> Scope:
        given = [
            f"--{field} {value}"
            for field, value in (
                ("scope", wanted.scope),
                ("project", wanted.project),
                ("persona", wanted.persona),
            )
            if value is not None
        ]
        if len(given) > 1:
            raise UsageError(f"{' and '.join(given)} say two things", hint="give one of them")
        if wanted.project is not None:
            return Scope(Kind.PROJECT, check_name("project", wanted.project))
        if wanted.persona is not None:
            return Scope(Kind.PERSONA, check_name("persona", wanted.persona))
        match wanted.scope:
            case "project":
                return self._this_project(claim=claim)
            case "persona":
                return self._active_persona()
        return parse_scope(wanted.scope or "")

    def _this_project(self, *, claim: bool) -> Scope:
        name = self.project(claim=claim)
        if name is None:
            raise UsageError(
                f"{self.directory} is in no project",
                hint="cd into one, or name it: --project NAME; cspace memory projects lists them",
            )
        return Scope(Kind.PROJECT, name)

    def _active_persona(self) -> Scope:
        name = self.persona()
        if name is None:
            raise UsageError(
                "no persona is active",
                hint="name one: --persona NAME, or for good: cspace memory persona use NAME",
            )
        return Scope(Kind.PERSONA, name)
