"""What a legacy volume's name tells."""

from __future__ import annotations

import pytest

from cspace.migration.legacy import find_home, is_memory_of, kind_of, memory_volumes


@pytest.mark.parametrize(
    ("directory", "names"),
    [
        ("shop", ["cspace-shop-memory"]),
        ("Shop", ["cspace-Shop-memory", "cspace-shop-memory"]),
        ("My Shop", ["cspace-My Shop-memory", "cspace-my shop-memory", "cspace-my-shop-memory"]),
    ],
)
def test_a_memory_is_named_after_the_projects_directory(directory: str, names: list[str]) -> None:
    assert list(memory_volumes(directory)) == names


@pytest.mark.parametrize("volume", ["cspace-shop-memory", "x_cspace-shop-memory"])
def test_a_memory_is_known_behind_composes_prefix(volume: str) -> None:
    assert is_memory_of(volume, "Shop")
    assert not is_memory_of(volume, "hop")
    assert not is_memory_of(volume, "cspace-shop")
    assert kind_of(volume) == "memory"


@pytest.mark.parametrize(
    ("volume", "instance"),
    [
        ("cspace-shop-mercury-claude-home", "mercury"),
        ("cspace-shop-mercury-2-claude-home", "mercury-2"),
        ("cspace-shop-issue12-claude-home", "issue12"),
        ("x_cspace-shop-mars_claude-home", "mars"),
        ("cspace-shop-api-mercury-claude-home", None),
        ("cspace-shop-UPPER-claude-home", None),
        ("cspace-shop-.._-claude-home", None),
    ],
)
def test_a_home_names_its_instance_where_that_is_certain(volume: str, instance: str | None) -> None:
    found = find_home(volume, "shop")
    assert found is not None
    assert (found.instance if found.certain else None) == instance
    assert kind_of(volume) == "claude-home"


@pytest.mark.parametrize(
    "volume", ["cspace-workshop-mercury-claude-home", "cspace-shop-claude-home", "data", ""]
)
def test_a_home_of_another_project_is_not_taken(volume: str) -> None:
    assert find_home(volume, "shop") is None


def test_a_project_name_is_no_pattern() -> None:
    assert find_home("cspace-aXb-mercury-claude-home", "a.b") is None
