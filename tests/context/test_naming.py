"""Which record a person means."""

from __future__ import annotations

from pathlib import Path

import pytest

from cspace.context.naming import EntryName, get_entry_name, list_names
from cspace.context.records import Kind
from cspace.errors import NotFound, UsageError

DECISION = EntryName(Kind.DECISION, "2026-04-14-use-sqlite")
SECOND = EntryName(Kind.DECISION, "2026-04-15-use-sqlite-2")
FINDING = EntryName(Kind.FINDING, "2026-04-14-sums-are-off")
FOREIGN = EntryName(Kind.FINDING, "My Notes")


@pytest.fixture
def named(root: Path) -> Path:
    for name in (DECISION, SECOND, FINDING, FOREIGN):
        folder = root / ".cspace/context" / name.kind.plural
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name.slug}.md").touch()
    return root


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("2026-04-14-use-sqlite", DECISION),
        ("2026-04-14-use-sqlite.md", DECISION),
        ("decision/2026-04-14-use-sqlite", DECISION),
        ("decisions/2026-04-14-use-sqlite", DECISION),
        (".cspace/context/decisions/2026-04-14-use-sqlite.md", DECISION),
        ("use-sqlite", DECISION),
        ("use-sqlite-", SECOND),
        ("2026-04-15", SECOND),
        ("finding/2026", FINDING),
        ("sums", FINDING),
        ("My Notes", FOREIGN),
        ("My", FOREIGN),
    ],
)
def test_as_much_of_a_name_as_tells_it_apart_is_enough(
    named: Path, given: str, meant: EntryName
) -> None:
    assert get_entry_name(named, given) == meant


@pytest.mark.parametrize("given", ["use", "2026-04-14", "decisions/use"])
def test_what_may_be_several_is_refused_with_their_names(named: Path, given: str) -> None:
    with pytest.raises(UsageError, match="decision/2026-04-14-use-sqlite"):
        get_entry_name(named, given)


def test_one_slug_in_two_directories_has_to_be_told_apart(named: Path) -> None:
    twin = named / ".cspace/context/findings/2026-04-14-use-sqlite.md"
    twin.touch()
    with pytest.raises(UsageError, match="finding/2026-04-14-use-sqlite"):
        get_entry_name(named, DECISION.slug)
    assert get_entry_name(named, f"finding/{DECISION.slug}").kind is Kind.FINDING


@pytest.mark.parametrize(
    "given",
    ["", "/", "decision/", "nothing", "moon/use-sqlite", "../use-sqlite", "/etc/passwd", "a\0b"],
)
def test_what_is_no_record_is_not_found(named: Path, given: str) -> None:
    with pytest.raises(NotFound):
        get_entry_name(named, given)


def test_a_part_of_a_name_suggests_it(named: Path) -> None:
    with pytest.raises(NotFound) as caught:
        get_entry_name(named, "sqlite")
    assert "decision/2026-04-14-use-sqlite" in str(caught.value.hint)


def test_where_a_whole_slug_is_needed_a_part_is_not_enough(named: Path) -> None:
    with pytest.raises(NotFound) as caught:
        get_entry_name(named, "sums", whole=True)
    assert caught.value.hint == f"a whole slug is needed; the nearest are {FINDING}"
    assert get_entry_name(named, FINDING.slug, whole=True) == FINDING


def test_only_kinds_that_were_asked_for_are_looked_at(named: Path) -> None:
    with pytest.raises(NotFound):
        get_entry_name(named, "use-sqlite", (Kind.FINDING,))
    with pytest.raises(NotFound):
        get_entry_name(named, "decision/use-sqlite", (Kind.FINDING,))


def test_names_are_listed_without_opening_a_file(named: Path) -> None:
    assert list_names(named) == (DECISION, SECOND, FINDING, FOREIGN)
    assert list_names(named, (Kind.DISCOVERY,)) == ()
