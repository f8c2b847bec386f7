"""Curated memory beside other containers: shared, read-only, and on a disk that is full."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from cspace import proc
from cspace.memory.changes import Change, Operation
from cspace.memory.store import MemoryStore
from cspace.owner import find_owner
from tests.memory.conftest import USER
from tests.memory.writers import APPENDER, CREATOR, check_clean, check_index

pytestmark = pytest.mark.docker

PYTHON = "/opt/cspace/bin/python"
# What a writer meets in a read-only mount, in another's directory and on a full disk.
REFUSED = """
import json, os
from pathlib import Path
from cspace.errors import CspaceError
from cspace.memory.changes import Change, Operation
from cspace.memory.entries import summary_of
from cspace.memory.index import dump_line, entry_prefix, find_lines
from cspace.memory.scopes import parse_scope
from cspace.memory.store import MemoryStore
scope, said = parse_scope("user"), {}
for root in ("/read-only", "/foreign", "/full"):
    store = MemoryStore(Path(root))
    try:
        for number in range(10_000):
            store.change(Change(scope, f"n{number}", Operation.CREATE, "# Made"))
    except CspaceError as error:
        said[root] = [str(error), error.hint]
said["slugs"] = store.slugs(scope)
said["hidden"] = sorted(name for name in os.listdir("/full/user") if name[0] == ".")
said["whole"] = find_lines(Path("/full/user/MEMORY.md").read_bytes()) == tuple(sorted(
    dump_line(entry_prefix(slug), summary_of(store.read(scope, slug)))
    for slug in store.slugs(scope)
))
print(json.dumps(said))
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a root that belongs to the user of the containers."""
    root, owner = tmp_path / "memory", find_owner()
    root.mkdir()
    if os.geteuid() == 0:
        os.chown(root, owner.uid, owner.gid)
    return root


def start(tag: str, root: Path, *programs: str) -> subprocess.Popen[bytes]:
    """Start a container that runs programs at once, and ends well when all of them do."""
    script = "".join(f'{program} & pids="$pids $!"; ' for program in programs)
    script += "for pid in $pids; do wait $pid || exit 1; done"
    return subprocess.Popen(
        [
            *("docker", "run", "--rm", "--network", "none", "--cap-drop", "ALL"),
            *("--volume", f"{root}:/memory", "--entrypoint", "/bin/sh"),
            *("--env", f"APPENDER={APPENDER}", "--env", f"CREATOR={CREATOR}"),
            *(tag, "-c", script),
        ],
        stdin=subprocess.DEVNULL,
    )


def test_two_containers_that_write_at_once_lose_nothing(tag: str, root: Path) -> None:
    owner = find_owner()
    store = MemoryStore(root, owner)
    store.change(Change(USER, "rules", Operation.CREATE, "# Rules"))
    names = [("a", "b", "c", "d"), ("e", "f", "g", "h")]
    append = f'{PYTHON} -c "$APPENDER" /memory rules 10 '
    create = f'{PYTHON} -c "$CREATOR" /memory new 10 '
    containers = [
        start(tag, root, *(program + name for name in four for program in (append, create)))
        for four in names
    ]
    assert [container.wait() for container in containers] == [0, 0]
    lines = re.findall(r"^[a-h]:\d$", store.read(USER, "rules").decode(), re.MULTILINE)
    assert sorted(lines) == [f"{name}:{number}" for name in "abcdefgh" for number in range(10)]
    assert store.count(USER) == 81
    check_index(root / "user")
    check_clean(root / "user")


def test_what_can_not_be_written_is_refused_with_a_hint_and_stays_whole(
    tag: str, root: Path, tmp_path: Path
) -> None:
    owner = find_owner()
    MemoryStore(root, owner).change(Change(USER, "rules", Operation.CREATE, "# Rules"))
    foreign = tmp_path / "foreign"
    (foreign / "user").mkdir(parents=True)
    for directory in (foreign / "user", foreign):
        directory.chmod(0o555)
    answer = proc.run(
        *("docker", "run", "--rm", "--network", "none", "--cap-drop", "ALL"),
        *("--volume", f"{root}:/read-only:ro", "--volume", f"{foreign}:/foreign"),
        *("--tmpfs", f"/full:size=96k,uid={owner.uid},gid={owner.gid}"),
        *("--entrypoint", PYTHON, tag, "-c", REFUSED),
    )
    said = json.loads(answer.text)
    assert said["/read-only"] == [
        "/read-only/.lock: Read-only file system",
        "it is read-only here: in an instance, use cspace memory propose",
    ]
    foreign.chmod(0o755)
    assert said["/foreign"] == [
        "/foreign/.lock: Permission denied",
        "see who owns the directory and the files in it: ls -la",
    ]
    assert "No space left on device" in said["/full"][0]
    assert "free some space" in said["/full"][1]
    assert len(said["slugs"]) > 3
    assert said["whole"] is True
    assert said["hidden"] == []
