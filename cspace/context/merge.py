"""Joins versions of one finding: every update of each, once, in the order of time.

What is not an update or a key of the front matter is left to git, which merges lines well.
"""

from __future__ import annotations

import contextlib
import datetime
import itertools
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from cspace.context import merge_header
from cspace.context.finding_parts import Block, Parts, parse_parts
from cspace.docstore import frontmatter
from cspace.errors import CspaceError


@dataclass(frozen=True, slots=True)
class Reconciled:
    """Three versions that differ only in what they disagree on, for a merge of their lines."""

    base: bytes
    ours: bytes
    theirs: bytes


def reconcile(base: bytes, ours: bytes, theirs: bytes) -> Reconciled:
    """Give three versions of a finding the updates and the keys that a merge of them has.

    Updates: those of both sides, but for one that a side removed. A key that one side changed is
    that side's; of tags and related, changed on both, every addition and removal counts; of two new
    statuses the newest update's is taken. A key on which the sides disagree stays as each has it.

    Where the result would not read back as what was joined, the versions come back as they are.
    """
    sides = [parse_parts(one) for one in (base, ours, theirs)]
    old, mine, other = (side.blocks for side in sides)
    kept = _beyond(mine, _keys(old) - _keys(other))
    blocks = _placed(kept, _beyond(other, _keys(mine) | _keys(old)))
    headers = merge_header.merge(*(side.header for side in sides), status=_latest_status(blocks))
    joined = [
        _dump(replace(side, header=header), blocks, like=sides[1])
        for side, header in zip(sides, headers, strict=True)
    ]
    if any(_keys(parse_parts(one).blocks) != _keys(blocks) for one in joined[1:]):
        return Reconciled(base, ours, theirs)
    return Reconciled(*joined)


def union_updates(ours: bytes, *others: bytes, by_heading: bool = False) -> bytes:
    """Return a finding with the updates that it lacks and other versions of it have.

    Nothing of it is lost or repeated. Where the newest update is one that it lacked, its status
    becomes that update's, if its header can be changed safely; all other bytes stay.

    Args:
        by_heading: as `lacking` tells updates apart: one whose note was edited is not added again.

    Raises:
        CspaceError: ours is written in a way in which an update more would not be read as one.
    """
    mine = parse_parts(ours)
    blocks = mine.blocks
    for other in others:
        theirs = parse_parts(other).blocks
        missing = lacking(blocks, theirs) if by_heading else _beyond(theirs, _keys(blocks))
        blocks = _placed(blocks, missing)
    if len(blocks) == len(mine.blocks):
        return ours
    joined = _dump(mine, blocks, like=mine)
    if _keys(parse_parts(joined).blocks) != _keys(blocks):
        raise CspaceError(
            "the finding's updates can not be joined safely",
            hint="look for headings in the text that are named as its sections are",
        )
    newest = max(blocks, key=_age)
    if newest not in mine.blocks:
        with contextlib.suppress(CspaceError):  # a header that only a person can change
            return frontmatter.replace_value(joined, "status", newest.status)
    return joined


def lacking(blocks: Iterable[Block], other: Iterable[Block]) -> tuple[Block, ...]:
    """Return the updates of another version that these have not.

    One whose note was edited since is there: it stands under the same heading.
    """
    blocks, other = tuple(blocks), tuple(other)
    more = Counter(one.heading for one in other) - Counter(one.heading for one in blocks)
    missing = []
    for block in _beyond(other, _keys(blocks)):
        if more[block.heading] > 0:
            more[block.heading] -= 1
            missing.append(block)
    return tuple(missing)


def _keys(blocks: Iterable[Block]) -> Counter[tuple[str, str]]:
    return Counter(block.key for block in blocks)


def _beyond(blocks: Iterable[Block], known: Counter[tuple[str, str]]) -> tuple[Block, ...]:
    """Return the blocks that are there more often than known says."""
    # The same note twice within a second is two updates, in either version.
    left = known.copy()
    found = []
    for block in blocks:
        if left[block.key] > 0:
            left[block.key] -= 1
        else:
            found.append(block)
    return tuple(found)


def _placed(blocks: tuple[Block, ...], added: tuple[Block, ...]) -> tuple[Block, ...]:
    """Insert each block after the last one that is not newer; the others keep their order."""
    placed = list(blocks)
    for block in sorted(added, key=lambda one: one.time):
        later = itertools.takewhile(lambda one: one.time > block.time, reversed(placed))  # noqa: B023
        placed.insert(len(placed) - sum(1 for _ in later), block)
    return tuple(placed)


def _age(block: Block) -> tuple[datetime.datetime, str, str]:
    # Of one second, the same one is the newest in whichever order the versions came.
    return (block.time, *block.key)


def _latest_status(blocks: tuple[Block, ...]) -> str | None:
    return max(blocks, key=_age).status if blocks else None


def _dump(parts: Parts, blocks: tuple[Block, ...], *, like: Parts) -> bytes:
    ending = like.ending if like.blocks else parts.ending
    return parts.document(blocks, ending)
