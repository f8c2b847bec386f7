"""One store, written by four containers and the host at once, as different users."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cspace.context.records import Category, Finding, Kind
from cspace.context.store import ContextStore
from cspace.files import list_abandoned
from tests.conftest import OUTSIDE
from tests.e2e.conftest import NewPerson
from tests.e2e.person import PROJECT_LABEL, ROOT_LABEL, Person, docker

pytestmark = [pytest.mark.docker, pytest.mark.e2e]

# What is inside an instance does not seed the human files.
WRITER = """
import os, sys
from pathlib import Path
from cspace.context.records import Category, Finding, Origin
from cspace.context.store import ContextStore
root, slug, count, name = sys.argv[1:]
store = ContextStore(Path(root), Origin(name, name))
print("ready", flush=True)
os.open(f"{root}/.cspace/context/go", os.O_RDONLY)
for number in range(int(count)):
    store.append_to_finding(slug, f"{name}:{number}")
    store.log_finding(Finding("same title", Category.BUG, f"{name}:{number}"))
"""
LISTER = """
import select, sys
from pathlib import Path
from cspace.context import listing
from cspace.context.store import ContextStore
store = ContextStore(Path(sys.argv[1]))
counts, last = [], False
while not last:
    # Once more after the end, when everything is there.
    last = bool(select.select([0], [], [], 0)[0])
    found = listing.list_findings(store, listing.Wanted(), limit=1000)
    assert found.skipped == (), found.skipped
    assert all(info.status == "open" and info.updated for info in found.entries)
    counts.append(len(found.entries))
assert counts == sorted(counts), "a finding was there and then was not"
print(len(counts), counts[-1])
"""
USERS = (1000, 1001, 70000, 0)
WRITERS = 8


@pytest.fixture(scope="module")
def person(new: NewPerson) -> Iterator[Person]:
    """Return somebody with an instance, of which these tests take the image."""
    with new() as one:
        one.cspace("init")
        one.cspace("up", "mercury")
        yield one
        one.cspace("down", "--discard", "mercury")


@pytest.fixture
def store(person: Person) -> Iterator[ContextStore]:
    """Return the host's store, in which every user may write."""
    store = ContextStore(person.repo)
    findings = person.repo / ".cspace/context/findings"
    findings.chmod(0o777)
    os.mkfifo(findings.parent / "go")
    (findings.parent / "go").chmod(0o666)
    yield store
    (findings.parent / "go").unlink()
    for path in findings.iterdir():
        path.unlink()


class Place:
    """Starts writers on the host, or in a container of our image as some user."""

    def __init__(self, person: Person, store: ContextStore, slug: str, count: int) -> None:
        self.person, self.store, self.words = person, store, (slug, str(count))
        self.image = docker("inspect", "--format={{.Image}}", person.container("mercury")).strip()

    def host(self, name: str) -> subprocess.Popen[bytes]:
        return self._start(sys.executable, "-c", WRITER, self.store.root, *self.words, name)

    def container(self, name: str, user: int) -> subprocess.Popen[bytes]:
        labels = {PROJECT_LABEL: self.person.id, ROOT_LABEL: str(self.person.repo)}
        return self._start(
            *("docker", "run", "--rm", "--network=none", f"--user={user}:{user}"),
            *(f"--label={key}={value}" for key, value in labels.items()),
            f"--volume={self.store.root}/.cspace/context:/srv/project/.cspace/context",
            *("--entrypoint=/opt/cspace/bin/python", self.image, "-c", WRITER, "/srv/project"),
            *(*self.words, name),
        )

    def _start(self, *words: str | Path) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            words, env=OUTSIDE, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
        )


@contextlib.contextmanager
def listing_all_the_time(root: Path) -> Iterator[list[int]]:
    """List the findings again and again; gives how often and how many in the end, once done."""
    found: list[int] = []
    with subprocess.Popen(
        [sys.executable, "-c", LISTER, root], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        yield found
        out, _ = process.communicate()
        assert process.returncode == 0
        found += map(int, out.split())


def observe(findings: Path, writers: list[subprocess.Popen[bytes]]) -> int:
    """Read every finding raw until the writers are done; return how many reads that were."""
    reads = 0
    while any(writer.poll() is None for writer in writers):
        for path in findings.glob("[!.]*.md"):
            content = path.read_bytes()
            assert content.startswith(b"---\ntitle: ")
            assert b"## Updates\n### " in content
            assert content.endswith(b"\n")
            reads += 1
    return reads


def test_lost_lines_and_torn_reads_hazard_8_writers_in_4_containers_and_on_the_host_have_none(
    person: Person, store: ContextStore, counts: Callable[[int, int], int]
) -> None:
    count = counts(6, 50)
    slug = store.log_finding(Finding("shared", Category.BUG, "s")).slug
    findings = person.repo / ".cspace/context/findings"
    place = Place(person, store, slug, count)
    writers = [place.container(f"container-{n}", USERS[n % 4]) for n in range(WRITERS - 2)]
    writers += [place.host(f"host-{n}") for n in range(2)]
    assert {writer.stdout.readline() for writer in writers if writer.stdout} == {b"ready\n"}
    with listing_all_the_time(person.repo) as listed:
        go = os.open(findings.parent / "go", os.O_WRONLY)
        reads = observe(findings, writers)
        os.close(go)
    assert [writer.communicate()[0] for writer in writers] == [b""] * WRITERS
    assert [writer.returncode for writer in writers] == [0] * WRITERS
    check(store, findings, slug, [f"{w}:{n}" for w in names() for n in range(count)])
    assert listed[1] == WRITERS * count + 1
    assert min(reads, listed[0]) > 0


def names() -> list[str]:
    return [*(f"container-{n}" for n in range(WRITERS - 2)), "host-0", "host-1"]


def check(store: ContextStore, findings: Path, slug: str, written: list[str]) -> None:
    """Everything is there once, nothing else is, and no lock is held."""
    entries = {stem: store.load_entry(Kind.FINDING, stem) for stem in findings_of(store)}
    notes = [update.note for update in entries.pop(slug).updates]
    assert Counter(notes) == Counter(["filed", *written])
    assert Counter(entry.sections["Summary"] for entry in entries.values()) == Counter(written)
    day = slug.removesuffix("-shared")
    numbers = [f"{day}-same-title", *(f"{day}-same-title-{n}" for n in range(2, len(written) + 1))]
    assert set(entries) == set(numbers)
    assert list_abandoned(findings) == ()
    assert {path.name for path in findings.iterdir()} == {
        *(f"{stem}.md" for stem in (slug, *numbers)),
        f"{slug}.md.lock",
    }
    # Every user's turn came: the file is of the one who wrote last.
    assert {path.stat().st_uid for path in findings.glob("*.md")} >= {1000, 1001, 70000, 0}


def findings_of(store: ContextStore) -> tuple[str, ...]:
    return store.folder(Kind.FINDING).list_stems()
