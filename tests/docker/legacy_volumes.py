"""Legacy volumes for a test: filled through a container that is never started, removed after."""

from __future__ import annotations

import io
import subprocess
import tarfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field


def docker(*words: str, stdin: bytes | None = None) -> str:
    done = subprocess.run(
        ["docker", *words], input=stdin, stdin=None if stdin else subprocess.DEVNULL,
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


def pack(files: Mapping[str, bytes], links: Mapping[str, str] | None = None) -> bytes:
    """Return a tar stream with files of a foreign user, and links."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode, info.uid = len(content), 0o600, 54321
            tar.addfile(info, io.BytesIO(content))
        for name, target in (links or {}).items():
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, target
            tar.addfile(link)
    return out.getvalue()


@dataclass(slots=True)
class Volumes:
    """The volumes and containers of one test."""

    image: str
    made: list[str] = field(default_factory=list)
    containers: list[str] = field(default_factory=list)

    def make(
        self, name: str, files: Mapping[str, bytes], links: Mapping[str, str] | None = None
    ) -> str:
        """Make a volume that holds files."""
        docker("volume", "create", name)
        self.made.append(name)
        container = self.use(name)
        docker("cp", "-", f"{container}:/volume", stdin=pack(files, links))
        self.free(container)
        return name

    def use(self, name: str) -> str:
        """Let a container use a volume."""
        mount = f"type=volume,source={name},target=/volume,volume-nocopy"
        container = docker("create", "--mount", mount, self.image, "never-started")
        self.containers.append(container)
        return container

    def free(self, container: str) -> None:
        """Remove a container."""
        docker("rm", "--force", container)
        self.containers.remove(container)


@contextmanager
def legacy_volumes() -> Iterator[Volumes]:
    """Give what makes volumes; all of them are gone afterwards."""
    volumes = Volumes(unique("cspace-test-empty:"))
    docker("import", "-", volumes.image, stdin=pack({}))
    try:
        yield volumes
    finally:
        for container in volumes.containers:
            docker("rm", "--force", container)
        for name in volumes.made:
            docker("volume", "rm", "--force", name)
        docker("image", "rm", volumes.image)


def unique(prefix: str) -> str:
    """Return a name that nobody else on this engine has."""
    return f"{prefix}{uuid.uuid4().hex[:10]}"
