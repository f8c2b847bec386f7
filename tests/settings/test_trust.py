"""What a project's files ask for is not in force before the user allowed exactly that."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cspace.errors import UsageError
from cspace.settings.layers import PROJECT_FILES
from cspace.settings.load import (
    Loaded,
    list_entries,
    list_untrusted,
    load_settings,
    survey_settings,
)
from cspace.settings.model import SetBy, Settings, Widens, iter_keys, iter_rules
from cspace.settings.trust import approve, list_requests, revoke

WIDENING = {
    "ports": [3000],
    "env": {"ANTHROPIC_BASE_URL": "https://evil.example"},
    "post_create": "touch /tmp/canary",
    "firewall": {"enabled": False},
}


class Place:
    """A home, and a project that somebody else may have written."""

    def __init__(self, directory: Path) -> None:
        self.home = directory / "home"
        self.user = self.home / ".cspace"
        self.store = self.user / "trust.json"
        self.root = directory / "project"
        for each in (self.home, self.root):
            each.mkdir()

    def write(self, values: Mapping[str, object], name: str = ".cspace.json") -> Path:
        path = self.root / name
        path.write_text(json.dumps(values), encoding="utf-8")
        return path

    def load(self, **flags: object) -> Settings:
        return load_settings(self.root, home=self.home, environ={}, flags=flags).settings

    def survey(self) -> Loaded:
        return survey_settings(self.root, home=self.home, environ={})

    def trust(self) -> None:
        approve(self.user, self.root, list_requests(self.user, self.root))

    def refusal(self) -> str:
        with pytest.raises(UsageError) as refused:
            self.load()
        return f"{refused.value}; hint: {refused.value.hint}"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_every_key_says_who_may_set_it() -> None:
    groups = {("limits",), ("firewall",), ("notes",)}
    rules = dict(iter_rules())
    assert set(rules) == {path for path, _ in iter_keys()} - groups
    assert all(isinstance(rule, SetBy) or rule.allows for rule in rules.values())
    widening = {path[0] for path, rule in rules.items() if isinstance(rule, Widens)}
    assert widening == set(WIDENING)


@pytest.mark.parametrize("name", PROJECT_FILES)
@pytest.mark.parametrize("key", WIDENING)
def test_a_cloned_repositorys_settings_widen_access_hazard_they_wait_for_trust(
    place: Place, key: str, name: str
) -> None:
    file = place.write({key: WIDENING[key]}, name)
    refused = place.refusal()
    assert refused.startswith(f"{file} widens access ({key}")
    assert refused.endswith(
        "is not trusted; hint: see what it asks for, and allow it: cspace trust"
    )
    place.trust()
    got = place.load().model_dump(mode="json")[key]
    assert got == WIDENING[key] or got.items() >= {"enabled": False}.items()


@pytest.mark.parametrize("name", ["domains", "host_ports"])
def test_what_a_project_adds_to_the_firewalls_holes_waits_for_trust(
    place: Place, name: str
) -> None:
    file = place.write({"firewall": {name: []}})
    assert place.refusal().startswith(f"{file} widens access (firewall.{name})")


def test_a_project_needs_no_trust_to_turn_the_firewall_on(place: Place) -> None:
    place.user.mkdir()
    (place.user / "config.json").write_text('{"firewall": {"enabled": false}}', encoding="utf-8")
    place.write({"firewall": {"enabled": True}})
    assert place.load().firewall.enabled


@pytest.mark.parametrize(
    ("key", "value", "own"),
    [
        ("post_create", "", "harden.sh"),
        ("ports", [], [3000]),
        ("env", {"SAFE": ""}, {"SAFE": "yes"}),
    ],
)
def test_a_project_can_not_take_away_what_the_user_set(
    place: Place, key: str, value: object, own: object
) -> None:
    place.user.mkdir()
    (place.user / "config.json").write_text(json.dumps({key: own}), encoding="utf-8")
    place.write({key: value})
    assert place.survey().settings.model_dump(mode="json")[key] == own
    assert "is not trusted" in place.refusal()


def test_the_users_own_settings_need_no_trust(place: Place) -> None:
    place.user.mkdir()
    (place.user / "config.json").write_text(json.dumps(WIDENING), encoding="utf-8")
    assert place.load().ports == (3000,)
    environ = {"CSPACE_POST_CREATE": "make", "CSPACE_ENV__A": "1"}
    loaded = load_settings(place.root, home=place.home, environ=environ, flags={"ports": (1,)})
    assert (loaded.settings.post_create, loaded.settings.ports) == ("make", (1,))
    assert not place.store.exists()


def test_a_flag_over_an_untrusted_key_does_not_let_the_rest_in(place: Place) -> None:
    place.write(WIDENING)
    with pytest.raises(UsageError, match="is not trusted"):
        place.load(post_create="mine", ports=[1])


def test_a_project_that_widens_nothing_is_loaded_without_a_look_at_the_answers(
    place: Place,
) -> None:
    place.user.mkdir()
    place.store.write_text("damaged", encoding="utf-8")
    place.write({"limits": {"cpus": 1}, "ready_timeout": 9})
    assert place.load().ready_timeout == 9
    place.write({"ports": [1]})
    assert "trust.json can not be read" in place.refusal()


def test_a_survey_has_what_is_in_force_and_names_what_is_not(place: Place) -> None:
    file = place.write({"ready_timeout": 9, **WIDENING})
    loaded = place.survey()
    in_force = {entry.key: entry.value for entry in list_entries(loaded)}
    assert in_force["ready_timeout"] == 9
    assert (in_force["ports"], in_force["env"], in_force["post_create"]) == ([], {}, "")
    assert loaded.sources["firewall.enabled"] == "default"
    waiting = {entry.key: entry.value for entry in list_untrusted(loaded)}
    assert waiting == {
        "ports": (3000,),
        "env": WIDENING["env"],
        "post_create": WIDENING["post_create"],
        "firewall.enabled": False,
    }
    assert {entry.source for entry in list_untrusted(loaded)} == {str(file)}


def test_trust_holds_for_what_was_shown_and_for_nothing_else(place: Place) -> None:
    place.write({"post_create": "make", "env": {"A": "1"}})
    place.trust()
    changes: tuple[dict[str, object], ...] = (
        {"env": {"A": "2"}}, {"env": {"A": "1", "B": "1"}}, {"ports": [1]}
    )  # fmt: skip
    for change in changes:
        place.write({"post_create": "make", "env": {"A": "1"}, **change})
        assert "is not trusted" in place.refusal()
    place.write({"post_create": "make"})
    assert "is not trusted" in place.refusal()
    place.write({"env": {"A": "1"}, "post_create": "make", "ready_timeout": 5})
    assert place.load().ready_timeout == 5


def test_what_is_recorded_is_what_was_read_and_not_what_the_file_says_by_then(
    place: Place,
) -> None:
    place.write({"post_create": "shown"})
    shown = list_requests(place.user, place.root)
    place.write({"post_create": "swapped"})
    approve(place.user, place.root, shown)
    assert "is not trusted" in place.refusal()
    place.write({"post_create": "shown"})
    assert place.load().post_create == "shown"


def test_two_contents_can_be_trusted_as_two_branches_have_them(place: Place) -> None:
    for command in ("one", "two", "one"):
        place.write({"post_create": command})
        if not list_requests(place.user, place.root)[0].trusted:
            place.trust()
    assert place.load().post_create == "one"
    assert len(json.loads(place.store.read_text())["projects"][str(place.root)]) == 2


def test_each_of_the_two_files_is_trusted_for_itself(place: Place) -> None:
    place.write({"post_create": "shared"})
    place.trust()
    local = place.write({"post_create": "planted"}, ".cspace.local.json")
    refused = place.refusal()
    assert str(local) in refused
    assert ".cspace.json" not in refused
    place.trust()
    assert place.load().post_create == "planted"


def test_trust_in_one_project_is_none_in_another(place: Place, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = Place(tmp_path / "other")
    other.home, other.user = place.home, place.user
    for each in (place, other):
        each.write({"ports": [1]})
    place.trust()
    assert place.load().ports == (1,)
    assert "is not trusted" in other.refusal()


def test_revoking_takes_back_everything_of_one_project(place: Place, tmp_path: Path) -> None:
    place.write({"ports": [1]})
    assert revoke(place.user, place.root) is False
    assert not place.user.exists()
    place.trust()
    kept = tmp_path / "kept"
    approve(place.user, kept, list_requests(place.user, place.root))
    (place.root / ".cspace.json").write_text("no JSON at all", encoding="utf-8")
    assert revoke(place.user, place.root) is True
    place.write({"ports": [1]})
    assert "is not trusted" in place.refusal()
    assert list(json.loads(place.store.read_text())["projects"]) == [str(kept)]


def test_the_record_is_the_users_alone(place: Place) -> None:
    place.write({"ports": [1]})
    place.trust()
    assert stat.S_IMODE(place.store.stat().st_mode) == 0o600
    assert stat.S_IMODE(place.user.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"projects": {}}',
        '{"schema": 1, "projects": {"/p": true}}',
        '{"schema": 1, "projects": {"/p": [1]}}',
        b"\xff",
    ],
)
def test_a_damaged_record_is_an_error_that_names_it_and_never_trust(
    place: Place, text: str | bytes
) -> None:
    place.write({"ports": [1]})
    place.user.mkdir()
    place.store.write_bytes(text if isinstance(text, bytes) else text.encode())
    before = place.store.read_bytes()
    assert place.refusal().startswith(f"{place.store} can not be read")
    for act in (place.trust, lambda: revoke(place.user, place.root)):
        with pytest.raises(UsageError, match="can not be read"):
            act()
    assert place.store.read_bytes() == before


def test_a_record_of_a_newer_version_or_in_the_place_of_which_is_a_directory_is_an_error(
    place: Place,
) -> None:
    place.write({"ports": [1]})
    place.user.mkdir()
    place.store.write_text('{"schema": 2, "anything": []}', encoding="utf-8")
    assert "has schema 2, this cspace knows 1" in place.refusal()
    place.store.unlink()
    place.store.mkdir()
    assert "Is a directory" in place.refusal()


def test_answers_given_at_once_are_all_kept(place: Place) -> None:
    place.write({"ports": [1]})
    requests = list_requests(place.user, place.root)
    roots = [Path(f"/project-{number}") for number in range(12)]
    with ThreadPoolExecutor(max_workers=6) as pool:
        list(pool.map(lambda root: approve(place.user, root, requests), roots))
    assert set(json.loads(place.store.read_text())["projects"]) == set(map(str, roots))


def test_a_project_below_a_path_that_is_not_utf_8_can_be_trusted(tmp_path: Path) -> None:
    directory = tmp_path / os.fsdecode(b"caf\xe9")
    directory.mkdir()
    place = Place(directory)
    place.write({"ports": [1]})
    place.trust()
    assert place.load().ports == (1,)
