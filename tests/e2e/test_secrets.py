"""A secret that is given to an instance is a file in it, and is nowhere else to be seen."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.conftest import NewPerson
from tests.e2e.person import Person, docker, image_of

pytestmark = [pytest.mark.docker, pytest.mark.e2e]

VARIABLES = {
    "ANTHROPIC_API_KEY": "sk-ant-marker-one",
    "GH_TOKEN": "ghp-marker-two",
    "CLAUDE_CODE_OAUTH_TOKEN": "oauth-marker-three",
}
# Each from another source: see `given`.
FILES = {
    "anthropic_api_key": "sk-ant-marker-one",
    "github_token": "gho-marker-of-gh",
    "claude_code_oauth_token": "oauth-marker-three",
    "database_password": "file-marker-four",
    "flag_password": "flag-marker-six",
}
SOURCES = {
    "anthropic_api_key": "environment",
    "claude_code_oauth_token": "project",
    "database_password": "user",
    "flag_password": "flag",
    "github_token": "gh",
}
URL_PASSWORD = "url-marker-five"
MARKERS = (*FILES.values(), *VARIABLES.values(), URL_PASSWORD)


class Watch(threading.Thread):
    """Reads the arguments of every process of this machine, containers' too, again and again."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.ended = threading.Event()
        self.seen = set[bytes]()

    def run(self) -> None:
        while not self.ended.wait(0.05):
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    self.seen.add((process / "cmdline").read_bytes())
                except OSError:
                    continue


@contextmanager
def watched() -> Iterator[set[bytes]]:
    watch = Watch()
    watch.start()
    try:
        yield watch.seen
    finally:
        watch.ended.set()
        watch.join()


def keep(person: Person, place: Path, value: str) -> Path:
    """Write a private file of a person's, below the home."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(value, encoding="utf-8")
    for path in (place, *(up for up in place.parents if up.is_relative_to(person.home))):
        person.give(path)
        path.chmod(0o600 if path == place else 0o700)
    return place


def own_secret(person: Person, name: str, *, project: bool = False) -> Path:
    directory = person.home / ".cspace/secrets"
    return (directory / "projects" / person.id if project else directory) / name


def log_in(person: Person, token: str) -> Path:
    """Log the person's gh in."""
    hosts = f"github.com:\n    oauth_token: {token}\n    user: me\n"
    return keep(person, person.home / ".config/gh/hosts.yml", hosts)


@pytest.fixture(scope="module")
def given(new: NewPerson) -> Iterator[tuple[Person, str]]:
    """Bring an instance up that gets a secret of each source; return all that was said and seen."""
    with new() as plain:
        database = own_secret(plain, "database_password")
        keep(plain, database, FILES["database_password"] + "\n")
        login = own_secret(plain, "claude_code_oauth_token", project=True)
        keep(plain, login, FILES["claude_code_oauth_token"])
        flag = keep(plain, plain.home / "flag", FILES["flag_password"])
        log_in(plain, FILES["github_token"])
        plain.git("remote", "add", "origin", f"https://me:{URL_PASSWORD}@example.com/sample.git")
        person = plain.having(ANTHROPIC_API_KEY=FILES["anthropic_api_key"])
        with watched() as arguments:
            answers = [
                person.cspace("up", "mercury", "--secret", f"flag_password={flag}"),
                person.cspace("exec", "mercury", "--", "claude", "--version"),
                person.cspace("exec", "mercury", "--", "git", "remote", "--verbose"),
                person.cspace("status", "mercury"),
                person.cspace("status", "mercury", "--json"),
                person.cspace("config", "show"),
                person.cspace("logs", "mercury"),
                person.cspace("doctor", "mercury", ok=8),
            ]
        said = [text for answer in answers for text in (answer.out, answer.err)]
        seen = [each.decode("utf-8", "replace") for each in arguments]
        # It saw the host's processes and the container's, so that an absence means something.
        assert any(person.id in each for each in seen)
        assert any(each.endswith("entrypoint.sh\0sleep\0infinity\0") for each in seen)
        yield person, "\n".join((*said, *seen))


def test_secrets_are_files_that_only_the_instances_user_reads(given: tuple[Person, str]) -> None:
    person, _ = given
    for name, value in FILES.items():
        path = f"/run/secrets/{name}"
        assert person.inside("mercury", "cat", path).strip() == value
        assert person.inside("mercury", "stat", "-c", "%U %a", path) == "dev 400\n"
    names = person.cspace("status", "mercury", "--json").json["instances"][0]["secrets"]
    assert names == sorted(FILES)


def test_secrets_in_env_hazard_none_of_what_docker_tells_holds_one(
    given: tuple[Person, str],
) -> None:
    person, _ = given
    container = person.container("mercury")
    image = image_of(container)
    told = {
        "inspect": docker("inspect", container),
        "image": docker("image", "inspect", image),
        "history": docker("history", "--no-trunc", image),
        "top": docker("top", container, "-eo", "pid,args"),
        "logs": docker("logs", container),
        "environment of pid 1": person.inside("mercury", "cat", "/proc/1/environ"),
    }
    assert all(told[kind] for kind in ("inspect", "image", "history", "top"))
    assert [
        (kind, marker) for kind, said in told.items() for marker in MARKERS if marker in said
    ] == []


def test_secrets_in_argv_hazard_no_process_and_no_output_ever_showed_one(
    given: tuple[Person, str],
) -> None:
    _, said = given
    assert [marker for marker in MARKERS if marker in said] == []


def test_no_file_of_the_host_holds_one_but_the_delivered_ones(given: tuple[Person, str]) -> None:
    person, _ = given
    state = person.state("mercury")
    allowed = {state.secrets / name for name in FILES}
    files = [path for path in state.state.rglob("*") if path.is_file() and not path.is_symlink()]
    assert allowed <= set(files)
    assert {state.compose, state.record} <= set(files)
    holding = {path for path in files if any(one.encode() in path.read_bytes() for one in MARKERS)}
    assert holding == allowed


def test_the_source_of_each_is_told(given: tuple[Person, str]) -> None:
    person, said = given
    answer = person.cspace("doctor", "mercury", "--json", ok=8)
    assert {one["name"]: one["source"] for one in answer.json["delivered"]} == SOURCES
    assert [one for one in MARKERS if one in answer.out + answer.err] == []
    assert "note: mercury: github_token is that of `gh auth token --hostname github.com`" in said


def test_a_rotated_secret_reaches_the_running_instance_by_up(given: tuple[Person, str]) -> None:
    person, _ = given
    started = docker("inspect", "--format={{.State.StartedAt}}", person.container("mercury"))
    person.having(GH_TOKEN="ghp-rotated").cspace("up", "mercury")
    assert person.inside("mercury", "cat", "/run/secrets/github_token") == "ghp-rotated"
    now = docker("inspect", "--format={{.State.StartedAt}}", person.container("mercury"))
    assert now == started


def test_git_and_claude_are_given_what_stands_first_in_the_order(
    given: tuple[Person, str],
) -> None:
    person, _ = given
    ask = "printf 'protocol=https\\nhost=github.com\\n\\n' | git credential fill"
    helper = "$($(jq -r .apiKeyHelper ~/.claude/settings.json))"
    sources = {
        "environment": ("GH_TOKEN", "ANTHROPIC_API_KEY"),
        "user": [own_secret(person, name) for name in ("github_token", "anthropic_api_key")],
        "project": [
            own_secret(person, name, project=True) for name in ("github_token", "anthropic_api_key")
        ],
        "flag": [person.home / name for name in ("github", "anthropic")],
    }
    flags: list[str] = []
    for source, places in sources.items():
        if source == "environment":
            person = person.having(**{str(place): source for place in places})
        else:
            for place in places:
                keep(person, Path(place), f"{source}\n")
        if source == "flag":
            github, anthropic = places
            flags = [f"--secret=github_token={github}", f"--secret=anthropic_api_key={anthropic}"]
        person.cspace("up", "mercury", *flags)
        asked = person.inside("mercury", "sh", "-c", f"{ask}; echo key={helper}")
        assert f"password={source}\n" in asked, source
        assert asked.endswith(f"key={source}\n")
    person.cspace("up", "mercury")
    assert person.inside("mercury", "cat", "/run/secrets/github_token") == "flag"
    for place in (*sources["user"], *sources["project"]):
        Path(place).unlink()


def test_what_is_taken_back_is_gone_from_the_running_instance(given: tuple[Person, str]) -> None:
    person, _ = given
    names = ("github_token", "npm_token")
    for name in names:
        keep(person, own_secret(person, name), "file-marker")
    person.cspace(
        "up", "mercury", "--secret=github_token=/dev/null", "--secret=anthropic_api_key=/dev/null"
    )
    for name in names:
        assert person.inside("mercury", "cat", f"/run/secrets/{name}") == "file-marker"
        own_secret(person, name).unlink()
    (person.home / ".config/gh/hosts.yml").unlink()
    # Another terminal: it has none of the variables, and must not log the agent out.
    plain = Person(person.program, person.engine, person.home, person.repo, person.uid)
    plain.cspace("up", "mercury")
    files = {"claude_code_oauth_token", "database_password", "flag_password"}
    kept = set(plain.inside("mercury", "ls", "/run/secrets").split())
    assert kept == files | {"anthropic_api_key"}
    plain.cspace("up", "mercury", "--recreate")
    assert set(plain.inside("mercury", "ls", "/run/secrets").split()) == files


def test_a_secret_on_the_command_line_is_refused_and_not_repeated(person: Person) -> None:
    answer = person.cspace("up", "mercury", "--secret", VARIABLES["GH_TOKEN"], ok=2)
    assert "--secret needs NAME=FILE" in answer.err
    assert VARIABLES["GH_TOKEN"] not in answer.out + answer.err
    assert person.leftovers() == []


def test_secrets_in_debug_dumps_hazard_a_start_and_a_build_that_fail_show_none(
    new: NewPerson,
) -> None:
    with new() as plain, watched() as arguments:
        person = plain.having(**VARIABLES)
        failing = person.cspace(
            "up", "mercury", "--set", "post_create=ls /run/secrets; exit 3", ok=5
        )
        assert "github_token" in failing.err
        state = person.state("mercury")
        told = [docker("inspect", person.container("mercury")), failing.out, failing.err]
        told += [state.compose.read_text("utf-8"), state.record.read_text("utf-8")]
        person.cspace("down", "--discard", "mercury")
        person.configure({"base_image": "cspace-e2e-absent:base"})
        proxied = person.having(HTTP_PROXY=f"http://me:{URL_PASSWORD}@127.0.0.1:9")
        broken = proxied.cspace("up", "mercury", ok=5)
        assert "cspace-e2e-absent" in broken.err
        told += [broken.out, broken.err]
    seen = [each.decode("utf-8", "replace") for each in arguments]
    assert any("cspace-e2e-absent" in each for each in seen)
    assert [one for one in MARKERS if one in "\n".join((*told, *seen))] == []


def test_what_down_leaves_behind_holds_no_secret(new: NewPerson) -> None:
    with new() as plain:
        person = plain.having(**VARIABLES)
        person.cspace("up", "mercury")
        person.inside("mercury", "sh", "-c", "echo work >work; git add -A; git commit -qm Work")
        person.cspace("down", "mercury")
        assert "work\n" in person.git("cat-file", "--batch-all-objects", "--batch")
        kept = person.git("cat-file", "--batch-all-objects", "--batch")
        kept += person.git("for-each-ref")
        files = [p for root in (person.repo, person.home) for p in root.rglob("*") if p.is_file()]
        kept += "".join(path.read_bytes().decode("latin-1") for path in files)
        assert [one for one in MARKERS if one in kept] == []
        assert person.leftovers() == []
