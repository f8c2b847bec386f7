"""What the pages say about themselves and about the code is true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cspace.egress.domains import DEFAULTS
from tests.conftest import CHECKOUT
from tests.docs.documents import PAGES, name_of

TROUBLES = CHECKOUT / "docs/guides/troubleshooting.md"
_LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
_LITERALS = re.compile(r'(?<=")\s*\n\s*f?"')


def _anchors(page: Path) -> set[str]:
    headings = _HEADING.findall(page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_inside_the_project_leads_somewhere(page: Path) -> None:
    links = _LINK.findall(page.read_text(encoding="utf-8"))
    inside = [(target, anchor) for target, anchor in links if "://" not in target]
    for target, anchor in inside:
        found = (page.parent / target).resolve() if target else page
        assert found.exists(), target
        assert not anchor or anchor in _anchors(found), f"{target}#{anchor}"


def test_every_page_is_reached_from_the_readme() -> None:
    pending, seen = [CHECKOUT / "README.md"], set[Path]()
    while pending:
        page = pending.pop()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        targets = (target for target, _ in _LINK.findall(page.read_text(encoding="utf-8")))
        pending += [(page.parent / one).resolve() for one in targets if one and "://" not in one]
    assert set(PAGES) <= seen


def test_the_guide_names_every_default_of_what_may_be_reached_and_no_other() -> None:
    page = (CHECKOUT / "docs/guides/egress.md").read_text(encoding="utf-8")
    table = page.partition("## What is allowed")[2].partition("\n\n`firewall.domains`")[0]
    rows = [row.split(" | ") for row in table.splitlines() if row.startswith("| ")][2:]
    named = {name for row in rows for name in row[0].strip("| ").split(", ") if "`" not in name}
    assert named == {name for group in DEFAULTS for name in group.patterns}


def test_every_error_of_the_troubleshooting_page_is_one_of_the_code() -> None:
    sources = "".join(
        path.read_text(encoding="utf-8")
        for path in (*(CHECKOUT / "cspace").rglob("*.py"), *(CHECKOUT / "lib").rglob("*.sh"))
    )
    errors = re.findall(r"^### `(.*)`$", TROUBLES.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(errors) > 10
    assert [error for error in errors if error not in sources] == []
