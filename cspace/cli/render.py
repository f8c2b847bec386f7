"""The only renderer: text and JSON come from the same typed result.

stdout is data; progress, notices, errors and hints go to stderr. No colours are used.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from cspace.cli.bar import Bar
from cspace.errors import EXIT_BUG, CspaceError
from cspace.events import Event, State

if TYPE_CHECKING:
    from cspace.docstore.opened import Skipped

SCHEMA_VERSION = 1
# Build steps are worth a line each; Compose's and pip's own chatter is not.
BUILD_LINE_LENGTH = 100
_BUILD_STEP = re.compile(r"#\d+ \[")
_writing = threading.Lock()
_bar = Bar()


@dataclasses.dataclass(frozen=True, slots=True)
class _Watcher:
    """What sees each event first, and prints what is for a person."""

    take: Callable[[Event], bool]
    write: Callable[[str], object]


def _write_line(text: str) -> None:
    _bar.erase(sys.stderr)
    print(text, file=sys.stderr, flush=True)  # noqa: T201


_PLAIN = _Watcher(lambda _: False, _write_line)
# Of the process, since events come from several threads.
_watcher = _PLAIN


@contextlib.contextmanager
def watching(
    take: Callable[[Event], bool], write: Callable[[str], object] = _write_line
) -> Iterator[None]:
    """Let something else see events, and write what is for a person, while the block lasts.

    Args:
        take: returns whether it has shown an event; one that it has not becomes a line.
    """
    global _watcher  # noqa: PLW0603  see above
    _watcher = _Watcher(take, write)
    try:
        yield
    finally:
        _watcher = _PLAIN


def prepare_streams() -> None:
    """Stand in for streams that were closed, and escape what the terminal's encoding lacks."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # The lowest free number is the closed one's, so no file of ours gets it.
            stream = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115  for good
            setattr(sys, name, stream)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def show_json(**parts: Any) -> None:
    """Print one JSON document: the schema's version, then the parts."""
    document = {"schema_version": SCHEMA_VERSION} | plain(parts)
    end_progress()
    print(json.dumps(document, indent=2), flush=True)  # noqa: T201


def show_json_line(**parts: Any) -> None:
    """Print one of several JSON documents, each a line; several threads may."""
    line = json.dumps({"schema_version": SCHEMA_VERSION} | plain(parts))
    with _writing:
        _bar.finish(sys.stderr)
        print(line, flush=True)  # noqa: T201


def show_lines(lines: Iterable[str]) -> None:
    """Print lines of text."""
    end_progress()
    for line in lines:
        print(printable(line), flush=True)  # noqa: T201


def show_document(content: bytes) -> None:
    """Print a file: byte for byte, but on a terminal with control characters as escapes."""
    if sys.stdout.isatty():
        text = content.decode("utf-8", "backslashreplace").removesuffix("\n")
        show_lines(line.removesuffix("\r") for line in text.split("\n"))
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()


def show_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print columns as wide as they need to be."""
    end_progress()
    cells = [[printable(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    padded = ([cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in cells)
    print("\n".join("  ".join(row).rstrip() for row in padded), flush=True)  # noqa: T201


def show_error(error: CspaceError) -> None:
    """Print an expected failure and the next step."""
    note(f"error: {error}")
    if error.hint:
        note(f"hint: {error.hint}")


def note(text: str) -> None:
    """Print for a person, on stderr."""
    with _writing:
        # Not splitlines, to which a carriage return in a name begins a line of ours.
        lines = map(printable, text.removesuffix("\n").split("\n"))
        _watcher.write("\n".join(lines))


def note_skipped(skipped: Sequence[Skipped], doctor: str) -> None:
    """Say on stderr what could not be read, and which command says what is wrong with it."""
    for one in skipped:
        note(f"skipped {one.path}: {one.reason}")
    if skipped:
        note(f"{count(len(skipped), 'file')} skipped; see: {doctor}")


def size(count: int) -> str:
    """Write a number of bytes for a person."""
    amount, units = float(count), ["B", "KiB", "MiB", "GiB", "TiB"]
    while amount >= 1024 and len(units) > 1:
        amount, units = amount / 1024, units[1:]
    return f"{amount:.0f} {units[0]}" if units[0] == "B" else f"{amount:.1f} {units[0]}"


def count(number: int, noun: str) -> str:
    """Write how many there are of something whose plural ends in s."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def moment(time: datetime) -> str:
    """Write a time for a person, to the second."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def day(time: datetime) -> str:
    """Write the day of a time for a person."""
    return f"{time.astimezone(UTC):%Y-%m-%d}"


def end_progress() -> None:
    """Take a progress bar away."""
    with _writing:
        _bar.finish(sys.stderr)


def progress(event: Event) -> None:
    """Show one event: as a plain line on stderr, or as a bar on a terminal."""
    if not _watcher.take(event):
        _show_event(event)


def _show_event(event: Event) -> None:
    match event.state:
        case State.ADVANCED:
            text = printable(f"{event.subject} {event.phase} {event.detail}".rstrip())
            with _writing:
                _bar.advance(event, sys.stderr, text)
            return
        case State.STARTED:
            said = f"… {event.detail}"
        case State.DONE | State.FAILED if event.seconds is None:
            end_progress()  # of what has a bar, and no lines
            return
        case State.DONE:
            said = f"{event.seconds or 0:.1f} s"
        case State.FAILED:
            said = f"failed after {event.seconds or 0:.1f} s"
        case State.NOTICE:
            note(f"note: {event.detail}")
            return
        case State.OUTPUT if _BUILD_STEP.match(event.detail):
            said = event.detail[:BUILD_LINE_LENGTH]
        case _:
            return
    note(f"{event.subject:<10} {event.phase:<10} {said}".rstrip())


def printable(text: str) -> str:
    """Show control characters as escapes: a name from an instance must not move the cursor."""
    if text.isprintable():
        return text  # nearly always, and a table of thousands asks for every cell
    return "".join(
        char if char.isprintable() or char == "\t" else char.encode("unicode_escape").decode()
        for char in text
    )


def plain(value: Any) -> Any:
    """Turn a result into what JSON can hold."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, Exception):
        return _plain_error(value)
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, datetime):
        return value.isoformat()
    # Bytes of a name that are not UTF-8 become lone surrogates, which stand for just these bytes.
    return os.fsdecode(value) if isinstance(value, bytes | PurePath) else value


def _plain_error(error: Exception) -> dict[str, Any]:
    if isinstance(error, CspaceError):
        return {"message": str(error), "hint": error.hint, "exit_code": error.exit_code}
    said = f"this is a bug in cspace: {type(error).__name__}: {error}"
    return {"message": said, "hint": None, "exit_code": EXIT_BUG}
