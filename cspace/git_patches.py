"""What changed between two trees, so that the same change is known again on another commit.

As in `cspace.git`, nothing here is ever pointed at a workspace.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from cspace import proc
from cspace.git import AS_STORED, environment, git

# Bytes of one patch; a larger one is no change that a person made by hand.
_LARGEST = 1 << 20
_PAIR = re.compile(rb"([0-9a-f]{40,64}) ([0-9a-f]{40,64})\n")
_QUIET = ("-c", "core.quotePath=true", "-c", "core.attributesFile=/dev/null")
_OPTIONS = (
    *("diff-tree", "--stdin", "-r", "-p", "-U3", "--no-ext-diff", "--no-textconv", "--no-renames"),
    *("--no-color", "--src-prefix=a/", "--dst-prefix=b/", "--diff-algorithm=myers"),
)
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Patch:
    """A change.

    Attributes:
        id: git's stable patch id; None where there is none to trust: nothing changed, a binary
            file did, or too much.
        lines: each added and removed line with its path, and how often; empty without an id.
    """

    id: str | None
    lines: Counter[bytes]

    def holds(self, other: Patch) -> bool:
        """Tell whether all of another change is a part of this one."""
        return bool(other.lines) and other.lines <= self.lines


NOTHING = Patch(None, Counter())


def empty_tree(algorithm: str) -> str:
    """Return what git calls the tree without files."""
    return hashlib.new(algorithm, b"tree 0\0").hexdigest()


def read_patches(repository: Path, pairs: Iterable[Pair]) -> dict[Pair, Patch]:
    """Return the changes between pairs of trees, which must be here."""
    asked = "".join(f"{old} {new}\n" for old, new in dict.fromkeys(pairs)).encode("ascii")
    found: dict[Pair, Counter[bytes]] = {}
    with tempfile.TemporaryFile() as trees, tempfile.TemporaryFile() as patches:
        trees.write(asked)
        trees.seek(0)
        words = ("git", "-C", repository, *_QUIET, *_OPTIONS)
        with proc.talk(*words, env=environment() | AS_STORED, stdin=trees) as process:
            assert process.stdout is not None  # noqa: S101  a pipe; tells the type checker
            for pair, lines in _split(process.stdout):
                if not lines or any(line.startswith(b"Binary files ") for line in lines):
                    continue
                # `patch-id` names each patch by the commit that it takes this line for.
                patches.write(b"commit %040x\n" % len(found))
                patches.writelines(lines)
                found[pair] = _changed(lines)
        patches.seek(0)
        ids = _patch_ids(repository, patches)
    numbered = enumerate(found.items())
    return {pair: Patch(ids.get(number), lines) for number, (pair, lines) in numbered}


def _split(stream: IO[bytes]) -> Iterator[tuple[Pair, list[bytes]]]:
    """Yield each pair with the lines of its patch, none where it is too large."""
    pair: Pair | None = None
    lines: list[bytes] = []
    size = 0
    while line := stream.readline(_LARGEST):
        # Every line of a patch begins with another character than a name does, or a word.
        if head := _PAIR.fullmatch(line):
            if pair:
                yield pair, lines if size <= _LARGEST else []
            pair, lines, size = (head[1].decode(), head[2].decode()), [], 0
        else:
            size += len(line)
            if size <= _LARGEST:
                lines.append(line)
    if pair:
        yield pair, lines if size <= _LARGEST else []


def _changed(lines: Iterable[bytes]) -> Counter[bytes]:
    found: Counter[bytes] = Counter()
    path = b""
    in_hunk = False
    for line in lines:
        if line.startswith(b"diff --git "):
            path, in_hunk = line, False
        elif line.startswith(b"@@ "):
            in_hunk = True
        elif in_hunk and line[:1] in b"+-":
            found[path + line] += 1
    return found


def _patch_ids(repository: Path, patches: IO[bytes]) -> dict[int, str]:
    words = ("git", "-C", repository, "patch-id", "--stable")
    with proc.talk(*words, env=environment() | AS_STORED, stdin=patches) as process:
        assert process.stdout is not None  # noqa: S101  a pipe; tells the type checker
        pairs = (line.split() for line in process.stdout)
        return {int(number, 16): one.decode("ascii") for one, number in pairs}


def list_paths(repository: Path, pairs: Iterable[Pair]) -> frozenset[bytes]:
    """Return the paths that differ between pairs of trees."""
    asked = "".join(f"{old} {new}\n" for old, new in dict.fromkeys(pairs)).encode("ascii")
    words = ("diff-tree", "--stdin", "-r", "-z", "--name-only", "--no-renames")
    said = git(repository, *words, stdin=asked, env=AS_STORED).stdout
    # Each pair stands in a line of its own before its first path.
    return frozenset(filter(None, (_PAIR.sub(b"", path) for path in said.split(b"\0"))))
