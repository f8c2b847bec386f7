"""Settings: who wins, what merges, where each value comes from."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from cspace.errors import UsageError
from cspace.settings.load import (
    Entry,
    Loaded,
    list_entries,
    load_settings,
    settings_schema,
    survey_settings,
)
from cspace.settings.model import Limits, Numbers, Settings, iter_keys
from cspace.settings.trust import approve, list_requests


def write_json(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


SUGGESTED = Numbers(cpus=3, memory="6g", pids=4096)


class Place:
    """A home and a project that hold settings."""

    def __init__(self, directory: Path) -> None:
        self.home = directory / "home"
        self.root = directory / "project"
        self.root.mkdir()

    def user(self, **values: object) -> Path:
        return write_json(self.home / ".cspace/config.json", values)

    def project(self, **values: object) -> Path:
        return write_json(self.root / ".cspace.json", values)

    def local(self, **values: object) -> Path:
        return write_json(self.root / ".cspace.local.json", values)

    def trust(self) -> None:
        user = self.home / ".cspace"
        approve(user, self.root, list_requests(user, self.root))

    def load(
        self, environ: Mapping[str, str] | None = None, flags: Mapping[str, object] | None = None
    ) -> Loaded:
        return load_settings(
            self.root,
            home=self.home,
            environ=environ or {},
            flags=flags,
            automatic=lambda: SUGGESTED,
        )


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_without_any_source_everything_is_a_default_and_nothing_is_created(place: Place) -> None:
    loaded = place.load()
    assert loaded.settings.model_copy(update={"ca_bundle": None}) == Settings()
    assert set(loaded.sources.values()) <= {"default", "system"}
    assert not place.home.exists()
    assert list(place.root.iterdir()) == []


def test_outside_of_a_project_the_users_own_settings_are_in_force(place: Place) -> None:
    place.user(ready_timeout=7)
    assert load_settings(None, home=place.home, environ={}).settings.ready_timeout == 7


def test_each_source_wins_over_those_before_it(place: Place) -> None:
    sources: list[str] = ["default"]
    seen = [place.load().sources["ready_timeout"]]
    for number, write in enumerate((place.user, place.project, place.local), start=1):
        sources.append(str(write(ready_timeout=number)))
        seen.append(place.load().sources["ready_timeout"])
    environ = {"CSPACE_READY_TIMEOUT": "4"}
    by_variable = place.load(environ)
    by_flag = place.load(environ, {"ready_timeout": 5})
    assert seen == sources
    assert by_variable.settings.ready_timeout == 4
    assert by_variable.sources["ready_timeout"] == "CSPACE_READY_TIMEOUT"
    assert by_flag.settings.ready_timeout == 5
    assert by_flag.sources["ready_timeout"] == "--set ready_timeout"


@given(
    st.dictionaries(
        st.sampled_from(["user", "project", "local", "variable", "flag"]), st.integers(1, 10**6)
    )
)
def test_the_last_source_that_sets_a_key_decides(
    tmp_path_factory: pytest.TempPathFactory, given_by: dict[str, int]
) -> None:
    place = Place(tmp_path_factory.mktemp("place"))
    for name in ("user", "project", "local"):
        if name in given_by:
            getattr(place, name)(ready_timeout=given_by[name])
    environ = {"CSPACE_READY_TIMEOUT": str(given_by["variable"])} if "variable" in given_by else {}
    order = [
        given_by[name]
        for name in ("user", "project", "local", "variable", "flag")
        if name in given_by
    ]
    flags = {"ready_timeout": given_by["flag"]} if "flag" in given_by else {}
    loaded = place.load(environ, flags)
    assert loaded.settings.ready_timeout == [300, *order][-1]


def test_objects_merge_and_every_member_keeps_its_own_source(place: Place) -> None:
    user = place.user(limits={"cpus": 4, "memory": "8g"}, env={"A": "user", "B": "user"})
    project = place.project(limits={"cpus": 2}, env={"B": "project"})
    place.trust()
    loaded = place.load()
    assert loaded.settings.limits == Limits(cpus=2, memory="8g", pids="auto")
    assert loaded.settings.env == {"A": "user", "B": "project"}
    assert loaded.sources["limits.cpus"] == loaded.sources["env.B"] == str(project)
    assert loaded.sources["limits.memory"] == loaded.sources["env.A"] == str(user)
    assert loaded.sources["limits.pids"] == "default"


def test_lists_replace_each_other_whole(place: Place) -> None:
    place.user(ports=[3000, 3001])
    place.project(ports=[8080])
    place.trust()
    assert place.load().settings.ports == (8080,)


def test_a_flag_takes_a_limit_away_with_null(place: Place) -> None:
    place.user(limits={"memory": "4g"})
    assert place.load(flags={"limits.memory": None}).settings.limits.memory is None
    assert place.load(flags={"limits.memory": "null"}).settings.limits.memory is None


def test_a_flags_text_is_read_like_a_variables(place: Place) -> None:
    flags = {"env.A": "1", "ports": "[80]", "post_create": "1"}
    settings = place.load(flags=flags).settings
    assert (settings.env, settings.ports, settings.post_create) == ({"A": "1"}, (80,), "1")


def test_flags_set_nested_keys_lists_and_paths(place: Place) -> None:
    flags = {"limits.cpus": 1.5, "ports": (80,), "ca_bundle": Path("/ca.pem")}
    loaded = place.load(flags=flags)
    assert loaded.settings.limits.cpus == 1.5
    assert loaded.settings.ports == (80,)
    assert loaded.settings.ca_bundle == Path("/ca.pem")
    assert loaded.sources["limits.cpus"] == "--set limits.cpus"


def test_settings_can_not_be_changed(place: Place) -> None:
    settings = place.load().settings
    with pytest.raises(ValidationError, match="frozen"):
        settings.ready_timeout = 1
    with pytest.raises(ValidationError, match="frozen"):
        settings.limits.pids = 1


def test_the_ca_bundle_comes_from_the_machine_unless_somebody_sets_it(
    place: Place, tmp_path: Path
) -> None:
    bundle = tmp_path / "ca.pem"
    environ = {"SSL_CERT_FILE": str(bundle)}
    assert place.load(environ).settings.ca_bundle is None
    bundle.write_bytes(b"")
    found = place.load(environ)
    assert (found.settings.ca_bundle, found.sources["ca_bundle"]) == (bundle, "SSL_CERT_FILE")
    place.user(ca_bundle=None)
    assert place.load(environ).settings.ca_bundle is None


@pytest.mark.parametrize("name", ["project", "local"])
@pytest.mark.parametrize("values", [{"ca_bundle": "/etc/shadow"}, {"base_image": "evil"}])
def test_a_cloned_repositorys_settings_widen_access_hazard_never_to_the_hosts_files(
    place: Place, name: str, values: dict[str, str]
) -> None:
    file = getattr(place, name)(**values)
    key = next(iter(values))
    with pytest.raises(UsageError) as refused:
        place.load(flags={key: "/mine"} if key == "ca_bundle" else {})
    assert str(refused.value) == f"{file}: {key} is the user's to set, not a project's"
    assert refused.value.hint == f"put it into {place.home}/.cspace/config.json"


def test_what_only_the_user_sets_is_taken_from_file_environment_and_flag(place: Place) -> None:
    place.user(base_image="debian:trixie")
    assert place.load().settings.base_image == "debian:trixie"
    assert place.load({"CSPACE_BASE_IMAGE": "a:1"}).settings.base_image == "a:1"
    assert place.load(flags={"base_image": "b:1"}).settings.base_image == "b:1"


@pytest.mark.parametrize(
    ("user", "project", "key"),
    [
        ({"memory": "4g"}, {"memory": "4097m"}, "limits.memory"),
        ({"memory": "4g"}, {"memory": None}, "limits.memory"),
        ({"cpus": 2}, {"cpus": 2.5}, "limits.cpus"),
        ({}, {"pids": 4097}, "limits.pids"),
        ({}, {"pids": None}, "limits.pids"),
        ({}, {"memory": "7g"}, "limits.memory"),
        ({"cpus": 2}, {"cpus": "auto"}, "limits.cpus"),
    ],
)
def test_projects_only_tighten_what_the_user_gives(
    place: Place, user: dict[str, Any], project: dict[str, Any], key: str
) -> None:
    place.user(limits=user)
    file = place.project(limits=project)
    with pytest.raises(UsageError, match="above the") as refused:
        place.load()
    assert str(refused.value).startswith(f"{file}: {key} is ")
    assert str(place.home / ".cspace/config.json") in (refused.value.hint or "")


def test_a_project_may_ask_for_less_and_the_user_may_overrule_it(place: Place) -> None:
    place.user(limits={"memory": "4g"})
    place.project(limits={"memory": "4096m", "pids": 10})
    assert place.load().settings.limits == Limits(memory="4096m", pids=10)
    place.project(limits={"memory": "64g"})
    wide = place.load({"CSPACE_LIMITS__MEMORY": "128g"})
    assert wide.settings.limits.memory == "128g"


@pytest.mark.parametrize(
    ("user", "project"),
    [
        ({}, {"cpus": 3, "memory": "6144m", "pids": "auto"}),
        ({"cpus": 4, "memory": None}, {"cpus": "auto", "memory": "auto"}),
    ],
)
def test_a_limit_that_is_auto_is_compared_by_what_it_stands_for(
    place: Place, user: dict[str, Any], project: dict[str, Any]
) -> None:
    place.user(limits=user)
    place.project(limits=project)
    assert place.load().settings.limits == Limits(**project)


def test_settings_are_shown_without_asking_the_machine_what_auto_stands_for(place: Place) -> None:
    place.project(limits={"memory": "7g"})
    surveyed = survey_settings(place.root, home=place.home, environ={})
    limits = {entry.key: entry.value for entry in list_entries(surveyed)}
    assert (limits["limits.memory"], limits["limits.cpus"]) == ("7g", "auto")


def test_entries_are_sorted_and_hold_what_json_can_hold(place: Place) -> None:
    place.user(ca_bundle="/ca.pem", ports=[80])
    entries = list_entries(place.load({"CSPACE_ENV__A": "1"}))
    assert [entry.key for entry in entries] == sorted(entry.key for entry in entries)
    assert Entry("env.A", "1", "CSPACE_ENV__A") in entries
    assert json.loads(json.dumps([entry.value for entry in entries])) == [
        entry.value for entry in entries
    ]


def test_every_key_is_listed_also_when_its_object_is_empty(place: Place) -> None:
    groups = {"limits", "firewall", "notes"}
    keys = {".".join(path) for path, _ in iter_keys()} - groups
    loaded = place.load()
    assert {entry.key for entry in list_entries(loaded)} == keys == set(loaded.sources)


def test_the_schema_describes_every_key_and_refuses_others() -> None:
    schema = settings_schema()
    groups = [schema, *schema["$defs"].values()]
    members = list(itertools.chain(*(group["properties"].items() for group in groups)))
    assert {name for name, _ in members} == {path[-1] for path, _ in iter_keys()}
    assert all("description" in member or "$ref" in member for _, member in members)
    assert all(group["additionalProperties"] is False for group in groups)
