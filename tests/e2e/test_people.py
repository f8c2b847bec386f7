"""People's commands reach the same records on the host and inside an instance."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.e2e.conftest import NewPerson
from tests.e2e.person import Answer, Person

pytestmark = [pytest.mark.docker, pytest.mark.e2e]

FINDING = ("context", "log", "finding", "Sums are off", "--category", "bug", "--summary", "s")


@pytest.fixture(scope="module")
def person(new: NewPerson) -> Iterator[Person]:
    with new() as one:
        one.cspace("init")
        one.cspace("up", "mercury")
        yield one
        one.cspace("down", "--discard", "mercury")


def inside(person: Person, *words: str, ok: int = 0) -> Answer:
    return person.cspace("exec", "mercury", "--", "cspace", *words, ok=ok)


def test_what_is_logged_on_one_side_is_read_and_updated_on_the_other(person: Person) -> None:
    slug = person.cspace(*FINDING, "--json").json["logged"]["slug"]
    assert slug in inside(person, "findings", "list").out
    inside(person, "findings", "append", "sums", "Seen.", "--status", "acknowledged")
    entry = person.cspace("findings", "show", slug, "--json").json["entry"]
    assert [(one["author"], one["note"]) for one in entry["updates"]][1:] == [("mercury", "Seen.")]
    logged = inside(
        person, "context", "log", "discovery", "Zones", "--finding", "f", "--impact", "i"
    )
    assert ".cspace/context/discoveries/" in logged.out
    assert person.cspace("context", "search", "zones", "--json").json["hits"]


def test_every_reading_command_answers_inside_as_it_does_outside(person: Person) -> None:
    for words in (("context", "show"), ("context", "list"), ("context", "doctor")):
        assert inside(person, *words).out == person.cspace(*words).out, words
    below = person.inside("mercury", "sh", "-c", "mkdir -p src; cd src; cspace context list --json")
    assert json.loads(below) == person.cspace("context", "list", "--json").json


def test_inside_people_s_files_are_not_edited_and_nothing_is_removed(person: Person) -> None:
    person.cspace("context", "log", "discovery", "Kept", "--finding", "f", "--impact", "i")
    (slug,) = (
        one["slug"]
        for one in person.cspace("context", "list", "--json").json["entries"]
        if one["title"] == "Kept"
    )
    refused = inside(person, "context", "rm", slug, "--yes", ok=2)
    assert "not inside an instance" in refused.err
    refused = inside(person, "context", "edit", "roadmap", ok=2)
    assert "hint: on the host: cspace context edit roadmap" in refused.err
    edit = f"EDITOR='sed -i s/^f$/better/' cspace context edit {slug}"
    assert "+better" in person.inside("mercury", "sh", "-c", edit)
    shown = person.cspace("context", "show", slug).out
    assert "\nbetter\n" in shown


def test_a_shell_inside_completes_names(person: Person) -> None:
    person.cspace(*FINDING)
    asked = (
        "_CSPACE_COMPLETE=complete_bash COMP_WORDS='cspace findings show 20' COMP_CWORD=3 cspace"
    )
    assert "-sums-are-off" in person.inside("mercury", "sh", "-c", asked)
