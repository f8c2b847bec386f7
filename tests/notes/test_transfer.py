from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cspace import proc
from cspace.errors import CspaceError, UsageError
from cspace.notes.namespaces import Namespace
from cspace.notes.transfer import export_notes, import_notes
from tests.notes.clones import Person

KEY = "ghp_" + "q8Zr1Xv7Lm3Tn5Wb9Yc2Kd4Jf6Hg0PsAaBbC"


@pytest.fixture
def ann(repo: Path) -> Person:
    return Person(repo)


@pytest.fixture
def bob(repo: Path, tmp_path: Path) -> Person:
    proc.run("git", "clone", "--quiet", repo, tmp_path / "bob")
    return Person(tmp_path / "bob")


def test_everything_comes_over_and_a_second_import_changes_nothing(
    ann: Person, bob: Person
) -> None:
    for namespace in Namespace:
        ann.capture(f"About {namespace}", namespace=namespace)
    gone = ann.capture("Drop that")
    ann.store.forget(f"decisions:{gone.commit[:10]}/{gone.id}")
    ann.git("notes", "--ref=cs/progress", "append", "-m", "A plain remark", "HEAD")
    lines = list(export_notes(ann.store))
    done = import_notes(bob.store, lines)
    assert (done.records, done.new, done.commits) == (11, 11, 10)
    assert bob.memories() == ann.memories()
    assert "A plain remark" in bob.git("notes", "--ref=cs/progress", "show", "HEAD")
    before = bob.tips()
    assert import_notes(bob.store, lines).new == 0
    assert bob.tips() == before


@settings(
    max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.binary(max_size=200))
def test_any_bytes_of_a_body_come_over(ann: Person, bob: Person, body: bytes) -> None:
    text = body.decode("utf-8", "surrogateescape")
    ann.capture(f"Holds x{body.hex()[:60]}", body=text or "x", allow_secret=True)
    import_notes(bob.store, export_notes(ann.store), allow_secret=True)
    bodies = {one.id: one.record.body for one in ann.store.iter_memories()}
    assert {one.id: one.record.body for one in bob.store.iter_memories()} == bodies


def test_one_namespace_can_be_taken_alone(ann: Person) -> None:
    ann.capture("One")
    ann.capture("Two", namespace=Namespace.LEARNINGS)
    _, line = export_notes(ann.store, [Namespace.LEARNINGS])
    assert json.loads(line)["summary"] == "Two"


def test_a_dry_run_counts_and_writes_nothing(ann: Person, bob: Person) -> None:
    ann.capture("One")
    done = import_notes(bob.store, export_notes(ann.store), dry_run=True)
    assert (done.new, bob.memories(), bob.tips()) == (1, [], "")


def test_commits_that_are_not_here_are_named(ann: Person, tmp_path: Path) -> None:
    memory = ann.capture("One")
    proc.run("git", "init", "--quiet", tmp_path / "other")
    other = Person(tmp_path / "other")
    other.commit("x.txt", "x\n")
    assert import_notes(other.store, export_notes(ann.store)).absent == (memory.commit,)
    assert other.summaries() == ["One"]


def test_a_leak_in_a_file_is_refused_unless_a_person_allows_it(ann: Person, bob: Person) -> None:
    ann.capture("A token", body=f"token = {KEY}\n", allow_secret=True)
    lines = list(export_notes(ann.store))
    with pytest.raises(UsageError, match=r"decisions:.*github") as told:
        import_notes(bob.store, lines)
    assert KEY not in str(told.value)
    assert bob.memories() == []
    assert import_notes(bob.store, lines, allow_secret=True).new == 1


def test_a_forgotten_memory_does_not_come_back_from_a_file_and_blocks_nothing(
    ann: Person, bob: Person
) -> None:
    one = ann.capture("A token", body=f"token = {KEY}\n", allow_secret=True)
    ann.capture("Else")
    lines = list(export_notes(ann.store))
    bob.capture("A token", body=f"token = {KEY}\n", allow_secret=True)
    bob.store.forget(f"decisions:{one.commit}/{one.id}")
    done = import_notes(bob.store, lines)
    assert (done.records, done.new) == (1, 1)
    assert bob.summaries() == ["Else"]
    assert KEY not in bob.git("notes", "--ref=cs/decisions", "show")


@pytest.mark.parametrize(
    "line",
    [b"", b"{", b"[]", b'{"namespace": "decisions"}', b'{"namespace":"x","commit":"aa","text":""}'],
)
def test_a_line_that_is_none_is_named_and_nothing_is_written(
    line: bytes, ann: Person, bob: Person
) -> None:
    ann.capture("One")
    with pytest.raises(UsageError, match="line 3 is no line of an export"):
        import_notes(bob.store, [*export_notes(ann.store), line])
    assert bob.memories() == []


@pytest.mark.parametrize(
    "head", [b"{}", b"[1]", b'{"format": "else", "version": 1, "hash": "sha1"}']
)
def test_a_file_of_another_kind_is_refused(head: bytes, bob: Person) -> None:
    with pytest.raises(UsageError, match="line 1"):
        import_notes(bob.store, [head])


@pytest.mark.parametrize(("field", "value"), [("version", 2), ("hash", "sha256")])
def test_an_export_that_does_not_fit_says_why(field: str, value: object, bob: Person) -> None:
    head = {"format": "cspace-notes", "version": 1, "hash": "sha1"} | {field: value}
    with pytest.raises(CspaceError, match=str(value)):
        import_notes(bob.store, [json.dumps(head).encode()])


def test_an_empty_file_is_refused(bob: Person) -> None:
    with pytest.raises(UsageError, match="empty"):
        import_notes(bob.store, [])
