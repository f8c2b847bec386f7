"""What `cspace context doctor` and `cspace doctor` name in the context's files."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from cspace import files, proc
from cspace.context.records import Category, Decision, Discovery, Finding, Kind
from cspace.context.store import ContextStore
from cspace.doctor import context_checks
from cspace.doctor.context_checks import examine_context
from cspace.doctor.model import Patient

WHOLE = b"---\ntitle: T\ndate: 2026-04-14\nkind: decision\n---\n\n## Context\nc\n"
FINDING = (
    b"---\ntitle: T\ndate: 2026-04-14\nkind: finding\nstatus: open\ncategory: bug\n---\n\n"
    b"## Summary\ns\n\n## Updates\n### 2026-04-14T10:00:00Z \xe2\x80\x94 @a \xe2\x80\x94"
    b" status: open\nfiled\n"
)
CONFLICT = b"<<<<<<< HEAD\na\n=======\nb\n>>>>>>> theirs\n"


@pytest.fixture
def store(patient: Patient) -> ContextStore:
    return ContextStore(patient.project.root)


def problems(store: ContextStore) -> list[str]:
    return [one.problem for one in examine_context(store)]


def put(store: ContextStore, name: str, document: bytes = WHOLE) -> Path:
    path = store.root / ".cspace/context" / name
    path.write_bytes(document)
    return path


def test_of_what_cspace_writes_nothing_is_odd(store: ContextStore) -> None:
    hostile = "a: 'b' \x85 ---\n## Context\n\n" + CONFLICT.decode().replace("<<<", "> <<<")
    store.log_decision(Decision('It\'s: "x" # y', hostile, hostile, hostile, hostile))
    store.log_discovery(Discovery("日本", hostile, hostile))
    finding = store.log_finding(Finding("f", Category.BUG, hostile, hostile))
    store.append_to_finding(finding.slug, hostile, status="resolved")
    assert problems(store) == []


def test_of_our_own_records_nothing_is_odd() -> None:
    checkout = Path(__file__).resolve().parents[2]
    records = [one for one in problems(ContextStore(checkout)) if "is missing" not in one]
    assert records == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ((b"---\n", b""), "has no front matter"),
        ((b"title: T", b"title: a: b"), "has a front matter that is not YAML"),
        ((b"title: T\n", b""), "has no title in its front matter"),
        ((b"date: 2026-04-14\nkind: decision\n", b""), "has no date, kind in its front matter"),
        ((b"kind: decision", b"kind: finding"), "says that it is a 'finding', and lies in decis"),
        ((b"2026-04-14", b"yesterday"), "has the date 'yesterday', which is none"),
        ((b"## Context\nc", b"## Context\n\0"), "holds a NUL byte at"),
        ((b"## Context\nc", b"## Context\n\xff"), "is not UTF-8 at byte"),
        ((b"c\n", b"c\n" + CONFLICT), "holds a conflict that git left behind"),
        ((b"c\n", b"```\n~~~\n" + CONFLICT), "holds a conflict that git left behind"),
    ],
)
def test_an_odd_record_is_named_with_what_repairs_it(
    store: ContextStore, change: tuple[bytes, bytes], said: str
) -> None:
    put(store, "decisions/2026-04-14-t.md", WHOLE.replace(*change))
    (found,) = examine_context(store)
    assert found.problem.startswith(f"'.cspace/context/decisions/2026-04-14-t.md' {said}")
    assert found.repair == "cspace context edit decision/2026-04-14-t"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ((b"status: open\ncat", b"status: done\ncat"), "status 'done', which is none of open, a"),
        ((b"category: bug\n", b""), "has no category, which is one of bug, observation"),
    ],
)
def test_a_finding_with_an_unknown_status_or_category_is_named(
    store: ContextStore, change: tuple[bytes, bytes], said: str
) -> None:
    put(store, "findings/2026-04-14-t.md", FINDING.replace(*change))
    assert said in problems(store)[0]


def test_a_status_without_its_update_is_named_and_the_repair_ends_it(store: ContextStore) -> None:
    changed = FINDING.replace(b"status: open\ncat", b"status: resolved\ncat")
    put(store, "findings/2026-04-14-t.md", changed)
    (found,) = examine_context(store)
    assert found.problem.endswith("the status 'resolved', but its last update says 'open'")
    *_, slug, note, _, status = shlex.split(found.repair)
    store.append_to_finding(slug, note, status=status)
    assert examine_context(store) == ()


def test_an_example_of_a_conflict_in_a_code_block_is_none(store: ContextStore) -> None:
    put(store, "decisions/2026-04-14-t.md", WHOLE + b"```\n" + CONFLICT + b"```\n")
    assert problems(store) == []


def test_another_name_than_ours_is_named_and_the_repair_ends_it(store: ContextStore) -> None:
    put(store, "decisions/My Notes.md")
    put(store, "decisions/2026-13-99-t.md")
    for found in examine_context(store):
        assert "is not named YYYY-MM-DD-<slug>.md" in found.problem
        proc.run("bash", "-ec", found.repair, cwd=store.root)
    # The second finds its name taken, and mv -n leaves it where it is.
    assert store.folder(Kind.DECISION).list_stems() == ("2026-04-14-t", "My Notes")


def test_links_and_specials_hazard_are_named_and_not_followed(
    store: ContextStore, tmp_path: Path
) -> None:
    findings = store.root / ".cspace/context/findings"
    (tmp_path / "outside.md").write_bytes(b"\0")
    (findings / "a.md").symlink_to(tmp_path / "outside.md")
    os.mkfifo(findings / "b.md")
    (findings / "c.md").mkdir()
    os.truncate(put(store, "findings/d.md"), 10 << 30)
    named = problems(store)
    assert [one.split("'")[1][-4:] for one in named] == ["a.md", "b.md", "c.md", "d.md"]
    assert all("can not be read: " in one for one in named)


def test_a_record_that_its_mode_hides_gets_its_mode_back(store: ContextStore) -> None:
    path = put(store, "findings/d.md")
    path.chmod(0o200)
    repair = context_checks._free(path)
    proc.run("bash", "-ec", repair, cwd=store.root)
    assert path.stat().st_mode & 0o777 == 0o600


def test_foreign_files_and_leftovers_are_named(store: ContextStore) -> None:
    put(store, "notes.txt")
    put(store, "extra.md")
    put(store, "findings/.swap")
    put(store, "findings/a.txt")
    put(store, "findings/.gitkeep")
    put(store, "findings/2026-04-14-t.md.lock")
    left = put(store, f"findings/.x.md.1f{files.TEMPORARY_SUFFIX}")
    named = examine_context(store)
    assert [one.problem.split("'")[1].rpartition("/")[2] for one in named] == [
        *("extra.md", "notes.txt", ".swap", left.name, "a.txt"),
    ]
    (repair,) = (one.repair for one in named if left.name in one.problem)
    proc.run("bash", "-ec", repair, cwd=store.root)
    assert not left.exists()


def test_a_temporary_file_whose_writer_lives_is_no_leftover(store: ContextStore) -> None:
    with files.temporary(store.root / ".cspace/context/findings/a.md", b"x"):
        assert problems(store) == []


def test_names_that_differ_only_by_case_are_named(store: ContextStore) -> None:
    put(store, "decisions/2026-04-14-t.md")
    put(store, "decisions/2026-04-14-T.md")
    assert "are one file where case does not count" in problems(store)[0]


def test_a_human_owned_file_that_is_missing_or_in_conflict_is_named(store: ContextStore) -> None:
    (store.root / ".cspace/context/roadmap.md").unlink()
    put(store, "direction.md", CONFLICT)
    direction, roadmap = examine_context(store)
    assert (roadmap.problem, roadmap.repair) == (
        "'.cspace/context/roadmap.md' is missing",
        "cspace init",
    )
    assert direction.repair == "cspace context edit direction"


def test_a_store_that_is_a_link_is_named_and_not_entered(
    store: ContextStore, tmp_path: Path
) -> None:
    context = store.root / ".cspace/context"
    context.rename(tmp_path / "elsewhere")
    context.symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere/findings/secret-marker.txt").touch()
    named = problems(store)
    assert named
    assert not [one for one in named if "secret-marker" in one]


def test_the_work_is_bounded_and_what_is_left_is_counted(store: ContextStore) -> None:
    for number in range(context_checks.MAX_SHOWN + 7):
        put(store, f"findings/{number}.txt", b"")
    named = problems(store)
    assert len(named) == context_checks.MAX_SHOWN + 1
    assert named[-1] == "7 more things are wrong"


def test_conflict_marks_without_end_are_looked_through_once(store: ContextStore) -> None:
    marks = b"<<<<<<< a\n" + b"=======\n" * 400_000 + b"```\n" * 400_000
    put(store, "decisions/2026-04-14-t.md", WHOLE + marks)
    assert problems(store) == []
