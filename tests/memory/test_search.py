"""Searching curated memories: what is found, in which order, and on which lines."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cspace.errors import CspaceError, UsageError
from cspace.memory.changes import Change, Operation, apply_change
from cspace.memory.scopes import Kind, Scope
from cspace.memory.search import Hits, search_memory
from cspace.memory.store import MemoryStore

USER, GLOBAL = Scope(Kind.USER), Scope(Kind.GLOBAL)
WEB, ANYA = Scope(Kind.PROJECT, "web"), Scope(Kind.PERSONA, "anya")


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(tmp_path / "memory")


def write(
    store: MemoryStore, slug: str, body: str, *, scope: Scope = USER, about: str = ""
) -> None:
    change = Change(scope, slug, Operation.CREATE, body, description=about or "A rule")
    store.write(change, apply_change(None, change, store.now()), None)


def search(store: MemoryStore, query: str, *scopes: Scope, limit: int = 10) -> Hits:
    return search_memory(store, scopes or (USER,), query, limit=limit)


def slugs(found: Hits) -> list[str]:
    return [hit.slug for hit in found.hits]


def test_every_line_that_holds_a_word_comes_with_its_number_in_the_file(store: MemoryStore) -> None:
    write(
        store, "databases", "# Tests\n\nA real queue.\nNothing.\nThe Queue again.\n", about="Rows"
    )
    (hit,) = search(store, "queue").hits
    lines = store.read(USER, "databases").decode().splitlines()
    assert [text for _, text in hit.lines] == ["A real queue.", "The Queue again."]
    assert [lines[number - 1] for number, _ in hit.lines] == [text for _, text in hit.lines]


def test_a_hit_says_what_the_memory_is(store: MemoryStore) -> None:
    write(store, "databases", "Tests use a real one.\n", about="A real database")
    (hit,) = search(store, "database").hits
    assert (hit.scope, hit.slug, hit.type, hit.description) == (
        USER,
        "databases",
        "user",
        "A real database",
    )


def test_name_and_description_weigh_more_than_the_text(store: MemoryStore) -> None:
    write(store, "a-text", "queue queue queue queue\n")
    write(store, "b-described", "Nothing.\n", about="How the queue works")
    write(store, "c-queue", "Nothing.\n")
    assert slugs(search(store, "queue"))[2:] == ["a-text"]


def test_quoted_words_have_to_stand_together_even_over_a_line_end(store: MemoryStore) -> None:
    write(store, "apart", "A row. A database.\n")
    write(store, "together", "Never mock a real\ndatabase here.\n")
    (hit,) = search(store, '"real database"').hits
    assert (hit.slug, [text for _, text in hit.lines]) == (
        "together",
        ["Never mock a real", "database here."],
    )


@pytest.mark.parametrize("query", ["CAFE", "café", "cafe\u0301", "ΣΊΣΥΦΟΣ", "数据", "strasse"])
def test_case_accents_and_other_forms_of_a_character_do_not_matter(
    store: MemoryStore, query: str
) -> None:
    write(store, "places", "Im Café, Straße; Σίσυφος; 测试使用真实的数据库。\n")
    write(store, "other", "Nothing.\n")
    assert slugs(search(store, query)) == ["places"]


def test_what_cspace_writes_into_every_header_is_found_nowhere(store: MemoryStore) -> None:
    write(store, "one", "Text.\n")
    for word in ("metadata", "type", "user", "updated_at", "name", "description", "2026"):
        assert search(store, word).hits == ()


def test_a_line_of_the_header_is_shown_as_it_stands_there(store: MemoryStore) -> None:
    write(store, "one", "Text.\n", about="A heron")
    (hit,) = search(store, "heron").hits
    assert hit.lines == ((3, "description: A heron"),)


def test_keys_of_a_persons_own_in_a_header_are_searched(store: MemoryStore) -> None:
    write(store, "one", "Text.\n")
    path = store.directory(USER) / "one.md"
    path.write_text(path.read_text().replace("metadata:", "tags: [heron, crane]\nmetadata:"))
    (hit,) = search(store, "heron").hits
    assert hit.lines == ((4, "tags: [heron, crane]"),)


def test_a_description_is_found_by_what_its_escapes_stand_for(store: MemoryStore) -> None:
    store.directory(USER).mkdir(parents=True)
    text = '---\nname: one\ndescription: "a caf\\u00e9"\n---\nText.\n'
    (store.directory(USER) / "one.md").write_text(text)
    assert slugs(search(store, "café")) == ["one"]


def test_what_was_written_within_the_same_clock_tick_is_found(store: MemoryStore) -> None:
    write(store, "one", "Some heron.\n")
    path = store.directory(USER) / "one.md"
    before = path.stat()
    assert slugs(search(store, "heron")) == ["one"]
    path.write_bytes(path.read_bytes().replace(b"heron", b"crane"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert slugs(search(store, "heron")) == []
    assert slugs(search(store, "crane")) == ["one"]


def test_several_scopes_all_answer_each_with_its_name(store: MemoryStore) -> None:
    for scope in (USER, GLOBAL, WEB, ANYA):
        write(store, "same", "A heron.\n", scope=scope)
    found = search(store, "heron", WEB, ANYA, USER, GLOBAL)
    assert [hit.scope for hit in found.hits] == [WEB, ANYA, USER, GLOBAL]


def test_what_the_limit_leaves_out_is_counted(store: MemoryStore) -> None:
    for number in range(5):
        write(store, f"rule-{number}", "A heron.\n")
    found = search(store, "heron", limit=2)
    assert (len(found.hits), found.left_out) == (2, 3)


def test_a_type_leaves_out_the_others(store: MemoryStore) -> None:
    write(store, "one", "A heron.\n")
    assert search_memory(store, (USER,), "heron", type="user").hits
    assert not search_memory(store, (USER,), "heron", type="feedback").hits


def test_the_index_is_no_memory(store: MemoryStore) -> None:
    write(store, "one", "Text.\n", about="A heron")
    assert b"heron" in (store.directory(USER) / "MEMORY.md").read_bytes()
    assert slugs(search(store, "heron")) == ["one"]


def test_links_are_named_and_not_read(store: MemoryStore, tmp_path: Path) -> None:
    write(store, "one", "Text.\n")
    (tmp_path / "outside.md").write_text("A heron.\n")
    (store.directory(USER) / "link.md").symlink_to(tmp_path / "outside.md")
    found = search(store, "heron")
    assert (found.hits, [skipped.path for skipped in found.skipped]) == ((), ["user/link.md"])


def test_of_several_scopes_one_that_is_a_link_is_named_and_skipped(
    store: MemoryStore, tmp_path: Path
) -> None:
    write(store, "one", "A heron.\n")
    store.directory(GLOBAL).symlink_to(tmp_path)
    found = search(store, "heron", USER, GLOBAL)
    assert slugs(found) == ["one"]
    assert [skipped.path for skipped in found.skipped] == ["global"]
    with pytest.raises(CspaceError, match="a link"):
        search(store, "heron", GLOBAL)


def test_texts_that_are_no_utf_8_and_names_that_are_none_are_survived(store: MemoryStore) -> None:
    write(store, "one", "Text.\n")
    directory = os.fsencode(store.directory(USER))
    for name in (b"latin.md", b"\xe9.md"):
        with open(directory + b"/" + name, "wb") as file:  # noqa: PTH123  a name in bytes
            file.write(b"caf\xe9 heron\r\n\x00\x1b[31m heron")
    found = search(store, "heron")
    assert (slugs(found), [number for number, _ in found.hits[0].lines]) == (["latin"], [1, 2])
    assert [skipped.path for skipped in found.skipped] == [r"user/\udce9.md"]


def test_a_root_that_is_not_there_holds_nothing(store: MemoryStore) -> None:
    assert search(store, "heron", USER, GLOBAL) == Hits((), 0, ())


@pytest.mark.parametrize("query", ["", " ", "--", "x" * 1001])
def test_a_query_without_a_word_or_of_a_whole_text_is_refused(
    store: MemoryStore, query: str
) -> None:
    with pytest.raises(UsageError, match="query"):
        search(store, query)
