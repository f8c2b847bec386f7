"""The git commands on the host's repository that carry, list and check its objects.

As in `cspace.git`, none is ever pointed at a workspace.
"""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from cspace import proc
from cspace.errors import CspaceError
from cspace.git import AS_STORED, environment, git

# What an archive brings is checked as strictly as git can, but for defects that real histories
# have and that nobody can use against the host.
_HARMLESS = (
    *("badDateOverflow", "badEmail", "badTimezone", "missingEmail", "missingNameBeforeEmail"),
    *("missingSpaceBeforeDate", "missingSpaceBeforeEmail", "multipleAuthors", "nulInCommit"),
    *("zeroPaddedDate", "zeroPaddedFilemode"),
)
# Before an index's sorted names stands how many begin with each byte, or a smaller one.
_INDEX_VERSION_2 = b"\xfftOc\0\0\0\2"
_NAMES_AT = len(_INDEX_VERSION_2) + 256 * 4


def index_pack(repository: Path, pack: IO[bytes]) -> None:
    """Take the objects of a thin pack, from where the file stands; refuse it as a whole.

    `git fetch` of a bundle would be shorter, but ignores fetch.fsckObjects before git 2.46.

    Raises:
        CommandFailed: an object is broken or dangerous, or one that it builds on is missing.
    """
    severity = ",".join(f"{one}=warn" for one in _HARMLESS)
    words = ("index-pack", "--stdin", "--fix-thin", f"--strict={severity}")
    objects = object_directory(repository)
    # Beside the packs until it is whole: git leaves half a pack behind when the disk is full. What
    # a kill leaves is of a name that `git gc` removes.
    with tempfile.TemporaryDirectory(prefix="tmp_objdir-", dir=objects) as incoming:
        stores = {"GIT_OBJECT_DIRECTORY": incoming} | borrowing(repository)
        with proc.talk(
            "git", "-C", repository, "-c", "core.bigFileThreshold=1m", *words,
            env=environment() | AS_STORED | stores, stdin=pack,
        ) as process:  # fmt: skip
            assert process.stdout is not None  # noqa: S101  a pipe; tells the type checker
            process.stdout.read()
        (objects / "pack").mkdir(exist_ok=True)
        # A pack is there for others as soon as its index is.
        for path in sorted(
            Path(incoming).glob("pack/pack-*"), key=lambda one: one.suffix == ".idx"
        ):
            path.rename(objects / "pack" / path.name)


def create_bundle(
    repository: Path, bundle: Path, pattern: str, without: Collection[str] = ()
) -> None:
    """Write a bundle of the refs that match pattern, without what these commits reach."""
    here = object_sizes(repository, without)
    git(
        repository, "bundle", "create", "--quiet", bundle, f"--glob={pattern}", "--stdin",
        stdin="".join(f"^{one}\n" for one in here).encode(), env=AS_STORED,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag: its ref, its own object, and the object that it names; a plain one is that object."""

    ref: str
    id: str
    target: str


def list_tags(repository: Path) -> tuple[Tag, ...]:
    """Return all tags. That of a tag names that tag, and not what it names in turn."""
    words = ("for-each-ref", "--format=%(objectname) %(object) %(refname)", "refs/tags")
    rows = (line.split(" ", 2) for line in git(repository, *words).text.splitlines())
    return tuple(Tag(ref, one, target or one) for one, target, ref in rows)


def list_objects(repository: Path, tips: Iterable[str]) -> tuple[str, ...]:
    """Return every object that tips reach, in the order that suits a pack.

    Raises:
        CommandFailed: an object on the way is missing.
    """
    asked = "".join(f"{one}\n" for one in tips).encode("ascii")
    words = ("rev-list", "--objects", "--no-object-names", "--stdin")
    return tuple(git(repository, *words, stdin=asked, env=AS_STORED).text.split())


def list_packs(repository: Path) -> tuple[Path, ...]:
    """Return the index files of the repository's own packs."""
    return tuple(sorted((object_directory(repository) / "pack").glob("pack-*.idx")))


def packed_objects(repository: Path, index: Path) -> tuple[str, ...]:
    """Return the objects of a pack.

    Raises:
        FileNotFoundError: it has gone.
    """
    listed = git(repository, "show-index", stdin=index.read_bytes()).text
    return tuple(line.split(" ", 2)[1] for line in listed.splitlines())


def can_hold_only(index: Path, wanted: frozenset[str]) -> bool:
    """Tell from a few bytes whether a pack may hold nothing but wanted objects; False is certain.

    A repository has a pack for each archive, and a git for each of them is what takes long.

    Raises:
        FileNotFoundError: it has gone.
    """
    length = len(next(iter(wanted), "")) // 2
    with index.open("rb") as file:
        head = file.read(_NAMES_AT + length)
    if not head.startswith(_INDEX_VERSION_2):
        return True
    count = int.from_bytes(head[_NAMES_AT - 4 : _NAMES_AT], "big")
    return count <= len(wanted) and head[_NAMES_AT:].hex() in wanted


def is_partial(repository: Path) -> bool:
    """Tell whether objects are missing on purpose, and fetched when they are asked for."""
    return any((object_directory(repository) / "pack").glob("*.promisor"))


def fetch_missing(repository: Path, tips: Iterable[str]) -> None:
    """Have git fetch into a partial clone, in one go, what it lacks of all that tips reach.

    Raises:
        CommandFailed: its remote does not answer, or has it no more.
    """
    # Of all that asks for objects only packing asks for all of them at once.
    words = ("pack-objects", "--revs", "--quiet", "--window=0", "--stdout")
    with proc.talk("git", "-C", repository, *words, env=environment() | AS_STORED) as process:
        assert process.stdin is not None  # noqa: S101  a pipe; tells the type checker
        assert process.stdout is not None  # noqa: S101  a pipe; tells the type checker
        process.stdin.write("".join(f"{one}\n" for one in tips).encode("ascii"))
        process.stdin.close()
        while process.stdout.read(1 << 20):
            pass


def borrowing(repository: Path) -> dict[str, str]:
    """Return the variables that let git elsewhere read this repository's objects too."""
    path = str(object_directory(repository))
    # Quoted, a path may hold the separator.
    for character, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n")):
        path = path.replace(character, escaped)
    return {"GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{path}"'}


def object_sizes(repository: Path, ids: Iterable[str]) -> dict[str, int]:
    """Return the size in bytes of each object that exists."""
    asked = "".join(f"{one}\n" for one in ids).encode("ascii")
    answer = git(
        repository, "cat-file", "--batch-check", "--buffer", stdin=asked, env=AS_STORED
    ).text
    words = (line.split(" ") for line in answer.splitlines())
    return {found[0]: int(found[2]) for found in words if len(found) == 3}


def object_types(repository: Path, ids: Iterable[str]) -> dict[str, str]:
    """Return what each object is that exists: commit, tree, blob or tag."""
    asked = "".join(f"{one}\n" for one in ids).encode("ascii")
    words = ("cat-file", "--batch-check=%(objectname) %(objecttype)", "--buffer")
    answer = git(repository, *words, stdin=asked, env=AS_STORED).text
    pairs = (line.split(" ") for line in answer.splitlines())
    return {one: kind for one, kind in pairs if kind != "missing"}


def size_on_disk(repository: Path, tips: Iterable[str], without: Iterable[str]) -> int:
    """Return the bytes that the objects take which tips reach, and none of the others."""
    asked = "".join([*(f"{one}\n" for one in tips), *(f"^{one}\n" for one in without)])
    words = ("--objects", "--disk-usage", "--stdin")
    return int(git(repository, "rev-list", *words, stdin=asked.encode(), env=AS_STORED).text)


def tree_objects(repository: Path, commits: Iterable[str]) -> set[str]:
    """Return the trees and blobs below the trees of commits, as far as they are there.

    Unlike `ls-tree` it looks at each once, and so ends where a tree holds itself a billion times.
    """
    asked = "".join(f"{one}^{{tree}}\n" for one in commits).encode("ascii")
    words = ("--objects", "--no-object-names", "--missing=allow-any", "--stdin")
    return set(git(repository, "rev-list", *words, stdin=asked, env=AS_STORED).text.split())


def read_file(repository: Path, commit: str, path: str, *, limit: int) -> bytes:
    """Return the bytes of a file in a commit.

    Raises:
        CspaceError: it has more than limit.
    """
    size = max(object_sizes(repository, [f"{commit}:{path}"]).values(), default=0)
    if size > limit:
        raise CspaceError(f"{path} in {commit} has {size} bytes, more than {limit}")
    return read_blob(repository, f"{commit}:{path}")


def check_connected(repository: Path, prefix: str, family: str) -> None:
    """Walk from the refs below prefix to what refs outside of family reach.

    Args:
        family: a prefix of prefix: what a ref below it reaches may be missing as well.

    Raises:
        CommandFailed: an object on the way is missing.
    """
    git(
        repository, "rev-list", "--objects", "--quiet", f"--glob={prefix}/*",
        "--not", f"--exclude={family}/*", "--all", env=AS_STORED,
    )  # fmt: skip


def check_reached(repository: Path, tips: Iterable[str]) -> None:
    """Walk from tips to what any ref reaches.

    Raises:
        CommandFailed: an object on the way is missing.
    """
    asked = "".join(f"{one}\n" for one in tips).encode("ascii")
    words = ("rev-list", "--objects", "--quiet", "--stdin", "--not", "--all")
    git(repository, *words, stdin=asked, env=AS_STORED)


def count_commits(repository: Path, tips: Iterable[str], family: str) -> int:
    """Count the commits that tips reach, and no ref outside of family."""
    words = ("--count", "--stdin", "--not", f"--exclude={family}/*", "--all")
    asked = "".join(f"{one}\n" for one in tips).encode("ascii")
    return int(git(repository, "rev-list", *words, stdin=asked, env=AS_STORED).text)


def object_type(repository: Path, one: str) -> str:
    """Return what an object is: commit, tree, blob or tag."""
    return git(repository, "cat-file", "-t", one, env=AS_STORED).text


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One path of a commit's tree; only a blob has a size."""

    path: bytes
    mode: str
    kind: str
    id: str
    size: int


def iter_tree(
    repository: Path, commit: str, *, trees: bool = False, env: Mapping[str, str] | None = None
) -> Iterator[TreeEntry]:
    """Yield every path of a commit's tree, at all depths: who stops early ends git early.

    Args:
        trees: yield directories too, each before what is in it.
        env: variables on top of our own.
    """
    words = ("ls-tree", "-r", "-l", "-z", "--full-tree", *(["-t"] if trees else []), commit)
    with proc.talk(
        "git", "-C", str(repository), *words, env=environment() | AS_STORED | dict(env or {})
    ) as process:
        assert process.stdout is not None  # noqa: S101  a pipe; tells the type checker
        for line in _split(process.stdout):
            known, _, path = line.partition(b"\t")
            mode, kind, one, size = known.decode("ascii").split()
            yield TreeEntry(path, mode, kind, one, int(size) if size.isdigit() else 0)


def _split(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield what ends with a null byte each."""
    left = b""
    while chunk := stream.read(1 << 16):
        *whole, left = (left + chunk).split(b"\0")
        yield from whole


def read_blob(repository: Path, one: str) -> bytes:
    """Return the bytes of the blob that an id or `<commit>:<path>` names."""
    return git(repository, "cat-file", "blob", one, env=AS_STORED).stdout


@functools.cache
def object_directory(repository: Path) -> Path:
    """Return where the repository's objects lie."""
    words = ("--path-format=absolute", "--git-path", "objects")
    return Path(git(repository, "rev-parse", *words).text)
