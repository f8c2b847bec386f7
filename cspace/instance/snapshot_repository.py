"""What a repository in a workspace names: refs, reflogs, heads, indexes. Read as plain files."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cspace.errors import CommandFailed
from cspace.instance.snapshot_git import Scratch
from cspace.instance.snapshot_manifest import Entry, Kind, LeftOut, Repository
from cspace.instance.snapshot_walk import Tree, join

_ID = re.compile(rb"(?<![0-9a-f])(?:[0-9a-f]{64}|[0-9a-f]{40})(?![0-9a-f])")
_WHOLE_ID = re.compile(rb"([0-9a-f]{64}|[0-9a-f]{40})\s*")
_PACKED = re.compile(rb"^([0-9a-f]{40,64}) (\S[^\n]*)$", re.MULTILINE)
_LINKED = re.compile(rb"(?:^|/)\.git/(?:.*/)?worktrees/[^/]+/gitdir$", re.DOTALL)
_MENTIONING = (b"logs/", b"rebase-merge/", b"rebase-apply/", b"sequencer/", b"BISECT_", b"refs/")
_KNOWN_EXTENSIONS = frozenset({"noop", "preciousobjects", "worktreeconfig", "relativeworktrees"})


@dataclass(frozen=True, slots=True)
class Names:
    """What one repository names.

    Attributes:
        refs: name to id, detached heads and those of linked worktrees among them.
        heads: ids of the commits that its worktrees are on.
        mentioned: ids in reflogs, ORIG_HEAD, a rebase's notes …; they may be gone.
        indexes: index files.
    """

    refs: dict[bytes, str]
    heads: tuple[str, ...]
    mentioned: frozenset[str]
    indexes: tuple[bytes, ...]


def list_files(tree: Tree, repository: Repository) -> dict[bytes, Entry]:
    """Return the files of a git directory by their name in it, those of others inside left out."""
    prefix = repository.path + b"/"
    others = tuple(
        one + b"/" for one in (*tree.repositories, *tree.damaged) if one.startswith(prefix)
    )
    return {
        entry.path[len(prefix) :]: entry
        for entry in tree.entries
        if entry.path.startswith(prefix)
        and entry.kind is not Kind.DIRECTORY
        and not entry.path.startswith(others)
    }


def read_names(root: Path, files: dict[bytes, Entry]) -> Names:
    """Collect every object that a git directory names, linked worktrees' parts included."""
    contents = {name: read(join(root, e.path)) for name, e in files.items() if _is_read(name)}
    packed = contents.get(b"packed-refs", b"")
    refs = {name: found.decode() for found, name in _PACKED.findall(packed)}
    heads: dict[bytes, bytes] = {}
    for name, content in contents.items():
        local = _local(name)
        whole = _WHOLE_ID.fullmatch(content)
        if whole and (local == b"HEAD" or local.startswith(b"refs/")):
            refs[name] = whole[1].decode()
        if local == b"HEAD":
            heads[name] = content
    commits = (_follow(content, refs) for content in heads.values())
    mentioned = {found.decode() for content in contents.values() for found in _ID.findall(content)}
    return Names(
        refs=refs,
        heads=tuple(sorted({commit for commit in commits if commit})),
        mentioned=frozenset(mentioned - {"0" * 40, "0" * 64}),
        indexes=tuple(join(root, e.path) for name, e in files.items() if _local(name) == b"index"),
    )


def _follow(head: bytes, refs: dict[bytes, str]) -> str | None:
    if head.startswith(b"ref: "):
        return refs.get(head[5:].strip())
    return head.decode("ascii", "replace").strip()


def _local(name: bytes) -> bytes:
    """Strip `worktrees/<id>/`: what is below it is a small git directory of its own."""
    if name.startswith(b"worktrees/"):
        return b"/".join(name.split(b"/")[2:])
    return name


def _is_read(name: bytes) -> bool:
    local = _local(name)
    plain = b"/" not in local and (local.endswith(b"HEAD") or local.isupper())
    return plain or local == b"packed-refs" or local.startswith(_MENTIONING)


def read(path: bytes) -> bytes:
    """Return the bytes of a file in a git directory; of HEAD as a link, what git takes it for."""
    # HEAD as a link to a ref is git's oldest form of a symbolic ref.
    if os.path.islink(path):  # noqa: PTH114  names are bytes
        return b"ref: " + os.readlink(path)  # noqa: PTH115  names are bytes
    # A FIFO in its place would have a plain open wait for good.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        return file.read()


def why_not_followed(scratch: Scratch, directory: bytes, object_format: str) -> str | None:
    """Say why a repository's objects can only travel as plain files; None when git can follow them.

    Raises:
        CommandFailed: git can not read the configuration.
    """
    if b".promisor" in b" ".join(_listed(directory + b"/objects/pack")):
        return "it is a partial clone"
    asked = scratch.run(
        "config", "--file", os.fsdecode(directory + b"/config"), "--no-includes", "-z",
        "--get-regexp", r"^extensions\.", ok=(0, 1),
    ).text  # fmt: skip
    found = object_format_of(asked)
    if found != object_format:
        return f"its objects are named by {found}, the host's by {object_format}"
    for entry in filter(None, asked.split("\0")):
        name = entry.partition("\n")[0].removeprefix("extensions.")
        if name not in (*_KNOWN_EXTENSIONS, "objectformat"):
            return f"it uses the extension {name}"
    return None


def object_format_of(extensions: str) -> str:
    """Return the hash that a listing of `extensions.*` names; sha1 where it names none."""
    for entry in extensions.split("\0"):
        key, _, value = entry.partition("\n")
        if key == "extensions.objectformat":
            return value
    return "sha1"


def read_shallow(directory: bytes) -> frozenset[str]:
    """Return the commits at which a repository's history was cut."""
    try:
        content = read(directory + b"/shallow")
    except FileNotFoundError:
        return frozenset()
    return frozenset(line.decode("ascii", "replace") for line in content.split())


def find_worktrees(root: Path, tree: Tree) -> Iterator[tuple[bytes, bytes]]:
    """Yield each work tree below root and the git directory that its index and excludes are in."""
    for entry in tree.entries:
        if entry.path != b".git" and not entry.path.endswith(b"/.git"):
            continue
        worktree = entry.path[: -len(b"/.git")] if entry.path != b".git" else b""
        if entry.kind is Kind.DIRECTORY and entry.path in tree.repositories:
            yield worktree, join(root, entry.path)
        elif entry.kind is Kind.FILE:
            content = read(join(root, entry.path))
            directory = os.path.join(  # noqa: PTH118  names are bytes
                join(root, worktree), content.removeprefix(b"gitdir:").strip()
            )
            if content.startswith(b"gitdir:") and os.path.isdir(directory):  # noqa: PTH112
                yield worktree, directory


def list_outside(root: Path, tree: Tree) -> Iterator[LeftOut]:
    """Yield the linked worktrees outside of root: their commits come along, no file does."""
    for entry in tree.entries:
        if entry.kind is Kind.FILE and _LINKED.search(entry.path):
            directory = os.path.dirname(join(root, entry.path))  # noqa: PTH120  names are bytes
            named = read(join(root, entry.path)).strip().removesuffix(b"/.git")
            top = os.path.normpath(os.path.join(directory, named))  # noqa: PTH118
            if not top.startswith(join(root, b"") + b"/"):
                yield LeftOut(top, 0, "a linked worktree outside of the workspace")


def _listed(directory: bytes) -> list[bytes]:
    try:
        return os.listdir(directory)  # noqa: PTH208  names are bytes
    except FileNotFoundError:
        return []


def reason(error: CommandFailed) -> str:
    """Return the last line that git said."""
    return str(error).strip().splitlines()[-1].strip()


def read_exclude(directory: bytes) -> bytes:
    """Return the ignore patterns of a git directory or of what a linked worktree belongs to."""
    common = directory
    with contextlib.suppress(FileNotFoundError):
        common = os.path.join(directory, read(directory + b"/commondir").strip())  # noqa: PTH118
    try:
        return read(common + b"/info/exclude")
    except (FileNotFoundError, NotADirectoryError):
        return b""
