"""Every path that cspace uses, on the host and inside an instance."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

CONTEXT = Path(".cspace/context")
MEMORY = Path(".cspace/memory")
# What Claude Code loads of a memory into every session.
INDEX = PurePosixPath("MEMORY.md")
QUARANTINE = Path(".cspace/quarantine")
# The directories of a project that instances write to.
SHARED = (PurePosixPath(CONTEXT), PurePosixPath(MEMORY))
# What lies in these is an agent's, a git repository too.
FROM_AGENTS = (*SHARED, PurePosixPath(QUARANTINE))
CONTEXT_KINDS = ("decisions", "discoveries", "findings")


def user_directory(home: Path) -> Path:
    """Return the directory of one user's instances, settings and secrets."""
    return home / ".cspace"


def user_settings(user: Path) -> Path:
    """Return the file of the user's own settings."""
    return user / "config.json"


def projects_directory(user: Path) -> Path:
    """Return the directory that holds the instances of all projects, by the project's id."""
    return user / "instances"


def sessions_directory(user: Path) -> Path:
    """Return the directory that holds all instances' transcripts, by the project's id."""
    return user / "sessions"


def instance_sessions(user: Path, project_id: str, name: str) -> Path:
    """Return what instances of one name keep of their sessions; it outlives each of them.

    Mounted as INSIDE.projects: a transcript is `<slug of its directory>/<session>.jsonl`, its notes
    are `<session>.md` beside it.
    """
    return sessions_directory(user) / project_id / name


def curated_memory(user: Path) -> Path:
    """Return the root of the curated memory's scopes."""
    return user / "memory"


def plugin_directory(user: Path) -> Path:
    """Return where the plugin lies that Claude Code on this host reads in place."""
    return user / "plugin"


def outboxes_directory(user: Path) -> Path:
    """Return the directory that holds all instances' outboxes, by the project's id."""
    return user / "outbox"


def instance_outbox(user: Path, project_id: str, name: str) -> Path:
    """Return where instances of one name file proposals; it outlives each of them.

    Mounted as INSIDE.outbox.
    """
    return outboxes_directory(user) / project_id / name


def user_secrets(user: Path) -> Path:
    """Return the directory whose files are the user's secrets, for all projects."""
    return user / "secrets"


def project_secrets(user: Path, project_id: str) -> Path:
    """Return the directory whose files are secrets of one project."""
    return user_secrets(user) / "projects" / project_id


def image_lock(user: Path) -> Path:
    """Return what is locked while an image is built."""
    return user / ".image.lock"


def network_lock(user: Path) -> Path:
    """Return what is locked while a subnet is chosen and taken."""
    return user / ".network.lock"


@dataclass(frozen=True, slots=True)
class EgressPaths:
    """What the proxy of one project has on the host.

    Attributes:
        directory: what it reads, `~/.cspace/egress/<project-id>`; it is there before anything of
            the proxy is, and goes last.
    """

    directory: Path

    @property
    def lock(self) -> Path:
        return self.directory.with_name(f".{self.directory.name}.lock")


def egress_directory(user: Path) -> Path:
    """Return the directory that holds what the proxies of all projects read, by project's id."""
    return user / "egress"


def egress_paths(user: Path, project_id: str) -> EgressPaths:
    """Return the paths of one project's proxy."""
    return EgressPaths(egress_directory(user) / project_id)


def build_directory(user: Path) -> Path:
    """Return where the files lie that an image is being built from."""
    return user / ".image"


@dataclass(frozen=True, slots=True)
class InstancePaths:
    """What one instance keeps on the host; `state` is removed as a whole by `down`.

    Attributes:
        state: `~/.cspace/instances/<project-id>/<name>`
        lock: beside the state directory, since a lock must outlive what it guards.
    """

    state: Path

    @property
    def lock(self) -> Path:
        return self.state.with_name(f".{self.state.name}.lock")

    @property
    def record(self) -> Path:
        return self.state / "instance.json"

    @property
    def stopping(self) -> Path:
        """There while the engine stops the containers, which a killed call does not end."""
        return self.state / "stopping"

    @property
    def compose(self) -> Path:
        return self.state / "compose.yaml"

    @property
    def workspace(self) -> Path:
        return self.state / "workspace"

    @property
    def claude(self) -> Path:
        """Mounted as CLAUDE_CONFIG_DIR: a directory, since a mounted file can not be replaced."""
        return self.state / "claude"

    @property
    def secrets(self) -> Path:
        return self.state / "secrets"

    @property
    def sessions(self) -> Path:
        """Mounted as INSIDE.projects; not below `state`, since it outlives that."""
        project = self.state.parent
        return instance_sessions(project.parents[1], project.name, self.state.name)

    @property
    def outbox(self) -> Path:
        """Mounted as INSIDE.outbox; like the sessions it outlives `state`."""
        project = self.state.parent
        return instance_outbox(project.parents[1], project.name, self.state.name)

    @property
    def curated(self) -> Path:
        """What holds the scopes of which some are mounted below INSIDE.curated."""
        return curated_memory(self.state.parents[2])

    @property
    def journal(self) -> Path:
        """What the instance's context servers write, outside of what an agent wipes with git."""
        return self.state / "journal"


def project_directory(user: Path, project_id: str) -> Path:
    """Return the directory that holds the instances of one project."""
    return projects_directory(user) / project_id


def project_lock(user: Path, project_id: str) -> Path:
    """Return what is locked while a name of the project is taken, or its proxy goes."""
    return project_directory(user, project_id) / ".lock"


def instance_paths(user: Path, project_id: str, name: str) -> InstancePaths:
    """Return the paths of one instance. The name must have been checked."""
    return InstancePaths(project_directory(user, project_id) / name)


@dataclass(frozen=True, slots=True)
class Inside:
    """Where things are in an instance's container."""

    workspace: str = "/workspace"
    claude: str = "/home/dev/.claude"
    projects: str = "/home/dev/.claude/projects"
    memory: str = "/home/dev/.claude/projects/-workspace/memory"
    context: str = "/workspace/.cspace/context"
    # Where the mount at `context` really is: see instance/workspace.py.
    context_store: str = "/home/dev/.cspace/context"
    journal: str = "/home/dev/.cspace/journal"
    curated: str = "/home/dev/.cspace/memory"
    outbox: str = "/home/dev/.cspace/outbox"
    # Where programs inside look for models by default; lib/scripts/create-user.sh makes it.
    models: str = "/home/dev/.cache/cspace/models"
    secrets: str = "/run/secrets"
    runtime: str = "/run/cspace"
    python: str = "/opt/cspace/bin/python"


INSIDE = Inside()
