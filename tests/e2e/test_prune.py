"""`cspace prune` as a person calls it. It removes nothing here: others use this engine too."""

from __future__ import annotations

import os

import pytest

from cspace.paths import user_directory
from tests.e2e.person import Person

pytestmark = [pytest.mark.docker, pytest.mark.e2e]


def test_without_a_terminal_it_shows_what_it_would_do_and_does_nothing(person: Person) -> None:
    directory = user_directory(person.home)
    debris = person.state("mercury").state / "workspace.partial"
    debris.mkdir(parents=True)
    before = sorted(directory.rglob("*"))
    answer = person.cspace("prune", ok=2)
    assert str(debris) in answer.out
    assert "hint: cspace prune --yes" in answer.err
    answer = person.cspace("prune", "--json", ok=2)
    assert answer.out == ""
    assert "hint: cspace prune --json --yes" in answer.err
    assert str(debris) in person.cspace("prune", "--dry-run").out
    assert sorted(directory.rglob("*")) == before


def test_it_needs_no_project_and_moves_no_cursor(person: Person) -> None:
    outside = person.at(person.home)
    name = "workspace\x1b[2J.partial"
    (person.state("mercury").state / name).mkdir(parents=True)
    assert name in os.listdir(person.state("mercury").state)
    said = outside.cspace("prune", "--dry-run").out
    assert "\x1b" not in said
    assert "workspace\\x1b[2J.partial" in said
