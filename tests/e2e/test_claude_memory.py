"""What Claude Code remembers and says in one instance, the next one knows; the host's own stays.

The real Claude Code; only its model follows a script.
"""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import scripted_model
from tests.e2e.conftest import NewPerson
from tests.e2e.outside import Look, look_below
from tests.e2e.person import Person, refusal_of

pytestmark = [pytest.mark.docker, pytest.mark.e2e]

PROJECTS = "/home/dev/.claude/projects"
MEMORY = f"{PROJECTS}/-workspace/memory"
# Claude Code moves the type below `metadata`, and adds what it knows of the session.
ROLE = "---\nname: user-role\ndescription: what the person does\ntype: user\n---\nWrites Rust.\n"
ROLE_KEPT = re.compile(
    r"---\nname: user-role\n.*\n  type: user\n.*\n---\n\nWrites Rust\.\n", re.DOTALL
)
INDEX = "- [Role](user_role.md) - the person writes Rust\n"
ASKED = "Remember that I write Rust."
DONE = [{"text": "Done."}]
OWN = {
    "CLAUDE.md": "Mine.\n",
    "settings.json": '{"cleanupPeriodDays": 7}\n',
    "projects/-workspace/memory/MEMORY.md": "- [Mine](mine.md)\n",
    "projects/-workspace/5f0c9a21-0000-4000-8000-000000000000.jsonl": "{}\n",
}


def own_files(person: Person) -> Look:
    """Return everything about the files that the person's own Claude Code has on the host."""
    return look_below(person.home / ".claude") | look_below(person.home / ".claude.json")


def plant(person: Person) -> None:
    """Give a person a Claude Code of their own, with settings, a memory and a transcript."""
    for name, text in {**{f".claude/{name}": text for name, text in OWN.items()},
                       ".claude.json": "{}\n"}.items():  # fmt: skip
        path = person.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o600)
    (person.home / ".claude/linked").symlink_to("/nonexistent")
    for path in (person.home / ".claude", *person.home.rglob("*")):
        if not path.is_symlink():
            person.give(path)


@pytest.fixture(scope="module")
def team(new: NewPerson, program: Path, engine: str) -> Iterator[Person]:
    """Return somebody with a Claude Code of their own, whose mercury and venus run."""
    with new(uid=None if refusal_of(program, engine) else 1001) as person:
        plant(person)
        before = own_files(person)
        person.cspace("init")
        person.git("add", "--all")
        person.git("commit", "--quiet", "--message", "Use cspace")
        person.cspace("up", "mercury", "venus")
        yield person
        person.cspace("down", "--all")
        assert own_files(person) == before


def say(
    person: Person,
    name: str,
    said: str,
    turns: object,
    *options: str,
    place: str = "/workspace",
    free: bool = True,
) -> str:
    """Run a session of Claude Code in an instance; return as JSON all that its model was sent."""
    program = Path(scripted_model.__file__).read_text(encoding="utf-8")
    may = ("--dangerously-skip-permissions",) if free else ()
    claude = ("claude", "-p", said, *may, *options)
    words = ("python3", "-", "--requests", json.dumps(turns), *claude)
    inside = ("env", f"--chdir={place}", *words)
    return person.inside(name, *inside, stdin=program).strip().rpartition("\n")[2]


def write(path: str, text: str) -> list[dict[str, Any]]:
    """Return the turn in which the model writes a file."""
    return [{"tool": "Write", "input": {"file_path": path, "content": text}}]


def remembered(person: Person, name: str) -> str:
    return (person.repo / ".cspace/memory" / name).read_text(encoding="utf-8")


def transcripts(person: Person, name: str) -> list[Path]:
    return sorted(person.state(name).sessions.glob("*/*.jsonl"))


def test_a_memory_that_claude_code_writes_is_the_persons_file_on_the_host(team: Person) -> None:
    read = [{"tool": "Read", "input": {"file_path": f"{MEMORY}/MEMORY.md"}}]
    turns = [write(f"{MEMORY}/user_role.md", ROLE), read, write(f"{MEMORY}/MEMORY.md", INDEX), DONE]
    assert '"is_error": true' not in say(team, "mercury", ASKED, turns)
    owner = team.repo.stat()
    assert remembered(team, "MEMORY.md") == INDEX
    assert ROLE_KEPT.fullmatch(remembered(team, "user_role.md"))
    for name in ("MEMORY.md", "user_role.md"):
        found = (team.repo / ".cspace/memory" / name).lstat()
        assert (found.st_uid, found.st_gid) == (owner.st_uid, owner.st_gid)
        assert stat.S_IMODE(found.st_mode) == 0o644


def test_the_transcript_is_on_the_host_while_the_instance_runs(team: Person) -> None:
    (transcript,) = transcripts(team, "mercury")
    assert transcript.parent == team.state("mercury").sessions / "-workspace"
    assert ASKED in transcript.read_text(encoding="utf-8")
    assert transcript.stat().st_uid == team.repo.stat().st_uid
    assert stat.S_IMODE(team.state("mercury").sessions.stat().st_mode) == 0o700
    assert transcripts(team, "venus") == []


def test_a_fresh_session_in_another_instance_has_the_index_in_its_prompt(team: Person) -> None:
    sent = say(team, "venus", "Hello.", [DONE])
    assert INDEX.strip() in sent
    assert ASKED not in sent


def test_after_down_and_up_the_memory_is_loaded_and_the_session_goes_on(team: Person) -> None:
    (transcript,) = transcripts(team, "mercury")
    (gone,) = team.cspace("down", "mercury", "--json").json["instances"]
    assert gone["sessions"] == str(team.state("mercury").sessions)
    assert ASKED in transcript.read_text(encoding="utf-8")
    assert ROLE_KEPT.fullmatch(remembered(team, "user_role.md"))
    team.cspace("up", "mercury")
    fresh = say(team, "mercury", "Hello.", [DONE])
    assert INDEX.strip() in fresh
    assert ASKED not in fresh
    turns = [DONE] * 9
    resumed = say(team, "mercury", "And now?", turns, "--resume", transcript.stem)
    assert ASKED in resumed
    assert "And now?" in transcript.read_text(encoding="utf-8")
    assert "And now?" in say(team, "mercury", "Go on.", turns, "--continue")
    assert ASKED not in say(team, "venus", "Go on.", turns, "--continue")


PLACES = {
    "/workspace/deep": "mkdir deep",
    "/workspace/nested": "git init -q nested",
    "/tmp/side": "git worktree add -q --detach /tmp/side",
}


@pytest.mark.parametrize("place", PLACES)
def test_a_subdirectory_a_nested_repository_and_a_linked_worktree_have_the_same_memory(
    team: Person, place: str
) -> None:
    team.inside("venus", "sh", "-c", PLACES[place])
    name = f"from{place.replace('/', '_')}.md"
    turns = [write(f"{MEMORY}/{name}", ROLE), DONE]
    sent = say(team, "venus", "Remember it.", turns, place=place)
    assert set(re.findall(r"persistent file-based memory at `([^`]*)`", sent)) == {f"{MEMORY}/"}
    assert INDEX.strip() in sent
    assert ROLE_KEPT.fullmatch(remembered(team, name))
    slug = re.sub("[^A-Za-z0-9]", "-", place)
    assert [one for one in transcripts(team, "venus") if one.parent.name == slug]


@pytest.mark.parametrize("file", ["settings.json", "settings.local.json"])
def test_a_projects_settings_hazard_they_do_not_lead_the_memory_elsewhere(
    team: Person, file: str
) -> None:
    evil = '{"autoMemoryDirectory": "/tmp/evil"}'
    team.inside("venus", "sh", "-c", f"mkdir -p .claude; echo '{evil}' >.claude/{file}")
    name = f"despite_{file}.md"
    turns = [write(f"{MEMORY}/{name}", ROLE), DONE]
    # Without leave to do everything: a memory is written without asking.
    sent = say(team, "venus", "Note it.", turns, free=False)
    team.inside("venus", "rm", f".claude/{file}")
    assert set(re.findall(r"persistent file-based memory at `([^`]*)`", sent)) == {f"{MEMORY}/"}
    assert ROLE_KEPT.fullmatch(remembered(team, name))


def inside(person: Person, *words: str, ok: int = 0, place: str = "/workspace") -> Any:
    """Run cspace in mercury; return the document that it wrote."""
    command = ("env", f"--chdir={place}", "cspace", *words, "--json")
    return json.loads(person.inside("mercury", *command, ok=ok))


@pytest.mark.parametrize("place", ["/workspace", "/tmp"])
def test_an_agent_reads_the_memory_in_its_instance_as_it_is_on_the_host(
    team: Person, place: str
) -> None:
    claudes = ("--scope", "claude")
    listed = inside(team, "memory", "list", *claudes, place=place)
    assert listed["place"]["directory"] == MEMORY
    assert listed["memories"] == team.cspace("memory", "list", *claudes, "--json").json["memories"]
    shown = inside(team, "memory", "show", "user_role", *claudes, place=place)
    assert shown["text"] == remembered(team, "user_role.md")
    for part, *words in (
        ("hits", "search", "rust", *claudes),
        ("memories", "recall", "what a person does"),
    ):
        found = team.cspace("memory", *words, "--json").json[part]
        assert found
        assert inside(team, "memory", *words, place=place)[part] == found
    host = team.cspace("memory", "doctor", *claudes, "--json", ok=8).json["diagnoses"]
    assert len(inside(team, "memory", "doctor", *claudes, ok=8, place=place)["diagnoses"]) == len(
        host
    )
    team.inside("mercury", "cspace", "memory", "list", "--host", ok=2)


def test_an_agent_keeps_notes_in_its_instance_that_the_person_reads_on_the_host(
    team: Person,
) -> None:
    listed = inside(team, "sessions", "list", place="/tmp")["sessions"]
    assert {one["id"] for one in listed} == {one.stem for one in transcripts(team, "mercury")}
    session = ("--session", listed[-1]["id"])
    inside(team, "sessions", "update", *session, "--section", "Workflow", "--body", "Inside.")
    assert inside(team, "sessions", "show", *session)["sections"]["Workflow"] == "Inside."
    shown = team.cspace("sessions", "show", "mercury", *session, "--section", "Workflow")
    assert shown.out == "Inside.\n"
    team.cspace(
        "sessions", "update", "mercury", *session, "--section", "Workflow", "--body", "Out."
    )
    assert inside(team, "sessions", "show", *session)["sections"]["Workflow"] == "Out."
    inside(team, "sessions", "update", *session, "--section", "Workflow", "--body", "In.")
    assert inside(team, "sessions", "doctor")["diagnoses"] == []
    for path in team.state("mercury").sessions.glob("*/*.md*"):
        assert path.stat().st_uid == team.repo.stat().st_uid


# Waits for what Claude Code writes when it has looked for old transcripts, 5 s after its start.
LOOK = "until [ -e ~/.claude/.last-cleanup ]; do sleep 0.1; done"
LOOKED = [[{"tool": "Bash", "input": {"command": LOOK}}], DONE]
OLD = """
set -eu
cd ~/.claude/projects/-workspace
id=5f0c9a21-0000-4000-8000-000000000000
mkdir -p $id/subagents
for file in $id.jsonl $id.md $id/subagents/agent-1.jsonl memory/old.md; do echo '{}' >$file; done
touch -d '1 year ago' $id.jsonl $id.md $id/subagents/agent-1.jsonl $id memory/old.md
rm -f ~/.claude/.last-cleanup
"""


def test_old_sessions_are_kept_though_claude_code_deletes_them_by_itself(team: Person) -> None:
    place = team.state("venus").sessions / "-workspace"
    old = "5f0c9a21-0000-4000-8000-000000000000"
    transcripts = [place / f"{old}.jsonl", place / old / "subagents/agent-1.jsonl"]
    others = [place / f"{old}.md", team.repo / ".cspace/memory/old.md"]
    team.inside("venus", "bash", "-c", OLD)
    say(team, "venus", "Look.", LOOKED)
    assert all(path.is_file() for path in (*transcripts, *others))
    settings = "cd ~/.claude; jq 'del(.cleanupPeriodDays)' settings.json >s; mv s settings.json"
    team.inside("venus", "bash", "-c", f"{OLD}\n{settings}")
    say(team, "venus", "Look.", LOOKED)
    assert not any(path.exists() for path in transcripts)
    assert all(path.is_file() for path in others)


def test_a_person_who_set_a_time_for_old_sessions_keeps_it(team: Person) -> None:
    settings = '{"cleanupPeriodDays": 90}'
    team.inside("venus", "sh", "-c", f"echo '{settings}' >~/.claude/settings.json")
    team.cspace("up", "venus", "--recreate")
    kept = json.loads(team.inside("venus", "cat", "/home/dev/.claude/settings.json"))
    assert kept["cleanupPeriodDays"] == 90


def test_the_persons_own_claude_code_on_the_host_is_not_touched(team: Person) -> None:
    files = {path: path.read_text(encoding="utf-8") for path in
             (team.home / ".claude" / name for name in OWN)}  # fmt: skip
    assert list(files.values()) == list(OWN.values())
