"""Starting the command line loads nothing that only some commands need."""

from __future__ import annotations

import os
import sys

import pytest

from cspace import proc
from tests.conftest import CHECKOUT

HEAVY = {
    *("cspace.settings", "docker", "httpx", "jinja2", "mcp", "pydantic", "pydantic_settings"),
    *("requests", "rich", "starlette", "urllib3", "uvicorn", "yaml"),
    *("apsw", "numpy", "sqlite_vec", "tokenizers"),
}


def loaded_by(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    env = os.environ | {"PYTHONPATH": str(CHECKOUT)}
    return set(proc.run(sys.executable, "-c", code, env=env).text.split())


def test_the_command_line_starts_without_heavy_packages() -> None:
    assert loaded_by("import cspace.cli.app") & HEAVY == set()


def test_a_teardown_does_not_load_the_settings() -> None:
    assert loaded_by("import cspace.lifecycle.down") & HEAVY == set()


def test_completing_a_records_name_loads_no_yaml() -> None:
    assert loaded_by("import cspace.context.naming, cspace.context.place") & HEAVY == set()


@pytest.mark.parametrize(
    "group",
    ["archive", "config", "context", "findings", "memory", "notes", "quarantine", "sessions"],
)
def test_a_group_of_commands_starts_without_heavy_packages(group: str) -> None:
    assert loaded_by(f"import cspace.cli.{group}") & HEAVY == set()


@pytest.mark.parametrize("module", ["errors", "events"])
def test_the_lowest_layer_imports_nothing_from_cspace(module: str) -> None:
    loaded = {name for name in loaded_by(f"import cspace.{module}") if name.startswith("cspace")}
    assert loaded == {"cspace", f"cspace.{module}"}


def test_the_settings_load_pydantic_and_no_other_heavy_package() -> None:
    assert loaded_by("import cspace.settings.load") & HEAVY == {"cspace.settings", "pydantic"}


def test_the_merge_driver_loads_no_heavy_package() -> None:
    assert loaded_by("import cspace.cli.app, cspace.context.merge_driver") & HEAVY == set()
