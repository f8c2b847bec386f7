"""Recall by meaning: what is embedded when, and what is said of the rest."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cspace import files
from cspace.errors import CspaceError
from cspace.events import Event, State
from cspace.index.embedder import Missing
from cspace.notes.catalog import EMBEDDED_AT_ONCE, Catalog
from cspace.notes.question import Mode, Question
from tests.notes.annotated import annotate, draft, open_catalog

SIZE = 100
SEA = ("walrus", "ocean", "heron")


@dataclass
class WordEmbedder:
    """Texts that have a word of the sea are near each other; any two others are not."""

    id: str = "words"
    dimensions: int = 64
    seen: list[str] = field(default_factory=list)
    watched: Path | None = None
    locked: list[bool] = field(default_factory=list)

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        self.seen += texts
        if self.watched is not None:
            self.locked.append(files.is_locked(self.watched))
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> bytes:
        about = "sea" if any(word in text for word in SEA) else text
        digest = hashlib.sha512(about.encode("utf-8", "replace")).digest()
        return struct.pack("<64f", *((one - 127.5) / 590 for one in digest))


@dataclass
class BrokenEmbedder(WordEmbedder):
    def embed(self, texts: Sequence[str]) -> list[bytes]:
        raise CspaceError(f"the model is damaged: {len(texts)} texts")


@pytest.fixture
def catalog(repo: Path) -> Catalog:
    annotate(repo, [(f"Chose plan{one}", f"because of reason{one}\n") for one in range(SIZE)])
    catalog = open_catalog(repo)
    catalog.store.capture(draft("Where the walrus lives"))
    return catalog


def silent(_: Event) -> None:
    return None


def test_recall_finds_by_meaning_what_was_just_captured(catalog: Catalog) -> None:
    found = catalog.recall(Question("deep ocean"), WordEmbedder())
    hit = found.hits[0]
    assert (found.mode, hit.memory.record.summary) == (Mode.HYBRID, "Where the walrus lives")
    assert (hit.why.words, hit.why.vector_rank) == ((), 1)
    assert hit.why.nearness == pytest.approx(1.0)


def test_a_recall_embeds_a_bounded_number_and_says_how_many_are_left(catalog: Catalog) -> None:
    embedder = WordEmbedder()
    found = catalog.recall(Question("ocean"), embedder)
    assert len(embedder.seen) == EMBEDDED_AT_ONCE + 1
    assert found.without_vector == SIZE + 1 - EMBEDDED_AT_ONCE
    assert "Where the walrus lives\n\nA reason.\n" in embedder.seen


def test_reindex_embeds_everything_once_and_reports_it(catalog: Catalog) -> None:
    embedder, events = WordEmbedder(), list[Event]()
    assert catalog.reindex(events.append, embedder).without_vector == 0
    steps = [(one.done, one.total) for one in events if one.state is State.ADVANCED]
    assert steps == [(64, SIZE + 1), (SIZE + 1, SIZE + 1)]
    assert len(embedder.seen) == len(set(embedder.seen)) == SIZE + 1


def test_hazard_a_text_that_did_not_change_is_never_embedded_twice(catalog: Catalog) -> None:
    catalog.reindex(silent, WordEmbedder())
    again = WordEmbedder()
    assert catalog.reindex(silent, again).embedder == "words"
    catalog.store.forget(catalog.recall(Question("plan7")).hits[0].memory.reference)
    catalog.store.capture(draft("One more"))
    assert catalog.reindex(silent, again).without_vector == 0
    assert again.seen == ["One more\n\nA reason.\n"]
    assert catalog.recall(Question("ocean"), again).without_vector == 0


def test_hazard_nothing_is_embedded_while_a_lock_is_held(catalog: Catalog) -> None:
    for name in ("index.lock", "notes.lock"):
        embedder = WordEmbedder(watched=catalog.path.with_name(name))
        catalog.reindex(silent, embedder)
        catalog.recall(Question("ocean"), embedder)
        assert embedder.locked
        assert not any(embedder.locked)


def test_without_an_embedder_recall_is_by_words_and_says_why(catalog: Catalog) -> None:
    found = catalog.recall(Question("plan7"), Missing("no model here", "cspace notes reindex"))
    assert (found.mode, found.reason) == (Mode.LEXICAL, "no model here")
    assert [hit.memory.record.summary for hit in found.hits] == ["Chose plan7"]
    assert catalog.recall(Question("plan7")).mode is Mode.LEXICAL


def test_an_embedder_that_fails_leaves_a_search_by_words(catalog: Catalog) -> None:
    found = catalog.recall(Question("plan7"), BrokenEmbedder())
    assert (found.mode, found.reason) == (Mode.LEXICAL, "the model is damaged: 32 texts")
    assert [hit.memory.record.summary for hit in found.hits] == ["Chose plan7"]


def test_another_embedder_starts_anew(catalog: Catalog) -> None:
    catalog.reindex(silent, WordEmbedder())
    found = catalog.recall(Question("ocean"), WordEmbedder(id="other"))
    assert found.without_vector == SIZE + 1 - EMBEDDED_AT_ONCE
    assert catalog.refresh().embedder == "other"


def test_vectors_outlive_an_update_and_lost_ones_are_made_again(catalog: Catalog) -> None:
    catalog.reindex(silent, WordEmbedder())
    catalog.path.write_bytes(b"")
    assert catalog.refresh().without_vector == SIZE + 1
    assert catalog.reindex(silent, WordEmbedder()).without_vector == 0


def test_a_status_that_changes_embeds_nothing_again(catalog: Catalog) -> None:
    catalog.reindex(silent, WordEmbedder())
    again = WordEmbedder()
    memory = catalog.store.capture(draft("Where the walrus lives", "Another reason.\n")).memory
    catalog.recall(Question("x7"), again)
    catalog.store.forget(memory.reference)
    catalog.recall(Question("x7"), again)
    assert again.seen == ["Where the walrus lives\n\nAnother reason.\n", "x7", "x7"]
