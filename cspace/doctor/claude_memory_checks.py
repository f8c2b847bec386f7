"""What is wrong in Claude's memory. Looks at no more than it must, and changes nothing."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from cspace.claude_memory.host_settings import DIRECTORY, PROJECT_FILES, load_project
from cspace.claude_memory.index import MAX_CHARACTERS, MAX_LINES, Index, parse_index, same_name
from cspace.claude_memory.listing import (
    Memory,
    Type,
    age_of,
    days_since,
    header_text,
    is_ahead,
    parse_memory,
)
from cspace.claude_memory.place import Place
from cspace.claude_memory.relative_dates import iter_relative_dates
from cspace.claude_memory.tree import Walk
from cspace.clock import Clock
from cspace.docstore.frontmatter import is_whole, parse_front_matter
from cspace.docstore.opened import SUFFIX, Document, show_path
from cspace.doctor.model import Diagnosis
from cspace.errors import CspaceError
from cspace.files import TEMPORARY_SUFFIX
from cspace.migration.names import fold_path
from cspace.paths import INDEX

MAX_SHOWN = 200
# What was true of a project or an address that long ago may not be any more; what a person is and
# wants does not go by the calendar.
STALE_DAYS = 90
AGELESS = (Type.USER, Type.FEEDBACK)
# What git and people put into any directory.
_NO_MEMORY = frozenset({".gitkeep", ".gitignore", ".gitattributes"})
# What no reader sees and a model reads: tags, zero width, and what turns the direction of a text.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069"
    "\ufeff\U000e0000-\U000e007f]"
)


def examine_memory(place: Place, now: Clock) -> tuple[Diagnosis, ...]:
    """Look at every file of a memory; where there is none, nothing is wrong.

    At most MAX_SHOWN things are named, with a last one that counts the others.
    """
    found = _Examination(place, now).run()
    shown = tuple(itertools.islice(found, MAX_SHOWN))
    more = sum(1 for _ in found)
    if not more:
        return shown
    last = f"{more} more things are wrong"
    return (*shown, Diagnosis("memory", last, f"repair these, then: {place.command('doctor')}"))


def check_redirection(root: Path) -> tuple[Diagnosis, ...]:
    """Look whether a project's own settings would lead Claude Code to another memory."""
    return tuple(
        Diagnosis(
            "memory",
            f"{file} sets {DIRECTORY}: on this host, not in instances, Claude Code may keep its"
            " memory there, where cspace neither looks nor keeps it",
            f"take {DIRECTORY} out of {shlex.quote(str(root / file))}",
        )
        for file in PROJECT_FILES
        if load_project(root, file).text(DIRECTORY)
    )


class _Examination:
    """One look at one memory."""

    def __init__(self, place: Place, now: Clock) -> None:
        self._place = place
        self._now = now()
        self._walk = Walk(place)

    def run(self) -> Iterator[Diagnosis]:
        index: Index | None = None
        memories: list[Memory] = []
        names: list[PurePosixPath] = []
        try:
            for one in self._walk.found():
                names.append(one.path)
                if not one.document:
                    yield from self._foreign(one.path)
                    continue
                document = self._walk.load(one)
                if document is None:
                    continue
                yield from self._texts(one.path, document.content)
                if one.path == INDEX:
                    index = parse_index(document.content)
                else:
                    memory = parse_memory(one.path, document, {})
                    memories.append(memory)
                    yield from self._memory(memory, document)
        except CspaceError as error:
            yield self._diagnosis(str(error), error.hint or self._look(PurePosixPath()))
        for skipped in self._walk.skipped:
            problem = f"{skipped.path!r} is left out: {skipped.reason}"
            yield self._diagnosis(problem, self._look(PurePosixPath(skipped.path)))
        yield from self._index(index, memories, names)
        yield from self._alike(names)

    def _diagnosis(self, problem: str, repair: str) -> Diagnosis:
        return Diagnosis("memory", problem, repair)

    def _path(self, path: PurePosixPath) -> str:
        return shlex.quote(str(self._place.directory / path))

    def _look(self, path: PurePosixPath) -> str:
        return f"look at it and move it away: ls -ld {self._path(path)}"

    def _edit(self, path: PurePosixPath | str) -> str:
        return f"ask Claude Code to mend it, or edit {self._path(PurePosixPath(path))}"

    def _foreign(self, path: PurePosixPath) -> Iterator[Diagnosis]:
        if path.name in _NO_MEMORY or path.name.endswith(TEMPORARY_SUFFIX):
            return
        shown = show_path(path)
        if path.name.endswith(SUFFIX) and not path.name.startswith("."):
            yield self._diagnosis(f"{shown!r} is not a regular file", self._look(path))
        else:
            yield self._diagnosis(f"{shown!r} is no memory: not a *.md", self._look(path))

    def _texts(self, path: PurePosixPath, content: bytes) -> Iterator[Diagnosis]:
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            problem = f"{show_path(path)!r} is not UTF-8 at byte {error.start}"
            yield self._diagnosis(problem, self._edit(path))
            return
        hidden = _HIDDEN.search(text.removeprefix("\ufeff"))
        if hidden is not None:
            line = text.count("\n", 0, hidden.start()) + 1
            problem = f"{show_path(path)!r} hides U+{ord(hidden[0]):04X} in line {line}"
            yield self._diagnosis(problem, f"{self._edit(path)}, and ask who wrote it")

    def _memory(self, memory: Memory, document: Document) -> Iterator[Diagnosis]:
        problems = (*_header_problems(memory, document), *_relative(memory, document))
        for problem in problems:
            yield self._diagnosis(f"{memory.path!r} {problem}", self._edit(memory.path))
        age = age_of(memory.modified, self._now)
        if is_ahead(memory.modified, self._now):
            yield self._diagnosis(f"{memory.path!r} is {age}", self._edit(memory.path))
        elif memory.type not in AGELESS and days_since(memory.modified, self._now) > STALE_DAYS:
            problem = f"{memory.path!r}: this memory is {age}"
            show = self._place.command(f"show {shlex.quote(memory.path)}")
            yield self._diagnosis(problem, f"look whether it is still true: {show}")

    def _index(
        self, index: Index | None, memories: list[Memory], names: list[PurePosixPath]
    ) -> Iterator[Diagnosis]:
        if index is None:
            if memories:
                yield self._diagnosis(
                    f"{str(INDEX)!r} is missing, so Claude Code sees none of {len(memories)} files",
                    "ask Claude Code to write it: one line for each file",
                )
            return
        if not index.fits:
            yield self._diagnosis(
                f"{str(INDEX)!r} has {index.lines} lines and {index.characters} characters: Claude"
                f" Code loads {MAX_LINES} lines, and {MAX_CHARACTERS} characters",
                f"{self._edit(INDEX)}: one short line for each file",
            )
        linked = index.lines_by_path()
        for problem in _link_problems(index, {same_name(str(name)) for name in names}):
            yield self._diagnosis(f"{str(INDEX)!r} links to {problem}", self._edit(INDEX))
        for memory in memories:
            if same_name(memory.path) not in linked:
                problem = f"{memory.path!r} has no line in {INDEX}, so Claude Code may never see it"
                repair = f"add one: - [{memory.name}]({memory.path}) — {memory.description}"
                yield self._diagnosis(problem, repair)

    def _alike(self, names: list[PurePosixPath]) -> Iterator[Diagnosis]:
        known: dict[str, str] = {}
        for path in names:
            name = str(path)
            first = known.setdefault(fold_path(path), name)
            if first != name:
                text = f"{first!r} and {name!r} are one file where case does not count"
                yield self._diagnosis(text, f"give one another name: {self._look(PurePosixPath())}")


def _link_problems(index: Index, there: set[str]) -> Iterator[str]:
    for target, path in {entry.target: entry.path for entry in index.entries}.items():
        if path.startswith(("../", "/")) or path == "..":
            yield f"{target!r}, outside of the memory"
        elif path not in there:
            yield f"{target!r}, which does not exist"


def _header_problems(memory: Memory, document: Document) -> Iterator[str]:
    if memory.problem:
        yield memory.problem
    if not memory.header:
        return
    header = parse_front_matter(document.content)
    if not is_whole(header):
        yield "has a front matter that is not YAML: put texts with a colon in quotes"
    missing = [key for key in ("name", "description") if not header_text(header, key)]
    if missing:
        yield f"has no {' and no '.join(missing)} in its front matter"
    known = ", ".join(Type)
    if not memory.type:
        yield f"has no type, which is one of {known}"
    elif memory.type not in tuple(Type):
        yield f"has the type {memory.type!r}, which is none of {known}"
    modified = header_text(header, "modified")
    if modified and not memory.stamped:
        yield f"has the time {modified!r} in modified, which is none"


def _relative(memory: Memory, document: Document) -> Iterator[str]:
    if memory.type == Type.PROJECT:
        text = document.content.decode("utf-8", "replace")
        for line, words in iter_relative_dates(text):
            yield f"says {words!r} in line {line}: write the date itself"
