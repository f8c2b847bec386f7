"""The composition root: joins the features to this machine, each part on first use."""

from __future__ import annotations

import contextlib
import functools
import os
import pwd
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from cspace import git, paths
from cspace.claude_memory.place import Place, instance_place, project_place
from cspace.clock import utc_now
from cspace.errors import CspaceError, UsageError
from cspace.events import Report
from cspace.owner import account_name, find_owner
from cspace.project import (
    Project,
    beyond_agents,
    find_project,
    find_repository,
    outside,
    refuse_agents,
    refuse_instance,
)

if TYPE_CHECKING:
    # Both pull in libraries that commands without them must not pay for.
    from cspace.context.store import ContextStore
    from cspace.engine.model import Engine
    from cspace.index.embedder import Embedder, Missing
    from cspace.instance.secret_sources import Secrets
    from cspace.lifecycle.bring_home import Home
    from cspace.lifecycle.host import Blueprint, Host
    from cspace.lifecycle.leftovers import Machine
    from cspace.lifecycle.recorded_context import Recorder
    from cspace.memory.here import Here
    from cspace.memory.keeping import Keeper
    from cspace.memory.orchestrator import Adopted
    from cspace.memory.store import MemoryStore
    from cspace.notes.catalog import Catalog
    from cspace.notes.store import NotesStore
    from cspace.settings.load import Loaded
    from cspace.settings.model import Numbers

MODEL_VARIABLE = "CSPACE_NOTES__MODEL"


@dataclass
class Deps:
    """What commands work with. Not frozen, since it fills itself as parts are asked for."""

    directory: Path
    environ: Mapping[str, str]
    report: Report

    @cached_property
    def home(self) -> Path:
        named = self.environ.get("HOME")
        if named:
            return Path(named).absolute()
        try:
            return Path(pwd.getpwuid(os.getuid()).pw_dir)
        except KeyError:
            raise UsageError(
                f"HOME is not set, and uid {os.getuid()} has no account that would name it",
                hint="export HOME=/path/of/your/home",
            ) from None

    @cached_property
    def user(self) -> Path:
        return paths.user_directory(self.home)

    @cached_property
    def project(self) -> Project:
        refuse_instance(self.directory, self.user)
        return find_project(self.directory)

    @cached_property
    def engine(self) -> Engine:
        from cspace.engine.docker import DockerEngine  # noqa: PLC0415  120 ms of Docker library

        return DockerEngine()

    def open_context(self, root: Path | None = None) -> ContextStore:
        """Open a project's context, on the host or inside an instance.

        Args:
            root: where it lies; the client's project or the current directory by default.
        """
        from cspace.lifecycle.shared_context import open_context  # noqa: PLC0415  loads YAML

        named = self.environ.get("CLAUDE_PROJECT_DIR")
        place = root or (Path(named) if named else self.directory)
        return open_context(self.directory / place, self.environ, self.report)

    def context_to_read(self) -> ContextStore:
        """Open this project's context for a person who only looks: nothing is moved aside."""
        from cspace.lifecycle.shared_context import open_context  # noqa: PLC0415  loads YAML

        return open_context(self.project.root, self.environ, self.report, sweeps=False)

    @property
    def inside(self) -> bool:
        """Whether this is an instance."""
        return bool(self.environ.get("CSPACE_INSTANCE"))

    @property
    def memory_root(self) -> Path:
        """Where curated memory lies; it need not exist."""
        return Path(paths.INSIDE.curated) if self.inside else paths.curated_memory(self.user)

    def memory(self) -> MemoryStore:
        """Open the curated memory to read it; an instance sees the scopes that concern it."""
        from cspace.memory.store import MemoryStore  # noqa: PLC0415  loads YAML

        return MemoryStore(self.memory_root, find_owner(), account_name(), utc_now)

    def memory_to_change(self, words: str = "") -> MemoryStore:
        """Open the curated memory for a person's change, which is a commit where git keeps it.

        Args:
            words: of the command that does it, for the hint.

        Raises:
            UsageError: this is an instance, where memories are only proposed.
        """
        if self.inside:
            raise UsageError(
                "an instance does not change memories: a person approves what it proposes",
                hint="cspace memory propose SLUG --body TEXT"
                + (f"; or on the host: cspace memory {words}" if words else ""),
            )
        from cspace.memory.recorded import open_store  # noqa: PLC0415  loads YAML

        return open_store(self.memory(), self.report)

    def memory_keeper(self) -> Keeper:
        """Join the curated memory with the git repository that keeps it.

        Raises:
            UsageError: none does, or this is an instance.
        """
        from cspace.memory.keeping import Keeper  # noqa: PLC0415  loads YAML
        from cspace.memory.repository import find_repository  # noqa: PLC0415

        if self.inside:
            raise UsageError(
                "the memory's history is on the host: not inside an instance",
                hint="on the host: cspace memory history",
            )
        store = self.memory()
        repository = find_repository(store.root, store.owner)
        if repository is None:
            raise UsageError(
                f"{store.root} is not kept in git by cspace", hint="cspace memory init --git"
            )
        return Keeper(repository, store, self.report)

    @cached_property
    def here(self) -> Here:
        """Where one stands, for scopes of curated memory."""
        from cspace.memory.here import Here  # noqa: PLC0415  few commands do
        from cspace.memory.personas import Personas  # noqa: PLC0415
        from cspace.memory.projects import Projects  # noqa: PLC0415

        root, owner = self.memory_root, find_owner()
        projects, personas = Projects(root, owner, self.report), Personas(root, owner)
        return Here(self.directory, self.user, self.environ, projects, personas)

    def adopt(self, workspace: Path, memory: Path) -> Adopted:
        """Make an orchestrator's own directory the scope orchestrator; see `orchestrator.adopt`.

        Args:
            workspace: from where one stands.
            memory: from the workspace.

        Raises:
            UsageError: agents write there, or this is an instance, or one is no directory.
        """
        from cspace.memory.orchestrator import adopt  # noqa: PLC0415  one command does

        self.memory_to_change()
        place = self.directory / workspace.expanduser()
        for directory in (place, place / memory):
            refuse_agents(directory, self.user)
        return adopt(self.memory_root, place, place / memory, find_owner())

    def claude_memory(self, *, host: bool = False) -> Place:
        """Find Claude's own memory to read; it need not exist.

        Args:
            host: the one that Claude Code keeps on this host for the current directory.

        Raises:
            UsageError: this is an instance, and the host's is asked for.
        """
        from cspace.claude_memory.host_place import find_host_place  # noqa: PLC0415  few commands do

        if host and self.inside:
            raise UsageError(
                "the host's memory can not be seen inside an instance",
                hint="on the host: cspace memory list --host",
            )
        if host:
            refuse_instance(self.directory, self.user)
            return find_host_place(beyond_agents(self.directory), self.home, self.environ)
        return instance_place() if self.inside else project_place(self.project.root)

    def notes(self, root: Path | None = None) -> NotesStore:
        """Open the memories that belong to commits; in an instance those of its own clone.

        Args:
            root: somewhere in the repository; the current directory by default.

        Raises:
            UsageError: it lies outside of any repository, or agents write there.
            CommandFailed: git refuses to read it.
        """
        from cspace.git_import import find_place  # noqa: PLC0415  few commands do
        from cspace.notes.store import NotesStore  # noqa: PLC0415

        start = self.directory / (root or Path())
        refuse_instance(start, self.user)
        repository = find_repository(start)
        if repository is None:
            raise outside(start)
        top = repository.worktree.top
        return NotesStore(top, find_place(top), find_owner(), account_name(), utc_now)

    def notes_catalog(self, root: Path | None = None) -> Catalog:
        """Open the index of the memories that belong to commits; args and errors as for `notes`."""
        from cspace.notes.catalog import Catalog  # noqa: PLC0415  it loads SQLite

        return Catalog(self.notes(root))

    def embedder(self) -> Embedder | Missing:
        """Find what embeds texts here; nothing is downloaded, and no model loaded yet.

        An instance has the models of its host, and downloads none.
        """
        from cspace.index.embedder import (  # noqa: PLC0415
            Missing,
            find_embedder,
            models_directory,
        )

        found = find_embedder(self._model(), models_directory(self.home, self.environ))
        if self.inside and isinstance(found, Missing) and found.fetchable:
            anew = f"cspace up {self.environ['CSPACE_INSTANCE']} --recreate"
            hint = f"on the host: cspace notes reindex; if that is not enough: {anew}"
            return replace(found, hint=hint, fetchable=False)
        return found

    def fetch_embedder(self) -> Embedder | Missing:
        """Find what embeds texts here, after its model was downloaded where it was not there.

        Raises:
            CommandFailed: the network refused, or sent something else.
            Conflict: another process has been at it for too long.
        """
        from cspace.index.embedder import Missing, fetch_model, models_directory  # noqa: PLC0415

        found = self.embedder()
        if isinstance(found, Missing) and found.fetchable:
            models = models_directory(self.home, self.environ)
            fetch_model(self._model(), models, self.environ, self.report)
            return self.embedder()
        return found

    def _model(self) -> str:
        """Return the embedding model's name, which only the user's own settings decide."""
        from cspace.index.embedder import DEFAULT_MODEL  # noqa: PLC0415  few commands do

        # Most people set nothing, and reading that would be half of a search's time.
        if MODEL_VARIABLE not in self.environ and not paths.user_settings(self.user).exists():
            return DEFAULT_MODEL
        from cspace.settings.load import load_settings  # noqa: PLC0415  90 ms of pydantic

        return load_settings(None, home=self.home, environ=self.environ).settings.notes.model

    @contextlib.contextmanager
    def context_to_change(self) -> Iterator[ContextStore]:
        """Open this project's context for a person's change, and record what the block changed.

        Every command that writes records does it in such a block.
        """
        store = self.open_context(self.project.root)
        yield store
        if store.origin.instance is None:
            self.recorder.record()

    @property
    def recorder(self) -> Recorder:
        """What records the project's context in its history.

        Raises:
            UsageError: this is an instance, which does not have the history.
        """
        from cspace.lifecycle.recorded_context import Recorder  # noqa: PLC0415  few commands do

        if self.inside:
            raise UsageError(
                "the context's history is on the host: not inside an instance",
                hint="on the host: cspace context history",
            )
        return Recorder(self.project, self.user, self.report)

    @property
    def home_of_files(self) -> Home:
        """Where memories and transcripts come home to.

        Raises:
            UsageError: this is an instance, which sees none of it but its own.
        """
        from cspace.lifecycle.bring_home import Home  # noqa: PLC0415  few commands do

        if self.inside:
            raise UsageError(
                "memories and transcripts come home on the host: not inside an instance",
                hint="the same command on the host, in the project",
            )
        return Home(self.project, self.user, find_owner(), self.report)

    def survey_settings(self) -> Loaded:
        """Read the settings in force here; outside of any project the user's own."""
        from cspace.settings.load import survey_settings  # noqa: PLC0415  90 ms of pydantic

        return survey_settings(self._root(), home=self.home, environ=self.environ)

    def _root(self) -> Path | None:
        try:
            return self.project.root
        except UsageError:
            return None

    def _settings(self, root: Path | None, flags: Mapping[str, object] | None = None) -> Loaded:
        from cspace.settings.load import load_settings  # noqa: PLC0415  see above

        return load_settings(
            root, home=self.home, environ=self.environ, flags=flags, automatic=self._automatic
        )

    def _automatic(self) -> Numbers:
        from cspace.lifecycle.limits import automatic_limits  # noqa: PLC0415  pulls in the engine's

        return automatic_limits(self.engine.capacity())

    def host(
        self,
        flags: Mapping[str, object] | None = None,
        secrets: Mapping[str, Path] | None = None,
        *,
        teardown: bool = False,
    ) -> Host:
        """Join the project with its settings, image, secrets and engine.

        Args:
            secrets: files that were named on the command line, by the secret's name.
            teardown: nothing is made, so neither the project's settings nor secrets matter, broken
                ones too; the user's own settings do where an image has to be named.
        """
        from cspace.lifecycle.host import Host  # noqa: PLC0415  pulls in the engine's model

        named = secrets or {}
        blueprint = functools.cache(lambda: self._blueprint(flags, named, teardown=teardown))
        if not teardown:
            blueprint()  # what is wrong with it is said before anything is done
        return Host(
            engine=self.engine,
            project=self.project,
            user=self.user,
            owner=find_owner(),
            blueprint=blueprint,
            now=utc_now,
            report=self.report,
        )

    def _blueprint(
        self, flags: Mapping[str, object] | None, secrets: Mapping[str, Path], *, teardown: bool
    ) -> Blueprint:
        from cspace.egress.upstream import find_upstream  # noqa: PLC0415  only what makes instances
        from cspace.index.embedder import models_directory  # noqa: PLC0415
        from cspace.instance.image import plan_egress_image, plan_image  # noqa: PLC0415
        from cspace.instance.secret_sources import Secrets  # noqa: PLC0415
        from cspace.lifecycle.host import Blueprint  # noqa: PLC0415

        settings = self._settings(None if teardown else self._root(), flags).settings
        base, bundle = settings.base_image, settings.ca_bundle
        chained = settings.firewall.enabled and not teardown
        models = models_directory(self.home, self.environ)
        return Blueprint(
            settings=settings,
            image=plan_image(find_owner(), base_image=base, ca_bundle=bundle),
            egress_image=plan_egress_image(base_image=base),
            environment=self._inherited(),
            secrets=Secrets() if teardown else self.find_secrets(secrets),
            upstream=find_upstream(self.environ) if chained else None,
            models=models if models.is_dir() else None,
        )

    def find_secrets(self, flags: Mapping[str, Path] | None = None) -> Secrets:
        """Find what instances of this project would be given."""
        from cspace.instance.secret_sources import find_secrets  # noqa: PLC0415  few commands do

        return find_secrets(self.user, self.project.id, self.environ, flags or {})

    def machine(self) -> Machine:
        """Join what this user has on this machine, in whatever project."""
        from cspace.instance.image import (  # noqa: PLC0415  only what makes instances
            plan_egress_image,
            plan_image,
        )
        from cspace.lifecycle.leftovers import Machine, known_roots  # noqa: PLC0415

        here = self.project if self._root() is not None else None
        owner = find_owner()
        wanted = set()
        for root in (None, *known_roots(self.user, here)):
            # Broken settings of a project ask for no image.
            with contextlib.suppress(CspaceError):
                settings = self._settings(root).settings
                wanted.add((settings.base_image, settings.ca_bundle))
        return Machine(
            engine=self.engine,
            user=self.user,
            owner=owner,
            here=here,
            images=frozenset(
                each.tag
                for base, bundle in wanted
                for each in (
                    plan_image(owner, base_image=base, ca_bundle=bundle),
                    plan_egress_image(base_image=base),
                )
            ),
            now=utc_now,
            report=self.report,
        )

    def _inherited(self) -> dict[str, str]:
        """Collect what instances take over from the host: proxies, and who commits."""
        from cspace.instance.image import proxy_arguments  # noqa: PLC0415

        # A proxy with a password in its URL would show in docker inspect.
        proxies = proxy_arguments(self.environ)
        taken = {key: value for key, value in proxies.items() if "@" not in value}
        for variable, key in (("CSPACE_GIT_NAME", "user.name"), ("CSPACE_GIT_EMAIL", "user.email")):
            value = git.config_value(self.project.worktree, key)
            if value:
                taken[variable] = value
        return taken


def make_deps(report: Report) -> Deps:
    """Join everything to the process's own directory and environment."""
    return Deps(Path.cwd(), dict(os.environ), report)
