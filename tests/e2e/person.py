"""Somebody who works on this machine with the installed cspace: a home, a repository, a uid."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cspace.paths import InstancePaths, instance_paths, user_directory
from cspace.project import project_id
from tests.conftest import OUTSIDE
from tests.e2e.installed import open_to_all

LONGEST = 600.0
PROJECT_LABEL, ROOT_LABEL = "dev.cspace.project", "dev.cspace.root"
# What a machine's administrator sets; everything else of the developer's stays outside.
_PASSED_ON = (
    *("PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
)
_IDENTITY = """\
[user]
\tname = Test Person
\temail = test@example.com
[init]
\tdefaultBranch = main
[protocol "file"]
\tallow = always
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a program said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The document on stdout, or the last of several; its schema is one these tests know."""
        lines = self.out.splitlines()
        document = json.loads(self.out if lines[-1:] == ["}"] else lines[-1])
        assert document["schema_version"] == 1
        return document

    @property
    def events(self) -> list[Any]:
        """What a batch said on stdout: a document a line."""
        return [json.loads(line) for line in self.out.splitlines()]


@dataclass(frozen=True, slots=True)
class Person:
    """One user of one repository.

    Attributes:
        uid: whose processes these are; None is whoever runs the tests.
        variables: what the person has set beyond the machine's own variables.
    """

    program: Path
    engine: str
    home: Path
    repo: Path
    uid: int | None = None
    variables: Mapping[str, str] = field(default_factory=dict)

    def having(self, **variables: str) -> Person:
        """Return the same person with more variables set."""
        return replace(self, variables={**self.variables, **variables})

    def at(self, repo: Path) -> Person:
        """Return the same person in another directory."""
        return replace(self, repo=repo)

    @property
    def id(self) -> str:
        """The id of the project."""
        return project_id(self.repo.resolve())

    def state(self, name: str) -> InstancePaths:
        """Where the host keeps an instance."""
        return instance_paths(user_directory(self.home), self.id, name)

    def workspace(self, name: str) -> Path:
        return self.state(name).workspace

    def container(self, name: str) -> str:
        return f"cspace-{self.id}-{name}-agent-1"

    @property
    def proxy(self) -> str:
        """The container by which instances of the project reach the outside."""
        return f"cspace_egress_{self.id}"

    @property
    def environment(self) -> dict[str, str]:
        """Everything that a program of this person finds set."""
        passed_on = {name: OUTSIDE[name] for name in _PASSED_ON if name in OUTSIDE}
        path = f"{self.program.parent}{os.pathsep}{OUTSIDE['PATH']}"
        own = {"HOME": str(self.home), "LANG": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1", "PATH": path}
        return passed_on | own | {"DOCKER_HOST": self.engine} | dict(self.variables)

    def run(
        self,
        *words: str | Path,
        ok: tuple[int, ...] = (0,),
        stdin: str = "",
        cwd: Path | None = None,
    ) -> Answer:
        """Run a program as this person and without a terminal, to its end."""
        process = self.start(*words, cwd=cwd)
        try:
            out, err = process.communicate(stdin.encode(), timeout=LONGEST)
        except BaseException:
            kill(process)
            raise
        answer = Answer(process.returncode, *(os.fsdecode(said) for said in (out, err)))
        assert answer.code in ok, f"{words} ended with {answer.code}:\n{answer.out}{answer.err}"
        return answer

    def start(self, *words: str | Path, cwd: Path | None = None) -> subprocess.Popen[bytes]:
        """Start a program in a process group of its own."""
        argv = [*self._identity(), *map(str, words)]
        return subprocess.Popen(
            argv, cwd=cwd or self.repo, env=self.environment, start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def cspace(self, *words: str | Path, ok: int = 0, stdin: str = "") -> Answer:
        """Run the installed cspace."""
        return self.run(self.program, *words, ok=(ok,), stdin=stdin)

    def inside(self, name: str, *words: str, ok: int = 0, stdin: str = "") -> str:
        """Run a program in an instance, as the agent would; return what it wrote."""
        return self.cspace("exec", name, "--", *words, ok=ok, stdin=stdin).out

    def git(self, *words: str | Path, cwd: Path | None = None) -> str:
        """Run git in the repository."""
        return self.run("git", *words, cwd=cwd).out.rstrip("\n")

    def write(self, name: str, content: str = "content\n") -> Path:
        """Write a file of the repository."""
        path = self.repo / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        self.give(path)
        return path

    def commit(self, name: str, content: str = "content\n") -> str:
        """Write a file and commit it; return the commit."""
        self.write(name, content)
        self.git("add", "--", name)
        self.git("commit", "--quiet", "--message", f"Add {name}")
        return self.git("rev-parse", "HEAD")

    def configure(self, document: object) -> None:
        """Write the person's own settings."""
        path = user_directory(self.home) / "config.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(document), encoding="utf-8")
        self.give(path.parent)
        self.give(path)

    def give(self, path: Path) -> None:
        """Make a path this person's own."""
        if self.uid is not None:
            os.chown(path, self.uid, self.uid)

    def leftovers(self) -> list[str]:
        """List what there is of this project: containers, networks, volumes, state directories."""
        place = self.state("any").state.parent
        directories = sorted(each.name for each in place.iterdir()) if place.is_dir() else []
        return [*labelled(self.id), *(name for name in directories if not name.endswith(".lock"))]

    def _identity(self) -> list[str]:
        if self.uid is None:
            return []
        socket = Path(self.engine.removeprefix("unix://"))
        group = socket.stat().st_gid
        return ["setpriv", f"--reuid={self.uid}", f"--regid={self.uid}", f"--groups={group}"]


@contextlib.contextmanager
def new_person(
    program: Path, engine: str, *, uid: int | None = None, repo: str = "sample"
) -> Iterator[Person]:
    """Give somebody an empty home and a repository with one commit; leave nothing of it behind.

    Args:
        repo: the repository's directory, relative to a temporary one.
    """
    # Not below pytest's own directory, which only one user may enter.
    root = Path(tempfile.mkdtemp(prefix="cspace-e2e-")).resolve()
    root.chmod(0o755)
    person = Person(program, engine, root / "home", root / repo, uid)
    try:
        for directory in (person.home, person.repo):
            directory.mkdir(parents=True)
            person.give(directory)
        identity = person.home / ".gitconfig"
        identity.write_text(_IDENTITY, encoding="utf-8")
        person.give(identity)
        person.git("init", "--quiet")
        person.commit("README.md", "# Sample\n")
        yield person
    finally:
        remove_below(root)
        shutil.rmtree(root)


def labelled(project: str) -> list[str]:
    """List the containers, networks and volumes of a project."""
    return [thing for thing, _ in _labelled(f"{PROJECT_LABEL}={project}")]


def remove_below(root: Path) -> None:
    """Remove the containers, networks and volumes of projects below a directory, only them."""
    for thing, of in _labelled(PROJECT_LABEL):
        if Path(of).is_relative_to(root):
            kind, name = thing.split()
            docker(kind, "rm", *(["--force"] if kind == "container" else []), name)


def _labelled(label: str) -> list[tuple[str, str]]:
    """List what carries a label, with the root of its project."""
    found = []
    for kind, name, listing in (
        ("container", "{{.ID}}", ["--all"]), ("network", "{{.ID}}", []), ("volume", "{{.Name}}", [])
    ):  # fmt: skip
        shown = f'--format={name} {{{{.Label "{ROOT_LABEL}"}}}}'
        for line in docker(kind, "ls", *listing, f"--filter=label={label}", shown).splitlines():
            which, _, root = line.partition(" ")
            found.append((f"{kind} {which}", root))
    return found


def docker(*words: str, stdin: bytes = b"") -> str:
    """Run docker against the developer's engine."""
    done = subprocess.run(
        ["docker", *words], capture_output=True, env=OUTSIDE, input=stdin, check=False
    )
    assert done.returncode == 0, f"docker {words}: {done.stderr.decode()}"
    return done.stdout.decode()


def image_of(container: str) -> str:
    """Return the name of a container's image."""
    return docker("inspect", "--format={{.Config.Image}}", container).strip()


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a program and all that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def refusal_of(program: Path, engine: str) -> str:
    """Say why no other user than ourselves can run cspace here; empty when any can."""
    if os.geteuid() != 0:
        return "only root can become another user"
    if shutil.which("setpriv") is None:
        return "setpriv is not installed"
    if not engine.startswith("unix://"):
        return "the engine is not behind a socket that has a group"
    if not open_to_all((program.parent / "python").resolve()):
        return "the Python of these tests lies where other users may not go"
    return ""
