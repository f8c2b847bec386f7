"""Where Claude Code keeps its memory of a project outside of instances, and whether it is on.

Found out with Claude Code 2.1.330. One thing is not as there: without a person at the terminal it
follows `autoMemoryDirectory` of a project's own settings, which a stranger may have written. We
never do, and say so. What the vendor switches from afar can not be seen from here.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from cspace import git
from cspace.claude_memory.host_settings import (
    DIRECTORY,
    ENABLED,
    MANAGED,
    PROJECT_FILES,
    USER_FILE,
    Settings,
    load_managed,
    load_project,
    load_trusted,
    parse_directory,
)
from cspace.claude_memory.place import Place
from cspace.claude_memory.slugs import find_named
from cspace.errors import CspaceError, UsageError

OVERRIDE = "CLAUDE_COWORK_MEMORY_PATH_OVERRIDE"
DISABLE, SIMPLE = "CLAUDE_CODE_DISABLE_AUTO_MEMORY", "CLAUDE_CODE_SIMPLE"
CONFIG = "CLAUDE_CONFIG_DIR"
UNSEEN = "whether the vendor has switched memory off from afar can not be seen from here"
_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})


@dataclass(frozen=True, slots=True)
class _Host:
    """What decides, on this host and for this directory.

    Attributes:
        environment: with what the managed and the user's settings set on top.
    """

    home: Path
    environment: Mapping[str, str]
    managed: Settings
    user: Settings
    project: tuple[Settings, ...]


def find_host_place(
    start: Path, home: Path, environ: Mapping[str, str], managed: Path = MANAGED
) -> Place:
    """Find the memory that Claude Code uses when it is started in a directory of this host.

    Args:
        start: outside of what agents made: git runs there where it is a linked worktree.
        managed: where the machine's administrator keeps settings.

    Raises:
        UsageError: CLAUDE_CONFIG_DIR is not absolute.
    """
    user = load_trusted(_config(home, environ) / USER_FILE)
    administrator = load_managed(managed)
    host = _Host(
        home,
        {**environ, **user.environment, **administrator.environment},
        administrator,
        user,
        tuple(load_project(start, file) for file in PROJECT_FILES),
    )
    directory, reason, ignored = _choose(host, start)
    problems = tuple(one.problem for one in (administrator, user) if one.problem)
    notes = (*problems, *ignored, *_redirecting(host), UNSEEN)
    return Place(directory, PurePosixPath(), reason, _why_off(host), notes, host=True)


def _config(home: Path, environ: Mapping[str, str]) -> Path:
    named = environ.get(CONFIG)
    if named is None:
        return Path(unicodedata.normalize("NFC", str(home / ".claude")))
    if not named.startswith("/") or "\0" in named:
        raise UsageError(
            f"{CONFIG} is {named!r}, which means another directory wherever Claude Code starts",
            hint=f"export {CONFIG}=/path/of/the/directory, or: unset {CONFIG}",
        )
    return Path(unicodedata.normalize("NFC", named))


def _choose(host: _Host, start: Path) -> tuple[Path, str, tuple[str, ...]]:
    """Return the directory, why it is this one, and what was set but does not count."""
    ignored = []
    override = host.environment.get(OVERRIDE)
    if override:
        directory = parse_directory(override)
        if directory is not None:
            return directory, f"{OVERRIDE} names it", ()
        ignored.append(f"{OVERRIDE} is {override!r}, which Claude Code ignores: not absolute")
    for settings in (host.managed, host.user):
        named = settings.text(DIRECTORY)
        if named is None:
            continue
        directory = parse_directory(named, host.home)
        if directory is not None:
            return directory, f"{DIRECTORY} in {settings.path} names it", tuple(ignored)
        ignored.append(
            f"{DIRECTORY} in {settings.path} is {named!r}, which Claude Code ignores:"
            " neither absolute nor below ~/"
        )
    projects = _config(host.home, host.environment) / "projects"
    root = find_git_root(start)
    reason = f"Claude Code's own place for {root}"
    return find_named(projects, root) / "memory", reason, tuple(ignored)


def find_git_root(start: Path) -> Path:
    """Return what a memory is of: the repository around start, its main one; else start itself."""
    start = start.resolve()
    top = next((one for one in (start, *start.parents) if (one / ".git").exists()), None)
    if top is None:
        return start
    if (top / ".git").is_dir():
        return top
    try:
        worktree = git.find_worktree(top)
    except CspaceError:
        return top
    if worktree is None or not _belongs(worktree):
        return top
    # A linked worktree of a bare repository belongs to that repository itself.
    return (git.main_worktree(worktree) or worktree.common_directory).resolve()


def _belongs(worktree: git.Worktree) -> bool:
    """Tell whether a repository knows a worktree too: anybody can write a file that names one."""
    if worktree.git_directory == worktree.common_directory:
        return True
    try:
        known = (worktree.git_directory / "gitdir").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return False
    return (worktree.git_directory / known).resolve() == (worktree.top / ".git").resolve()


def _why_off(host: _Host) -> str:
    for name in (DISABLE, SIMPLE):
        if _means(host.environment.get(name), _TRUE):
            return f"{name} is {host.environment[name]!r}"
    for one in host.project:
        if _means(one.environment.get(DISABLE), _TRUE):
            return f"{one.path} sets {DISABLE}"
    if _means(host.environment.get(DISABLE), _FALSE):
        return ""
    for one in (host.managed, *host.project, host.user):
        if one.enabled is not None:
            return "" if one.enabled else f"{ENABLED} is false in {one.path}"
    return ""


def _means(value: str | None, words: frozenset[str]) -> bool:
    return value is not None and value.strip().lower() in words


def _redirecting(host: _Host) -> tuple[str, ...]:
    return tuple(
        f"{one.path} sets {DIRECTORY} to {one.text(DIRECTORY)!r}: cspace does not follow what comes"
        " with a repository, Claude Code may"
        for one in host.project
        if one.text(DIRECTORY)
    )
