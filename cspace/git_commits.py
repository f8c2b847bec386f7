"""The git commands on the host's repository that make a commit without its index and its hooks.

As in `cspace.git`, none is ever pointed at a workspace.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cspace.git import AS_STORED, Staged, git, is_configured

# No program of the repository's configuration runs, and no index is written in another form.
QUIET = (
    *("-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false"),
    *("-c", "core.splitIndex=false", "-c", "i18n.commitEncoding=UTF-8"),
)
_MARKS = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "sequencer": "cherry-pick",
}
NO_FILE = "0"
# As many conflicts as git can count; above it is its word for an error.
_MOST_CONFLICTS = 127


@dataclass(frozen=True, slots=True)
class Change:
    """What a path becomes in an index; mode "0" removes it."""

    path: bytes
    mode: str
    id: str


def operation_in_progress(git_directory: Path) -> str | None:
    """Return what a person has begun in a work tree and not ended: merge, rebase, …"""
    found = (what for mark, what in _MARKS.items() if os.path.lexists(git_directory / mark))
    return next(found, None)


def branch_of(repository: Path) -> str | None:
    """Return the branch that is checked out, also before its first commit; None when detached."""
    asked = git(repository, "symbolic-ref", "--quiet", "--short", "HEAD", ok=(0, 1))
    return asked.text or None if asked.code == 0 else None


def list_tree(repository: Path, commit: str, path: str) -> dict[bytes, Staged]:
    """Return what a commit holds at path and below it."""
    words = ("ls-tree", "-r", "-z", "--full-tree", commit, "--", path)
    found = {}
    for line in filter(None, git(repository, *words, env=AS_STORED).stdout.split(b"\0")):
        known, _, name = line.partition(b"\t")
        mode, _, one = known.decode("ascii").split()
        found[name] = Staged(mode, one, hidden=False)
    return found


def list_unmerged(repository: Path, path: str) -> tuple[bytes, ...]:
    """Return the paths at and below path that wait for a person to resolve a conflict."""
    words = (*QUIET, "ls-files", "--unmerged", "--full-name", "-z", "--", path)
    lines = filter(None, git(repository, *words).stdout.split(b"\0"))
    return tuple(dict.fromkeys(line.partition(b"\t")[2] for line in lines))


def list_ignored(repository: Path, paths: Iterable[bytes]) -> frozenset[bytes]:
    """Return which of these paths git ignores; one that it tracks is never ignored."""
    asked = b"".join(path + b"\0" for path in paths)
    words = (*QUIET, "check-ignore", "-z", "--stdin")
    answer = git(repository, *words, stdin=asked, ok=(0, 1))
    return frozenset(filter(None, answer.stdout.split(b"\0")))


def write_blobs(repository: Path, copies: Iterable[Path]) -> None:
    """Store the bytes of our own files as they are: no attribute's filter changes them, or runs."""
    asked = b"".join(os.fsencode(path) + b"\n" for path in copies)
    git(repository, "hash-object", "-w", "--no-filters", "--stdin-paths", stdin=asked)


def write_tree(repository: Path, commit: str | None, changes: Iterable[Change]) -> str:
    """Store the tree of a commit with some paths changed, and return it.

    Args:
        commit: None for an empty tree.
    """
    with tempfile.TemporaryDirectory(prefix="cspace-index-") as directory:
        env = AS_STORED | {"GIT_INDEX_FILE": str(Path(directory) / "index")}
        git(repository, *QUIET, "read-tree", commit or "--empty", env=env)
        words = (*QUIET, "update-index", "-z", "--index-info")
        git(repository, *words, stdin=_index_info(changes), env=env)
        return git(repository, *QUIET, "write-tree", "--missing-ok", env=env).text


def write_commit(repository: Path, tree: str, parent: str | None, message: str) -> str:
    """Store a commit by the user, signed where commit.gpgSign asks for it, and return it.

    Raises:
        CommandFailed: git does not know who the user is, or can not sign.
    """
    signed = is_configured(repository, "commit.gpgSign")
    options = [*(["-p", parent] if parent else []), *(["-S"] if signed else [])]
    return git(
        repository, *QUIET, "commit-tree", tree, *options, "-F", "-",
        stdin=message.encode("utf-8", "surrogateescape"),
    ).text  # fmt: skip


def move_head(repository: Path, new: str, old: str | None, reason: str) -> None:
    """Move what is checked out from old to new, or create it where old is None.

    Raises:
        CommandFailed: it is not at old.
    """
    words = ("update-ref", "-m", reason, "HEAD", new, old or "0" * len(new))
    git(repository, *QUIET, *words)


def stage(repository: Path, changes: Iterable[Change]) -> None:
    """Change these paths in the user's index, and none else.

    Raises:
        CommandFailed: something else holds the index's lock; nothing was changed.
    """
    words = (*QUIET, "update-index", "-z", "--index-info")
    git(repository, *words, stdin=_index_info(changes))


def _index_info(changes: Iterable[Change]) -> bytes:
    return b"".join(f"{one.mode} {one.id}\t".encode("ascii") + one.path + b"\0" for one in changes)


@dataclass(frozen=True, slots=True)
class Logged:
    """A commit, when it was made, in seconds since 1970, and its whole message."""

    id: str
    time: int
    message: str


def log_with(repository: Path, text: str, revisions: Iterable[str]) -> tuple[Logged, ...]:
    """Return the commits that revisions reach whose message holds a text, the newest first."""
    words = (
        *("-c", "log.showSignature=false", "log", "-z", "--fixed-strings", f"--grep={text}"),
        *("--no-color", "--no-notes", "--no-decorate", "--encoding=UTF-8", "--no-patch"),
        *("--format=%H %ct%n%B", *revisions, "--"),
    )
    found = []
    for record in filter(None, git(repository, *words, env=AS_STORED).stdout.split(b"\0")):
        first, _, message = record.partition(b"\n")
        one, time = first.decode("ascii").split()
        found.append(Logged(one, int(time), message.decode("utf-8", "replace")))
    return tuple(found)


def merge_lines(base: bytes, ours: bytes, theirs: bytes) -> tuple[bytes, bool]:
    """Merge three texts as git does, and return the result and whether it is without conflict.

    Raises:
        CommandFailed: one of them is no text.
    """
    with tempfile.TemporaryDirectory(prefix="cspace-merge-") as directory:
        for name, content in (("base", base), ("ours", ours), ("theirs", theirs)):
            (Path(directory) / name).write_bytes(content)
        labels = ("-L", "ours", "-L", "base", "-L", "theirs")
        done = git(
            Path(directory), "merge-file", "-p", *labels, "ours", "base", "theirs",
            ok=tuple(range(_MOST_CONFLICTS + 1)),
            env={"GIT_CEILING_DIRECTORIES": str(Path(directory).parent)},
        )  # fmt: skip
    return done.stdout, done.code == 0


def local_config(repository: Path, key: str) -> tuple[str, ...]:
    """Return the values that the repository's own configuration gives a key, includes left out."""
    asked = git(repository, "config", "--local", "--null", "--get-all", key, ok=(0, 1))
    return tuple(os.fsdecode(one) for one in asked.stdout.split(b"\0")[:-1])


def add_local_config(repository: Path, key: str, value: str) -> None:
    """Give a key one more value in the repository's own configuration."""
    git(repository, "config", "--local", "--add", key, value)


def unset_local_config(repository: Path, key: str, value: str) -> None:
    """Take a value of a key out of the repository's own configuration."""
    git(repository, "config", "--local", "--fixed-value", "--unset-all", key, value)


def attribute(repository: Path, name: str, path: str) -> str:
    """Return what git takes an attribute of a path for; `unspecified` where nothing says."""
    answer = git(repository, *QUIET, "check-attr", "-z", name, "--", path).text
    return answer.split("\0")[2]


def merge(repository: Path, commit: str, branch: str) -> None:
    """Merge a commit into what is checked out, as the user would: their message, hooks, identity.

    Args:
        branch: what the message calls it.

    Raises:
        CommandFailed: git or a hook said no; MERGE_HEAD tells whether the merge has begun.
    """
    named = f"{commit}\t\tbranch '{branch}' of .\n".encode()
    message = git(repository, "fmt-merge-msg", stdin=named).text
    git(repository, "merge", "--no-edit", "-m", f"{message}\n", commit)


def is_clean(repository: Path) -> bool:
    """Tell whether nothing is staged."""
    return git(repository, "diff", "--cached", "--quiet", "--no-ext-diff", ok=(0, 1)).code == 0
