"""Two clones of one repository never touch each other."""

from __future__ import annotations

import pytest

from tests.e2e.person import Person

pytestmark = [pytest.mark.docker, pytest.mark.e2e]


def test_two_clones_share_a_compose_project_hazard_each_has_its_own_mercury(person: Person) -> None:
    other = person.at(person.repo.parent / "elsewhere" / person.repo.name)
    person.git("clone", "--quiet", person.repo, other.repo)
    assert other.id != person.id
    person.cspace("up", "mercury")
    other.cspace("up", "mercury")
    other.inside("mercury", "touch", "only-here")
    assert not (person.workspace("mercury") / "only-here").exists()
    for one in (person, other):
        (row,) = one.cspace("list", "--json").json["instances"]
        assert (row["name"], row["status"]) == ("mercury", "running")
        assert row["workspace"] == str(one.workspace("mercury"))
    other.cspace("down", "mercury")
    assert other.cspace("list", "--json").json["instances"] == []
    assert person.inside("mercury", "git", "status", "--porcelain") == ""
