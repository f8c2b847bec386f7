"""Search reads everything and says where; recall looks at first lines alone."""

from __future__ import annotations

import os

import pytest

from cspace.claude_memory.place import Place
from cspace.claude_memory.search import HEAD_LINES, RECALLED, load_bodies, recall, search_memories
from cspace.errors import UsageError
from tests.claude_memory.conftest import RELEASE, ROLE, put


def recalled(place: Place, query: str) -> list[str]:
    return [one.path for one in recall(place, query).memories]


def test_a_hit_names_the_file_the_line_and_what_stands_there(filled: Place) -> None:
    (hit,) = search_memories(filled, "night").hits
    assert (hit.path, hit.line) == ("role.md", 11)
    assert hit.snippet == "The user flies at night."


@pytest.mark.parametrize("query", ["cafe", "CAFÉ", "Übergröße", "日本"])
def test_words_of_any_script_are_found(filled: Place, query: str) -> None:
    put(filled, "a.md", "one\u2028line\nCafé Übergröße 日本語\n")
    (hit,) = search_memories(filled, query).hits
    assert (hit.path, hit.line) == ("a.md", 2)


def test_a_description_beats_a_mention_and_the_index_is_searched_too(filled: Place) -> None:
    put(filled, "a.md", "releases, releases and releases\n")
    assert search_memories(filled, "releases").hits[0].path == "deep/release process.md"
    assert search_memories(filled, "flying").hits[0].path == "MEMORY.md"


def test_what_is_left_out_is_counted_and_a_query_without_words_refused(filled: Place) -> None:
    for number in range(4):
        put(filled, f"{number}.md", "pelican\n")
    found = search_memories(filled, "pelican", limit=3)
    assert (len(found.hits), found.left_out) == (3, 1)
    with pytest.raises(UsageError, match="no word"):
        search_memories(filled, "?!")


def test_recall_weighs_front_matter_and_index_more_than_text(place: Place) -> None:
    put(place, "MEMORY.md", "- [C](c.md) — a pelican\n")
    put(place, "a.md", "---\nname: a\n---\npelican pelican\n")
    put(place, "b.md", "---\nname: b\ndescription: a pelican\n---\nNothing.\n")
    put(place, "c.md", "---\nname: c\n---\nNothing.\n")
    assert recalled(place, "pelican")[2] == "a.md"
    assert set(recalled(place, "pelican")) == {"a.md", "b.md", "c.md"}


def test_recall_picks_few_and_sees_the_first_lines_alone(place: Place) -> None:
    for number in range(RECALLED + 3):
        put(place, f"{number}.md", ROLE)
    put(place, "late.md", "\n" * HEAD_LINES + "pelican\n")
    put(place, "soon.md", "\n" * (HEAD_LINES - 1) + "pelican\n")
    assert len(recalled(place, "pilot")) == RECALLED
    assert recalled(place, "pelican") == ["soon.md"]


def test_recall_reads_a_bounded_part_of_each_file(filled: Place) -> None:
    path = put(filled, "giant.md", RELEASE.replace("release", "giant"))
    os.truncate(path, 1024**4)
    assert recalled(filled, "giant") == ["giant.md"]
    assert recall(filled, "giant").memories[0].size == 1024**4


def test_bodies_come_whole(filled: Place) -> None:
    found = recall(filled, "pilot")
    assert load_bodies(filled, found) == (ROLE.encode(),)
    (filled.directory / "role.md").unlink()
    assert load_bodies(filled, found) == (b"",)
