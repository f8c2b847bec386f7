"""`cspace memory export` and `import` as processes; neither needs an engine."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.memories import cspace
from tests.cli.terminal import on_terminal

ODD = os.fsdecode(b"no-utf8-\xff\x1b[2J.md")
DEAD = "unix:///nowhere/docker.sock"


@pytest.fixture
def full(repo: Path) -> Path:
    """Return a project with a memory of four files."""
    memory = repo / ".cspace/memory"
    (memory / "topics").mkdir(parents=True)
    (memory / "MEMORY.md").write_text("- [Role](role.md)\n", encoding="utf-8")
    (memory / "topics/ünïcode.md").write_text("x" * 3000, encoding="utf-8")
    (memory / "empty.md").touch()
    (memory / ODD).write_bytes(b"\0\xff")
    return repo


@pytest.fixture
def other(tmp_path: Path, full: Path) -> Path:
    """Return another clone of the project, without a memory."""
    clone = tmp_path / "elsewhere" / "sample"
    subprocess.run(["git", "clone", "--quiet", full, clone], check=True)
    return clone


@pytest.fixture
def tar(tmp_path: Path, full: Path) -> Path:
    path = tmp_path / "memory.tar"
    assert cspace("memory", "export", str(path), cwd=full).returncode == 0
    return path


def tree(project: Path) -> dict[str, tuple[str, int, int]]:
    """Return every file's hash, mode and time, and every directory, of a project's memory."""
    found = {}
    for path in sorted((project / ".cspace/memory").rglob("*")):
        status = path.lstat()
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        kept = (digest, stat.S_IMODE(status.st_mode), status.st_mtime_ns)
        found[str(path.relative_to(project))] = kept
    return found


def contents(project: Path) -> dict[str, str]:
    return {path: kept[0] for path, kept in tree(project).items()}


def brought(*words: str, cwd: Path) -> dict[str, object]:
    answer = cspace("memory", "import", *words, "--json", cwd=cwd)
    assert answer.returncode == 0, answer.stderr
    document: dict[str, object] = json.loads(answer.stdout)
    return document


def test_another_clone_gets_the_same_memory_byte_for_byte(
    full: Path, other: Path, tar: Path
) -> None:
    answer = cspace("memory", "import", str(tar), cwd=other)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.splitlines()[-1] == "4 files written"
    assert contents(other) == contents(full)


def test_a_second_import_has_nothing_to_do(other: Path, tar: Path) -> None:
    brought(str(tar), cwd=other)
    before = tree(other)
    again = brought(str(tar), cwd=other)
    assert again["written"] == []
    assert again["verified"] is True
    assert tree(other) == before
    said = cspace("memory", "import", str(tar), cwd=other).stdout
    assert said.splitlines()[-1] == "nothing is left to do"


def test_the_json_of_an_import_tells_each_files_fate(other: Path, tar: Path) -> None:
    (other / ".cspace/memory").mkdir(parents=True)
    (other / ".cspace/memory/empty.md").write_text("not empty", encoding="utf-8")
    document = brought(str(tar), cwd=other)
    assert set(document) == {
        *("schema_version", "source", "dry_run", "files", "others", "written", "refused"),
        *("left", "verified", "dispensable"),
    }
    fates = {one["path"]: one["fate"] for one in document["files"]}  # type: ignore[attr-defined]
    assert fates == {
        "MEMORY.md": "new", "empty.md": "conflict", ODD: "new", "topics/ünïcode.md": "new",
    }  # fmt: skip
    assert document["verified"] is False


def test_a_dry_run_changes_nothing_at_all(other: Path, tar: Path) -> None:
    document = brought(str(tar), "--dry-run", cwd=other)
    assert document["written"] == []
    assert sorted(path.name for path in other.iterdir()) == [".git", "README.md"]
    (other / ".cspace/memory").mkdir(parents=True)
    (other / ".cspace/memory/role.md").touch()
    before = tree(other)
    answer = cspace("memory", "import", str(tar), "--dry-run", cwd=other)
    assert answer.stdout.splitlines()[-1] == "4 files would be written"
    assert tree(other) == before


def test_a_conflict_stays_ours_and_is_said(other: Path, tar: Path) -> None:
    (other / ".cspace/memory").mkdir(parents=True)
    ours = other / ".cspace/memory/MEMORY.md"
    ours.write_text("- ours\n", encoding="utf-8")
    answer = cspace("memory", "import", str(tar), cwd=other)
    assert answer.returncode == 0
    assert ours.read_text(encoding="utf-8") == "- ours\n"
    assert "1 file of export" in answer.stderr
    assert "1 conflict among them" in answer.stderr
    assert "--theirs or --keep-both, or --merge-index" in answer.stderr


def test_what_lands_under_another_name_or_moves_ours_aside_is_said(other: Path, tar: Path) -> None:
    memory = other / ".cspace/memory"
    memory.mkdir(parents=True)
    (memory / "MEMORY.md").touch()
    for flag, said in (
        ("--keep-both", "copied to empty.imported.md: both are kept"),
        ("--theirs", "copied: ours stays as empty.md.replaced-"),
    ):
        (memory / "empty.md").write_text("not empty", encoding="utf-8")
        shown = cspace("memory", "import", str(tar), flag, cwd=other)
        assert said in shown.stdout
        assert "conflict" not in shown.stderr
    (memory / "MEMORY.md").write_text("\n", encoding="utf-8")
    planned = cspace("memory", "import", str(tar), "--dry-run", cwd=other).stdout
    assert "will be copied: ours says nothing yet" in planned


def test_without_conflicts_no_flag_is_offered(other: Path, tar: Path) -> None:
    (other / ".cspace/memory/empty.md").mkdir(parents=True)
    answer = cspace("memory", "import", str(tar), cwd=other)
    assert answer.stderr.endswith("not taken\n")


@pytest.mark.parametrize("flag", ["--theirs", "--keep-both", "--merge-index"])
def test_a_conflict_is_settled_by_a_flag_and_loses_nothing(
    other: Path, tar: Path, flag: str
) -> None:
    memory = other / ".cspace/memory"
    memory.mkdir(parents=True)
    (memory / "MEMORY.md").write_text("- ours\n", encoding="utf-8")
    brought(str(tar), flag, cwd=other)
    text = "".join(path.read_text(encoding="utf-8") for path in memory.glob("MEMORY*"))
    assert "- ours\n" in text
    assert "- [Role](role.md)\n" in text


@pytest.mark.parametrize("words", [("--theirs", "--keep-both"), ()])
def test_contradictions_and_missing_words_are_usage_errors(
    other: Path, words: tuple[str, ...]
) -> None:
    file = ("x.tar",) if words else ()
    assert cspace("memory", "import", *file, *words, cwd=other).returncode == 2


def test_an_export_goes_through_a_pipe(full: Path, other: Path) -> None:
    program = (sys.executable, "-m", "cspace.cli.app", "memory")
    made = subprocess.run((*program, "export", "-"), cwd=full, capture_output=True, check=True)
    assert made.stderr == b""
    subprocess.run(
        (*program, "import", "-"), cwd=other, input=made.stdout, capture_output=True, check=True
    )
    assert contents(other) == contents(full)


def test_a_terminal_is_not_fed_with_a_tar_file(full: Path) -> None:
    for words in (("export", "-"), ("import", "-")):
        screen = on_terminal("memory", *words, cwd=full)
        assert screen.code == 2
        assert screen.out == ""
        assert "pipe" in screen.err


def test_the_json_of_an_export_names_every_file(full: Path, tmp_path: Path) -> None:
    (full / ".cspace/memory/link.md").symlink_to("/etc/passwd")
    path = str(tmp_path / "memory.tar")
    answer = cspace("memory", "export", path, "--json", cwd=full)
    document = json.loads(answer.stdout)
    assert set(document) == {"schema_version", "file", "manifest", "size", "left_out"}
    assert set(document["manifest"]) == {"project", "created", "files"}
    assert document["left_out"] == [{"path": "link.md", "reason": "it is a link"}]
    assert document["size"] == 3020
    assert len(document["manifest"]["files"]) == 4


def test_an_export_moves_nothing_aside_and_names_what_it_left_out(
    full: Path, tmp_path: Path
) -> None:
    (full / ".cspace/memory/li\x1b[2Jnk").symlink_to("/etc/passwd")
    before = tree(full)
    answer = cspace("memory", "export", str(tmp_path / "memory.tar"), cwd=full)
    assert "left out li\\x1b[2Jnk: it is a link" in answer.stderr
    assert tree(full) == before


def test_a_file_that_is_there_is_kept_but_by_force(full: Path, tar: Path) -> None:
    (full / ".cspace/memory/more.md").touch()
    before = tar.read_bytes()
    answer = cspace("memory", "export", str(tar), cwd=full)
    assert answer.returncode == 4
    assert "--force" in answer.stderr
    assert tar.read_bytes() == before
    assert cspace("memory", "export", str(tar), "--force", cwd=full).returncode == 0
    assert tar.read_bytes() != before


def test_a_project_without_a_memory_has_nothing_to_export(repo: Path, tmp_path: Path) -> None:
    answer = cspace("memory", "export", str(tmp_path / "memory.tar"), cwd=repo)
    assert answer.returncode == 3
    assert sorted(path.name for path in repo.iterdir()) == [".git", "README.md"]
    assert not (tmp_path / "memory.tar").exists()


def test_a_file_that_is_missing_or_broken_changes_nothing(other: Path, tar: Path) -> None:
    assert cspace("memory", "import", "no.tar", cwd=other).returncode == 3
    tar.write_bytes(tar.read_bytes()[:-3000])
    answer = cspace("memory", "import", str(tar), cwd=other)
    assert answer.returncode == 1
    assert str(tar) in answer.stderr
    assert "hint: " in answer.stderr
    assert sorted(path.name for path in other.iterdir()) == [".git", "README.md"]


def test_what_an_agent_planted_is_moved_aside_before_an_import(other: Path, tar: Path) -> None:
    (other / ".cspace/memory").mkdir(parents=True)
    (other / ".cspace/memory/topics").symlink_to("/etc")
    answer = cspace("memory", "import", str(tar), cwd=other)
    assert "moved '.cspace/memory/topics' aside" in answer.stderr
    assert (other / ".cspace/memory/topics/ünïcode.md").is_file()


def test_a_linked_worktree_shares_the_main_ones_memory(
    other: Path, tar: Path, tmp_path: Path
) -> None:
    linked = tmp_path / "linked"
    subprocess.run(["git", "-C", other, "worktree", "add", "--quiet", linked], check=True)
    brought(str(tar), cwd=linked)
    assert (other / ".cspace/memory/topics/ünïcode.md").is_file()
    assert not (linked / ".cspace").exists()


def test_an_engine_is_not_asked(
    full: Path, other: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", DEAD)
    path = str(tmp_path / "memory.tar")
    assert cspace("memory", "export", path, cwd=full).returncode == 0
    assert cspace("memory", "import", path, cwd=other).returncode == 0


def test_inside_an_instance_nothing_is_moved(
    full: Path, tar: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CSPACE_INSTANCE", "mercury")
    for words in (("export", "x.tar"), ("import", str(tar)), ("migrate",), ("migrate", "--list")):
        answer = cspace("memory", *words, cwd=full)
        assert answer.returncode == 2
        assert "not inside an instance" in answer.stderr
    transcripts = cspace("sessions", "migrate", cwd=full)
    assert transcripts.returncode == 2
    assert "hint: the same command on the host, in the project" in transcripts.stderr
