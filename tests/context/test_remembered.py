"""What is remembered between calls never shows: an answer equals what is on disk."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cspace.context.listing import Wanted, list_entries, list_findings
from cspace.context.records import Category, Finding, Info, Kind, Listing, Status
from cspace.context.remembered import MAX_RECORD, MAX_REMEMBERED, Remembered
from cspace.context.store import ContextStore
from cspace.docstore.opened import Document
from tests.conftest import CHECKOUT, Clock

# Two ticks of the slowest clock that Linux stamps files with.
TICKS = 0.02
OPEN = Wanted(status=frozenset({"open"}))
EDITOR = """
import itertools, os, sys
from pathlib import Path
path = Path(sys.argv[1])
old = path.read_bytes()
versions = [old.replace(b"title: old", b"title: new"), old]
before = path.stat()
for number in itertools.count():
    aside = path.with_name(".aside")
    target = path if number % 2 else aside
    target.write_bytes(versions[number % 2])
    os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))
    if target == aside:
        aside.replace(path)
    other = path.with_name(f"2026-01-01-other-{number % 7}.md")
    other.unlink() if other.exists() else other.write_bytes(versions[0])
"""
COUNTER = """
import sys
from pathlib import Path
from cspace.context import digest, listing, search
from cspace.context.records import Kind
from cspace.context.store import ContextStore
opened = []
def note(event, arguments):
    if event == "open" and str(arguments[0]).endswith(".md"):
        opened.append(arguments[0])
store = ContextStore(Path(sys.argv[1]), settling=0.02)
wanted = listing.Wanted(status=frozenset({"open"}))
calls = {
    "list": lambda: listing.list_entries(store, limit=3),
    "context": lambda: digest.read_context(store, ("direction", "decisions"), limit=2),
    "filter": lambda: listing.list_findings(store, wanted),
    "since": lambda: listing.list_entries(store, (Kind.FINDING,), period=listing.Period(
        since=__import__("datetime").date(2026, 4, 1))),
}
for name in sys.argv[3:]:
    calls[name]()
sys.addaudithook(note)
calls[sys.argv[2]]()
print(*sorted(opened))
"""


@pytest.fixture
def quick(root: Path, clock: Clock) -> ContextStore:
    """Return a store that remembers as soon as it is safe on this machine's file systems."""
    return ContextStore(root, clock=clock, settling=TICKS)


def log(store: ContextStore, title: str, status: Status = Status.OPEN) -> str:
    return store.log_finding(Finding(title, Category.BUG, "s", status=status)).path


def settle(root: Path) -> None:
    """Return when every file's last change is older than the ticks."""
    newest = max(path.lstat().st_ctime for path in root.rglob("*"))
    while time.time() - newest <= TICKS:
        pass


def titles(store: ContextStore) -> list[str]:
    return sorted(info.title for info in list_findings(store, OPEN).entries)


def test_what_did_not_change_is_remembered(quick: ContextStore, root: Path) -> None:
    for number in range(3):
        log(quick, str(number))
    settle(root)
    assert titles(quick) == ["0", "1", "2"]
    assert len(quick.remembered(Kind.FINDING)) == 3
    assert titles(quick) == ["0", "1", "2"]


def test_what_just_changed_is_not_trusted(root: Path, clock: Clock) -> None:
    # A second edit within one tick could leave size and times as they are.
    store = ContextStore(root, clock=clock, settling=3600)
    log(store, "x")
    assert titles(store) == ["x"]
    assert len(store.remembered(Kind.FINDING)) == 0


def test_an_edit_of_the_same_size_with_a_reset_time_is_seen(
    quick: ContextStore, root: Path
) -> None:
    path = root / log(quick, "old")
    before = path.stat()
    settle(root)
    assert titles(quick) == ["old"]
    path.write_bytes(path.read_bytes().replace(b"title: old", b"title: new"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert titles(quick) == ["new"]


def test_another_file_of_the_same_size_and_time_in_its_place_is_seen(
    quick: ContextStore, root: Path
) -> None:
    path = root / log(quick, "old")
    before = path.stat()
    other = path.with_name("aside")
    other.write_bytes(path.read_bytes().replace(b"title: old", b"title: new"))
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    settle(root)
    assert titles(quick) == ["old"]
    other.replace(path)
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert titles(quick) == ["new"]


def test_added_removed_and_swapped_files_are_seen(quick: ContextStore, root: Path) -> None:
    first, second = root / log(quick, "first"), root / log(quick, "second")
    settle(root)
    assert titles(quick) == ["first", "second"]
    first.unlink()
    second.unlink()
    second.symlink_to("/etc/passwd")
    log(ContextStore(root, clock=quick.clock), "third")
    found = list_findings(quick, OPEN)
    assert [info.title for info in found.entries] == ["third"]
    assert [one.path for one in found.skipped] == [str(second.relative_to(root))]
    settle(root)
    assert titles(quick) == ["third"]
    assert quick.remembered(Kind.FINDING).stems == {"2026-04-14-third"}


def test_a_directory_that_is_swapped_for_another_is_seen(quick: ContextStore, root: Path) -> None:
    directory = (root / log(quick, "old")).parent
    settle(root)
    assert titles(quick) == ["old"]
    directory.rename(directory.with_name("away"))
    assert titles(quick) == []
    log(quick, "new")
    assert titles(quick) == ["new"]


def answers(store: ContextStore) -> tuple[Listing[Info], ...]:
    return (
        list_findings(store, OPEN),
        list_findings(store, Wanted(tags=frozenset({"x"})), limit=3),
        list_entries(store, limit=4),
        list_entries(store, (Kind.FINDING,), limit=100),
    )


def change(path: Path, chance: random.Random) -> None:
    """Make one of the changes that people, git and agents make."""
    status = chance.choice(["open", "fine"])
    text = f"---\ntitle: {chance.randrange(10)}\nstatus: {status}\ntags: [x]\n---\n"
    before = path.stat() if path.exists() else None
    match chance.randrange(5):
        case 0:
            path.unlink(missing_ok=True)
        case 1:
            other = path.with_name("aside")
            other.write_text(text, encoding="utf-8")
            other.replace(path)
        case 2:
            other = path.with_name(f"2026-01-0{chance.randrange(1, 9)}-moved.md")
            if before is not None:
                path.rename(other)
        case _:
            path.write_text(text, encoding="utf-8")
    if before is not None and path.exists() and chance.randrange(2):
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("seed", range(4))
def test_after_any_changes_it_answers_as_a_new_store_does(
    quick: ContextStore, root: Path, seed: int, counts: Callable[[int, int], int]
) -> None:
    chance = random.Random(seed)  # noqa: S311  a test that can be repeated
    directory = (root / log(quick, "first")).parent
    remembered = 0
    for _ in range(counts(150, 5000)):
        day = chance.randrange(1, 9)
        for _ in range(chance.randrange(3)):
            change(directory / f"2026-01-0{day}-{chance.randrange(4)}.md", chance)
        assert answers(quick) == answers(ContextStore(root))
        remembered = max(remembered, len(quick.remembered(Kind.FINDING)))
    assert remembered > 3


def test_while_another_process_edits_every_answer_is_one_that_was_on_disk(
    quick: ContextStore, root: Path
) -> None:
    path = root / log(quick, "old")
    for number in range(20):
        log(quick, f"calm {number:02}")
    calm = {f"calm {number:02}" for number in range(20)}
    settle(root)
    editor = subprocess.Popen([sys.executable, "-c", EDITOR, path])
    seen: list[set[str]] = []

    def look() -> None:
        for _ in range(150):
            found = list_findings(quick, Wanted(category=frozenset({"bug"})), limit=100)
            seen.append({info.title for info in found.entries})

    readers = [threading.Thread(target=look) for _ in range(3)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    editor.kill()
    editor.wait()
    assert len(seen) == 450
    assert all(calm <= one for one in seen)
    assert set().union(*seen) - calm == {"old", "new"}
    assert answers(quick) == answers(ContextStore(root))


def test_a_huge_header_is_not_kept(quick: ContextStore, root: Path) -> None:
    directory = (root / log(quick, "x")).parent
    text = f"---\ntitle: {'y' * MAX_RECORD}\nstatus: open\n---\n"
    (directory / "2026-01-01-huge.md").write_text(text, encoding="utf-8")
    settle(root)
    assert [len(title) for title in titles(quick)] == [1, MAX_RECORD]
    assert quick.remembered(Kind.FINDING).stems == {"2026-04-14-x"}


def test_what_is_kept_has_a_bound(tmp_path: Path) -> None:
    memory = Remembered(settling=0)
    document = Document(b"", tmp_path.stat(), steady=True)
    title = "y" * (MAX_RECORD // 2)
    info = Info(Kind.FINDING, "x", "x", title, created=None, updated=None)
    for number in range(2 * MAX_REMEMBERED // len(title)):
        memory.keep(str(number), document, info, started=time.time_ns() + 10**9)
    assert 0 < len(memory) * len(title) < MAX_REMEMBERED
    memory.forget(memory.stems)
    memory.keep("again", document, info, started=time.time_ns() + 10**9)
    assert memory.stems == {"again"}


@pytest.fixture
def filled(store: ContextStore, root: Path, clock: Clock) -> Path:
    for day in range(5):
        for number in range(2):
            log(store, f"{day} {number}", Status.OPEN if number else Status.RESOLVED)
        clock.advance(days=1)
    settle(root)
    return root


def opened(root: Path, *calls: str) -> list[str]:
    """Return which files the first call opens, after all the others in the same process."""
    done = subprocess.run(
        [sys.executable, "-c", COUNTER, root, *calls],
        capture_output=True, text=True, check=True, cwd=CHECKOUT,
    )  # fmt: skip
    return done.stdout.split()


def test_a_list_opens_only_the_days_that_it_shows(filled: Path) -> None:
    assert opened(filled, "list") == [
        "2026-04-17-3-0.md",
        "2026-04-17-3-1.md",
        "2026-04-18-4-0.md",
        "2026-04-18-4-1.md",
    ]


def test_a_digest_opens_no_findings_that_it_does_not_show(filled: Path) -> None:
    assert opened(filled, "context") == ["direction.md"]


@pytest.mark.parametrize("call", ["filter", "since"])
def test_a_second_filter_opens_nothing(filled: Path, call: str) -> None:
    assert len(opened(filled, call)) == 10
    assert opened(filled, call, "filter") == []
