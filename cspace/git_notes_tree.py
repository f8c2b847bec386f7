"""One commit's tree of notes: read, changed, and made into objects, whatever its fan-out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from cspace.errors import CspaceError
from cspace.git_import import AUTHOR, BlobReader
from cspace.git_pack import NewObject

# A directory that would have more notes gets directories for them, of the form that git makes.
MOST_IN_DIRECTORY = 256
CAREFUL = "Notes added by 'cspace notes'"
_TREE, _FILE = b"40000", b"100644"
_HEX = frozenset(b"0123456789abcdef")


@dataclass(slots=True)
class _Directory:
    """A directory of a notes tree; the ones below it are read when somebody asks for them.

    Attributes:
        entries: mode and id of what git has there, by name.
        opened: directories below, which may differ from what git has.
    """

    entries: dict[bytes, tuple[bytes, str]] = field(default_factory=dict)
    opened: dict[bytes, _Directory] = field(default_factory=dict)
    is_changed: bool = False

    def has_directory(self, name: bytes) -> bool:
        return name in self.opened or self.entries.get(name, (b"", ""))[0] == _TREE

    def has_directories(self) -> bool:
        return bool(self.opened) or any(mode == _TREE for mode, _ in self.entries.values())


@dataclass(slots=True)
class NotesTree:
    """The notes of one commit, read as far as somebody asks for them.

    Attributes:
        tip: the commit, None where there is none yet.
        said: the commit as git has it.
        reader: of the repository's other objects.
        new: objects that git has to take up, by id.
        restored: notes that stand there as well, though git does not have them so.
        message: of the commit to be; CAREFUL where the notes that were there have been looked at.
    """

    tip: str | None
    said: bytes
    reader: BlobReader
    _root: _Directory
    algorithm: str = "sha1"
    new: dict[str, NewObject] = field(default_factory=dict)
    restored: dict[str, bytes] = field(default_factory=dict)
    message: str = "Notes changed by 'cspace notes'"

    def read(self, name: str) -> bytes | None:
        """Return the note of an object, None where it has none.

        Raises:
            CspaceError: it has one that can not be read: nothing may take its place.
        """
        return self.restored[name] if name in self.restored else self.read_stored(name)

    def read_stored(self, name: str) -> bytes | None:
        """Return the note as git has it; errors as of `read`."""
        *_, (directory, rest) = self._way(name.encode("ascii"))
        if (known := directory.entries.get(rest)) is None:
            return None
        content = self.reader.read(known[1])
        if content is None:
            raise CspaceError(f"the note of {name} can not be read: {known[1]}", hint="git fsck")
        return content

    def was_looked_at(self) -> bool:
        """Tell whether the last who wrote looked at what was there; also where nobody wrote."""
        return self.tip is None or self.said.endswith(f"\n\n{CAREFUL}\n".encode("ascii"))

    def commit(self, changes: Mapping[str, bytes | None], at: datetime) -> str:
        """Return a commit with some notes changed; it and all in it are among what is new."""
        for name, content in (self.restored | dict(changes)).items():
            self.algorithm = "sha1" if len(name) == 40 else "sha256"
            self._put(name.encode("ascii"), content)
        tree = _dump(self._root, self._store) or self._store("tree", b"")
        by = f"{AUTHOR} {int(at.timestamp())} +0000"
        parent = f"parent {self.tip}\n" if self.tip else ""
        text = f"tree {tree}\n{parent}author {by}\ncommitter {by}\n\n{self.message}\n"
        return self._store("commit", text.encode("ascii"))

    def _put(self, name: bytes, content: bytes | None) -> None:
        way = list(self._way(name))
        directory, rest = way[-1]
        if content is None:
            directory.entries.pop(rest, None)
        else:
            if rest not in directory.entries and self._makes_way(directory, len(rest)):
                directory = directory.opened.setdefault(rest[:2], _Directory())
                rest = rest[2:]
                way.append((directory, rest))
            directory.entries[rest] = (_FILE, self._store("blob", content))
        for each, _ in way:
            each.is_changed = True

    def _makes_way(self, directory: _Directory, length: int) -> bool:
        """Tell whether a new note goes below a directory; its notes go there when it is full."""
        if length <= 2 or directory.has_directories():
            return length > 2
        if len(directory.entries) < MOST_IN_DIRECTORY:
            return False
        notes = [one for one in directory.entries if len(one) == length and _HEX.issuperset(one)]
        for name in notes:
            below = directory.opened.setdefault(name[:2], _Directory(is_changed=True))
            below.entries[name[2:]] = directory.entries.pop(name)
        return True

    def _way(self, name: bytes) -> Iterator[tuple[_Directory, bytes]]:
        """Yield each directory on the way to a note, with what is left of the name there."""
        directory = self._root
        yield directory, name
        while name not in directory.entries and directory.has_directory(name[:2]):
            directory, name = self._open(directory, name[:2]), name[2:]
            yield directory, name

    def _open(self, above: _Directory, name: bytes) -> _Directory:
        if name not in above.opened:
            above.opened[name] = _load(self.reader, above.entries[name][1])
        return above.opened[name]

    def _store(self, kind: str, content: bytes) -> str:
        new = NewObject(kind, content)
        one = new.id(self.algorithm)
        self.new[one] = new
        return one


def open_notes(reader: BlobReader, ref: str) -> NotesTree:
    """Open the notes that a ref is at; where there is no such ref there are none.

    Raises:
        CspaceError: it is at no commit.
    """
    found = reader.read_object(ref)
    if found is None:
        return NotesTree(None, b"", reader, _Directory())
    if found.kind != "commit":
        raise CspaceError(f"{ref} is no commit of notes", hint=f"look at it: git show {ref}")
    # Read here: git would be asked once more for the commit's tree.
    tree = found.content[len(b"tree ") :][: len(found.id)].decode("ascii", "replace")
    return NotesTree(found.id, found.content, reader, _load(reader, tree))


def _load(reader: BlobReader, name: str) -> _Directory:
    found = reader.read_object(name)
    if found is None or found.kind != "tree":
        raise CspaceError(f"{name} is no tree of notes", hint="look at it: git fsck")
    directory, at, width = _Directory(), 0, len(found.id) // 2
    while at < len(found.content):
        end = found.content.index(b"\0", at)
        mode, _, path = found.content[at:end].partition(b" ")
        at = end + 1 + width
        directory.entries[path] = (mode, found.content[end + 1 : at].hex())
    return directory


def _dump(directory: _Directory, store: Callable[[str, bytes], str]) -> str | None:
    """Store what changed in a directory and below, and return its id; None for an empty one."""
    entries = dict(directory.entries)
    for name, below in directory.opened.items():
        if below.is_changed:
            entries.pop(name, None)
            if one := _dump(below, store):
                entries[name] = (_TREE, one)
    # Git sorts a directory as if its name ended with a slash.
    ordered = sorted(entries.items(), key=lambda one: one[0] + b"/" * (one[1][0] == _TREE))
    lines = [b"%b %b\0%b" % (mode, name, bytes.fromhex(one)) for name, (mode, one) in ordered]
    return store("tree", b"".join(lines)) if lines else None
