"""Every test is sealed off from the machine it runs on: home, git, variables of the developer."""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cspace import proc
from cspace.index.embedder import models_directory
from cspace.index.model_files import MINILM, find_files

CHECKOUT = Path(__file__).resolve().parent.parent
OUTSIDE = dict(os.environ)  # as it was before any test was sealed
# Where `make model` puts what embeds texts, for the user and for tests.
MODELS = models_directory(Path(OUTSIDE.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir), OUTSIDE)
# For whoever loads numpy first: its threads would wait for those of the run's other processes.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
ENGINE_TIMEOUT = 20.0
# A shell that starts us in the background has ^C ignored, by all that we start too.
signal.signal(signal.SIGINT, signal.default_int_handler)

# What a test may not inherit, because it changes what git, Compose, Claude or cspace do.
_SCRUBBED = ("ANTHROPIC_", "CLAUDE_", "COMPOSE_", "CSPACE_", "GIT_", "SUDO_", "XDG_")
_KEPT = ("GIT_SSL_CAINFO", "GIT_SSL_CAPATH")

_IDENTITY = """\
[user]
\tname = Test Person
\temail = test@example.com
[init]
\tdefaultBranch = main
"""

_WATCHED = frozenset(
    {
        *("open", "os.chmod", "os.chown", "os.link", "os.listdir", "os.mkdir", "os.remove"),
        *("os.rename", "os.rmdir", "os.scandir", "os.symlink", "os.truncate", "os.utime"),
        "sqlite3.connect",
    }
)


def _real_homes() -> tuple[str, ...]:
    homes = {OUTSIDE.get("HOME", ""), pwd.getpwuid(os.getuid()).pw_dir}
    homes |= {os.path.realpath(home) for home in homes if home}
    return tuple(f"{home.rstrip('/')}/" for home in homes if home.rstrip("/"))


def _allowed() -> tuple[str, ...]:
    """Places that may lie below a home and are not the user's: Python's, ours, temporary ones.

    Ours is the model too, which nobody changes.
    """
    code = {*sysconfig.get_paths().values(), *sys.path, sys.prefix, sys.base_prefix, str(CHECKOUT)}
    code.add(str(MODELS))
    code |= {os.path.realpath(place) for place in code if place}
    # A home that is on sys.path is still a home.
    places = {f"{place.rstrip('/')}/" for place in code if place}.difference(HOMES)
    temporary = tempfile.gettempdir()
    return (*places, f"{temporary}/", f"{os.path.realpath(temporary)}/")


HOMES = _real_homes()
ALLOWED = _allowed()


class Guard:
    """An audit hook can not be removed, so it is told when a test runs."""

    def __init__(self) -> None:
        self.active = False

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self.active or event not in _WATCHED:
            return
        for argument in arguments[:2]:
            if isinstance(argument, str | bytes | os.PathLike):
                self.check(event, os.fsdecode(argument))

    def check(self, event: str, path: str) -> None:
        whole = os.path.abspath(path) + "/"  # noqa: PTH100  Path would be slow on every open
        if whole.startswith(HOMES) and _depth(whole, HOMES) > _depth(whole, ALLOWED):
            raise AssertionError(f"a test touched the real home: {event} {path}")


def _depth(path: str, places: tuple[str, ...]) -> int:
    """Return the length of the innermost place that path lies in: the innermost one decides."""
    return max((len(place) for place in places if path.startswith(place)), default=0)


_guard = Guard()
sys.addaudithook(_guard)


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the test's own home directory: empty, outside of tmp_path."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(autouse=True)
def sealed(
    home: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Give the test its own home and git; the engine and the CA bundle stay the machine's."""
    for name in [name for name in os.environ if name.startswith(_SCRUBBED) and name not in _KEPT]:
        monkeypatch.delenv(name)
    identity = tmp_path_factory.mktemp("git") / "gitconfig"
    identity.write_text(_IDENTITY, encoding="utf-8")
    monkeypatch.setenv("HOME", str(home))
    for name, place in (("CACHE", ".cache"), ("CONFIG", ".config"), ("DATA", ".local/share")):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / place))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / ".local/state"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(home / ".run"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(identity))
    _guard.active = True
    yield
    _guard.active = False


@dataclass(slots=True)
class Clock:
    """A clock that stands still until the test moves it."""

    now: datetime

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **parts: float) -> None:
        """Move on by a timedelta's parts: hours=2."""
        self.now += timedelta(**parts)


@pytest.fixture
def clock() -> Clock:
    return Clock(datetime(2026, 4, 14, 10, 30, tzinfo=UTC))


@pytest.fixture
def models(home: Path) -> Path:
    """Return the test user's cache of models, with the default one in it."""
    files = find_files(MINILM, MODELS)
    if files is None and OUTSIDE.get("CI"):
        pytest.fail("CI needs the model: make model")
    if files is None:
        pytest.skip("the model is not here: make model")
    cache = home / ".cache/cspace/models"
    cache.mkdir(parents=True)
    (cache / MINILM.id).symlink_to(files)
    return cache


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """Return a git repository with one commit on main that holds README.md."""
    root = tmp_path / "sample"
    root.mkdir()
    (root / "README.md").write_text("# Sample\n", encoding="utf-8")
    for words in (["init", "--quiet"], ["add", "README.md"], ["commit", "--quiet", "-m", "Start"]):
        proc.run("git", "-C", root, *words)
    return root


@pytest.fixture(scope="session")
def counts() -> Callable[[int, int], int]:
    """Return a function of (small, full): `make soak` sets CSPACE_SOAK and gets the full count."""
    soak = OUTSIDE.get("CSPACE_SOAK", "") not in {"", "0"}
    return lambda small, full: full if soak else small


@dataclass(frozen=True, slots=True)
class EngineAnswer:
    """Where the developer's engine is, or why it can not be used."""

    host: str = ""
    refusal: str = ""


@pytest.fixture(scope="session")
def engine_answer() -> EngineAnswer:
    """Ask the engine once, in the developer's own environment: contexts live in the real home."""
    try:
        # Not `info`: some clients end it with 0 when no engine answers.
        _docker("version", "--format", "{{.Server.Version}}")
        host = OUTSIDE.get("DOCKER_HOST") or _docker(
            "context", "inspect", "--format", "{{.Endpoints.docker.Host}}"
        )
    except FileNotFoundError:
        return EngineAnswer(refusal="docker is not installed")
    except subprocess.TimeoutExpired:
        return EngineAnswer(refusal=f"the engine did not answer within {ENGINE_TIMEOUT:g} s")
    except subprocess.CalledProcessError as error:
        return EngineAnswer(refusal=f"no engine answers: {error.stderr.strip()}")
    return EngineAnswer(host=host)


@pytest.fixture(autouse=True)
def _engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, sealed: None) -> None:
    """Let a test that is marked docker see the engine; skip where none answers, but fail in CI."""
    if request.node.get_closest_marker("docker") is None:
        return
    answer: EngineAnswer = request.getfixturevalue("engine_answer")
    if answer.refusal and OUTSIDE.get("CI"):
        pytest.fail(f"CI needs a Docker engine: {answer.refusal}")
    if answer.refusal:
        pytest.skip(answer.refusal)
    # The test's home holds no context, so the context's name must become its address.
    monkeypatch.setenv("DOCKER_HOST", answer.host)
    monkeypatch.delenv("DOCKER_CONTEXT", raising=False)


def _docker(*words: str) -> str:
    done = subprocess.run(
        ["docker", *words],
        capture_output=True, text=True, check=True, timeout=ENGINE_TIMEOUT, env=OUTSIDE,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return done.stdout.strip()
