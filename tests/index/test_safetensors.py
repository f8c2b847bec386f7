"""A file of numbers is checked before a number is read: it comes from the network."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cspace.errors import CspaceError
from cspace.index.safetensors import map_tensors

WANTED = {"w": (2, 3)}
GOOD = {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}
DATA = np.arange(6, dtype="<f4").tobytes()


def dump(header: object, data: bytes = DATA) -> bytes:
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data


def test_tensors_are_mapped_read_only_and_others_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(dump({"__metadata__": {"format": "pt"}, "w": GOOD, "other": {"dtype": "I64"}}))
    found = map_tensors(path, WANTED)["w"]
    assert found.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert not found.flags.writeable


BROKEN: dict[str, bytes] = {
    "nothing": b"",
    "zeros": bytes(64),
    "a header as long as the universe": b"\xff" * 64,
    "a header past the end": (1000).to_bytes(8, "little") + b"{}",
    "no JSON": (8).to_bytes(8, "little") + b"\x00" * 40,
    "deep JSON": (90_000).to_bytes(8, "little") + b"[" * 90_000,
    "a list": dump([GOOD]),
    "another tensor": dump({"v": GOOD}),
    "another type": dump({"w": GOOD | {"dtype": "F16"}}),
    "another shape": dump({"w": GOOD | {"shape": [3, 2]}}),
    "past the end": dump({"w": GOOD | {"data_offsets": [8, 32]}}),
    "before the data": dump({"w": GOOD | {"data_offsets": [-24, 0]}}),
    "half a number": dump({"w": GOOD | {"data_offsets": [2, 26]}}, DATA * 2),
    "too few numbers": dump({"w": GOOD | {"data_offsets": [0, 20]}}),
    "no numbers": dump({"w": GOOD | {"data_offsets": ["0", "24"]}}),
    "three offsets": dump({"w": GOOD | {"data_offsets": [0, 24, 48]}}),
    "cut off": dump({"w": GOOD}, DATA[:-1]),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_file_that_is_no_model_is_an_error_that_names_it(tmp_path: Path, how: str) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(BROKEN[how])
    with pytest.raises(CspaceError, match=r"model\.safetensors is damaged"):
        map_tensors(path, WANTED)
