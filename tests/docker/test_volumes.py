"""Volumes over a real Docker daemon: read without starting anything, and brought home."""

from __future__ import annotations

import gc
import io
import os
import signal
import socket
import subprocess
import sys
import tarfile
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from cspace import proc
from cspace.engine.docker import DockerEngine
from cspace.engine.model import State, Volume
from cspace.errors import CommandFailed, EngineUnavailable, NotFound
from cspace.migration.apply import apply_plan
from cspace.migration.model import Source
from cspace.migration.plan import make_plan
from tests.migration.sources import OURS, hashes, legacy, migrate, read_tar, target, texts
from tests.migration.test_legacy import UNSAFE

pytestmark = [
    pytest.mark.docker,
    # The Docker library leaves its sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]

BASE = "debian:bookworm-slim"
LABEL = "dev.cspace.test"


@pytest.fixture
def engine() -> Iterator[DockerEngine]:
    engine = DockerEngine()
    engine.ping()  # before a test changes where it would look for one
    yield engine
    gc.collect()


@pytest.fixture
def volume(engine: DockerEngine) -> Iterator[str]:
    """Return the name of a volume of this test's own."""
    name = f"cspace-test-{uuid.uuid4().hex}"
    proc.run("docker", "volume", "create", f"--label={LABEL}={name}", name)
    yield name
    engine.remove_all({LABEL: name})


def write(volume: str, script: str) -> None:
    """Run a script in a volume."""
    words = ("docker", "run", "--rm", f"--volume={volume}:/volume", "--workdir=/volume")
    proc.run(*words, BASE, "sh", "-euc", script)


def fill(volume: str, stream: bytes) -> None:
    """Have Docker unpack a tar stream into a volume, through a container that never starts."""
    words = ("docker", "create", f"--label={LABEL}={volume}", f"--volume={volume}:/volume", BASE)
    container = proc.run(*words).text
    subprocess.run(
        ["docker", "cp", "--archive", "-", f"{container}:/volume"],
        input=stream, check=True, capture_output=True,
    )  # fmt: skip
    proc.run("docker", "rm", container)


def source(engine: DockerEngine, volume: str) -> Source:
    mark = {LABEL: volume}
    return Source(f"volume {volume}", "legacy", lambda: engine.open_volume(volume, labels=mark))


def unpackable(name: str) -> bytes:
    """Return a fixture without what no file system of Linux can hold."""
    kept = io.BytesIO()
    with legacy(name).open() as stream:
        whole = io.BytesIO(stream.read())
    with (
        tarfile.open(fileobj=whole, encoding="utf-8", errors="surrogateescape") as reader,
        tarfile.open(
            fileobj=kept, mode="w", format=tarfile.GNU_FORMAT, errors="surrogateescape"
        ) as writer,
    ):
        for member in reader:
            encoded = os.fsencode(member.name)
            parts = encoded.split(b"/")
            if len(encoded) < 4000 and all(len(part) < 256 for part in parts):
                file = reader.extractfile(member) if member.isreg() else None
                member.type = tarfile.REGTYPE if member.isreg() else member.type
                writer.addfile(member, file)
    return kept.getvalue()


def test_volumes_are_listed_with_their_labels(engine: DockerEngine, volume: str) -> None:
    assert Volume(volume, {LABEL: volume}) in engine.list_volumes()


def test_a_volume_is_read_without_a_start_and_nothing_stays(
    engine: DockerEngine, volume: str
) -> None:
    write(volume, "echo role >role.md")
    with engine.open_volume(volume, labels={LABEL: volume}) as stream:
        (reader,) = engine.list_containers({LABEL: volume})
        assert reader.state is State.CREATED
        assert engine.volume_users(volume) == ()
        content = io.BytesIO(stream.read())
    with tarfile.open(fileobj=content) as archive:
        assert archive.getnames() == [".", "./role.md"]
    assert engine.list_containers({LABEL: volume}) == ()


def test_a_missing_volume_is_not_found_and_not_made(engine: DockerEngine) -> None:
    name = f"cspace-test-{uuid.uuid4().hex}"
    with pytest.raises(NotFound, match=name), engine.open_volume(name):
        pass
    assert name not in {volume.name for volume in engine.list_volumes()}


def test_a_volume_that_goes_before_it_is_mounted_is_not_made_by_the_mount(
    engine: DockerEngine,
) -> None:
    name = f"cspace-test-{uuid.uuid4().hex}"
    with pytest.raises(NotFound, match=name):
        engine._reading._create_volume_reader(
            name, {LABEL: name}
        )  # as if it had been there a moment ago
    assert name not in {volume.name for volume in engine.list_volumes()}
    assert engine.list_containers({LABEL: name}) == ()


def test_a_volume_that_can_not_be_mounted_is_no_engine_that_is_down(engine: DockerEngine) -> None:
    name = f"cspace-test-{uuid.uuid4().hex}"
    options = ("--opt=type=none", "--opt=o=bind", "--opt=device=/nowhere/at/all")
    proc.run("docker", "volume", "create", f"--label={LABEL}={name}", *options, name)
    try:
        with (
            pytest.raises(CommandFailed, match="/nowhere/at/all"),
            engine.open_volume(name, labels={LABEL: name}),
        ):
            pass
        assert engine.list_containers({LABEL: name}) == ()
    finally:
        engine.remove_all({LABEL: name})


def test_who_mounts_a_volume_is_named_running_or_stopped(engine: DockerEngine, volume: str) -> None:
    # One directory of the same name, which the engine's own filter would take for it.
    other = proc.run("docker", "create", f"--label={LABEL}={volume}", f"--volume=/{volume}", BASE)
    words = (f"--label={LABEL}={volume}", f"--volume={volume}:/volume", BASE)
    running = proc.run("docker", "run", "--detach", "--init", *words, "sleep", "60").text
    stopped = proc.run("docker", "create", *words).text
    users = {user.id: user.state for user in engine.volume_users(volume)}
    assert users == {running: State.RUNNING, stopped: State.CREATED}
    assert other.text not in users


def test_what_a_killed_reader_left_is_removed_and_the_volume_stays(
    engine: DockerEngine, volume: str
) -> None:
    killed = {LABEL: f"killed-{volume}"}
    code = (
        "import os, signal, sys; from cspace.engine.docker import DockerEngine\n"
        f"with DockerEngine().open_volume({volume!r}, labels={killed!r}):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    (left,) = engine.list_containers(killed)
    engine.remove(left)
    engine.remove(left)
    assert engine.list_containers(killed) == ()
    assert volume in {each.name for each in engine.list_volumes()}


def test_a_reader_that_stops_early_does_not_wait_for_the_rest(
    engine: DockerEngine, volume: str
) -> None:
    write(volume, "truncate -s 3G big.bin")
    began = time.monotonic()
    with engine.open_volume(volume, labels={LABEL: volume}) as stream:
        assert len(stream.read(512)) == 512
    assert time.monotonic() - began < 3
    assert engine.list_containers({LABEL: volume}) == ()


def test_docker_down_hazard_a_missing_engine_has_no_volumes_to_migrate(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    absent = DockerEngine()
    for ask in (absent.list_volumes, lambda: absent.volume_users("x")):
        with pytest.raises(EngineUnavailable):
            ask()
    with pytest.raises(EngineUnavailable):
        migrate(source(absent, "x"), tmp_path)
    assert list(tmp_path.iterdir()) == []


class Cut:
    """A way to the engine that is cut once so many bytes came back on one connection."""

    def __init__(self, engine: str, path: Path, limit: int) -> None:
        self._engine, self._limit = urlsplit(engine).path, limit
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._engine)
            threading.Thread(target=self._pass, args=(client, server, 2**60), daemon=True).start()
            words = (server, client, self._limit)
            threading.Thread(target=self._pass, args=words, daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, left: int) -> None:
        while (chunk := source.recv(min(65536, left))) and left:
            target.sendall(chunk)
            left -= len(chunk)
        for end in (source, target):
            end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


def test_docker_down_hazard_an_engine_that_dies_in_a_volume_is_not_its_end(
    engine: DockerEngine, volume: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(volume, "head -c 9000000 /dev/urandom >big.bin; echo a >a.md")
    path = tmp_path / "cut.sock"
    cut = Cut(os.environ["DOCKER_HOST"], path, 4_000_000)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
    root = tmp_path / "project"
    root.mkdir()
    with pytest.raises(EngineUnavailable, match="Docker does not answer"):
        migrate(source(DockerEngine(), volume), root)
    cut.close()
    assert list(root.iterdir()) == []


# Docker takes half a minute to unpack ten thousand files.
@pytest.mark.parametrize(
    "name",
    [
        *("nested", "engine", "names-gnu", "sparse-gnu"),
        pytest.param("many", marks=pytest.mark.soak),
    ],
)
def test_a_legacy_volume_comes_home_byte_by_byte(
    name: str, engine: DockerEngine, volume: str, tmp_path: Path
) -> None:
    fill(volume, unpackable(name))
    outcome = migrate(source(engine, volume), tmp_path)
    unsafe = UNSAFE.get(name, set())
    wanted = {path: digest for path, digest in read_tar(legacy(name)).items() if path not in unsafe}
    assert hashes(tmp_path) == wanted
    assert {str(one.path) for one in outcome.left} <= unsafe
    again = migrate(source(engine, volume), tmp_path)
    assert (again.plan.pending, again.left) == ((), outcome.left)


def test_a_volume_that_a_container_writes_to_meanwhile_is_never_landed_wrong(
    engine: DockerEngine, volume: str, tmp_path: Path
) -> None:
    write(volume, "echo now >changing.md; echo steady >steady.md; echo gone >gone.md")
    there, home = source(engine, volume), target(tmp_path)
    plan = make_plan(there, home, OURS)
    write(volume, "echo later >changing.md; rm gone.md; echo more >more.md")
    outcome = apply_plan(plan, there, home)
    assert texts(tmp_path) == {"steady.md": "steady\n"}
    assert [str(one.path) for one in outcome.left] == ["changing.md", "gone.md", "more.md"]
    assert {one.path for one in outcome.refused} == {one.path for one in outcome.left}
    assert migrate(there, tmp_path).verified
    assert texts(tmp_path) == {
        "changing.md": "later\n", "more.md": "more\n", "steady.md": "steady\n",
    }  # fmt: skip
