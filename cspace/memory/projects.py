"""Which repository has which project's memory: by its git common directory, in a table."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from cspace import beneath
from cspace.errors import MALFORMED, CspaceError, NotFound, UsageError
from cspace.events import Event, Report, State, ignore
from cspace.files import Owner, ensure_directory, lock, write_atomic
from cspace.memory.scopes import Kind, check_name, shown

TABLE = ".projects.json"
LOCK = ".projects.lock"
LOCK_SECONDS = 10.0
VERSION = 1
# A project's id ends with a dash and eight digits of a hash; what stands before is a slug.
_HASH_LENGTH = 9


@dataclass(frozen=True, slots=True, order=True)
class Known:
    """A line of the table.

    Attributes:
        directory: the repository's git common directory; None for a memory without a repository.
        present: whether that directory is there.
    """

    name: str
    directory: Path | None
    present: bool


@dataclass(frozen=True, slots=True)
class _Document:
    """What the table's file holds.

    Attributes:
        projects: names by git common directory.
        ids: git common directories by the id of a project that claimed a name.
    """

    projects: dict[str, str]
    ids: dict[str, str]


@dataclass(frozen=True, slots=True)
class Projects:
    """The table of one memory root; a read of it creates nothing.

    Several repositories may have one name, where a person said so; none gets another's by itself.
    """

    root: Path
    owner: Owner | None = None
    report: Report = ignore

    def name_of(self, common_directory: Path) -> str | None:
        """Return the name that a repository has, None before it was claimed.

        Raises:
            CspaceError: the table can not be read.
        """
        return self._load().get(str(common_directory))

    def name_of_id(self, project_id: str) -> str | None:
        """Return the name of the project of that id, None where no repository claimed it by it.

        A repository's git directory does not always say where its main worktree is.
        """
        document = self._document()
        return document.projects.get(document.ids.get(project_id, ""))

    def expected(self, common_directory: Path, project_id: str) -> str:
        """Return the name that a repository has, or would get; nothing lies under the latter."""
        table = self._load()
        return table.get(str(common_directory)) or self._free(table, project_id)[0]

    def claim(self, common_directory: Path, project_id: str) -> str:
        """Return a repository's name; one that has none gets the first free one for good.

        That is the slug of its id, `-2` and on where that is another's, or a directory has it that
        belongs to no repository here, which is reported.

        Raises:
            Conflict: somebody else held the table for too long.
            CspaceError: the table can not be read.
        """
        key, passed = str(common_directory), tuple[str, ...]()
        document = self._document()
        if key in document.projects and document.ids.get(project_id) == key:
            return document.projects[key]
        with self._locked() as table:
            name = table.get(key)
            if name is None:
                name, passed = self._free(table, project_id)
            self._save(table | {key: name}, {project_id: key})
        self._note_passed(table, name, passed)
        return name

    def use(self, common_directory: Path, project_id: str, name: str) -> Known:
        """Give a repository a name, whoever has it; repositories of it that are gone lose it.

        Memories stay under the name that it had, which is reported.

        Raises:
            UsageError: it is no name.
            CspaceError, Conflict: as for `claim`.
        """
        check_name("project", name)
        with self._locked() as table:
            was = table.get(str(common_directory), name)
            kept = {
                key: value
                for key, value in table.items()
                if value != name or os.path.lexists(os.fsencode(key))
            }
            self._save(kept | {str(common_directory): name}, {project_id: str(common_directory)})
        if was != name and was in self.names():
            detail = (
                f"memories of projects/{was} stay where they are, and are no longer this project's:"
                f" cspace memory list --project {was}; to bring one along:"
                f" cspace memory mv SLUG project/SLUG --project {was}"
            )
            self.report(Event(name, "memory", State.NOTICE, detail))
        return Known(name, common_directory, common_directory.exists())

    def forget(self, name: str) -> tuple[Known, ...]:
        """Take a name away from its repositories; the memories under it stay.

        Raises:
            NotFound: no repository has it.
        """
        with self._locked() as table:
            gone = tuple(sorted(known for known in _lines(table) if known.name == name))
            if not gone:
                raise NotFound(
                    f"no repository has the project's name {shown(name)}",
                    hint="cspace memory projects",
                )
            self._save({key: value for key, value in table.items() if value != name})
        return gone

    def list(self) -> tuple[Known, ...]:
        """List every repository with a name, and every project's memory without a repository."""
        known = _lines(self._load())
        named = {one.name for one in known}
        rest = [Known(name, None, present=False) for name in self.names() if name not in named]
        return tuple(sorted((*known, *rest), key=lambda one: (one.name, str(one.directory or ""))))

    def names(self) -> tuple[str, ...]:
        """List the projects that have a directory."""
        return list_names(self.root, Kind.PROJECT)

    def _free(self, table: Mapping[str, str], project_id: str) -> tuple[str, tuple[str, ...]]:
        """Return the first free name, and those before it that may be meant all the same."""
        known, present = set(table.values()), _present_names(table)
        passed: list[str] = []
        for name in _candidates(project_id[:-_HASH_LENGTH]):
            lies = os.path.lexists(self.root / Kind.PROJECT / name)
            if not lies and name not in known and _is_name(name):
                break
            if lies and name not in present:
                passed.append(name)
        return name, tuple(passed)

    def _note_passed(self, table: Mapping[str, str], name: str, passed: tuple[str, ...]) -> None:
        for one in passed:
            was = [key for key, value in table.items() if value == one]
            where = (
                f"its repository {was[0]} is gone" if was else "it belongs to no repository here"
            )
            detail = (
                f"this project's memory is projects/{name}: projects/{one} exists, and {where};"
                f" if it is this project's: cspace memory projects use {one}"
            )
            self.report(Event(name, "memory", State.NOTICE, detail))

    @property
    def _path(self) -> Path:
        return self.root / TABLE

    def _load(self) -> dict[str, str]:
        return self._document().projects

    def _document(self) -> _Document:
        try:
            content = beneath.read_file(self.root, PurePosixPath(TABLE))
        except FileNotFoundError:
            return _Document({}, {})
        except OSError as error:
            raise CspaceError(
                f"{self._path} can not be read: {error.strerror}",
                hint=f"look at it and move it away: ls -ld {self._path}",
            ) from None
        try:
            return _parse(content)
        except (*MALFORMED, UsageError) as error:
            raise CspaceError(
                f"{self._path} is no table of projects: {error}",
                hint=f"repair it, or move it away and name projects anew: mv {self._path} /tmp",
            ) from None

    def _save(
        self, table: Mapping[str, str], ids: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        kept = {id_: key for id_, key in {**self._document().ids, **ids}.items() if key in table}
        document = {
            "schema_version": VERSION,
            "projects": dict(sorted(table.items())),
            "ids": dict(sorted(kept.items())),
        }
        write_atomic(self._path, json.dumps(document, indent=2) + "\n", owner=self.owner)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[dict[str, str]]:
        ensure_directory(self.root, owner=self.owner)
        place = self.root / LOCK
        with lock(place, timeout=LOCK_SECONDS, holder="cspace memory", owner=self.owner):
            yield self._load()


def list_names(root: Path, kind: Kind) -> tuple[str, ...]:
    """List the projects or personas that have a directory; links and odd names are left out."""
    try:
        with beneath.pinned(root, PurePosixPath(kind)) as place, os.scandir(place) as entries:
            names = [one.name for one in entries if one.is_dir(follow_symlinks=False)]
    except (FileNotFoundError, NotADirectoryError):
        return ()
    return tuple(sorted(name for name in names if _is_name(name)))


def _parse(content: bytes) -> _Document:
    """Read a table.

    Raises:
        ValueError, KeyError, TypeError, RecursionError: it is none.
        UsageError: a name in it is none.
    """
    document = json.loads(content)
    if document["schema_version"] != VERSION:
        raise ValueError(f"schema_version {document['schema_version']!r} is not {VERSION}")
    projects = {
        str(key): check_name("project", str(name)) for key, name in document["projects"].items()
    }
    ids = {str(id_): str(key) for id_, key in document.get("ids", {}).items()}
    return _Document(projects, ids)


def _lines(table: Mapping[str, str]) -> tuple[Known, ...]:
    return tuple(
        Known(name, Path(key), os.path.lexists(os.fsencode(key))) for key, name in table.items()
    )


def _present_names(table: Mapping[str, str]) -> frozenset[str]:
    return frozenset(one.name for one in _lines(table) if one.present)


def _candidates(slug: str) -> Iterator[str]:
    return itertools.chain((slug,), (f"{slug}-{number}" for number in itertools.count(2)))


def _is_name(name: str) -> bool:
    try:
        return bool(check_name("project", name))
    except UsageError:
        return False
