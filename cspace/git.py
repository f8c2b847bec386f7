"""One function per git command that cspace runs on the host's repository.

No function here is ever pointed at a workspace: its configuration is an agent's, and git would
run it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from cspace import proc
from cspace.errors import UsageError

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
        repository,
        *("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"),
        ok=(0, 1, 128),
    )
    return asked.text or None if asked.code == 0 else None


@dataclass(frozen=True, slots=True)
class Worktree:
    """A work tree's top, its own git directory, and the one that it shares with its siblings."""

    top: Path
    git_directory: Path
    common_directory: Path


def find_worktree(start: Path) -> Worktree | None:
    """Return the work tree around start, None outside of any.

    Raises:
        CommandFailed: there is one that git refuses to read, for example another user's.
    """
    words = ("--path-format=absolute", "--show-toplevel", "--git-dir", "--git-common-dir")
    asked = git(start, "rev-parse", *words, ok=(0, 128))
    if asked.code == 0:
        top, own, *common = map(Path, asked.text.split("\n"))
        if len(common) != 1:
            raise UsageError(f"{start}: a path with a line break in it is not supported")
        return Worktree(top, own, common[0])
    said = os.fsdecode(asked.stderr)
    if "not a git repository" in said or "must be run in a work tree" in said:
        return None
    raise proc.failure(asked.argv, asked.code, said)


def main_worktree(worktree: Worktree) -> Path | None:
    """Return the main worktree that a linked one belongs to, None where that is a bare repository.

    Any other worktree is its own main one.
    """
    if worktree.git_directory == worktree.common_directory:
        return worktree.top
    listed = git(worktree.top, "worktree", "list", "--porcelain", "-z").text
    first = Path(listed.split("\0")[0].removeprefix("worktree "))
    # A submodule's is listed by its git directory, from where git finds the way back.
    main = find_worktree(first)
    return main.top if main else None


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
    # Git answers with the branch that is meant: `@{-1}` is one by another name.
    asked = git(repository, "check-ref-format", "--branch", name, ok=(0, 128))
    return asked.code == 0 and asked.text == name


def object_format(repository: Path) -> str:
    """Return the hash that the repository names its objects by: sha1 or sha256."""
    return git(repository, "rev-parse", "--show-object-format").text


# What an archive brings is checked as strictly as git can, but for defects that real histories
# have and that nobody can use against the host.
_HARMLESS = (
    *("badDateOverflow", "badEmail", "badTimezone", "missingEmail", "missingNameBeforeEmail"),
    *("missingSpaceBeforeDate", "missingSpaceBeforeEmail", "multipleAuthors", "nulInCommit"),
    *("zeroPaddedDate", "zeroPaddedFilemode"),
)
# Replacement refs are views for people; an archive holds what really is there.
_AS_STORED = {"GIT_NO_REPLACE_OBJECTS": "1"}


def index_pack(repository: Path, pack: IO[bytes]) -> None:
    """Take the objects of a thin pack, from where the file stands; refuse it as a whole.

    `git fetch` of a bundle would be shorter, but ignores fetch.fsckObjects before git 2.46.

    Raises:
        CommandFailed: an object is broken or dangerous, or one that it builds on is missing.
    """
    severity = ",".join(f"{one}=warn" for one in _HARMLESS)
    words = ("index-pack", "--stdin", "--fix-thin", f"--strict={severity}")
    with proc.talk(
        "git", "-C", repository, "-c", "core.bigFileThreshold=1m", *words,
        env=environment() | _AS_STORED, stdin=pack,
    ) as process:  # fmt: skip
        assert process.stdout is not None  # noqa: S101  a pipe; tells the type checker
        process.stdout.read()


def create_bundle(
    repository: Path, bundle: Path, pattern: str, without: Collection[str] = ()
) -> None:
    """Write a bundle of the refs that match pattern, without what these commits reach."""
    here = object_sizes(repository, without)
    git(
        repository, "bundle", "create", "--quiet", bundle, f"--glob={pattern}", "--stdin",
        stdin="".join(f"^{one}\n" for one in here).encode(), env=_AS_STORED,
    )  # fmt: skip


def list_tips(repository: Path) -> tuple[str, ...]:
    """Return the commits of all refs and of HEAD."""
    listed = git(repository, "rev-list", "--no-walk=unsorted", "--all", env=_AS_STORED)
    return tuple(listed.text.split())


def list_cuts(repository: Path) -> tuple[str, ...]:
    """Return the commits at which a shallow repository's history is cut; none for a whole one."""
    where = git(repository, "rev-parse", "--path-format=absolute", "--git-path", "shallow")
    path = Path(where.text)
    return tuple(path.read_text(encoding="ascii").split()) if path.is_file() else ()


def list_refs(repository: Path, pattern: str) -> dict[str, str]:
    """Return the refs that match pattern, or are below it, with their objects."""
    listed = git(repository, "for-each-ref", "--format=%(objectname) %(refname)", pattern)
    pairs = (line.partition(" ") for line in listed.text.splitlines())
    return {name: one for one, _, name in pairs}


def create_refs(repository: Path, refs: Mapping[str, str]) -> None:
    """Create refs, all or none; raises CommandFailed when one exists or its object does not."""
    _update_refs(repository, (f"create {name}\0{one}\0" for name, one in refs.items()))


def delete_refs(repository: Path, refs: Iterable[str]) -> None:
    """Delete refs, all or none; one that is gone already is no error."""
    _update_refs(repository, (f"delete {name}\0\0" for name in refs))


def _update_refs(repository: Path, lines: Iterable[str]) -> None:
    git(repository, "update-ref", "--stdin", "-z", stdin="".join(lines).encode())


def object_sizes(repository: Path, ids: Iterable[str]) -> dict[str, int]:
    """Return the size in bytes of each object that exists."""
    asked = "".join(f"{one}\n" for one in ids).encode("ascii")
    answer = git(
        repository, "cat-file", "--batch-check", "--buffer", stdin=asked, env=_AS_STORED
    ).text
    words = (line.split(" ") for line in answer.splitlines())
    return {found[0]: int(found[2]) for found in words if len(found) == 3}


def size_on_disk(repository: Path, tips: Iterable[str], without: Iterable[str]) -> int:
    """Return the bytes that the objects take which tips reach, and none of the others."""
    asked = "".join([*(f"{one}\n" for one in tips), *(f"^{one}\n" for one in without)])
    words = ("--objects", "--disk-usage", "--stdin")
    return int(git(repository, "rev-list", *words, stdin=asked.encode(), env=_AS_STORED).text)


def tree_blobs(repository: Path, commit: str) -> set[str]:
    """Return the blobs of a commit's tree."""
    listed = git(repository, "ls-tree", "-r", "-z", commit, env=_AS_STORED).text.split("\0")
    words = (line.partition("\t")[0].split(" ") for line in listed if line)
    return {found[2] for found in words if found[1] == "blob"}


def read_file(repository: Path, commit: str, path: str) -> bytes:
    """Return the bytes of a file in a commit."""
    return git(repository, "cat-file", "blob", f"{commit}:{path}", env=_AS_STORED).stdout


def check_connected(repository: Path, prefix: str) -> None:
    """Walk from the refs below prefix to what other refs reach.

    Raises:
        CommandFailed: an object on the way is missing.
    """
    git(
        repository, "rev-list", "--objects", "--quiet", f"--glob={prefix}/*",
        "--not", f"--exclude={prefix}/*", "--all", env=_AS_STORED,
    )  # fmt: skip
