"""Objects in git's own form: their ids, and a pack of them that git takes up."""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Collection
from dataclasses import dataclass

_NUMBERS = {"commit": 1, "tree": 2, "blob": 3}


@dataclass(frozen=True, slots=True)
class NewObject:
    """What a repository is to hold; kind is commit, tree or blob."""

    kind: str
    content: bytes

    def id(self, algorithm: str) -> str:
        """Return what git calls it; algorithm is the repository's, sha1 or sha256."""
        head = b"%b %d\0" % (self.kind.encode("ascii"), len(self.content))
        return hashlib.new(algorithm, head + self.content).hexdigest()


def dump_pack(objects: Collection[NewObject], algorithm: str) -> bytes:
    """Return a pack of objects, none of them as a difference to another.

    Hardly compressed: git does that again, as core.compression says, when it takes them out.
    """
    parts = [b"PACK", struct.pack(">II", 2, len(objects))]
    for one in objects:
        parts += [_head(_NUMBERS[one.kind], len(one.content)), zlib.compress(one.content, 1)]
    pack = b"".join(parts)
    return pack + hashlib.new(algorithm, pack).digest()


def _head(number: int, size: int) -> bytes:
    """Write a kind and a size: four bits of it, then seven in each byte that says it goes on."""
    head, last, size = bytearray(), (number << 4) | (size & 15), size >> 4
    while size:
        head.append(last | 128)
        last, size = size & 127, size >> 7
    return bytes([*head, last])
