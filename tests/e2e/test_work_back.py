"""What agents did comes back to a person: shown, fetched, merged; and nothing else changes."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import NewPerson
from tests.e2e.outside import MARKER, Outside, make_outside, ordinary_person
from tests.e2e.person import Person, docker

pytestmark = [pytest.mark.docker, pytest.mark.e2e]

OURS = ("refs/cspace/", "refs/heads/cspace/", "refs/notes/cs/")
WORK = r"""
set -eu
seq 50 >numbers.txt
git add numbers.txt
git commit --quiet --message 'Count'
git notes --ref=cs/decisions add --message 'to fifty is enough'
printf 'draft\033[2J\n' >draft.txt
printf '\0\1\2' >picture.bin
"""
SENSITIVE = """
mkdir .claude && echo '{}' >.claude/settings.json
seq 9 >numbers.txt
git add . && git commit --quiet --message 'Configure'
"""
# What an agent can put where git on the host would trip over it.
TRICKS = """
set -eu
git config core.hooksPath /dev/null
git switch --quiet --create tricks
echo work >work.txt
git add work.txt && git commit --quiet --message 'Work'
first=$(git rev-list --max-parents=0 HEAD)
git replace HEAD "$first"
git rev-parse HEAD >.git/info/grafts
git update-ref refs/notes/blob "$(printf 'x\\n' | git hash-object -w --stdin)"
git config diff.conv.textconv 'touch /tmp/sung; cat'
printf '[core]\\n\\tworktree = %s\\n[include]\\n\\tpath = %s/config.json\\n' "$1" "$1" >>.git/config
echo "$1/repository/.git/objects" >.git/objects/info/alternates
ln -s "$1/private.txt" private-link
ln -s "$1/repository/.git" nested-git
mkdir inner && echo "gitdir: $1/repository/.git" >inner/.git
"""


@pytest.fixture(scope="module")
def outside(new: NewPerson, program: Path, engine: str) -> Iterator[Outside]:
    """Return a person with two instances, in one of which an agent worked, and private files."""
    with ordinary_person(new, program, engine) as one:
        one.cspace("up", "mercury", "venus", "--no-attach")
        one.inside("mercury", "bash", "-c", WORK)
        yield make_outside(one)


@pytest.fixture
def pair(outside: Outside) -> Person:
    return outside.person


def started(person: Person, name: str) -> str:
    return docker("inspect", "--format={{.Id}} {{.State.StartedAt}}", person.container(name))


def on_terminal(person: Person, *words: str, ok: int = 0, said: str = "") -> str:
    """Run cspace with a terminal; return all that it showed there."""
    line = shlex.join((str(person.program), *words))
    return person.run("script", "-qec", line, "/dev/null", ok=(ok,), stdin=said).out


def refs(person: Person) -> set[str]:
    return set(person.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines())


def test_a_diff_is_a_patch_of_all_that_the_agent_did_and_disturbs_nobody(pair: Person) -> None:
    before = started(pair, "mercury")
    status = pair.inside("mercury", "git", "status", "--porcelain=v2", "--branch")
    said = pair.cspace("diff", "mercury")
    assert pair.inside("mercury", "git", "status", "--porcelain=v2", "--branch") == status
    assert started(pair, "mercury") == before
    naive = pair.repo.parent / "naive"
    pair.run("git", "clone", "--quiet", pair.repo, naive)
    pair.run("git", "apply", cwd=naive, stdin=said.out)
    assert sorted(path.name for path in naive.iterdir()) == [
        ".git", "README.md", "draft.txt", "numbers.txt", "picture.bin",
    ]  # fmt: skip
    shown = pair.cspace("diff", "mercury", "--committed", "--json").json["diff"]
    assert [change["path"] for change in shown["changes"]] == ["numbers.txt"]


def test_a_log_shows_commits_and_their_notes(pair: Person) -> None:
    said = pair.cspace("log", "mercury")
    assert "    Count\n" in said.out
    assert "Notes (cs/decisions):\n    to fifty is enough\n" in said.out
    assert "2 files not committed yet" in said.err


def test_on_a_terminal_nothing_of_a_patch_moves_the_cursor(pair: Person) -> None:
    shown = on_terminal(pair, "diff", "mercury")
    assert "+draft\\x1b[2J" in shown
    assert "\x1b" not in shown
    assert "Binary files /dev/null and b/picture.bin differ" in shown


def test_commits_come_by_pull_and_sensitive_ones_only_when_looked_at(pair: Person) -> None:
    pulled = pair.cspace("pull", "--all", "--json").json
    assert {one["branch"] for one in pulled["pulled"]} == {"cspace/mercury", "cspace/venus"}
    noted = pair.git("notes", "--ref=cs/decisions", "show", "cspace/mercury")
    assert noted == "to fifty is enough"
    pair.inside("venus", "bash", "-c", SENSITIVE)
    before = pair.git("rev-parse", "cspace/venus")
    stopped = pair.cspace("pull", "mercury", "venus", "--json", ok=7)
    (failed,) = stopped.json["failed"]
    assert (failed["name"], failed["error"]["exit_code"]) == ("venus", 4)
    assert failed["error"]["hint"] == "look at it, then: cspace pull venus --accept-sensitive"
    assert "+++ b/.claude/settings.json" in stopped.err
    assert "Take it? [y/N]" in on_terminal(pair, "pull", "venus", ok=4, said="n\n")
    assert pair.git("rev-parse", "cspace/venus") == before
    on_terminal(pair, "pull", "venus", said="y\n")
    assert pair.git("rev-parse", "cspace/venus") != before


def test_a_merge_and_a_comparison_say_what_would_conflict(pair: Person) -> None:
    compared = pair.cspace("compare", "mercury", "venus", "--json").json["comparison"]
    assert compared["both"] == ["numbers.txt"]
    assert compared["merges"][0]["clashes"][0]["paths"] == ["numbers.txt"]
    merged = pair.cspace("merge", "mercury", "--json").json["merge"]
    assert merged["commit"] == pair.git("rev-parse", "HEAD")
    assert (pair.repo / "numbers.txt").is_file()
    refused = pair.cspace("merge", "venus", "--accept-sensitive", ok=4)
    assert "contents: numbers.txt" in refused.err
    assert pair.git("status", "--porcelain", "--untracked-files=no") == ""


def test_an_instance_without_a_container_answers_too(pair: Person) -> None:
    docker("rm", "--force", pair.container("mercury"))
    assert "draft.txt" in pair.cspace("diff", "mercury", "--stat").out
    pair.cspace("up", "mercury", "--no-attach")


def test_wrong_uses_say_what_to_do(pair: Person) -> None:
    assert "cspace list" in pair.cspace("diff", "pluto", ok=3).err
    assert "--all" in pair.cspace("pull", ok=2).err
    assert "cspace diff venus" in pair.cspace("compare", "venus", "venus", ok=2).err
    assert "outside of the repository" in pair.cspace("diff", "venus", "--", "../x", ok=2).err


def test_planted_tricks_hazard_reach_nothing_outside_and_move_no_other_ref(
    outside: Outside,
) -> None:
    person = outside.person
    person.inside("mercury", "bash", "-c", TRICKS, "-", str(outside.path))
    before, seen = refs(person), outside.look()
    work = ("diff mercury --stat", "log mercury", "pull mercury", "merge mercury")
    others = ("compare mercury venus", "prune --dry-run")
    answers = [person.cspace(*words.split()) for words in (*work, *others)]
    answers.append(person.run(person.program, "doctor", ok=(0, 8)))
    assert "work.txt" in answers[0].out
    assert "    Work\n" in answers[1].out
    changed = {ref for ref in refs(person) ^ before if not ref.startswith(OURS)}
    assert {ref.split()[0] for ref in changed} == {"refs/heads/main"}
    assert outside.look() == seen
    assert outside.taken() == []
    assert MARKER not in json.dumps([each.out + each.err for each in answers])


# The branch that TRICKS left it on.
REFUSED = r"""
blob=$(printf 'x\n' | git hash-object -w --stdin)
tree=$(printf '100644 blob %s\t.GIT\n' "$blob" | git mktree)
git update-ref refs/heads/tricks "$(git commit-tree -m evil "$tree")"
"""


def test_objects_that_git_calls_dangerous_hazard_are_refused_and_move_nothing(
    pair: Person,
) -> None:
    # No git but a bare one goes into a work tree that TRICKS sent elsewhere.
    pair.inside("mercury", "env", "GIT_WORK_TREE=/workspace", "bash", "-c", REFUSED)
    before = refs(pair)
    refused = pair.cspace("pull", "mercury", ok=5)
    assert "git refuses the work of mercury" in refused.err
    assert "hasDotgit" in refused.err
    assert refs(pair) == before


def test_what_was_fetched_goes_with_the_instance(pair: Person) -> None:
    assert any("refs/cspace/instances/venus/head" in ref for ref in refs(pair))
    pair.cspace("down", "venus")
    assert not any("refs/cspace/instances/venus/" in ref for ref in refs(pair))
    # Of one that went in another way, it may be all that is left.
    pair.git("update-ref", "refs/cspace/instances/pluto/head", "HEAD")
    found = pair.cspace("prune", "--dry-run", "--json").json["found"]
    (left,) = (one for one in found if one["kind"] == "work")
    pair.run("sh", "-c", left["remedy"].partition(": ")[2])
    assert not any("instances/pluto" in ref for ref in refs(pair))
