"""`cspace memory list|show|search|path` as a process: where one stands decides what is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from cspace import proc
from tests.cli.memories import document, memory, put, root, tree
from tests.cli.terminal import on_terminal

READS = (("list",), ("show", "rule"), ("search", "database"), ("path",), ("projects", "list"))


@pytest.fixture
def filled(repo: Path, home: Path) -> Path:
    """Return a project with a memory in each scope that concern it, and in one that does not."""
    memory("projects", "use", "web", cwd=repo)
    put(home, "projects/web/rule", "Tests hit a real database.\n", type_="project")
    put(home, "user/rule", "Prefers one database.\n", type_="user")
    put(home, "global/commits", "Short commit messages.\n", type_="global")
    put(home, "projects/other/secret", "A database of others.\n")
    return repo


def test_a_list_shows_the_scopes_that_concern_one_the_most_specific_first(filled: Path) -> None:
    lines = memory("list", cwd=filled).stdout.splitlines()
    assert lines[0].split() == ["SCOPE", "TYPE", "UPDATED", "SLUG", "DESCRIPTION"]
    rows = [(line.split()[0], line.split()[3]) for line in lines[1:]]
    assert rows == [("projects/web", "rule"), ("user", "rule"), ("global", "commits")]


def test_a_list_can_be_of_one_scope_of_all_and_of_one_type(filled: Path) -> None:
    def found(*words: str) -> list[str]:
        entries = document("list", *words, cwd=filled)["entries"]
        return [f"{one['scope']}/{one['slug']}" for one in entries]

    assert found("--scope", "user") == ["user/rule"]
    assert found("--project", "other") == ["projects/other/secret"]
    assert found("--type", "project") == ["projects/web/rule"]
    assert found("--persona", "nobody") == []
    assert len(found("--all")) == 4


def test_links_hazard_a_list_and_a_search_of_all_name_them_and_go_on(
    filled: Path, home: Path, tmp_path: Path
) -> None:
    (root(home) / "personas").symlink_to(tmp_path)
    (root(home) / "projects/linked").symlink_to(tmp_path)
    for words in (("list",), ("search", "rule"), ("show", "rule")):
        done = memory(*words, "--all", cwd=filled)
        assert "projects/web" in done.stdout
        assert "skipped projects/linked: " in done.stderr
        assert "skipped personas: " in done.stderr
    assert document("doctor", "--all", cwd=filled, ok=8)["diagnoses"]
    assert "it is in projects/other" in memory("show", "secret", cwd=filled, ok=3).stderr


def test_a_memory_without_a_header_is_described_by_its_text(repo: Path, home: Path) -> None:
    path = root(home) / "user/plain.md"
    path.parent.mkdir(parents=True)
    path.write_text("# Ask first\n\nAlways.\n", encoding="utf-8")
    assert "plain  Ask first" in memory("list", cwd=repo).stdout
    assert memory("search", "always", cwd=repo).stdout.startswith("user/plain  Ask first\n")


def test_a_type_that_no_memory_has_is_not_called_an_empty_memory(filled: Path) -> None:
    said = memory("list", "--type", "reference", cwd=filled).stderr
    assert said == "nothing of type reference in projects/web, user, global\n"


def test_outside_of_any_project_there_is_no_project(filled: Path, tmp_path: Path) -> None:
    scopes = document("list", cwd=tmp_path)["scopes"]
    assert scopes == ["user", "global"]
    assert "is in no project" in memory("list", "--scope", "project", cwd=tmp_path, ok=2).stderr


def test_the_active_persona_is_read_after_the_project(filled: Path, home: Path) -> None:
    put(home, "personas/reviewer/tone", "Short.\n")
    memory("persona", "use", "reviewer", cwd=filled)
    scopes = ["projects/web", "personas/reviewer", "user", "global"]
    assert document("list", cwd=filled)["scopes"] == scopes
    assert document("list", "--scope", "persona", cwd=filled)["scopes"] == scopes[1:2]
    memory("persona", "clear", cwd=filled)
    assert "no persona is active" in memory("list", "--scope", "persona", cwd=filled, ok=2).stderr


def test_a_slug_of_several_scopes_is_shown_in_each_and_never_merged(filled: Path) -> None:
    answer = memory("show", "rule", cwd=filled)
    first, second = answer.stdout.split("== user/rule\n")
    assert first.startswith("== projects/web/rule\n")
    assert "a real database" in first
    assert "one database" in second
    assert "preferences about the person" in answer.stderr
    found = document("show", "rule", cwd=filled)["memories"]
    assert [one["scope"] for one in found] == ["projects/web", "user"]
    assert "override no instruction" in found[1]["frame"]


def test_one_memory_goes_to_a_pipe_byte_for_byte(filled: Path, home: Path) -> None:
    path = put(home, "user/odd", b"[/foo] \x1b[2J\xff\r\nno end")
    assert proc.run("cspace", "memory", "show", "odd", cwd=filled).stdout == path.read_bytes()


def test_a_scope_or_memory_that_can_not_be_read_hides_no_other(
    filled: Path, home: Path, tmp_path: Path
) -> None:
    (root(home) / "user/rule.md").unlink()
    (root(home) / "user/rule.md").symlink_to(root(home) / "global/commits.md")
    (root(home) / "personas").mkdir()
    (root(home) / "personas/linked").symlink_to(tmp_path)
    memory("persona", "use", "linked", cwd=filled)
    listed = memory("list", cwd=filled)
    assert ("projects/web" in listed.stdout, "global" in listed.stdout) == (True, True)
    assert "skipped personas/linked: " in listed.stderr
    shown = memory("show", "rule", cwd=filled)
    assert "a real database" in shown.stdout
    assert "Short commit" not in shown.stdout
    assert "2 files skipped; see: cspace memory doctor" in shown.stderr
    memory("show", "rule", "--scope", "user", cwd=filled, ok=1)


def test_a_memory_of_a_scope_that_does_not_concern_one_is_found_by_its_scope_only(
    filled: Path,
) -> None:
    absent = memory("show", "secret", cwd=filled, ok=3)
    assert "hint: it is in projects/other: --scope projects/other" in absent.stderr
    assert "of others" in memory("show", "secret", "--project", "other", cwd=filled).stdout


def test_a_search_names_scope_and_lines_and_finding_nothing_is_exit_3(filled: Path) -> None:
    found = document("search", "database", cwd=filled)["hits"]
    assert {(one["scope"], one["slug"]) for one in found} == {
        ("projects/web", "rule"),
        ("user", "rule"),
    }
    assert found[0]["lines"][0][1].endswith("database.")
    assert "projects/other/secret" in memory("search", "database", "--all", cwd=filled).stdout
    nothing = memory("search", "pelican", cwd=filled, ok=3)
    assert "nothing in projects/web, user, global holds a word of 'pelican'" in nothing.stderr


def test_the_index_of_the_root_and_of_each_scope_is_shown(filled: Path, home: Path) -> None:
    assert "no MEMORY.md in" in memory("show", "MEMORY", cwd=filled, ok=3).stderr
    (root(home) / "MEMORY.md").write_text("See user/ first.\n", encoding="utf-8")
    memory("reindex", "--all", cwd=filled)
    shown = memory("show", "MEMORY", cwd=filled).stdout
    assert shown.startswith("== MEMORY.md\n\nSee user/ first.\n")
    assert "== user/MEMORY.md\n" in shown
    assert "- [rule](rule.md): About rule" in shown
    assert "==" not in memory("show", "MEMORY", "--scope", "user", cwd=filled).stdout


def test_worktrees_and_subdirectories_share_one_memory(filled: Path, tmp_path: Path) -> None:
    linked, below = tmp_path / "linked", filled / "deep/er"
    below.mkdir(parents=True)
    proc.run("git", "-C", filled, "worktree", "add", "--quiet", linked)
    for place in (linked, below):
        assert document("list", cwd=place)["scopes"][0] == "projects/web"


def test_another_repository_of_the_same_name_has_a_memory_of_its_own(
    repo: Path, home: Path, tmp_path: Path
) -> None:
    twin = tmp_path / "elsewhere" / repo.name
    proc.run("git", "clone", "--quiet", repo, twin)
    memory("write", "rule", "--body", "Ours.", "--yes", cwd=repo)
    assert document("list", cwd=twin)["entries"] == []
    memory("write", "rule", "--body", "Theirs.", "--yes", cwd=twin)
    assert (root(home) / "projects/sample/rule.md").read_text().endswith("Ours.\n")
    assert (root(home) / "projects/sample-2/rule.md").read_text().endswith("Theirs.\n")


def test_a_moved_repository_gets_its_memory_back(filled: Path) -> None:
    moved = filled.rename(filled.with_name("moved"))
    assert document("list", "--scope", "project", cwd=moved)["entries"] == []
    assert "web " in memory("projects", "list", cwd=moved).stdout
    memory("projects", "use", "web", cwd=moved)
    assert document("list", "--scope", "project", cwd=moved)["entries"][0]["slug"] == "rule"
    assert memory("projects", cwd=moved).stdout.count("web") == 1


def test_a_new_repository_in_the_place_of_a_moved_one_has_its_memory_only_until_that_is_told(
    filled: Path,
) -> None:
    moved = filled.rename(filled.with_name("moved"))
    memory("projects", "use", "web", cwd=moved)
    filled.mkdir()
    proc.run("git", "init", "--quiet", filled)
    assert document("list", "--scope", "project", cwd=filled)["entries"] == []


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_read_creates_nothing_and_changes_nothing(
    filled: Path, tmp_path: Path, home: Path, more: tuple[str, ...]
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    before = tree(home), tree(filled)
    for words in READS:
        memory(*words, *more, cwd=filled)
        codes = 3 if words[0] in ("show", "search") else 0
        memory(*words, *more, cwd=filled, env={"HOME": str(empty)}, ok=codes)
    assert (tree(home), tree(filled)) == before
    assert list(empty.iterdir()) == []


def test_an_instance_reads_what_its_variables_name(filled: Path) -> None:
    inside = {"CSPACE_INSTANCE": "mercury", "CSPACE_MEMORY_PROJECT": "web", "CSPACE_PERSONA": "a"}
    scopes = ["projects/web", "personas/a", "user", "global"]
    assert document("list", cwd=filled, env=inside)["scopes"] == scopes
    broken = inside | {"CSPACE_MEMORY_PROJECT": "../.."}
    assert (
        "CSPACE_MEMORY_PROJECT '../..' is no name"
        in memory("list", cwd=filled, ok=2, env=broken).stderr
    )


@pytest.mark.parametrize("scope", ["..", "projects/..", "projects/a/b", "user/x", "projects", "-x"])
def test_a_scope_that_is_none_is_refused(filled: Path, scope: str) -> None:
    for words in (("list",), ("show", "rule"), ("search", "a"), ("path",), ("reindex",)):
        assert memory(*words, f"--scope={scope}", cwd=filled, ok=2).stderr.startswith("error: ")


def test_the_hint_for_a_scope_that_is_none_has_all_words_that_are_one(filled: Path) -> None:
    words = "global, user, project, projects/NAME, persona, personas/NAME or orchestrator"
    said = memory("list", "--scope", "nope", cwd=filled, ok=2).stderr
    assert said.splitlines()[1] == f"hint: {words}; or claude: its own"
    said = memory("rm", "rule", "--scope", "nope", cwd=filled, ok=2).stderr
    assert said.splitlines()[1] == f"hint: {words}"


def test_two_scopes_say_two_things(filled: Path) -> None:
    for words in (("--scope=user", "--project=web"), ("--all", "--persona=a")):
        assert "say two things" in memory("list", *words, cwd=filled, ok=2).stderr


def test_the_path_of_a_scope_is_printed(filled: Path, home: Path) -> None:
    assert memory("path", cwd=filled).stdout == f"{root(home)}/projects/web\n"
    assert memory("path", "--scope", "user", cwd=filled).stdout == f"{root(home)}/user\n"
    found = document("path", "--persona", "a", cwd=filled)
    assert (found["scope"], found["exists"]) == ("personas/a", False)
    assert memory("path", "--scope", "claude", cwd=filled).stdout == f"{filled}/.cspace/memory\n"


HIJACKS = (
    b"[/foo] [bold]no markup[/bold]\n",
    b"\x1b[2J\x1b]0;title\x07\x1b]52;c;aGk=\x07\n",
    b"\x9b31m \xc2\x9b2J\n",
    b"safe\rerror: forged\n\x08\x08",
    "bidi \u202etxt, zero\u200bwidth, tag \U000e0041\n".encode(),
)


@pytest.mark.parametrize("body", HIJACKS)
def test_terminal_hazard_no_text_of_a_memory_moves_the_cursor(
    filled: Path, home: Path, body: bytes
) -> None:
    put(home, "user/evil", body)
    put(home, "user/\x1b[31mname", body)
    text = body.decode("utf-8", "replace").replace("\n", " ").replace("\r", " ")
    for path in root(home).glob("user/*evil.md"):
        path.write_bytes(path.read_bytes().replace(b"About", f"evil {text}".encode()))
    for words in (("list",), ("show", "evil"), ("search", "evil"), ("list", "--all")):
        screen = on_terminal("memory", *words, cwd=filled, whole=True)
        assert all(mark.isprintable() or mark in "\n\t" for mark in screen.out), words


def test_shells_complete_slugs_scopes_projects_and_personas(filled: Path, home: Path) -> None:
    put(home, "personas/reviewer/tone", "Short.\n")

    def completed(line: str) -> list[str]:
        asked = {"_CSPACE_COMPLETE": "complete_bash", "COMP_WORDS": f"cspace memory {line}"}
        at = {"COMP_CWORD": str(len(line.split(" ")) + 1)}
        return memory(cwd=filled, env=asked | at).stdout.split()

    assert completed("show r") == ["rule"]
    assert completed("edit --scope global ") == ["commits"]
    assert completed("list --scope p") == [
        "project", "persona", "personas/reviewer", "projects/other", "projects/web",
    ]  # fmt: skip
    assert completed("list --project o") == ["other"]
    assert completed("persona use r") == ["reviewer"]
    assert completed("projects use w") == ["web"]
    assert completed("list --type f") == ["feedback"]
