"""Every error that cspace raises on purpose.

CspaceError             exit 1   anything expected; carries an optional hint
├── UsageError          exit 2   the command line or the settings are wrong
├── NotFound            exit 3   no such instance, document, scope or proposal
├── Conflict            exit 4   someone else changed it first; re-read and retry
├── CommandFailed       exit 5   git, docker or a script said no
├── EngineUnavailable   exit 6   Docker does not answer
├── PartialFailure      exit 7   some of a batch failed
└── Diagnosed           exit 8   doctor found something
"""

from __future__ import annotations

# Of every other exception.
EXIT_BUG = 70
# What a document of any shape can raise while it is read.
MALFORMED = (ValueError, KeyError, TypeError, OverflowError, RecursionError)


class CspaceError(Exception):
    """An expected failure.

    Args:
        message: what is wrong, naming the field and its value.
        hint: the next step, as a command or a path.
    """

    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def expected(error: CspaceError | OSError) -> CspaceError:
    """Turn what the system refused, a full disk or a missing permission, into our error."""
    if isinstance(error, CspaceError):
        return error
    what = error.strerror or str(error)
    return CspaceError(f"{error.filename}: {what}" if error.filename else what)


class UsageError(CspaceError):
    """The command line or the settings are wrong."""

    exit_code = 2


class NotFound(CspaceError):
    """What was named does not exist."""

    exit_code = 3


class Conflict(CspaceError):
    """Someone else changed or holds it; re-read and retry."""

    exit_code = 4


class CommandFailed(CspaceError):
    """A program that cspace called said no."""

    exit_code = 5


class EngineUnavailable(CspaceError):
    """Docker does not answer. Never read as "nothing to do"."""

    exit_code = 6


class PartialFailure(CspaceError):
    """Some of a batch failed; each result was reported."""

    exit_code = 7


class Diagnosed(CspaceError):
    """Doctor found something; each diagnosis was shown."""

    exit_code = 8
