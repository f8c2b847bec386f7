"""The reference is what the generator makes of the code."""

from __future__ import annotations

import pytest

from docs import generate


@pytest.mark.parametrize("name", tuple(generate.PAGES))
def test_the_reference_is_up_to_date(name: str) -> None:
    stored = (generate.REFERENCE / name).read_text(encoding="utf-8")
    assert stored == generate.render(name), "run: make docs"


def test_the_reference_holds_nothing_that_is_not_generated() -> None:
    assert {path.name for path in generate.REFERENCE.iterdir()} == set(generate.PAGES)


def test_every_command_has_a_section_and_every_option_a_meaning() -> None:
    page = generate.render("commands.md")
    for command in ("init", "up", "down", "restore", "config schema"):
        assert f"\n## cspace {command}\n" in page
    assert "| `--dry-run` | Print the plan and do nothing. |  |" in page
    assert "| None |" not in page


def test_the_exit_codes_are_those_of_the_error_tree() -> None:
    page = generate.render("exit-codes.md")
    for code in (0, 1, 2, 3, 4, 5, 6, 7, 70, 130):
        assert page.count(f"\n| {code} | ") == 1


def test_a_tool_that_instances_lack_says_so() -> None:
    section = generate.render("tools.md").partition("## remove_entry")[2].partition("\n## ")[0]
    assert "Not offered inside instances and over HTTP." in section


def test_resources_and_prompts_are_described() -> None:
    page = generate.render("tools.md")
    for row in ("`context://direction`", "`context://finding/{slug}`", "`brief`", "`wrap-up`"):
        assert f"\n| {row} | " in page


def test_a_setting_that_is_not_a_projects_says_so() -> None:
    section = generate.render("settings.md").partition("## ca_bundle")[2].partition("\n## ")[0]
    assert "the user only" in section
