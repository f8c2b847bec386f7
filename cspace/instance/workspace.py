"""Makes an instance's workspace: a clone of the project that shares nothing writable with it.

The clone is built under another name and renamed when it is whole. After the instance has started
once, its git configuration is an agent's, and no function here is used on it again.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from cspace import assets, beneath, files, git, git_objects, trees
from cspace.errors import CommandFailed, CspaceError, UsageError
from cspace.files import Owner
from cspace.instance.objects import copy_objects, list_content
from cspace.paths import CONTEXT, FROM_AGENTS, INSIDE, SHARED
from cspace.project import Project

INCLUDE_FILE = ".worktreeinclude"
# Its config and info/ mask the shared context and memory, which checkout, merge, reset and stash
# then leave alone, as long as a file changes. What another commit lacks they delete all the same:
# hence the mount point is a link, which git never deletes through, and `git clean -fdx` takes only
# the link.
_TEMPLATE = "workspace"
_TRACKING = "refs/remotes/origin"
_GITLINK = "160000"  # the mode of a submodule in the index
# The user's hooks would run for a clone they know nothing of; LFS would download.
_QUIET = (
    *("-c", "core.hooksPath=/dev/null", "-c", "protocol.file.allow=always"),
    *("-c", "checkout.workers=0"),  # as many as there are processors
    # They would run on in the background, and with them hold the instance's lock after a kill.
    *("-c", "gc.auto=0", "-c", "core.fsmonitor=false"),
)
_ENVIRONMENT = {"GIT_LFS_SKIP_SMUDGE": "1"}
# Not urllib: what git accepts as a URL is more than that parses.
_CREDENTIALS = re.compile(r"([a-z][a-z0-9+.-]*://)([^/?#]*)@", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Start:
    """Where a workspace begins.

    Attributes:
        commit: what it starts from, a commit of the project's repository.
        branch: the branch that the workspace is on.
        notes: which notes refs come along, by prefix; none for "".
    """

    commit: str
    branch: str
    notes: str = ""


@dataclass(frozen=True, slots=True)
class Clone:
    """A finished clone: the commit it is at, and every commit the host's repository had then."""

    base: str
    known: tuple[str, ...]


def plan_start(project: Project, name: str, branch: str | None) -> Start:
    """Choose the branch: the one asked for, else `cspace/<name>` without taking over work.

    Raises:
        UsageError: the repository has no commits, or the branch name is not valid.
    """
    head = git.resolve(project.worktree, "HEAD")
    if head is None:
        raise UsageError(
            f"{project.worktree} has no commits, so there is nothing to clone",
            hint="git commit --allow-empty -m start",
        )
    if branch is not None:
        if not git.is_branch_name(project.root, branch):
            raise UsageError(
                f"branch {branch!r} is not a valid branch name",
                hint=f"for example: cspace up {name} --branch fix/login",
            )
        return Start(git.resolve(project.root, f"refs/heads/{branch}") or head, branch)
    return Start(head, _free_branch(project, f"cspace/{name}"))


def _free_branch(project: Project, wanted: str) -> str:
    """Return wanted, or wanted-2 and on while the host has unmerged commits under that name."""
    branch, number = wanted, 1
    while (tip := git.resolve(project.root, f"refs/heads/{branch}")) and not git.is_ancestor(
        project.worktree, tip, "HEAD"
    ):
        number += 1
        branch = f"{wanted}-{number}"
    return branch


@contextlib.contextmanager
def new_workspace(project: Project, start: Start, workspace: Path, owner: Owner) -> Iterator[Clone]:
    """Clone beside workspace; the clone takes that name when the caller's block has ended well.

    Debris of an interrupted call is removed first.

    Raises:
        CommandFailed: git could not, for example because the disk is full; nothing is left behind.
    """
    partial = workspace.with_name(f"{workspace.name}.partial")
    trees.remove_tree(partial)
    files.ensure_directory(partial.parent, owner=owner)
    # Ours until it is whole: git refuses to work in a directory of another user.
    partial.mkdir()
    try:
        yield _fill(project, start, partial, owner)
        partial.rename(workspace)
    except BaseException:
        trees.remove_tree(partial)
        raise


def _fill(project: Project, start: Start, target: Path, owner: Owner) -> Clone:
    try:
        clone = _clone(project, start, target)
        _copy_included(project.worktree, target)
        beneath.ensure_link(target, PurePosixPath(CONTEXT), INSIDE.context_store)
        _give_tree(target, owner)
    except (CommandFailed, OSError) as error:
        raise CommandFailed(f"the workspace can not be made: {error}") from error
    return clone


def _clone(project: Project, start: Start, target: Path) -> Clone:
    source = project.worktree
    template = assets.directory("templates") / _TEMPLATE
    _init(source, target, f"--template={template}", f"--initial-branch={start.branch}")
    tracking = _present_refs(source, _TRACKING)
    notes = _present_refs(source, start.notes) if start.notes else {}
    _copy(source, target, tracking | notes | {f"refs/heads/{start.branch}": start.commit})
    url = git.remote_url(project.root, "origin")
    if url is not None:
        _git(target, "remote", "add", "origin", strip_credentials(url))
    _git(target, "reset", "--quiet", "--hard")
    _populate_submodules(source, target)
    return Clone(start.commit, tuple(sorted({start.commit, *tracking.values()})))


def _init(source: Path, target: Path, *words: str) -> None:
    _git(target, "init", "--quiet", f"--object-format={git.object_format(source)}", *words)


def _present_refs(source: Path, below: str) -> dict[str, str]:
    """Return the refs that are below a name; one whose object has gone is left out."""
    refs = git.list_refs(source, below)
    present = git_objects.object_sizes(source, set(refs.values()))
    return {name: one for name, one in refs.items() if one in present}


def _copy(source: Path, target: Path, heads: Mapping[str, str]) -> None:
    """Give a fresh repository these refs, the tags on their commits, and what they all reach."""
    content = list_content(source, heads)
    copy_objects(source, target, content)
    lines = "".join(f"create {name}\0{one}\0" for name, one in content.refs.items())
    _git(target, "update-ref", "--stdin", "-z", stdin=lines.encode())


def strip_credentials(url: str) -> str:
    """Take user and password out of a URL; ssh keeps its user, which is part of the address."""
    found = _CREDENTIALS.match(url)
    if found is None:
        return url
    scheme, user = found.groups()
    kept = f"{user.partition(':')[0]}@" if "ssh" in scheme else ""
    return scheme + kept + url[found.end() :]


def _populate_submodules(source: Path, target: Path) -> None:
    """Fill submodules from the host's checkouts, so that no network and no login is needed.

    One that the host has not checked out, or not fetched that far, stays empty.
    """
    if not (target / ".gitmodules").is_file():
        return
    # Not --get-regexp: that fails for the empty file which git leaves behind the last submodule.
    listed = _git(target, "config", "--file=.gitmodules", "-z", "--list")
    for entry in listed.split("\0"):
        key, _, path = entry.partition("\n")
        name = key.removeprefix("submodule.").removesuffix(".path")
        if not key.endswith(".path") or not _is_checked_out(source, PurePosixPath(path)):
            continue
        staged = _git(target, "ls-files", "--stage", "--", f":(literal){path}").split()
        if staged[:1] == [_GITLINK] and git.resolve(source / path, staged[1]) is not None:
            _populate(source / path, target, name, path, staged[1])


def _is_checked_out(source: Path, submodule: PurePosixPath) -> bool:
    """Tell whether the host has a submodule there, and no agent's repository or another one."""
    if not submodule.parts or _is_from_agents(submodule):
        return False  # no git runs there
    try:
        with beneath.pinned(source, submodule) as directory:
            return (directory / ".git").exists()
    except (OSError, CspaceError):
        return False  # a link on the way, too: on its own branch the host has that there


def _is_from_agents(relative: PurePosixPath) -> bool:
    return any(relative.is_relative_to(directory) for directory in FROM_AGENTS)


def _populate(source: Path, target: Path, name: str, path: str, commit: str) -> None:
    # Not from the checkout itself: git would link its objects, and bring all its branches.
    with tempfile.TemporaryDirectory(prefix=".cspace-", dir=target) as directory:
        between = Path(directory)
        _init(source, between, "--template=")
        heads = {
            f"refs/heads/{name.removeprefix(f'{_TRACKING}/')}": one
            for name, one in _present_refs(source, _TRACKING).items()
        }
        _copy(source, between, heads | {"refs/base": commit})
        _git(between, "update-ref", "--no-deref", "HEAD", commit)
        _git(target, "submodule", "--quiet", "init", "--", path)
        # Not by -c: a name that holds a = would leave the URL to the repository.
        _git(target, "config", f"submodule.{name}.url", between)
        _git(target, "-c", "init.templateDir=", "submodule", "--quiet", "update", "--", path)
    _git(target, "submodule", "--quiet", "sync", "--", path)
    _populate_submodules(source, target / path)


def _copy_included(source: Path, target: Path) -> None:
    """Copy the untracked files that `.worktreeinclude` names; links and specials are left out."""
    patterns = source / INCLUDE_FILE
    if patterns.is_symlink():
        raise UsageError(
            f"{patterns} is a link, and a repository's link could lead to any file of yours",
            hint=f"put a file there: ls -l {patterns}",
        )
    if not patterns.is_file():
        return
    for name in git.list_untracked(source, patterns):
        relative = PurePosixPath(name)
        if _is_from_agents(relative):
            continue  # mounted, or taken away from agents
        try:
            descriptor = beneath.open_file(source, relative)
        except (OSError, CspaceError):
            continue
        copy = target / relative
        with os.fdopen(descriptor, "rb") as original:
            try:
                beneath.ensure_directory(target, relative.parent)
                written = copy.open("xb")
            except (FileExistsError, CspaceError):
                continue  # the commit has something of its own there
            with written:
                shutil.copyfileobj(original, written)
            copy.chmod(stat.S_IMODE(os.fstat(original.fileno()).st_mode))


def set_aside_copies(workspace: Path) -> None:
    """Rename what was made in place of the shared directories: an archive leaves those out.

    `git restore --source=… .` writes a commit's records where the link was, and an agent may take
    `.cspace/memory` for the real one.
    """
    for shared in SHARED:
        # Where `.cspace` itself is no directory there is nothing below it to lose.
        with contextlib.suppress(NotADirectoryError):
            beneath.set_aside(workspace, shared)


def _give_tree(root: Path, owner: Owner) -> None:
    """Give a tree that we just made to its owner; nothing to do unless we are root."""
    if os.geteuid() != 0:
        return
    for _, directories, names, descriptor in os.fwalk(root):
        os.fchown(descriptor, owner.uid, owner.gid)
        for name in (*directories, *names):
            os.chown(name, owner.uid, owner.gid, dir_fd=descriptor, follow_symlinks=False)


def _git(target: Path, *words: str | Path, stdin: bytes = b"") -> str:
    return git.git(target, *_QUIET, *words, env=_ENVIRONMENT, stdin=stdin).text
