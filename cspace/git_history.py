"""What a repository's history says of its commits: which of them it still reaches, and their facts.

As in `cspace.git`, nothing here is ever pointed at a workspace.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cspace.git import AS_STORED, git

# Not the reflog, not the stash, and nothing of ours below refs/cspace.
_REFS = ("--branches", "--tags", "--remotes")
_FORMAT = "%H%x00%T%x00%P%x00%ae%x00%at%x00%ct%x00%s%x00%b"
_FIELDS = 8
# For more of them git is faster without.
_MOST_PATHS = 2000


@dataclass(frozen=True, slots=True)
class CommitFacts:
    """What a commit says of itself.

    Attributes:
        author: the address.
        authored, committed: in seconds since 1970.
        subject, body: its message: the first paragraph, in one line, and the others.
    """

    id: str
    tree: str
    parents: tuple[str, ...]
    author: bytes
    authored: int
    committed: int
    subject: bytes
    body: bytes


def list_heads(repository: Path) -> tuple[str, ...]:
    """Return the commits that the work trees have checked out."""
    listed = git(repository, "worktree", "list", "--porcelain", "-z").text
    named = (line.removeprefix("HEAD ") for line in listed.split("\0") if line.startswith("HEAD "))
    return tuple(one for one in dict.fromkeys(named) if one.strip("0"))


def list_unreachable(repository: Path, commits: Iterable[str]) -> tuple[str, ...]:
    """Return the commits that these reach, and no branch, tag, remote branch or work tree does.

    What is not here, or is no commit, is left out. Children come before their parents.
    """
    asked = "".join(f"{one}\n" for one in commits)
    asked += "".join(f"^{one}\n" for one in list_heads(repository))
    words = ("rev-list", "--ignore-missing", "--topo-order", "--stdin", "--not", *_REFS)
    return tuple(git(repository, *words, stdin=asked.encode("ascii"), env=AS_STORED).text.split())


def list_forgotten(repository: Path) -> tuple[str, ...]:
    """Return the commits that only a reflog still reaches."""
    heads = "".join(f"^{one}\n" for one in list_heads(repository))
    words = ("rev-list", "--ignore-missing", "--topo-order", "--reflog", "--stdin", "--not", *_REFS)
    return tuple(git(repository, *words, stdin=heads.encode("ascii"), env=AS_STORED).text.split())


def list_ancestors(repository: Path, commit: str) -> tuple[str, ...]:
    """Return a commit that is here, and all that it goes back to."""
    return tuple(git(repository, "rev-list", commit, env=AS_STORED).text.split())


def read_commits(repository: Path, commits: Iterable[str]) -> dict[str, CommitFacts]:
    """Return what these commits say of themselves; all of them must be here."""
    asked = "".join(f"{one}\n" for one in commits)
    if not asked:
        return {}
    return {one.id: one for one in _log(repository, ("--no-walk=unsorted", "--stdin"), asked)}


def iter_reachable(
    repository: Path, *, since: int, paths: Collection[bytes] = ()
) -> Iterator[CommitFacts]:
    """Yield what is reachable and was committed since then, children before their parents.

    Args:
        since: in seconds since 1970.
        paths: only what touches one of them; empty for all.
    """
    heads = "".join(f"{one}\n" for one in list_heads(repository))
    words = ("--topo-order", f"--since-as-filter={since}", "--full-history", *_REFS, "--stdin")
    if paths and len(paths) <= _MOST_PATHS and not any(b"\n" in path for path in paths):
        names = (path.decode("utf-8", "surrogateescape") for path in sorted(paths))
        heads += "--\n" + "".join(f":(top,literal){name}\n" for name in names)
    yield from _log(repository, words, heads)


def _log(repository: Path, words: Iterable[str], asked: str) -> Iterator[CommitFacts]:
    quiet = ("-c", "log.showSignature=false", "log", "-z", "--no-color", "--no-notes")
    more = ("--no-decorate", "--no-patch", "--encoding=UTF-8", f"--format=tformat:{_FORMAT}")
    stdin = asked.encode("utf-8", "surrogateescape")
    said = git(repository, *quiet, *more, *words, stdin=stdin, env=AS_STORED).stdout
    fields = said.split(b"\0")
    for start in range(0, len(fields) - _FIELDS + 1, _FIELDS):
        one, tree, parents, author, authored, committed, *message = fields[start : start + _FIELDS]
        yield CommitFacts(
            one.decode("ascii"), tree.decode("ascii"), tuple(parents.decode("ascii").split()),
            author, int(authored or 0), int(committed or 0), *message,
        )  # fmt: skip


def list_parents(repository: Path, commits: Iterable[str]) -> frozenset[str]:
    """Return the parents that these commits name themselves, behind a shallow clone's cut too."""
    asked = "".join(f"{one}\n" for one in commits).encode("ascii")
    said = git(repository, "cat-file", "--batch", "--buffer", stdin=asked, env=AS_STORED).stdout
    found: set[str] = set()
    while said:
        head, _, rest = said.partition(b"\n")
        words = head.split()
        size = int(words[2]) if len(words) == 3 else -1  # a missing one has no bytes at all
        raw, said = rest[: max(size, 0)], rest[size + 1 :]
        lines = raw.partition(b"\n\n")[0].split(b"\n")
        found |= {line[7:].decode("ascii") for line in lines if line.startswith(b"parent ")}
    return frozenset(found)
