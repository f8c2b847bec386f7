"""The signs of all vectors in memory, which compares them four times as fast as SQL does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import apsw

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(slots=True)
class Signs:
    """What one open index has read of them; who has vectors to compare has numpy too.

    Reading them takes as long as four searches by SQL, so that is done from the second search on
    that finds the index unchanged, and a command that searches once never does it.
    """

    _version: int | None = None
    _ids: NDArray[np.int64] | None = None
    _columns: NDArray[np.uint8] | NDArray[np.uint64] | None = None

    def forget(self) -> None:
        """Read them again: this process changed them, which SQLite's version does not say."""
        self._version = self._ids = self._columns = None

    def nearest(self, db: apsw.Connection, vector: bytes, count: int) -> list[int] | None:
        """Return the vectors whose signs differ least from a vector's; None where SQL has to."""
        version = db.pragma("data_version")
        if version != self._version:
            self.forget()
            self._version = version
            return None
        import numpy as np  # noqa: PLC0415  a search by words does without

        if self._ids is None or self._columns is None:
            self._ids, self._columns = _read(db)
        asked = _columns(db.execute("select vec_quantize_binary(?)", (vector,)).get, 1)
        # A column for each row would be added up one by one.
        far = np.bitwise_count(self._columns ^ asked).sum(axis=0, dtype=np.uint16)
        if count >= len(far):
            return [int(one) for one in self._ids]
        return [int(one) for one in self._ids[np.argpartition(far, count)[:count]]]


def _read(db: apsw.Connection) -> tuple[NDArray[np.int64], NDArray[np.uint8] | NDArray[np.uint64]]:
    import numpy as np  # noqa: PLC0415  see above

    rows: list[Any] = db.execute("select id, bits from bits").fetchall()
    ids = np.fromiter((one for one, _ in rows), np.int64, len(rows))
    return ids, _columns(b"".join(bits for _, bits in rows), len(rows))


def _columns(bits: bytes, rows: int) -> NDArray[np.uint8] | NDArray[np.uint64]:
    """Return bits with a column for each row, in numbers as wide as they divide into."""
    import numpy as np  # noqa: PLC0415  see above

    wide = np.uint64 if len(bits) % (8 * rows) == 0 else np.uint8
    return np.ascontiguousarray(np.frombuffer(bits, wide).reshape(rows, -1).T)
