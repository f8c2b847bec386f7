"""Shows what came back from instances, on a terminal and in a pipe."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Generator, Iterable, Sequence
from typing import TYPE_CHECKING

from cspace import proc
from cspace.cli import render

if TYPE_CHECKING:
    from cspace.instance.snapshot_manifest import LeftOut
    from cspace.instance.work_view import Change, Clash, Commit
    from cspace.lifecycle.bring_back import Difference
    from cspace.lifecycle.compare import Against, Comparison
    from cspace.lifecycle.host import Host
    from cspace.lifecycle.take_back import Pulled, Pulling

MOST_NAMED, MOST_PATHS, MOST_LINES = 10, 200, 200
SHORT = 12


def path_text(raw: bytes) -> str:
    """Write a path for a person."""
    from cspace.instance.snapshot_manifest import show  # noqa: PLC0415  loaded by then

    return show(raw)


def few(paths: Sequence[bytes]) -> str:
    """Name the first paths, and say how many more there are."""
    named = ", ".join(map(path_text, paths[:MOST_NAMED]))
    more = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
    return named + more


def show_patch(host: Host, old: str, new: str, paths: Sequence[str]) -> None:
    """Write a patch as it is; on a terminal with what would move the cursor as escapes."""
    from cspace.instance.work_view import iter_patch  # noqa: PLC0415  loaded by then

    for_person = sys.stdout.isatty()
    pieces = iter_patch(host.project.root, old, new, paths, binary=not for_person)
    if for_person:
        render.show_lines(_iter_lines(pieces))
        return
    for piece in pieces:
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()


def note_sensitive(host: Host, pulling: Pulling) -> None:
    """Show the changes that a person has to look at: every path, and the patch's first lines."""
    from cspace.instance.work_view import iter_patch  # noqa: PLC0415  loaded by then

    for path in pulling.sensitive[:MOST_PATHS]:
        render.note(f"  {path_text(path)}")
    paths = tuple(f":(top,literal){os.fsdecode(path)}" for path in pulling.sensitive[:MOST_PATHS])
    ends = (pulling.base, pulling.new)
    lines = _iter_lines(iter_patch(host.project.root, *ends, paths, binary=False))
    for line in itertools.islice(lines, MOST_LINES):
        render.note(line)
    if len(pulling.sensitive) > MOST_PATHS or next(lines, None) is not None:
        render.note(f"… and more: git diff {pulling.base[:SHORT]} {pulling.new[:SHORT]}")
    lines.close()


def _iter_lines(pieces: Iterable[bytes]) -> Generator[str, None, None]:
    """Yield lines; one that does not end is cut."""
    left = b""
    for piece in pieces:
        *whole, left = (left + piece).split(b"\n")
        if len(left) > proc.MAX_LINE_BYTES:
            whole, left = [*whole, left], b""
        yield from (line.decode("utf-8", "backslashreplace") for line in whole)
    if left:
        yield left.decode("utf-8", "backslashreplace")


def show_changes(changes: Sequence[Change]) -> None:
    rows = [
        (
            each.status,
            "-" if each.added is None else f"+{each.added}",
            "-" if each.removed is None else f"-{each.removed}",
            f"{path_text(each.before)} -> {path_text(each.path)}"
            if each.before
            else path_text(each.path),
        )
        for each in changes
    ]
    if rows:
        render.show_table(("CHANGE", "ADDED", "REMOVED", "PATH"), rows)


def note_lacking(found: Difference) -> None:
    if not found.changes:
        render.note(f"{found.name} changed nothing")
    _note_left_out(found.left_out)
    if found.moving:
        render.note(
            f"note: files of {found.name} change all the time: this is of several moments;"
            f" at rest: cspace stop {found.name}, then again"
        )


def _note_left_out(left_out: Sequence[LeftOut]) -> None:
    for each in left_out[:MOST_NAMED]:
        render.note(f"note: left out: {path_text(each.path)}: {each.reason}")
    if len(left_out) > MOST_NAMED:
        render.note(f"note: left out: {len(left_out) - MOST_NAMED} more")


def commit_lines(commit: Commit) -> Iterable[str]:
    yield f"commit {commit.id}"
    yield f"Author: {commit.author} <{commit.email}>"
    yield f"Date:   {render.moment(commit.time)}"
    yield ""
    yield from (f"    {line}".rstrip() for line in commit.message.split("\n"))
    for namespace, text in commit.notes.items():
        yield ""
        yield f"Notes ({namespace}):"
        yield from (f"    {line}".rstrip() for line in text.split("\n"))
    yield ""


def note_uncommitted(name: str, count: int | None) -> None:
    if count:
        files = render.count(count, "file")
        render.note(f"note: {files} not committed yet in {name}: cspace diff {name}")


def note_pulled(pulled: Pulled) -> None:
    for notice in pulled.notices:
        render.note(f"note: {notice}")
    note_uncommitted(pulled.name, pulled.uncommitted)


def note_clashes(clashes: Iterable[Clash]) -> None:
    for line in _clash_lines(clashes):
        render.note(line)


def _clash_lines(clashes: Iterable[Clash]) -> Iterable[str]:
    for each in clashes:
        yield f"  {each.kind}: {', '.join(path_text(path) for path in each.paths)}"


def comparison_lines(found: Comparison) -> Iterable[str]:
    yield f"base      {found.base[:SHORT]}"
    yield f"both      {render.count(len(found.both), 'file')}"
    yield from (f"  {path_text(path)}" for path in found.both)
    yield f"only {found.first}: {found.first_only}, only {found.second}: {found.second_only}"
    for merged in found.merges:
        yield _merge_line(merged)
        yield from _clash_lines(merged.clashes)


def _merge_line(merged: Against) -> str:
    what = f"{merged.theirs} into {merged.ours}"
    if merged.problem:
        return f"{what}: {merged.problem}"
    clashes = len(merged.clashes)
    return f"{what}: {render.count(clashes, 'conflict') if clashes else 'no conflict'}"
