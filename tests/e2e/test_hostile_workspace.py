"""What an agent plants in its workspace does nothing on the host, whatever cspace does with it.

Each plant is first shown to work against plain git or plain Python on the host.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.main import get_command

from cspace.cli.app import app
from cspace.paths import curated_memory, instance_sessions, user_directory
from tests.e2e.conftest import NewPerson
from tests.e2e.outside import MARKER, Outside, make_outside, ordinary_person
from tests.e2e.person import Answer, Person

DECISION = ["--context", "c", "--alternatives", "a", "--decision", "d", "--consequences", "e"]
# Every command, in an order in which each has something to do. A new one belongs here. {id} is
# what has been in quarantine for the longest time.
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("list",),
    ("status",),
    ("ports", "mercury"),
    ("logs", "mercury"),
    ("config", "show"),
    ("config", "schema"),
    ("net", "log"),
    ("net", "check", "pypi.org"),
    ("net", "allow", "example.org"),
    ("context", "log", "decision", "D", *DECISION),
    ("context", "log", "discovery", "D", "--finding", "f", "--impact", "i"),
    ("context", "log", "finding", "F", "--category", "bug", "--summary", "s"),
    ("context", "list"),
    ("context", "show"),
    ("context", "search", "f"),
    ("context", "edit", "discovery/d"),
    ("context", "doctor"),
    ("context", "configure"),
    ("context", "commit"),
    ("context", "merge-driver", "README.md", "README.md", "README.md"),
    ("context", "configure", "--undo"),
    ("context", "playbook", "coordinator"),
    ("context", "history"),
    ("context", "restore"),
    ("findings", "list"),
    ("findings", "show", "f"),
    ("findings", "append", "f", "note"),
    ("findings", "doctor"),
    ("hooks", "status"),
    ("hooks", "install", "--yes"),
    ("hooks", "uninstall", "--yes"),
    ("plugin", "install", "--yes"),
    ("plugin", "status"),
    ("plugin", "uninstall", "--yes"),
    ("plugin", "log", "on"),
    ("plugin", "log", "status"),
    ("plugin", "log", "show"),
    ("plugin", "log", "off"),
    ("sessions", "list"),
    ("sessions", "update", "--section", "Workflow", "--body", "text"),
    ("sessions", "show"),
    ("sessions", "doctor"),
    ("context", "rm", "{finding}", "--yes"),
    ("memory", "migrate", "--list"),
    ("memory", "export", "../memory.tar"),
    ("memory", "import", "../memory.tar"),
    ("sessions", "migrate", "--list"),
    ("memory", "list", "--scope", "claude"),
    ("memory", "show", "MEMORY", "--scope", "claude"),
    ("memory", "search", "planted", "--scope", "claude"),
    ("memory", "recall", "planted"),
    ("memory", "doctor", "--scope", "claude"),
    ("memory", "write", "rule", "--body", "planted", "--yes"),
    ("memory", "list"),
    ("memory", "show", "rule"),
    ("memory", "search", "planted"),
    ("memory", "edit", "rule", "--yes"),
    ("memory", "reindex"),
    ("memory", "doctor"),
    ("memory", "mv", "rule", "user/rule", "--yes"),
    ("memory", "rm", "rule", "--scope", "user", "--yes"),
    ("memory", "path"),
    ("memory", "propose", "rule", "--body", "proposed"),
    ("memory", "proposals"),
    ("memory", "approve", "rule", "--yes"),
    ("memory", "propose", "rule", "--remove"),
    ("memory", "rebase", "rule"),
    ("memory", "reject", "rule"),
    ("memory", "projects", "list"),
    ("memory", "projects", "use", "renamed"),
    ("memory", "projects", "forget", "renamed"),
    ("memory", "persona", "use", "reviewer"),
    ("memory", "persona", "show"),
    ("memory", "persona", "clear"),
    ("memory", "adopt", "..", "--memory", "."),
    ("memory", "init", "--git"),
    ("memory", "write", "kept", "--body", "planted", "--scope", "user", "--yes"),
    ("memory", "history"),
    ("memory", "undo", "--yes"),
    ("memory", "sync", "--yes"),
    ("notes", "capture", "blockers", "--summary", "Planted", "--body", "planted"),
    ("notes", "list"),
    ("notes", "recall", "planted"),
    ("notes", "show", "{note}", "--files"),
    ("notes", "status"),
    ("notes", "verify"),
    ("notes", "reindex"),
    ("notes", "sync", "hub"),
    ("notes", "rescue", "--apply"),
    ("notes", "configure", "hub"),
    ("notes", "configure", "hub", "--undo"),
    ("notes", "export", "../notes.jsonl"),
    ("notes", "import", "../notes.jsonl"),
    ("notes", "resolve", "{note}", "--text", "gone"),
    ("notes", "forget", "{note}", "--yes"),
    ("trust",),
    ("doctor",),
    ("doctor", "mercury"),
    ("quarantine", "list"),
    ("quarantine", "restore", "{id}", "--to", "../looked-at"),
    ("quarantine", "remove", "{id}", "--yes"),
    ("init",),
    ("context-server",),
    ("exec", "mercury", "--", "true"),
    ("shell", "mercury"),
    ("attach", "mercury", "--", "--version"),
    ("up", "mercury"),
    ("up", "venus"),
    ("diff", "mercury"),
    ("log", "mercury"),
    ("compare", "mercury", "venus"),
    ("pull", "mercury", "--accept-sensitive"),
    ("merge", "mercury", "--accept-sensitive"),
    ("down", "--discard", "venus"),
    ("stop", "mercury"),
    ("start", "mercury"),
    ("up", "mercury", "--recreate"),
    ("down", "mercury", "--dry-run"),
    ("down", "mercury"),
    ("archive", "list"),
    ("archive", "show", "mercury", "--files"),
    ("restore", "mercury"),
    ("down", "--discard", "mercury"),
    ("archive", "prune", "--all", "--yes"),
    ("prune", "--dry-run"),
)
FOUND_SOMETHING = 8
HOOKS = ("reference-transaction", "pre-commit", "post-checkout", "post-index-change")
# Written inside the instance: the canaries' directory is there by name only.
PLANT = """
set -eu
canaries=$1
mkdir -p planted/hooks .git/hooks
for hook in reference-transaction pre-commit post-checkout post-index-change; do
    printf '#!/bin/sh\\ntouch "%s/%s"\\n' "$canaries" "$hook" >.git/hooks/$hook
    printf '#!/bin/sh\\ntouch "%s/%s"\\n' "$canaries" "path-$hook" >planted/hooks/$hook
done
chmod +x .git/hooks/* planted/hooks/*
printf '*.evil filter=evil\\n*.long filter=long\\n*.conv diff=conv\\n' >.gitattributes
printf '[alias]\\n\\tincluded = "!touch %s/include"\\n' "$canaries" >planted/config
for name in a.evil a.long a.conv; do echo one >$name; done
git -c core.hooksPath=/dev/null add .
git -c core.hooksPath=/dev/null commit --quiet --message Planted
echo two >>a.conv
plant() { git config "$1" "$2"; }
plant core.fsmonitor "touch $canaries/fsmonitor; false"
plant filter.evil.clean "touch $canaries/clean; cat"
plant filter.evil.smudge "touch $canaries/smudge; cat"
plant diff.external "touch $canaries/external"
plant diff.conv.textconv "touch $canaries/textconv; cat"
plant core.sshCommand "touch $canaries/ssh; false"
plant credential.helper "!touch $canaries/credential; false"
plant alias.planted "!touch $canaries/alias"
plant include.path ../planted/config
plant core.alternateRefsCommand "touch $canaries/alternate-refs; true"
memory=/home/dev/.claude/projects/-workspace/memory
printf '%s\\n' --- 'name: planted' 'description: d' 'type: user' --- >$memory/planted.md
printf '%s\\n' '- [Planted](planted.md)' >>$memory/MEMORY.md
for shared in .cspace/context/findings $memory; do
    git init --quiet $shared
    mkdir -p $shared/.git/hooks
    cp .git/hooks/reference-transaction $shared/.git/hooks/
    git -C $shared config core.fsmonitor "touch $canaries/shared; false"
done
"""
# What plain git is asked on the host, and which canary then sings.
SPRINGS: tuple[tuple[str, str], ...] = (
    ("reference-transaction", "tag sprung"),
    ("pre-commit", "commit --allow-empty --message=x"),
    ("post-checkout", "checkout --quiet --detach"),
    ("post-index-change", "add a.conv"),
    ("fsmonitor", "status"),
    ("clean", "add --renormalize a.evil"),
    ("smudge", "cat-file --filters HEAD:a.evil"),
    ("external", "diff HEAD"),
    ("textconv", "diff --no-ext-diff HEAD -- a.conv"),
    ("ssh", "fetch ssh://example.invalid/x"),
    ("credential", "credential fill"),
    ("alias", "planted"),
    ("include", "included"),
)


@pytest.fixture(scope="module")
def outside(new: NewPerson, program: Path, engine: str) -> Iterator[Outside]:
    with ordinary_person(new, program, engine) as person:
        yield make_outside(person)


def plain_git(person: Person, where: Path, *words: str) -> Answer:
    """Run git on the host where cspace never does."""
    codes = tuple(range(256))
    stdin = "protocol=https\nhost=example.invalid\n\n"
    return person.run("git", *words, cwd=where, ok=codes, stdin=stdin)


def all_commands(group: object = None, before: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    group = group or get_command(app)
    found = set()
    for name, command in getattr(group, "commands", {}).items():
        inner = all_commands(command, (*before, name)) if hasattr(command, "commands") else set()
        found |= inner or {(*before, name)}
    return found


def command(person: Person, words: tuple[str, ...]) -> Answer:
    if "{id}" in words:
        things = person.cspace("quarantine", "list", "--json").json["quarantined"]
        words = tuple(word.format(id=things[0]["id"]) for word in words)
    if "{finding}" in words:
        (finding,) = person.cspace("findings", "list", "--json").json["findings"]
        words = tuple(word.format(finding=finding["slug"]) for word in words)
    if "{note}" in words:
        (memory,) = person.cspace("notes", "list", "--json").json["memories"]
        words = tuple(word.format(note=memory["reference"]) for word in words)
    if words[:2] == ("memory", "sync"):
        make_memory_remote(person)
    if words[:2] == ("notes", "sync"):
        make_notes_remote(person)
    editing = person.having(EDITOR="sed -i s/f/g/", CSPACE_OFFLINE="1")
    if words[0] == "plugin":
        editing = editing.having(PATH=f"{make_claude(person)}:{os.environ['PATH']}")
    return editing.cspace(*words, ok=FOUND_SOMETHING if words[0] == "doctor" else 0)


def make_claude(person: Person) -> Path:
    """Make a program for `cspace plugin` to call, which knows of no plugin, and return where.

    The real one does it in tests/docker/test_plugin.py, where no workspace is.
    """
    place = person.home / "bin"
    script = 'mkdir -p "$1" && printf "#!/bin/sh\necho []\n" >"$1/claude" && chmod +x "$1/claude"'
    person.run("sh", "-c", script, "-", place)
    return place


def make_memory_remote(person: Person) -> None:
    remote, root = person.home / "memory.git", curated_memory(user_directory(person.home))
    person.run("git", "init", "--quiet", "--bare", remote)
    person.run("git", "-C", root, "remote", "add", "origin", remote)


def make_notes_remote(person: Person) -> None:
    remote = person.home / "notes.git"
    person.run("git", "init", "--quiet", "--bare", remote)
    person.run("git", "-C", person.repo, "remote", "add", "hub", remote)


def begin_session(person: Person, name: str) -> None:
    """Leave an instance's transcript on the host, as a session of Claude Code does."""
    place = instance_sessions(user_directory(person.home), person.id, name) / "-workspace"
    script = 'mkdir -p "$1" && echo {} >"$1/session.jsonl"'
    person.run("sh", "-c", script, "-", place)


def test_every_command_there_is_meets_the_planted_workspace() -> None:
    known = all_commands()
    met = {words[:size] for words in COMMANDS for size in (1, 2, 3)} & known
    assert isinstance(app, typer.Typer)
    assert met == known


@pytest.mark.docker
@pytest.mark.e2e
def test_planted_hooks_filters_and_settings_hazard_no_command_runs_them_on_the_host(
    outside: Outside,
) -> None:
    person = outside.person
    person.cspace("up", "mercury")
    workspace = person.workspace("mercury")
    person.inside("mercury", "bash", "-c", PLANT, "-", str(outside.canaries))
    assert outside.sung() == set()
    for canary, spring in SPRINGS:
        plain_git(person, workspace, *spring.split())
        assert canary in outside.sung(), spring
    for shared in (person.repo / ".cspace/context/findings", person.repo / ".cspace/memory"):
        plain_git(person, shared, "status")
        assert outside.sung() == {"shared"}
    process = f"touch {outside.canaries}/process; exit 1"
    plain_git(person, workspace, "config", "filter.long.process", process)
    plain_git(person, workspace, "add", "--renormalize", "a.long")
    assert "process" in outside.sung()
    plain_git(person, workspace, "config", "core.hooksPath", "planted/hooks")
    plain_git(person, workspace, "tag", "sprung-again")
    assert "path-reference-transaction" in outside.sung()
    (workspace / ".git/objects/info/alternates").write_text(
        f"{outside.repository}/.git/objects\n", encoding="utf-8"
    )
    plain_git(person, workspace, "fetch", "--quiet", str(person.repo), "HEAD")
    assert "alternate-refs" in outside.sung()
    plain_git(person, workspace, "config", "core.worktree", str(outside.path))
    assert "private.txt" in plain_git(person, workspace, "status", "--porcelain").out
    outside.sung()
    before = outside.look()

    said = []
    state = person.state("mercury")
    for place in (workspace, state.claude, state.sessions):
        for asked in ("list", "up --dry-run", "up venus", "init", "memory list", "notes list"):
            refused = person.at(place).cspace(*asked.split(), ok=2)
            assert "belongs to an instance" in refused.err
        person.at(place).cspace("context-server")
    for place in (person.repo / ".cspace/context/findings", person.repo / ".cspace/memory"):
        rows = person.at(place).cspace("list", "--json").json["instances"]
        assert [row["name"] for row in rows] == ["mercury"]
        person.at(place).cspace("init")
        person.at(place).cspace("context-server")
    assert outside.sung() == set()
    begin_session(person, "mercury")
    for words in COMMANDS:
        said.append(command(person, words))
        assert outside.sung() == set(), words
        if words[0] == "restore":
            plain_git(person, workspace, "--work-tree=.", "tag", "still-armed")
            assert "path-reference-transaction" in outside.sung()
    assert outside.look() == before
    assert outside.taken() == []
    assert not [answer for answer in said if MARKER in answer.out + answer.err]


WORK = ("diff", "log", "pull", "merge")
# Each makes the `.git` of the current directory lead to the one in $1.
LEADING = {
    "file": 'rm -rf .git; echo "gitdir: $1" >.git',
    "link": 'rm -rf .git; ln -s "$1" .git',
    "commondir": 'echo "$1" >.git/commondir; cp "$1/HEAD" .git/HEAD; rm -rf .git/refs/heads',
    "alternates": 'echo "$1/objects" >.git/objects/info/alternates;'
    ' cat "$1/refs/heads/main" >.git/HEAD',
}


@pytest.mark.docker
@pytest.mark.e2e
@pytest.mark.parametrize("name", LEADING)
def test_a_git_directory_that_leads_elsewhere_hazard_nothing_there_is_archived(
    outside: Outside, name: str
) -> None:
    person = outside.person
    person.cspace("up", name)
    workspace = person.workspace(name)
    person.run("sh", "-c", LEADING[name], "-", outside.repository / ".git", cwd=workspace)
    assert MARKER in plain_git(person, workspace, "log").out
    before = outside.look()
    work = [person.run(person.program, each, name, ok=(0, 1, 4)) for each in WORK]
    asked = (("status", name), ("up", name), ("down", name))
    answers = [*work, *(person.cspace(*words) for words in asked)]
    assert outside.look() == before
    assert outside.taken() == []
    assert not [answer for answer in answers if MARKER in answer.out + answer.err]


LINKED = ("workspace/.cspace", "workspace/.cspace/context", "claude/projects")
SESSIONS = ("-workspace/memory", "-workspace")


def put_link(place: Path, target: Path) -> None:
    """Put a link in the place of a directory, and show that plain Python goes through it."""
    if place.is_symlink():
        place.unlink()
    elif place.exists():
        shutil.rmtree(place)
    place.symlink_to(target)
    (place / "by-python").mkdir()
    assert (target / "by-python").is_dir()
    (target / "by-python").rmdir()


@pytest.mark.docker
@pytest.mark.e2e
def test_links_in_place_of_mount_points_hazard_nothing_is_made_or_read_behind_them(
    outside: Outside,
) -> None:
    person = outside.person
    state = person.state("earth").state
    person.cspace("up", "earth")
    before: object = None
    sessions = person.state("earth").sessions
    for place in (*(state / name for name in LINKED), *(sessions / name for name in SESSIONS)):
        person.cspace("stop", "earth")
        kept = state / "kept"
        place.rename(kept)
        put_link(place, outside.path)
        before = outside.look()
        for words in (("status", "earth"), ("start", "earth")):
            answer = person.run(person.program, *words, ok=(0, 1))
            assert answer.code == 0 or f"{place}" in answer.err
            assert MARKER not in answer.out + answer.err
        assert outside.look() == before, place
        person.cspace("stop", "earth")
        person.run("rm", "-rf", place)
        kept.rename(place)
    for place in (state / "workspace/.cspace", state / "claude/projects", sessions / "-workspace"):
        put_link(place, outside.path)
    before = outside.look()
    person.cspace("down", "earth")
    # The link is work of the agent's, and comes back as what it is.
    assert ".cspace is not a directory of its own" in person.cspace("restore", "earth", ok=1).err
    assert (state / "workspace/.cspace").readlink() == outside.path
    person.cspace("down", "--discard", "earth")
    assert outside.look() == before
    assert outside.taken() == []


STATE = ("instance.json", "compose.yaml", "secrets", "secrets.json", "workspace", "claude")


@pytest.mark.docker
@pytest.mark.e2e
def test_a_link_among_an_instances_own_files_is_not_followed(outside: Outside) -> None:
    person = outside.person
    person.cspace("up", "mars")
    state, kept = person.state("mars").state, person.repo.parent / "kept"
    for name in STATE:
        person.cspace("stop", "mars")
        target = outside.path if (state / name).is_dir() else outside.path / "config.json"
        (state / name).rename(kept)
        (state / name).symlink_to(target)
        before = outside.look()
        for words in (("status", "mars"), ("up", "mars")):
            answer = person.run(person.program, *words, ok=(0, 1))
            assert MARKER not in answer.out + answer.err
        assert outside.look() == before, name
        person.run("rm", "-rf", state / name)
        kept.rename(state / name)
    for name in STATE:
        person.run("rm", "-rf", state / name)
        target = outside.path / "config.json" if "." in name else outside.path
        (state / name).symlink_to(target)
    before = outside.look()
    person.cspace("down", "--discard", "mars")
    assert outside.look() == before
    assert outside.taken() == []


COMMITTED = (".cspace", ".cspace/context", ".cspace/memory", ".cspace/context/decisions")
FILES = (".mcp.json", ".gitignore", ".cspace.json", ".worktreeinclude")


@pytest.mark.docker
@pytest.mark.e2e
@pytest.mark.parametrize("name", [*COMMITTED, *FILES])
def test_a_hostile_repositorys_links_are_named_and_not_followed(
    outside: Outside, name: str
) -> None:
    hostile = outside.person.at(outside.person.repo.parent / f"hostile{name.replace('/', '')}")
    hostile.run("git", "clone", "--quiet", outside.person.repo, hostile.repo, cwd=Path("/"))
    hostile.run("mkdir", "-p", (hostile.repo / name).parent)
    target = outside.path / "config.json" if name in FILES else outside.path
    hostile.run("rm", "-rf", name)
    hostile.run("ln", "-s", target, name)
    hostile.git("add", "--all")
    hostile.git("commit", "--quiet", "--message=Hostile")
    if name in FILES:
        assert MARKER in (hostile.repo / name).read_text(encoding="utf-8")
    else:
        assert (hostile.repo / name / "private.txt").is_file()
    before = outside.look()
    moved = name == COMMITTED[-1]  # a link below what is shared, and so into quarantine
    code = 2 if name in FILES[:2] else 0 if name in FILES or moved else 1
    refused = hostile.cspace("init", ok=code)
    assert refused.code == 0 or str(hostile.repo / name) in refused.err
    # What only init reads does not keep an instance from starting.
    rest = (("config", "show"), *([("up", "pluto")] if name not in FILES[:2] else []))
    for answer in (refused, *(hostile.run(hostile.program, *each, ok=(0, 1, 2)) for each in rest)):
        assert MARKER not in answer.out + answer.err
        assert "auths" not in answer.out + answer.err
    hostile.run(hostile.program, "down", "--discard", "pluto", ok=(0, 3))
    assert outside.look() == before
    assert outside.taken() == []
    assert Outside(hostile, outside.path, outside.canaries).taken() == []
    if moved:
        (thing,) = hostile.cspace("quarantine", "list", "--json").json["quarantined"]
        hostile.run("rmdir", name)
        hostile.cspace("quarantine", "restore", thing["id"])
    assert (hostile.repo / name).readlink() == target


@pytest.mark.docker
@pytest.mark.e2e
def test_a_worktreeinclude_target_behind_a_committed_link_hazard_is_not_copied_outside(
    outside: Outside,
) -> None:
    person = outside.person.at(outside.person.repo.parent / "including")
    person.run("git", "clone", "--quiet", outside.person.repo, person.repo, cwd=Path("/"))
    person.run("ln", "-s", outside.path, "config")
    person.write(".worktreeinclude", "local.env\n")
    person.git("add", "--all")
    person.git("commit", "--quiet", "--message=Hostile")
    person.run("rm", "config")
    person.run("mkdir", "config")
    person.write("config/local.env", "mine\n")
    naive = person.repo.parent / "naive"
    person.run("git", "clone", "--quiet", person.repo, naive)
    shutil.copy(person.repo / "config/local.env", naive / "config/local.env")
    (outside.path / "local.env").unlink()
    before = outside.look()
    person.cspace("up", "mercury")
    assert (person.workspace("mercury") / "config").is_symlink()
    person.cspace("down", "mercury")
    assert outside.look() == before
