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
