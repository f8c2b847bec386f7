"""Links, pipes, devices and the like in the store: none is followed, and none hides the rest."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cspace import proc
from cspace.context import listing
from cspace.context.digest import read_context
from cspace.context.listing import Wanted
from cspace.context.records import Category, Discovery, Finding, Kind
from cspace.context.search import search_context
from cspace.context.store import ContextStore
from cspace.errors import CspaceError
from tests.swapping import swapping

NAME = "2026-01-02-special.md"
FINDING = Finding("good", Category.BUG, "It is readable.")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    place = tmp_path / "outside"
    place.mkdir()
    (place / "secret.md").write_text("---\ntitle: SECRET\n---\n", encoding="utf-8")
    return place


def bind(place: Path) -> None:
    with contextlib.chdir(place.parent), socket.socket(socket.AF_UNIX) as server:
        server.bind(place.name)


SPECIALS: dict[str, Callable[[Path, Path], None]] = {
    "link": lambda place, outside: place.symlink_to(outside / "secret.md"),
    "dangling link": lambda place, outside: place.symlink_to(outside / "new.md"),
    "link to a directory": lambda place, outside: place.symlink_to(outside),
    "link to itself": lambda place, _: place.symlink_to(place),
    "directory": lambda place, _: place.mkdir(),
    "pipe": lambda place, _: os.mkfifo(place),
    "socket": lambda place, _: bind(place),
    "device": lambda place, _: os.mknod(place, 0o20666, os.makedev(1, 5)),
}


@pytest.mark.parametrize("kind", SPECIALS)
def test_it_is_skipped_counted_and_named_and_the_rest_is_shown(
    store: ContextStore, root: Path, outside: Path, kind: str
) -> None:
    if kind == "device" and os.geteuid() != 0:
        pytest.skip("only root can make a device")
    good = store.log_finding(FINDING).slug
    place = root / ".cspace/context/findings" / NAME
    SPECIALS[kind](place, outside)
    for found in (listing.list_findings(store, Wanted()), search_context(store, "readable")):
        assert [one.slug for one in found.entries] == [good]
        assert [Path(one.path).name for one in found.skipped] == [NAME]
    digest = read_context(store, ("findings",)).text
    assert NAME in digest
    assert "SECRET" not in digest


@pytest.mark.parametrize("kind", [kind for kind in SPECIALS if kind != "device"])
def test_it_is_neither_read_nor_written_nor_removed_nor_replaced(
    store: ContextStore, root: Path, outside: Path, kind: str
) -> None:
    place = root / ".cspace/context/findings" / NAME
    place.parent.mkdir(parents=True)
    SPECIALS[kind](place, outside)
    before = place.lstat()
    for call in (
        lambda: store.read_entry(Kind.FINDING, NAME),
        lambda: store.append_to_finding(NAME, "note"),
        lambda: store.remove_entry(Kind.FINDING, NAME),
    ):
        with pytest.raises(CspaceError, match=NAME):
            call()
    assert place.lstat() == before
    assert os.listdir(outside) == ["secret.md"]


@pytest.mark.parametrize("where", [".cspace", ".cspace/context", ".cspace/context/findings"])
def test_a_link_in_place_of_a_directory_of_the_store_is_not_followed(
    store: ContextStore, root: Path, outside: Path, where: str
) -> None:
    for below in (".cspace/context/findings", "context/findings", "findings", "."):
        (outside / below).mkdir(parents=True, exist_ok=True)
        (outside / below / NAME).write_text("SECRET", encoding="utf-8")
    (root / where).parent.mkdir(parents=True, exist_ok=True)
    (root / where).symlink_to(outside)
    before = proc.run("find", str(outside), "-printf", "%p %s %T@\n")
    for call in (
        lambda: store.log_finding(FINDING),
        lambda: store.append_to_finding(NAME, "note"),
        lambda: store.remove_entry(Kind.FINDING, NAME),
        lambda: store.read_entry(Kind.FINDING, NAME),
        lambda: listing.list_findings(store, Wanted()),
    ):
        with pytest.raises(CspaceError):
            call()
    assert proc.run("find", str(outside), "-printf", "%p %s %T@\n") == before


@pytest.mark.parametrize("taken", ["file", "dangling link", "directory"])
def test_a_new_record_goes_past_every_name_that_is_taken(
    store: ContextStore, root: Path, outside: Path, taken: str
) -> None:
    directory = root / ".cspace/context/discoveries"
    directory.mkdir(parents=True)
    for number in range(1, 400):
        counter = f"-{number}" if number > 1 else ""
        place = directory / f"2026-04-14-x{counter}.md"
        if taken == "file":
            place.touch()
        else:
            SPECIALS[taken](place, outside)
    assert store.log_discovery(Discovery("x", "f", "i")).slug == "2026-04-14-x-400"
    assert os.listdir(outside) == ["secret.md"]


def test_a_title_of_any_length_and_script_makes_a_name_that_a_file_can_have(
    store: ContextStore, root: Path
) -> None:
    for title in ("x" * 300, "決" * 300, "é" * 300, "../" * 100):
        path = store.log_discovery(Discovery(title, "f", "i")).path
        assert (root / path).read_bytes().startswith(b"---\n")
        assert len(Path(path).name.encode()) <= 80


def test_a_name_of_255_bytes_that_a_hand_made_is_listed(store: ContextStore, root: Path) -> None:
    directory = root / ".cspace/context/findings"
    directory.mkdir(parents=True)
    stem = "2026-01-02-" + "é" * 120 + "x"
    (directory / f"{stem}.md").write_bytes(b"---\ntitle: long\nstatus: open\n---\n")
    assert len(f"{stem}.md".encode()) == 255
    found = listing.list_findings(store, Wanted())
    assert [info.slug for info in found.entries] == [stem]


SWAPS = 400


def test_a_finding_that_becomes_a_link_while_it_is_read_hazard_shows_and_changes_nothing_outside(
    store: ContextStore, root: Path, outside: Path
) -> None:
    logged = store.log_finding(FINDING)
    place, secret = root / logged.path, outside / "secret.md"
    before = secret.read_bytes()
    naive = []
    with swapping(place, secret):
        for number in range(SWAPS):
            naive.append(place.read_bytes() == before)
            with contextlib.suppress(CspaceError):
                assert store.read_entry(Kind.FINDING, logged.slug).info.title == "good"
            with contextlib.suppress(CspaceError):
                store.append_to_finding(logged.slug, f"note {number}")
            assert not any(
                "SECRET" in i.title for i in listing.list_findings(store, Wanted()).entries
            )
    # Plain reads do fall for it.
    assert any(naive)
    assert secret.read_bytes() == before


# After the imports, since another user may not be able to read this Python.
UNPRIVILEGED = """
import os, sys
from pathlib import Path
from cspace.context import listing
from cspace.context.records import Kind
from cspace.context.store import ContextStore
from cspace.errors import CspaceError
os.setgroups([]); os.setgid(54321); os.setuid(54321)
store = ContextStore(Path("."))
found = listing.list_findings(store, listing.Wanted())
print([info.slug for info in found.entries], [(one.path, one.reason) for one in found.skipped])
try:
    store.append_to_finding(sys.argv[1], "note")
except CspaceError as error:
    print(error)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become a user who may not read")
def test_a_file_that_only_another_user_may_read_is_skipped_and_named(
    store: ContextStore, root: Path
) -> None:
    good, hidden = store.log_finding(FINDING), store.log_finding(FINDING)
    (root / hidden.path).chmod(0)
    words = [sys.executable, "-c", UNPRIVILEGED, hidden.slug]
    done = subprocess.run(words, cwd=root, capture_output=True, text=True, check=True)
    listed, refused = done.stdout.splitlines()
    assert listed == f"['{good.slug}'] [('{hidden.path}', 'Permission denied')]"
    assert refused == f"{hidden.path}: Permission denied"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_a_file_that_can_not_be_replaced_is_named_and_stays(
    store: ContextStore, root: Path
) -> None:
    slug = store.log_finding(FINDING).slug
    path = root / ".cspace/context/findings" / f"{slug}.md"
    before = path.read_bytes()
    proc.run("mount", "--bind", str(path), str(path))
    try:
        with pytest.raises(CspaceError, match=rf"{slug}\.md: "):
            store.append_to_finding(slug, "note")
    finally:
        proc.run("umount", str(path))
    assert path.read_bytes() == before
    assert list(path.parent.glob(".*")) == []
