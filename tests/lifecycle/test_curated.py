"""What an instance is given of curated memory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cspace.deps import Deps
from cspace.errors import CspaceError
from cspace.events import ignore
from cspace.lifecycle.curated import concerned_scopes, ensure_curated, forget_outbox
from cspace.lifecycle.host import Host
from cspace.memory.personas import Personas
from cspace.memory.projects import Projects
from cspace.paths import curated_memory


@pytest.fixture
def host(repo: Path, home: Path) -> Host:
    return Deps(repo, dict(os.environ), ignore).host(teardown=True)


@pytest.fixture
def memory(home: Path) -> Path:
    return curated_memory(home / ".cspace")


def test_to_ask_which_scopes_concern_an_instance_makes_nothing(host: Host, memory: Path) -> None:
    assert concerned_scopes(host) == ("global", "user", "projects/sample")
    assert not memory.exists()


def test_the_projects_name_is_claimed_and_its_scopes_and_the_outbox_are_there(
    host: Host, memory: Path
) -> None:
    Personas(memory).use("ada")
    ensure_curated(host, "mercury")
    ensure_curated(host, "mercury")
    scopes = ("global", "user", "projects/sample", "personas/ada")
    assert concerned_scopes(host) == scopes
    assert [name for name in (*scopes, ".rejected") if not (memory / name).is_dir()] == []
    assert [known.name for known in Projects(memory).list()] == ["sample"]
    outbox = host.paths("mercury").outbox
    assert outbox == host.user / "outbox" / host.project.id / "mercury"
    assert outbox.is_dir()
    forget_outbox(host.paths("mercury"))
    assert not outbox.parent.exists()


def test_an_outbox_that_holds_something_is_not_forgotten(host: Host) -> None:
    ensure_curated(host, "mercury")
    (host.paths("mercury").outbox / "one.yaml").touch()
    forget_outbox(host.paths("mercury"))
    assert (host.paths("mercury").outbox / "one.yaml").exists()


@pytest.mark.parametrize("name", ["user", "projects", "projects/sample", ".rejected"])
def test_a_linked_scope_hazard_nothing_is_mounted_through_it(
    host: Host, memory: Path, tmp_path: Path, name: str
) -> None:
    ensure_curated(host, "venus")
    (memory / name).rename(tmp_path / "before")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (memory / name).symlink_to(elsewhere)
    with pytest.raises(CspaceError, match="not a directory of its own"):
        ensure_curated(host, "mercury")
    assert list(elsewhere.iterdir()) == []


def test_a_linked_outbox_hazard_nothing_is_mounted_through_it(host: Host, tmp_path: Path) -> None:
    outbox = host.paths("mercury").outbox
    outbox.parent.mkdir(parents=True)
    outbox.symlink_to(tmp_path)
    with pytest.raises(CspaceError, match="not a directory of its own"):
        ensure_curated(host, "mercury")
