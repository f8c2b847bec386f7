"""Plans the refs that keep every object of a workspace's repositories alive in the host's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cspace.instance.snapshot_files import Keep
from cspace.instance.snapshot_git import Scratch, object_types, ref_fits
from cspace.instance.snapshot_manifest import Repository, show
from cspace.instance.snapshot_repository import Names

# There can be thousands, which the host has as a rule: one commit holds them together.
_FOLDED = b"refs/remotes/"


@dataclass(slots=True)
class Refs:
    """What to create, names relative to the prefix of an archive.

    Attributes:
        named: ref to object.
        keeps: by repository, what one more commit shall hold; `kept` is where it went.
        heads: the commits that worktrees are on; `covered` are the objects of their trees.
    """

    named: dict[str, str] = field(default_factory=dict)
    keeps: dict[int, Keep] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)
    heads: set[str] = field(default_factory=set)
    covered: set[str] = field(default_factory=set)

    def ids_of(self, number: int) -> Iterator[str]:
        """Yield the objects of one repository."""
        yield from (one for name, one in self.named.items() if name.startswith(f"{number}/"))
        if number in self.keeps:
            keep = self.keeps[number]
            yield from (*keep.commits, *keep.blobs, *keep.trees)

    def all_ids(self) -> Iterator[str]:
        """Yield the commits and tags of every repository."""
        yield from self.named.values()
        for keep in self.keeps.values():
            yield from keep.commits


def plan_refs(
    scratch: Scratch, refs: Refs, repository: Repository, names: Names, indexed: set[str]
) -> str | None:
    """Add one repository to refs, or say what it names that is gone.

    Args:
        indexed: what an index names and no head's tree.
    """
    wanted = {*names.refs.values(), *names.heads, *names.mentioned, *indexed}
    types = {one: kind for one, (kind, _) in object_types(scratch, wanted).items()}
    for name, one in names.refs.items():
        if one not in types:
            return f"{show(name)} names {one}, which is gone"
    missing = next(iter(indexed - types.keys()), None)
    if missing is not None:
        return f"an index names {missing}, which is gone"
    number = repository.number
    named = _named(number, names.refs, types)
    others = (types.keys() & {*names.refs.values(), *names.mentioned}) - set(named.values())
    tags = sorted(one for one in others if types[one] == "tag")
    named |= {f"{number}/other/{count}": one for count, one in enumerate(tags)}
    refs.named |= named
    refs.heads |= set(names.heads)
    held = {kind: _of_kind(types, others | indexed, kind) for kind in ("commit", "blob", "tree")}
    if any(held.values()):
        refs.keeps[number] = Keep(f"{number}/keep", held["commit"], held["blob"], held["tree"])
    return None


def _named(number: int, found: dict[bytes, str], types: dict[str, str]) -> dict[str, str]:
    """Choose the refs that keep their own name; a file can not be in a file's place."""
    named: dict[str, str] = {}
    for name in sorted(found):
        if (name.startswith(_FOLDED) and types[found[name]] == "commit") or not ref_fits(name):
            continue
        ref = f"{number}/{name.decode('utf-8')}"
        parts = ref.split("/")
        if not any("/".join(parts[:length]) in named for length in range(2, len(parts))):
            named[ref] = found[name]
    return named


def _of_kind(types: dict[str, str], ids: set[str], kind: str) -> tuple[str, ...]:
    return tuple(sorted(one for one in ids if types[one] == kind))
