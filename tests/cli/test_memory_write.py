"""`cspace memory write|edit|rm|mv|reindex`: a diff, a yes, and then these very bytes."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.cli.memories import document, memory, put, root, tree
from tests.cli.terminal import make_editor, on_terminal

WRITE = ("write", "rule", "--body", "Ask first.")


def documents(home: Path) -> dict[str, bytes]:
    return {name: content for name, (_, content) in tree(root(home)).items() if ".md" in name}


def rule(home: Path, scope: str = "projects/sample") -> bytes:
    return (root(home) / scope / "rule.md").read_bytes()


def test_a_memory_is_written_where_one_stands(repo: Path, home: Path, tmp_path: Path) -> None:
    answer = memory(*WRITE, "--yes", cwd=repo)
    assert answer.stdout.startswith("--- /dev/null\n+++ projects/sample/rule.md\n")
    assert answer.stdout.endswith("+Ask first.\nwrote projects/sample/rule\n")
    assert b"type: project" in rule(home)
    memory(*WRITE, "--yes", cwd=tmp_path)
    assert b"type: user" in rule(home, "user")


def test_the_diff_holds_every_line_that_is_written(repo: Path, home: Path) -> None:
    shown = memory(*WRITE, "--yes", cwd=repo).stdout.splitlines()[3:-1]
    assert "".join(f"{line[1:]}\n" for line in shown).encode() == rule(home)


@pytest.mark.parametrize(
    "words",
    [WRITE, ("rm", "there"), ("mv", "there", "new"), ("mv", "there", "user/there")],
    ids=lambda words: words[0],
)
@pytest.mark.parametrize("more", [(), ("--json",)])
def test_without_a_terminal_and_without_yes_nothing_is_written(
    repo: Path, home: Path, words: tuple[str, ...], more: tuple[str, ...]
) -> None:
    memory("write", "there", "--body", "Stays.", "--yes", cwd=repo)
    before = tree(root(home))
    answer = memory(*words, *more, cwd=repo, ok=2)
    assert "error: nothing was written: nobody is there to ask\n" in answer.stderr
    assert f"hint: {shlex.join(('cspace', 'memory', *words, *more, '--yes'))}\n" in answer.stderr
    assert tree(root(home)) == before


def test_a_refused_first_write_leaves_no_trace(repo: Path, home: Path) -> None:
    memory(*WRITE, cwd=repo, ok=2)
    assert list(home.iterdir()) == []


def test_on_a_terminal_only_a_yes_writes(repo: Path, home: Path) -> None:
    no = on_terminal("memory", *WRITE, cwd=repo, said=b"n\n")
    assert (no.code, "error: nothing was written" in no.err) == (1, True)
    assert not root(home).exists()
    yes = on_terminal("memory", *WRITE, cwd=repo, said=b"y\n")
    assert yes.code == 0
    assert "Write projects/sample/rule? [y/N]" in yes.err
    assert "+Ask first.\n" in yes.out
    assert "\x1b" not in yes.out + yes.err
    assert rule(home).endswith(b"Ask first.\n")


def test_what_changed_while_a_person_thought_is_not_overwritten(repo: Path, home: Path) -> None:
    memory(*WRITE, "--yes", cwd=repo)
    editor = make_editor(
        home, f'echo Mine >>"$1"; echo Theirs >>{root(home)}/projects/sample/rule.md'
    )
    answer = memory("edit", "rule", "--yes", cwd=repo, ok=4, env={"EDITOR": editor})
    assert "was changed meanwhile: nothing was written" in answer.stderr
    kept = answer.stderr.split("your text is kept in ")[1].splitlines()[0]
    assert Path(kept).read_text(encoding="utf-8").endswith("Mine\n")
    assert rule(home).endswith(b"Theirs\n")


def test_an_existing_memory_needs_append_or_force(repo: Path, home: Path) -> None:
    memory(*WRITE, "--yes", "--type", "feedback", "--description", "Kept", cwd=repo)
    before = rule(home)
    refused = memory(*WRITE, "--yes", cwd=repo, ok=4)
    assert "hint: --append adds to it, --force replaces it" in refused.stderr
    assert rule(home) == before
    memory("write", "rule", "--body", "More.", "--append", "--yes", cwd=repo)
    assert rule(home).endswith(b"Ask first.\n\nMore.\n")
    memory("write", "rule", "--body", "New.", "--force", "--yes", cwd=repo)
    assert rule(home).endswith(b"---\nNew.\n")
    assert b"description: Kept\n" in rule(home)
    assert b"type: feedback\n" in rule(home)
    assert "say two things" in memory(*WRITE, "--append", "--force", cwd=repo, ok=2).stderr


BODIES = (
    b"# Title\n\n[/foo] [bold]\n",
    b"crlf\r\nline\r\n",
    b"---\nname: forged\n---\ntext\n",
    b"\x1b[2Jescape\x07\n",
    b"trailing\n\n\n",
    b"x" * 100_000 + b"\n",
    "ümläut \u200b\n".encode(),
)


@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
def test_a_body_from_stdin_or_a_file_comes_back_byte_for_byte(
    repo: Path, home: Path, tmp_path: Path, body: bytes
) -> None:
    file = tmp_path / "body.md"
    file.write_bytes(body)
    memory("write", "one", "-", "--yes", cwd=repo, said=body)
    memory("write", "two", "--body-file", str(file), "--yes", cwd=repo)
    for name in ("one", "two"):
        written = (root(home) / f"projects/sample/{name}.md").read_bytes()
        assert written.split(b"---\n", 2)[2] == body


@pytest.mark.parametrize(
    ("words", "said", "problem"),
    [
        ((), b"", "the body has to come from one place"),
        (("-", "--body", "a"), b"a", "the body has to come from one place"),
        (("text",), b"", "'text' is not -"),
        (("-",), b"", "the body is empty"),
        (("-",), b"\xff", "the body is not UTF-8 at byte 0"),
        (("--body", "\n"), b"", "body is empty"),
        (("--body-file", "missing"), b"", "--body-file missing can not be read"),
        (("-",), b"a" * 300_000, "more than 262144"),
        (("--body", "a", "--type", "rule"), b"", "type 'rule' is none"),
    ],
)
def test_what_can_not_be_a_memory_is_refused_by_name(
    repo: Path, home: Path, words: tuple[str, ...], said: bytes, problem: str
) -> None:
    answer = memory("write", "rule", *words, "--yes", cwd=repo, said=said, ok=2)
    assert problem in answer.stderr
    assert "hint: " in answer.stderr
    assert not root(home).exists()


NAMES = ("..", ".", "-x", "MEMORY", "memory", "CON", "a/b", "../a", "UPPER", "x" * 10_000, "a b")


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_a_name_that_is_none_is_refused_and_nothing_is_written(
    repo: Path, home: Path, name: str
) -> None:
    answer = memory("write", "--body", "b", "--yes", "--", name, cwd=repo, ok=2)
    assert "slug" in answer.stderr
    assert not root(home).exists()


@pytest.mark.parametrize("scope", ["project", "projects/../x", "personas/A", "claude", "nothing"])
def test_a_scope_that_is_none_takes_no_memory(tmp_path: Path, home: Path, scope: str) -> None:
    answer = memory(*WRITE, "--yes", "--scope", scope, cwd=tmp_path, ok=2)
    assert "hint: " in answer.stderr
    assert list(home.iterdir()) == []


def test_links_of_scopes_and_memories_are_refused_by_name(
    repo: Path, home: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("theirs", encoding="utf-8")
    (root(home) / "user").mkdir(parents=True)
    (root(home) / "user/rule.md").symlink_to(outside)
    (root(home) / "user/gone.md").symlink_to(tmp_path / "nowhere")
    (root(home) / "global").symlink_to(tmp_path)
    for name in ("rule", "gone"):
        for words in (("write", name, "--body", "b", "--force"), ("rm", name), ("mv", name, "new")):
            memory(*words, "--yes", "--scope", "user", cwd=repo, ok=1)
    memory(*WRITE, "--yes", "--scope", "global", cwd=repo, ok=1)
    assert outside.read_text(encoding="utf-8") == "theirs"
    assert not (tmp_path / "nowhere").exists()
    assert not (tmp_path / "rule.md").exists()


def test_an_edit_is_stamped_shown_and_indexed(repo: Path, home: Path) -> None:
    memory(*WRITE, "--yes", cwd=repo)
    editor = make_editor(home, "sed -i 's/^description: .*/description: Edited/' \"$1\"")
    screen = on_terminal("memory", "edit", "rule", cwd=repo, said=b"y\n", EDITOR=editor)
    assert screen.code == 0, screen
    assert "+description: Edited" in screen.out
    assert b"description: Edited\n" in rule(home)
    index = (root(home) / "projects/sample/MEMORY.md").read_text(encoding="utf-8")
    assert "- [rule](rule.md): Edited\n" in index


def test_an_edit_that_breaks_the_front_matter_is_noted(repo: Path, home: Path) -> None:
    memory("write", "rule", "--body", "text", "--yes", cwd=repo)
    editor = make_editor(home, "sed -i 's/^name: .*/name: [unclosed/' \"$1\"")
    answer = memory("edit", "rule", "--yes", cwd=repo, env={"EDITOR": editor})
    assert "note: its front matter is no longer YAML" in answer.stderr
    editor = make_editor(home, "sed -i 's/^name: .*/name: rule/' \"$1\"")
    answer = memory("edit", "rule", "--yes", cwd=repo, env={"EDITOR": editor})
    assert "note:" not in answer.stderr


def test_an_edit_that_changes_nothing_writes_nothing(repo: Path, home: Path) -> None:
    memory(*WRITE, "--yes", cwd=repo)
    before = tree(root(home))
    answer = memory("edit", "rule", cwd=repo, env={"EDITOR": "true"})
    assert "nothing changed" in answer.stderr
    assert tree(root(home)) == before


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        (': >"$1"', "the memory would be empty"),
        ("printf '\\377' >\"$1\"", "the memory is not UTF-8 at byte 0"),
        ('head -c 300000 /dev/zero | tr "\\0" x >"$1"', "more than 262144"),
    ],
)
def test_an_edit_that_can_not_be_written_keeps_the_persons_text(
    repo: Path, home: Path, script: str, problem: str
) -> None:
    memory(*WRITE, "--yes", cwd=repo)
    before = rule(home)
    answer = memory(
        "edit", "rule", "--yes", cwd=repo, ok=2, env={"EDITOR": make_editor(home, script)}
    )
    assert problem in answer.stderr
    assert "your text is kept in " in answer.stderr
    assert rule(home) == before


def test_a_no_after_an_edit_keeps_the_persons_text(repo: Path, home: Path) -> None:
    memory(*WRITE, "--yes", cwd=repo)
    editor = make_editor(home, 'echo Mine >>"$1"')
    screen = on_terminal("memory", "edit", "rule", cwd=repo, said=b"n\n", EDITOR=editor)
    assert screen.code == 1
    assert "your text is kept in " in screen.err


def test_a_memory_is_removed_with_its_line(repo: Path, home: Path) -> None:
    memory(*WRITE, "--yes", cwd=repo)
    answer = memory("rm", "rule", "--yes", cwd=repo)
    assert "-Ask first.\n" in answer.stdout
    assert answer.stdout.endswith("removed projects/sample/rule\n")
    assert not (root(home) / "projects/sample/rule.md").exists()
    assert b"rule.md" not in (root(home) / "projects/sample/MEMORY.md").read_bytes()
    near = memory("rm", "rule", "--yes", cwd=repo, ok=3)
    assert "projects/sample/rule does not exist" in near.stderr


def test_a_memory_moves_to_another_name_and_another_scope(repo: Path, home: Path) -> None:
    memory(*WRITE, "--yes", cwd=repo)
    shown = memory("mv", "rule", "law", "--yes", cwd=repo).stdout
    assert shown.startswith("--- projects/sample/rule.md\n+++ projects/sample/law.md\n")
    assert "-name: rule\n+name: law\n" in shown
    memory("mv", "law", "user/rule", "--yes", cwd=repo)
    assert b"name: rule\n" in rule(home, "user")
    assert not (root(home) / "projects/sample/law.md").exists()
    back = memory("mv", "rule", "project/rule", "--scope", "user", "--yes", cwd=repo).stdout
    assert back.startswith("--- user/rule.md\n+++ projects/sample/rule.md\nmoved ")
    assert rule(home).endswith(b"Ask first.\n")


@pytest.mark.parametrize(
    ("target", "code"),
    [("there", 4), ("user/../x", 2), ("RULE", 2), ("nothing/x", 2), ("user/", 2)],
)
def test_a_move_to_a_taken_or_impossible_name_is_refused(
    repo: Path, home: Path, target: str, code: int
) -> None:
    memory(*WRITE, "--yes", cwd=repo)
    memory("write", "there", "--body", "Stays.", "--yes", cwd=repo)
    before = documents(home)
    memory("mv", "rule", target, "--yes", cwd=repo, ok=code)
    assert documents(home) == before


def test_somebody_elses_file_is_shown_moved_and_removed_by_its_name(repo: Path, home: Path) -> None:
    put(home, "user/Feedback_Testing", "Old.\n")
    assert "Old." in memory("show", "Feedback_Testing", cwd=repo).stdout
    memory("mv", "Feedback_Testing", "testing", "--scope", "user", "--yes", cwd=repo)
    assert (root(home) / "user/testing.md").read_bytes().endswith(b"Old.\n")
    put(home, "user/Other_One", "Old.\n")
    memory("rm", "Other_One", "--scope", "user", "--yes", cwd=repo)
    assert not (root(home) / "user/Other_One.md").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("write", "rule", "--body", "b"), ("edit", "rule"), ("rm", "rule"), ("mv", "rule", "new"),
        ("reindex",), ("projects", "use", "web"), ("projects", "forget", "web"),
        ("persona", "use", "a"), ("persona", "clear"), ("adopt", "."),
    ],
    ids=" ".join,
)  # fmt: skip
def test_an_instance_changes_no_memory_and_is_told_to_propose(
    repo: Path, words: tuple[str, ...]
) -> None:
    inside = {"CSPACE_INSTANCE": "mercury", "CSPACE_MEMORY_PROJECT": "sample"}
    answer = memory(*words, cwd=repo, ok=2, env=inside)
    assert "an instance does not change memories" in answer.stderr
    assert "hint: cspace memory propose" in answer.stderr


def test_json_says_what_was_written_with_its_diff(repo: Path) -> None:
    found = document(*WRITE, "--yes", cwd=repo)
    assert found["written"]["scope"] == "projects/sample"
    assert found["written"]["before"] is None
    assert found["diff"][-1] == "+Ask first."
    moved = document("mv", "rule", "user/rule", "--yes", cwd=repo)["written"]
    assert moved["scope"] == "user"
    removed = document("rm", "rule", "--scope", "user", "--yes", cwd=repo)["written"]
    assert (removed["before"], removed["after"]) == (moved["after"], None)


def test_hidden_characters_of_a_body_are_made_visible(repo: Path) -> None:
    answer = memory("write", "rule", "--body", "a\u200bb\u202ec", "--yes", cwd=repo)
    assert "+a<U+200B>b<U+202E>c\n" in answer.stdout
    assert "a character that can not be seen: " in answer.stderr


def test_the_text_around_the_index_stays_through_a_reindex(repo: Path, home: Path) -> None:
    memory(*WRITE, "--yes", cwd=repo)
    index = root(home) / "projects/sample/MEMORY.md"
    index.write_text(f"# Mine\n\n{index.read_text()}\nBelow.\n", encoding="utf-8")
    before = index.read_bytes()
    put(home, "projects/sample/other", "By hand.\n")
    assert memory("reindex", cwd=repo).stdout == "projects/sample  2 lines\n"
    line = b"- [other](other.md): About other\n"
    assert index.read_bytes() == before.replace(b"- [rule]", line + b"- [rule]")


def test_an_orchestrators_workspace_is_the_scope_where_one_stands(
    tmp_path: Path, home: Path
) -> None:
    (tmp_path / "desk/memory").mkdir(parents=True)
    memory("write", "rule", "--body", "b", "--scope", "orchestrator", "--yes", cwd=tmp_path, ok=2)
    answer = memory("adopt", "desk", cwd=tmp_path)
    assert f"memory     {tmp_path}/desk/memory\n" in answer.stdout
    memory(*WRITE, "--yes", cwd=tmp_path / "desk")
    assert (tmp_path / "desk/memory/rule.md").is_file()
    assert document("list", cwd=tmp_path / "desk")["scopes"] == ["orchestrator", "user", "global"]
    assert document("list", cwd=tmp_path)["scopes"] == ["user", "global"]
    assert memory("path", cwd=tmp_path / "desk").stdout == f"{tmp_path}/desk/memory\n"
    assert (root(home) / "orchestrator").readlink() == tmp_path / "desk/memory"


def test_an_adoption_is_taken_back_and_the_memories_stay(tmp_path: Path, home: Path) -> None:
    (tmp_path / "desk/memory").mkdir(parents=True)
    memory("adopt", "desk", cwd=tmp_path)
    memory(*WRITE, "--yes", cwd=tmp_path / "desk")
    assert "say" not in memory("adopt", "desk", "--undo", cwd=tmp_path, ok=2).stdout
    assert "what is in it stays" in memory("adopt", "--undo", cwd=tmp_path).stdout
    assert (tmp_path / "desk/memory/rule.md").is_file()
    assert document("list", cwd=tmp_path / "desk")["scopes"] == ["user", "global"]
    memory("adopt", "--undo", cwd=tmp_path, ok=3)


@pytest.mark.parametrize("place", [".cspace/memory", ".cspace/context/findings"])
def test_what_agents_write_can_not_be_adopted(repo: Path, home: Path, place: str) -> None:
    (repo / place).mkdir(parents=True)
    answer = memory("adopt", ".", "--memory", place, cwd=repo, ok=2)
    assert "is written by agents" in answer.stderr
    assert list(home.iterdir()) == []


def test_standing_in_an_instances_files_no_project_is_looked_for(home: Path) -> None:
    workspace = home / ".cspace/instances/web-01234567/mercury/workspace"
    workspace.mkdir(parents=True)
    for words in (("list",), WRITE, ("projects", "use", "web")):
        answer = memory(*words, cwd=workspace, ok=2)
        assert "belongs to an instance" in answer.stderr
    assert memory("list", "--scope", "user", cwd=workspace).returncode == 0
