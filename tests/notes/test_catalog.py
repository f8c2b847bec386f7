"""The index of the notes says what git says."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cspace import proc
from cspace.errors import CspaceError
from cspace.notes.catalog import Catalog
from cspace.notes.namespaces import Namespace
from cspace.notes.question import Question
from tests.notes.annotated import annotate, draft, listed_by_git, open_catalog


@pytest.fixture
def catalog(repo: Path) -> Catalog:
    return open_catalog(repo)


def summaries(catalog: Catalog, query: str, **filters: object) -> list[str]:
    found = catalog.recall(Question(query, **filters))  # type: ignore[arg-type]
    return [hit.memory.record.summary for hit in found.hits]


def texts(count: int) -> list[tuple[str, str]]:
    return [(f"Chose plan{one}", f"walrus{one % 3} and herons\n") for one in range(count)]


@pytest.mark.parametrize("size", [10, 120, 150, 1_000, 10_000])
def test_hazard_counts_from_git_equal_the_index_at_any_fan_out(
    repo: Path, catalog: Catalog, size: int, counts: Callable[[int, int], int]
) -> None:
    size = min(size, counts(1_000, 10_000))
    annotate(repo, texts(size))
    assert catalog.refresh().counts == {Namespace.DECISIONS: listed_by_git(repo)}
    assert listed_by_git(repo) == size
    assert catalog.verify() == ()
    assert summaries(catalog, f"plan{size - 1}") == [f"Chose plan{size - 1}"]


def test_what_was_captured_is_found_by_the_next_recall(catalog: Catalog) -> None:
    for number in range(3):
        catalog.store.capture(draft(f"Chose plan{number}"))
        assert summaries(catalog, f"plan{number}") == [f"Chose plan{number}"]


def test_what_git_itself_attached_is_found_by_the_next_recall(repo: Path, catalog: Catalog) -> None:
    catalog.store.capture(draft("Chose plan0"))
    catalog.refresh()
    note = "---\ntype: decision\ntimestamp: 2026-01-01T00:00:00Z\nsummary: A walrus\n---\n\nIt.\n"
    ref = "--ref=refs/notes/cs/decisions"
    proc.run("git", "-C", repo, "commit", "--quiet", "--allow-empty", "-m", "Next")
    proc.run("git", "-C", repo, "notes", ref, "add", "-m", note)
    assert summaries(catalog, "walrus") == ["A walrus"]
    proc.run("git", "-C", repo, "notes", ref, "remove", "HEAD")
    assert summaries(catalog, "walrus") == []


def test_what_was_forgotten_or_resolved_is_so_in_the_next_recall(catalog: Catalog) -> None:
    gone = catalog.store.capture(draft("Chose plan0")).memory
    blocker = draft("The walrus blocks", namespace=Namespace.BLOCKERS)
    blocked = catalog.store.capture(blocker).memory
    assert summaries(catalog, "walrus", status="open") == ["The walrus blocks"]
    catalog.store.forget(gone.reference)
    catalog.store.resolve(blocked.reference, "It swam off to sea")
    assert summaries(catalog, "plan0") == []
    assert summaries(catalog, "walrus", status="open") == []
    assert summaries(catalog, "swam sea", status="resolved") == ["The walrus blocks"]


def test_a_hit_is_the_memory_that_was_captured(catalog: Catalog) -> None:
    body = "bytes \udcff and a NUL \0 and 漢字\r\n---\nid: x\n"
    made = catalog.store.capture(draft("Odd: walrus", body, tags=("a", "b"), spec="auth"))
    (hit,) = catalog.recall(Question("walrus")).hits
    assert hit.memory == made.memory
    assert (hit.why.words, hit.why.fields) == (("walrus",), ("summary",))


def test_one_text_on_two_commits_is_two_memories(repo: Path, catalog: Catalog) -> None:
    first = catalog.store.capture(draft("A walrus")).memory
    proc.run("git", "-C", repo, "commit", "--quiet", "--allow-empty", "-m", "Next")
    second = catalog.store.capture(draft("A walrus")).memory
    hits = catalog.recall(Question("walrus")).hits
    assert {hit.memory.commit for hit in hits} == {first.commit, second.commit}


def test_reading_where_nothing_was_captured_creates_nothing(repo: Path, catalog: Catalog) -> None:
    before = sorted(path for path in (repo / ".git").rglob("*"))
    assert catalog.recall(Question("walrus")).hits == ()
    assert (catalog.refresh().counts, catalog.verify()) == ({}, ())
    assert sorted(path for path in (repo / ".git").rglob("*")) == before


def test_every_worktree_has_the_same_index(repo: Path, catalog: Catalog, tmp_path: Path) -> None:
    catalog.store.capture(draft("A walrus"))
    catalog.refresh()
    proc.run("git", "-C", repo, "worktree", "add", "--quiet", tmp_path / "linked")
    other = open_catalog(tmp_path / "linked")
    assert (other.path, summaries(other, "walrus")) == (catalog.path, ["A walrus"])


def test_filters_of_every_kind_find_what_meets_them(repo: Path, catalog: Catalog) -> None:
    annotate(repo, texts(20))
    assert summaries(catalog, "walrus0 walrus1", spec="spec-3", tags=("odd",)) == ["Chose plan3"]
    assert len(summaries(catalog, "herons", author="test per")) == 10
    assert summaries(catalog, "herons", author="somebody") == []
    assert summaries(catalog, "herons", namespaces=(Namespace.REVIEWS,)) == []


def test_memories_of_commits_that_touched_a_path_are_found(repo: Path, catalog: Catalog) -> None:
    annotate(repo, texts(20))
    found = summaries(catalog, "herons", path="src/file4.py")
    assert sorted(found) == ["Chose plan14", "Chose plan4"]
    assert len(summaries(catalog, "herons", path="src", limit=50)) == 20
    assert summaries(catalog, "herons", path="src/file*.py") == []


@pytest.mark.parametrize("path", ["/etc", "../x", "a/../../x"])
def test_a_path_outside_of_the_repository_is_refused(catalog: Catalog, path: str) -> None:
    catalog.store.capture(draft("A walrus"))
    with pytest.raises(CspaceError, match="not one in the repository"):
        catalog.recall(Question("walrus", path=path))


def test_a_note_on_a_commit_that_is_gone_is_found_still(repo: Path, catalog: Catalog) -> None:
    proc.run("git", "-C", repo, "commit", "--quiet", "--allow-empty", "-m", "Doomed")
    catalog.store.capture(draft("A walrus"))
    proc.run("git", "-C", repo, "reset", "--quiet", "--hard", "HEAD^")
    proc.run("git", "-C", repo, "reflog", "expire", "--expire=now", "--all")
    proc.run("git", "-C", repo, "gc", "--quiet", "--prune=now")
    assert summaries(catalog, "walrus") == ["A walrus"]
    assert summaries(catalog, "walrus", path="README.md") == []
    assert catalog.verify() == ()


def test_two_records_of_one_id_on_a_commit_are_both_there(repo: Path, catalog: Catalog) -> None:
    catalog.store.capture(draft("A walrus"))
    ref = "refs/notes/cs/decisions"
    one = proc.run("git", "-C", repo, "notes", f"--ref={ref}", "show", "HEAD").stdout
    edited = one.replace(b"A walrus", b"A heron")
    proc.run(
        *("git", "-C", repo, "notes", f"--ref={ref}", "add", "-f", "-F", "-", "HEAD"),
        stdin=one + edited,
    )
    assert catalog.refresh().counts == {Namespace.DECISIONS: 2}
    assert catalog.verify() == ()


def test_a_query_without_a_word_is_an_error_that_says_so(catalog: Catalog) -> None:
    with pytest.raises(CspaceError, match="no word"):
        catalog.recall(Question("?!"))


def test_a_lexical_recall_loads_neither_numpy_nor_vectors(repo: Path, catalog: Catalog) -> None:
    catalog.store.capture(draft("A walrus"))
    code = (
        "import sys; from pathlib import Path; from tests.notes.annotated import open_catalog;"
        "from cspace.notes.question import Question;"
        f"print(len(open_catalog(Path({str(repo)!r})).recall(Question('walrus')).hits),"
        " sorted({'numpy', 'tokenizers', 'sqlite_vec', 'yaml'} & set(sys.modules)))"
    )
    said = proc.run(sys.executable, "-c", code, cwd=Path(__file__).parents[2]).text
    assert said == "1 []"
