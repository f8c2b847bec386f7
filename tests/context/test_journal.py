"""What a store acknowledged is in its journal first; a journal survives kills and full disks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cspace import beneath
from cspace.context.history import Action
from cspace.context.journal import (
    LOCK,
    MAX_LINE,
    NAME,
    Event,
    FileJournal,
    dump_event,
    iter_events,
    parse_event,
)
from cspace.context.records import Category, Finding, Kind, Origin
from cspace.context.store import ContextStore
from cspace.errors import CspaceError
from tests.conftest import Clock

NOW = datetime(2026, 4, 14, 10, 30, 0, 5, tzinfo=UTC)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "journal"


@pytest.fixture
def noted(root: Path, directory: Path, clock: Clock) -> ContextStore:
    """Return a store that keeps a journal."""
    return ContextStore(root, Origin(author="ann"), clock=clock, journal=FileJournal(directory))


def events(directory: Path) -> list[Event | None]:
    return list(iter_events(directory / NAME))


def test_every_write_is_a_line_with_its_whole_content(
    noted: ContextStore, directory: Path, root: Path
) -> None:
    logged = noted.log_finding(Finding("x", Category.BUG, "s"))
    first = (root / logged.path).read_bytes()
    noted.append_to_finding(logged.slug, "note", author="bob")
    second = (root / logged.path).read_bytes()
    noted.remove_entry(Kind.FINDING, logged.slug)
    told = [(one.action, one.slug, one.content, one.author) for one in events(directory) if one]
    assert told == [
        ("written", logged.slug, first, "ann"),
        ("written", logged.slug, second, "bob"),
        ("removed", logged.slug, second, "ann"),
    ]


@given(st.binary(max_size=200), st.text(max_size=20), st.sampled_from(Kind))
def test_an_event_comes_back_as_it_was(content: bytes, author: str, kind: Kind) -> None:
    author = author.encode("utf-8", "replace").decode()
    event = Event(NOW, Action.WRITTEN, kind, "2026-04-14-x", b"-" + content, author)
    line = dump_event(event)
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert parse_event(line) == event


@given(st.binary(max_size=300))
def test_no_line_is_too_strange_to_be_read(line: bytes) -> None:
    assert parse_event(line) is None or line


def test_the_largest_document_fits_into_a_line_however_json_escapes_it() -> None:
    event = Event(NOW, Action.WRITTEN, Kind.FINDING, "x", b"\x01" * beneath.MAX_BYTES, "ann")
    line = dump_event(event)
    assert len(line) <= MAX_LINE
    assert parse_event(line) == event


def test_a_journal_that_can_not_be_written_hazard_is_an_error_and_nothing_is_stored(
    noted: ContextStore, directory: Path, root: Path
) -> None:
    directory.mkdir()
    (directory / NAME).symlink_to(root / "elsewhere")
    with pytest.raises(CspaceError, match="can not be written"):
        noted.log_finding(Finding("x", Category.BUG, "s"))
    assert noted.folder(Kind.FINDING).list_stems() == ()
    assert not (root / "elsewhere").exists()


def test_a_record_stands_where_the_journal_fails_after_it_and_that_is_said(
    noted: ContextStore, directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory.mkdir()
    (directory / LOCK).mkdir()
    slug = noted.log_finding(Finding("x", Category.BUG, "s")).slug
    assert noted.read_entry(Kind.FINDING, slug).info.title == "x"
    assert f"finding {slug} is stored, but not in the journal" in capsys.readouterr().err


def test_a_line_that_a_kill_cut_short_hazard_spoils_no_other(
    noted: ContextStore, directory: Path
) -> None:
    noted.log_finding(Finding("x", Category.BUG, "s"))
    path = directory / NAME
    path.write_bytes(path.read_bytes()[:-40])
    noted.log_finding(Finding("y", Category.BUG, "s"))
    torn, whole = events(directory)
    assert torn is None
    assert whole is not None
    assert whole.slug == "2026-04-14-y"


def test_a_line_of_100_mb_hazard_is_passed_over(directory: Path) -> None:
    directory.mkdir()
    event = Event(NOW, Action.WRITTEN, Kind.FINDING, "x", b"c", "ann")
    with (directory / NAME).open("wb") as file:
        for _ in range(100):
            file.write(b"x" * (1 << 20))
        file.write(b"\n" + dump_event(event))
    assert events(directory) == [None, event]


def test_a_refused_write_leaves_no_line(noted: ContextStore, directory: Path) -> None:
    with pytest.raises(CspaceError):
        noted.append_to_finding("2026-04-14-none", "note")
    assert events(directory) == []


def test_lines_of_many_writers_and_a_taker_are_each_there_once(
    directory: Path, tmp_path: Path
) -> None:
    aside = tmp_path / "aside"
    aside.mkdir()
    journal = FileJournal(directory)

    def write(writer: int) -> None:
        for number in range(25):
            slug = f"{writer}-{number}"
            with journal.opened() as append:
                append(Event(NOW, Action.WRITTEN, Kind.FINDING, slug, b"c" * 3000))

    writers = [threading.Thread(target=write, args=(one,)) for one in range(4)]
    for one in writers:
        one.start()
    taken = 0
    while any(one.is_alive() for one in writers):
        journal.take(aside, f"{taken}.jsonl")
        taken += 1
    journal.take(aside, "last.jsonl")
    found = [one for path in aside.iterdir() for one in iter_events(path)]
    slugs = sorted(one.slug for one in found if one is not None)
    assert slugs == sorted(f"{writer}-{number}" for writer in range(4) for number in range(25))
    assert len(found) == 100


WRITER = """
import sys
from pathlib import Path
from cspace.context.journal import FileJournal
from cspace.context.records import Category, Finding
from cspace.context.store import ContextStore
store = ContextStore(Path(sys.argv[1]), journal=FileJournal(Path(sys.argv[2])))
while True:
    print(store.log_finding(Finding("x", Category.BUG, "s" * 5000)).slug, flush=True)
"""


def test_kill_9_while_journaling_hazard_keeps_every_acknowledged_record(
    root: Path, directory: Path, counts: Callable[[int, int], int]
) -> None:
    acknowledged: list[str] = []
    for number in range(counts(4, 100)):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, root, directory], stdout=subprocess.PIPE
        )
        assert writer.stdout is not None
        acknowledged += (writer.stdout.readline().decode().strip() for _ in range(number % 7 + 1))
        writer.send_signal(signal.SIGKILL)
        rest = writer.communicate()[0].decode().split("\n")
        acknowledged += rest[:-1]
    told = {one.slug: one.content for one in events(directory) if one is not None}
    place = root / ".cspace/context/findings"
    assert acknowledged
    for slug in acknowledged:
        assert told[slug] == (place / f"{slug}.md").read_bytes()
    assert os.listdir(directory)
