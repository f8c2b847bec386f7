"""`cspace memory migrate` and `sessions migrate` against a real engine, as processes."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cspace import proc
from cspace.engine.docker import DockerEngine
from cspace.events import Event, Report, State, ignore
from cspace.lifecycle.bring_home import Home
from cspace.lifecycle.memory_migration import migrate
from cspace.migration.model import Policy
from cspace.migration.volumes import find_forgotten
from cspace.owner import find_owner
from cspace.project import Project, project_id
from tests.cli.terminal import on_terminal
from tests.cli.test_app import cspace
from tests.docker.legacy_volumes import Volumes, docker, legacy_volumes, unique

pytestmark = [
    pytest.mark.docker,
    # The Docker library leaves its sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]

TOPIC = b"---\nname: role\ntype: user\n---\nwrites Python\n"
MEMORY = {"MEMORY.md": b"- [Role](role.md)\n", "role.md": TOPIC, "topics/deep/b c.md": b"x" * 3000}
BASE = "debian:bookworm-slim"
# Holes, of which the engine sends every byte: more than a second's worth.
LARGE = "500M"
COPY = re.compile(r" copy \[[#.]{24}\] +(\d+)%$")
SECRET = b"sk-never-shown"
HOME = {
    ".claude/projects/-workspace/one.jsonl": b'{"type":"user"}\n',
    ".claude/projects/-workspace/one/subagents/two.jsonl": b"{}\n",
    ".claude/projects/-workspace/memory/MEMORY.md": b"- not a transcript\n",
    ".claude/.credentials.json": SECRET,
    ".claude/history.jsonl": SECRET,
}


@pytest.fixture
def volumes() -> Iterator[Volumes]:
    with legacy_volumes() as made:
        yield made
    gc.collect()


@pytest.fixture
def shop(repo: Path) -> Path:
    """Return a project whose directory's name nobody else on this engine has."""
    return repo.rename(repo.with_name(unique("Shop")))


@pytest.fixture
def legacy(shop: Path, volumes: Volumes) -> str:
    """Return the legacy volume of the project's memory."""
    return volumes.make(f"cspace-{shop.name}-memory", MEMORY)


def ran(*words: str, cwd: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    answer = cspace(*words, cwd=cwd)
    assert answer.returncode == code, answer.stderr
    return answer


def shown(*words: str, cwd: Path, code: int = 0) -> Any:
    said = ran(*words, "--json", cwd=cwd, code=code).stdout
    # A batch says a document a line; the last is of all.
    document = json.loads(said.splitlines()[-1] if words[0] == "up" else said)
    assert document["schema_version"] == 1
    return document


def files(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def stamps(root: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path.relative_to(root)): (path.lstat().st_mtime_ns, path.lstat().st_ino)
        for path in (root, *sorted(root.rglob("*")))
        if ".git" not in path.parts
    }


def test_a_volume_comes_home_byte_for_byte_and_may_then_go(shop: Path, legacy: str) -> None:
    answer = ran("memory", "migrate", cwd=shop)
    assert files(shop / ".cspace/memory") == MEMORY
    assert f"docker volume rm {legacy}" in answer.stdout
    assert docker("volume", "ls", "--quiet", "--filter", f"name={legacy}") == legacy
    docker("volume", "rm", legacy)


def test_a_second_run_has_nothing_left_to_do(shop: Path, legacy: str) -> None:
    ran("memory", "migrate", cwd=shop)
    before = stamps(shop / ".cspace/memory")
    answer = ran("memory", "migrate", cwd=shop)
    assert "nothing is left to do" in answer.stdout
    assert f"docker volume rm {legacy}" in answer.stdout
    assert stamps(shop / ".cspace/memory") == before


def test_a_dry_run_changes_nothing_and_names_no_removal(shop: Path, legacy: str) -> None:
    before = stamps(shop)
    answer = ran("memory", "migrate", "--dry-run", cwd=shop)
    assert [line.split() for line in answer.stdout.splitlines()[1:4]] == [
        ["new", "MEMORY.md", "18", "B", "will", "be", "copied"],
        ["new", "role.md", "44", "B", "will", "be", "copied"],
        ["new", "topics/deep/b", "c.md", "2.9", "KiB", "will", "be", "copied"],
    ]
    assert "docker volume rm" not in answer.stdout + answer.stderr
    assert answer.stderr == ""
    assert stamps(shop) == before
    assert docker("ps", "--all", "--quiet", "--filter", f"volume={legacy}") == ""


def test_the_json_of_a_migration_is_a_contract(shop: Path, legacy: str) -> None:
    for words, written in ((("--dry-run",), []), ((), sorted(MEMORY))):
        document = shown("memory", "migrate", *words, cwd=shop)
        assert set(document) == {
            *("schema_version", "volume", "source", "dry_run", "files", "others", "written"),
            *("refused", "left", "verified", "dispensable", "removal", "users"),
        }
        assert set(document["files"][0]) >= {"path", "fate", "size", "digest", "lands", "reason"}
        assert document["written"] == written
        digests = {one["path"]: one["digest"] for one in document["files"]}
        assert digests == {name: hashlib.sha256(data).hexdigest() for name, data in MEMORY.items()}
    assert document["removal"] == f"docker volume rm {legacy}"


def test_a_conflict_stays_ours_and_the_volume_stays_needed(shop: Path, legacy: str) -> None:
    ours = shop / ".cspace/memory/role.md"
    ours.parent.mkdir(parents=True)
    ours.write_bytes(b"ours")
    answer = ran("memory", "migrate", cwd=shop)
    assert ours.read_bytes() == b"ours"
    assert "1 file of volume" in answer.stderr
    assert "docker volume rm" not in answer.stdout
    document = shown("memory", "migrate", cwd=shop)
    assert (document["left"], document["removal"]) == (["role.md"], None)
    ran("memory", "migrate", "--keep-both", cwd=shop)
    assert (shop / ".cspace/memory/role.legacy.md").read_bytes() == TOPIC
    assert legacy in shown("memory", "migrate", "--keep-both", cwd=shop)["removal"]


def test_what_is_unsafe_is_named_and_does_not_land(shop: Path, volumes: Volumes) -> None:
    odd = {"a.md": b"1", "A.md": b"2", "ok.md": b"3", "esc\x1b[2J.md": b"4"}
    volumes.make(f"cspace-{shop.name}-memory", odd, {"out.md": "/etc/passwd"})
    answer = ran("memory", "migrate", cwd=shop)
    assert sorted(files(shop / ".cspace/memory")) == ["esc\x1b[2J.md", "ok.md"]
    fates = {line.split()[1]: line.split()[0] for line in answer.stdout.splitlines()[1:6]}
    unsafe = {"A.md": "unsafe", "a.md": "unsafe", "out.md": "unsafe"}
    assert fates == unsafe | {"esc\\x1b[2J.md": "new", "ok.md": "new"}
    assert "docker volume rm" not in answer.stdout


def test_a_large_volume_shows_a_bar_on_a_terminal(shop: Path, volumes: Volumes) -> None:
    volume = volumes.make(f"cspace-{shop.name}-memory", {"a.md": b"small"})
    run = ("run", "--rm", "--volume", f"{volume}:/volume", BASE)
    docker(*run, "truncate", "--size", LARGE, "/volume/large.bin")
    seen = on_terminal("memory", "migrate", "--volume", volume, cwd=shop, whole=True)
    assert seen.code == 0, seen.out
    frames = [frame.strip() for frame in seen.out.split("\r") if frame.startswith("volume ")]
    assert [frame for frame in frames if re.search(r" read \d+\.0 MiB$", frame)]
    parts = [int(each[1]) for each in (COPY.search(frame) for frame in frames) if each]
    assert parts == sorted(parts)
    assert len(set(parts)) > 1
    assert seen.out.rpartition("\r")[2].startswith("FATE ")
    assert f"docker volume rm {volume}\n" in seen.out


def test_a_file_that_changes_while_it_is_copied_is_exit_4_and_the_next_call_takes_it(
    shop: Path, legacy: str, volumes: Volumes
) -> None:
    # The same size always: the engine takes a file that shrinks under it for an error.
    script = "i=0; while :; do i=$((i+1)); printf %020d $i 1<>/volume/z.md; sleep 0.01; done"
    run = ("run", "--detach", "--init", "--volume", f"{legacy}:/volume", BASE)
    writer = docker(*run, "sh", "-c", script)
    volumes.containers.append(writer)
    docker("exec", writer, "sh", "-c", "until [ -s /volume/z.md ]; do sleep 0.01; done")
    answer = ran("memory", "migrate", cwd=shop, code=4)
    assert "error: 1 file changed meanwhile" in answer.stderr
    assert "z.md: " in answer.stderr
    assert "docker volume rm" not in answer.stdout
    assert files(shop / ".cspace/memory") == MEMORY
    volumes.free(writer)
    assert shown("memory", "migrate", cwd=shop)["written"] == ["z.md"]


def test_a_volume_in_use_is_not_named_for_removal(
    shop: Path, legacy: str, volumes: Volumes
) -> None:
    container = volumes.use(legacy)
    name = docker("inspect", "--format", "{{.Name}}", container).removeprefix("/")
    answer = ran("memory", "migrate", cwd=shop)
    assert f"the volume is, or just was, used by: {name}" in answer.stdout
    assert "docker volume rm" not in answer.stdout
    assert shown("memory", "migrate", cwd=shop)["users"] == [name]


def home_of(shop: Path, home: Path, report: Report = ignore) -> Home:
    project = Project(project_id(shop), shop, shop, shop / ".git")
    return Home(project, home / ".cspace", find_owner(), report)


def test_a_volume_that_was_in_use_while_it_was_read_is_not_named_for_removal(
    shop: Path, home: Path, legacy: str, volumes: Volumes
) -> None:
    engine, container = DockerEngine(), volumes.use(legacy)

    def end(event: Event) -> None:
        if event.phase == "verify" and event.state is State.DONE:
            volumes.free(container)

    migrated = migrate(engine, home_of(shop, home, end), None, Policy(), dry_run=False)
    assert engine.volume_users(legacy) == ()
    assert (migrated.brought.dispensable, migrated.removal) == (True, None)
    assert len(migrated.users) == 1
    again = migrate(engine, home_of(shop, home), None, Policy(), dry_run=False)
    assert again.removal == f"docker volume rm {legacy}"


READ = """
import sys
from pathlib import Path
from cspace.engine.docker import DockerEngine
from cspace.migration.volumes import volume_source
with volume_source(DockerEngine(), Path(sys.argv[1]), sys.argv[2]).open():
    print("reading", flush=True)
    sys.stdin.read()
"""


@contextmanager
def reader(home: Path, volume: str) -> Iterator[subprocess.Popen[bytes]]:
    """Give a process that reads a volume until its stdin ends."""
    with subprocess.Popen(
        (sys.executable, "-c", READ, str(home / ".cspace"), volume),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == b"reading\n"
        yield process


def readers(volume: str) -> int:
    return len(docker("ps", "--all", "--quiet", "--filter", f"volume={volume}").split())


@pytest.mark.parametrize("words", [("--dry-run",), ("--list",), ()])
def test_any_run_removes_what_a_killed_one_left_and_no_reader_that_lives(
    shop: Path, home: Path, legacy: str, words: tuple[str, ...]
) -> None:
    with reader(home, legacy) as killed, reader(home, legacy) as alive:
        killed.kill()
        killed.wait()
        assert readers(legacy) == 2
        ran("memory", "migrate", *words, cwd=shop)
        assert readers(legacy) == 1
        alive.communicate()
        assert alive.returncode == 0
    assert readers(legacy) == 0


def test_the_lock_of_a_migration_is_nothing_that_git_sees(shop: Path, legacy: str) -> None:
    assert legacy
    ran("init", cwd=shop)
    proc.run("git", "add", "--all", cwd=shop)
    proc.run("git", "commit", "--quiet", "--message=init", cwd=shop)
    ran("memory", "migrate", cwd=shop)
    assert (shop / ".cspace/.memory.md.lock").is_file()
    words = ("git", "status", "--porcelain", "--untracked-files=all")
    assert proc.run(*words, cwd=shop).text.splitlines() == [
        " M .cspace/memory/MEMORY.md",
        "?? .cspace/memory/role.md",
        '?? ".cspace/memory/topics/deep/b c.md"',
    ]


def test_the_projects_name_is_also_found_in_lower_case(shop: Path, volumes: Volumes) -> None:
    volume = volumes.make(f"cspace-{shop.name.lower()}-memory", MEMORY)
    assert shown("memory", "migrate", cwd=shop)["volume"] == volume


def test_a_renamed_project_names_its_volume(shop: Path, volumes: Volumes) -> None:
    volume = volumes.make(unique("cspace-old.Name_-memory"), MEMORY)
    shown("memory", "migrate", "--volume", volume, cwd=shop)
    assert files(shop / ".cspace/memory") == MEMORY


def test_without_a_volume_there_is_nothing_to_migrate_and_nothing_is_made(shop: Path) -> None:
    before = stamps(shop)
    for words in ((), ("--dry-run",), ("--volume", unique("no-such-"))):
        answer = ran("memory", "migrate", *words, cwd=shop, code=3)
        assert "nothing to migrate" in answer.stderr
        assert "hint: cspace memory migrate --list" in answer.stderr
    assert "nothing to migrate" in ran("sessions", "migrate", cwd=shop, code=3).stderr
    assert stamps(shop) == before


@pytest.mark.parametrize("name", ["../x y", "-rf;\x1b[2J", ""])
def test_odd_volume_names_are_refused_by_name(shop: Path, name: str) -> None:
    answer = ran("memory", "migrate", f"--volume={name}", cwd=shop, code=3)
    assert "there is no volume" in answer.stderr
    assert "\x1b" not in answer.stderr


def test_the_list_finds_volumes_by_name_and_by_content(shop: Path, volumes: Volumes) -> None:
    by_name = volumes.make(f"x_cspace-{shop.name.lower()}-memory", MEMORY)
    by_content = volumes.make(unique("renamed-"), {"notes/role.md": TOPIC})
    home = volumes.make(f"cspace-{shop.name}-mercury-claude-home", HOME)
    home_by_content = volumes.make(unique("renamed-"), HOME)
    other = volumes.make(unique("data-"), {"README.md": b"# no memory\n"})
    listed = {
        one["volume"]: one for one in shown("memory", "migrate", "--list", cwd=shop)["volumes"]
    }
    assert other not in listed
    kept = {
        name: (one["kind"], one["why"], one["files"], one["command"])
        for name, one in listed.items()
        if name in {by_name, by_content, home, home_by_content}
    }
    memory, sessions = "cspace memory migrate --volume", "cspace sessions migrate --volume"
    assert kept == {
        by_name: ("memory", "its name", 3, f"{memory} {by_name}"),
        by_content: ("memory", "its content", 1, f"{memory} {by_content}"),
        home: ("claude-home", "its name", 2, f"{sessions} {home}"),
        home_by_content: (
            *("claude-home", "its content", 2),
            f"{sessions} {home_by_content} --instance NAME",
        ),
    }
    homes = shown("sessions", "migrate", "--list", cwd=shop)["volumes"]
    assert {one["volume"] for one in homes} >= {home, home_by_content}
    assert {one["kind"] for one in homes} == {"claude-home"}


def test_a_name_behind_composes_prefix_is_hinted_at(shop: Path, volumes: Volumes) -> None:
    volume = volumes.make(f"x_cspace-{shop.name.lower()}-memory", MEMORY)
    answer = ran("memory", "migrate", cwd=shop, code=3)
    assert f"hint: cspace memory migrate --volume {volume}" in answer.stderr


def test_the_list_reads_only_the_beginning_of_a_large_volume(shop: Path, volumes: Volumes) -> None:
    big = {"a.bin": b"\0" * (20 * 2**20), "b.md": b"x"}
    volume = volumes.make(f"cspace-{shop.name}-memory", big)
    listed = shown("memory", "migrate", "--list", cwd=shop)["volumes"]
    assert (listed[0]["volume"], listed[0]["whole"], listed[0]["files"]) == (volume, False, 1)
    text = ran("memory", "migrate", "--list", cwd=shop).stdout
    assert "1+" in text


def sessions_of(home: Path, shop: Path) -> Path:
    return home / ".cspace/sessions" / project_id(shop)


def test_transcripts_of_three_volumes_come_home_and_nothing_else(
    shop: Path, home: Path, volumes: Volumes
) -> None:
    for name in ("mercury", "venus", "mars-2"):
        volumes.make(f"cspace-{shop.name}-{name}-claude-home", HOME)
    answer = ran("sessions", "migrate", cwd=shop)
    transcripts = {
        f"{name}/-workspace/{path}": HOME[f".claude/projects/-workspace/{path}"]
        for name in ("mercury", "venus", "mars-2")
        for path in ("one.jsonl", "one/subagents/two.jsonl")
    }
    place = sessions_of(home, shop)
    kept = {path: data for path, data in files(place).items() if not path.endswith(".lock")}
    assert [stat.S_IMODE(each.stat().st_mode) for each in (place, place.parent)] == [0o700] * 2
    listed = shown("sessions", "list", cwd=shop)["sessions"]
    assert {one["instance"] for one in listed} == {"mercury", "venus", "mars-2"}
    assert kept == transcripts
    assert "credentials" not in answer.stdout + answer.stderr
    assert SECRET.decode() not in answer.stdout + answer.stderr
    again = shown("sessions", "migrate", cwd=shop)["volumes"]
    assert [(one["written"], one["dispensable"]) for one in again] == [([], False)] * 3
    assert not (shop / ".cspace").exists()


def test_a_transcript_that_differs_stays_ours_and_a_link_stays_in_the_volume(
    shop: Path, home: Path, volumes: Volumes
) -> None:
    links = {".claude/projects/-workspace/two.jsonl": "/etc/passwd"}
    volumes.make(f"cspace-{shop.name}-mercury-claude-home", HOME, links)
    place = sessions_of(home, shop) / "mercury/-workspace"
    place.mkdir(parents=True)
    (place / "one.jsonl").write_bytes(b"ours\n")
    answer = ran("sessions", "migrate", cwd=shop)
    assert (place / "one.jsonl").read_bytes() == b"ours\n"
    assert not os.path.lexists(place / "two.jsonl")
    assert (
        "1 conflict among them; to take conflicts too: --theirs or --keep-both\n" in answer.stderr
    )
    ran("sessions", "migrate", "--keep-both", cwd=shop)
    transcripts = {path.name: path.read_bytes() for path in place.glob("*.jsonl")}
    theirs = HOME[".claude/projects/-workspace/one.jsonl"]
    assert transcripts == {"one.jsonl": b"ours\n", "one.legacy.jsonl": theirs}


def test_a_dry_run_of_sessions_makes_nothing(shop: Path, home: Path, volumes: Volumes) -> None:
    volumes.make(f"cspace-{shop.name}-mercury-claude-home", HOME)
    document = shown("sessions", "migrate", "--dry-run", cwd=shop)
    assert set(document) == {"schema_version", "volumes", "unclear"}
    (one,) = document["volumes"]
    paths = {each["path"] for each in one["files"]}
    assert paths == {"-workspace/one.jsonl", "-workspace/one/subagents/two.jsonl"}
    assert list(home.iterdir()) == []


def test_a_volume_that_may_be_another_projects_is_left_and_named(
    shop: Path, home: Path, volumes: Volumes
) -> None:
    volume = volumes.make(f"cspace-{shop.name}-api-mercury-claude-home", HOME)
    answer = ran("sessions", "migrate", cwd=shop)
    again = f"cspace sessions migrate --volume {volume} --instance api-mercury"
    assert again in answer.stderr
    assert not sessions_of(home, shop).exists()
    ran("sessions", "migrate", "--volume", volume, cwd=shop, code=2)
    ran(*again.split()[1:], cwd=shop)
    assert (sessions_of(home, shop) / "api-mercury/-workspace/one.jsonl").is_file()


def test_one_volume_that_fails_does_not_stop_the_others(
    shop: Path, home: Path, volumes: Volumes
) -> None:
    for name in ("mercury", "venus"):
        volumes.make(f"cspace-{shop.name}-{name}-claude-home", HOME)
    place = sessions_of(home, shop)
    place.mkdir(parents=True)
    (place / ".venus.md.lock").mkdir()
    document = shown("sessions", "migrate", cwd=shop, code=7)
    errors = {one["instance"]: one["error"] for one in document["volumes"]}
    assert errors["mercury"] is None
    assert "venus" in errors["venus"]["message"]
    assert set(errors["venus"]) == {"message", "hint", "exit_code"}
    assert (place / "mercury/-workspace/one.jsonl").is_file()


def test_doctor_names_a_volume_that_did_not_come_home(shop: Path, legacy: str) -> None:
    found = shown("doctor", cwd=shop, code=8)["diagnoses"]
    assert [one for one in found if one["check"] == "legacy"] == [
        {
            "check": "legacy",
            "problem": f"volume {legacy!r} holds 3 memory files that are not in .cspace/memory",
            "repair": "cspace memory migrate",
        }
    ]
    ran("memory", "migrate", cwd=shop)
    answer = cspace("doctor", "--json", cwd=shop)
    assert "legacy" not in answer.stdout


def test_an_empty_memory_reminds_up_of_the_volume(shop: Path, legacy: str) -> None:
    engine = DockerEngine()
    memory = shop / ".cspace/memory"
    assert find_forgotten(engine, shop) == legacy
    memory.mkdir(parents=True)
    assert find_forgotten(engine, shop) == legacy
    (memory / "MEMORY.md").touch()
    assert find_forgotten(engine, shop) == legacy
    (memory / "role.md").touch()
    assert find_forgotten(engine, shop) is None


def test_up_says_that_an_empty_memory_has_a_volume_until_it_came_home(
    shop: Path, home: Path, legacy: str
) -> None:
    said = f"volume {legacy} may hold this project's old memories: cspace memory migrate"
    try:
        answer = ran("up", "mercury", cwd=shop)
        assert said in answer.stdout + answer.stderr
        assert said in shown("up", "mercury", cwd=shop)["instances"][0]["notices"]
        ran("memory", "migrate", cwd=shop)
        assert shown("up", "mercury", cwd=shop)["instances"][0]["notices"] == []
    finally:
        ran("down", "--discard", "mercury", cwd=shop)


def test_volumes_complete_from_the_engine(
    shop: Path, legacy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as shell:
        shell.setenv("_CSPACE_COMPLETE", "complete_bash")
        shell.setenv("COMP_WORDS", f"cspace memory migrate --volume {legacy[:-3]}")
        shell.setenv("COMP_CWORD", "4")
        assert cspace(cwd=shop).stdout.split() == [legacy]
        shell.setenv("DOCKER_HOST", "unix:///nowhere")
        assert cspace(cwd=shop).stdout.split() == []


def test_two_migrations_at_once_end_in_the_same_tree(
    shop: Path, legacy: str, counts: Callable[[int, int], int]
) -> None:
    assert legacy
    for _ in range(counts(1, 10)):
        running = [
            subprocess.Popen(
                (sys.executable, "-m", "cspace.cli.app", "memory", "migrate"),
                cwd=shop, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )
            for _ in range(2)
        ]  # fmt: skip
        answers = [(one.communicate(), one.returncode) for one in running]
        assert [code for _, code in answers] == [0, 0], answers
        assert files(shop / ".cspace/memory") == MEMORY
