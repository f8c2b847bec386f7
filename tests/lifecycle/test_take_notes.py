"""An agent's memories reach the host's as a set; what looks like a secret does not."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

import pytest

from cspace import git as host_git
from cspace import proc
from cspace.git_import import find_place
from cspace.lifecycle.take_notes import MOST_BYTES, MOST_SAID, take_notes
from cspace.notes.draft import Draft
from cspace.notes.namespaces import Namespace
from cspace.notes.store import NotesStore
from tests.conftest import Clock
from tests.instance.snapshot_trees import clone, git

PREFIX = "refs/cspace/instances/mercury/"
REF = Namespace.DECISIONS.ref
TOKEN = "ghp_" + "Zk3vQ9xT1mB7nR5wY2cJ8dL4sH6gF0aPqU1e"


def draft(text: str, namespace: Namespace = Namespace.DECISIONS) -> Draft:
    return Draft(namespace, f"About {text}", f"Because of {text}.\n")


@dataclass(frozen=True, slots=True)
class Pair:
    """A host's repository and an agent's clone of it, with the memories of each."""

    host: NotesStore
    agent: NotesStore

    def take(self) -> tuple[str, ...]:
        """Fetch the agent's notes as they are now, and take them."""
        refs = f"+refs/notes/*:{PREFIX}refs/notes/*"
        git(self.host.repository, "fetch", "--quiet", str(self.agent.repository), refs)
        return take_notes(self.host.repository, PREFIX, self.host.now)

    def here(self) -> set[str]:
        return {memory.record.summary for memory in self.host.iter_memories()}

    def tips(self) -> dict[str, str]:
        return host_git.list_refs(self.host.repository, "refs/notes/cs")

    def plant(self, tree: str) -> str:
        """Make a commit of that tree the agent's notes."""
        where = self.agent.repository
        made = proc.run("git", "-C", where, "mktree", "--missing", stdin=tree.encode()).text
        one = git(where, "commit-tree", "-m", "notes", made)
        git(where, "update-ref", REF, one)
        return one


@pytest.fixture
def pair(repo: Path, tmp_path: Path, clock: Clock) -> Pair:
    workspace = clone(repo, tmp_path / "workspace")
    return Pair(*(NotesStore(one, find_place(one), now=clock) for one in (repo, workspace)))


def test_memories_of_both_sides_on_one_commit_and_on_others_are_all_there(pair: Pair) -> None:
    git(pair.agent.repository, "commit", "--quiet", "--allow-empty", "-m", "More")
    for number in range(3):
        pair.host.capture(draft(f"host {number}"))
        pair.agent.capture(draft(f"agent {number}"), "HEAD~1")
        pair.agent.capture(draft(f"later {number}", Namespace.LEARNINGS))
    assert pair.take() == ()
    each = [f"About {who} {number}" for who in ("host", "agent", "later") for number in range(3)]
    assert pair.here() == set(each)


def test_a_forgotten_text_is_in_no_note_after_it_was_taken_and_holds_up_nothing(
    pair: Pair,
) -> None:
    leaked = Draft(Namespace.BLOCKERS, "About a token", f"token {TOKEN}\n")
    for store in (pair.host, pair.agent):
        one = store.capture(leaked, allow_secret=True).memory
    pair.agent.resolve(one.reference, f"It is {TOKEN}.", allow_secret=True)
    pair.host.forget(one.reference)
    assert pair.take() == ()
    pair.agent.forget(one.reference)
    pair.agent.capture(draft("the agent"))
    assert pair.take() == ()
    shown = git(pair.host.repository, "notes", "--ref=cs/blockers", "show")
    assert TOKEN not in shown
    assert pair.here() == {"About the agent"}


def test_what_the_agent_forgot_leaves_the_hosts_note_and_is_named(pair: Pair) -> None:
    one = pair.host.capture(draft("host")).memory
    pair.agent.capture(draft("host"))
    pair.agent.forget(one.reference)
    assert pair.take() == (f"memories that were forgotten there, and so here too: {one.reference}",)
    assert "Because of host" not in git(pair.host.repository, "notes", "--ref=cs/decisions", "show")


def test_repeated_it_moves_nothing(pair: Pair) -> None:
    pair.host.capture(draft("host"))
    pair.agent.capture(draft("agent"))
    pair.take()
    before = pair.tips()
    assert pair.take() == ()
    assert pair.tips() == before


def test_the_same_capture_on_both_sides_is_one(pair: Pair, clock: Clock) -> None:
    pair.host.capture(draft("both"))
    clock.advance(hours=1)
    pair.agent.capture(draft("both"))
    before = pair.tips()
    assert pair.take() == ()
    assert pair.tips() == before


def test_a_memory_that_looks_like_a_secret_is_left_and_named_each_time(pair: Pair) -> None:
    pair.agent.capture(draft("clean"))
    held = pair.agent.capture(draft(f"the key {TOKEN}"), allow_secret=True).memory
    for _ in range(2):
        (said,) = pair.take()
        assert f"left at {PREFIX}{REF}: decisions:{held.commit[:12]}/{held.id}: github" in said
        assert TOKEN not in said
    assert pair.here() == {"About clean"}


def test_what_is_left_is_nowhere_below_the_hosts_notes(pair: Pair) -> None:
    pair.agent.capture(draft(f"the key {TOKEN}"), allow_secret=True)
    pair.agent.capture(draft("clean"))
    pair.take()
    repository = pair.host.repository
    reached = git(repository, "rev-list", "--objects", "--no-object-names", REF).split()
    held = [git(repository, "cat-file", "-p", one) for one in reached]
    assert len(held) > 2
    assert TOKEN not in "".join(held)


def test_a_secret_beside_records_is_left_too(pair: Pair) -> None:
    git(pair.agent.repository, "notes", f"--ref={REF}", "add", "-m", f"see {TOKEN}")
    (said,) = pair.take()
    assert "github" in said
    assert pair.tips() == {}


def put_note(pair: Pair, content: str) -> None:
    where = pair.agent.repository
    words = ("git", "-C", where, "notes", f"--ref={REF}", "add", "--file=-")
    proc.run(*words, stdin=content.encode())


@pytest.mark.parametrize("field", ["summary", "spec", "resolution"])
def test_a_secret_that_the_header_writes_in_escapes_is_left_too(pair: Pair, field: str) -> None:
    written = "".join(f"\\x{ord(mark):02x}" for mark in TOKEN)
    fields = {"summary": "s", field: f'"{written}"'}
    header = "".join(f"{name}: {value}\n" for name, value in fields.items())
    put_note(pair, f"---\ntype: t\ntimestamp: 2025-12-14T10:30:00Z\n{header}---\n\nBody\n")
    (said,) = pair.take()
    assert f"{field}: github-token in line 1" in said
    assert pair.here() == set()


def test_a_secret_in_a_list_of_tags_is_left_too(pair: Pair) -> None:
    tag = TOKEN.replace("_", "\\x5f")
    put_note(pair, f"---\ntype: t\ntimestamp: 2025-12-14T10:30:00Z\nsummary: s\n"
             f'tags: ["{tag}"]\n---\n\nBody\n')  # fmt: skip
    (said,) = pair.take()
    assert "tag: github-token in line 1" in said


@pytest.mark.parametrize("ref", ["refs/notes/cs", f"{REF}/more", "refs/notes/cs/plans"])
def test_refs_among_ours_hazard_none_is_made_that_keeps_ours_from_being(
    pair: Pair, ref: str
) -> None:
    where = pair.agent.repository
    git(where, "notes", "--ref=refs/notes/other", "add", "-m", "text")
    git(where, "update-ref", ref, "refs/notes/other")
    said = pair.take()
    assert said == (f"{ref} was not merged, and is at {PREFIX}{ref}: it is none of ours",)
    assert list(host_git.list_refs(pair.host.repository, "refs/notes")) == ["refs/notes/other"]
    assert pair.host.capture(draft("host")).is_new


def test_text_that_is_no_record_comes_along_once(pair: Pair) -> None:
    for where, text in ((pair.host, "mine"), (pair.agent, "theirs")):
        git(where.repository, "notes", f"--ref={REF}", "add", "-m", text)
    assert pair.take() == pair.take() == ()
    said = git(pair.host.repository, "notes", f"--ref={REF}", "show")
    assert sorted(filter(None, said.splitlines())) == ["mine", "theirs"]


def test_what_an_agent_takes_away_without_a_word_stays(pair: Pair) -> None:
    pair.host.capture(draft("host"))
    git(pair.agent.repository, "fetch", "--quiet", "origin", f"{REF}:{REF}")
    git(pair.agent.repository, "notes", f"--ref={REF}", "remove")
    pair.agent.capture(draft("agent"))
    assert pair.take() == ()
    assert pair.here() == {"About host", "About agent"}


def test_what_was_forgotten_there_is_forgotten_here_and_named(pair: Pair) -> None:
    one = pair.host.capture(draft("host")).memory
    git(pair.agent.repository, "fetch", "--quiet", "origin", f"{REF}:{REF}")
    pair.agent.forget(one.reference)
    (said,) = pair.take()
    assert said == f"memories that were forgotten there, and so here too: {one.reference}"
    assert pair.here() == set()


def test_many_that_are_left_are_counted(pair: Pair) -> None:
    drafts = [(draft(f"{number} {TOKEN}"), "HEAD") for number in range(MOST_SAID + 3)]
    pair.agent.capture_all(drafts, allow_secret=True)
    said = pair.take()
    assert len(said) == MOST_SAID + 1
    assert said[-1] == f"3 more like that were left at {PREFIX}{REF}"


ID = "a" * 40


@pytest.mark.parametrize(
    ("tree", "why"),
    [
        (f"120000 blob {{blob}}\t{ID}\n", "mode 120000"),
        (f"160000 commit {{commit}}\t{ID}\n", "mode 160000"),
        ("100644 blob {blob}\tREADME.md\n", "a path that names no object"),
        ("100644 blob {huge}\t" + ID + "\n", "a note of 16777217 bytes"),
    ],
)
def test_forged_notes_hazard_none_of_them_is_merged_and_their_ref_is_named(
    pair: Pair, tree: str, why: str
) -> None:
    where = pair.agent.repository
    pair.agent.capture(draft("clean", Namespace.LEARNINGS))
    put = {
        name: proc.run("git", "-C", where, "hash-object", "-w", "--stdin", stdin=content).text
        for name, content in (("blob", b"x"), ("huge", b"\0" * (1 << 24) + b"x"))
    }
    pair.plant(tree.format(commit=git(where, "rev-parse", "HEAD"), **put))
    (said,) = pair.take()
    assert said.startswith(f"{REF} was not merged, and is at {PREFIX}{REF}: ")
    assert why in said
    assert pair.here() == {"About clean"}


def test_one_large_note_on_many_commits_hazard_it_is_not_read_for_each_of_them(
    pair: Pair,
) -> None:
    where, large = pair.agent.repository, b"---\n" * (1 << 20)
    blob = proc.run("git", "-C", where, "hash-object", "-w", "--stdin", stdin=large).text
    pair.plant("".join(f"100644 blob {blob}\t{number:040x}\n" for number in range(80)))
    (said,) = pair.take()
    assert f"{80 * len(large)} bytes of it are new, more than {MOST_BYTES}" in said


def test_somebody_who_captures_meanwhile_loses_nothing(pair: Pair) -> None:
    pair.agent.capture_all([(draft(f"agent {number}"), "HEAD") for number in range(20)])

    def capture() -> None:
        for number in range(10):
            pair.host.capture(draft(f"host {number}"))

    writer = threading.Thread(target=capture)
    writer.start()
    said = pair.take()
    writer.join()
    assert said == ()
    assert len(pair.here()) == 30


def test_a_merge_that_a_person_has_begun_is_not_disturbed(pair: Pair) -> None:
    pair.agent.capture(draft("agent"))
    common = pair.host.place.common_directory
    (common / "NOTES_MERGE_REF").write_text(f"ref: {REF}\n", encoding="utf-8")
    (said,) = pair.take()
    assert "git notes merge --commit or --abort" in said
    assert pair.here() == set()
