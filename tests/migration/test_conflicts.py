"""What happens where both sides have a file of one name."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cspace.beneath import MAX_BYTES
from cspace.migration.index import is_stub, merge_lines
from cspace.migration.model import Fate, Policy
from cspace.migration.plan import make_plan
from tests.migration.sources import (
    BOTH,
    OURS,
    PLACE,
    THEIRS,
    migrate,
    source,
    target,
    texts,
    write,
)

MERGE = Policy(merge_index=True)
SIDES = source({"role.md": "theirs\n", "new.md": "new\n", "same.md": "same\n"})
HERE = {"role.md": "ours\n", "same.md": "same\n", "only.md": "only ours\n"}
COMMON = {"new.md": "new\n", "same.md": "same\n", "only.md": "only ours\n"}


@pytest.mark.parametrize("policy", [OURS, THEIRS, BOTH, MERGE])
def test_a_plan_says_each_files_fate_and_changes_nothing(tmp_path: Path, policy: Policy) -> None:
    write(tmp_path, HERE)
    plan = make_plan(SIDES, target(tmp_path), policy)
    fates = {str(one.path): one.fate for one in plan.files}
    assert fates == {"new.md": Fate.NEW, "role.md": Fate.CONFLICT, "same.md": Fate.SAME}
    assert texts(tmp_path) == HERE
    assert [path.name for path in (tmp_path / ".cspace").iterdir()] == ["memory"]


def test_a_conflict_is_never_overwritten_without_the_flag(tmp_path: Path) -> None:
    write(tmp_path, HERE)
    outcome = migrate(SIDES, tmp_path)
    assert texts(tmp_path) == COMMON | {"role.md": "ours\n"}
    assert [str(one.path) for one in outcome.left] == ["role.md"]
    assert not outcome.verified


def test_theirs_loses_nothing_of_ours(tmp_path: Path) -> None:
    write(tmp_path, HERE)
    outcome = migrate(SIDES, tmp_path, THEIRS)
    (aside,) = [name for name in texts(tmp_path) if "replaced" in name]
    assert texts(tmp_path) == COMMON | {"role.md": "theirs\n", aside: "ours\n"}
    (role,) = [one for one in outcome.written if one.path.name == "role.md"]
    assert role.reason == f"ours stays as {aside}"
    assert outcome.verified
    assert migrate(SIDES, tmp_path, THEIRS).written == ()


def test_both_are_kept_under_two_names(tmp_path: Path) -> None:
    write(tmp_path, HERE)
    outcome = migrate(SIDES, tmp_path, BOTH)
    assert texts(tmp_path) == COMMON | {"role.md": "ours\n", "role.legacy.md": "theirs\n"}
    assert outcome.verified
    again = migrate(SIDES, tmp_path, BOTH)
    assert again.written == ()
    assert again.verified


def test_a_name_for_the_second_version_that_is_taken_is_left_alone(tmp_path: Path) -> None:
    write(tmp_path, HERE | {"role.legacy.md": "mine\n", "Role.Legacy-2.md": "mine too\n"})
    migrate(SIDES, tmp_path, BOTH)
    assert texts(tmp_path)["role.legacy.md"] == "mine\n"
    assert texts(tmp_path)["role.legacy-3.md"] == "theirs\n"
    assert migrate(SIDES, tmp_path, BOTH).written == ()


def test_the_second_version_never_takes_a_name_of_the_source(tmp_path: Path) -> None:
    there = source({"role.md": "theirs\n", "role.legacy.md": "another\n"})
    write(tmp_path, {"role.md": "ours\n"})
    migrate(there, tmp_path, BOTH)
    assert texts(tmp_path) == {
        "role.md": "ours\n", "role.legacy.md": "another\n", "role.legacy-2.md": "theirs\n",
    }  # fmt: skip
    assert migrate(there, tmp_path, BOTH).written == ()


@pytest.mark.parametrize("policy", [THEIRS, BOTH])
def test_a_name_of_255_bytes_has_room_for_no_mark_and_is_cut(
    tmp_path: Path, policy: Policy
) -> None:
    name = "ß" * 126 + ".md"
    there = source({name: "theirs"})
    write(tmp_path, {name: "ours"})
    assert migrate(there, tmp_path, policy).verified
    assert sorted(texts(tmp_path).values()) == ["ours", "theirs"]
    assert migrate(there, tmp_path, policy).written == ()


def test_a_name_that_differs_only_by_case_from_one_in_the_target_is_unsafe(tmp_path: Path) -> None:
    write(tmp_path, {"Role.md": "ours\n", "Notes/a.md": "ours\n", "caf\u00e9.md": "ours\n"})
    there = source({"role.md": "t", "notes/b.md": "t", "cafe\u0301.md": "t", "fine.md": "t"})
    outcome = migrate(there, tmp_path, THEIRS)
    assert [str(one.path) for one in outcome.written] == ["fine.md"]
    assert {one.fate for one in outcome.left} == {Fate.UNSAFE}
    assert len(outcome.left) == 3


@pytest.mark.parametrize("stub", ["", "\n", "  \n\t\n"])
def test_an_untouched_index_counts_as_absent(tmp_path: Path, stub: str) -> None:
    write(tmp_path, {"MEMORY.md": stub})
    outcome = migrate(source({"MEMORY.md": "- theirs\n"}), tmp_path)
    assert [one.fate for one in outcome.plan.files] == [Fate.NEW]
    assert texts(tmp_path) == {"MEMORY.md": "- theirs\n"}
    assert outcome.verified


def test_an_untouched_index_gives_way_to_one_that_is_too_large_to_merge(tmp_path: Path) -> None:
    write(tmp_path, {"MEMORY.md": "\n"})
    large = "- theirs\n" * (MAX_BYTES // 9 + 1)
    outcome = migrate(source({"MEMORY.md": large}), tmp_path, MERGE)
    assert ([one.fate for one in outcome.plan.files], outcome.verified) == ([Fate.NEW], True)
    assert texts(tmp_path) == {"MEMORY.md": large}


def test_an_untouched_index_of_the_source_brings_nothing(tmp_path: Path) -> None:
    write(tmp_path, {"MEMORY.md": "- ours\n"})
    outcome = migrate(source({"MEMORY.md": "\n"}), tmp_path, THEIRS)
    assert texts(tmp_path) == {"MEMORY.md": "- ours\n"}
    assert outcome.verified


def test_two_real_indexes_are_a_conflict_like_any_other(tmp_path: Path) -> None:
    write(tmp_path, {"MEMORY.md": "- ours\n"})
    there = source({"MEMORY.md": "- theirs\n"})
    assert [str(one.path) for one in migrate(there, tmp_path).left] == ["MEMORY.md"]
    assert texts(tmp_path) == {"MEMORY.md": "- ours\n"}


def test_an_index_is_merged_line_by_line_and_only_once(tmp_path: Path) -> None:
    write(tmp_path, {"MEMORY.md": "- b\n- a\nlast", "sub/MEMORY.md": "ours\n"})
    there = source({"MEMORY.md": "- c \n\n- a\n- d\n- c \n", "sub/MEMORY.md": "theirs\n"})
    outcome = migrate(there, tmp_path, MERGE)
    merged = "- b\n- a\nlast\n- c \n- d\n"
    assert texts(tmp_path) == {"MEMORY.md": merged, "sub/MEMORY.md": "ours\n"}
    assert [str(one.path) for one in outcome.left] == ["sub/MEMORY.md"]
    again = migrate(there, tmp_path, MERGE)
    assert (again.plan.pending, [str(one.path) for one in again.left]) == ((), ["sub/MEMORY.md"])


def test_lines_that_differ_only_by_how_they_end_are_merged_once(tmp_path: Path) -> None:
    write(tmp_path, {"MEMORY.md": "- a\n- b"})
    there = source({"MEMORY.md": "- a\r\n- c\r\n\r\n"})
    assert migrate(there, tmp_path, MERGE).verified
    assert (tmp_path / PLACE / "MEMORY.md").read_bytes() == b"- a\n- b\n- c\r\n"
    assert migrate(there, tmp_path, MERGE).written == ()


def test_an_index_that_would_get_too_large_to_be_read_is_not_merged(tmp_path: Path) -> None:
    theirs = b"".join(b"- %015d\n" % number for number in range(MAX_BYTES // 36 + 9))
    there = source({"MEMORY.md": theirs})
    ours = theirs.decode().replace("-", "+")
    write(tmp_path, {"MEMORY.md": ours})
    for _ in range(2):
        outcome = migrate(there, tmp_path, MERGE)
        assert [one.reason for one in outcome.left] == ["ours stays"]
    assert texts(tmp_path) == {"MEMORY.md": ours}
    assert migrate(there, tmp_path, Policy(BOTH.choice, merge_index=True)).verified


@given(ours=st.binary(max_size=60), theirs=st.binary(max_size=60))
def test_a_merged_index_has_every_line_of_both_and_ours_first(ours: bytes, theirs: bytes) -> None:
    merged = merge_lines(ours, theirs)
    assert merged.startswith(ours)
    lines = {line for line in (*ours.split(b"\n"), *theirs.split(b"\n")) if line.strip()}
    ends = {line.removesuffix(b"\r") for line in lines}
    assert ends <= {line.removesuffix(b"\r") for line in merged.split(b"\n")}
    assert merge_lines(merged, theirs) == merge_lines(merged, ours) == merged
    assert is_stub(ours + theirs) or not is_stub(merged)


def test_what_is_not_wanted_stays_and_keeps_the_source_indispensable(tmp_path: Path) -> None:
    there = source({"a.jsonl": "{}", "settings.json": "{}"})
    jsonl = target(tmp_path, lambda path: path if path.suffix == ".jsonl" else None)
    plan = make_plan(there, jsonl, OURS)
    assert [str(one.path) for one in plan.files] == ["a.jsonl"]
    assert plan.others == 1
