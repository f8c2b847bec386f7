"""Workspaces to pack, and what two of them have to be compared by."""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cspace import proc
from cspace.engine.model import Mount
from cspace.files import Owner
from cspace.instance.archive import Archive, archive_workspace, packing
from cspace.instance.exchange import Go, Isolated, Place
from cspace.instance.snapshot_manifest import Manifest, parse_manifest
from cspace.instance.snapshot_pack import BUNDLE
from cspace.instance.snapshot_walk import SHARED
from tests.conftest import Clock

PROGRAM = (sys.executable, "-m", "cspace.instance.snapshot")
# A submodule or a clone from a directory needs it.
ALLOW = ("-c", "protocol.file.allow=always")

Seen = dict[bytes, tuple[str, int, int, bytes]]


def git(where: Path, *words: str | Path, ok: tuple[int, ...] = (0,)) -> str:
    """Run plain git, as a user or an agent would."""
    return proc.run("git", "-C", where, *ALLOW, *words, ok=ok).text


def commit(where: Path, name: str, content: str = "content\n") -> str:
    """Commit one file; return the commit."""
    path = where / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    git(where, "add", "--", name)
    git(where, "commit", "--quiet", "-m", f"Add {name}")
    return git(where, "rev-parse", "HEAD")


def plant_tree_bomb(repository: Path, head: str) -> None:
    """Put into a HEAD file a commit of a few objects that names ten billion paths."""
    one = proc.run("git", "-C", repository, "hash-object", "-w", "--stdin", stdin=b"x").text
    kind = "100644 blob"
    for _ in range(10):
        tree = "".join(f"{kind} {one}\tentry{number}\n" for number in range(10))
        one = proc.run("git", "-C", repository, "mktree", stdin=tree.encode("ascii")).text
        kind = "040000 tree"
    (repository / head).write_text(git(repository, "commit-tree", "-m", "bomb", one) + "\n")


def plant_index_bomb(repository: Path) -> None:
    """Make the index one that folds a directory of ten billion paths."""
    plant_tree_bomb(repository, ".git/HEAD")
    for setting in ("core.sparseCheckout", "core.sparseCheckoutCone", "index.sparse"):
        git(repository, "config", setting, "true")
    (repository / ".git/info").mkdir(exist_ok=True)
    (repository / ".git/info/sparse-checkout").write_text("/*\n!/*/\n", encoding="utf-8")
    (repository / ".git/index").unlink()
    git(repository, "read-tree", "-m", "HEAD")


def make_host(parent: Path) -> Path:
    """Return a host's repository with two commits, a directory and an ignore file."""
    host = parent / "host"
    host.mkdir()
    git(host, "init", "--quiet")
    commit(host, ".gitignore", "*.log\nbuild/\n")
    commit(host, "src/main.py", "print('hello')\n" * 50)
    return host


def clone(host: Path, workspace: Path) -> Path:
    """Clone as `up` does: no object in common, on a branch of its own."""
    git(host.parent, "clone", "--quiet", "--no-hardlinks", host, workspace)
    git(workspace, "switch", "--quiet", "-c", "cspace/mercury")
    return workspace


def fresh(host: Path, workspace: Path) -> tuple[str, ...]:
    """Put a fresh clone in the place of a workspace; return the commits it holds."""
    workspace.rename(workspace.with_name(f"{workspace.name}.before"))
    clone(host, workspace)
    return (git(workspace, "rev-parse", "HEAD"),)


def survey(root: Path) -> Seen:
    """Return kind, mode, time and content of every path, but for object stores and shared mounts.

    A directory's own time is compared too.
    """
    seen: Seen = {}
    pending = [b""]
    while pending:
        path = pending.pop()
        with os.scandir(os.fsencode(root) + b"/" + path) as scan:
            children = list(scan)
        for child in children:
            name = path + child.name
            if name in SHARED or (child.name == b"objects" and b".git" in path.split(b"/")):
                continue
            seen[name] = _look(child)
            if child.is_dir(follow_symlinks=False):
                pending.append(name + b"/")
    return seen


def _look(found: os.DirEntry[bytes]) -> tuple[str, int, int, bytes]:
    status = found.stat(follow_symlinks=False)
    content = b""
    if stat.S_ISLNK(status.st_mode):
        content = os.readlink(found.path)  # noqa: PTH115  names are bytes
    elif stat.S_ISREG(status.st_mode):
        content = Path(os.fsdecode(found.path)).read_bytes()
    kind = stat.filemode(status.st_mode)[0]
    return kind, stat.S_IMODE(status.st_mode), status.st_mtime_ns, content


def outlook(repository: Path) -> tuple[str, ...]:
    """Return what git itself says of a repository and its work tree, changing nothing there."""
    questions = (
        ("for-each-ref",),
        ("stash", "list", "--format=%H %gd %s"),
        ("reflog", "--format=%H %gd %gs", "--all"),
        ("status", "--porcelain=v2", "--branch", "--ignored"),
        ("ls-files", "--stage"),
        ("worktree", "list", "--porcelain"),
        ("fsck", "--full", "--no-dangling", "--no-progress"),
    )
    return tuple(git(repository, "--no-optional-locks", *words, ok=(0, 1)) for words in questions)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the program answered."""

    code: int
    message: str
    hint: str


def pack(workspace: Path, output: Path, *options: str) -> Answer:
    """Run the packing as a program of its own."""
    output.mkdir(exist_ok=True)
    return _answer(
        proc.run(
            *PROGRAM, "pack", "--workspace", workspace, "--output", output, *options,
            stdin=b"\n", ok=tuple(range(256)),
        )
    )  # fmt: skip


def unpack(workspace: Path, bundle: Path, *known: str) -> Answer:
    """Run the unpacking as a program of its own."""
    return _answer(
        proc.run(
            *PROGRAM, "unpack", "--workspace", workspace, "--bundle", bundle,
            "--known", *known, stdin=b"\n", ok=tuple(range(256)),
        )
    )  # fmt: skip


def _answer(result: proc.Result) -> Answer:
    assert result.stdout, result.stderr.decode()
    answer: dict[str, Any] = json.loads(result.stdout)
    return Answer(result.code, answer.get("message", ""), answer.get("hint") or "")


def there_and_back(host: Path, workspace: Path) -> tuple[Seen, Seen]:
    """Pack, put a fresh clone in the workspace's place, unpack; survey before and after."""
    before = survey(workspace)
    exchange = workspace.with_name("exchange")
    packed = pack(workspace, exchange, "--known", *git(host, "rev-list", "--all").split())
    assert packed == Answer(0, "", "")
    assert survey(workspace) == before
    known = fresh(host, workspace)
    assert unpack(workspace, exchange / BUNDLE, *known) == Answer(0, "", "")
    return before, survey(workspace)


def manifest_of(bundle: Path, repository: Path) -> Manifest:
    """Return what a bundle holds; repository has what it builds on, and takes its objects."""
    git(repository, "fetch", "--quiet", bundle, "+refs/a/*:refs/look/*")
    document = proc.run("git", "-C", repository, "show", "refs/look/snapshot:manifest.json")
    return parse_manifest(document.stdout)


@contextlib.contextmanager
def isolated(argv: tuple[str, ...], mounts: tuple[Mount, ...]) -> Iterator[Go]:
    """Start the program here, with the directories that would be mounted in its container."""
    # This cspace is a checkout, which an isolated interpreter would not find.
    words = [word for word in argv[1:] if word != "-I"]
    for mount in mounts:
        inside = re.compile(rf"{mount.target}(/.*)?")
        words = [
            f"{mount.source}{found[1] or ''}" if (found := inside.fullmatch(word)) else word
            for word in words
        ]
    limited = proc.start_limited(sys.executable, *words, limit=1 << 20, ok=tuple(range(256)))
    with limited as go:
        yield go


def followed_by(change: Callable[[Path], object]) -> Isolated:
    """Return a container after whose work something is done to the directory that it shares."""

    @contextlib.contextmanager
    def start(argv: tuple[str, ...], mounts: tuple[Mount, ...]) -> Iterator[Go]:
        def answer() -> proc.Result:
            result = go()
            change(mounts[-1].source)
            return result

        with isolated(argv, mounts) as go:
            yield answer

    return start


def archive_now(repository: Path, where: Place, by: Isolated, clock: Clock) -> Archive:
    """Archive a workspace at once."""
    with packing(repository, where, by, clock()) as started:
        return archive_workspace(started)[0]


def place(tmp_path: Path, workspace: Path) -> Place:
    """Return where an instance called mercury keeps its workspace."""
    exchange = tmp_path / "state"
    exchange.mkdir(exist_ok=True)
    return Place("mercury", workspace, exchange, Owner(os.geteuid(), os.getegid()))
