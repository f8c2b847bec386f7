from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from cspace.owner import CONTAINER_DEFAULT, become_invoking_user, find_owner

REPORT = """
import json, os
from pathlib import Path
from cspace.owner import become_invoking_user, find_owner
changed = become_invoking_user(os.environ)
owner = find_owner()
print(json.dumps([os.getresuid(), os.getresgid(), [owner.uid, owner.gid], changed]))
"""
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")


def become(**environ: str) -> list[object]:
    answer = subprocess.run(
        (sys.executable, "-c", REPORT),
        env=os.environ | environ,
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[object] = json.loads(answer.stdout)
    return found


@as_root
def test_under_sudo_everything_happens_as_the_user_who_called() -> None:
    real, group, owner, _ = become(SUDO_UID="70000", SUDO_GID="70001")
    assert real == [70000, 70000, 70000]
    assert group == [70001, 70001, 70001]
    assert owner == [70000, 70001]


@as_root
def test_the_home_is_the_users_and_not_roots() -> None:
    *_, changed = become(SUDO_UID="1", SUDO_GID="1")
    assert isinstance(changed, dict)
    assert changed["HOME"] not in ("/root", "")


@as_root
def test_root_itself_creates_for_the_containers_user() -> None:
    real, _, owner, changed = become()
    assert real == [0, 0, 0]
    assert owner == [CONTAINER_DEFAULT.uid, CONTAINER_DEFAULT.gid]
    assert changed == {}


@pytest.mark.parametrize("uid", ["", "0", "root", "-1"])
def test_what_is_no_user_changes_nothing(uid: str) -> None:
    before = os.getresuid()
    assert become_invoking_user({"SUDO_UID": uid}) == {}
    assert os.getresuid() == before
    assert find_owner().uid != 0
