"""One function per git command that cspace runs on the host's repository.

No function here is ever pointed at a workspace: its configuration is an agent's, and git would
run it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cspace import proc
from cspace.errors import UsageError

# Set inside hooks and by wrappers, these would point every command at another repository, or make
# it mean something else.
# GIT_CONFIG_* and the identity stay: they are the user's own way to configure git.
_REDIRECTING = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_DIR",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_LITERAL_PATHSPECS",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
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


def is_configured(repository: Path, key: str) -> bool:
    """Tell whether a key is set to true.

    Raises:
        CommandFailed: its value is neither true nor false.
    """
    words = ("config", "--type=bool", "--get", key)
    return git(repository, *words, ok=(0, 1)).text == "true"


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


@dataclass(frozen=True, slots=True)
class PushSetting:
    """What a remote is pushed when no refspec is given on the command line.

    Attributes:
        mirror: every ref, whatever the refspecs say.
        refspecs: the positive and the negative ones, in their order.
    """

    remote: str
    mirror: bool
    refspecs: tuple[str, ...]


def push_settings(repository: Path) -> tuple[PushSetting, ...]:
    """Return how each remote that says so is pushed, by name."""
    listed = git(
        repository, "config", "-z", "--get-regexp", r"^remote\..*\.(mirror|push)$", ok=(0, 1)
    )
    specs: dict[str, list[str]] = {}
    mirrors = set()
    for entry in filter(None, listed.text.split("\0")):
        key, _, value = entry.partition("\n")
        remote, _, name = key.removeprefix("remote.").rpartition(".")
        specs.setdefault(remote, [])
        if name == "push":
            specs[remote].append(value)
        else:
            mirrors.add(remote)
    return tuple(
        PushSetting(
            remote,
            remote in mirrors and is_configured(repository, f"remote.{remote}.mirror"),
            tuple(found),
        )
        for remote, found in sorted(specs.items())
    )


def object_format(repository: Path) -> str:
    """Return the hash that the repository names its objects by: sha1 or sha256."""
    return git(repository, "rev-parse", "--show-object-format").text


# Replacement refs and grafts are views for people; archives and clones hold what really is there.
AS_STORED = {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_GRAFT_FILE": f"{os.devnull}/none"}


def count_objects(repository: Path) -> int:
    """Return the bytes that the repository's objects take, packed and loose."""
    counted = dict(
        line.split(": ", 1) for line in git(repository, "count-objects", "-v").text.splitlines()
    )
    return 1024 * (int(counted["size"]) + int(counted["size-pack"]))


def tree_bytes(repository: Path) -> int:
    """Return the bytes of the files that HEAD holds; 0 without a commit."""
    listed = git(repository, "ls-tree", "-r", "-l", "-z", "HEAD", ok=(0, 128)).stdout
    sizes = (entry.split(b"\t")[0].split()[3] for entry in listed.split(b"\0") if entry)
    return sum(int(size) for size in sizes if size.isdigit())


def list_tips(repository: Path) -> tuple[str, ...]:
    """Return the commits of all refs and of HEAD."""
    listed = git(repository, "rev-list", "--no-walk=unsorted", "--all", env=AS_STORED)
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


def list_commit_refs(repository: Path, pattern: str) -> dict[str, str]:
    """Return the refs as `list_refs` does, without those that are at another kind of object.

    One whose object is missing is there: who reads it is told so.
    """
    form = "--format=%(objecttype) %(objectname) %(refname)"
    asked = git(repository, "for-each-ref", form, pattern, ok=(0, 128))
    if asked.code != 0:  # an object is missing, and git says nothing of the others
        return list_refs(repository, pattern)
    lines = (line.split(" ", 2) for line in asked.text.splitlines())
    return {name: one for kind, one, name in lines if kind == "commit"}


def list_subjects(repository: Path, pattern: str) -> dict[str, str]:
    """Return the first line of the message of the commit that each ref is at; of commits only."""
    form = "--format=%(objecttype) %(refname) %(contents:subject)"
    said = git(repository, "for-each-ref", form, pattern).text
    lines = (line.split(" ", 2) for line in said.splitlines())
    return {line[1]: line[2] for line in lines if line[0] == "commit" and len(line) == 3}


def create_refs(repository: Path, refs: Mapping[str, str]) -> None:
    """Create refs, all or none; raises CommandFailed when one exists or its object does not."""
    _update_refs(repository, (f"create {name}\0{one}\0" for name, one in refs.items()))


def update_ref(repository: Path, name: str, new: str, old: str | None) -> None:
    """Move a ref from old to new, or create it where old is None; CommandFailed if it is not so."""
    _update_refs(repository, [f"update {name}\0{new}\0{old or '0' * len(new)}\0"])


def delete_refs(repository: Path, refs: Mapping[str, str]) -> None:
    """Delete refs, all or none; raises CommandFailed when one is not what it should be."""
    _update_refs(repository, (f"delete {name}\0{one}\0" for name, one in refs.items()))


def _update_refs(repository: Path, lines: Iterable[str]) -> None:
    git(repository, "update-ref", "--stdin", "-z", stdin="".join(lines).encode())


@dataclass(frozen=True, slots=True)
class Staged:
    """What an index says of a path; a sparse checkout hides some of them from the work tree."""

    mode: str
    id: str
    hidden: bool


def list_index(repository: Path, index: Path | None = None, path: str = "") -> dict[bytes, Staged]:
    """Return what an index stages, by path.

    Args:
        index: a file of an index's form; None for the one in use.
        path: only what is at and below it; empty for all.

    Raises:
        CommandFailed: git can not read it.
    """
    words = ("-c", "core.fsmonitor=false", "ls-files", "-t", "--stage", "--full-name", "-z")
    chosen = {"GIT_INDEX_FILE": str(index)} if index else {}
    only = ("--", path) if path else ()
    said = git(repository, *words, *only, env=AS_STORED | chosen).stdout
    found = {}
    for line in filter(None, said.split(b"\0")):
        known, _, name = line.partition(b"\t")
        tag, mode, one, _ = known.decode("ascii").split()
        found[name] = Staged(mode, one, hidden=tag == "S")
    return found


def notes_in_merge(repository: Path) -> frozenset[str]:
    """Return the notes refs that a person has begun to merge into, in any worktree."""
    words = ("--path-format=absolute", "--git-common-dir")
    common = Path(git(repository, "rev-parse", *words).text)
    marks = (common / "NOTES_MERGE_REF", *common.glob("worktrees/*/NOTES_MERGE_REF"))
    said = (mark.read_text(encoding="utf-8") for mark in marks if mark.is_file())
    return frozenset(text.removeprefix("ref: ").strip() for text in said)


def worktrees_on(repository: Path, branch: str) -> tuple[Path, ...]:
    """Return the work trees that are on a branch, and the marks of those that rebase it."""
    listed = git(repository, "worktree", "list", "--porcelain", "-z").text.split("\0\0")
    entries = [entry.strip("\0").split("\0") for entry in listed]
    on = [entry[0] for entry in entries if f"branch refs/heads/{branch}" in entry]
    words = ("--path-format=absolute", "--git-common-dir")
    common = Path(git(repository, "rev-parse", *words).text)
    marks = (*common.glob("rebase-*/head-name"), *common.glob("worktrees/*/rebase-*/head-name"))
    name = f"refs/heads/{branch}".encode("utf-8", "surrogateescape")
    rebasing = [mark.parent for mark in marks if mark.read_bytes().strip() == name]
    return (*(Path(top.removeprefix("worktree ")) for top in on), *rebasing)
