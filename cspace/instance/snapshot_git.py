"""A scratch repository of our own, which borrows the objects of the repositories it is shown.

Git reads a workspace only through it: a workspace's configuration, hooks, filters and attributes
are never in force.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cspace import proc
from cspace.errors import CspaceError

# Level 1: teardown waits for the packing, and `git gc` packs better later. Large files are neither
# held in memory nor compared with others.
_CONFIGURATION = """\
[core]
	bare = true
	repositoryformatversion = {version}
	logAllRefUpdates = false
	compression = 1
	bigFileThreshold = 1m
[pack]
	compression = 1
	window = 5
[gc]
	auto = 0
{extensions}"""
MOST_PATHS = 2_000_000
# A million files take a tenth of it. A link to a FIFO, of which there are many kinds, takes all.
LISTING_SECONDS = 300.0
# A packed ref can have a name of any length; as a file, with `.lock` behind it, it can not.
MOST_REF_BYTES = 1000
MOST_PART_BYTES = 250


@dataclass(frozen=True, slots=True)
class Scratch:
    """A bare repository that is thrown away."""

    directory: Path

    def run(
        self,
        *words: str | Path,
        stdin: bytes = b"",
        ok: tuple[int, ...] = (0,),
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> proc.Result:
        """Run git here; raises CommandFailed."""
        return proc.run(
            "git", *words, cwd=self.directory, stdin=stdin, ok=ok, timeout=timeout,
            env=self.environment() | dict(env or {}),
        )  # fmt: skip

    def environment(self) -> dict[str, str]:
        """Nothing of the caller's but PATH, and no configuration but ours."""
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.directory),
            "LC_ALL": "C.UTF-8",
            "GIT_DIR": str(self.directory),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
        }


def create_scratch(
    directory: Path,
    stores: Iterable[bytes] = (),
    *,
    shallow: Collection[str] = (),
    object_format: str = "sha1",
) -> Scratch:
    """Make an empty repository at directory, over whatever is there, on top of object stores."""
    if directory.exists():
        shutil.rmtree(directory)
    for part in ("objects/info", "objects/pack", "refs", "info"):
        (directory / part).mkdir(parents=True)
    (directory / "HEAD").write_text("ref: refs/heads/none\n", encoding="utf-8")
    (directory / "objects/info/alternates").write_bytes(b"".join(_quote(s) for s in stores))
    if shallow:
        (directory / "shallow").write_text("".join(f"{i}\n" for i in shallow), encoding="utf-8")
    plain = object_format == "sha1"
    extensions = "" if plain else f"[extensions]\n\tobjectFormat = {object_format}\n"
    (directory / "config").write_text(
        _CONFIGURATION.format(version=0 if plain else 1, extensions=extensions), encoding="utf-8"
    )
    return Scratch(directory)


def _quote(store: bytes) -> bytes:
    # The form that lets a path hold a newline, a colon or a leading '#'.
    escaped = store.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"' + escaped + b'"\n'


def object_types(scratch: Scratch, ids: Iterable[str]) -> dict[str, tuple[str, int]]:
    """Return type and size of each object that exists."""
    asked = "".join(f"{one}\n" for one in ids).encode("ascii")
    answer = scratch.run("cat-file", "--batch-check", "--buffer", stdin=asked).stdout.decode()
    found = (line.split(" ") for line in answer.splitlines())
    return {words[0]: (words[1], int(words[2])) for words in found if len(words) == 3}


def tree_objects(scratch: Scratch, commits: Iterable[str]) -> set[str]:
    """Return the trees and blobs below the trees of commits, as far as they are there.

    Unlike `ls-tree` it looks at each once, and so ends where a tree holds itself a billion times.

    Raises:
        CommandFailed: one of them is no commit, or gone.
    """
    asked = "".join(f"{one}^{{tree}}\n" for one in commits).encode("ascii")
    words = ("rev-list", "--objects", "--no-object-names", "--missing=allow-any", "--stdin")
    return set(scratch.run(*words, stdin=asked).text.split())


def check_paths(scratch: Scratch, commit: str) -> None:
    """Refuse a tree that names more paths than anybody has: git would walk it without an end.

    Raises:
        CspaceError: it does.
    """
    words = ("ls-tree", "-r", "-t", "-z", "--name-only", commit)
    found = 0
    with proc.talk("git", *words, env=scratch.environment()) as process:
        assert process.stdout is not None  # noqa: S101  a pipe; tells the type checker
        while chunk := process.stdout.read(1 << 16):
            found += chunk.count(b"\0")
            if found > MOST_PATHS:
                raise CspaceError(f"the tree of {commit} names more than {MOST_PATHS} paths")


def is_sparse(index: bytes) -> bool:
    """Tell whether the content of an index may hold whole directories as one entry each.

    A file that is called `sdir` can look like it.
    """
    return b"sdir\0\0\0\0" in index


def _folded(scratch: Scratch, index: bytes) -> tuple[str, ...]:
    """Return options with which git leaves the directories of a sparse index folded.

    One can be a tree that holds itself a billion times.
    """
    path = Path(os.fsdecode(index))
    if not path.is_file() or not is_sparse(path.read_bytes()):
        return ()
    # Git folds only where patterns say so: here the top alone is not.
    (scratch.directory / "info/sparse-checkout").write_text("/*\n!/*/\n", encoding="utf-8")
    settings = ("core.sparseCheckout=true", "core.sparseCheckoutCone=true", "index.sparse=true")
    return tuple(word for setting in settings for word in ("-c", setting))


def index_objects(scratch: Scratch, index: bytes) -> set[str]:
    """Return the objects that an index names: staged, unmerged, undone by a resolved conflict.

    Raises:
        CommandFailed: git can not read it.
    """
    for shared in Path(os.fsdecode(index)).parent.glob("sharedindex.*"):
        shutil.copyfile(shared, scratch.directory / shared.name)
    folded = _folded(scratch, index)
    listed = scratch.run(
        *folded, "ls-files", "-z", "--stage", "--resolve-undo", *(["--sparse"] if folded else []),
        env={"GIT_INDEX_FILE": os.fsdecode(index)},
    ).stdout  # fmt: skip
    words = (line.split(b"\t", 1)[0].split(b" ") for line in listed.split(b"\0") if line)
    return {one[1].decode("ascii") for one in words if one[0] != b"160000"}


def ignored_files(scratch: Scratch, worktree: bytes, index: bytes, exclude: bytes) -> list[bytes]:
    """List the untracked files that .gitignore files and info/exclude name, relative to worktree.

    What is inside a nested repository is not listed.
    """
    (scratch.directory / "info/exclude").write_bytes(exclude)
    listed = scratch.run(
        "-C", os.fsdecode(worktree), "-c", "core.bare=false", *_folded(scratch, index),
        "ls-files", "-z", "--others", "--ignored", "--exclude-standard",
        env={"GIT_WORK_TREE": os.fsdecode(worktree), "GIT_INDEX_FILE": os.fsdecode(index)},
        timeout=LISTING_SECONDS,
    ).stdout  # fmt: skip
    return [name for name in listed.split(b"\0") if name and not name.endswith(b"/")]


def ref_fits(name: bytes) -> bool:
    """Tell whether git accepts name, a path of several components, as a ref.

    One that is as long as file systems allow is taken for none: an archive's is longer.
    """
    if len(name) > MOST_REF_BYTES or max(map(len, name.split(b"/"))) > MOST_PART_BYTES:
        return False
    try:
        name.decode("utf-8")
    except UnicodeDecodeError:
        return False
    bad = re.search(rb"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|^\.|\.$|/$|\.lock(/|$)", name)
    return bad is None
