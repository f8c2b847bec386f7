"""The image and the scripts that run inside it, driven as an engine drives them."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from cspace import assets, proc
from cspace.owner import find_owner
from tests.docker.conftest import BASE

pytestmark = pytest.mark.docker

SERVER = {"mcpServers": {"cspace-context": {"command": "cspace", "args": ["context-server"]}}}
TIMEOUT = 60.0


@dataclass(frozen=True, slots=True)
class Box:
    """A container as `cspace up` would start it, with its three directories on the host."""

    name: str
    workspace: Path
    claude: Path
    secrets: Path

    def run(self, *words: str, ok: tuple[int, ...] = (0,)) -> str:
        done = proc.run("docker", "exec", self.name, *words, timeout=TIMEOUT, ok=ok)
        return done.text

    def logs(self) -> str:
        return os.fsdecode(proc.run("docker", "logs", self.name).stderr)

    def write(self, path: Path, text: str) -> None:
        owner = find_owner()
        path.write_text(text, encoding="utf-8")
        if os.geteuid() == 0:
            os.chown(path, owner.uid, owner.gid)

    def start(self) -> bool:
        """Start it again; return whether it became ready before it ended."""
        proc.run("docker", "restart", "--time", "2", self.name)
        return self.wait()

    def wait(self) -> bool:
        until = time.monotonic() + TIMEOUT
        while time.monotonic() < until:
            probe = ("docker", "exec", self.name, "test", "-e", "/run/cspace/ready")
            if proc.run(*probe, ok=(0, 1, 126, 128, 137, 255)).code == 0:
                return True
            if self.inspect("{{.State.Running}}") != "true":
                return False
        raise AssertionError(f"not ready within {TIMEOUT:g} s: {self.logs()}")

    def inspect(self, template: str) -> str:
        return proc.run("docker", "inspect", "--format", template, self.name).text


New = Callable[..., Box]


@pytest.fixture
def new(tag: str, tmp_path: Path) -> Iterator[New]:
    """Return a function that starts a container with these environment variables and files."""
    names = []

    def make(*environment: str, mcp: object = None, secrets: dict[str, str] | None = None) -> Box:
        owner = find_owner()
        name = f"cspace-test-{os.getpid()}-{time.monotonic_ns()}"
        box = Box(name, *(tmp_path / part for part in ("workspace", "claude", "secrets")))
        for path in (box.workspace, box.claude, box.secrets):
            path.mkdir()
            if os.geteuid() == 0:
                os.chown(path, owner.uid, owner.gid)
        if mcp is not None:
            box.write(box.workspace / ".mcp.json", json.dumps(mcp))
        for secret, value in (secrets or {}).items():
            box.write(box.secrets / secret, value)
        names.append(name)
        proc.run(
            *("docker", "run", "--detach", "--init", "--name", name, "--network", "none"),
            *("--cap-drop", "ALL", "--security-opt", "no-new-privileges"),
            *("--tmpfs", f"/run/cspace:uid={owner.uid},gid={owner.gid}"),
            *(
                "--volume",
                f"{box.workspace}:/workspace",
                "--volume",
                f"{box.claude}:/home/dev/.claude",
            ),
            *("--volume", f"{box.secrets}:/run/secrets:ro"),
            *(f"--env={entry}" for entry in environment),
            tag,
        )
        return box

    yield make
    for name in names:
        proc.run("docker", "rm", "--force", "--volumes", name)


def registered(box: Box) -> object:
    return json.loads(box.run("cat", "/home/dev/.claude/.claude.json"))["mcpServers"]


def assert_each_connected_once(box: Box) -> None:
    answer = box.run("claude", "mcp", "list")
    for name in ("cspace-context", "cspace-memory", "cspace-notes"):
        (line,) = (line for line in answer.splitlines() if line.startswith(f"{name}: "))
        assert line.endswith("- ✔ Connected")
    assert "diagnostics" not in answer
    assert "Pending" not in answer


def test_the_server_is_registered_once_also_after_a_restart(new: New) -> None:
    box = new()
    assert box.wait()
    first = registered(box)
    assert_each_connected_once(box)
    assert box.start()
    assert registered(box) == first
    assert json.dumps(first).count('["context-server", "--root", "/workspace"]') == 1
    assert_each_connected_once(box)


def test_a_clones_own_mcp_json_brings_no_second_server_and_no_conflicting_scopes(new: New) -> None:
    box = new(mcp=SERVER)
    assert box.wait()
    assert_each_connected_once(box)
    # Claude Code started in a subdirectory still means the workspace.
    assert "/workspace" in json.dumps(registered(box))


def test_the_registration_follows_a_clone_that_starts_to_name_the_server(new: New) -> None:
    box = new()
    assert box.wait()
    box.write(box.workspace / ".mcp.json", json.dumps(SERVER))
    assert box.start()
    assert_each_connected_once(box)


def test_a_clones_own_mcp_json_can_not_replace_the_server_of_memories(new: New) -> None:
    theirs = {"command": "touch", "args": ["/workspace/started"]}
    box = new(mcp={"mcpServers": {"cspace-memory": theirs}})
    assert box.wait()
    answer = box.run("claude", "mcp", "list")
    ours = "cspace-memory: cspace context-server --toolset memory - ✔ Connected"
    assert [line for line in answer.splitlines() if line.startswith("cspace-memory")] == [ours]
    assert not (box.workspace / "started").exists()


@pytest.mark.parametrize(("mcp", "how"), [(None, "root"), (SERVER, "plain")])
def test_a_start_writes_the_very_registration_that_claude_mcp_add_writes(
    new: New, mcp: object, how: str
) -> None:
    box = new(mcp=mcp)
    assert box.wait()
    ours = registered(box)
    register = "CLAUDE_CONFIG_DIR=/tmp/asked /usr/local/lib/cspace/register-server.sh"
    box.run("sh", "-c", f"{register} {how} && {register} memory && {register} notes")
    assert json.loads(box.run("cat", "/tmp/asked/.claude.json"))["mcpServers"] == ours


@pytest.mark.parametrize("flags", [(), ("--dangerously-skip-permissions",)])
def test_first_run_prompts_hazard_none_hangs_a_start(new: New, flags: tuple[str, ...]) -> None:
    box = new(mcp=SERVER, secrets={"anthropic_api_key": "sk-test"})
    assert box.wait()
    shown = read_terminal(["docker", "exec", "-it", "-e", "TERM=xterm", box.name, "claude", *flags])
    assert "shift+tab" in shown  # the prompt for work, not for a decision
    for question in ("trust this folder", "New MCP server", "Yes, I accept", "Select login"):
        assert question not in shown


def read_terminal(words: list[str]) -> str:
    """Start a program on a terminal of its own; return what it shows until it waits for work."""
    terminal, other = pty.openpty()
    program = subprocess.Popen(words, stdin=other, stdout=other, stderr=other)
    os.close(other)
    shown, until = "", time.monotonic() + TIMEOUT
    try:
        while "shift+tab" not in shown and time.monotonic() < until:
            if select.select([terminal], [], [], 1.0)[0]:
                shown += os.read(terminal, 65536).decode("utf-8", "replace")
            if "Enter to confirm" in shown:
                break
    finally:
        program.kill()
        program.wait()
        os.close(terminal)
    return shown


def test_a_persons_settings_stay_and_our_login_goes_with_its_secret(new: New) -> None:
    box = new(secrets={"anthropic_api_key": "sk-test"})
    assert box.wait()
    settings = "/home/dev/.claude/settings.json"
    ours = json.loads(box.run("cat", settings))
    assert box.run(ours["apiKeyHelper"]) == "sk-test"
    box.write(box.claude / "settings.json", json.dumps(ours | {"model": "opus"}))
    (box.secrets / "anthropic_api_key").unlink()
    assert box.start()
    kept = json.loads(box.run("cat", settings))
    assert kept["model"] == "opus"
    assert "apiKeyHelper" not in kept


def test_a_torn_claude_json_hazard_it_is_moved_aside_and_the_start_goes_on(new: New) -> None:
    box = new()
    assert box.wait()
    box.write(box.claude / ".claude.json", '{"projects": {"/work')
    assert box.start()
    assert_each_connected_once(box)
    torn = (box.claude / ".claude.json.unusable").read_text(encoding="utf-8")
    assert torn == '{"projects": {"/work'


def test_no_secret_reaches_inspect_environment_or_logs(new: New) -> None:
    box = new(secrets={"github_token": "hush-1", "claude_code_oauth_token": "hush-2"})
    assert box.wait()
    said = box.inspect("{{json .}}") + box.logs() + box.run("env") + box.run("ps", "-ef")
    assert "hush" in box.run("cat", "/run/secrets/github_token")
    assert "hush" not in said


def test_git_gets_the_token_for_github_and_for_nobody_else(new: New) -> None:
    box = new(secrets={"github_token": "hush"})
    assert box.wait()

    def ask(host: str) -> str:
        script = f"printf 'protocol=https\\nhost={host}\\n\\n' | git credential fill"
        environment = ("env", "GIT_TERMINAL_PROMPT=0")
        return box.run(*environment, "bash", "-c", script, ok=(0, 128))

    assert "password=hush" in ask("github.com")
    assert "password" not in ask("gitlab.com")
    assert "password" not in ask("github.com.example.org")


def test_dubious_ownership_hazard_it_is_settled_for_the_workspace_and_nothing_else(
    new: New,
) -> None:
    box = new("CSPACE_GIT_NAME=A 'B'", "CSPACE_GIT_EMAIL=a@example.com")
    assert box.wait()
    assert box.start()
    assert box.run("git", "config", "--get-all", "safe.directory") == "/workspace"
    assert box.run("git", "config", "--get-all", "user.name") == "A 'B'"


def test_post_create_runs_once_in_a_containers_life(new: New) -> None:
    box = new("CSPACE_POST_CREATE=echo run >> count")
    assert box.wait()
    assert box.start()
    assert (box.workspace / "count").read_text(encoding="utf-8") == "run\n"


def test_a_failing_phase_ends_the_container_and_is_named_last(new: New) -> None:
    box = new("CSPACE_POST_CREATE=no-such-command; echo never")
    assert not box.wait()
    assert box.inspect("{{.State.ExitCode}}") == "127"
    assert box.logs().splitlines()[-1] == "cspace: phase post-create failed"


def test_nothing_in_an_instance_is_root_or_can_become_it(new: New) -> None:
    box = new()
    assert box.wait()
    assert set(box.run("ps", "-e", "-o", "user=").split()) == {"dev"}
    assert box.run("find", "/", "-xdev", "-type", "f", "-perm", "/6000", ok=(0, 1)) == ""
    assert box.run("bash", "-c", "type -P sudo || echo none") == "none"


@pytest.mark.parametrize(("uid", "gid"), [(1000, 1000), (70000, 70000), (33, 33), (501, 20)])
def test_a_uid_that_the_image_uses_hazard_its_user_is_moved_with_its_files(
    uid: int, gid: int, tag: str
) -> None:
    script = (
        "mkdir /srv/w && chown www-data:www-data /srv/w && bash /scripts/create-user.sh $0 $1 &&"
        " stat -c %u:%g /workspace /home/dev /run/cspace && stat -c %U:%G /srv/w && id -un $0"
    )
    mount = f"{assets.directory('scripts')}:/scripts:ro"
    words = ("docker", "run", "--rm", "--network", "none", "--volume", mount, BASE)
    answer = proc.run(*words, "bash", "-c", script, str(uid), str(gid)).text.splitlines()
    assert answer[-5:] == [f"{uid}:{gid}"] * 3 + ["www-data:www-data", "dev"]


@pytest.mark.parametrize(("uid", "gid"), [("0", "0"), ("-1", "1"), ("dev", "1")])
def test_uid_0_hazard_the_containers_user_is_never_root(uid: str, gid: str) -> None:
    mount = f"{assets.directory('scripts')}:/scripts:ro"
    words = ("docker", "run", "--rm", "--network", "none", "--volume", mount, BASE)
    refused = proc.run(*words, "bash", "/scripts/create-user.sh", uid, gid, ok=(1,))
    assert f"can not have uid {uid}" in os.fsdecode(refused.stderr)
