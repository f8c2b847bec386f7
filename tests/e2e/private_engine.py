"""A Docker daemon of a test's own, which it may prune, stop and kill.

It has its own process, mount and network namespaces: a second daemon in the machine's would take
the first one's bridge and rules for its own and remove them. What is left of it dies with the
first process of its namespace.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import OUTSIDE

PATIENCE = 60.0  # seconds; a start takes half a one
NEEDED = ("dockerd", "docker-init", "nsenter", "unshare")
_PATH = os.pathsep.join((OUTSIDE["PATH"], "/usr/sbin", "/sbin"))
# The namespace's first process buries what is orphaned in it; a zombie's pid would pass for alive.
_NAMESPACE = (
    *("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--mount", "--net"),
    *("docker-init", "-s", "--", "sleep", "infinity"),
)


@dataclass(slots=True)
class PrivateEngine:
    """A daemon, and the directory that holds all of it."""

    root: Path
    init: int
    daemon: subprocess.Popen[bytes] | None = None

    @property
    def host(self) -> str:
        """What DOCKER_HOST is for it."""
        return f"unix://{self.root}/socket"

    def start(self) -> None:
        """Start the daemon and wait until it answers."""
        assert self.daemon is None
        words = (
            "nsenter", f"--target={self.init}", "--pid", "--mount", "--net",
            "dockerd", f"--data-root={self.root}/data", f"--exec-root={self.root}/run",
            f"--pidfile={self.root}/pid", f"--host={self.host}",
        )  # fmt: skip
        with (self.root / "log").open("ab") as log:
            self.daemon = subprocess.Popen(
                words, env=OUTSIDE | {"PATH": _PATH}, stdin=subprocess.DEVNULL, stdout=log,
                stderr=log,
            )  # fmt: skip
        deadline = time.monotonic() + PATIENCE
        while self._ask("version").returncode:
            late = self.daemon.poll() is not None or time.monotonic() > deadline
            assert not late, (self.root / "log").read_text(encoding="utf-8")[-4000:]
            time.sleep(0.05)

    def stop(self) -> None:
        """End the daemon as a service manager does; its containers are stopped."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Kill the daemon; its containers run on without one."""
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> None:
        assert self.daemon is not None
        # nsenter is the daemon's parent, and ends as it does.
        (pid,) = _children(self.daemon.pid)
        os.kill(pid, how)
        self.daemon.wait(timeout=PATIENCE)
        self.daemon = None

    def docker(self, *words: str | Path) -> str:
        """Run docker against it."""
        done = self._ask(*words)
        assert done.returncode == 0, f"docker {words}: {done.stderr.decode()}"
        return done.stdout.decode()

    def _ask(self, *words: str | Path) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["docker", "--host", self.host, *words], capture_output=True, env=OUTSIDE, check=False
        )


def _children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def refusal() -> str:
    """Say why there can be no private engine here; empty when there can."""
    if os.geteuid() != 0:
        return "only root can start a Docker daemon of its own"
    missing = [name for name in NEEDED if shutil.which(name, path=_PATH) is None]
    return f"not installed: {', '.join(missing)}" if missing else ""


@contextlib.contextmanager
def private_engine() -> Iterator[PrivateEngine]:
    """Give a daemon without images, for as long as the block lasts; nothing of it stays."""
    root = Path(tempfile.mkdtemp(prefix="cspace-engine-")).resolve()
    root.chmod(0o755)
    namespace = subprocess.Popen(
        _NAMESPACE, env=OUTSIDE | {"PATH": _PATH}, stdin=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + PATIENCE
        while not (children := _children(namespace.pid)):
            assert namespace.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        engine = PrivateEngine(root, children[0])
        try:
            engine.start()
            yield engine
        finally:
            os.kill(engine.init, signal.SIGKILL)
            if engine.daemon is not None:
                engine.daemon.wait(timeout=PATIENCE)
    finally:
        # With the first process of a namespace all of its processes and mounts end.
        namespace.kill()
        namespace.wait()
        _remove(root)


def _remove(root: Path) -> None:
    """Remove the directory; its mounts go away a moment after the last process."""
    deadline = time.monotonic() + PATIENCE
    while subprocess.run(["rm", "-rf", root], capture_output=True, check=False).returncode:
        assert time.monotonic() < deadline, f"{root} can not be removed"
        time.sleep(0.1)
