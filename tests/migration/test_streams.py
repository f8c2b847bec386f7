"""A stream that is cut, broken or hostile is an error, and never a shorter plan."""

from __future__ import annotations

import contextlib
import io
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cspace import proc
from cspace.errors import CspaceError, EngineUnavailable
from cspace.migration.model import Fate, Plan, Source
from cspace.migration.plan import make_plan
from cspace.migration.reading import MAX_FILE_BYTES
from tests.conftest import CHECKOUT
from tests.migration.sources import OURS, migrate, source, streams, tar, target

FILES = {"a.md": "a" * 700, "b.md": "", "sub/c.md": "c" * 1024, "x" * 120 + ".md": "long"}
WHOLE = tar(FILES)
# The last two blocks that are not padding say that the archive ends.
END = len(WHOLE.rstrip(b"\0")) // tarfile.BLOCKSIZE * tarfile.BLOCKSIZE + tarfile.BLOCKSIZE


def plan(stream: bytes) -> Plan:
    return make_plan(streams(stream), target(Path("/nonexistent")), OURS)


def header(name: str, size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    member = tarfile.TarInfo(name)
    member.type, member.size = kind, size
    return member.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize("cut", [*range(0, END + 1, 512), *range(1, END, 333), END + 511])
def test_a_stream_that_is_cut_is_an_error_and_never_a_shorter_plan(cut: int) -> None:
    with pytest.raises(CspaceError, match="volume test can not be read to its end") as caught:
        plan(WHOLE[:cut])
    assert caught.value.hint


@pytest.mark.parametrize("cut", [END + 512, END + 1024, len(WHOLE)])
def test_a_stream_is_whole_with_the_first_mark_of_its_end(cut: int) -> None:
    assert len(plan(WHOLE[:cut]).files) == len(FILES)


@given(at=st.integers(0, END - 1), bit=st.integers(0, 7))
def test_a_flipped_bit_is_an_error_or_takes_no_file_away(at: int, bit: int) -> None:
    broken = bytearray(WHOLE)
    broken[at] ^= 1 << bit
    with contextlib.suppress(CspaceError):
        assert len(plan(bytes(broken)).files) == len(FILES)


@given(st.binary(max_size=2000))
def test_noise_is_an_error(noise: bytes) -> None:
    with pytest.raises(CspaceError):
        plan(b"x" + noise)


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
@pytest.mark.parametrize("size", [10 * 1024**3, -1, 2 * 1024**2])
def test_a_header_that_claims_to_be_huge_is_an_error(kind: bytes, size: int) -> None:
    with pytest.raises(CspaceError, match="can not be read to its end"):
        plan(header("x", size, kind) + bytes(4 * 1024**2))


@pytest.mark.parametrize("size", [-1, -512, -(2**60)])
def test_a_file_of_negative_size_is_an_error(size: int) -> None:
    with pytest.raises(CspaceError, match="can not be read to its end"):
        plan(header("x.md", size) + bytes(10240))


def test_endless_headers_before_one_file_are_an_error() -> None:
    block = header("x", 5, tarfile.GNUTYPE_LONGNAME) + b"name\0".ljust(512, b"\0")
    with pytest.raises(CspaceError, match="can not be read to its end"):
        plan(block * 5000 + bytes(10240))


def test_a_sparse_file_of_an_exabyte_is_not_read() -> None:
    member = tarfile.TarInfo("huge.bin")
    member.pax_headers = {"GNU.sparse.size": str(2**60), "GNU.sparse.map": "0,0"}
    whole = member.tobuf(tarfile.PAX_FORMAT) + bytes(1024)
    (huge,) = plan(whole).files
    assert (huge.fate, huge.size, huge.digest) == (Fate.UNSAFE, 2**60, None)
    assert huge.reason == f"larger than {MAX_FILE_BYTES} bytes"


def test_a_name_that_holds_a_nul_is_unsafe() -> None:
    member = tarfile.TarInfo("x.md")
    member.pax_headers = {"path": "x\0y.md"}
    (found,) = plan(member.tobuf(tarfile.PAX_FORMAT) + bytes(1024)).files
    assert found.fate is Fate.UNSAFE


def test_docker_down_hazard_an_engine_that_dies_in_the_stream_is_not_its_end(
    tmp_path: Path,
) -> None:
    class Dying(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell() > 1024:
                raise EngineUnavailable("Docker does not answer")
            return super().read(size)

    @contextlib.contextmanager
    def opened() -> Iterator[BinaryIO]:
        yield Dying(WHOLE)

    with pytest.raises(EngineUnavailable):
        migrate(Source("volume test", "legacy", opened), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_many_chunks_comes_home_whole(tmp_path: Path) -> None:
    content = bytes(range(251)) * 5000 + bytes(600_000) + b"end"
    migrate(source({"big.bin": content, "after.md": "after"}), tmp_path)
    assert (tmp_path / ".cspace/memory/big.bin").read_bytes() == content


MIGRATE = """
import resource, sys
from pathlib import Path
from cspace.migration.model import Source
from tests.migration.sources import migrate
outcome = migrate(Source("tar", "legacy", lambda: open(sys.argv[1], "rb")), Path(sys.argv[2]))
assert outcome.dispensable and len(outcome.written) == 1
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def peak(place: Path, size: int) -> int:
    """Bring one file of a size home in a process of its own; return its peak of memory."""
    place.mkdir()
    member = tarfile.TarInfo("large.bin")
    member.size = size
    with (place / "volume.tar").open("wb") as file:
        file.write(member.tobuf(tarfile.GNU_FORMAT))
        file.truncate(512 + size + 1024)
    words = (sys.executable, "-c", MIGRATE, place / "volume.tar", place)
    return int(proc.run(*words, cwd=CHECKOUT).text)


def test_memory_is_flat_in_the_size_of_a_volume(tmp_path: Path) -> None:
    small, large = peak(tmp_path / "small", 2**20), peak(tmp_path / "large", 200 * 2**20)
    assert large - small < 8 * 2**20
