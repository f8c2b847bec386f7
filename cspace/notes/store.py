"""Memories in a repository's notes refs: captured, found, resolved and forgotten."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from cspace import git
from cspace.clock import Clock, utc_now
from cspace.errors import Conflict, NotFound, UsageError
from cspace.files import Owner
from cspace.git_import import BlobReader, Place, blob_reader
from cspace.git_notes import change_notes, list_notes, read_notes
from cspace.git_notes_tree import CAREFUL, NotesTree
from cspace.notes.draft import Draft, check_body, check_draft
from cspace.notes.memory import Memory, settle
from cspace.notes.namespaces import PREFIX, Namespace
from cspace.notes.note import Note, parse_note
from cspace.notes.overwritten import find_overwritten
from cspace.notes.page import Page
from cspace.notes.record import RESOLUTION, TOMBSTONE, Record, identity
from cspace.notes.reference import read_reference
from cspace.notes.secrets import refuse_leaks
from cspace.notes.writing import exclusive, until_done

MOST_NAMED = 8


@dataclass(frozen=True, slots=True)
class Captured:
    """A memory, and whether it is new: the same capture twice is one."""

    memory: Memory
    is_new: bool


@dataclass(frozen=True, slots=True)
class NotesStore:
    """The memories of a repository.

    Attributes:
        repository: a directory in it, which is no workspace of an instance.
        place: its common directory and its hash.
        by: who we are, for the lock's waiters.
        reader: a program that reads for us; None starts one each time.
    """

    repository: Path
    place: Place
    owner: Owner | None = None
    by: str = "cspace"
    now: Clock = utc_now
    reader: BlobReader | None = None

    @contextlib.contextmanager
    def kept_open(self) -> Iterator[NotesStore]:
        """Give a store whose program for reading runs on, for who captures again and again."""
        with blob_reader(self.repository) as reader:
            yield replace(self, reader=reader)

    def capture(
        self, draft: Draft, commit: str = "HEAD", *, allow_secret: bool = False
    ) -> Captured:
        """Attach a record to a commit.

        Raises:
            UsageError: the draft can not be a record.
            NotFound: there is no such commit.
            LeakFound: a text looks like a secret; nothing was written.
            Conflict: the same text stands there with other fields, or was forgotten there; or the
                lock or the ref could not be had.
            CspaceError: the repository can not be written.
        """
        return self.capture_all([(draft, commit)], allow_secret=allow_secret)[0]

    def capture_all(
        self, drafts: Iterable[tuple[Draft, str]], *, allow_secret: bool = False
    ) -> tuple[Captured, ...]:
        """Attach records to commits, as `capture`; one write for each namespace.

        Where one of them is refused, nothing of its namespace is written.
        """
        wanted = tuple(drafts)
        for draft, _ in wanted:
            check_draft(draft)
        if not allow_secret:
            refuse_leaks(text for draft, _ in wanted for text in draft.texts())
        captured: dict[int, Captured] = {}
        for namespace in dict.fromkeys(draft.namespace for draft, _ in wanted):
            asked = {
                number: (draft, commit)
                for number, (draft, commit) in enumerate(wanted)
                if draft.namespace is namespace
            }
            captured |= self._capture(namespace, asked)
        return tuple(captured[number] for number in range(len(wanted)))

    def _capture(
        self, namespace: Namespace, asked: Mapping[int, tuple[Draft, str]]
    ) -> dict[int, Captured]:
        at, captured = self.now(), dict[int, Captured]()

        def plan(notes: NotesTree) -> Mapping[str, bytes]:
            pages: dict[str, Page] = {}
            for number, (draft, revision) in asked.items():
                commit = _resolve(notes, revision)
                if commit not in pages:
                    pages[commit] = Page.open(notes, namespace, commit)
                memory, is_new = pages[commit].add(draft.record(at))
                captured[number] = Captured(memory, is_new)
            return {commit: page.content for commit, page in pages.items() if page.is_changed}

        self._change(namespace, plan)
        return captured

    def find(self, reference: str) -> tuple[Memory, ...]:
        """Return the memories that `<namespace>:<commit's start>[/<id's start>]` names.

        Raises:
            UsageError: it is no such reference.
            NotFound: it says HEAD, and there is no such commit.
        """
        wanted = read_reference(self.repository, reference)
        return tuple(
            memory
            for memory in self._read(wanted.namespace, wanted.commit)
            if memory.id.startswith(wanted.id)
        )

    def get(self, reference: str) -> Memory:
        """Return the one memory that a reference names.

        Raises:
            NotFound: there is none; names near ones.
            Conflict: there are several; names them.
        """
        found = self.find(reference)
        if not found:
            raise NotFound(f"{reference}: there is no such memory", hint=self._hint(reference))
        if len(found) > 1:
            names = ", ".join(_names(found)[:MOST_NAMED])
            raise Conflict(
                f"{reference}: {len(found)} memories are called so", hint=f"name one: {names}"
            )
        return found[0]

    def _hint(self, reference: str) -> str:
        """Name what is near: the others on that commit, else those whose commit starts alike."""
        wanted = read_reference(self.repository, reference)
        for start in (wanted.commit, wanted.commit[:2]):
            near = itertools.islice(self._read(wanted.namespace, start), MOST_NAMED)
            if names := [memory.reference for memory in near]:
                return f"near it: {', '.join(names)}"
        return f"see what there is: cspace notes list --namespace {wanted.namespace}"

    def iter_memories(self, namespaces: Iterable[Namespace] | None = None) -> Iterator[Memory]:
        """Yield all memories, namespace by namespace, in no order that means anything."""
        for namespace in Namespace if namespaces is None else namespaces:
            yield from self._read(namespace)

    def iter_notes(self, namespace: Namespace) -> Iterator[tuple[str, Note]]:
        """Yield each annotated object of a namespace and its note."""
        yield from self._notes(namespace)

    def _read(self, namespace: Namespace, start: str = "") -> Iterator[Memory]:
        for commit, note in self._notes(namespace, start):
            yield from settle(namespace, commit, note)

    def _notes(self, namespace: Namespace, start: str = "") -> Iterator[tuple[str, Note]]:
        """Yield the notes of the objects whose ids start so."""
        tip = git.list_commit_refs(self.repository, namespace.ref).get(namespace.ref)
        if tip is None:
            return
        commits: dict[str, list[str]] = {}
        for commit, blob in list_notes(self.repository, tip).items():
            if commit.startswith(start):
                commits.setdefault(blob, []).append(commit)
        for blob, content in read_notes(self.repository, commits):
            note = parse_note(namespace, content)
            for commit in commits[blob]:
                yield commit, note

    def tips(self) -> dict[Namespace, str]:
        """Return the commit that each namespace which has notes is at."""
        refs = git.list_commit_refs(self.repository, PREFIX.rstrip("/"))
        return {one: refs[one.ref] for one in Namespace if one.ref in refs}

    def broken(self) -> tuple[Namespace, ...]:
        """Return the namespaces whose ref is at no commit: nothing is read of them."""
        refs, tips = git.list_refs(self.repository, PREFIX.rstrip("/")), self.tips()
        return tuple(one for one in Namespace if one.ref in refs and one not in tips)

    def resolve(self, reference: str, text: str, *, allow_secret: bool = False) -> Memory:
        """Say how a blocker or a review finding was settled, and return it as it is now.

        Raises:
            UsageError: nothing is to be resolved there, or the text says nothing.
            NotFound: there is no such memory.
            LeakFound: the text looks like a secret.
            Conflict: as for `get` and `capture`.
        """
        if not text.strip():
            raise UsageError(f"resolution {text!r}: it is empty", hint="say what settled it")
        check_body(text)
        if not allow_secret:
            refuse_leaks([("resolution", text)])
        memory = self.get(reference)
        if not memory.namespace.has_status:
            raise UsageError(
                f"{reference}: only blockers and reviews are resolved",
                hint=f"look at it: cspace notes show {reference}",
            )
        page = self._say(memory, RESOLUTION, "Resolves", text)
        return next(one for one in page.memories() if one.id == memory.id)

    def forget(self, reference: str) -> Memory:
        """Remove a memory from its commit for good, and return what it was.

        Its note keeps a tombstone only; git's history of the notes still has its bytes.
        """
        memory = self.get(reference)
        self._say(memory, TOMBSTONE, "Removes", "")
        return memory

    def iter_copies(self, memory: Memory) -> Iterator[Memory]:
        """Yield the same memory on other commits, where somebody captured or git carried it."""
        for one in self._read(memory.namespace):
            if one.id == memory.id and one.commit != memory.commit:
                yield one

    def mend(self) -> tuple[Memory, ...]:
        """Bring back what a `git notes append` took away that ran at the same time as a capture.

        Every write does so in its namespace; where it was the last, this costs no more than a look
        at the ref.

        Returns:
            The memories that are there again.

        Raises:
            Conflict: the lock or the ref could not be had.
            CspaceError: the repository can not be written.
        """
        said = git.list_subjects(self.repository, PREFIX.rstrip("/"))
        doubtful = [one for one in Namespace if said.get(one.ref, CAREFUL) != CAREFUL]
        return tuple(memory for one in doubtful for memory in self._mend(one))

    def _mend(self, namespace: Namespace) -> tuple[Memory, ...]:
        back: list[Memory] = []

        def plan(notes: NotesTree) -> Mapping[str, bytes]:
            back.clear()
            for commit, after in notes.restored.items():
                before = parse_note(namespace, notes.read_stored(commit) or b"")
                ids = {one.id for one in settle(namespace, commit, before)}
                there = settle(namespace, commit, parse_note(namespace, after))
                back.extend(one for one in there if one.id not in ids)
            return {}

        self._change(namespace, plan)
        return tuple(back)

    def _say(self, memory: Memory, type_: str, verb: str, text: str) -> Page:
        """Add a record about a memory, and return the note with it."""
        # Of two records the id alone tells them apart: so it stands where ids are made from.
        summary = f"{verb} {memory.id}"
        record = Record(
            namespace=memory.namespace, type=type_, timestamp=self.now().replace(microsecond=0),
            id=identity(memory.namespace, type_, None, summary, text),
            summary=summary, body=text, of=memory.id,
        )  # fmt: skip
        pages: list[Page] = []

        def plan(notes: NotesTree) -> Mapping[str, bytes]:
            page = Page.open(notes, memory.namespace, memory.commit)
            page.check_living(memory)
            page.add(record)
            pages.append(page)
            return {memory.commit: page.content} if page.is_changed else {}

        self._change(memory.namespace, plan)
        return pages[-1]

    def _change(
        self, namespace: Namespace, plan: Callable[[NotesTree], Mapping[str, bytes | None]]
    ) -> None:
        def whole(notes: NotesTree) -> Mapping[str, bytes | None]:
            notes.restored |= find_overwritten(self.repository, namespace, notes)
            return plan(notes)

        repository, ref, at = self.repository, namespace.ref, self.now()
        with exclusive(self.place, self.by, self.owner):
            until_done(lambda: change_notes(repository, ref, whole, at, self.reader))


def _resolve(notes: NotesTree, revision: str) -> str:
    found = notes.reader.read_object(f"{revision}^{{commit}}") if revision.isprintable() else None
    if found is None:
        first = "git commit --allow-empty -m start"
        hint = f"make one: {first}" if revision == "HEAD" else "git log --oneline"
        raise NotFound(f"commit {revision!r}: there is no such commit", hint=hint)
    return found.id


def _names(memories: tuple[Memory, ...]) -> list[str]:
    """Return names that tell memories apart: long ones where the short ones do not."""
    short = [one.reference for one in memories]
    if len(set(short)) == len(short):
        return short
    return [f"{one.namespace}:{one.commit}/{one.id}" for one in memories]
