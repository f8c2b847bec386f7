"""What changes between a plan and its end: in the source, in the target, on the disk."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cspace import proc
from cspace.errors import CspaceError
from cspace.events import Event, State
from cspace.migration.apply import apply_plan
from cspace.migration.model import Outcome, Policy, Source
from cspace.migration.plan import make_plan
from tests.migration.sources import (
    BOTH,
    OURS,
    PLACE,
    THEIRS,
    migrate,
    source,
    streams,
    tar,
    target,
    texts,
    write,
)

MERGE = Policy(merge_index=True)
STAGING = ".cspace/.memory.migration.cspace-tmp"


class Meanwhile:
    """Plans, lets the test do something, and applies."""

    def __init__(self, source: Source, root: Path, policy: Policy = OURS) -> None:
        self._source, self._target = source, target(root)
        self._plan = make_plan(source, self._target, policy)

    def apply(self) -> Outcome:
        return apply_plan(self._plan, self._source, self._target)


def refused(outcome: Outcome) -> dict[str, str]:
    return {str(one.path): one.reason for one in outcome.refused}


@pytest.mark.parametrize(
    "later", [{"a.md": "later", "b.md": "b"}, {"b.md": "b"}, {"a.md": "now and more", "b.md": "b"}]
)
def test_a_file_changed_while_it_is_copied_is_said_and_a_new_run_mends_it(
    tmp_path: Path, later: dict[str, str | bytes]
) -> None:
    changing = streams(tar({"a.md": "now", "b.md": "b"}), tar(later))
    outcome = migrate(changing, tmp_path)
    assert list(refused(outcome)) == [str(one.path) for one in outcome.left] == ["a.md"]
    assert "while it was copied" in refused(outcome)["a.md"]
    assert texts(tmp_path) == {"b.md": "b"}
    assert not outcome.verified
    assert migrate(changing, tmp_path).verified
    assert texts(tmp_path) == later


def test_a_file_that_came_while_others_were_copied_keeps_the_source_needed(tmp_path: Path) -> None:
    late = {"a.md": "a", "sub/late.md": "late"}
    growing = streams(tar({"a.md": "a"}), tar(late))
    outcome = migrate(growing, tmp_path)
    assert list(refused(outcome)) == [str(one.path) for one in outcome.left] == ["sub/late.md"]
    assert (outcome.verified, outcome.dispensable) == (False, False)
    assert texts(tmp_path) == {"a.md": "a"}
    assert migrate(growing, tmp_path).dispensable
    assert texts(tmp_path) == late


def test_a_source_that_is_cut_while_it_is_copied_lands_nothing(tmp_path: Path) -> None:
    whole = tar({"a.md": "a", "b.md": "b"})
    with pytest.raises(CspaceError, match="can not be read to its end"):
        migrate(streams(whole, whole[:1500]), tmp_path)
    assert texts(tmp_path) == {}
    assert not (tmp_path / STAGING).exists()


def test_a_file_that_the_target_got_meanwhile_stays(tmp_path: Path) -> None:
    meanwhile = Meanwhile(source({"a.md": "theirs", "b.md": "both"}), tmp_path)
    write(tmp_path, {"a.md": "an agent's", "b.md": "both"})
    outcome = meanwhile.apply()
    assert texts(tmp_path) == {"a.md": "an agent's", "b.md": "both"}
    assert list(refused(outcome)) == [str(one.path) for one in outcome.left] == ["a.md"]
    assert outcome.written == ()


@pytest.mark.parametrize("policy", [THEIRS, MERGE])
def test_a_file_that_changed_meanwhile_is_not_replaced(tmp_path: Path, policy: Policy) -> None:
    write(tmp_path, {"MEMORY.md": "ours\n"})
    meanwhile = Meanwhile(source({"MEMORY.md": "theirs\n"}), tmp_path, policy)
    write(tmp_path, {"MEMORY.md": "an agent's\n"})
    assert list(refused(meanwhile.apply())) == ["MEMORY.md"]
    assert texts(tmp_path) == {"MEMORY.md": "an agent's\n"}


@pytest.mark.parametrize("policy", [THEIRS, MERGE])
def test_a_file_that_went_meanwhile_is_not_brought_back(tmp_path: Path, policy: Policy) -> None:
    write(tmp_path, {"MEMORY.md": "ours\n"})
    meanwhile = Meanwhile(source({"MEMORY.md": "theirs\n"}), tmp_path, policy)
    (tmp_path / PLACE / "MEMORY.md").unlink()
    assert list(refused(meanwhile.apply())) == ["MEMORY.md"]
    assert texts(tmp_path) == {}


def test_what_another_run_replaced_meanwhile_by_the_same_bytes_is_done(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "ours", "MEMORY.md": "\n"})
    there = source({"a.md": "theirs", "MEMORY.md": "- theirs\n"})
    first, second = Meanwhile(there, tmp_path, THEIRS), Meanwhile(there, tmp_path, THEIRS)
    assert len(first.apply().written) == 2
    before = texts(tmp_path)
    outcome = second.apply()
    assert (outcome.written, outcome.refused, outcome.verified) == ((), (), True)
    assert texts(tmp_path) == before


def test_the_other_name_that_was_taken_meanwhile_is_left_alone(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "ours"})
    there = source({"a.md": "theirs"})
    first, second = Meanwhile(there, tmp_path, BOTH), Meanwhile(there, tmp_path, THEIRS)
    (aside,) = second._plan.pending
    write(tmp_path, {"a.legacy.md": "mine", str(aside.aside): "mine"})
    assert list(refused(first.apply())) == list(refused(second.apply())) == ["a.md"]
    assert set(texts(tmp_path).values()) == {"ours", "mine"}


@pytest.mark.parametrize("name", ["sub", "sub/deep"])
def test_a_directory_swapped_for_a_link_meanwhile_is_not_followed(
    tmp_path: Path, name: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    meanwhile = Meanwhile(source({"sub/deep/a.md": "a", "b.md": "b"}), tmp_path)
    (tmp_path / PLACE / name).parent.mkdir(parents=True)
    (tmp_path / PLACE / name).symlink_to(outside)
    assert list(refused(meanwhile.apply())) == ["sub/deep/a.md"]
    assert os.listdir(outside) == []
    assert (tmp_path / PLACE / "b.md").read_text() == "b"


def test_a_place_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    meanwhile = Meanwhile(source({"a.md": "a"}), tmp_path)
    (tmp_path / ".cspace").mkdir()
    (tmp_path / PLACE).symlink_to(outside)
    assert list(refused(meanwhile.apply())) == ["a.md"]
    assert migrate(source({"a.md": "a"}), tmp_path).left[0].reason
    assert os.listdir(outside) == []


@pytest.mark.parametrize("policy", [OURS, THEIRS, BOTH])
def test_what_is_no_file_in_the_target_stays_whatever_the_flag(
    tmp_path: Path, policy: Policy
) -> None:
    place = tmp_path / PLACE
    (place / "directory.md").mkdir(parents=True)
    (place / "link.md").symlink_to("/etc/passwd")
    os.mkfifo(place / "fifo.md")
    names = ("directory.md", "link.md", "fifo.md")
    outcome = migrate(source(dict.fromkeys(names, "theirs")), tmp_path, policy)
    assert len(outcome.left) == 3
    assert {one.reason for one in outcome.left} == {
        "in the target something that is not a file is in its way"
    }
    assert (place / "link.md").is_symlink()


def test_a_link_above_the_place_is_refused_with_what_to_look_at(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / ".cspace").symlink_to(outside)
    with pytest.raises(CspaceError, match="not a directory of its own") as refused:
        migrate(source({"a.md": "a"}), tmp_path)
    assert refused.value.hint == f"look at it and move it away: ls -ld {tmp_path / '.cspace'}"
    assert os.listdir(outside) == []


def test_a_file_damaged_after_it_landed_is_not_verified(tmp_path: Path) -> None:
    migrate(source({"a.md": "a", "b.md": "b"}), tmp_path)
    meanwhile = Meanwhile(source({"a.md": "a", "b.md": "b"}), tmp_path)
    write(tmp_path, {"b.md": "c"})
    outcome = meanwhile.apply()
    assert [str(one.path) for one in outcome.left] == ["b.md"]
    assert not outcome.verified


def test_debris_of_a_killed_run_goes_with_the_next_one_that_has_nothing_to_do(
    tmp_path: Path,
) -> None:
    migrate(source({"a.md": "a"}), tmp_path)
    (tmp_path / STAGING).mkdir()
    (tmp_path / STAGING / "0").write_text("half", encoding="utf-8")
    assert migrate(source({"a.md": "a"}), tmp_path).written == ()
    assert not (tmp_path / STAGING).exists()


def test_progress_is_said_in_bytes_and_ends_each_phase(tmp_path: Path) -> None:
    said: list[Event] = []
    there, home = source({"big.bin": os.urandom(3_000_000), "a.md": "a"}), target(tmp_path)
    apply_plan(make_plan(there, home, OURS, said.append), there, home, said.append)
    for phase, total in (("read", None), ("copy", 3_000_001), ("verify", 3_000_001)):
        events = [event for event in said if event.phase == phase]
        assert [events[0].state, events[-1].state] == [State.ADVANCED, State.DONE]
        assert {event.total for event in events} == {total}
        assert events[-1].done == 3_000_001
    assert 5 < len(said) < 30


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """Return a disk of its own that is soon full."""
    place = tmp_path / "disk"
    place.mkdir()
    proc.run("mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(place))
    yield place
    proc.run("umount", str(place))


def test_a_full_disk_leaves_nothing_half_written(small: Path) -> None:
    there = source({"a.md": "a", "big.bin": os.urandom(900_000), "z.md": "z"})
    with pytest.raises(CspaceError, match="No space left on device") as refused:
        migrate(there, small)
    assert str(refused.value).startswith(f"{small / PLACE} can not be written: ")
    assert refused.value.hint == f"df -h {small / '.cspace'}; then the same command again"
    assert texts(small) == {}
    assert not (small / STAGING).exists()
    proc.run("mount", "-o", "remount,size=4m", str(small))
    assert migrate(there, small).verified


def test_a_disk_that_is_read_only_is_named_and_no_descriptor(small: Path) -> None:
    proc.run("mount", "-o", "remount,ro", str(small))
    with pytest.raises(CspaceError, match="Read-only file system") as refused:
        migrate(source({"a.md": "a"}), small)
    assert str(small) in str(refused.value)
    assert "/proc/" not in str(refused.value)
    proc.run("mount", "-o", "remount,rw", str(small))
    (small / ".cspace").mkdir()
    proc.run("mount", "-o", "remount,ro", str(small))
    with pytest.raises(CspaceError, match="Read-only file system") as refused:
        migrate(source({"a.md": "a"}), small)
    assert str(small / PLACE) in str(refused.value)
    assert "/proc/" not in str(refused.value)


AT_ONCE = """
import sys
from pathlib import Path
from tests.migration.sources import legacy, migrate
outcome = migrate(legacy("nested"), Path(sys.argv[1]))
print(outcome.refused, len(outcome.left))
"""


def test_migrations_at_once_end_as_one(tmp_path: Path) -> None:
    words = [sys.executable, "-c", AT_ONCE, str(tmp_path)]
    running = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert [each.communicate()[0] for each in running] == ["() 1\n"] * 4
    assert len(list((tmp_path / PLACE).rglob("*.md"))) == 15
