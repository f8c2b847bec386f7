"""Which persona is at work: a marker in the memory's root names it."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from cspace import beneath
from cspace.errors import CspaceError, UsageError
from cspace.files import Owner, ensure_directory, write_atomic
from cspace.memory.projects import list_names
from cspace.memory.scopes import Kind, check_name

MARKER = ".persona"


@dataclass(frozen=True, slots=True)
class Personas:
    """The personas of one memory root, and which of them is active."""

    root: Path
    owner: Owner | None = None

    def active(self) -> str | None:
        """Return the active persona's name, None where none is.

        Raises:
            CspaceError: the marker can not be read, or names none.
        """
        try:
            content = beneath.read_file(self.root, PurePosixPath(MARKER))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise CspaceError(
                f"{self.root / MARKER} can not be read: {error.strerror}",
                hint="cspace memory persona clear",
            ) from None
        name = content.decode("utf-8", "replace").removesuffix("\n")
        try:
            return check_name("persona", name)
        except UsageError as error:
            raise CspaceError(
                f"{self.root / MARKER}: {error}", hint="cspace memory persona clear"
            ) from None

    def use(self, name: str) -> None:
        """Make a persona the active one; it need not have memories yet.

        Raises:
            UsageError: it is no name.
        """
        check_name("persona", name)
        ensure_directory(self.root, owner=self.owner)
        write_atomic(self.root / MARKER, f"{name}\n", owner=self.owner)

    def clear(self) -> None:
        """Let no persona be active, whatever the marker holds."""
        with contextlib.suppress(FileNotFoundError):
            (self.root / MARKER).unlink()

    def names(self) -> tuple[str, ...]:
        """List the personas that have a directory."""
        return list_names(self.root, Kind.PERSONA)
