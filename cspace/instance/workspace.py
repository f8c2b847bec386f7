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
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from cspace import assets, files, git, proc
from cspace.errors import CommandFailed, CspaceError, UsageError
from cspace.files import Owner
from cspace.paths import CONTEXT, INSIDE, MEMORY
from cspace.project import Project

INCLUDE_FILE = ".worktreeinclude"
# Its config and info/ mask the shared context and memory, which checkout, merge, reset and stash
# then leave alone, as long as a file changes. What another commit lacks they delete all the same:
# hence the mount point is a link, which git never deletes through, and `git clean -fdx` takes only
# the link.
_TEMPLATE = "workspace"
# The user's hooks would run for a clone they know nothing of; LFS would download.
_QUIET = (
    *("-c", "core.hooksPath=/dev/null", "-c", "protocol.file.allow=always"),
    # It would run on in the background, and with it hold the instance's lock after a kill.
    *("-c", "gc.auto=0"),
)
_ENVIRONMENT = {"GIT_LFS_SKIP_SMUDGE": "1"}
# Not urllib: what git accepts as a URL is more than that parses.
_CREDENTIALS = re.compile(r"([a-z][a-z0-9+.-]*://)([^/?#]*)@", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Start:
    """Where a workspace begins.

    Attributes:
        revision: what is fetched, as the project's repository names it.
        branch: the branch that the workspace is on.
    """

    revision: str
    branch: str


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
    if git.resolve(project.worktree, "HEAD") is None:
        raise UsageError(
            f"{project.worktree} has no commits, so there is nothing to clone",
            hint="git commit --allow-empty -m start",
        )
    if branch is not None:
        if not git.is_branch_name(project.root, branch):
            raise UsageError(f"branch {branch!r} is not a valid branch name")
        exists = git.resolve(project.root, f"refs/heads/{branch}") is not None
        return Start(f"refs/heads/{branch}" if exists else "HEAD", branch)
    return Start("HEAD", _free_branch(project, f"cspace/{name}"))


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
    remove_tree(partial)
    files.ensure_directory(partial.parent, owner=owner)
    # Ours until it is whole: git refuses to work in a directory of another user.
    partial.mkdir()
    try:
        clone = _clone(project, start, partial)
        _copy_included(project.worktree, partial)
        files.ensure_link(partial, PurePosixPath(CONTEXT), INSIDE.context_store)
        _give_tree(partial, owner)
        yield clone
        partial.rename(workspace)
    except BaseException:
        remove_tree(partial)
        raise


def _clone(project: Project, start: Start, target: Path) -> Clone:
    source = project.worktree
    template = f"--template={assets.directory('templates') / _TEMPLATE}"
    form = (f"--object-format={git.object_format(source)}", f"--initial-branch={start.branch}")
    _git(target, "init", "--quiet", template, *form)
    refs = (
        f"{start.revision}:refs/heads/{start.branch}",
        "refs/remotes/origin/*:refs/remotes/origin/*",
    )
    # --update-shallow: a shallow host gives a clone that is exactly as shallow.
    _git(target, "fetch", "--quiet", "--update-head-ok", "--update-shallow", source, *refs)
    url = git.remote_url(project.root, "origin")
    if url is not None:
        _git(target, "remote", "add", "origin", strip_credentials(url))
    _git(target, "reset", "--quiet", "--hard")
    _populate_submodules(source, target)
    base, *tips = _git(
        target, "for-each-ref", "--format=%(objectname)", "refs/heads", "refs/remotes"
    ).splitlines()
    return Clone(base, tuple(sorted({base, *tips})))


def strip_credentials(url: str) -> str:
    """Take user and password out of a URL; ssh keeps its user, which is part of the address."""
    found = _CREDENTIALS.match(url)
    if found is None:
        return url
    scheme, user = found.groups()
    kept = f"{user.partition(':')[0]}@" if "ssh" in scheme else ""
    return scheme + kept + url[found.end() :]


def _populate_submodules(source: Path, target: Path) -> None:
    """Fill submodules from the host's checkouts, so that no network and no login is needed."""
    if not (target / ".gitmodules").is_file():
        return
    _git(target, "submodule", "--quiet", "init")
    listed = _git(target, "config", "--file=.gitmodules", "-z", "--get-regexp", r"\.path$")
    for entry in filter(None, listed.split("\0")):
        key, _, path = entry.partition("\n")
        if git.resolve(source / path, "HEAD") is None or not (source / path / ".git").exists():
            continue
        name = key.removeprefix("submodule.").removesuffix(".path")
        url = f"submodule.{name}.url={source / path}"
        _git(target, "-c", url, "submodule", "--quiet", "update", "--", path)
        _git(target, "submodule", "--quiet", "sync", "--", path)
        _populate_submodules(source / path, target / path)


def _copy_included(source: Path, target: Path) -> None:
    """Copy the untracked files that `.worktreeinclude` names; links and specials are left out."""
    patterns = source / INCLUDE_FILE
    if not patterns.is_file():
        return
    for name in git.list_untracked(source, patterns):
        relative = PurePosixPath(name)
        if relative.is_relative_to(CONTEXT) or relative.is_relative_to(MEMORY):
            continue  # mounted, not copied
        try:
            descriptor = files.open_beneath(source, relative)
        except (OSError, CspaceError):
            continue
        copy = target / relative
        with os.fdopen(descriptor, "rb") as original:
            try:
                files.ensure_beneath(target, relative.parent)
                written = copy.open("xb")
            except (FileExistsError, CspaceError):
                continue  # the commit has something of its own there
            with written:
                shutil.copyfileobj(original, written)
            copy.chmod(stat.S_IMODE(os.fstat(original.fileno()).st_mode))


def _give_tree(root: Path, owner: Owner) -> None:
    """Give a tree that we just made to its owner; nothing to do unless we are root."""
    if os.geteuid() != 0:
        return
    for _, directories, names, descriptor in os.fwalk(root):
        os.fchown(descriptor, owner.uid, owner.gid)
        for name in (*directories, *names):
            os.chown(name, owner.uid, owner.gid, dir_fd=descriptor, follow_symlinks=False)


def remove_tree(path: Path) -> None:
    """Remove a directory with whatever modes an agent gave its entries; nothing if it is not there.

    Links are removed and never followed.

    Raises:
        CommandFailed: something could not be removed.
    """
    # Not shutil: an agent can nest directories deeper than Python recurses.
    if proc.run("rm", "-rf", "--", path, ok=(0, 1)).code:
        proc.run("chmod", "-R", "u+rwx", "--", path, ok=(0, 1))
        proc.run("rm", "-rf", "--", path)


def _git(target: Path, *words: str | Path) -> str:
    try:
        return git.git(target, *_QUIET, *words, env=_ENVIRONMENT).text
    except CommandFailed as error:
        raise CommandFailed(f"the workspace can not be made: {error}") from error
