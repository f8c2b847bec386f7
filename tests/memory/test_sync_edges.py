"""What is on one machine only, can not be read, or nobody else would take."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from cspace.beneath import MAX_BYTES
from cspace.errors import Conflict
from cspace.memory.incoming import Refused
from cspace.memory.index import BEGIN, END
from cspace.memory.scopes import Kind, Scope
from tests.memory.machines import Machine, make_remote
from tests.memory.writers import check_clean, check_index


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Machine, Machine]:
    """Return two machines that have the same two memories."""
    remote = make_remote(tmp_path / "remote.git")
    machines = [Machine(tmp_path / by / "memory", by).init() for by in ("anna", "ben")]
    for machine in machines:
        machine.connect(remote)
    machines[0].write("user/testing", "one")
    machines[0].write("user/other", "two")
    for machine in machines * 2:
        machine.sync()
    return machines[0], machines[1]


def commits(*machines: Machine) -> list[int]:
    return [len(machine.log()) for machine in machines]


def test_what_only_one_machine_has_makes_no_commit_with_each_sync(
    pair: tuple[Machine, Machine], tmp_path: Path
) -> None:
    anna, ben = pair
    (anna.root / "user/Odd [Name].md").write_text("odd", encoding="utf-8")
    (anna.root / "user/con.md").write_text("odd", encoding="utf-8")
    (tmp_path / "own").mkdir()
    (anna.root / "orchestrator").mkdir()
    (anna.root / "personas/empty").mkdir(parents=True)
    for scope in anna.plain.scopes():
        anna.plain.reindex(scope)
    assert "(con.md)" in anna.text("user/MEMORY")
    assert "(orchestrator/MEMORY.md)" in anna.text("MEMORY")
    for machine in (anna, ben) * 2:
        machine.sync()
    before = commits(anna, ben)
    for machine in (anna, ben) * 2:
        assert machine.sync().pushed is None
    assert commits(anna, ben) == before
    assert "(con.md)" in anna.text("user/MEMORY")
    assert "con.md" not in ben.text("user/MEMORY")
    assert anna.tree() == ben.tree()


@pytest.mark.parametrize("what", ["big", "link", "directory", "file-for-directory"])
def test_what_can_not_be_read_here_hazard_it_is_not_removed_there(
    pair: tuple[Machine, Machine], tmp_path: Path, what: str
) -> None:
    anna, ben = pair
    path, user = anna.path("user/testing"), anna.root / "user"
    match what:
        case "big":
            path.write_bytes(b"x" * (MAX_BYTES + 1))
        case "link":
            path.rename(tmp_path / "moved.md")
            path.symlink_to(tmp_path / "moved.md")
        case "directory":
            user.rename(tmp_path / "user")
            user.symlink_to(tmp_path / "user")
        case _:
            user.rename(tmp_path / "user")
            user.write_text("x", encoding="utf-8")
    before = ben.files()
    anna.sync()
    ben.sync()
    assert ben.files() == before


BAD = {
    "header": b"---\nname: [unclosed\n---\n",
    "size": b"x" * (256 * 1024 + 1),
    "nul": b"a\0b",
}


@pytest.mark.parametrize("kind", BAD)
def test_what_the_others_would_refuse_is_not_pushed(
    pair: tuple[Machine, Machine], kind: str
) -> None:
    anna, ben = pair
    anna.path("user/testing").write_bytes(BAD[kind])
    tip = ben.git("ls-remote", "origin", "main")
    with pytest.raises(Refused, match=r"user/testing\.md"):
        anna.sync()
    assert ben.git("ls-remote", "origin", "main") == tip
    anna.path("user/testing").write_bytes(b"mended\n")
    assert anna.sync().pushed
    assert ben.sync().applied == ("user/testing",)


def test_a_first_push_is_checked_too(tmp_path: Path) -> None:
    anna = Machine(tmp_path / "memory", "anna").init()
    anna.connect(make_remote(tmp_path / "remote.git"))
    anna.write("user/testing", "one")
    anna.path("user/testing").write_bytes(BAD["header"])
    with pytest.raises(Refused, match=r"user/testing\.md"):
        anna.sync()
    assert anna.git("ls-remote", "origin") == ""


def test_who_mends_what_was_pushed_broken_can_sync_again(pair: tuple[Machine, Machine]) -> None:
    anna, ben = pair
    anna.path("user/testing").write_bytes(BAD["header"])
    anna.git("commit", "--quiet", "--all", "--message", "by hand")
    anna.git("push", "--quiet", "origin", "main")
    with pytest.raises(Refused):
        ben.sync()
    anna.path("user/testing").write_bytes(b"mended\n")
    anna.sync()
    assert ben.sync().applied == ("user/testing",)


def test_a_region_that_both_sides_moved_is_a_conflict_and_nothing_is_applied(
    pair: tuple[Machine, Machine],
) -> None:
    anna, ben = pair
    place, region = "user/MEMORY", f"{BEGIN.decode()}\n{END.decode()}\n"
    text = "".join(f"{number}\n" for number in range(20))
    anna.path(place).write_text(text + region + text, encoding="utf-8")
    for machine in (*pair, *pair):
        machine.sync()
    lines = ben.text(place).removeprefix(text).removesuffix(text)
    anna.path(place).write_text(lines + text + text, encoding="utf-8")
    ben.path(place).write_text(text + text + lines, encoding="utf-8")
    ben.write("user/third", "three")
    ben.sync()
    before = anna.files()
    with pytest.raises(Conflict, match="user/MEMORY"):
        anna.sync()
    assert anna.files() == before
    anna.sync(theirs="user/MEMORY")
    assert anna.text(place).startswith(text)


VICTIM = """
import sys
from pathlib import Path
from tests.memory.machines import Machine
Machine(Path(sys.argv[1]), "ben").sync()
"""


def kill_sync(machine: Machine, until: Callable[[], bool]) -> None:
    """Let another process sync, and kill it as soon as something holds."""
    words = (sys.executable, "-c", VICTIM, str(machine.root))
    with subprocess.Popen(words, cwd=Path(__file__).parents[2]) as process:
        while not until():
            assert process.poll() is None
        process.kill()
    assert process.returncode == -9


def are_more(directory: Path, pattern: str, most: int) -> bool:
    return sum(1 for _ in directory.glob(pattern)) > most


def test_kill_9_in_the_middle_of_a_sync_hazard_the_next_one_ends_it(
    pair: tuple[Machine, Machine], counts: Callable[[int, int], int]
) -> None:
    anna, ben = pair
    user = ben.root / "user"
    for number in range(counts(2, 20)):
        for entry in range(300):
            content = f"---\nname: n{number}-{entry}\n---\ntext\n"
            anna.path(f"user/n{number}-{entry}").write_text(content, encoding="utf-8")
        if number:
            anna.path(f"user/n{number - 1}-0").unlink()
        anna.plain.reindex(Scope(Kind.USER))
        anna.sync()
        kill_sync(ben, partial(are_more, user, f"n{number}-*.md", 3 * number))
        assert os.path.lexists(user / ".changing")
        ben.write("user/testing", f"after the kill {number}")
        check_index(user)
        ben.sync()
        anna.sync()
        check_clean(user)
        assert anna.files() == ben.files()
        assert anna.tree() == ben.tree()
        assert len(list(user.glob(f"n{number}-*.md"))) == 300
