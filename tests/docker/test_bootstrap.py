"""From a bare Debian machine to an engine: the machines are privileged containers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cspace import proc
from tests.conftest import CHECKOUT

pytestmark = pytest.mark.docker

BOOTSTRAP = CHECKOUT / "lib" / "bootstrap"
BASE = "debian:bookworm-slim"
PRIORITY = b"Package: *\nPin: release n=trixie\nPin-Priority: 100\n"
DEB822 = b"""\
Types: deb
URIs: http://deb.debian.org/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://deb.debian.org/debian-security
Suites: bookworm-security
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
"""

Machine = Callable[..., proc.Result]


@pytest.fixture
def machine() -> Iterator[Machine]:
    """Yield a function that runs a bash script as root on a bare Debian 12 machine of its own."""
    # An anonymous volume, since overlayfs can not lie on overlayfs.
    words = ["--detach", "--privileged", "--volume", "/var/lib/docker"]
    words += ["--mount", f"type=bind,source={BOOTSTRAP},target=/bootstrap,readonly"]
    container = proc.run("docker", "run", *words, BASE, "sleep", "infinity").text

    def run(script: str, *, stdin: bytes = b"", ok: tuple[int, ...] = (0,)) -> proc.Result:
        words = ["--interactive", container, "bash", "-euc", script]
        return proc.run("docker", "exec", *words, stdin=stdin, ok=ok)

    yield run
    proc.run("docker", "rm", "--force", "--volumes", container)


def test_a_bare_machine_gets_an_engine_and_keeps_its_own_libc(machine: Machine) -> None:
    machine("cat >/etc/apt/sources.list.d/debian.sources; : >/etc/apt/sources.list", stdin=DEB822)
    libc = machine("dpkg-query --show libc6 base-files").text
    machine("/bootstrap/engine.sh")
    machine("docker info && docker buildx version && docker network create works")
    assert machine("docker compose version --short").text.startswith("2.")
    assert machine("dpkg-query --show libc6 base-files").text == libc
    assert "nothing to do" in os.fsdecode(machine("/bootstrap/engine.sh").stderr)


def test_the_daemon_it_started_is_stopped_and_starts_again_after_a_crash(machine: Machine) -> None:
    machine("/bootstrap/engine.sh")
    machine("/bootstrap/engine.sh stop; ! docker info")
    machine("/bootstrap/engine.sh; docker info")
    # Another program has the old pid by now.
    machine("kill -9 $(cat /run/docker.pid); echo 1 | tee /run/docker.pid /run/cspace-dockerd.pid")
    machine("/bootstrap/engine.sh; docker info")
    assert b"no dockerd of ours" not in machine("/bootstrap/engine.sh stop").stderr


def test_a_daemon_that_fails_shows_the_end_of_its_log(machine: Machine) -> None:
    machine("mkdir /etc/docker; cat >/etc/docker/daemon.json", stdin=b'{"nonsense": true}')
    done = machine("/bootstrap/engine.sh", ok=(1,))
    assert b"nonsense" in done.stderr
    assert b"error: dockerd did not start" in done.stderr


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            DEB822,
            b"Suites: trixie\nComponents: main\nSigned-By: /usr/share/keyrings/debian-archive",
        ),
        (
            b"deb [arch=amd64 signed-by=/k.gpg] http://mirror.test/debian bookworm main contrib\n",
            b"deb [arch=amd64 signed-by=/k.gpg] http://mirror.test/debian trixie main\n",
        ),
    ],
    ids=["deb822", "one line"],
)
def test_trixie_comes_from_the_same_mirror_and_keyring_at_a_low_priority(
    machine: Machine, old: bytes, new: bytes
) -> None:
    place = "sources.list.d/debian.sources" if old is DEB822 else "sources.list"
    machine(f": >/etc/apt/sources.list; cat >/etc/apt/{place}", stdin=old)
    machine(". /bootstrap/engine.sh; add_trixie")
    assert new in machine("cat /etc/apt/sources.list.d/cspace-trixie.*").stdout
    assert machine("cat /etc/apt/preferences.d/cspace-trixie").stdout == PRIORITY


def test_another_system_is_told_what_to_install_and_stays_as_it_is(machine: Machine) -> None:
    machine("cat >/etc/os-release", stdin=b"ID=fedora\n")
    done = machine("/bootstrap/engine.sh", ok=(1,))
    assert b"hint: install Docker Engine, Compose 2.24 or newer and Buildx" in done.stderr
    assert b"cspace-trixie" not in machine("find /etc/apt").stdout


def test_an_engine_elsewhere_that_is_silent_is_not_replaced(machine: Machine) -> None:
    done = machine("DOCKER_HOST=tcp://127.0.0.1:1 /bootstrap/engine.sh", ok=(1,))
    assert b"error: the Docker engine at 'tcp://127.0.0.1:1' does not answer" in done.stderr
    assert machine("command -v dockerd || echo absent").text == "absent"


def test_where_an_engine_answers_nothing_is_done_in_one_line() -> None:
    done = proc.run(BOOTSTRAP / "engine.sh")
    assert os.fsdecode(done.stderr).count("\n") == 1
    assert b"nothing to do" in done.stderr


def test_a_present_base_image_is_left_as_it_is(tmp_path: Path) -> None:
    before = proc.run("docker", "image", "inspect", "--format", "{{.Id}}", BASE).text
    assert b"nothing to do" in proc.run(BOOTSTRAP / "base-image.sh").stderr
    assert proc.run("docker", "image", "inspect", "--format", "{{.Id}}", BASE).text == before
