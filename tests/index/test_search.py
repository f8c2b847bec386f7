"""What an index finds, in which order, and why."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from cspace import proc
from cspace.index.fusion import fuse
from cspace.index.index import Index
from cspace.index.model import Filters
from tests.index.items import embed, fill, item, random_vector, unit


@pytest.fixture
def index() -> Index:
    return Index.create(None)


def keys(index: Index, query: str, filters: Filters | None = None, limit: int = 10) -> list[str]:
    return [hit.key for hit in index.search(query, None, filters or Filters(), limit)]


def test_a_word_in_the_title_counts_for_more(index: Index) -> None:
    fill(index, item("body", "One", "redis"), item("title", "redis", "One"), item("none", "x"))
    assert keys(index, "redis") == ["title", "body"]


def test_a_hit_says_which_words_it_has_and_where(index: Index) -> None:
    fill(index, item("one", "Chose redis", "for the queue", labels="auth"), item("two", "x"))
    (hit,) = index.search("why redis auth walrus", None, Filters(), 10)
    assert (hit.words, hit.fields) == (("redis", "auth"), ("title", "labels"))
    assert (hit.lexical_rank, hit.vector_rank, hit.nearness, hit.score) == (1, None, None, 1.0)


def test_what_is_near_in_meaning_is_found_without_a_word_of_the_query(index: Index) -> None:
    fill(index, item("near", "cache"), item("far", "walrus"))
    near, far = random_vector("near"), random_vector("far")
    embed(index, {"cache": near, "walrus": far})
    hits = index.search("storage", unit(near), Filters(), 2)
    assert (hits[0].key, round(hits[0].nearness or 0, 3), hits[0].words) == ("near", 1.0, ())


def test_what_is_far_in_meaning_is_found_by_its_words_only(index: Index) -> None:
    fill(index, item("far", "walrus"), item("farther", "heron"))
    embed(index, {"walrus": [1.0, 0.1] * 32, "heron": [1.0, 0.0] * 32})
    asked = unit([0.0, 1.0] * 32)
    assert index.search("storage", asked, Filters(), 2) == ()
    assert [one.key for one in index.search("heron", asked, Filters(), 2)] == ["farther"]


def test_the_first_by_words_and_by_meaning_has_the_best_score(index: Index) -> None:
    fill(index, item("both", "redis"), item("words", "redis too"), item("meaning", "cache"))
    near = random_vector("near")
    embed(index, {"redis": near, "redis too": random_vector("x"), "cache": near})
    hits = index.search("redis", unit(near), Filters(), 3)
    assert (hits[0].key, hits[0].score) == ("both", 1.0)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_what_is_not_embedded_yet_is_not_placed_behind_what_is(index: Index) -> None:
    fill(index, item("new", "redis queue"), item("old", "redis"), item("x", "y"))
    embed(index, {"redis": random_vector("a"), "y": random_vector("b")})
    hits = index.search("redis queue", unit(random_vector("b")), Filters(), 3)
    assert (hits[0].key, hits[0].vector_rank) == ("new", None)


def test_filters_of_every_kind_have_to_be_met(index: Index) -> None:
    fill(
        index,
        item("one", "redis", spec="auth", author="Jane Doe", time=10),
        item("two", "redis", spec="auth", author="Ann", time=5),
        item("three", "redis", spec="net", author="Jane Doe", time=10),
    )
    filters = Filters(any_of={"spec": ("auth", "x")}, containing={"author": "JANE"}, since=6)
    assert keys(index, "redis", filters) == ["one"]
    assert keys(index, "redis", Filters(any_of={"spec": ()})) == []


@pytest.mark.parametrize("with_vectors", [False, True])
def test_a_filter_does_not_starve_the_best(index: Index, with_vectors: bool) -> None:  # noqa: FBT001  a parameter
    many = [item(f"many-{number}", "redis redis", spec="big") for number in range(5_000)]
    few = [item(f"few-{number}", f"one {number}", "redis", spec="small") for number in range(20)]
    fill(index, *many, *few)
    near = random_vector("near")
    texts = {f"one {number}\n\nredis": random_vector(str(number)) for number in range(20)}
    embed(index, {"redis redis": near} | texts)
    vector = unit(near) if with_vectors else None
    hits = index.search("redis", vector, Filters(any_of={"spec": ("small",)}), 10)
    assert len(hits) == 10
    assert all(hit.key.startswith("few") for hit in hits)


def test_the_nearest_of_many_are_those_of_the_exact_scan(index: Index) -> None:
    names = [f"text {number}" for number in range(4_000)]
    vectors = {name: random_vector(name) for name in names}
    fill(index, *(item(name, name) for name in names))
    embed(index, vectors)
    asked = [a + 0.5 * b for a, b in zip(vectors["text 7"], random_vector("noise"), strict=True)]
    exact = sorted(names, key=lambda one: -sum(map(float.__mul__, vectors[one], asked)))[:10]
    for _ in range(3):  # from the second on by the signs in memory
        hits = index.search("walrus", unit(asked), Filters(), 10)
        assert len(set(exact) & {hit.key for hit in hits}) >= 9


def test_signs_in_memory_follow_what_changes(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    names = [f"text {number}" for number in range(3_100)]
    index = fill(Index.create(path), *(item(name, name) for name in names))
    embed(index, {name: random_vector(name) for name in names})
    reader = Index.open(path)
    new = unit(random_vector("new"))
    for _ in range(3):
        assert reader.search("walrus", new, Filters(), 1)[0].key != "new"
        assert index.search("walrus", new, Filters(), 1)[0].key != "new"
    index.apply(["group-text 1"], [item("new", "new")], {})
    embed(index, {"new": random_vector("new")})
    for _ in range(3):
        assert reader.search("walrus", new, Filters(), 1)[0].key == "new"
        assert index.search("walrus", new, Filters(), 1)[0].key == "new"


def test_ranks_and_not_the_scales_of_scores_decide() -> None:
    assert [one for one, _ in fuse({1: 1.0, 2: 1.0, 3: 1.0}, [3, 1], ())] == [1, 3, 2]
    assert [one for one, _ in fuse({1: 0.5, 2: 1.0}, None, ())] == [1, 2]
    assert fuse({1: 1.0}, [1], ())[0][1] == 1.0


def test_a_place_by_words_counts_as_much_as_the_words_tell() -> None:
    assert [one for one, _ in fuse({1: 0.1, 2: 0.1}, [3, 4], ())] == [3, 4, 1, 2]
    assert [one for one, _ in fuse({1: 0.9, 2: 0.1}, [3, 1], ())] == [1, 3, 2]


def test_a_common_word_of_a_question_does_not_outdo_its_meaning(index: Index) -> None:
    near, far = [1.0] * 64, [1.0, -1.0] * 32
    names = [f"people at desk {number}" for number in range(20)]
    fill(index, *(item(name, name) for name in names), item("no-shows", "absent patients"))
    embed(index, dict.fromkeys(names, far) | {"absent patients": near})
    hits = index.search("people missing visits", unit(near), Filters(), 3)
    assert hits[0].key == "no-shows"


def test_topics_are_embedded_before_the_title_and_a_change_of_them_asks_for_a_vector(
    index: Index,
) -> None:
    fill(index, replace(item("one", "redis", "for sessions"), topics="cache storage"))
    assert list(index.missing_vectors(9).values()) == ["cache storage: redis\n\nfor sessions"]
    embed(index, {"cache storage: redis\n\nfor sessions": random_vector("a")})
    assert index.missing_vectors(9) == {}
    index.apply(["group-one"], [replace(item("one", "redis", "for sessions"), topics="db")], {})
    assert list(index.missing_vectors(9).values()) == ["db: redis\n\nfor sessions"]


def test_a_text_that_comes_back_has_its_vector_still(index: Index) -> None:
    fill(index, item("one", "redis"))
    embed(index, {"redis": random_vector("a")})
    index.apply(["group-one"], [], {})
    assert index.search("x", unit(random_vector("a")), Filters(), 5) == ()
    index.apply([], [item("two", "redis")], {})
    assert index.missing_vectors(5) == {}
    assert [hit.key for hit in index.search("x", unit(random_vector("a")), Filters(), 5)] == ["two"]


def test_another_embedder_s_vectors_are_not_compared(index: Index) -> None:
    fill(index, item("one", "redis"))
    embed(index, {"redis": random_vector("a")})
    index.expect("other")
    assert (index.count_missing(), index.kept().embedder) == (1, "other")


def test_the_first_search_by_meaning_loads_no_numpy() -> None:
    code = (
        "import sys; from cspace.index.index import Index; from cspace.index.model import Filters;"
        "from tests.index.items import embed, fill, item, random_vector, unit;"
        "index = fill(Index.create(None), item('near', 'cache'));"
        "vector = random_vector('near'); embed(index, {'cache': vector});"
        "print(len(index.search('walrus', unit(vector), Filters(), 3)), 'numpy' in sys.modules)"
    )
    said = proc.run(sys.executable, "-c", code, cwd=Path(__file__).parents[2]).text
    assert said == "1 False"


def test_an_index_that_is_only_read_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    fill(Index.create(path), item("one", "redis", spec="a")).close()
    before = path.read_bytes()
    index = Index.open(path)
    assert keys(index, "redis", Filters(any_of={"spec": ("a",)})) == ["one"]
    index.close()
    assert (path.read_bytes(), [one.name for one in tmp_path.iterdir()]) == (before, ["index.db"])
