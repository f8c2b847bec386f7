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


def test_all_of_the_words_beat_one_of_them_in_a_title(store: ContextStore) -> None:
    store.log_discovery(Discovery("Redis redis redis", "redis " * 50, "redis"))
    store.log_discovery(Discovery("Timeouts", "redis loses its session after a minute", "i"))
    assert slugs(store, "redis session minute")[0] == "timeouts"


def test_a_long_text_does_not_win_by_its_length(store: ContextStore) -> None:
    store.log_discovery(
        Discovery("Long", f"redis redis redis {'and all the rest of it. ' * 400}", "i")
    )
    store.log_discovery(Discovery("Short", "redis redis", "i"))
    for number in range(5):
        store.log_discovery(Discovery(f"Other {number}", "words " * 40, "i"))
    assert slugs(store, "redis") == ["short", "long"]


def test_a_rare_word_says_more_than_one_that_is_everywhere(store: ContextStore) -> None:
    for number in range(8):
        store.log_discovery(Discovery(f"Queue {number}", "the queue", "queue"))
    store.log_discovery(Discovery("Other", "a zeppelin", "i"))
    assert slugs(store, "queue zeppelin")[0] == "other"


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("数据库连接在晚上失败", "连接"),
        ("数据库的连接失败", "数据库连接"),
        ("使用redis作为缓存", "redis"),
        ("セッションが切れる", "セッション"),
        ("ฐานข้อมูลล้มเหลวตอนกลางคืน", "ข้อมูล"),
        ("데이터베이스 연결 실패", "연결"),
        ("डेटाबेस हिन्दी में", "हिन्दी"),
        ("База данных падает ночью", "ДАННЫХ"),
        ("קובץ נעול", "נעול"),
        ("ﬁsh and chips", "fish"),
        ("ＦＵＬＬ width", "full"),
        ("nai\u0308ve", "naïve"),
    ],
)
def test_words_of_any_script_are_found(store: ContextStore, text: str, query: str) -> None:
    store.log_discovery(Discovery("x", text, "i"))
    store.log_discovery(Discovery("y", "something else: が か ส", "i"))
    assert slugs(store, query) == ["x"]


def test_a_part_of_a_word_is_not_the_word(filled: ContextStore) -> None:
    assert slugs(filled, "red") == []


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


def test_a_snippet_shows_the_phrase_and_not_its_words(store: ContextStore) -> None:
    text = "night fails fails night\nfails, and at the end\nof it fails at\nnight again\nnight"
    store.log_discovery(Discovery("t", text, "i"))
    (hit,) = search_context(store, '"fails at night"').entries
    assert hit.snippet == "of it fails at night again"


@pytest.mark.parametrize("around", ["x ", "ß", "é ", "漢字 "])
def test_a_snippet_of_a_long_line_is_cut_around_the_match(store: ContextStore, around: str) -> None:
    text = f"{around * 300} the needle stands {around * 300}"
    store.log_discovery(Discovery("t", f"other line\n{text}", "i"))
    (hit,) = search_context(store, '"NEEDLE stands"').entries
    assert "needle stands" in hit.snippet
    assert (hit.snippet[0], hit.snippet[-1]) == ("…", "…")


def test_a_title_that_is_written_with_escapes_is_found(store: ContextStore, root: Path) -> None:
    directory = root / ".cspace/context/decisions"
    directory.mkdir(parents=True)
    (directory / "x.md").write_text('---\ntitle: "Caf\\u00e9"\n---\nbody\n', encoding="utf-8")
    assert [hit.title for hit in search_context(store, "cafe").entries] == ["Café"]


def test_a_query_that_is_a_text_is_refused(store: ContextStore) -> None:
    with pytest.raises(UsageError, match="1001 characters"):
        search_context(store, "x" * 1001)


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
