"""Which memories hold the words of a query, and which are most likely about it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

from cspace.claude_memory.index import same_name
from cspace.claude_memory.listing import Memory, header_text, load_index, parse_memory
from cspace.claude_memory.place import Place
from cspace.claude_memory.tree import Walk, read_memory
from cspace.docstore.frontmatter import parse_front_matter
from cspace.docstore.opened import Document, Skipped, UnreadableDocument
from cspace.docstore.ranking import Match, Ranking, parse_query
from cspace.docstore.words import Term, find_line
from cspace.paths import INDEX

DEFAULT_LIMIT = 10
SNIPPET = 160
RECALLED = 5
HEAD_LINES = 30


@dataclass(frozen=True, slots=True)
class Hit:
    """One file that holds a word of the query.

    Attributes:
        path: relative to the memory's directory.
        line: where the snippet stands, from 1.
        snippet: the line that has most of the words, cut.
    """

    path: str
    name: str
    type: str
    line: int
    snippet: str
    score: float


@dataclass(frozen=True, slots=True)
class Hits:
    """What a search found, the best first.

    Attributes:
        left_out: how many more there are than limit allowed.
    """

    hits: tuple[Hit, ...]
    left_out: int
    skipped: tuple[Skipped, ...]


@dataclass(frozen=True, slots=True)
class Recalled:
    """What a recall picked, the best first."""

    memories: tuple[Memory, ...]
    skipped: tuple[Skipped, ...]


@dataclass(frozen=True, slots=True)
class _Place:
    path: PurePosixPath
    name: str
    type: str


def search_memories(place: Place, query: str, *, limit: int = DEFAULT_LIMIT) -> Hits:
    """Rank the files that hold words of the query; "quoted words" have to stand together.

    Every file is read, the index too. Name and description weigh more than the text.

    Raises:
        UsageError: the query has no word, or is too long.
    """
    ranking: Ranking[_Place] = Ranking(parse_query(query))
    walk = Walk(place)
    for path, document in walk.documents():
        text = document.content.decode("utf-8", "replace")
        ranking.count(len(text))
        if ranking.may_match(f"{path.name}\n{text}"):
            header = parse_front_matter(document.content)
            name = header_text(header, "name") or path.stem
            title = f"{path.stem}\n{name}\n{header_text(header, 'description')}"
            ranking.look(_Place(path, name, header_text(header, "type")), title, text)
    ranked = ranking.ranked()
    shown = (_hit(place, match, score, ranking.terms) for score, match in ranked[:limit])
    hits = tuple(hit for hit in shown if hit is not None)
    return Hits(hits, max(0, len(ranked) - limit), tuple(walk.skipped))


def _hit(place: Place, match: Match[_Place], score: float, terms: tuple[Term, ...]) -> Hit | None:
    # Lines are looked for in what is shown only: that costs more than the score.
    found = match.place
    try:
        text = read_memory(place, found.path).content.decode("utf-8", "replace")
    except (FileNotFoundError, UnreadableDocument):
        return None  # gone since it was found
    line, snippet = find_line(text, terms, SNIPPET)
    return Hit(str(found.path), found.name, found.type, line, snippet, round(score, 3))


def recall(place: Place, query: str) -> Recalled:
    """Pick at most RECALLED files for a query, by their first HEAD_LINES lines alone.

    What the front matter and the index say of a file weighs more than its text. The cost does not
    grow with the files' sizes.

    Raises:
        UsageError: the query has no word, or is too long.
    """
    ranking: Ranking[Memory] = Ranking(parse_query(query))
    index = load_index(place)
    linked = index.lines_by_path() if index else {}
    walk = Walk(place)
    for path, document in walk.heads():
        if path == INDEX:
            continue
        head = first_lines(document)
        said = linked.get(same_name(str(path)), "")
        ranking.count(len(head))
        if ranking.may_match(f"{path}\n{said}\n{head}"):
            memory = parse_memory(path, document, linked)
            parts = (path.stem, memory.name, memory.description, memory.type, said)
            ranking.look(memory, "\n".join(parts), head)
    picked = tuple(match.place for _, match in ranking.ranked()[:RECALLED])
    return Recalled(picked, tuple(walk.skipped))


def load_bodies(place: Place, recalled: Recalled) -> tuple[bytes, ...]:
    """Read what was picked; empty for what is gone since, or can not be read."""

    def load(memory: Memory) -> bytes:
        try:
            return read_memory(place, PurePosixPath(memory.path)).content
        except (FileNotFoundError, UnreadableDocument):
            return b""

    return tuple(map(load, recalled.memories))


def first_lines(document: Document) -> str:
    """Return the first HEAD_LINES lines of a document."""
    lines = document.content.split(b"\n", HEAD_LINES)[:HEAD_LINES]
    return b"\n".join(lines).decode("utf-8", "replace")
