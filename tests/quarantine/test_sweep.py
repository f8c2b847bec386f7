"""What could run or redirect is moved aside, named, and can be brought back."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cspace import proc
from cspace.beneath import MAX_DEPTH
from cspace.errors import CspaceError
from cspace.events import ignore
from cspace.quarantine import shelf
from cspace.quarantine.scan import Kind, iter_foreign
from cspace.quarantine.shelf import MAX_SAID, PLACE, list_quarantined, sweep
from cspace.trees import remove_tree
from tests.conftest import CHECKOUT, Clock
from tests.quarantine.conftest import OWNER, Sweep
from tests.quarantine.planted import (
    nest,
    plant_bare_repository,
    plant_repository,
    plant_worktree,
    status_runs,
)
from tests.test_owner import as_root

KILLED = """
import os, sys
from pathlib import Path
from cspace.events import ignore
from cspace.files import Owner
from cspace.quarantine import shelf
shelf._rename = lambda *_: os.kill(os.getpid(), 9)
shelf.sweep(Path(sys.argv[1]), Owner(os.getuid(), os.getgid()), ignore)
"""
# Directory and link change places at once, and what the sweep took comes back.
SWAPPER = """
import contextlib, ctypes, os, sys
os.chdir(sys.argv[1])
exchange, here = 2, -100
rename = ctypes.CDLL(None).renameat2
while True:
    with contextlib.suppress(OSError):
        if rename(here, b"x", here, b"y", exchange):
            os.symlink(sys.argv[2], "y" if os.path.lexists("x") else "x")
        elif os.path.islink("x") and os.path.islink("y"):
            os.unlink("x")
            os.mkdir("x")
        elif not os.path.islink("x") and not os.path.islink("y"):
            os.rmdir("x")
            os.symlink(sys.argv[2], "x")
"""


@pytest.fixture(params=["context", "context/findings", "memory", "memory/deep/er"])
def place(project: Path, request: pytest.FixtureRequest) -> Path:
    path = project / ".cspace" / str(request.param)
    path.mkdir(parents=True, exist_ok=True)
    return path


def test_fsmonitor_hazard_a_planted_git_directory_runs_nothing_any_more(
    place: Path, swept: Sweep, tmp_path: Path
) -> None:
    canary = tmp_path / "canary"
    plant_repository(place, canary)
    assert status_runs(place, canary)
    assert [one.kind for one in swept()] == [Kind.GIT]
    assert not status_runs(place, canary)


def test_a_planted_bare_repository_is_none_any_more(
    place: Path, swept: Sweep, tmp_path: Path
) -> None:
    canary = tmp_path / "canary"
    plant_bare_repository(place, canary)
    assert status_runs(place, canary)
    assert [one.kind for one in swept()] == [Kind.REPOSITORY]
    assert not status_runs(place, canary)


def test_a_planted_worktree_of_a_repository_elsewhere_is_none_any_more(
    place: Path, swept: Sweep, tmp_path: Path
) -> None:
    canary = tmp_path / "canary"
    plant_worktree(place, place / "harmless", canary)
    assert status_runs(place, canary)
    assert [one.kind for one in swept()] == [Kind.REPOSITORY]
    assert not status_runs(place, canary)


@pytest.mark.parametrize("name", [".git", ".GIT", ".Git"])
def test_a_file_that_leads_git_elsewhere_is_moved(place: Path, swept: Sweep, name: str) -> None:
    (place / name).write_text("gitdir: /elsewhere\n", encoding="utf-8")
    (thing,) = swept()
    assert thing.kind is Kind.GIT
    assert not (place / name).exists()


def test_a_link_is_moved_and_what_it_leads_to_stays(
    place: Path, swept: Sweep, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    plant_repository(outside, tmp_path / "canary")
    (place / "notes").symlink_to(outside)
    assert (place / "notes" / ".git" / "HEAD").read_bytes()  # open() follows it
    assert [one.kind for one in swept()] == [Kind.LINK]
    assert not (place / "notes").is_symlink()
    assert (outside / ".git" / "HEAD").exists()


def test_fifos_and_sockets_are_moved(
    place: Path, swept: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(place / "note.md")
    with open(os.open(place / "note.md", os.O_RDWR), "rb") as reader:  # noqa: PTH123  a descriptor
        assert not select.select([reader], [], [], 0)[0]  # a reader would wait forever
    monkeypatch.chdir(place)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("door")
    assert [one.kind for one in swept()] == [Kind.SPECIAL, Kind.SPECIAL]
    assert not {"note.md", "door"} & set(os.listdir(place))


def test_foreign_files_that_run_nothing_stay(project: Path, swept: Sweep) -> None:
    memory = project / ".cspace/memory"
    for name in ("HEAD", "objects", "notes.txt", "x\n\x1b[2J.md", "deep/.gitattributes"):
        (memory / name).parent.mkdir(exist_ok=True)
        (memory / name).write_text("kept", encoding="utf-8")
    (memory / "refs").mkdir()
    (memory / "objects").unlink()  # without it HEAD and refs are nothing to git
    before = sorted(memory.rglob("*"))
    assert swept() == ()
    assert sorted(memory.rglob("*")) == before
    assert not (project / PLACE).exists()


def test_each_thing_is_said_in_one_line_with_the_way_back(
    project: Path, swept: Sweep, said: list[str]
) -> None:
    hostile = project / ".cspace/memory" / os.fsdecode(b"a\nb\x1b[2J\xff")
    hostile.symlink_to("/etc")
    (thing,) = swept()
    (line,) = said
    assert line.isprintable()
    assert r".cspace/memory/a\nb\x1b[2J\udcff" in line
    assert f"cspace quarantine restore {thing.id}" in line


def test_a_flood_of_links_is_counted_and_not_listed(
    project: Path, swept: Sweep, said: list[str]
) -> None:
    for number in range(MAX_SAID + 5):
        (project / ".cspace/memory" / str(number)).symlink_to("/etc")
    assert len(swept()) == MAX_SAID + 5
    assert len(said) == MAX_SAID + 1
    assert "5 more" in said[-1]
    assert len(list_quarantined(project)) == MAX_SAID + 5


@pytest.fixture
def deep(project: Path) -> Iterator[Path]:
    """Nest directories deeper than Python recurses; not even pytest could remove them."""
    memory = project / ".cspace/memory"
    nest(memory, 3 * sys.getrecursionlimit())
    yield memory
    remove_tree(project / ".cspace")


def test_directories_deeper_than_python_recurses_are_moved_as_a_whole(
    project: Path, deep: Path, swept: Sweep
) -> None:
    with pytest.raises((OSError, RecursionError)):  # what a plain walk makes of it
        sum(1 for _ in deep.rglob("*"))
    (thing,) = swept()
    assert thing.kind is Kind.DEEP
    assert thing.path == ".cspace/memory" + "/d" * (MAX_DEPTH + 1)
    assert swept() == ()
    shelf.remove(project, thing.id)
    assert list_quarantined(project) == ()


def test_a_directory_that_was_closed_hides_nothing(project: Path, swept: Sweep) -> None:
    inner = project / ".cspace/memory/closed/inner"
    plant_repository(inner, project / "canary")
    for path in (inner / ".git", inner, inner.parent, project / ".cspace/memory"):
        path.chmod(0)
    assert [one.kind for one in swept()] == [Kind.GIT]
    assert [one.kind for one in iter_foreign(project)] == []


@as_root
def test_an_ordinary_users_closed_directories_hide_nothing(
    project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    inner = project / ".cspace/memory/closed/inner"
    plant_repository(inner, project / "canary")
    proc.run("chown", "-R", "4242:4242", project)
    for path in (inner / ".git", inner, inner.parent, project / ".cspace/memory"):
        path.chmod(0o100 if path == inner else 0)
    # What is imported later would be looked for where this user may not go.
    code = f"""
import encodings.ascii, os, sys
sys.path.insert(0, {str(CHECKOUT)!r})
from pathlib import Path
from cspace.events import ignore
from cspace.files import Owner
from cspace.quarantine.scan import iter_foreign
from cspace.quarantine.shelf import sweep, restore
os.chdir({str(project)!r})
os.setgid(4242)
os.setuid(4242)
root = Path(".")
print(*(one.kind for one in iter_foreign(root)))
(thing,) = sweep(root, Owner(4242, 4242), ignore)
print(thing.kind)
restore(root, thing.id)
print(*(one.kind for one in iter_foreign(root)))
"""
    done = proc.run(sys.executable, "-c", code)
    assert done.text.splitlines() == ["unreadable", "git", "git"]


def test_two_sweeps_at_once_move_each_thing_once_and_both_succeed(project: Path) -> None:
    memory = project / ".cspace/memory"
    for number in range(60):
        (memory / str(number)).symlink_to("/etc")
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda _: sweep(project, OWNER, ignore), range(4)))
    paths = [str(one.path) for moved in done for one in moved]
    assert sorted(paths) == sorted(f".cspace/memory/{number}" for number in range(60))
    assert len(list_quarantined(project)) == 60


def test_a_component_swapped_for_a_link_leads_nowhere(project: Path, tmp_path: Path) -> None:
    outside, findings = tmp_path / "outside", project / ".cspace/context/findings"
    plant_repository(outside, tmp_path / "canary")
    (outside / "link").symlink_to("/etc")
    for number in range(300):  # time passes between seeing a directory and opening it
        (findings / f"sibling{number}").mkdir()
    swapper = subprocess.Popen([sys.executable, "-c", SWAPPER, findings, outside])
    try:
        for _ in range(1000):
            sweep(project, OWNER, ignore)
            if len(list_quarantined(project)) >= 30:
                break
    finally:
        swapper.kill()
        swapper.wait()
    assert (outside / ".git" / "HEAD").exists()
    assert (outside / "link").is_symlink()
    taken = {Path(one.path).name for one in list_quarantined(project) if one.path}
    assert taken == {"x", "y"}


def test_a_kill_between_record_and_move_leaves_the_thing_and_no_debris(
    project: Path, swept: Sweep
) -> None:
    (project / ".cspace/memory/link").symlink_to("/etc")
    env = os.environ | {"PYTHONPATH": str(CHECKOUT)}
    killed = subprocess.run([sys.executable, "-c", KILLED, project], env=env, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert (project / ".cspace/memory/link").is_symlink()
    assert list_quarantined(project) == ()
    (thing,) = swept()
    assert [one.id for one in list_quarantined(project)] == [thing.id]
    assert {path.name for path in (project / PLACE).iterdir()} == {
        ".gitignore",
        ".lock",
        thing.id,
    }


def test_git_does_not_see_the_quarantine(project: Path, swept: Sweep, tmp_path: Path) -> None:
    proc.run("git", "-C", project, "add", "--all")
    proc.run("git", "-C", project, "commit", "--quiet", "--message", "cspace")
    plant_repository(project / ".cspace/memory", tmp_path / "canary")
    swept()
    assert proc.run("git", "-C", project, "status", "--porcelain", "-uall").text == ""


@pytest.mark.parametrize("name", ["context", "memory"])
def test_a_link_in_the_place_of_a_shared_directory_is_not_followed(
    project: Path, swept: Sweep, tmp_path: Path, name: str
) -> None:
    outside = tmp_path / "outside"
    plant_repository(outside, tmp_path / "canary")
    (project / ".cspace" / name).rename(tmp_path / "aside")
    (project / ".cspace" / name).symlink_to(outside)
    assert swept() == ()
    assert (outside / ".git").exists()


def test_a_link_in_the_place_of_the_quarantine_is_refused(
    project: Path, swept: Sweep, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (project / PLACE).symlink_to(outside)
    assert swept() == ()
    (project / ".cspace/memory/link").symlink_to("/etc")
    with pytest.raises(CspaceError, match="quarantine"):
        swept()
    assert list(outside.iterdir()) == []


def test_a_project_without_shared_directories_gets_none(repo: Path, clock: Clock) -> None:
    assert sweep(repo, OWNER, ignore, now=clock) == ()
    assert {path.name for path in repo.iterdir()} == {".git", "README.md"}
