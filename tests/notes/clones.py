"""Clones of one bare repository, whose people capture, rewrite and sync."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cspace import proc
from cspace.git_import import find_place
from cspace.notes.census import take_census
from cspace.notes.draft import Draft
from cspace.notes.memory import Memory
from cspace.notes.namespaces import PREFIX, Namespace
from cspace.notes.remote import find_remote
from cspace.notes.store import NotesStore
from cspace.notes.sync import Sync, Synced

DECISIONS = Namespace.DECISIONS


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with a clone."""

    root: Path

    @property
    def store(self) -> NotesStore:
        return NotesStore(self.root, find_place(self.root))

    def git(self, *words: str | Path, stdin: bytes = b"") -> str:
        return proc.run("git", "-C", self.root, *words, stdin=stdin).text

    def commit(self, name: str, content: str, subject: str = "") -> str:
        """Write a file and commit it; return the commit."""
        (self.root / name).write_text(content, encoding="utf-8")
        self.git("add", name)
        self.git("commit", "--quiet", "-m", subject or f"Change {name}")
        return self.git("rev-parse", "HEAD")

    def capture(
        self, summary: str, commit: str = "HEAD", namespace: Namespace = DECISIONS,
        *, body: str = "", allow_secret: bool = False,
    ) -> Memory:  # fmt: skip
        draft = Draft(namespace, summary, body or f"Why: {summary}.\n")
        return self.store.capture(draft, commit, allow_secret=allow_secret).memory

    def sync(self, *, allow_secret: bool = False) -> tuple[Synced, ...]:
        return Sync(self.store, find_remote(self.root, None), allow_secret).run()

    def trees(self) -> dict[str, str]:
        """Return the tree of each namespace."""
        words = ("for-each-ref", "--format=%(refname) %(tree)", PREFIX.rstrip("/"))
        return dict(line.split(" ") for line in self.git(*words).splitlines())

    def tips(self) -> str:
        return self.git("for-each-ref", PREFIX.rstrip("/"))

    def memories(self) -> list[tuple[str, str, str]]:
        """Return namespace, summary and commit of each memory."""
        found = self.store.iter_memories()
        return sorted((one.namespace, one.record.summary, one.commit) for one in found)

    def summaries(self) -> list[str]:
        return sorted({one.record.summary for one in self.store.iter_memories()})

    def orphans(self) -> dict[Namespace, int]:
        return {
            one: each.orphaned for one, each in take_census(self.store).items() if each.orphaned
        }


def make_bare(path: Path) -> Path:
    """Create an empty bare repository."""
    proc.run("git", "init", "--quiet", "--bare", "--initial-branch=main", path)
    return path


def clone(remote: Path, path: Path, *options: str) -> Person:
    url = f"file://{remote}"
    proc.run("git", "clone", "--quiet", *options, url, path)
    return Person(path)
