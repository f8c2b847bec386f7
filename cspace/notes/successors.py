"""Finds which commit a rewritten one has become, by what it changed and by who made it when."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice

from cspace.git_history import CommitFacts
from cspace.git_patches import Patch
from cspace.notes.rewritten import SLACK, Rewritten

_MOST_RANGES = 5_000
# A change of nothing but shorter lines stands in many commits.
_TELLING = 8
_PICKED = re.compile(rb"\(cherry picked from commit ([0-9a-f]{40,64})\)")
_AUTOSQUASH = (b"fixup! ", b"squash! ", b"amend! ")


class Kind(StrEnum):
    """How a commit was rewritten, as far as can be seen. A cherry-pick without -x is a rebase."""

    AMEND = "amend"
    REBASE = "rebase"
    SQUASH = "squash"
    FIXUP = "fixup"
    CHERRY_PICK = "cherry-pick"
    CHOSEN = "chosen"  # by a person


@dataclass(frozen=True, slots=True)
class Found:
    """What a commit may have become.

    Attributes:
        kind: None where there is no candidate.
        why: the evidence, in words.
        candidates: none, the one, or several between which nothing decides.
    """

    kind: Kind | None
    why: str
    candidates: tuple[CommitFacts, ...]


NOT_FOUND = Found(None, "no commit has its change", ())


def find_successors(known: Rewritten) -> dict[str, Found]:
    """Return for each orphan what it has become; the surest evidence decides."""
    known.read(known.pair(one) for one in (*_plain(known.reached), *_plain(known.orphans.values())))
    search = _Search(known)
    found = {one: search.by_itself(facts) for one, facts in known.orphans.items()}
    left = [known.orphans[one] for one, what in found.items() if what is NOT_FOUND]
    known.read(islice((pair for one in left for pair in known.ranges(one)), _MOST_RANGES))
    return found | {one.id: search.within_others(one) for one in left}


def _plain(commits: Iterable[CommitFacts]) -> Iterator[CommitFacts]:
    """Yield those whose own change says something; a merge's is that of a whole branch."""
    return (one for one in commits if len(one.parents) < 2)


@dataclass(slots=True)
class _Search:
    known: Rewritten
    by_author: dict[tuple[bytes, int], list[CommitFacts]] = field(init=False)
    by_patch: dict[str, list[CommitFacts]] = field(init=False)
    by_line: dict[bytes, list[CommitFacts]] = field(init=False)
    by_pick: dict[bytes, list[CommitFacts]] = field(init=False)

    def __post_init__(self) -> None:
        self.by_author, self.by_patch = defaultdict(list), defaultdict(list)
        self.by_line, self.by_pick = defaultdict(list), defaultdict(list)
        for one in self.known.reached:
            self.by_author[one.author, one.authored].append(one)
            for picked in _PICKED.findall(one.body):
                self.by_pick[picked].append(one)
        for one in _plain(self.known.reached):
            patch = self.patch(one)
            if patch.id:
                self.by_patch[patch.id].append(one)
            for line in patch.lines:
                self.by_line[line].append(one)

    def patch(self, one: CommitFacts) -> Patch:
        return self.known.patch(self.known.pair(one))

    def by_itself(self, one: CommitFacts) -> Found:
        """Look for the commit that is this one, made anew."""
        if picked := self.by_pick.get(one.id.encode()):
            return Found(Kind.CHERRY_PICK, "its message names it", tuple(picked))
        same = self.by_patch.get(self.patch(one).id or "", [])
        made = self.by_author.get((one.author, one.authored), [])
        made, same = self._not_before(one, made), self._not_before(one, same)
        both = [each for each in same if each in made]
        if both:
            return Found(_moved(one, both), "same patch id, author and author date", tuple(both))
        titled = [each for each in made if each.subject == one.subject]
        if titled:
            return Found(_moved(one, titled), "same author, author date and subject", tuple(titled))
        if same:
            kind = _moved(one, same)
            kind = Kind.SQUASH if kind is Kind.REBASE else kind
            return Found(kind, "same patch id", tuple(same))
        return NOT_FOUND

    def within_others(self, one: CommitFacts) -> Found:
        """Look for the commit that this one went into together with others."""
        ids = {self.known.patch(pair).id for pair in self.known.ranges(one)} - {None}
        same = (each for id_ in ids for each in self.by_patch.get(id_ or "", []))
        whole = self._not_before(one, same)
        if whole:
            return Found(self._joined(one, whole), "same patch id as a run of commits with it",
                         tuple(whole))  # fmt: skip
        held = self._not_before(one, self._holding(self.patch(one)))
        if held:
            return Found(self._joined(one, held), "each line that it changed is in it", tuple(held))
        made = self._not_before(one, self.by_author.get((one.author, one.authored), []))
        near = [each for each in made if self.known.paths(each) & self.known.paths(one)]
        if near:
            return Found(_moved(one, near), "same author, author date and a path", tuple(near))
        return NOT_FOUND

    def _holding(self, patch: Patch) -> Iterator[CommitFacts]:
        if any(len(line.partition(b"\n")[2].strip()) > _TELLING for line in patch.lines):
            rarest = min(patch.lines, key=lambda line: len(self.by_line.get(line, ())))
            yield from (
                each for each in self.by_line.get(rarest, ()) if self.patch(each).holds(patch)
            )

    def _not_before(self, one: CommitFacts, found: Iterable[CommitFacts]) -> list[CommitFacts]:
        """Leave out what the orphan was built upon: that is nothing that it can have become."""
        later = [each for each in found if each.committed + SLACK >= one.committed]
        below = self.known.built_upon(one) if later else frozenset()
        return [each for each in dict.fromkeys(later) if each.id not in below]

    def _joined(self, one: CommitFacts, found: list[CommitFacts]) -> Kind:
        if one.subject.startswith(_AUTOSQUASH):
            return Kind.FIXUP
        # Both keep the first commit's subject and date, and only a squash keeps this one's message.
        made = {_made(each) for each in self.known.forgotten.values()}
        joined = all(_made(each) in made for each in found)
        told = any(one.subject in each.body for each in found)
        return Kind.FIXUP if joined and not told else Kind.SQUASH


def _made(one: CommitFacts) -> tuple[bytes, int, bytes]:
    return one.author, one.authored, one.subject


def _moved(one: CommitFacts, found: Iterable[CommitFacts]) -> Kind:
    return Kind.AMEND if all(each.parents == one.parents for each in found) else Kind.REBASE
