"""Memories that agents capture in their instances: all of them come home, but for secrets."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator

import pytest

from cspace.paths import INSIDE
from tests.e2e.conftest import NewPerson
from tests.e2e.person import Person, docker

pytestmark = [pytest.mark.docker, pytest.mark.e2e]

NAMES = ("mercury", "venus")
TOKEN = "ghp_" + "Zk3vQ9xT1mB7nR5wY2cJ8dL4sH6gF0aPqU1e"
# Two at once in each instance: on the commit that both have, and on one of its own.
CAPTURES = """
set -eu
git commit --quiet --allow-empty --message "Work of $1"
one() {
    for number in $(seq "$2"); do
        echo "Because of $1 $3 $number." |
            cspace notes capture decisions --summary "$1 $3 $number" --commit "$4" >/dev/null
    done
}
one "$1" "$2" shared HEAD~1 & shared=$!
one "$1" "$2" own HEAD & own=$!
wait $shared
wait $own
"""


@pytest.fixture(scope="module")
def pair(new: NewPerson) -> Iterator[Person]:
    """Return a person with a memory, its index, a place for models, and two instances."""
    with new() as one:
        models = one.home / ".cache/cspace/models"
        models.mkdir(parents=True)
        (models / "told.txt").write_text("models\n", encoding="utf-8")
        one.cspace("notes", "capture", "decisions", "--summary", "of the host", stdin="Why.\n")
        one.cspace("notes", "recall", "host")
        one.cspace("up", *NAMES, "--no-attach")
        yield one


def summaries(person: Person) -> list[str]:
    listed = person.cspace("notes", "list", "--json").json["memories"]
    return sorted(one["summary"] for one in listed)


def test_an_instance_has_the_hosts_memories_their_index_and_its_models(pair: Person) -> None:
    before = pair.inside("mercury", "stat", "--format=%Y %s", ".git/cspace/index.db")
    assert "of the host" in pair.inside("mercury", "cspace", "notes", "recall", "host")
    assert pair.inside("mercury", "stat", "--format=%Y %s", ".git/cspace/index.db") == before
    assert pair.inside("mercury", "cat", f"{INSIDE.models}/told.txt") == "models\n"
    docker("exec", pair.container("mercury"), "test", "!", "-w", INSIDE.models)


def test_what_two_instances_capture_at_once_is_all_there_after_a_pull_from_each(
    pair: Person, counts: Callable[[int, int], int]
) -> None:
    many = counts(4, 25)
    before = pair.git("config", "--list")
    words = ("bash", "-c", CAPTURES, "captures")
    working = [
        pair.start(pair.program, "exec", name, "--", *words, name, str(many)) for name in NAMES
    ]
    assert [(one.communicate(), one.returncode)[1] for one in working] == [0, 0]
    held = ("notes", "capture", "blockers", "--summary", "Login", "--allow-secret")
    pair.inside("venus", "cspace", *held, stdin=f"The key is {TOKEN}.\n")
    for name in NAMES:
        pair.cspace("notes", "capture", "decisions", "--summary", f"meanwhile {name}", stdin="x\n")
        said = pair.cspace("pull", name)
    assert "github" in said.err
    assert "refs/cspace/instances/venus/refs/notes/cs/blockers: blockers:" in said.err
    assert TOKEN not in said.err
    numbers = range(1, many + 1)
    each = [f"{name} {on} {one}" for name in NAMES for on in ("shared", "own") for one in numbers]
    assert summaries(pair) == sorted(
        [*each, "of the host", *(f"meanwhile {name}" for name in NAMES)]
    )
    assert pair.git("config", "--list") == before


def test_a_teardown_takes_the_rest_and_archives_no_index(pair: Person) -> None:
    pair.inside("venus", "cspace", "notes", "capture", "learnings", "--summary", "Late", stdin="x")
    before = summaries(pair)
    removed = pair.cspace("down", "venus")
    assert summaries(pair) == sorted([*before, "Late"])
    assert "left out" not in removed.err
    assert "looks like a secret" in removed.err
    (archive,) = pair.cspace("archive", "list", "venus", "--json").json["archives"]
    files = pair.cspace("archive", "show", f"venus/{archive['stamp']}", "--files").out
    assert ".git/HEAD" in files
    assert "index.db" not in files


def test_an_instance_whose_models_have_gone_starts_all_the_same(pair: Person) -> None:
    pair.cspace("stop", "mercury")
    shutil.rmtree(pair.home / ".cache/cspace")
    pair.cspace("start", "mercury")
    assert "of the host" in pair.inside("mercury", "cspace", "notes", "recall", "host")
