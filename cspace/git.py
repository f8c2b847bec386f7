"""One function per git command that cspace runs on the host's repository.

No function here is ever pointed at a workspace: its configuration is an agent's, and git would
run it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from cspace import proc
from cspace.errors import CspaceError, UsageError

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
        PushSetting(remote, remote in mirrors and _is_mirror(repository, remote), tuple(found))
        for remote, found in sorted(specs.items())
    )


def _is_mirror(repository: Path, remote: str) -> bool:
    words = ("config", "--type=bool", "--get", f"remote.{remote}.mirror")
    return git(repository, *words).text == "true"


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
# Replacement refs and grafts are views for people; archives and clones hold what really is there.
_AS_STORED = {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_GRAFT_FILE": f"{os.devnull}/none"}


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
        stores = {
            "GIT_OBJECT_DIRECTORY": incoming,
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": _quoted(objects),
        }
        with proc.talk(
            "git", "-C", repository, "-c", "core.bigFileThreshold=1m", *words,
            env=environment() | _AS_STORED | stores, stdin=pack,
        ) as process:  # fmt: skip
            assert process.stdout is not None  # noqa: S101  a pipe; tells the type checker
            process.stdout.read()
        (objects / "pack").mkdir(exist_ok=True)
        # A pack is there for others as soon as its index is.
        for path in sorted(
            Path(incoming).glob("pack/pack-*"), key=lambda one: one.suffix == ".idx"
        ):
            path.rename(objects / "pack" / path.name)


def _quoted(directory: Path) -> str:
    """Write a directory as git reads it in a list that colons divide."""
    return '"' + str(directory).replace("\\", "\\\\").replace('"', '\\"') + '"'


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


def update_ref(repository: Path, name: str, new: str, old: str | None) -> None:
    """Move a ref from old to new, or create it where old is None; CommandFailed if it is not so."""
    _update_refs(repository, [f"update {name}\0{new}\0{old or '0' * len(new)}\0"])


def delete_refs(repository: Path, refs: Mapping[str, str]) -> None:
    """Delete refs, all or none; raises CommandFailed when one is not what it should be."""
    _update_refs(repository, (f"delete {name}\0{one}\0" for name, one in refs.items()))


def _update_refs(repository: Path, lines: Iterable[str]) -> None:
    git(repository, "update-ref", "--stdin", "-z", stdin="".join(lines).encode())


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
    return tuple(git(repository, *words, stdin=asked, env=_AS_STORED).text.split())


def list_packs(repository: Path) -> tuple[Path, ...]:
    """Return the index files of the repository's own packs."""
    return tuple(sorted((_object_directory(repository) / "pack").glob("pack-*.idx")))


def packed_objects(repository: Path, index: Path) -> tuple[str, ...]:
    """Return the objects of a pack.

    Raises:
        FileNotFoundError: it has gone.
    """
    listed = git(repository, "show-index", stdin=index.read_bytes()).text
    return tuple(line.split(" ", 2)[1] for line in listed.splitlines())


def is_partial(repository: Path) -> bool:
    """Tell whether objects are missing on purpose, and fetched when they are asked for."""
    return any((_object_directory(repository) / "pack").glob("*.promisor"))


def fetch_missing(repository: Path, tips: Iterable[str]) -> None:
    """Have git fetch into a partial clone, in one go, what it lacks of all that tips reach.

    Raises:
        CommandFailed: its remote does not answer, or has it no more.
    """
    # Of all that asks for objects only packing asks for all of them at once.
    words = ("pack-objects", "--revs", "--quiet", "--window=0", "--stdout")
    with proc.talk("git", "-C", repository, *words, env=environment() | _AS_STORED) as process:
        assert process.stdin is not None  # noqa: S101  a pipe; tells the type checker
        assert process.stdout is not None  # noqa: S101  a pipe; tells the type checker
        process.stdin.write("".join(f"{one}\n" for one in tips).encode("ascii"))
        process.stdin.close()
        while process.stdout.read(1 << 20):
            pass


def borrowing(repository: Path) -> dict[str, str]:
    """Return the variables that let git elsewhere read this repository's objects too."""
    path = str(_object_directory(repository))
    # Quoted, a path may hold the separator.
    for character, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n")):
        path = path.replace(character, escaped)
    return {"GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{path}"'}


def _object_directory(repository: Path) -> Path:
    words = ("rev-parse", "--path-format=absolute", "--git-path", "objects")
    return Path(git(repository, *words).text)


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


def read_file(repository: Path, commit: str, path: str, *, limit: int) -> bytes:
    """Return the bytes of a file in a commit.

    Raises:
        CspaceError: it has more than limit.
    """
    size = max(object_sizes(repository, [f"{commit}:{path}"]).values(), default=0)
    if size > limit:
        raise CspaceError(f"{path} in {commit} has {size} bytes, more than {limit}")
    return git(repository, "cat-file", "blob", f"{commit}:{path}", env=_AS_STORED).stdout


def check_connected(repository: Path, prefix: str, family: str) -> None:
    """Walk from the refs below prefix to what refs outside of family reach.

    Args:
        family: a prefix of prefix: what a ref below it reaches may be missing as well.

    Raises:
        CommandFailed: an object on the way is missing.
    """
    git(
        repository, "rev-list", "--objects", "--quiet", f"--glob={prefix}/*",
        "--not", f"--exclude={family}/*", "--all", env=_AS_STORED,
    )  # fmt: skip


def count_commits(repository: Path, tips: Iterable[str], family: str) -> int:
    """Count the commits that tips reach, and no ref outside of family."""
    words = ("--count", "--stdin", "--not", f"--exclude={family}/*", "--all")
    asked = "".join(f"{one}\n" for one in tips).encode("ascii")
    return int(git(repository, "rev-list", *words, stdin=asked, env=_AS_STORED).text)


def object_type(repository: Path, one: str) -> str:
    """Return what an object is: commit, tree, blob or tag."""
    return git(repository, "cat-file", "-t", one, env=_AS_STORED).text


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One path of a commit's tree; only a blob has a size."""

    path: bytes
    mode: str
    kind: str
    id: str
    size: int


def iter_tree(repository: Path, commit: str, *, trees: bool = False) -> Iterator[TreeEntry]:
    """Yield every path of a commit's tree, at all depths: who stops early ends git early.

    Args:
        trees: yield directories too, each before what is in it.
    """
    words = ("ls-tree", "-r", "-l", "-z", "--full-tree", *(["-t"] if trees else []), commit)
    with proc.talk("git", "-C", str(repository), *words, env=environment() | _AS_STORED) as process:
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


@dataclass(frozen=True, slots=True)
class Staged:
    """What an index says of a path; a sparse checkout hides some of them from the work tree."""

    mode: str
    id: str
    hidden: bool


def list_index(repository: Path, index: Path) -> dict[bytes, Staged]:
    """Return what a file of an index's form stages, by path.

    Raises:
        CommandFailed: git can not read it.
    """
    words = ("-c", "core.fsmonitor=false", "ls-files", "-t", "--stage", "--full-name", "-z")
    said = git(repository, *words, env=_AS_STORED | {"GIT_INDEX_FILE": str(index)}).stdout
    found = {}
    for line in filter(None, said.split(b"\0")):
        known, _, path = line.partition(b"\t")
        tag, mode, one, _ = known.decode("ascii").split()
        found[path] = Staged(mode, one, hidden=tag == "S")
    return found


def read_blob(repository: Path, one: str) -> bytes:
    """Return the bytes of a blob."""
    return git(repository, "cat-file", "blob", one, env=_AS_STORED).stdout


def object_directory(repository: Path) -> Path:
    """Return where the repository's objects lie."""
    words = ("--path-format=absolute", "--git-path", "objects")
    return Path(git(repository, "rev-parse", *words).text)


def notes_in_merge(repository: Path) -> frozenset[str]:
    """Return the notes refs that a person has begun to merge into, in any worktree."""
    words = ("--path-format=absolute", "--git-common-dir")
    common = Path(git(repository, "rev-parse", *words).text)
    marks = (common / "NOTES_MERGE_REF", *common.glob("worktrees/*/NOTES_MERGE_REF"))
    said = (mark.read_text(encoding="utf-8") for mark in marks if mark.is_file())
    return frozenset(text.removeprefix("ref: ").strip() for text in said)
