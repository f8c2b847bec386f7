from __future__ import annotations

import json
from pathlib import Path

import pytest

from cspace.errors import CspaceError, UsageError
from cspace.files import Owner
from cspace.lifecycle.init import init_project

OWNER = Owner(1000, 1000)


def tree(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(root).parts
    }


def test_a_fresh_project_gets_everything_and_a_second_run_changes_nothing(repo: Path) -> None:
    assert init_project(repo, OWNER).changed == (
        ".mcp.json",
        ".cspace.json",
        ".gitignore",
        ".cspace/memory",
        ".cspace/context",
    )
    before = tree(repo)
    assert {".cspace/memory/MEMORY.md", ".cspace/context/direction.md"} <= before.keys()
    assert before[".cspace/memory/MEMORY.md"] == b""
    assert init_project(repo, OWNER).changed == ()
    assert tree(repo) == before


def test_the_server_is_registered_as_the_formats_say(repo: Path) -> None:
    init_project(repo, OWNER)
    assert json.loads((repo / ".mcp.json").read_text()) == {
        "mcpServers": {"cspace-context": {"command": "cspace", "args": ["context-server"]}}
    }


def test_other_servers_and_unknown_keys_survive(repo: Path) -> None:
    other = {"mcpServers": {"größe": {"command": "x"}}, "extra": [1]}
    (repo / ".mcp.json").write_text(json.dumps(other), encoding="utf-8")
    init_project(repo, OWNER)
    found = json.loads((repo / ".mcp.json").read_text(encoding="utf-8"))
    assert found["extra"] == [1]
    assert list(found["mcpServers"]) == ["größe", "cspace-context"]


def test_a_registration_that_a_person_changed_is_left_as_it_is(repo: Path) -> None:
    text = '{"mcpServers":{"cspace-context":{"command":"/opt/cspace"}}}'
    (repo / ".mcp.json").write_text(text, encoding="utf-8")
    init_project(repo, OWNER)
    assert (repo / ".mcp.json").read_text() == text


@pytest.mark.parametrize("text", ["{", "[]", '{"mcpServers": []}', '"x"', "[" * 100_000])
def test_an_mcp_file_of_another_shape_is_named_and_nothing_is_changed(
    repo: Path, text: str
) -> None:
    (repo / ".mcp.json").write_text(text, encoding="utf-8")
    before = tree(repo)
    with pytest.raises(UsageError, match=r"\.mcp\.json"):
        init_project(repo, OWNER)
    assert tree(repo) == before


def test_a_file_that_is_there_keeps_its_owner_and_mode(repo: Path) -> None:
    for name in (".gitignore", ".mcp.json"):
        (repo / name).write_text("{}" if name == ".mcp.json" else "build\n", encoding="utf-8")
        (repo / name).chmod(0o600)
    before = {name: (repo / name).stat() for name in (".gitignore", ".mcp.json")}
    assert set(init_project(repo, Owner(70000, 70000)).changed) >= before.keys()
    for name, found in before.items():
        after = (repo / name).stat()
        assert (after.st_uid, after.st_gid, after.st_mode) == (
            found.st_uid,
            found.st_gid,
            found.st_mode,
        )


def test_lines_are_added_to_a_gitignore_without_a_final_newline(repo: Path) -> None:
    (repo / ".gitignore").write_text("build", encoding="utf-8")
    init_project(repo, OWNER)
    assert (repo / ".gitignore").read_text() == "build\n.cspace.local.json\n"


@pytest.mark.parametrize("planted", [".cspace", ".cspace/memory", ".cspace/context"])
def test_a_link_in_the_way_is_named_and_not_followed(
    repo: Path, tmp_path: Path, planted: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (repo / planted).parent.mkdir(exist_ok=True)
    (repo / planted).symlink_to(outside)
    with pytest.raises(CspaceError, match=r"\.cspace"):
        init_project(repo, OWNER)
    assert not list(outside.iterdir())


@pytest.mark.parametrize("name", [".mcp.json", ".gitignore"])
def test_a_file_that_is_not_text_is_named(repo: Path, name: str) -> None:
    (repo / name).write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match=name):
        init_project(repo, OWNER)
    assert (repo / name).read_bytes() == b"\xff\xfe"


def test_half_a_character_in_an_mcp_file_is_refused(repo: Path) -> None:
    text = '{"x": "\\ud800"}'
    (repo / ".mcp.json").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=r"\.mcp\.json"):
        init_project(repo, OWNER)
    assert (repo / ".mcp.json").read_text() == text


@pytest.mark.parametrize("name", [".mcp.json", ".gitignore"])
def test_a_link_does_not_bring_a_users_file_into_the_repository(
    repo: Path, tmp_path: Path, name: str
) -> None:
    private = tmp_path / "config.json"
    private.write_text('{"auths": "private"}', encoding="utf-8")
    (repo / name).symlink_to(private)
    assert "private" in (repo / name).read_text(encoding="utf-8")
    with pytest.raises(UsageError, match="it is a link"):
        init_project(repo, OWNER)
    assert (repo / name).readlink() == private
    assert "auths" not in "".join(map(str, tree(repo / ".cspace").values()))
