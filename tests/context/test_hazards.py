"""What other memory stores did to their users, each once, and what happens here instead."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from cspace.context import listing
from cspace.context.listing import Wanted
from cspace.context.records import Category, Finding, Kind
from cspace.context.store import ContextStore
from cspace.errors import CspaceError
from tests.context.test_concurrency import start

FINDING = Finding("x", Category.BUG, "Before.\n## Notes\nAfter.\n## Updates\nAnd after that.")
READER = """
import os, sys
for number in range(int(sys.argv[2])):
    with open(sys.argv[1], "rb") as file:
        content = file.read()
    assert content.startswith(b"---\\n") and content.endswith(b"\\n"), content[-80:]
    assert b"## Updates\\n### " in content
"""
APPENDER = """
import sys
from pathlib import Path
from cspace.context.store import ContextStore
for number in range(10):
    ContextStore(Path(sys.argv[1])).append_to_finding(sys.argv[2], f"{sys.argv[3]}:{number}")
"""
# Counts what is opened, listed and looked through.
COUNTER = """
import sys
from pathlib import Path
from cspace.context.records import Category, Finding, Kind
from cspace.context.store import ContextStore
root = Path(sys.argv[1])
root.mkdir()
store, new = ContextStore(root), Finding("x", Category.BUG, "s")
slug = store.log_finding(new).slug
store.append_to_finding(slug, "makes the lock")
for number in range(int(sys.argv[2])):
    (root / f".cspace/context/findings/2026-01-01-{{number}}.md").write_bytes(b"---\\n---\\n")
seen = 0
def count(event, arguments):
    global seen
    seen += event in {{"open", "os.listdir", "os.scandir"}}
sys.addaudithook(count)
store.{call}
print(seen)
"""


def test_an_append_deletes_what_stands_after_a_heading_hazard_it_stays(
    store: ContextStore, root: Path
) -> None:
    logged = store.log_finding(FINDING)
    before = (root / logged.path).read_bytes()
    store.append_to_finding(logged.slug, "note\n## Details\nof the note")
    assert (root / logged.path).read_bytes().startswith(before)
    entry = store.read_entry(Kind.FINDING, logged.slug)
    assert entry.sections["Summary"] == FINDING.summary
    assert entry.updates[-1].note == "note\n## Details\nof the note"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\u2028", "\x85"])
def test_a_newline_in_a_title_forges_front_matter_hazard_it_is_one_line(
    store: ContextStore, root: Path, end: str
) -> None:
    title = f"x{end}status: resolved{end}---{end}"
    logged = store.log_finding(replace(FINDING, title=title))
    header = (root / logged.path).read_text(encoding="utf-8").split("---\n")[1]
    assert yaml.safe_load(header)["title"] == title
    assert sum(line.startswith("status:") for line in header.splitlines()) == 1
    assert store.read_entry(Kind.FINDING, logged.slug).info.status == "open"


def test_a_comma_splits_a_tag_hazard_it_stays_one(store: ContextStore) -> None:
    slug = store.log_finding(replace(FINDING, tags=("a, b", "c]"))).slug
    assert store.read_entry(Kind.FINDING, slug).info.tags == ("a, b", "c]")
    found = listing.list_findings(store, Wanted(tags=frozenset({"a, b"})))
    assert [info.slug for info in found.entries] == [slug]


def test_unknown_keys_vanish_hazard_they_stay_where_they_are(
    store: ContextStore, root: Path
) -> None:
    logged = store.log_finding(FINDING)
    path = root / logged.path
    path.write_bytes(path.read_bytes().replace(b"kind:", b"x-owner: [me, you] # us\nkind:"))
    store.append_to_finding(logged.slug, "note", status="resolved")
    assert b"\nx-owner: [me, you] # us\nkind:" in path.read_bytes()


def test_torn_and_empty_reads_hazard_none_of_30_000_is(
    store: ContextStore, root: Path, counts: Callable[[int, int], int]
) -> None:
    logged = store.log_finding(FINDING)
    writers = [start(APPENDER, root, logged.slug, name) for name in range(8)]
    reads = counts(1_000, 10_000)
    readers = [start(READER, root / logged.path, reads) for _ in range(3)]
    assert [process.wait() for process in (*writers, *readers)] == [0] * 11
    assert len(store.read_entry(Kind.FINDING, logged.slug).updates) == 81


def test_a_linked_file_outside_is_rewritten_hazard_it_is_neither_read_nor_written(
    store: ContextStore, root: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("theirs", encoding="utf-8")
    slug = store.log_finding(FINDING).slug
    (root / ".cspace/context/findings/linked.md").symlink_to(outside)
    with pytest.raises(CspaceError, match=r"linked\.md: a link"):
        store.append_to_finding("linked", "note")
    assert outside.read_text(encoding="utf-8") == "theirs"
    assert [info.slug for info in listing.list_findings(store, Wanted()).entries] == [slug]


def test_brackets_in_a_text_crash_the_output_hazard_it_is_shown_as_it_is(repo: Path) -> None:
    title = "[/foo] [bold]x[/] {y} %s"
    ContextStore(repo).log_finding(replace(FINDING, title=title))
    program = Path(sys.executable).with_name("cspace")
    for words in (["findings", "list"], ["context", "list"]):
        done = subprocess.run([program, *words], cwd=repo, capture_output=True, check=True)
        assert title in done.stdout.decode()


@pytest.mark.parametrize("call", ["append_to_finding(slug, 'note')", "log_finding(new)"])
def test_write_cost_grows_with_the_store_hazard_a_write_opens_as_many_files_in_any(
    tmp_path: Path, call: str
) -> None:
    opened = []
    for records in (10, 1_000):
        words: list[str | Path] = [
            sys.executable,
            "-c",
            COUNTER.format(call=call),
            tmp_path / str(records),
        ]
        done = subprocess.run([*words, str(records)], capture_output=True, text=True, check=True)
        opened.append(int(done.stdout))
    assert opened[0] == opened[1] > 0
