"""Numbers from a safetensors file, mapped and not copied."""

from __future__ import annotations

import json
import math
import mmap
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cspace.errors import MALFORMED, CspaceError

Array = npt.NDArray[np.float32]

_LENGTH_BYTES = 8
_MAX_HEADER_BYTES = 1024 * 1024
_ITEM_BYTES = 4


def map_tensors(path: Path, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Array]:
    """Map tensors of a file by name, read-only; what else is in it is ignored.

    The file must not shrink while they are in use: a smaller one takes another's place by rename.

    Args:
        shapes: of what is wanted; numbers are 32-bit floats.

    Raises:
        CspaceError: the file is damaged, or holds something else.
        OSError: it can not be read.
    """
    with path.open("rb") as file:
        try:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            begin, header = _read_header(mapped)
            return {name: _tensor(mapped, begin, header[name], shapes[name]) for name in shapes}
        except MALFORMED as error:
            raise CspaceError(
                f"{path} is damaged, or no model of this kind: {error}",
                hint=f"remove {path.parent}, then run: cspace notes reindex",
            ) from error


def _read_header(mapped: mmap.mmap) -> tuple[int, dict[str, object]]:
    length = int.from_bytes(mapped[:_LENGTH_BYTES], "little")
    if length > _MAX_HEADER_BYTES:
        raise ValueError(f"its header would have {length} bytes")
    begin = _LENGTH_BYTES + length
    header = json.loads(mapped[_LENGTH_BYTES:begin])
    if not isinstance(header, dict):
        raise TypeError("its header is no mapping")
    return begin, header


def _tensor(mapped: mmap.mmap, begin: int, entry: object, shape: tuple[int, ...]) -> Array:
    match entry:
        case {"dtype": "F32", "shape": list(found), "data_offsets": [int(first), int(last)]}:
            pass
        case _:
            raise ValueError(f"a tensor is described as {str(entry)[:200]!r}")
    size = math.prod(shape)
    # Nothing may point into the header, past the end, or at half a number.
    fits = first >= 0 and begin + last <= len(mapped) and not (begin + first) % _ITEM_BYTES
    if tuple(found) != shape or last - first != size * _ITEM_BYTES or not fits:
        raise ValueError(f"a tensor of shape {shape} is described as {str(entry)[:200]!r}")
    numbers = np.frombuffer(mapped, dtype="<f4", count=size, offset=begin + first)
    return numbers.reshape(shape)
