"""Files written by hand or by older tools are read, listed and appended to without damage."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cspace.beneath import MAX_BYTES
from cspace.context import listing
from cspace.context.digest import read_context
from cspace.context.listing import Wanted
from cspace.context.reading import MAX_TOTAL_BYTES
from cspace.context.records import Entry, Kind
from cspace.context.search import search_context
from cspace.context.store import ContextStore
from cspace.errors import CspaceError

FOREIGN = {
    "older-tool": (
        b"---\ntitle: It's broken: badly\ndate: 2026-01-02\nkind: finding\nstatus: open\n"
        b"category: bug\ntags: a, b\nrelated: \nowner: me\n---\n\n## Summary\n# Big\ntext\n\n"
        b"## Details\n## Not a section\n\n## Updates\n\n"
        b"### 2026-01-02T03:04:05Z \xe2\x80\x94 @x \xe2\x80\x94 status: open\n\nfiled\n"
    ),
    "crlf": (
        b"\xef\xbb\xbf---\r\ntitle: 'Quoted'\r\nstatus: acknowledged\r\ntags:\r\n  - a\r\n---\r\n"
        b"## Summary\r\ntext\r\n\r\n## Updates\r\n"
        b"### 2026-01-02T03:04:05Z \xe2\x80\x94 @x \xe2\x80\x94 status: open\r\nfiled\r\n"
    ),
    "no-final-newline": b"---\nstatus: open\n---\n## Summary\ntext\n\n## Updates",
    "no-updates": b"---\nstatus: open\ncategory: bug\n---\njust text",
    "latin-1": b"---\ntitle: caf\xe9\nstatus: open\n---\n## Summary\n\xe9\xe8\n",
    "two-statuses": b"---\nstatus: open\nstatus: wontfix\n---\n",
}


@pytest.fixture(params=FOREIGN)
def foreign(request: pytest.FixtureRequest, root: Path) -> Path:
    path = root / ".cspace/context/findings" / f"2026-01-02-{request.param}.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(FOREIGN[request.param])
    return path


def read(store: ContextStore, path: Path) -> Entry:
    return store.read_entry(Kind.FINDING, path.name)


def test_it_is_read_and_listed(store: ContextStore, foreign: Path) -> None:
    entry = read(store, foreign)
    assert entry.text == foreign.read_bytes().decode("utf-8", "replace")
    assert [info.slug for info in listing.list_findings(store, Wanted()).entries] == [foreign.stem]


def test_an_append_keeps_every_byte(store: ContextStore, foreign: Path) -> None:
    before = foreign.read_bytes()
    updates = read(store, foreign).updates
    store.append_to_finding(foreign.stem, "seen\r\n\n")
    assert foreign.read_bytes().startswith(before)
    assert [one.note for one in read(store, foreign).updates] == [
        *(one.note for one in updates),
        "seen\r\n\n",
    ]


def test_a_new_status_changes_one_line(store: ContextStore, foreign: Path) -> None:
    before = foreign.read_bytes().split(b"\n")
    store.append_to_finding(foreign.stem, "done", status="resolved")
    after = foreign.read_bytes().split(b"\n")
    changed = [(old, new) for old, new in zip(before, after, strict=False) if old != new]
    assert len(changed) == 1
    assert changed[0][1].rstrip() == b"status: resolved"
    assert read(store, foreign).info.status == "resolved"


def test_what_an_older_tool_wrote_is_understood(store: ContextStore, root: Path) -> None:
    path = root / ".cspace/context/findings/2026-01-02-x.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(FOREIGN["older-tool"])
    entry = read(store, path)
    assert entry.info.title == "It's broken: badly"
    assert (entry.info.tags, entry.info.related) == (("a", "b"), ())
    assert entry.sections["Summary"] == "# Big\ntext"
    assert entry.sections["Details"] == "## Not a section"
    assert [one.note.strip() for one in entry.updates] == ["filed"]


def test_a_finding_without_a_header_can_be_noted_on_but_not_given_a_status(
    store: ContextStore, root: Path
) -> None:
    path = root / ".cspace/context/findings/2026-01-02-x.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"# Heading\ntext")
    assert read(store, path).info.title == "Heading"
    with pytest.raises(CspaceError, match="status can not be replaced safely"):
        store.append_to_finding(path.stem, "x", status="resolved")
    assert path.read_bytes() == b"# Heading\ntext"
    assert store.append_to_finding(path.stem, "x").status == "open"


def test_one_bad_file_never_breaks_the_rest(store: ContextStore, root: Path) -> None:
    directory = root / ".cspace/context/findings"
    directory.mkdir(parents=True)
    (directory / "2026-01-02-good.md").write_bytes(FOREIGN["older-tool"])
    (directory / "2026-01-03-link.md").symlink_to("/etc/passwd")
    (directory / "2026-01-04-directory.md").mkdir()
    found = listing.list_findings(store, Wanted())
    assert [info.slug for info in found.entries] == ["2026-01-02-good"]
    assert {Path(one.path).stem: one.reason for one in found.skipped} == {
        "2026-01-04-directory": "not a regular file",
        "2026-01-03-link": "a link or another file stands where cspace expects its own",
    }


def test_large_files_hurt_no_more_together_than_one_does(store: ContextStore, root: Path) -> None:
    directory = root / ".cspace/context/findings"
    directory.mkdir(parents=True)
    for day in range(1, 29):
        with (directory / f"2026-01-{day:02}-x.md").open("wb") as file:
            file.truncate(MAX_BYTES)
    (directory / "2026-02-01-good.md").write_bytes(FOREIGN["older-tool"])
    with (directory / "2026-02-02-huge.md").open("wb") as file:
        file.truncate(10 << 30)
    found = search_context(store, "text")
    assert [hit.slug for hit in found.entries] == ["2026-02-01-good"]
    huge, rest = found.skipped
    assert (huge.path, huge.reason) == (
        ".cspace/context/findings/2026-02-02-huge.md",
        f"larger than {MAX_BYTES} bytes",
    )
    read = MAX_TOTAL_BYTES // MAX_BYTES
    assert (rest.path, rest.reason.split(",")[0]) == (
        ".cspace/context/findings",
        f"{28 - read} not read",
    )


def test_a_human_file_that_is_too_large_is_named_and_not_read(
    store: ContextStore, root: Path
) -> None:
    (root / ".cspace/context").mkdir(parents=True)
    with (root / ".cspace/context/direction.md").open("wb") as file:
        file.truncate(10 << 30)
    assert "(not readable: " in read_context(store, ("direction",)).text


def test_a_note_does_not_become_the_title_of_a_finding_without_one(
    store: ContextStore, root: Path
) -> None:
    path = root / ".cspace/context/findings/2026-01-02-x.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"---\nstatus: open\n---\n")
    store.append_to_finding(path.stem, "# Forged\n")
    assert read(store, path).info.title == "2026-01-02-x"


def test_a_file_name_that_can_not_be_shown_hides_nothing_else(
    store: ContextStore, root: Path
) -> None:
    directory = root / ".cspace/context/findings"
    directory.mkdir(parents=True)
    (directory / "2026-01-02-good.md").write_bytes(FOREIGN["older-tool"])
    (directory / "2026-01-03-a\n- forged.md").write_bytes(FOREIGN["older-tool"])
    Path(os.fsdecode(bytes(directory) + b"/2026-01-04-\xff.md")).write_bytes(b"")
    found = listing.list_findings(store, Wanted())
    assert [info.slug for info in found.entries] == ["2026-01-02-good"]
    assert [Path(one.path).name for one in found.skipped] == [
        "2026-01-03-a\\n- forged.md",
        "2026-01-04-\\udcff.md",
    ]


def test_a_note_does_not_close_a_header_that_a_person_left_open(
    store: ContextStore, root: Path
) -> None:
    path = root / ".cspace/context/findings/2026-01-02-x.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"---\ntitle: x\nstatus: open\n")
    with pytest.raises(CspaceError, match="part of the finding's front matter") as refused:
        store.append_to_finding(path.stem, "see:\n\n---\n\nmore")
    assert "`---`" in (refused.value.hint or "")
    assert path.read_bytes() == b"---\ntitle: x\nstatus: open\n"
