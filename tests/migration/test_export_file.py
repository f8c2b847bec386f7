"""A memory as one file: what is in it, and what is refused before anything lands."""

from __future__ import annotations

import gzip
import io
import json
import os
import resource
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from cspace.errors import Conflict, CspaceError, NotFound
from cspace.events import ignore
from cspace.files import Owner
from cspace.migration import manifest
from cspace.migration.exporting import Exported, export_memory, new_file
from cspace.migration.importing import open_export, wanted
from cspace.migration.manifest import Manifest, dump_manifest, parse_manifest
from tests.conftest import Clock

OURSELVES = Owner(os.geteuid(), os.getegid())
ODD = os.fsdecode(b"no-utf8-\xff.md")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project with a memory of four files, one of them oddly named."""
    memory = tmp_path / "shop" / ".cspace/memory"
    (memory / "topics").mkdir(parents=True)
    (memory / "MEMORY.md").write_text("- [Role](role.md)\n", encoding="utf-8")
    (memory / "topics/ünïcode.md").write_text("x" * 3000, encoding="utf-8")
    (memory / "empty.md").touch()
    (memory / ODD).write_bytes(b"\0\xff")
    return tmp_path / "shop"


def export(project: Path, clock: Clock) -> tuple[Exported, bytes]:
    out = io.BytesIO()
    exported = export_memory(project, out, clock, ignore)
    return exported, out.getvalue()


def members(data: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(data), encoding="utf-8") as tar:
        return {one.name: tar.extractfile(one).read() for one in tar}  # type: ignore[union-attr]


def pack(entries: list[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for info, content in entries:
            info.size = len(content) if info.isreg() else 0
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def plain(name: str, content: bytes) -> tuple[tarfile.TarInfo, bytes]:
    return tarfile.TarInfo(name), content


def special(name: str, kind: bytes, target: str = "") -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info, b""


def listing(**changed: object) -> tuple[tarfile.TarInfo, bytes]:
    """Return a manifest that names one file, `a.md` with the content b"a"."""
    digest = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
    document = {
        "schema_version": 1,
        "project": "shop",
        "created": "2026-04-14T10:30:00+00:00",
        "files": [{"path": "a.md", "size": 1, "sha256": digest}],
    }
    return plain(manifest.NAME, json.dumps(document | changed).encode())


A = plain("memory/a.md", b"a")


def refused(tmp_path: Path, data: bytes) -> CspaceError:
    path = tmp_path / "given.tar"
    path.write_bytes(data)
    with pytest.raises(CspaceError) as caught, open_export(path):
        pass
    assert "given.tar" in str(caught.value)
    assert caught.value.hint
    return caught.value


def test_the_manifest_stands_first_and_tells_every_hash(project: Path, clock: Clock) -> None:
    exported, data = export(project, clock)
    found = members(data)
    assert next(iter(found)) == "cspace-memory.json"
    assert parse_manifest(found["cspace-memory.json"]) == exported.manifest
    assert list(found)[1:] == [f"memory/{one.path}" for one in exported.manifest.files]
    assert len(found) == 5


def test_the_same_memory_gives_the_same_bytes(project: Path, clock: Clock) -> None:
    _, first = export(project, clock)
    assert export(project, clock)[1] == first
    clock.advance(hours=1)
    later = export(project, clock)[1]
    assert later != first
    assert len(later) == len(first)


def test_a_checked_export_can_be_read_again_and_again(
    project: Path, clock: Clock, tmp_path: Path
) -> None:
    exported, data = export(project, clock)
    path = tmp_path / "memory.tar"
    path.write_bytes(data)
    with open_export(path) as opened:
        assert opened.manifest == exported.manifest
        path.write_bytes(b"changed meanwhile")
        with opened.source.open() as one, opened.source.open() as two:
            assert one.read(10) == two.read(10)
            assert one.read() == two.read() == data[10:]


def test_only_what_lies_below_memory_belongs_there() -> None:
    found = [wanted(manifest.PLACE / "a/b.md"), wanted(manifest.PLACE.parent / manifest.NAME)]
    assert [str(one) for one in found] == ["a/b.md", "None"]


def test_links_and_others_are_left_out_and_named(project: Path, clock: Clock) -> None:
    memory = project / ".cspace/memory"
    (memory / "link.md").symlink_to("/etc/passwd")
    (memory / "linked").symlink_to(memory / "topics")
    os.mkfifo(memory / "fifo")
    (memory / ".git").mkdir()
    (memory / ".x.cspace-tmp").touch()
    exported, data = export(project, clock)
    left_out = [str(one.path) for one in exported.left_out]
    assert left_out == [".git", ".x.cspace-tmp", "fifo", "link.md", "linked"]
    assert len(members(data)) == 5


def test_a_memory_that_is_a_link_is_not_followed(
    project: Path, clock: Clock, tmp_path: Path
) -> None:
    (project / ".cspace/memory").rename(tmp_path / "elsewhere")
    (project / ".cspace/memory").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CspaceError, match="not a directory of its own"):
        export(project, clock)


def test_a_project_without_a_memory_has_nothing_to_export(tmp_path: Path, clock: Clock) -> None:
    with pytest.raises(NotFound, match="nothing to export"):
        export(tmp_path, clock)


def test_a_file_is_never_half_written(tmp_path: Path, clock: Clock) -> None:
    def write_half() -> None:
        with new_file(tmp_path / "memory.tar", OURSELVES, force=False) as file:
            file.write(b"half")
            export_memory(tmp_path, file, clock, ignore)

    with pytest.raises(NotFound):
        write_half()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_force_replaces_nothing_but_a_file(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "memory.tar"
    make(path)
    with pytest.raises(Conflict, match="not a file"), new_file(path, OURSELVES, force=True):
        pass
    assert [each.name for each in tmp_path.iterdir()] == ["memory.tar"]
    assert not path.is_file()


def test_a_directory_that_is_missing_is_named(tmp_path: Path) -> None:
    path = tmp_path / "nowhere/memory.tar"
    with (
        pytest.raises(NotFound, match=r"nowhere' does not exist") as refused,
        new_file(path, OURSELVES, force=False),
    ):
        pass
    assert refused.value.hint == f"mkdir -p {path.parent}"


def test_a_file_that_is_there_is_replaced_only_by_force(tmp_path: Path) -> None:
    path = tmp_path / "memory.tar"
    path.write_bytes(b"old")
    with pytest.raises(Conflict, match="exists"), new_file(path, OURSELVES, force=False):
        pass
    assert path.read_bytes() == b"old"
    with new_file(path, OURSELVES, force=True) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new"


HOSTILE: dict[str, tuple[list[tuple[tarfile.TarInfo, bytes]], str]] = {
    "missing": ([listing()], "memory/a.md' is missing"),
    "extra": ([listing(), A, plain("memory/b.md", b"")], "and not in cspace-memory.json"),
    "twice": ([listing(), A, A], "is in it twice"),
    "other bytes": ([listing(), plain("memory/a.md", b"b")], "has not the hash"),
    "other size": ([listing(), plain("memory/a.md", b"aa")], "has 2 bytes, not 1"),
    "link": ([listing(), special("memory/a.md", tarfile.SYMTYPE, "/etc")], "not a plain file"),
    "hard link": ([listing(), special("memory/a.md", tarfile.LNKTYPE, "x")], "not a plain file"),
    "device": ([listing(), special("memory/a.md", tarfile.CHRTYPE)], "not a plain file"),
    "directory": ([listing(), special("memory/", tarfile.DIRTYPE)], "and not in"),
    "no manifest": ([A], "first member is not cspace-memory.json"),
    "linked manifest": ([special(manifest.NAME, tarfile.SYMTYPE, "/x")], "not a plain file"),
    "newer": ([listing(schema_version=2), A], "schema_version 2"),
    "version of a word": ([listing(schema_version="1"), A], "schema_version is '1'"),
    "no json": ([plain(manifest.NAME, b"{")], "can not be read"),
    "deep json": ([plain(manifest.NAME, b"[" * 100_000)], "can not be read"),
    "list": ([plain(manifest.NAME, b"[]")], "can not be read"),
    "files of a map": ([listing(files={}), A], "not a list"),
    "empty": ([], "first member is not"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_not_a_whole_export_is_refused_by_name(tmp_path: Path, name: str) -> None:
    entries, said = HOSTILE[name]
    assert said in str(refused(tmp_path, pack(entries)))


@pytest.mark.parametrize("path", ["../a", "/etc/a", "", ".", "a/../b", "a//b", "./a", "a\0b"])
def test_a_manifest_that_leaves_the_memory_is_refused(tmp_path: Path, path: str) -> None:
    files = [{"path": path, "size": 0, "sha256": "0" * 64}]
    assert "no path below a memory" in str(refused(tmp_path, pack([listing(files=files)])))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"size": -1}, "size is -1"),
        ({"size": True}, "size is True"),
        ({"size": 2**60}, "more than"),
        ({"sha256": "A" * 64}, "sha256 is"),
        ({"path": 1}, "is not text"),
    ],
)
def test_a_manifest_with_a_wrong_value_is_refused(
    tmp_path: Path, changed: dict[str, object], said: str
) -> None:
    files = [{"path": "a.md", "size": 1, "sha256": "0" * 64} | changed]
    assert said in str(refused(tmp_path, pack([listing(files=files)])))


def test_a_manifest_that_names_a_file_twice_is_refused(tmp_path: Path) -> None:
    files = [{"path": "a.md", "size": 1, "sha256": "0" * 64}] * 2
    assert "'a.md' twice" in str(refused(tmp_path, pack([listing(files=files)])))


@pytest.mark.parametrize("compress", [gzip.compress])
def test_a_compressed_file_is_named_as_such(
    tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    error = refused(tmp_path, compress(pack([listing(), A])))
    assert "compressed (gzip)" in str(error)
    assert error.hint == "decompress it first"


def test_a_file_that_was_cut_anywhere_is_refused(
    project: Path, clock: Clock, tmp_path: Path
) -> None:
    _, data = export(project, clock)
    needed = len(data) - 2 * tarfile.BLOCKSIZE
    for size in range(0, needed, 97):
        refused(tmp_path, data[:size])


def test_a_file_with_any_byte_flipped_is_refused_or_holds_the_same(
    project: Path, clock: Clock, tmp_path: Path
) -> None:
    exported, data = export(project, clock)
    path, harmless = tmp_path / "flipped.tar", 0
    for place in range(0, len(data), 61):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :])
        try:
            with open_export(path) as opened:
                assert opened.manifest.files == exported.manifest.files
                harmless += 1
        except CspaceError:
            continue
    assert harmless < len(data) / 61


def test_garbage_is_refused(tmp_path: Path) -> None:
    for data in (b"", b"garbage", os.urandom(100_000), b"\0" * 10_240):
        refused(tmp_path, data)


def big_header(size: int, kind: bytes) -> bytes:
    """Return a header that announces what is not there, in a file that has its size."""
    info = tarfile.TarInfo(manifest.NAME)
    info.size, info.type = size, kind
    return info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")


@pytest.mark.parametrize("kind", [tarfile.REGTYPE, b"L", b"K", b"x", b"g"])
def test_a_manifest_or_name_of_a_gigabyte_is_not_read(tmp_path: Path, kind: bytes) -> None:
    path = tmp_path / "bomb.tar"
    path.write_bytes(big_header(2**30, kind))
    os.truncate(path, 2**30 + 1024)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(CspaceError, match=r"bytes"), open_export(path):
        pass
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 64 * 1024


def test_headers_that_nest_without_end_are_refused(tmp_path: Path) -> None:
    name = big_header(1, b"L") + b"x".ljust(tarfile.BLOCKSIZE, b"\0")
    assert "tar file" in str(refused(tmp_path, name * 5000))


def test_a_million_members_end_at_the_first_that_nobody_named(tmp_path: Path) -> None:
    path = tmp_path / "many.tar"
    block = tarfile.TarInfo("memory/b.md").tobuf()
    with path.open("wb") as file:
        file.write(pack([listing(), A])[: 4 * tarfile.BLOCKSIZE])
        for _ in range(1000):
            file.write(block * 1000)
    with pytest.raises(CspaceError, match="is in it, and not in"), open_export(path):
        pass


def test_a_manifest_of_too_many_files_is_refused(tmp_path: Path) -> None:
    entry = {"path": "a", "size": 0, "sha256": "0" * 64}
    crowd = listing(files=[entry] * (manifest.MAX_FILES + 1))
    assert "more than 100000" in str(refused(tmp_path, pack([crowd])))


def test_a_manifest_comes_back_as_it_was(project: Path, clock: Clock) -> None:
    exported, _ = export(project, clock)
    again = parse_manifest(dump_manifest(exported.manifest))
    assert isinstance(again, Manifest)
    assert again == exported.manifest
    assert ODD in {str(one.path) for one in again.files}
