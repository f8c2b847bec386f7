"""Items and vectors that tests fill an index with."""

from __future__ import annotations

import hashlib
import math
import random
import struct
from collections.abc import Mapping, Sequence

from cspace.index.index import Index
from cspace.index.model import Item, digest_of

DIMENSIONS = 64


def item(name: str, title: str = "", text: str = "", **parts: object) -> Item:
    time = float(parts.pop("time", 0.0))  # type: ignore[arg-type]
    labels = str(parts.pop("labels", ""))
    facets = {key: (str(value),) for key, value in parts.items()}
    return Item(name, f"group-{name}", title, text, f"payload of {name}", time, labels, facets)


def fill(index: Index, *items: Item) -> Index:
    index.apply((), items, {})
    return index


def unit(numbers: Sequence[float]) -> bytes:
    """Return numbers as a vector of length 1."""
    length = math.sqrt(sum(one * one for one in numbers))
    return struct.pack(f"<{len(numbers)}f", *(one / length for one in numbers))


def random_vector(seed: str) -> list[float]:
    source = random.Random(hashlib.sha256(seed.encode()).digest())  # noqa: S311  no secret
    numbers = [source.gauss(0, 1) for _ in range(DIMENSIONS)]
    return list(struct.unpack(f"<{DIMENSIONS}f", unit(numbers)))


def embed(index: Index, vectors: Mapping[str, Sequence[float]]) -> None:
    """Give items, by the text that an embedder sees, vectors."""
    found = {digest_of(text): unit(numbers) for text, numbers in vectors.items()}
    index.put_vectors("test", found)
