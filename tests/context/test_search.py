"""Search ranks words over titles and texts, without regard to case and accents."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cspace.context.records import Decision, Discovery
from cspace.context.search import render_hits, search_context
from cspace.context.store import ContextStore
from cspace.errors import UsageError


@pytest.fixture
def filled(store: ContextStore) -> ContextStore:
    store.log_decision(Decision("Use Redis for sessions", "speed", "postgres", "redis", "memory"))
    store.log_decision(Decision("Log to files", "c", "syslog", "files", "no redis needed"))
    store.log_discovery(Discovery("Café closes", "the Übergröße fails at night", "none"))
    return store


def slugs(store: ContextStore, query: str, *sections: str) -> list[str]:
    return [hit.slug[11:] for hit in search_context(store, query, sections).entries]


def test_a_title_beats_a_mention(filled: ContextStore) -> None:
    assert slugs(filled, "redis") == ["use-redis-for-sessions", "log-to-files"]


def test_more_of_the_words_come_first(filled: ContextStore) -> None:
    assert slugs(filled, "syslog redis memory")[0] == "use-redis-for-sessions"
    assert slugs(filled, "syslog files redis")[0] == "log-to-files"


@pytest.mark.parametrize("query", ["cafe", "CAFÉ", "ubergrosse", "Übergröße"])
def test_case_and_accents_do_not_matter(filled: ContextStore, query: str) -> None:
    assert slugs(filled, query) == ["cafe-closes"]


def test_quoted_words_have_to_stand_together(filled: ContextStore) -> None:
    assert slugs(filled, '"fails at night"') == ["cafe-closes"]
    assert slugs(filled, '"night fails"') == []


def test_sections_narrow_the_search(filled: ContextStore) -> None:
    assert slugs(filled, "redis", "discoveries") == []


def test_human_files_are_searched_too(filled: ContextStore, root: Path) -> None:
    path = root / ".cspace/context/roadmap.md"
    path.write_text("# Roadmap\nShip the zeppelin.\n", encoding="utf-8")
    (hit,) = search_context(filled, "zeppelin").entries
    assert (hit.section, hit.slug, hit.snippet) == ("roadmap", "roadmap", "Ship the zeppelin.")


def test_a_snippet_is_short_and_shows_the_word(store: ContextStore) -> None:
    store.log_discovery(Discovery("t", "x " * 500 + "needle " + "y " * 500, "i"))
    (hit,) = search_context(store, "needle").entries
    assert "needle" in hit.snippet
    assert len(hit.snippet) < 200


def test_what_the_limit_leaves_out_is_counted(filled: ContextStore) -> None:
    found = search_context(filled, "redis", limit=1)
    assert (len(found.entries), found.left_out) == (1, 1)
    assert "(1 more left out" in render_hits("redis", found)


def test_a_query_without_a_word_is_refused(filled: ContextStore) -> None:
    with pytest.raises(UsageError, match="no word"):
        search_context(filled, '"" ?!')


def test_searching_creates_nothing(store: ContextStore, root: Path) -> None:
    assert "Nothing holds a word" in render_hits("x", search_context(store, "x"))
    assert os.listdir(root) == []
