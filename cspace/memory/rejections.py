"""What was rejected: so that the same text is not proposed again and again.

An empty file named by a hash, which instances see, says that a text was; what a person said of it
lies beside the proposals, which they do not see.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath

from cspace import beneath, files
from cspace.clock import parse_time
from cspace.errors import MALFORMED, CspaceError
from cspace.files import Owner
from cspace.memory.changes import Change
from cspace.memory.sameness import digest_of

REJECTED = PurePosixPath(".rejected")
_SAID = PurePosixPath(".proposals/.said")


@dataclass(frozen=True, slots=True)
class Rejection:
    """A decision against a text.

    Attributes:
        reason: what the person said; empty where they said nothing, or where this is an instance.
        time: None where nobody knows.
        proposal: the id of the one that was rejected; empty where nobody knows.
    """

    reason: str = ""
    time: datetime | None = None
    proposal: str = ""


@dataclass(frozen=True, slots=True)
class Rejections:
    """The rejected texts of one memory root."""

    root: Path
    owner: Owner | None = None

    def find(self, change: Change) -> Rejection | None:
        """Return what was said of a change's text, None when nothing was."""
        digest = digest_of(change)
        try:
            with beneath.pinned(self.root, REJECTED) as directory:
                (directory / digest).lstat()
        except OSError:
            return None
        return self._said(digest)

    def add(self, change: Change, rejection: Rejection) -> None:
        """Remember a change's text."""
        digest = digest_of(change)
        values = {
            "reason": rejection.reason,
            "time": rejection.time.isoformat() if rejection.time else "",
            "proposal": rejection.proposal,
        }
        with beneath.pinned(self.root, _SAID, create=True, owner=self.owner) as directory:
            files.write_atomic(
                directory / digest, f"{json.dumps(values)}\n", mode=0o600, owner=self.owner
            )
        with (
            beneath.pinned(self.root, REJECTED, create=True, owner=self.owner) as directory,
            contextlib.suppress(FileExistsError),
        ):
            files.publish(directory / digest, b"", owner=self.owner)

    def _said(self, digest: str) -> Rejection:
        try:
            said = json.loads(beneath.read_file(self.root, _SAID / digest))
            time = parse_time(str(said["time"]))
            return Rejection(str(said["reason"]), time, str(said["proposal"]))
        except (OSError, CspaceError, *MALFORMED):
            return Rejection()
