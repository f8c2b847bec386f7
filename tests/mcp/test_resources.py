"""The context as resources."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, TextResourceContents

from cspace.context.skeleton import ensure_skeleton
from tests.mcp.conftest import Ask, Call

FINDING = {"title": "Sign-up fails", "category": "bug", "summary": "It does."}


def read(ask: Ask, uri: str) -> Any:
    answer = ask(lambda client: client.read_resource(uri))
    if not hasattr(answer, "contents"):
        return answer
    (content,) = answer.contents
    assert isinstance(content, TextResourceContents)
    assert content.mime_type == "text/markdown"
    return content.text


def listed(ask: Ask) -> list[str]:
    return [one.uri for one in ask(lambda client: client.list_resources()).resources]


def test_what_people_wrote_and_every_record_has_an_address(
    ask: Ask, call: Call, root: Path
) -> None:
    slug = (call("log_finding", **FINDING).structured_content or {})["slug"]
    (root / ".cspace/context/direction.md").write_text("north\r\n", encoding="utf-8", newline="")
    assert read(ask, "context://direction") == "north\r\n"
    text = (root / f".cspace/context/findings/{slug}.md").read_text(encoding="utf-8")
    assert read(ask, f"context://finding/{slug}") == text


def test_a_record_is_listed_when_it_is_there_and_no_longer_when_it_is_gone(
    ask: Ask, call: Call, root: Path
) -> None:
    assert listed(ask) == []
    slug = (call("log_finding", **FINDING).structured_content or {})["slug"]
    human = [f"context://{name}" for name in ("direction", "principles", "roadmap")]
    assert listed(ask) == [*human, f"context://finding/{slug}"]
    (root / f".cspace/context/findings/{slug}.md").unlink()
    assert listed(ask) == human


def test_the_list_is_bounded_and_names_only_what_can_be_read(ask: Ask, root: Path) -> None:
    ensure_skeleton(root)
    folder = root / ".cspace/context/decisions"
    for number in range(30):
        (folder / f"2026-01-{number + 1:02}-x.md").write_text("# \x1b[31mred\n", encoding="utf-8")
    (folder / "2026-12-01-Not A Slug.md").write_text("# x\n", encoding="utf-8")
    uris = listed(ask)
    assert len(uris) in {22, 23}
    assert [uri for uri in uris if isinstance(read(ask, uri), str)] == uris
    titles = [one.title for one in ask(lambda client: client.list_resources()).resources]
    assert not [title for title in titles if "\x1b" in title]


def test_every_kind_has_a_template(ask: Ask) -> None:
    templates = ask(lambda client: client.list_resource_templates()).resource_templates
    assert [one.uri_template for one in templates] == [
        f"context://{kind}/{{slug}}" for kind in ("decision", "discovery", "finding")
    ]


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("context://direction", "direction.md is not written yet"),
        ("context://finding/gone", "findings/gone.md does not exist"),
        ("context://finding/Not%20A%20Slug", "a-z, 0-9 and -"),
        ("context://finding/..", "Unknown resource"),
        ("context://finding/%2e%2e%2fdirection", "Unknown resource"),
        ("context://finding/a%00b", "Unknown resource"),
        ("context://finding/a/b", "Unknown resource"),
        ("context://secrets", "Unknown resource"),
        ("file:///etc/passwd", "Unknown resource"),
    ],
)
def test_what_is_not_there_is_an_error_with_a_code(ask: Ask, uri: str, said: str) -> None:
    error = read(ask, uri)
    assert (error.code, error.data) == (INVALID_PARAMS, {"uri": uri})
    assert said in error.message


def test_a_link_in_place_of_a_file_is_not_followed(ask: Ask, root: Path, tmp_path: Path) -> None:
    ensure_skeleton(root)
    (tmp_path / "outside.md").write_text("outside", encoding="utf-8")
    for name in ("direction.md", "findings/x.md"):
        path = root / ".cspace/context" / name
        path.unlink(missing_ok=True)
        path.symlink_to(tmp_path / "outside.md")
    for uri in ("context://direction", "context://finding/x"):
        error = read(ask, uri)
        assert error.code in {INVALID_PARAMS, INTERNAL_ERROR}
        assert "outside" not in error.message
    assert listed(ask) == ["context://principles", "context://roadmap"]


def test_a_missing_root_is_an_error(ask: Ask, root: Path) -> None:
    root.rmdir()
    for error in (ask(lambda client: client.list_resources()), read(ask, "context://direction")):
        assert error.code == INVALID_PARAMS
        assert "root . is not a directory" in error.message
    assert not root.exists()
