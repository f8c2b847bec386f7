"""What git still knows of commits that were rewritten, and of those that they may have become."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from cspace import git, git_history, git_objects, git_patches
from cspace.git_history import CommitFacts
from cspace.git_patches import NOTHING, Pair, Patch

# Clocks differ, and a rewritten commit is never much older than what it was made of.
SLACK = 24 * 3600
MOST_COMMITS = 20_000
# With more orphans than these their paths bound nothing.
_FEW = 40
# Of a chain, on each side of an orphan.
_CHAIN = 40


@dataclass(frozen=True, slots=True)
class Rewritten:
    """Commits, their trees and their changes; changes are read on demand, many at once.

    Attributes:
        orphans: the commits whose successors are looked for.
        forgotten: these and their neighbours that no ref reaches.
        reached: what they may have become, children before their parents.
        trees: by commit, of their parents too.
    """

    repository: Path
    orphans: dict[str, CommitFacts]
    forgotten: dict[str, CommitFacts]
    reached: tuple[CommitFacts, ...]
    trees: dict[str, str]
    empty: str
    _patches: dict[Pair, Patch] = field(default_factory=dict)
    _below: dict[str, list[CommitFacts]] = field(default_factory=dict)
    _upon: dict[str, frozenset[str]] = field(default_factory=dict)
    _forks: dict[str, str] = field(default_factory=dict)

    def pair(self, one: CommitFacts) -> Pair:
        """Return the trees between which a commit's own change lies."""
        return self.trees.get(one.parents[0], self.empty) if one.parents else self.empty, one.tree

    def patch(self, pair: Pair) -> Patch:
        """Return a change that was read."""
        return self._patches.get(pair, NOTHING)

    def read(self, pairs: Iterable[Pair]) -> None:
        """Read changes, those that are not known yet."""
        wanted = [pair for pair in dict.fromkeys(pairs) if pair not in self._patches]
        if wanted:
            self._patches.update(dict.fromkeys(wanted, NOTHING))
            self._patches.update(git_patches.read_patches(self.repository, wanted))

    def paths(self, one: CommitFacts) -> frozenset[bytes]:
        """Return the paths that a commit changed."""
        return git_patches.list_paths(self.repository, [self.pair(one)])

    def ranges(self, one: CommitFacts) -> Iterator[Pair]:
        """Yield the trees around each run of forgotten commits that this one is in, itself not."""
        firsts = [one, *islice(self._up(one), _CHAIN)]
        lasts = [one, *islice(self._down(one), _CHAIN)]
        for first in reversed(firsts):
            for last in lasts:
                if first is not last:
                    yield self.pair(first)[0], last.tree

    def _up(self, one: CommitFacts) -> Iterator[CommitFacts]:
        while one.parents and (above := self.forgotten.get(one.parents[0])):
            yield above
            one = above

    def _down(self, one: CommitFacts) -> Iterator[CommitFacts]:
        waiting = list(self._children().get(one.id, ()))
        while waiting:
            below = waiting.pop(0)
            yield below
            waiting += self._children().get(below.id, ())

    def built_upon(self, one: CommitFacts) -> frozenset[str]:
        """Return the reached commits that a forgotten one goes back to."""
        fork = self._fork(one)
        if fork not in self._upon:
            ids = git_history.list_ancestors(self.repository, fork) if fork in self.trees else ()
            self._upon[fork] = frozenset(ids)
        return self._upon[fork]

    def _fork(self, one: CommitFacts) -> str:
        """Return the first commit that is not forgotten, empty where there is none."""
        way, at = [one.id], one.parents[0] if one.parents else ""
        while at not in self._forks and (above := self.forgotten.get(at)):
            way.append(at)
            at = above.parents[0] if above.parents else ""
        found = self._forks.get(at, at)
        self._forks.update(dict.fromkeys(way, found))
        return found

    def _children(self) -> dict[str, list[CommitFacts]]:
        if not self._below:
            for each in self.forgotten.values():
                for parent in each.parents[:1]:
                    self._below.setdefault(parent, []).append(each)
        return self._below


def load_rewritten(repository: Path, orphans: Iterable[str]) -> Rewritten:
    """Read what git has of commits that nothing reaches, which must be here."""
    lost = git_history.read_commits(repository, orphans)
    around = (
        *git_history.list_unreachable(repository, lost),
        *git_history.list_forgotten(repository),
    )
    others = [one for one in dict.fromkeys(around) if one not in lost][:MOST_COMMITS]
    forgotten = lost | git_history.read_commits(repository, others)
    empty = git_patches.empty_tree(git.object_format(repository))
    trees = _trees(repository, forgotten.values())
    before = Rewritten(repository, lost, forgotten, (), trees, empty)
    reached = _list_reached(before)
    return Rewritten(
        repository, lost, forgotten, reached, trees | _trees(repository, reached), empty
    )


def _list_reached(known: Rewritten) -> tuple[CommitFacts, ...]:
    commits = known.orphans.values()
    since = min((min(one.authored, one.committed) for one in commits), default=0) - SLACK
    touched = [known.paths(one) for one in commits] if len(commits) <= _FEW else []
    paths = frozenset[bytes]().union(*touched) if all(touched) else frozenset[bytes]()
    found = git_history.iter_reachable(known.repository, since=max(since, 0), paths=paths)
    return tuple(islice(found, MOST_COMMITS))


def _trees(repository: Path, commits: Iterable[CommitFacts]) -> dict[str, str]:
    known = {one.id: one for one in commits}
    parents = {parent for one in known.values() for parent in one.parents[:1]} - known.keys()
    # Behind the cut of a shallow clone there is none.
    here = git_objects.object_sizes(repository, parents)
    more = git_history.read_commits(repository, here)
    return {one.id: one.tree for one in (*known.values(), *more.values())}
