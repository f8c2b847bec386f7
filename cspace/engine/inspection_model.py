"""What a doctor asks of an engine and of what runs in it, and what it gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from cspace.proc import Result


@dataclass(frozen=True, slots=True)
class Facts:
    """What an engine says of itself.

    Attributes:
        root: where it keeps images and containers, on its own machine.
        time: what its clock shows, aware; None where it says no time.
    """

    version: str
    root: Path
    time: datetime | None


class Inspection(Protocol):
    """The questions of a doctor; each raises EngineUnavailable when the engine does not answer."""

    def facts(self) -> Facts:
        """Return what the engine says of itself."""

    def ask(self, container: str, argv: Sequence[str], *, timeout: float) -> Result:
        """Run a program in a container that runs, as its user, and return what it said.

        Whoever works in the container can say anything there, and every exit code is an answer.

        Args:
            container: its id or name.
            timeout: seconds; after them the program may go on in the container.

        Raises:
            CommandFailed: no answer within that time, or more than ANSWER_BYTES of it.
        """
