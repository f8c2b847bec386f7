"""`cspace notes list|recall|status|reindex|verify`: what is found, and what finds it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import apsw
import pytest

from tests.cli.commit_notes import capture, commit, document, notes, run_git
from tests.cli.memories import cspace

OFFLINE = {"CSPACE_OFFLINE": "1"}
FISH = {"_TYPER_COMPLETE_FISH_ACTION": "get-args"}


@pytest.fixture
def filled(repo: Path) -> Path:
    """Return a repository with memories of three commits."""
    capture(repo, "decisions", "Chose Redis for sessions", "--spec", "auth", body="Shared state.")
    commit(repo, "src/auth/token.py")
    capture(repo, "blockers", "Redis is not reachable", "--tag", "ci", body="No route.")
    commit(repo, "docs/index.md")
    words = ("--severity", "high", "--file", "src/auth/token.py", "--spec", "auth")
    capture(repo, "reviews", "Redis keys never expire", *words, body="Set a time.")
    return repo


def empty(index: Path) -> None:
    """Take everything out of an index, which goes on saying that it is up to date."""
    db = apsw.Connection(str(index))
    db.execute("delete from facets; delete from items")
    db.close()


def found(where: Path, *words: str) -> set[str]:
    hits = document("recall", "redis", *words, cwd=where)["hits"]
    return {hit["summary"].removeprefix("Redis ") for hit in hits}


ALL = {"Chose Redis for sessions", "is not reachable", "keys never expire"}


FILTERS = {
    "": ALL,
    "--namespace decisions --namespace reviews": ALL - {"is not reachable"},
    "--spec auth": ALL - {"is not reachable"},
    "--tag ci": {"is not reachable"},
    "--file src/auth/token.py": {"is not reachable"},
    "--file src": {"is not reachable"},
    "--reviewed src/auth/token.py": {"keys never expire"},
    "--author person": ALL,
    "--since 1d": ALL,
    "--status open": ALL - {"Chose Redis for sessions"},
}


def test_each_filter_leaves_what_it_says(filled: Path) -> None:
    assert {words: found(filled, *words.split()) for words in FILTERS} == FILTERS


def test_a_path_is_meant_from_where_one_stands(filled: Path) -> None:
    assert found(filled / "src", "--file", "auth/token.py") == {"is not reachable"}
    assert found(filled / "src/auth", "--file", ".") == {"is not reachable"}
    assert found(filled / "src", "--reviewed", "auth/token.py") == {"keys never expire"}


def test_nothing_found_is_exit_3_with_the_next_step(filled: Path) -> None:
    done = notes("recall", "kubernetes", cwd=filled, ok=3)
    assert "nothing here is about 'kubernetes'" in done.stderr
    assert "cspace notes list" in done.stderr


def test_where_no_memory_is_recall_says_how_to_keep_one(repo: Path) -> None:
    done = notes("recall", "kubernetes", cwd=repo, ok=3)
    assert "hint: no memories of commits here" in done.stderr


def test_a_hit_says_why_and_the_answer_says_how_it_was_looked_for(filled: Path) -> None:
    done = notes("recall", "reachable", cwd=filled)
    assert done.stdout.splitlines()[0].endswith("Redis is not reachable")
    assert "reachable in summary" in done.stdout
    assert "by words only: " in done.stderr
    assert "hint: " in done.stderr
    told = document("recall", "reachable", cwd=filled)
    assert (told["mode"], bool(told["reason"])) == ("lexical", True)


def test_a_search_by_words_loads_sqlite_and_nothing_that_meaning_needs(filled: Path) -> None:
    notes("recall", "redis", cwd=filled)
    code = """
import sys
from cspace.cli.app import main
sys.argv = ["cspace", "notes", "recall", "redis"]
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""
    done = subprocess.run(
        (sys.executable, "-c", code), cwd=filled, capture_output=True, text=True, check=True
    )
    heavy = {"apsw", "sqlite_vec", "numpy", "tokenizers", "pydantic", "yaml", "docker", "mcp"}
    assert heavy.intersection(done.stderr.split()) == {"apsw"}


def test_full_prints_bodies_and_files_what_the_commit_changed(filled: Path) -> None:
    assert "No route." not in notes("recall", "reachable", cwd=filled).stdout
    assert "No route." in notes("recall", "reachable", "--full", cwd=filled).stdout
    shown = notes("recall", "reachable", "--files", cwd=filled).stdout
    assert "No route." in shown
    assert "src/auth/token.py" in shown
    assert shown.index("No route.") < shown.index("src/auth/token.py")


def test_what_was_captured_resolved_or_forgotten_is_so_for_the_next_recall(filled: Path) -> None:
    reference = capture(filled, "blockers", "Redis is full")
    assert "is full" in found(filled, "--status", "open")
    notes("resolve", reference, "--text", "Larger.", cwd=filled)
    assert "is full" not in found(filled, "--status", "open")
    assert "is full" in found(filled)
    listed = document("list", "--status", "resolved", cwd=filled)["memories"]
    notes("forget", listed[0]["reference"], "--yes", cwd=filled)
    assert "is full" not in found(filled)


def test_the_list_is_in_the_order_of_time_and_numbered(filled: Path) -> None:
    lines = notes("list", cwd=filled).stdout.splitlines()
    assert [line.split(".")[0].strip() for line in lines] == ["1", "2", "3"]
    assert "Chose Redis for sessions (decisions:" in lines[0] + lines[1] + lines[2]
    assert sum("open" in line for line in lines) == 2


def test_a_limit_keeps_the_newest_and_their_numbers(filled: Path) -> None:
    whole = document("list", cwd=filled)["memories"]
    told = document("list", "--limit", "1", cwd=filled)
    assert told["memories"] == whole[-1:]
    assert (told["memories"][0]["number"], told["left_out"]) == (3, 2)
    assert "2 older left out" in notes("list", "--limit", "1", cwd=filled).stderr


def test_a_list_is_filtered(filled: Path) -> None:
    def listed(*words: str) -> int:
        return len(document("list", *words, cwd=filled)["memories"])

    assert listed("--namespace", "decisions", "--namespace", "blockers") == 2
    assert (listed("--spec", "auth"), listed("--tag", "ci"), listed("--since", "1h")) == (2, 1, 3)
    assert (listed("--status", "open"), listed("--since", "2999-01-01")) == (2, 0)
    assert "none is like that" in notes("list", "--spec", "no", cwd=filled).stderr


def test_status_counts_what_git_has_and_says_how_search_works(filled: Path) -> None:
    told = document("status", cwd=filled)
    counts = {one["namespace"]: one["memories"] for one in told["namespaces"]}
    assert counts == {"decisions": 1, "blockers": 1, "reviews": 1}
    assert told["index"]["counts"] == counts
    shown = notes("status", cwd=filled)
    assert "search: by words only: " in shown.stdout
    assert "index: 3 memories" in shown.stdout


def test_verify_finds_nothing_after_recall_and_names_what_an_index_lacks(filled: Path) -> None:
    notes("recall", "redis", cwd=filled)
    assert "3 memories" in notes("verify", cwd=filled).stdout
    empty(filled / ".git/cspace/index.db")
    done = notes("verify", cwd=filled, ok=8)
    assert "hint: cspace notes reindex" in done.stderr
    assert "decisions: 1 in git, 0 in the index" in done.stdout
    notes("reindex", cwd=filled, env=OFFLINE)
    notes("verify", cwd=filled)


def test_a_missing_or_damaged_index_is_made_anew(filled: Path) -> None:
    index = filled / ".git/cspace/index.db"
    notes("recall", "redis", cwd=filled)
    index.write_bytes(b"no database")
    assert found(filled) == ALL
    index.unlink()
    assert found(filled) == ALL
    assert "3 memories" in notes("verify", cwd=filled).stdout


def test_offline_nothing_is_fetched_and_words_are_enough(filled: Path, home: Path) -> None:
    done = notes("reindex", cwd=filled, env=OFFLINE)
    assert "index: 3 memories" in done.stdout
    assert "search: by words only: " in done.stdout
    assert not (home / ".cache/cspace").exists()


def test_a_download_that_fails_is_said_and_the_index_is_made_all_the_same(filled: Path) -> None:
    mirror = {"PIP_INDEX_URL": "http://127.0.0.1:1/simple"}
    done = notes("reindex", cwd=filled, env=mirror, ok=5)
    assert "index: 3 memories" in done.stdout
    assert "could not be fetched" in done.stderr
    assert (filled / ".git/cspace/index.db").is_file()


def test_the_setting_chooses_the_model(filled: Path, home: Path) -> None:
    (home / ".cspace").mkdir(exist_ok=True)
    chosen = json.dumps({"notes": {"model": "example/other-model"}})
    (home / ".cspace/config.json").write_text(chosen, encoding="utf-8")
    reason = document("status", cwd=filled)["embedder"]["reason"]
    assert "example/other-model" in reason or "sentence-transformers" in reason


def test_a_projects_file_does_not_choose_the_model(filled: Path) -> None:
    words = json.dumps({"notes": {"model": "example/evil"}})
    (filled / ".cspace.json").write_text(words, encoding="utf-8")
    assert "example/evil" not in json.dumps(document("status", cwd=filled))
    done = cspace("config", "show", cwd=filled)
    assert done.returncode == 2
    assert "notes.model" in done.stderr


def complete(
    where: Path, *words: str, shell: str = "zsh", more: Mapping[str, str] = MappingProxyType({})
) -> list[str]:
    """Return what a shell offers for the last word."""
    line = " ".join(("cspace", *words))
    asked = {"_CSPACE_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_ARGS": line}
    done = subprocess.run(
        (Path(sys.executable).with_name("cspace"),),
        cwd=where, env=os.environ | asked | dict(more), capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout.splitlines()


def test_a_shell_completes_namespaces_references_and_specs(filled: Path) -> None:
    (decision,) = document("list", "--namespace", "decisions", cwd=filled)["memories"]
    assert any("retrospective" in line for line in complete(filled, "notes", "capture", "ret"))
    escaped = decision["reference"].replace(":", "\\\\:")
    assert any(
        decision["reference"] in line.replace("\\:", ":") or escaped in line
        for line in complete(filled, "notes", "show", "dec")
    )
    assert any("auth" in line for line in complete(filled, "notes", "list", "--spec", "a"))
    assert any("ci" in line for line in complete(filled, "notes", "list", "--tag", "c"))


BASH = """
eval "$(cspace --show-completion bash)"
COMP_WORDS=(cspace notes show "$@"); COMP_CWORD=$(($# + 2))
_cspace_completion cspace
printf '%s\\n' "${COMPREPLY[@]}"
"""


def test_bash_which_divides_words_at_a_colon_completes_references(filled: Path) -> None:
    (decision,) = document("list", "--namespace", "decisions", cwd=filled)["memories"]
    commit = decision["reference"].partition(":")[2]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    offered = [
        subprocess.run(
            ("bash", "-c", BASH, "bash", *words),
            cwd=filled, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=True,
        ).stdout.split()
        for words in (["dec"], ["decisions", ":"], ["decisions", ":", commit[:2]], ["plans", ":"])
    ]  # fmt: skip
    assert offered == [[decision["reference"]], [commit], [commit], []]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_hazard_what_a_shell_would_run_or_show_otherwise_is_not_offered(
    repo: Path, shell: str
) -> None:
    odd = (
        "$(touch x)",
        "`touch x`",
        "a;touch x",
        "a\\nb",
        "\\e[31mred",
        "--yes",
        "a'b",
        "~/a",
        "a*",
    )
    tags = ", ".join(f'"{one}"' for one in (*odd, "plain-1", "über/alles"))
    note = f"---\ntype: t\ntimestamp: 2025-12-14T10:30:00Z\nsummary: s\ntags: [{tags}]\n---\n\nB\n"
    run_git(repo, "notes", "--ref=cs/decisions", "add", "-m", note)
    words = ("notes", "list", "--tag", "")
    os_words = {"COMP_WORDS": " ".join(("cspace", *words)), "COMP_CWORD": "4"} | FISH
    said = "\n".join(complete(repo, *words, shell=shell, more=os_words))
    assert "plain-1" in said
    assert "über/alles" in said
    assert not [mark for mark in "$`;\x1b*~" if mark in said.replace("_arguments '*:", "")]
    assert not [word for word in ("touch", "red", "--yes") if word in said]


def test_with_a_model_a_question_finds_what_shares_no_word_with_it(
    repo: Path, models: Path
) -> None:
    for summary in ("Chose RS256 for signing tokens", "Tables are wider on phones"):
        capture(repo, "decisions", summary)
    words = ("recall", "how", "is", "a", "login", "verified")
    told = document(*words, "--limit", "1", cwd=repo)
    assert [hit["summary"] for hit in told["hits"]] == ["Chose RS256 for signing tokens"]
    assert (told["mode"], told["reason"]) == ("hybrid", "")
    shown = notes(*words, cwd=repo)
    assert "meaning 0." in shown.stdout
    assert "by words and by meaning" in shown.stderr
    assert "search: by words and by meaning (all-MiniLM" in notes("status", cwd=repo).stdout
    nothing = notes("recall", "zebra", cwd=repo, ok=3)
    assert "nothing here is about 'zebra'" in nothing.stderr
