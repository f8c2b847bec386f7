"""What a host's settings of Claude Code say about its memory, read as it reads them."""

from __future__ import annotations

import json
import os
import posixpath
import stat
import sys
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from cspace import beneath
from cspace.errors import MALFORMED, CspaceError

MANAGED = Path(
    "/Library/Application Support/ClaudeCode" if sys.platform == "darwin" else "/etc/claude-code"
)
USER_FILE = "settings.json"
# In the order in which Claude Code prefers them.
PROJECT_FILES = (
    PurePosixPath(".claude/settings.local.json"),
    PurePosixPath(".claude/settings.json"),
)
DIRECTORY, ENABLED = "autoMemoryDirectory", "autoMemoryEnabled"
# Nothing shorter is taken for a directory of a memory.
_SHORTEST = 3


@dataclass(frozen=True, slots=True)
class Settings:
    """One file of settings.

    Attributes:
        path: which, for people.
        values: what Claude Code takes from it; nothing where it refuses the file.
        problem: why it refuses it; empty where it does not, and where there is none.
    """

    path: Path
    values: Mapping[str, object]
    problem: str = ""

    def text(self, key: str) -> str | None:
        """Return a text, None where there is none."""
        value = self.values.get(key)
        return _well_formed(value) if isinstance(value, str) else None

    @property
    def enabled(self) -> bool | None:
        """Whether the memory is on, None where the file does not say."""
        value = self.values.get(ENABLED)
        return value if isinstance(value, bool) else None

    @property
    def environment(self) -> dict[str, str]:
        """What the file sets in Claude Code's environment."""
        given = self.values.get("env")
        pairs = given.items() if isinstance(given, dict) else ()
        return {key: _written(value) for key, value in pairs}


def load_managed(directory: Path = MANAGED) -> Settings:
    """Read what the machine's administrator decided: one file, and those that go over it."""
    values: dict[str, object] = {}
    problems = []
    for path in (directory / "managed-settings.json", *_drop_ins(directory)):
        one = load_trusted(path)
        values |= one.values
        problems += [one.problem] if one.problem else []
    return Settings(directory, values, "; ".join(problems))


def _drop_ins(directory: Path) -> Iterator[Path]:
    try:
        yield from sorted((directory / "managed-settings.d").glob("*.json"))
    except OSError:
        return


def load_trusted(path: Path) -> Settings:
    """Read a file that only this user, or the machine's administrator, writes."""
    try:
        # O_NONBLOCK: a FIFO that nobody writes to must not hang.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            return Settings(path, {}, f"{path} is not a regular file")
        return _parse(path, beneath.read_limited(descriptor, str(path)))
    except (FileNotFoundError, NotADirectoryError):
        return Settings(path, {})
    except OSError as error:
        return Settings(path, {}, f"{path}: {error.strerror}")
    except CspaceError as error:
        return Settings(path, {}, str(error))


def load_project(directory: Path, file: PurePosixPath) -> Settings:
    """Read a file that comes with a repository: no link is followed."""
    path = directory / file
    try:
        return _parse(path, beneath.read_file(directory, file))
    except OSError:
        return Settings(path, {})
    except CspaceError as error:
        return Settings(path, {}, str(error))


def _parse(path: Path, content: bytes) -> Settings:
    if not content.strip():
        return Settings(path, {})
    try:
        values = json.loads(content.decode("utf-8", "replace").removeprefix("\ufeff"))
    except MALFORMED:
        return Settings(path, {}, f"{path} is not JSON, so Claude Code ignores it")
    if not isinstance(values, dict):
        return Settings(path, {}, f"{path} is no JSON object, so Claude Code ignores it")
    # A wrong type anywhere makes Claude Code ignore a whole file. We know the types of these.
    for key, kind, name in (
        (DIRECTORY, str, "text"),
        (ENABLED, bool, "boolean"),
        ("env", dict, "object"),
    ):
        if key in values and not isinstance(values[key], kind):
            problem = f"{path}: {key} is no {name}, so Claude Code ignores the whole file"
            return Settings(path, {}, problem)
    return Settings(path, values)


def _written(value: object) -> str:
    return _well_formed(value) if isinstance(value, str) else json.dumps(value)


def _well_formed(text: str) -> str:
    """Return a text without lone surrogates, as JavaScript hands it to the system."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def parse_directory(value: str, home: Path | None = None) -> Path | None:
    """Read a directory of a memory, None where Claude Code does not accept it.

    It must be absolute and of at least three characters.

    Args:
        home: what a leading `~/` stands for; None where it stands for itself. It may not lead to
            the home itself or out of it.
    """
    text = value
    if home is not None and value.startswith(("~/", "~\\")):
        below = posixpath.normpath(value[2:].lstrip("/") or ".")
        if below in (".", "..") or below.startswith("../"):
            return None
        text = str(home / below)
    text = unicodedata.normalize("NFC", posixpath.normpath(text) if text else "")
    if not text.startswith("/") or "\0" in text or len(text) < _SHORTEST:
        return None
    return Path("/" + text.lstrip("/"))
