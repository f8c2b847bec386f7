"""What an agent has no business with: a directory of the user's, and canaries that must not sing.

Both lie beside the person's home and repository, where no container sees anything.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.conftest import NewPerson
from tests.e2e.person import Person, refusal_of

MARKER = "private-marker-of-the-host"
Look = dict[str, tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class Outside:
    """A directory with private files, a repository with private history, and the canaries."""

    person: Person
    path: Path
    canaries: Path

    @property
    def repository(self) -> Path:
        return self.path / "repository"

    def look(self) -> Look:
        """Return everything about every file below, but the time of the last reading."""
        return look_below(self.path)

    def sung(self) -> set[str]:
        """Return the canaries that sang since the last time, and silence them."""
        names = {path.name for path in self.canaries.iterdir()}
        for name in names:
            (self.canaries / name).unlink()
        return names

    def taken(self) -> list[str]:
        """Say where private content has come to lie in the person's repository or home."""
        objects = ("cat-file", "--batch-all-objects", "--batch", "--unordered")
        held = ["an object of the repository"] if MARKER in self.person.git(*objects) else []
        files = (p for root in (self.person.repo, self.person.home) for p in root.rglob("*"))
        real = (path for path in files if stat.S_ISREG(path.lstat().st_mode))
        return held + [str(path) for path in real if MARKER.encode() in path.read_bytes()]


def look_below(root: Path) -> Look:
    """Return everything about a file or directory and all below, but the time of its reading."""
    return {str(path): _look(path) for path in (root, *sorted(root.rglob("*")))}


def _look(path: Path) -> tuple[object, ...]:
    found = path.lstat()
    content = path.read_bytes() if stat.S_ISREG(found.st_mode) else None
    target = path.readlink() if stat.S_ISLNK(found.st_mode) else None
    return found.st_mode, found.st_uid, found.st_gid, found.st_mtime_ns, content, target


def make_outside(person: Person) -> Outside:
    """Make what is private, shaped so that a link to it would be taken for the real thing."""
    top = person.repo.parent
    outside = Outside(person, top / "outside", top / "canaries")
    kinds = ("context/decisions", "context/discoveries", "context/findings", "memory")
    shaped = (*kinds, "decisions", "-workspace/memory", "projects/-workspace/memory")
    for name in (
        "outside",
        "canaries",
        "outside/repository",
        *(f"outside/{one}" for one in shaped),
    ):
        _directory(person, top, Path(name))
    for name in ("private.txt", "decisions/private.md", "memory/MEMORY.md", "config.json"):
        file = outside.path / name
        text = f'{{"auths": "{MARKER}"}}\n' if name == "config.json" else f"{MARKER}\n"
        file.write_text(text, encoding="utf-8")
        file.chmod(0o640)
        person.give(file)
    person.git("init", "--quiet", cwd=outside.repository)
    person.git("commit", "--quiet", "--allow-empty", f"--message={MARKER}", cwd=outside.repository)
    return outside


def _directory(person: Person, top: Path, name: Path) -> None:
    for part in (*reversed(name.parents), name):
        if not (top / part).exists():
            (top / part).mkdir(mode=0o750)
            person.give(top / part)


@contextmanager
def ordinary_person(new: NewPerson, program: Path, engine: str) -> Iterator[Person]:
    """Return somebody whose uid the agent has too: git's check of owners protects them least."""
    possible = os.geteuid() == 0 and not refusal_of(program, engine)
    with new(uid=1000 if possible else None) as person:
        person.repo.parent.chmod(0o777)
        yield person
