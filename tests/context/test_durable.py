"""A record that was acknowledged is on the disk: content first, then its name, then the answer."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cspace import proc
from cspace.context.records import Category, Finding, Kind
from cspace.context.store import ContextStore
from cspace.errors import CspaceError

# Says what is asked of the system, in order; what is synced is named by its descriptor.
WATCHED = """
import os, sys
from pathlib import Path
from cspace.context.records import Category, Finding, Origin
from cspace.context.store import ContextStore

def watch(frame, event, called):
    if event != "c_call" or called not in {os.fsync, os.link, os.replace, os.mkdir, os.unlink}:
        return
    known = frame.f_locals
    number = known.get("descriptor", known.get("parent"))
    synced = os.path.basename(os.readlink(f"/proc/self/fd/{number}")) if called is os.fsync else ""
    said.append(f"{called.__name__} {synced}".strip())

said = []
store = ContextStore(Path(sys.argv[1]), Origin("venus", "venus"))
sys.setprofile(watch)
slug = store.log_finding(Finding("x", Category.BUG, "s")).slug
said.append("logged")
store.append_to_finding(slug, "first: makes the lock")
said.clear() if sys.argv[2] == "append" else None
store.append_to_finding(slug, "note")
sys.setprofile(None)
print("\\n".join(said[: said.index("logged")] if sys.argv[2] == "log" else said))
"""


def watched(root: Path, call: str) -> list[str]:
    """Return what one call asks of the system, names of temporary files shortened."""
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, root, call], capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    return ["fsync temporary" if line.endswith("-tmp") else line for line in lines]


def test_a_new_record_is_synced_before_its_name_and_its_directories_after_theirs(
    root: Path,
) -> None:
    assert watched(root, "log") == [
        *("mkdir", "fsync project", "mkdir", "fsync .cspace", "mkdir", "fsync context"),
        *("fsync temporary", "link", "fsync findings", "unlink"),
    ]


def test_an_update_is_synced_before_it_replaces_the_finding(root: Path) -> None:
    assert watched(root, "append") == ["fsync temporary", "replace", "unlink", "fsync findings"]


@pytest.fixture
def small(tmp_path: Path) -> Iterator[ContextStore]:
    """Return a store on a disk of its own that can be filled."""
    place = tmp_path / "disk"
    place.mkdir()
    proc.run("mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place))
    yield ContextStore(place)
    proc.run("umount", str(place))


def fill(place: Path) -> Path:
    """Leave no byte free."""
    filler = place / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (4096, 1):
            try:
                while file.write(b"x" * size):
                    pass
            except OSError:
                continue
    return filler


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a disk to fill")
def test_a_full_disk_changes_nothing_and_leaves_nothing(small: ContextStore) -> None:
    slug = small.log_finding(Finding("x", Category.BUG, "s")).slug
    before = sorted(path for path in small.root.rglob("*") if path.name != "filler")
    text = small.read_entry(Kind.FINDING, slug).text
    filler = fill(small.root)
    for call in (
        lambda: small.log_finding(Finding("y", Category.BUG, "s" * 10_000)),
        lambda: small.append_to_finding(slug, "n" * 10_000),
    ):
        with pytest.raises(CspaceError, match="No space left on device") as full:
            call()
        assert full.value.hint == "free some space, then try again: nothing was changed"
    after = {path for path in small.root.rglob("*") if not path.name.endswith(".lock")}
    assert after == {*before, filler}
    assert small.read_entry(Kind.FINDING, slug).text == text
    filler.unlink()
    small.append_to_finding(slug, "n" * 10_000)
    assert len(small.read_entry(Kind.FINDING, slug).updates) == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a disk to fill")
def test_a_first_record_on_a_full_disk_can_be_logged_later(small: ContextStore) -> None:
    filler = fill(small.root)
    with pytest.raises(CspaceError, match="No space left on device"):
        small.log_finding(Finding("x", Category.BUG, "s" * 10_000))
    assert list(small.root.rglob("*.cspace-tmp")) == []
    filler.unlink()
    slug = small.log_finding(Finding("x", Category.BUG, "s" * 10_000)).slug
    assert (small.root / ".cspace/context/direction.md").stat().st_size > 0
    assert small.read_entry(Kind.FINDING, slug).sections["Summary"] == "s" * 10_000
