"""A query is words, in any script, and never the full-text search's syntax."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cspace.index.index import Index
from cspace.index.model import Filters
from tests.index.items import fill, item

SYNTAX = (
    *(
        '"',
        '"queue',
        "NEAR(queue worker)",
        "queue*",
        "title:queue",
        "{title text}: queue",
        "-queue",
    ),
    *(
        "queue AND",
        "OR queue",
        "NOT queue",
        "queue + worker",
        "^queue",
        "(queue",
        "queue)",
        "' or 1",
    ),
    *("queue\0worker", "\ud800 queue", "text : queue", "queue; drop table items", "a^b queue"),
)


def found(texts: dict[str, str], query: str) -> list[str]:
    index = fill(Index.create(None), *(item(name, text=text) for name, text in texts.items()))
    return [hit.key for hit in index.search(query, None, Filters(), 10)]


@pytest.mark.parametrize("query", SYNTAX)
def test_nothing_in_a_query_is_syntax(query: str) -> None:
    assert found({"one": "the queue keeps rows", "two": "the other"}, query) in (["one"], [])


@pytest.mark.parametrize("query", [one for one in SYNTAX if "queue" in one])
def test_the_words_among_signs_are_looked_for(query: str) -> None:
    assert found({"one": "the queue keeps rows", "two": "the other"}, query) == ["one"]


@settings(max_examples=60, deadline=None)
@given(query=st.text(), text=st.text())
def test_any_query_of_any_text_is_answered(query: str, text: str) -> None:
    assert set(found({"one": text}, query)) <= {"one"}


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("我们选择了数据库迁移方案", "数据库"),
        ("我们选择了数据库迁移方案", "案"),
        ("我们选择了数据库迁移方案", "据"),
        ("キューは行を保持する", "キュー"),
        ("ระบบฐานข้อมูล", "ฐานข้อมูล"),
        ("हमने कतार चुनी", "कतार"),
        ("Очередь хранит строки", "очередь"),
        ("Le café est fermé", "cafe"),
        ("find_worktree returns", "worktree"),
        ("see find_worktree", "find_worktree"),
        ("the read-only store", "read-only"),
        ("migrations were slow", "migration"),
        ("in cspace/index/words.py", "words.py"),
    ],
)
def test_a_word_is_found_in_any_script_and_form(text: str, query: str) -> None:
    assert found({"one": text, "other": "nothing of it 無関係"}, query) == ["one"]


def test_words_of_a_question_that_tell_nothing_are_left_out() -> None:
    texts = {"one": "what did we do when why", "two": "redis"}
    assert found(texts, "why did we do redis") == ["two"]


def test_a_word_that_nobody_has_finds_those_that_begin_so() -> None:
    assert found({"one": "authentication fails"}, "authentic") == ["one"]
