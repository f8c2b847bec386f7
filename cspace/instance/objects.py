"""Copies to a fresh clone what its refs reach, and no other object of the host's repository.

`git clone` would copy whole packs, other branches and other agents' archives among their objects;
`git fetch` packs and indexes everything anew, which takes ten times as long. Here a pack whose
every object is wanted is copied as it is, and only the rest is packed.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cspace import git, git_objects

# What is deflated is deflated quickly: up waits. What is in a pack already is taken as it is.
_PACKING = ("-c", "pack.compression=1", "pack-objects", "--quiet", "--non-empty")
_AS_THEY_ARE = ("--window=0", "--delta-base-offset")


@dataclass(frozen=True, slots=True)
class Content:
    """What a clone holds.

    Attributes:
        refs: name to object, the tags of what the other refs reach among them.
        objects: everything that the refs reach.
        cuts: the commits at which the history is cut, as it is in a shallow repository.
    """

    refs: dict[str, str]
    objects: tuple[str, ...]
    cuts: tuple[str, ...]


def list_content(source: Path, heads: Mapping[str, str]) -> Content:
    """List what a clone of these refs holds; like `git clone` it takes the tags on its commits.

    Raises:
        CommandFailed: an object on the way is missing, and can not be fetched.
    """
    tips = set(heads.values())
    if git_objects.is_partial(source):
        git_objects.fetch_missing(source, tips)
    objects = git_objects.list_objects(source, tips)
    reached = set(objects)
    tags = [tag for tag in git_objects.list_tags(source) if tag.target in reached]
    own = {tag.id for tag in tags} - reached
    return Content(
        refs=dict(heads) | {tag.ref: tag.id for tag in tags},
        objects=(*objects, *sorted(own)),
        cuts=tuple(one for one in git.list_cuts(source) if one in reached),
    )


def copy_objects(source: Path, target: Path, content: Content) -> None:
    """Copy the objects into a repository that we just made.

    Raises:
        CommandFailed: git could not.
        OSError: a pack could not be copied, for example because the disk is full.
    """
    store = target / ".git" / "objects"
    copied = _copy_packs(source, store / "pack", frozenset(content.objects))
    rest = "".join(f"{one}\n" for one in content.objects if one not in copied)
    # In the target: in the source git would leave its temporary files there, and could not rename
    # them to another file system.
    git.git(
        target, *_PACKING, *_AS_THEY_ARE, store / "pack" / "pack",
        stdin=rest.encode("ascii"), env=git_objects.borrowing(source),
    )  # fmt: skip
    if content.cuts:
        lines = "".join(f"{one}\n" for one in content.cuts)
        (target / ".git" / "shallow").write_text(lines, encoding="ascii")


def _copy_packs(source: Path, directory: Path, wanted: frozenset[str]) -> set[str]:
    """Copy the packs that hold nothing but what is wanted; return what they hold."""
    copied: set[str] = set()
    for index in git_objects.list_packs(source):
        # `git gc` may take one away meanwhile: its objects are then in another.
        with contextlib.suppress(FileNotFoundError):
            if not git_objects.can_hold_only(index, wanted):
                continue
            held = git_objects.packed_objects(source, index)
            if wanted.issuperset(held):
                _copy_read_only((index.with_suffix(".pack"), index), directory)
                copied.update(held)
    return copied


def _copy_read_only(files: Iterable[Path], directory: Path) -> None:
    for file in files:
        copy = directory / file.name
        shutil.copyfile(file, copy)
        copy.chmod(0o444)
