"""What is wrong in curated memory. Looks at every file once, and changes nothing."""

from __future__ import annotations

import itertools
import os
import shlex
from collections.abc import Collection, Iterable, Iterator
from datetime import timedelta
from pathlib import Path, PurePosixPath

from cspace import files
from cspace.clock import Clock, parse_time
from cspace.docstore.frontmatter import is_whole, parse_front_matter
from cspace.docstore.opened import SUFFIX, Document, UnreadableDocument, is_document, show_path
from cspace.docstore.slugs import slug_of
from cspace.doctor.model import Diagnosis
from cspace.errors import CspaceError, UsageError
from cspace.files import TEMPORARY_SUFFIX
from cspace.memory import index
from cspace.memory.changes import MAX_BYTES
from cspace.memory.entries import UPDATED, Entry, Type, header_text, parse_entry, summary_of
from cspace.memory.hidden import find_hidden
from cspace.memory.index import BUDGET, BrokenIndex
from cspace.memory.place import Place, find_place
from cspace.memory.scopes import NAMED, Scope, check_name
from cspace.memory.store import MemoryStore
from cspace.memory.writing import CHANGING, LOCK
from cspace.paths import INDEX

MAX_SHOWN = 200
# Clocks of two machines that share a memory differ a little.
AHEAD = timedelta(minutes=5)


def examine_memories(
    store: MemoryStore, scopes: Iterable[Scope], now: Clock
) -> tuple[Diagnosis, ...]:
    """Look at several scopes, and at what is beside them in the root.

    At most MAX_SHOWN things are named, with a last one that counts the others.
    """
    scopes = tuple(scopes)
    each = (examine_scope(store, scope, now) for scope in scopes)
    return _cut(itertools.chain(_misplaced(store.root, scopes), *each))


def examine_scope(store: MemoryStore, scope: Scope, now: Clock) -> tuple[Diagnosis, ...]:
    """Look at every file of a scope; where there is none, nothing is wrong.

    At most MAX_SHOWN things are named, with a last one that counts the others.
    """
    try:
        place = find_place(store.root, scope)
        return _cut(_Examination(scope, place, now).run())
    except CspaceError as error:
        return (_diagnosis(str(error), error.hint or _look(store.root / scope.relative)),)


def _cut(found: Iterable[Diagnosis]) -> tuple[Diagnosis, ...]:
    found = iter(found)
    shown = tuple(itertools.islice(found, MAX_SHOWN))
    more = sum(1 for _ in found)
    if not more:
        return shown
    again = "repair these, then: cspace memory doctor"
    return (*shown, _diagnosis(f"{more} more things are wrong", again))


def _diagnosis(problem: str, repair: str) -> Diagnosis:
    return Diagnosis("memory", problem, repair)


def _look(path: Path) -> str:
    return f"look at it and move it away: ls -ld {shlex.quote(str(path))}"


def _misplaced(root: Path, scopes: Collection[Scope]) -> Iterator[Diagnosis]:
    """Name directories that no scope can have as its name, and links in their places.

    Args:
        scopes: these are named by themselves.
    """
    for kind in sorted(NAMED):
        try:
            with Place(root, PurePosixPath(kind)).opened() as opened:
                names = sorted(name for name in opened.list_names() if not name.startswith("."))
        except CspaceError as error:
            if Scope(kind) not in scopes:
                yield _diagnosis(str(error), error.hint or _look(root / kind))
            continue
        for name in names:
            if Scope(kind, name) in scopes:
                continue
            problem = _scope_problem(root / kind, name)
            if problem:
                shown = show_path(PurePosixPath(kind, name))
                yield _diagnosis(f"{shown!r} {problem}", _look(root / kind / name))


def _scope_problem(directory: Path, name: str) -> str:
    try:
        check_name("scope", name)
    except UsageError:
        return "is no name of a scope, so nobody reads it"
    path = directory / name
    if path.is_symlink() or not path.is_dir():
        return "is not a directory of its own, so nobody reads it"
    return ""


class _Examination:
    """One look at one scope."""

    def __init__(self, scope: Scope, place: Place, now: Clock) -> None:
        self._scope = scope
        self._place = place
        self._now = now()
        self._lines: dict[bytes, bytes] = {}

    def run(self) -> Iterator[Diagnosis]:
        with self._place.opened() as opened:
            names = sorted(opened.list_names())
            for name in names:
                if not is_document(name):
                    yield from self._foreign(name)
                elif name != INDEX.name:
                    yield from self._file(opened.descriptor, name)
            yield from self._alike(name for name in names if is_document(name))
            yield from self._index(self._load(opened.descriptor, INDEX.name))

    def _load(self, descriptor: int | None, name: str) -> Document | Diagnosis | None:
        try:
            return self._place.load(descriptor, name, self._scope.relative)
        except UnreadableDocument as error:
            return _diagnosis(str(error), error.hint or self._look(name))

    def _command(self, words: str, *names: str) -> str:
        quoted = " ".join(map(shlex.quote, names))
        return f"cspace memory {words} {quoted}".rstrip() + f" --scope {self._scope}"

    def _look(self, name: str) -> str:
        return _look(self._place.directory / name)

    def _foreign(self, name: str) -> Iterator[Diagnosis]:
        path = self._place.directory / name
        shown = f"'{self._scope}/{show_path(PurePosixPath(name))}'"
        if name == LOCK and (path.is_symlink() or not path.is_file()):
            yield _diagnosis(f"{shown} is not a regular file, so nothing locks", self._look(name))
        elif name == CHANGING and not files.is_locked(self._place.directory / LOCK):
            problem = f"a change of {self._scope} was stopped before its index line was written"
            yield _diagnosis(problem, self._command("reindex"))
        elif name.endswith(TEMPORARY_SUFFIX) and not files.is_locked(path):
            problem = f"{shown} was left by a writer that is gone"
            yield _diagnosis(problem, self._command("reindex"))
        elif not name.startswith("."):
            yield _diagnosis(f"{shown} is no memory: not a *{SUFFIX}", self._look(name))

    def _file(self, descriptor: int | None, name: str) -> Iterator[Diagnosis]:
        if not name.isprintable():
            yield self._unspeakable(descriptor, name)
            return
        found = self._load(descriptor, name)
        if isinstance(found, Diagnosis):
            yield found
        if not isinstance(found, Document):
            return
        slug = name.removesuffix(SUFFIX)
        prefix = index.entry_prefix(slug)
        self._lines[prefix] = index.dump_line(prefix, summary_of(found.content))
        yield from self._name(slug)
        entry = parse_entry(self._scope, slug, found.content, found.status.st_mtime)
        problems = (*_text_problems(found.content), *self._header(entry, found.content))
        for problem in problems:
            repair = self._command("edit", slug)
            yield _diagnosis(f"'{self._scope}/{slug}' {problem}", repair)

    def _unspeakable(self, descriptor: int | None, name: str) -> Diagnosis:
        """Name a file that no command can be told: the repair finds it by its number."""
        number = os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_ino
        directory = self._place.directory
        new = directory / f"{slug_of(name.removesuffix(SUFFIX))}-{number}"
        find = ("find", f"{directory}/", "-maxdepth", "1", "-inum", str(number))
        words = (*find, "-exec", "mv", "-n", "{}", f"{new}{SUFFIX}", ";")
        shown = f"{self._scope}/{name}".encode("unicode_escape").decode()
        problem = f"'{shown}' has characters in its name that can not be seen: ask who made it"
        return _diagnosis(problem, shlex.join(words))

    def _name(self, slug: str) -> Iterator[Diagnosis]:
        try:
            check_name("slug", slug)
        except UsageError:
            problem = f"'{self._scope}/{slug}' has a name that cspace would not give"
            yield _diagnosis(problem, self._command("mv", slug, slug_of(slug)))

    def _header(self, entry: Entry, content: bytes) -> Iterator[str]:
        if len(content) > MAX_BYTES:
            yield f"has {len(content)} bytes, more than {MAX_BYTES}"
        if entry.problem:
            yield entry.problem
            return
        header = parse_front_matter(content)
        if not is_whole(header):
            yield "has a front matter that is not YAML: put texts with a colon in quotes"
        if not header_text(header, "description"):
            yield "has no description in its front matter"
        if entry.name != entry.slug:
            yield f"is called {entry.name!r} in its front matter" if entry.name else "has no name"
        yield from _type_problems(entry.type)
        yield from self._time_problems(entry, content)

    def _time_problems(self, entry: Entry, content: bytes) -> Iterator[str]:
        written = header_text(parse_front_matter(content), UPDATED)
        if written and parse_time(written) is None:
            yield f"has the time {written!r} in {UPDATED}, which is none"
        if entry.stamped and entry.updated > self._now + AHEAD:
            yield f"is dated in the future, {entry.updated:%Y-%m-%d}"

    def _alike(self, names: Iterable[str]) -> Iterator[Diagnosis]:
        known: dict[str, str] = {}
        for name in names:
            first = known.setdefault(name.casefold(), name)
            if first != name:
                both = f"{show_path(PurePosixPath(first))!r} and {show_path(PurePosixPath(name))!r}"
                problem = f"{both} of {self._scope} are one file where case does not count"
                yield _diagnosis(problem, f"give one another name: {self._command('list')}")

    def _index(self, found: Document | Diagnosis | None) -> Iterator[Diagnosis]:
        if isinstance(found, Diagnosis):
            yield found
            return
        reindex = self._command("reindex")
        if found is None:
            if self._lines:
                problem = f"{self._scope} has no {INDEX} for its {len(self._lines)} memories"
                yield _diagnosis(problem, reindex)
            return
        name = f"'{self._scope}/{INDEX}'"
        try:
            lines = index.find_lines(found.content)
        except BrokenIndex as error:
            yield _diagnosis(f"{name}: {error}", error.hint or reindex)
            return
        for problem in self._line_problems(lines):
            yield _diagnosis(f"{name} {problem}", reindex)
        for problem in _text_problems(found.content):
            yield _diagnosis(f"{name} {problem}", f"edit {self._place.directory / INDEX}")
        many = len(found.content.splitlines())
        if many > BUDGET:
            problem = f"{name} has {many} lines: a session should not have to read over {BUDGET}"
            yield _diagnosis(problem, f"merge or remove some: {self._command('list')}")

    def _line_problems(self, lines: tuple[bytes, ...]) -> Iterator[str]:
        left = dict.fromkeys(self._lines.values())
        for line in lines:
            if line in left:
                del left[line]
            else:
                shown = show_path(PurePosixPath(line.decode("utf-8", "replace")[:100]))
                yield f"has a line that no memory wants: {shown!r}"
        for line in left:
            yield f"lacks the line {line.decode('utf-8', 'replace')[:100]!r}"


def _type_problems(written: str) -> Iterator[str]:
    known = ", ".join(Type)
    if not written:
        yield f"has no type, which is one of {known}"
    elif written not in tuple(Type):
        yield f"has the type {written!r}, which is none of {known}"


def _text_problems(content: bytes) -> Iterator[str]:
    try:
        text = content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        yield f"is not UTF-8 at byte {error.start}"
        return
    hidden = find_hidden(text)
    if hidden:
        first = hidden[0]
        more = f", and {len(hidden) - 1} more hidden characters" if len(hidden) > 1 else ""
        yield f"hides {first.name} in line {first.line}{more}: ask who wrote it"
