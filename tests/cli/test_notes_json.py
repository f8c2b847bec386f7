"""What scripts rely on: the keys of the document that each `cspace notes … --json` prints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.cli.commit_notes import capture, document

MEMORY = {
    *("reference", "id", "namespace", "commit", "type", "timestamp", "summary", "spec", "phase"),
    *("tags", "severity", "category", "file", "line", "status", "resolution", "resolved_at"),
}
INDEX = {"counts", "rebuilt", "embedder", "without_vector", "in_memory"}
OFFLINE = {"CSPACE_OFFLINE": "1"}


def keys(found: Any) -> set[str]:
    """Return the keys of a document, without that of the schema."""
    return set(found) - {"schema_version"}


KEYS = {
    "capture learnings --summary s --body b": {"memory", "is_new", "resembles"},
    "list": {"memories", "left_out"},
    "show {reference}": {"memories"},
    "show {reference} --files": {"memories", "files"},
    "recall first": {"mode", "reason", "hits"},
    "recall first --files": {"mode", "reason", "hits", "files"},
    "status": {"namespaces", "index", "embedder", "offer"},
    "reindex": {"index", "embedder", "restored"},
    "verify": {"namespaces", "differences", "restored"},
    "resolve {reference} --text t": {"memory"},
    "rescue": {"proposals", "rescued", "applied"},
    "configure": {"changes", "notices", "dry_run"},
    "forget {reference} --yes": {"forgotten", "copies"},
}


def test_each_command_prints_one_document_of_known_keys(repo: Path) -> None:
    reference = capture(repo, "blockers", "The first")

    def told(words: str) -> set[str]:
        named = words.format(reference=reference).split()
        return keys(document(*named, cwd=repo, env=OFFLINE))

    assert {words: told(words) for words in KEYS} == KEYS


def test_memories_have_the_same_keys_everywhere(repo: Path) -> None:
    reference = capture(repo, "blockers", "The first", body="b")
    listed = document("list", cwd=repo)["memories"][0]
    assert keys(listed) == MEMORY | {"number"}
    assert keys(document("show", reference, cwd=repo)["memories"][0]) == MEMORY | {"body"}
    hit = document("recall", "first", cwd=repo)["hits"][0]
    assert keys(hit) == MEMORY | {"score", "why"}
    why = {"words", "fields", "nearness", "lexical_rank", "vector_rank"}
    assert set(hit["why"]) == why
    assert keys(document("recall", "first", "--full", cwd=repo)["hits"][0]) == keys(hit) | {"body"}


def test_status_says_what_the_index_holds_and_what_embeds(repo: Path) -> None:
    capture(repo, "blockers", "The first")
    told = document("status", cwd=repo)
    assert set(told["index"]) == INDEX
    assert set(told["embedder"]) == {"id", "reason", "hint"}
    assert set(told["namespaces"][0]) == {
        "namespace", "memories", "orphaned", "copies", "tip",
    }  # fmt: skip


def test_bytes_that_are_no_utf_8_are_told_apart(repo: Path) -> None:
    words = ("capture", "decisions", "--summary", "Bytes")
    document(*words, cwd=repo, said=b"\xff\xfe")
    (found,) = document("list", cwd=repo)["memories"]
    (shown,) = document("show", found["reference"], cwd=repo)["memories"]
    assert shown["body"] == "\udcff\udcfe"
