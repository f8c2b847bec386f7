"""The chunks of an answer as a file that is read once, from its beginning to its end."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from cspace.engine.translation import translated


class VolumeStream(io.RawIOBase):
    """Reads chunks as they come, and holds one at a time."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        super().__init__()
        self._chunks = chunks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            with translated():
                chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
        taken = min(len(buffer), len(self._rest))
        buffer[:taken] = self._rest[:taken]
        self._rest = self._rest[taken:]
        return taken
