"""All that an agent writes belongs to who called cspace, whatever that user's uid is."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.person import Person, docker

pytestmark = [pytest.mark.docker, pytest.mark.e2e]

MEMORY = Path(".cspace/memory/MEMORY.md")
AGENT = """
set -eu
echo code >code.txt; mkdir -p deep/er; ln -s code.txt link; git add -A; git commit -qm Agent
echo remembered >>/home/dev/.claude/projects/-workspace/memory/MEMORY.md
echo topic >/home/dev/.claude/projects/-workspace/memory/topic.md
echo said >/home/dev/.claude/projects/-workspace/said.jsonl
mkdir -p .cspace/context/findings && echo found >.cspace/context/findings/2026-01-01-found.md
"""

Owners = dict[Path, tuple[int, int]]


def owners(*roots: Path) -> Owners:
    """Return uid and gid of everything below some directories, themselves included."""
    paths = [path for root in roots for path in (root, *root.rglob("*"))]
    return {path: (path.lstat().st_uid, path.lstat().st_gid) for path in paths}


def check_owner(person: Person, owner: int) -> None:
    """Bring mercury up, let its agent write everywhere, and compare the owners of all there is."""
    person.write("ignored/.keep")
    before = owners(person.repo, person.home)
    person.cspace("up", "mercury")
    assert (person.repo / MEMORY).read_bytes() == b""
    person.inside("mercury", "bash", "-c", AGENT)
    after = owners(person.repo, person.home)
    kept = {path: ids for path, ids in after.items() if path in before}
    assert kept == {path: ids for path, ids in before.items() if path in kept}
    new = {path: ids for path, ids in after.items() if path not in before}
    assert person.workspace("mercury") / "deep/er" in new
    assert person.repo / ".cspace/memory/topic.md" in new
    assert person.state("mercury").sessions / "-workspace/said.jsonl" in new
    assert person.repo / ".cspace/context/findings/2026-01-01-found.md" in new
    # What lies in the repository's own directory is whoever's git it is that writes there.
    git = {path for path in new if path.is_relative_to(person.repo / ".git")}
    assert {new[path] for path in git} == {before[person.repo / ".git"]}
    assert {new[path] for path in new.keys() - git} == {(owner, owner)}


def check_mounts(person: Person, owner: int) -> None:
    """Every directory that is mounted, and each above it in the home, is the user's inside too."""
    (found,) = json.loads(docker("inspect", person.container("mercury")))
    targets = [mount["Destination"] for mount in found["Mounts"]]
    assert "/home/dev/.claude/projects/-workspace/memory" in targets
    above = ("/home/dev/.claude/projects", "/home/dev/.claude/projects/-workspace")
    said = person.inside("mercury", "stat", "-L", "--format=%u:%g", *targets, *above)
    assert set(said.split()) == {f"{owner}:{owner}"}


def check_processes(person: Person, owner: int) -> None:
    """No process of the container is root's, as the host counts."""
    said = docker("top", person.container("mercury"), "-eo", "uid,pid,args").splitlines()[1:]
    assert said
    assert {line.split()[0] for line in said} == {str(owner)}
    status = person.inside("mercury", "cat", "/proc/1/status")
    assert f"Uid:\t{owner}\t" in status
    assert person.inside("mercury", "id", "-un").strip() == "dev"


@pytest.mark.parametrize("uid", [1000, 1001, 70000])
def test_files_and_mounts_of_root_hazard_all_is_the_users_and_no_process_is_roots(
    become: Callable[[int], Person], uid: int
) -> None:
    person = become(uid)
    check_owner(person, uid)
    check_mounts(person, uid)
    check_processes(person, uid)


def test_recursive_chown_hazard_under_root_only_what_is_new_is_the_containers_users(
    person: Person,
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can call cspace as root")
    check_owner(person, 1000)
    check_processes(person, 1000)


def test_under_sudo_it_is_the_user_who_called(become: Callable[[int], Person]) -> None:
    user = become(1001)
    # What sudo leaves in the environment of root's process.
    sudo = Person(user.program, user.engine, user.home, user.repo).having(
        SUDO_UID="1001", SUDO_GID="1001"
    )
    before = owners(user.repo, user.home)
    sudo.cspace("init")
    sudo.cspace("up", "mercury")
    sudo.inside("mercury", "bash", "-c", AGENT)
    after = owners(user.repo, user.home)
    assert user.workspace("mercury") / "code.txt" in after
    assert user.state("mercury").sessions / "-workspace/said.jsonl" in after
    assert {ids for path, ids in after.items() if path not in before} == {(1001, 1001)}
    sudo.cspace("down", "mercury")
    assert set(owners(user.repo, user.home).values()) == {(1001, 1001)}


def test_the_memory_index_is_seeded_empty_once_and_never_touched_again(person: Person) -> None:
    person.cspace("init")
    index = person.repo / MEMORY
    assert index.read_bytes() == b""
    person.cspace("up", "mercury")
    inside = "/home/dev/.claude/projects/-workspace/memory/MEMORY.md"
    person.inside("mercury", "bash", "-c", f"printf 'no newline' >{inside}; chmod 600 {inside}")
    before = index.stat()
    person.cspace("down", "mercury")
    person.cspace("init")
    person.cspace("up", "mercury", "venus")
    assert person.inside("venus", "cat", inside) == "no newline"
    after = index.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert stat.S_IMODE(after.st_mode) == 0o600
