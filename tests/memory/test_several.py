"""Reads of several scopes: each match with its scope, and one bad scope hides no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from cspace.errors import CspaceError, NotFound, UsageError
from cspace.memory.scopes import Kind, Scope
from cspace.memory.several import list_several, read_indexes, read_several
from cspace.memory.store import MemoryStore

USER, WEB, GLOBAL = Scope(Kind.USER), Scope(Kind.PROJECT, "web"), Scope(Kind.GLOBAL)


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    for scope, slug in ((USER, "rule"), (WEB, "rule"), (WEB, "other")):
        path = tmp_path / scope.relative / f"{slug}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"---\nname: {slug}\n---\n{scope}\n", encoding="utf-8")
    return MemoryStore(tmp_path)


def test_matches_come_in_the_order_of_the_scopes_and_are_not_merged(store: MemoryStore) -> None:
    found = read_several(store, (WEB, USER, GLOBAL), "rule")
    assert [scope for scope, _ in found.memories] == [WEB, USER]
    assert found.memories[0][1].endswith(b"projects/web\n")
    listed = list_several(store, (USER, WEB, GLOBAL)).entries
    assert [(one.scope, one.slug) for one in listed] == [
        (USER, "rule"),
        (WEB, "other"),
        (WEB, "rule"),
    ]


def test_a_slug_that_none_has_names_a_scope_that_has_it(store: MemoryStore) -> None:
    with pytest.raises(NotFound, match="no memory 'other' in user, global") as caught:
        read_several(store, (USER, GLOBAL), "other")
    assert caught.value.hint == "it is in projects/web: --scope projects/web"
    with pytest.raises(NotFound) as nowhere:
        read_several(store, (USER, GLOBAL), "pelican")
    assert nowhere.value.hint == "cspace memory list --all"


def test_of_several_scopes_a_linked_one_is_skipped_and_the_only_one_is_an_error(
    store: MemoryStore, tmp_path: Path
) -> None:
    (tmp_path / "global").symlink_to(tmp_path / "user")
    assert [one.path for one in list_several(store, (GLOBAL, USER)).skipped] == ["global"]
    assert [one.path for one in read_several(store, (GLOBAL, USER), "rule").skipped] == ["global"]
    for scopes in ((GLOBAL,), (GLOBAL, WEB)):
        with pytest.raises(CspaceError, match="global"):
            read_several(store, scopes, "pelican")
    with pytest.raises(CspaceError, match="global"):
        list_several(store, (GLOBAL,))


def test_indexes_are_read_and_no_link_is_followed(store: MemoryStore, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"no MEMORY\.md in user"):
        read_indexes(store, (USER,), top=True)
    (tmp_path / "MEMORY.md").write_text("top", encoding="utf-8")
    (tmp_path / "user/MEMORY.md").write_text("mine", encoding="utf-8")
    (tmp_path / "global").symlink_to(tmp_path / "user")
    (tmp_path / "projects/web/MEMORY.md").symlink_to(tmp_path / "MEMORY.md")
    found = read_indexes(store, (WEB, USER, GLOBAL), top=True)
    assert found.files == (("MEMORY.md", b"top"), ("user/MEMORY.md", b"mine"))
    assert [one.path for one in found.skipped] == ["projects/web", "global"]


@pytest.mark.parametrize("slug", ["..", "a/b", "MEMORY", "", "a\0"])
def test_a_name_that_can_not_be_is_refused(store: MemoryStore, slug: str) -> None:
    with pytest.raises(UsageError, match="slug"):
        read_several(store, (USER, WEB), slug)
