"""One function per git command that cspace runs on the host's repository.

No function here is ever pointed at a workspace: its configuration is an agent's, and git would run it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from cspace import proc

# Set inside hooks and by wrappers, these would point every command at another repository.
# GIT_CONFIG_* and the identity stay: they are the user's own way to configure git.
_REDIRECTING = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_WORK_TREE",
)


def git(
    repository: Path,
    *words: str | Path,
    stdin: bytes = b"",
    ok: tuple[int, ...] = (0,),
    env: Mapping[str, str] | None = None,
) -> proc.Result:
    """Run one git command in repository, deaf to the variables that would redirect it.

    Args:
        env: variables on top of our own.

    Raises:
        CommandFailed: git answered with a code that is not in ok.
    """
    return proc.run(
        "git", "-C", repository, *words, stdin=stdin, ok=ok, env=environment() | dict(env or {})
    )


def environment() -> dict[str, str]:
    """Our environment without what redirects git, with stable English messages, never prompting."""
    kept = {key: value for key, value in os.environ.items() if key not in _REDIRECTING}
    return kept | {"LC_ALL": "C.UTF-8", "GIT_TERMINAL_PROMPT": "0"}


def resolve(repository: Path, revision: str) -> str | None:
    """Return the full id of the commit that revision names, None when there is none."""
    asked = git(
        repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}",
        ok=(0, 1, 128),
    )  # fmt: skip
    return asked.text or None if asked.code == 0 else None


def find_worktree(start: Path) -> Path | None:
    """Return the top of the work tree around start, None outside of any."""
    asked = git(start, "rev-parse", "--show-toplevel", ok=(0, 128))
    return Path(asked.text) if asked.code == 0 and asked.text else None


def main_worktree(worktree: Path) -> Path:
    """Return the main worktree that a linked worktree belongs to; itself for any other."""
    directories = git(
        worktree, "rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir"
    ).text.splitlines()
    if directories[0] == directories[1]:
        return worktree
    listed = git(worktree, "worktree", "list", "--porcelain", "-z").text
    return Path(listed.split("\0")[0].removeprefix("worktree "))


def remote_url(repository: Path, remote: str) -> str | None:
    """Return where remote fetches from, None when there is no such remote."""
    asked = git(repository, "remote", "get-url", remote, ok=(0, 2, 128))
    return asked.text or None if asked.code == 0 else None


def config_value(repository: Path, key: str) -> str | None:
    """Return a configured value as git sees it there, None when it is not set."""
    asked = git(repository, "config", "--get", key, ok=(0, 1))
    return asked.text if asked.code == 0 else None


def is_ancestor(repository: Path, ancestor: str, descendant: str) -> bool:
    """Tell whether every commit of ancestor is in descendant."""
    answer = git(repository, "merge-base", "--is-ancestor", ancestor, descendant, ok=(0, 1))
    return answer.code == 0


def list_untracked(repository: Path, exclude_from: Path) -> tuple[str, ...]:
    """List untracked files that match the patterns in a file of .gitignore's form."""
    words = ("ls-files", "-z", "--others", "--ignored", f"--exclude-from={exclude_from}")
    return tuple(name for name in git(repository, *words).text.split("\0") if name)


def is_branch_name(repository: Path, name: str) -> bool:
    """Tell whether git accepts name as a branch."""
    return git(repository, "check-ref-format", "--branch", name, ok=(0, 128)).code == 0


def object_format(repository: Path) -> str:
    """Return the hash that the repository names its objects by: sha1 or sha256."""
    return git(repository, "rev-parse", "--show-object-format").text
