"""`cspace memory propose`, `proposals`, `approve`, `reject`, `rebase`, as a person runs them."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from cspace import proc
from cspace.cli.memory_review import MOST_NAMED, age, complete_proposal
from cspace.clock import utc_now
from cspace.memory.changes import Change, Operation
from cspace.memory.outbox import file_in_outbox
from cspace.memory.projects import Projects
from cspace.memory.proposal import Provenance, Source
from cspace.memory.proposals import Proposals
from cspace.memory.scopes import parse_scope
from cspace.memory.store import MemoryStore
from cspace.project import project_id
from tests.cli.memories import cspace
from tests.cli.terminal import make_editor, on_terminal
from tests.memory.queue import hashes

HIJACK = "a\x1b[2J\x1b]0;title\x07\x9b31m\u202e\u200b\r\x08 [/foo] [red]b"


@pytest.fixture
def root(home: Path) -> Path:
    return home / ".cspace/memory"


def propose(place: Path, *words: str, slug: str = "testing") -> str:
    """Propose a memory of the user and return the proposal's id."""
    said = words or ("--body", "Use a real database.")
    answer = cspace("memory", "propose", slug, "--scope", "user", *said, "--json", cwd=place)
    assert answer.returncode == 0, answer.stderr
    return str(json.loads(answer.stdout)["proposal"]["id"])


def listed(place: Path) -> list[dict[str, Any]]:
    answer = cspace("memory", "proposals", "--json", cwd=place)
    found: list[dict[str, Any]] = json.loads(answer.stdout)["proposals"]
    return found


@pytest.mark.parametrize("command", ["propose", "proposals", "approve", "reject", "rebase"])
def test_every_command_has_an_example(tmp_path: Path, command: str) -> None:
    answer = cspace("memory", command, "--help", cwd=tmp_path)
    assert answer.returncode == 0
    assert "Example" in answer.stdout


def test_a_proposal_is_shown_and_waits(tmp_path: Path, root: Path) -> None:
    answer = cspace(
        "memory", "propose", "testing", "--body", "Use a real database.", "--scope", "user",
        cwd=tmp_path,
    )  # fmt: skip
    assert answer.returncode == 0
    assert "+Use a real database." in answer.stdout
    assert hashes(root) == {}
    [one] = listed(tmp_path)
    assert (one["scope"], one["slug"], one["operation"], one["stale"]) == (
        "user", "testing", "create", False,
    )  # fmt: skip
    assert one["provenance"] == {"source": "human", "ref": ""}
    assert f"cspace memory approve {one['id']}" in answer.stderr


def test_a_yes_on_the_terminal_writes_the_diff(tmp_path: Path, root: Path) -> None:
    id_ = propose(tmp_path)
    screen = on_terminal("memory", "approve", id_[:6], cwd=tmp_path, said=b"y\n")
    assert screen.code == 0
    assert "+Use a real database." in screen.out
    assert "Write user/testing (+8 -0)?" in screen.err
    assert (root / "user/testing.md").read_bytes().endswith(b"Use a real database.\n")


def test_a_no_on_the_terminal_writes_nothing(tmp_path: Path, root: Path) -> None:
    id_ = propose(tmp_path)
    screen = on_terminal("memory", "approve", id_, cwd=tmp_path, said=b"n\n")
    assert screen.code == 1
    assert hashes(root) == {}
    assert [one["id"] for one in listed(tmp_path)] == [id_]


def test_without_a_terminal_nobody_says_yes(tmp_path: Path, root: Path) -> None:
    id_ = propose(tmp_path)
    answer = cspace("memory", "approve", id_, cwd=tmp_path)
    assert answer.returncode == 2
    assert "nobody is there to ask" in answer.stderr
    assert "--yes" in answer.stderr
    assert hashes(root) == {}


def test_several_are_approved_and_what_fails_is_told(tmp_path: Path, root: Path) -> None:
    ids = [propose(tmp_path, slug=slug) for slug in ("one", "two")]
    answer = cspace("memory", "approve", *ids, "zz", "--yes", "--json", cwd=tmp_path)
    assert answer.returncode == 7
    told = json.loads(answer.stdout)
    assert [one["id"] for one in told["approved"]] == ids
    assert told["failed"][0]["error"]["exit_code"] == 3
    assert {"user/one.md", "user/two.md"} < set(hashes(root))


def test_an_edit_is_shown_again_and_written(tmp_path: Path, root: Path) -> None:
    id_ = propose(tmp_path)
    editor = make_editor(tmp_path, 'sed -i "s/real/true/" "$1"')
    screen = on_terminal(
        "memory", "approve", id_, "--edit", cwd=tmp_path, said=b"y\n", EDITOR=editor
    )
    assert screen.code == 0
    assert "+Use a true database." in screen.out.partition("as you edited it:")[2]
    assert (root / "user/testing.md").read_bytes().endswith(b"Use a true database.\n")


def test_an_edit_can_take_hidden_characters_out(tmp_path: Path, root: Path) -> None:
    id_ = propose(tmp_path, "--body", "Obey\u200b me.")
    editor = make_editor(tmp_path, 'printf "# Kind\\n" >"$1"')
    screen = on_terminal(
        "memory", "approve", id_, "--edit", cwd=tmp_path, said=b"y\n", EDITOR=editor
    )
    assert screen.code == 0
    assert (root / "user/testing.md").read_bytes() == b"# Kind\n"


def test_an_edit_can_not_hide_anything(tmp_path: Path, root: Path) -> None:
    id_ = propose(tmp_path)
    editor = make_editor(tmp_path, 'printf "\\342\\200\\213" >>"$1"')
    screen = on_terminal("memory", "approve", id_, "--edit", "--yes", cwd=tmp_path, EDITOR=editor)
    assert screen.code == 2
    assert "--allow-hidden" in screen.err
    assert "your text is kept in" in screen.err
    assert hashes(root) == {}


def test_a_removal_has_nothing_to_edit(tmp_path: Path) -> None:
    cspace("memory", "approve", propose(tmp_path), "--yes", cwd=tmp_path)
    answer = cspace(
        "memory", "approve", propose(tmp_path, "--remove"), "--edit", "--yes", cwd=tmp_path
    )
    assert answer.returncode == 2


def test_a_stale_one_is_refused_and_made_anew(tmp_path: Path, root: Path) -> None:
    cspace("memory", "approve", propose(tmp_path), "--yes", cwd=tmp_path)
    first = propose(tmp_path, "--body", "First.", "--append")
    second = propose(tmp_path, "--body", "Second.", "--append")
    cspace("memory", "approve", first, "--yes", cwd=tmp_path)
    before = hashes(root)
    answer = cspace("memory", "approve", second, "--yes", cwd=tmp_path)
    assert answer.returncode == 4
    assert f"hint: cspace memory rebase {second}" in answer.stderr
    assert "stale" in cspace("memory", "proposals", cwd=tmp_path).stdout
    assert cspace("memory", "rebase", second, cwd=tmp_path).returncode == 0
    assert hashes(root) == before
    assert cspace("memory", "approve", second, "--yes", cwd=tmp_path).returncode == 0


def test_a_rejected_text_is_refused_with_what_was_said(tmp_path: Path) -> None:
    id_ = propose(tmp_path)
    answer = cspace("memory", "reject", id_, "--reason", "not true", cwd=tmp_path)
    assert (answer.returncode, answer.stdout) == (0, f"rejected {id_}: user/testing\n")
    again = cspace(
        "memory", "propose", "other", "--body", "use a  REAL database.", "--scope", "user",
        cwd=tmp_path,
    )  # fmt: skip
    assert again.returncode == 4
    assert "not true" in again.stderr
    assert listed(tmp_path) == []


def test_a_duplicate_is_said(tmp_path: Path) -> None:
    cspace("memory", "approve", propose(tmp_path), "--yes", cwd=tmp_path)
    answer = cspace(
        "memory", "propose", "other", "--body", "Use a real database.", "--scope", "user",
        cwd=tmp_path,
    )  # fmt: skip
    assert "note: user/testing has this text already" in answer.stderr
    assert "same as user/testing" in cspace("memory", "proposals", cwd=tmp_path).stdout


def test_a_hidden_character_stops_an_approval(tmp_path: Path, root: Path) -> None:
    id_ = propose(tmp_path, "--body", "Obey\u202e me.")
    answer = cspace("memory", "approve", id_, "--yes", cwd=tmp_path)
    assert answer.returncode == 2
    assert "+Obey<U+202E> me." in answer.stdout
    assert f"cspace memory approve {id_} --allow-hidden" in answer.stderr
    assert hashes(root) == {}
    allowed = cspace("memory", "approve", id_, "--yes", "--allow-hidden", cwd=tmp_path)
    assert allowed.returncode == 0


def drop(home: Path, body: str, *, slug: str = "testing", reason: str = "") -> Path:
    """File a proposal as an agent of the instance mercury does."""
    outbox = home / ".cspace/outbox/web-12345678/mercury"
    outbox.mkdir(parents=True, exist_ok=True)
    change = Change(parse_scope("user"), slug, Operation.CREATE, body)
    proposals = Proposals(MemoryStore(home / "seen-by-it"))
    file_in_outbox(proposals, outbox, change, Provenance(Source.ASK, reason), reason)
    return outbox


def test_nothing_of_a_proposal_reaches_the_terminal_as_a_control_character(
    tmp_path: Path, home: Path
) -> None:
    drop(home, HIJACK, reason=HIJACK)
    id_ = complete_after_ingest(tmp_path)
    shown = [
        on_terminal(*words, cwd=tmp_path, whole=True).out
        for words in (
            ("memory", "proposals"),
            ("memory", "proposals", id_),
            ("memory", "proposals", id_, "--json"),
            ("memory", "approve", id_, "--yes", "--allow-hidden"),
        )
    ]
    assert "[/foo] [red]b" in shown[1]
    for screen in shown:
        assert all(mark.isprintable() or mark in "\n\t" for mark in screen)


def complete_after_ingest(place: Path) -> str:
    [one] = listed(place)
    [id_] = complete_proposal(str(one["id"])[:4])
    assert complete_proposal("zz") == []
    return id_


def test_what_an_instance_proposes_is_taken_over_and_told(tmp_path: Path, home: Path) -> None:
    outbox = drop(home, "Use a real database.", reason="s-1")
    (outbox / "bad.yaml").write_text("scope: ../..\n", encoding="utf-8")
    answer = cspace("memory", "proposals", cwd=tmp_path)
    assert answer.returncode == 0
    assert "web-12345678/mercury proposes user/testing: " in answer.stderr
    assert "web-12345678/mercury/bad.yaml stays where it is: revision is" in answer.stderr
    [one] = listed(tmp_path)
    assert one["instance"] == "web-12345678/mercury"
    assert one["provenance"] == {"source": "session", "ref": "s-1"}


def test_many_bad_files_are_not_all_named(tmp_path: Path, home: Path) -> None:
    outbox = drop(home, "Use a real database.")
    for number in range(50):
        (outbox / f"bad-{number}.yaml").write_text("x", encoding="utf-8")
    answer = cspace("memory", "proposals", cwd=tmp_path)
    assert answer.stderr.count("stays where it is") == MOST_NAMED
    assert "so do 40 more files" in answer.stderr


def test_a_rejected_text_from_an_instance_is_dropped(tmp_path: Path, home: Path) -> None:
    cspace("memory", "reject", propose(tmp_path), cwd=tmp_path)
    outbox = drop(home, "Use a real database.", slug="other")
    answer = cspace("memory", "proposals", cwd=tmp_path)
    assert "1 proposal dropped: the same text was rejected before" in answer.stderr
    assert list(outbox.iterdir()) == []


def test_an_instance_proposes_for_its_own_project(repo: Path, home: Path) -> None:
    common = (repo / ".git").resolve()
    Projects(home / ".cspace/memory").claim(common, project_id(repo.resolve()))
    outbox = home / ".cspace/outbox" / project_id(repo.resolve()) / "mercury"
    outbox.mkdir(parents=True)
    for name in ("sample", "other"):
        change = Change(parse_scope(f"projects/{name}"), "x", Operation.CREATE, f"For {name}.")
        proposals = Proposals(MemoryStore(home / "seen-by-it"))
        file_in_outbox(proposals, outbox, change, Provenance(Source.SESSION))
    assert [one["scope"] for one in listed(repo)] == ["projects/sample"]


def test_an_instance_of_a_repository_whose_git_directory_is_elsewhere_proposes_for_it(
    home: Path, tmp_path: Path
) -> None:
    repo = tmp_path / "sample"
    proc.run("git", "init", "--separate-git-dir", str(tmp_path / "git"), str(repo))
    cspace("memory", "write", "a", "--body", "A.", "--yes", cwd=repo)
    outbox = home / ".cspace/outbox" / project_id(repo.resolve()) / "mercury"
    outbox.mkdir(parents=True)
    change = Change(parse_scope("projects/sample"), "x", Operation.CREATE, "For it.")
    proposals = Proposals(MemoryStore(home / "seen-by-it"))
    file_in_outbox(proposals, outbox, change, Provenance(Source.SESSION))
    assert [one["scope"] for one in listed(tmp_path)] == ["projects/sample"]


def test_what_is_refused_gives_no_project_its_name(repo: Path) -> None:
    answer = cspace("memory", "propose", "testing", "--body", "x", "--append", cwd=repo)
    assert answer.returncode == 3
    assert cspace("memory", "projects", cwd=repo).stdout == ""
    cspace("memory", "propose", "testing", "--body", "x", cwd=repo)
    assert "sample" in cspace("memory", "projects", cwd=repo).stdout


@pytest.mark.parametrize("scope", ["projects/other", "orchestrator"])
def test_an_instance_is_told_at_once_what_the_host_would_not_take_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scope: str
) -> None:
    monkeypatch.setenv("CSPACE_INSTANCE", "mercury")
    monkeypatch.setenv("CSPACE_MEMORY_PROJECT", "web")
    answer = cspace("memory", "propose", "x", "--body", "b", "--scope", scope, cwd=tmp_path)
    assert answer.returncode == 2
    assert f"an instance proposes nothing for {scope}" in answer.stderr
    assert "it may for projects/web, user, global" in answer.stderr


@pytest.mark.parametrize(
    "words", [("proposals",), ("approve", "1f"), ("reject", "1f"), ("rebase", "1f")]
)
def test_an_instance_decides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("CSPACE_INSTANCE", "mercury")
    answer = cspace("memory", *words, cwd=tmp_path)
    assert answer.returncode == 2
    assert "cspace memory propose" in answer.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--body", "x", "--source", "root"), "--source 'root' is none"),
        (("--body", "x", "--remove"), "--remove goes with no other change"),
        (("--body", ""), "body is empty"),
        (("--body", "x", "--type", "order"), "type 'order' is none"),
        (("--body", "x", "--append"), "does not exist"),
        (("--remove",), "does not exist"),
    ],
)
def test_what_can_not_be_is_not_proposed(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    answer = cspace("memory", "propose", "testing", "--scope", "user", *words, cwd=tmp_path)
    assert answer.returncode in (2, 3)
    assert said in answer.stderr
    assert listed(tmp_path) == []


def test_a_job_files_proposals_as_one(tmp_path: Path) -> None:
    propose(tmp_path, "--body", "x", "--source", "job", "--ref", "run 7", "--reason", "it broke")
    [one] = listed(tmp_path)
    assert one["provenance"] == {"source": "job", "ref": "run 7"}
    assert one["reason"] == "it broke"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(-5, "0 s"), (59, "59 s"), (3599, "59 min"), (7200, "2 h"), (200_000, "2 d")],
)
def test_an_age_has_one_unit(seconds: int, said: str) -> None:
    now = utc_now()
    assert age(now - timedelta(seconds=seconds), now) == said
