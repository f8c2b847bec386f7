"""The index of the notes: what it was made from, whether it still says what git says, recall."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from cspace.docstore.ranking import parse_query
from cspace.errors import Conflict, CspaceError, UsageError
from cspace.events import Event, Report, State
from cspace.index.database import BrokenIndex, ReadOnlyIndex
from cspace.index.embedder import Embedder, Missing
from cspace.index.index import Index
from cspace.index.model import Filters, Hit
from cspace.notes.anchors import commits_touching
from cspace.notes.catalogued import FORMAT, memory_of
from cspace.notes.copies import anchor_of, find_copies, without_copies
from cspace.notes.draft import MAX_TAGS
from cspace.notes.indexfile import IndexFile, build_in_memory
from cspace.notes.listing import Listed, Wanted, list_memories, number_memories
from cspace.notes.namespaces import Namespace
from cspace.notes.question import MAX_LIMIT, Mode, Question, Recalled, Recollection, Why
from cspace.notes.reading import Tips, read_memories, state_of, tips_of, weigh_changes
from cspace.notes.store import NotesStore

# Texts that a recall embeds of those which are not yet, the newest first: about a second's work.
EMBEDDED_AT_ONCE = 32
# So many new notes are read into the index in a few milliseconds.
MOST_CHANGES = 50
MOST_CHANGED_BYTES = 256 * 1024
# Texts between two reports of progress, and between two writes.
BATCH = 64
_SHOWN = 10
_FIELDS = {"title": "summary", "text": "body"}


@dataclass(frozen=True, slots=True)
class Difference:
    """How a namespace's index differs from git.

    Attributes:
        in_git: memories that git holds.
        in_index: memories that the index holds.
        missing: keys that only git has; of many the first.
        extra: keys that only the index has; of many the first.
    """

    namespace: Namespace
    in_git: int
    in_index: int
    missing: tuple[str, ...]
    extra: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CatalogState:
    """What the index holds now.

    Attributes:
        counts: memories by namespace, without those that have none.
        rebuilt: why it was built anew; empty where it was not.
        embedder: whose vectors it has.
        without_vector: texts that no vector stands for.
        in_memory: it could not be written, and is gone with this process.
    """

    counts: dict[Namespace, int]
    rebuilt: str
    embedder: str | None
    without_vector: int
    in_memory: bool


@dataclass(slots=True)
class Catalog:
    """The index of a repository's notes, `<common directory>/cspace/index.db`. It is derived.

    Attributes:
        store: the notes themselves.
    """

    store: NotesStore
    _idle: Index | None = field(default=None, repr=False)
    _in_memory: Index | None = field(default=None, repr=False)
    _rebuilt: str = ""
    _distrusted: bool = False

    @property
    def path(self) -> Path:
        """Where the index lies; it need not exist."""
        return self.store.place.common_directory / "cspace/index.db"

    def refresh(self) -> CatalogState:
        """Bring the index to what git says now; costs a git that lists ten refs where it is so.

        Nothing is created where no memory was ever captured. Where the index can not be written it
        is built in memory.

        Raises:
            CspaceError: git lists notes that can not be read; the index is as it was.
        """
        with self._opened() as index:
            return self._state(index)

    def reindex(self, report: Report, embedder: Embedder | None) -> CatalogState:
        """Build the index anew from git, and embed what no vector stands for yet.

        Raises:
            CspaceError: git lists notes that can not be read; the index is as it was.
        """
        report(Event("notes", "index", State.STARTED, "from git"))
        tips = self.store.tips()
        if tips or self.path.is_file():
            with self._file.locked():
                self._file.build(self.store.tips())
        report(Event("notes", "index", State.DONE))
        with self._opened() as index:
            if embedder is not None:
                self._embed_all(index, embedder, report)
            return self._state(index)

    def verify(self) -> tuple[Difference, ...]:
        """Compare the index, brought up to date, with git; return the namespaces that differ.

        Raises:
            BrokenIndex: the file is damaged.
        """
        with self._opened() as index:
            return self._differences(index, self.store.tips())

    def examine(self) -> tuple[Difference, ...]:
        """Compare the index as it stands with git, where it says that it is up to date.

        Changes nothing; one that is behind or missing is brought there by the next recall.

        Raises:
            BrokenIndex: the file is damaged.
        """
        tips = self.store.tips()
        index = self._file.open_current(tips)
        if index is None:
            return ()
        with contextlib.closing(index):
            return self._differences(index, tips)

    def _differences(self, index: Index, tips: Tips) -> tuple[Difference, ...]:
        if damage := index.damage():
            raise BrokenIndex(f"{self.path}: {damage}", hint="cspace notes reindex")
        compared = (self._compare(index, one, tips.get(one)) for one in Namespace)
        return tuple(one for one in compared if one.missing or one.extra)

    def refresh_if_small(self, most: int) -> bool:
        """Bring the index to what git says where little changed; return whether it is so now.

        For who can not wait: costs two gits for each namespace that changed, and one. It is not so
        where the index can not be written, or somebody else writes it.

        Raises:
            CspaceError: as for `refresh`.
        """
        tips = self.store.tips()
        if not tips and not os.path.lexists(self.path):
            return True
        state = self._state_of_file()
        if state == state_of(tips):
            return True
        old = tips_of(state) if state.get("format") == FORMAT else {}
        count, size = weigh_changes(self.store.repository, old, tips)
        if count > most or size > MOST_CHANGED_BYTES:
            return False
        try:
            with self._file.locked(seconds=0):
                self._rebuilt = self._file.update(tips)
        except (Conflict, OSError, ReadOnlyIndex):
            return False
        return True

    def _state_of_file(self) -> Mapping[str, str]:
        """Return what the index as it stands was made from; nothing where none can be read."""
        index = self._file.open_as_it_is()
        if index is None:
            return {}
        with contextlib.closing(index):
            return index.kept().state

    def list(self, wanted: Wanted) -> Listed:
        """List memories by time: from the index where few notes are newer, else from git itself.

        The index costs what is listed, git what there is. Records of the index have no source.
        """
        with contextlib.suppress(CspaceError, OSError):
            if self.refresh_if_small(MOST_CHANGES):
                with contextlib.closing(Index.open(self.path)) as index:
                    hidden = self._copies(index)
                    total, found = index.newest(_filters(wanted), wanted.limit, without=hidden)
                return number_memories(map(memory_of, found), total - len(found))
        memories = self.store.iter_memories(wanted.namespaces or None)
        return list_memories(without_copies(self.store.repository, memories), wanted)

    def _copies(self, index: Index) -> tuple[str, ...]:
        """Return the keys of memories that are listed once, on another commit."""
        several = {one.key: memory_of(one) for one in index.repeated()}
        hidden = find_copies(self.store.repository, several.values())
        return tuple(key for key, memory in several.items() if anchor_of(memory) in hidden)

    def recall(self, question: Question, embedder: Embedder | Missing | None = None) -> Recalled:
        """Find the memories that a question is about, those just captured too.

        Raises:
            UsageError: the query has no word, or a filter's value is wrong.
        """
        parse_query(question.query)
        if not 1 <= question.limit <= MAX_LIMIT:
            raise UsageError(f"limit {question.limit} is not between 1 and {MAX_LIMIT}")
        if len(question.tags) > MAX_TAGS:
            raise UsageError(
                f"tags: {len(question.tags)} of them", hint=f"no memory has more than {MAX_TAGS}"
            )
        try:
            return self._recall(question, embedder)
        except (BrokenIndex, ReadOnlyIndex):
            # A damaged page shows only when it is read.
            self._heal()
            return self._recall(question, embedder)

    def _heal(self) -> None:
        try:
            with self._file.locked():
                self._file.build(self.store.tips())
        except (OSError, ReadOnlyIndex):
            self._distrusted = True

    def _recall(self, question: Question, embedder: Embedder | Missing | None) -> Recalled:
        with self._opened() as index:
            vector, reason = self._query_vector(index, question.query, embedder)
            filters = self._filters(index, question)

            def search(limit: int) -> tuple[Recollection, ...]:
                return tuple(
                    map(_recollection, index.search(question.query, vector, filters, limit))
                )

            hits = _once(self.store.repository, search, question.limit)
            if vector is None:
                return Recalled(hits, Mode.LEXICAL, reason)
            return Recalled(hits, Mode.HYBRID, without_vector=index.count_missing())

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Index]:
        """Give the index, brought to what git says now.

        It stays open for the next call, which then finds in memory what this one read. Two calls at
        once have one each.
        """
        index = self._current()
        try:
            yield index
        except (BrokenIndex, ReadOnlyIndex):
            index.close()
            raise
        if index is not self._in_memory:
            self._idle = index

    def _current(self) -> Index:
        tips = self.store.tips()
        if not tips and not os.path.lexists(self.path):
            return Index.create(None)
        if self._distrusted:
            return self._memorised()
        return self._reused(tips) or self._file.open_current(tips) or self._brought()

    def _reused(self, tips: Tips) -> Index | None:
        index, self._idle = self._idle, None
        if index is not None and index.path is not None and index.is_in_place():
            # What a killed writer left can be rolled back by one who may write only.
            with contextlib.suppress(BrokenIndex, ReadOnlyIndex):
                if index.kept().state == state_of(tips):
                    return index
        return None

    def _brought(self) -> Index:
        try:
            with self._file.locked():
                self._rebuilt = self._file.update(self.store.tips())
            return Index.open(self.path)
        except Conflict:
            # Somebody builds it for longer than we wait: what it says is better than nothing.
            if old := self._file.open_as_it_is():
                return old
            raise
        except (OSError, ReadOnlyIndex):
            return self._memorised()

    def _memorised(self) -> Index:
        """Return an index in memory, as the index can not be written."""
        tips = self.store.tips()
        if self._in_memory is None or self._in_memory.kept().state != state_of(tips):
            self._in_memory = build_in_memory(self.store.repository, tips)
        return self._in_memory

    def _filters(self, index: Index, question: Question) -> Filters:
        filters = _filters(question)
        any_of = dict(filters.any_of) | (
            {"file": (question.file,)} if question.file is not None else {}
        )
        if question.path is not None:
            commits = index.count("commit")
            touching = commits_touching(self.store.repository, commits, question.path)
            any_of["commit"] = tuple(touching)
        containing = {"author": question.author} if question.author else {}
        return replace(filters, any_of=any_of, containing=containing)

    def _query_vector(
        self, index: Index, query: str, embedder: Embedder | Missing | None
    ) -> tuple[bytes | None, str]:
        """Embed a query, and some of what no vector stands for yet; else say why not."""
        if embedder is None or isinstance(embedder, Missing):
            return None, embedder.reason if embedder else ""
        try:
            with contextlib.suppress(Conflict, OSError):
                self._expect(index, embedder)
                self._embed(index, embedder, EMBEDDED_AT_ONCE)
            return embedder.embed([query])[0], ""
        except CspaceError as error:
            return None, str(error)

    def _embed_all(self, index: Index, embedder: Embedder, report: Report) -> None:
        self._expect(index, embedder)
        total, done = index.count_missing(), 0
        if not total:
            return
        report(Event("notes", "embed", State.STARTED, f"{total} texts", total=total))
        # Bounded: another one put in the index's place does not show here what was embedded.
        while done < total and (taken := self._embed(index, embedder, BATCH)):
            done += taken
            report(Event("notes", "embed", State.ADVANCED, done=done, total=total))
        report(Event("notes", "embed", State.DONE, f"{done} texts"))

    def _embed(self, index: Index, embedder: Embedder, limit: int) -> int:
        """Embed up to limit texts, outside of all locks, and return how many were."""
        texts = index.missing_vectors(limit)
        if texts:
            found = embedder.embed(list(texts.values()))
            with self._writable(index) as open_:
                open_.put_vectors(embedder.id, dict(zip(texts, found, strict=True)))
        return len(texts)

    def _expect(self, index: Index, embedder: Embedder) -> None:
        if index.kept().embedder != embedder.id:
            with self._writable(index) as open_:
                open_.expect(embedder.id)

    @contextlib.contextmanager
    def _writable(self, index: Index) -> Iterator[Index]:
        """Give an index that can be changed, of the same file."""
        if index.path is None:
            yield index
            return
        with (
            self._file.locked(),
            contextlib.closing(Index.open(index.path, to_change=True)) as open_,
        ):
            yield open_

    @property
    def _file(self) -> IndexFile:
        return IndexFile(self.path, self.store.repository, self.store.owner, self.store.by)

    def _state(self, index: Index) -> CatalogState:
        return CatalogState(
            counts=_counts(index),
            rebuilt=self._rebuilt,
            embedder=index.kept().embedder,
            without_vector=index.count_missing(),
            in_memory=index is self._in_memory,
        )

    def _compare(self, index: Index, namespace: Namespace, tip: str | None) -> Difference:
        held = index.keys("namespace", namespace.value)
        known = read_memories(self.store.repository, namespace, tip) if tip else {}
        missing, extra = sorted(known.keys() - held), sorted(held - known.keys())
        shown = tuple(missing[:_SHOWN]), tuple(extra[:_SHOWN])
        return Difference(namespace, len(known), len(held), *shown)


def _filters(asked: Question | Wanted) -> Filters:
    """Return the filters that a question and a list have both."""
    one_of = {
        "namespace": tuple(one.value for one in asked.namespaces),
        "spec": _one(asked.spec),
        "status": _one(asked.status),
    }
    return Filters(
        any_of={name: values for name, values in one_of.items() if values},
        all_of={"tag": asked.tags} if asked.tags else {},
        since=asked.since.timestamp() if asked.since else None,
    )


def _one(value: str | None) -> tuple[str, ...]:
    return () if value is None else (value,)


def _counts(index: Index) -> dict[Namespace, int]:
    said = index.count("namespace")
    return {one: said[one.value] for one in Namespace if one.value in said}


def _once(
    repository: Path, search: Callable[[int], tuple[Recollection, ...]], limit: int
) -> tuple[Recollection, ...]:
    """Return what was found without copies of it, in whose place others come."""
    hits = search(limit)
    if hidden := find_copies(repository, (one.memory for one in hits)):
        hits = search(2 * limit)
        hidden = find_copies(repository, (one.memory for one in hits)) or hidden
    return tuple(one for one in hits if anchor_of(one.memory) not in hidden)[:limit]


def _recollection(hit: Hit) -> Recollection:
    fields = tuple(_FIELDS.get(one, one) for one in hit.fields)
    why = Why(hit.words, fields, hit.nearness, hit.lexical_rank, hit.vector_rank)
    return Recollection(memory_of(hit), hit.score, why)
