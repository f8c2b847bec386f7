"""What can not be packed is named, and leaves no bundle behind."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cspace.instance.snapshot_pack import BUNDLE
from tests.conftest import CHECKOUT
from tests.instance.snapshot_trees import (
    clone,
    commit,
    git,
    make_host,
    outlook,
    pack,
    survey,
    unpack,
)

NOBODY = 65534


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """Return a directory that every user can write to: pytest's own are closed to others."""
    directory = Path(tempfile.mkdtemp())
    directory.chmod(0o777)
    yield directory
    shutil.rmtree(directory)


@pytest.mark.parametrize("name", ["secret.txt", "closed/inside"])
def test_an_unreadable_file_is_named_and_nothing_is_written(
    open_directory: Path, name: str
) -> None:
    workspace, output = open_directory / "workspace", open_directory / "exchange"
    (workspace / "closed").mkdir(parents=True)
    (workspace / name).write_text("x", encoding="utf-8")
    output.mkdir()
    shutil.chown(output, owner := NOBODY if os.geteuid() == 0 else os.geteuid())
    # Imported as ourselves, run as somebody for whom a file can be unreadable.
    script = (
        "import os, sys; from cspace.instance.snapshot import main;"
        f"os.chdir('/'); os.setresuid({owner}, {owner}, {owner}); sys.exit(main())"
    )

    def packed() -> subprocess.CompletedProcess[bytes]:
        words = (sys.executable, "-c", script, "pack", "--workspace", workspace)
        return subprocess.run(
            (*words, "--output", output),
            input=b"\n",
            capture_output=True,
            check=False,
            cwd=CHECKOUT,
        )

    assert packed().returncode == 0
    (output / BUNDLE).unlink()
    blocked = workspace / name.split("/", maxsplit=1)[0]
    blocked.chmod(0)
    answer = packed()
    blocked.chmod(0o755)
    assert answer.returncode == 1, answer.stderr
    assert json.loads(answer.stdout)["message"].startswith(f"{blocked} can not be packed: Perm")
    assert list(output.iterdir()) == []


def test_a_name_in_an_error_can_not_move_the_cursor(tmp_path: Path) -> None:
    nested = tmp_path / "workspace" / "\x1b[2Jnested"
    nested.mkdir(parents=True)
    git(nested, "init", "--quiet")
    commit(nested, "a")
    (nested / ".git/HEAD").write_bytes(b"broken")
    answer = pack(tmp_path / "workspace", tmp_path / "exchange")
    assert answer.code == 1
    assert "\\x1b[2Jnested/.git" in answer.message
    assert "\x1b" not in answer.message + answer.hint


def test_a_full_disk_leaves_no_bundle(tmp_path: Path) -> None:
    workspace = clone(make_host(tmp_path), tmp_path / "workspace")
    (workspace / "large.dat").write_bytes(os.urandom(3 << 20))
    (tmp_path / "exchange").mkdir()
    script = (
        "import resource, sys; from cspace.instance.snapshot import main;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)); sys.exit(main())"
    )
    words = ("pack", "--workspace", workspace, "--output", tmp_path / "exchange")
    answer = subprocess.run(
        (sys.executable, "-c", script, *words),
        input=b"\n",
        capture_output=True,
        check=False,
        cwd=CHECKOUT,
    )
    assert answer.returncode != 0
    assert json.loads(answer.stdout)["message"]
    assert list((tmp_path / "exchange").iterdir()) == []


def test_a_bundle_that_is_none_changes_nothing(tmp_path: Path) -> None:
    workspace = clone(make_host(tmp_path), tmp_path / "workspace")
    before = survey(workspace)
    (tmp_path / "archive.bundle").write_text("# not a bundle\n", encoding="utf-8")
    answer = unpack(workspace, tmp_path / "archive.bundle")
    assert answer.code == 1
    assert "is not a git bundle" in answer.message
    assert survey(workspace) == before


def test_a_killed_unpacking_is_completed_by_the_next(tmp_path: Path) -> None:
    host = make_host(tmp_path)
    workspace = clone(host, tmp_path / "workspace")
    for number in range(200):
        (workspace / f"file {number}").write_bytes(os.urandom(2000))
    commit(workspace, "work.txt")
    (workspace / "src").chmod(0o555)
    before, said = survey(workspace), outlook(workspace)
    pack(workspace, tmp_path / "exchange")
    for steps in (1, 40, 150, 300, 450):
        shutil.rmtree(workspace)
        workspace.mkdir()
        kill_after(steps, workspace, tmp_path / "exchange" / BUNDLE)
        assert unpack(workspace, tmp_path / "exchange" / BUNDLE).code == 0
        assert survey(workspace) == before
        assert outlook(workspace) == said
    assert {entry.name for entry in (tmp_path / "exchange").iterdir()} >= {BUNDLE}


def kill_after(steps: int, workspace: Path, bundle: Path) -> None:
    """Unpack, and kill the program with SIGKILL at its n-th change of the workspace."""
    script = f"""
import os, signal, sys
left = [{steps}]
def count(event, arguments):
    if event in ("os.mkdir", "os.rename", "os.chmod", "os.utime", "open"):
        if str(arguments[0]).find("workspace") >= 0:
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(count)
from cspace.instance.snapshot import main
sys.exit(main(["unpack", "--workspace", {str(workspace)!r}, "--bundle", {str(bundle)!r}]))
"""
    done = subprocess.run((sys.executable, "-c", script), input=b"\n", check=False, cwd=CHECKOUT)
    assert done.returncode == -9


def test_a_bundle_on_another_file_system_is_unpacked(tmp_path: Path) -> None:
    workspace = clone(make_host(tmp_path), tmp_path / "workspace")
    before, said = survey(workspace), outlook(workspace)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as other:
        if Path(other).stat().st_dev == tmp_path.stat().st_dev:
            pytest.skip("/dev/shm is no file system of its own here")
        pack(workspace, Path(other))
        shutil.rmtree(workspace)
        workspace.mkdir()
        assert unpack(workspace, Path(other) / BUNDLE).code == 0
    assert survey(workspace) == before
    assert outlook(workspace) == said
