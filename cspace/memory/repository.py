"""The git repository that a memory's root can be: plumbing only, and nothing of it but memories.

No hook, filter or signature of the user's takes part, since a write must not wait for a person or
fail by a program that has nothing to do with it.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cspace import files, proc
from cspace.errors import CommandFailed, Conflict, CspaceError
from cspace.files import Owner
from cspace.git import AS_STORED, git
from cspace.git_commits import QUIET, operation_in_progress
from cspace.git_import import AUTHOR, Commit, blob_reader, new_import
from cspace.memory.located import parse_path

BRANCH = "main"
IGNORE = ".gitignore"
# Not kept itself: what it says is about this program's own files.
IGNORED = "# of cspace: only memories are kept\n.*\n/orchestrator\n"
_MARK = "cspace-memory"
_UNKEPT = "cspace-unkept"
_LOCK = "cspace.lock"
LOCK_SECONDS = 30.0
# Git's own measure: of 256 directories of objects it looks at this one; 6,700 in all are many.
_LOOSE = 27
_IDENT = re.compile(r"(.*>) \d+ [+-]\d+")
Read = Callable[[str | None], bytes | None]


@dataclass(frozen=True, slots=True)
class Repository:
    """A memory's root that is a repository of ours."""

    root: Path
    owner: Owner | None = None

    @property
    def directory(self) -> Path:
        return self.root / ".git"

    @property
    def env(self) -> dict[str, str]:
        """What keeps git in this very repository, whatever is around it and whoever owns it."""
        return {"GIT_DIR": str(self.directory), "GIT_WORK_TREE": str(self.root)}

    def git(self, *words: str, stdin: bytes = b"", ok: tuple[int, ...] = (0,)) -> proc.Result:
        """Run one git command here; errors as for `git.git`."""
        return git(self.root, *QUIET, *words, stdin=stdin, ok=ok, env=AS_STORED | self.env)

    @contextlib.contextmanager
    def locked(self, by: str) -> Iterator[None]:
        """Hold the history: between a write and its commit nobody else commits."""
        lock = self.directory / _LOCK
        with files.lock(lock, timeout=LOCK_SECONDS, holder=by, owner=self.owner):
            try:
                yield
            finally:
                self.give()

    def give(self) -> None:
        """Give what git made to the owner; nothing to do unless we are root, and it is his."""
        if self.owner is None or os.geteuid() or self.directory.lstat().st_uid != self.owner.uid:
            return
        # By descriptor: the owner may swap a directory for a link meanwhile.
        for _, directories, names, descriptor in os.fwalk(self.directory, follow_symlinks=False):
            for name in (*directories, *names):
                with contextlib.suppress(FileNotFoundError):
                    found = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                    single = found.st_nlink == 1 or stat.S_ISDIR(found.st_mode)
                    if found.st_uid == 0 and single:
                        uid, gid = self.owner.uid, self.owner.gid
                        os.chown(name, uid, gid, dir_fd=descriptor, follow_symlinks=False)

    def command(self, *words: str) -> str:
        """Return a git command for a person; git takes no `-C` into another user's directory."""
        mine = all(one.stat().st_uid == os.geteuid() for one in (self.root, self.directory))
        place = ("-C", str(self.root)) if mine else (f"--git-dir={self.directory}",)
        more = () if mine or words[0] in ("remote", "push") else (f"--work-tree={self.root}",)
        return shlex.join(("git", *place, *more, *words))

    def resolve(self, revision: str) -> str | None:
        """Return the id of a commit, None where there is none of that name."""
        words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        asked = self.git(*words, ok=(0, 1, 128))
        return asked.text or None if asked.code == 0 else None

    def head(self) -> str | None:
        """Return the newest commit, None before the first."""
        return self.resolve("HEAD")

    def branch(self) -> str:
        """Return the branch that is checked out.

        Raises:
            Conflict: somebody left HEAD detached.
        """
        asked = self.git("symbolic-ref", "--quiet", "HEAD", ok=(0, 1))
        if asked.code:
            raise Conflict(
                f"{self.root} is on no branch, so nothing can be committed there",
                hint=self.command("switch", BRANCH),
            )
        return asked.text.removeprefix("refs/heads/")

    def list_files(self, commit: str | None) -> dict[str, str]:
        """Return the regular files of a commit of ours, by path, with their blobs."""
        if commit is None:
            return {}
        listed = self.git("ls-tree", "-r", "-z", "--full-tree", commit).stdout
        entries = (line.partition(b"\t") for line in filter(None, listed.split(b"\0")))
        return {
            os.fsdecode(path): known.split()[2].decode()
            for known, _, path in entries
            if known.startswith(b"100")
        }

    def identify(self, names: list[str]) -> dict[str, str | None]:
        """Return the objects that names stand for, None for what is not there."""
        asked = "".join(f"{name}\n" for name in names).encode()
        said = self.git("cat-file", "--batch-check=%(objectname)", stdin=asked).text.splitlines()
        return {
            name: None if line.endswith("missing") else line
            for name, line in zip(names, said, strict=True)
        }

    @contextlib.contextmanager
    def reader(self) -> Iterator[Read]:
        """Give what reads blobs by their ids; it has None for None."""
        with blob_reader(self.root, self.env) as reader:
            yield lambda one: reader.read(one) if one else None

    @property
    def algorithm(self) -> str:
        """The hash that names objects."""
        return self.git("rev-parse", "--show-object-format").text

    def commit(
        self, parents: tuple[str, ...], changes: Mapping[str, bytes | None], message: str,
        time: datetime,
    ) -> str:  # fmt: skip
        """Commit the first parent's files with these changes; None removes a file.

        Raises:
            CommandFailed: git said no, or the branch moved.
        """
        branch = self.branch()
        with new_import(self.root, self.algorithm, (), self.env) as new:
            blobs = {
                os.fsencode(path): new.add(content)
                for path, content in changes.items()
                if content is not None
            }
            gone = [os.fsencode(path) for path, content in changes.items() if content is None]
            author, merged = self._author(), parents[1:]
            made = Commit(message, time, gone, blobs, author, merged)
            new.commit(f"refs/heads/{branch}", parents[0] if parents else None, made)
        self._stage()
        self._tidy()
        return self.head() or ""

    def move(self, new: str, old: str | None) -> None:
        """Move the branch; raises CommandFailed where it is not at old."""
        words = ("update-ref", f"refs/heads/{self.branch()}", new, old or "0" * len(new))
        self.git(*words)
        self._stage()

    def _author(self) -> str:
        asked = self.git("-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT", ok=(0, 128))
        found = _IDENT.fullmatch(asked.text) if asked.code == 0 else None
        return found[1] if found else AUTHOR

    def _tidy(self) -> None:
        """Have git pack what lies loose, as its own commands do, when that is much."""
        if len(list(self.directory.glob("objects/17/*"))) > _LOOSE:
            with contextlib.suppress(CommandFailed):
                self.git("-c", "gc.autoDetach=false", "gc", "--auto", "--quiet")

    def _stage(self) -> None:
        """Let the person's `git status` see what is committed; it is not ours to insist."""
        with contextlib.suppress(CommandFailed):
            self.git("read-tree", "HEAD")

    @property
    def has_unkept(self) -> bool:
        """Whether something was written that no commit has."""
        return (self.directory / _UNKEPT).exists()

    def mark_unkept(self) -> None:
        """Remember, beyond a kill, that something is about to be written."""
        (self.directory / _UNKEPT).touch()

    def clear_unkept(self) -> None:
        """Forget it: a commit has all."""
        (self.directory / _UNKEPT).unlink(missing_ok=True)


def find_repository(root: Path, owner: Owner | None = None) -> Repository | None:
    """Return the root's repository, None where `init --git` made none of it."""
    mark = root / ".git" / _MARK
    is_ours = not (root / ".git").is_symlink() and mark.is_file()
    return Repository(root, owner) if is_ours else None


def make_repository(root: Path, owner: Owner | None) -> Repository:
    """Make the root a repository of ours, or take over one that a person made of it.

    It lies in no other one, even where the root does. `mark_as_ours` makes commands find it.

    Raises:
        CspaceError: something else is in the way, or holds more than memories.
    """
    repository = Repository(root, owner)
    place = repository.directory
    if place.is_symlink() or (os.path.lexists(place) and not place.is_dir()):
        raise CspaceError(
            f"{place} is in the way: it is no directory",
            hint=f"look at it and move it away: ls -ld {place}",
        )
    if place.is_dir():
        _check_takeover(repository)
    else:
        files.ensure_directory(root, owner=owner)
        # An empty template: nobody's hooks come along.
        repository.git("init", "--quiet", f"--initial-branch={BRANCH}", "--template=")
        files.give(place, owner)
    repository.git("config", "core.autocrlf", "false")
    if not os.path.lexists(root / IGNORE):
        files.write_atomic(root / IGNORE, IGNORED, owner=owner)
    repository.give()
    return repository


def _check_takeover(repository: Repository) -> None:
    root, head = repository.root, repository.head()
    if begun := operation_in_progress(repository.directory):
        raise Conflict(
            f"a {begun} is in progress in {root}", hint=f"end it: {repository.command('status')}"
        )
    words = ("ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD")
    listed = repository.git(*words).stdout.split(b"\0") if head else []
    # A name with a dot is cspace's own file, which the first commit takes out.
    paths = [
        path for path in map(os.fsdecode, listed) if path.rpartition("/")[2][:1] not in ("", ".")
    ]
    odd = [path for path in paths if parse_path(path) is None]
    if odd:
        raise CspaceError(
            f"{root} is a repository that keeps {odd[0]!a}, which is no memory",
            hint=f"take it out: {repository.command('rm', '--cached', '--', 'PATH')}, then commit;"
            " or move .git away",
        )


def mark_as_ours(repository: Repository) -> None:
    """Let commands find it from now on."""
    (repository.directory / _MARK).touch()
