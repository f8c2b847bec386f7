"""Unpacks a bundle over a workspace. Runs where the workspace's owner runs, never on the host.

Killed at any point, it leaves something that the same call repairs.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import IO

from cspace import proc
from cspace.errors import CommandFailed, CspaceError
from cspace.files import TEMPORARY_SUFFIX
from cspace.instance.snapshot_bundle import Header, open_pack, read_header
from cspace.instance.snapshot_files import holds_blob
from cspace.instance.snapshot_git import Scratch, create_scratch, object_types
from cspace.instance.snapshot_manifest import (
    Carried,
    Entry,
    Kind,
    Manifest,
    parse_manifest,
    show,
)
from cspace.instance.snapshot_walk import SHARED, join

_CHUNK = 1 << 20
_MAIN = b".git"


def unpack(workspace: Path, bundle: Path, known: Collection[str] = ()) -> Manifest:
    """Make workspace what the archive says: everything else below it is removed.

    Left alone are the shared directories, the objects that are there, and the whole `.git` where
    the archived workspace had none.

    Args:
        known: commits that the workspace's `.git` holds with everything that they reach.

    Raises:
        CspaceError: a path could not be written, or the bundle lacks objects.
    """
    header = read_header(bundle)
    directory = Path(tempfile.mkdtemp(prefix="unpack-", dir=bundle.parent))
    try:
        store = join(workspace, _MAIN + b"/objects")
        stores = [store] if os.path.isdir(store) else []  # noqa: PTH112  names are bytes
        scratch = create_scratch(directory, stores, object_format=header.object_format)
        # Asked before the bundle's own objects join in: these are not in the workspace yet.
        there = tuple(object_types(scratch, (*known, *header.needed)))
        with (
            open_pack(bundle, header) as pack,
            proc.talk(
                "git", "index-pack", "--fix-thin", "--stdin", env=scratch.environment(), stdin=pack
            ) as process,
        ):
            assert process.stdout is not None  # noqa: S101  a pipe; tells the type checker
            process.stdout.read()
        manifest = _load(scratch, header)
        _Unpacking(workspace, scratch, manifest).run(there)
    except OSError as error:
        raise _unwritable(workspace, error) from error
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return manifest


def _unwritable(workspace: Path, error: OSError) -> CspaceError:
    name = error.filename if isinstance(error.filename, bytes) else os.fsencode(workspace)
    return CspaceError(
        f"{show(name)} can not be restored: {error.strerror}",
        hint="make room or mend it, then run the same restore again",
    )


def _load(scratch: Scratch, header: Header) -> Manifest:
    return parse_manifest(
        scratch.run("cat-file", "blob", f"{header.snapshot}:manifest.json").stdout
    )


def _remove_mount_point(path: bytes) -> None:
    """Remove the link to the shared directory, or an empty directory in its place."""
    if os.path.islink(path):  # noqa: PTH114  names are bytes
        os.unlink(path)  # noqa: PTH108  names are bytes
    else:
        os.rmdir(path)  # noqa: PTH106  names are bytes


class _Unpacking:
    """One unpacking over one workspace."""

    def __init__(self, workspace: Path, scratch: Scratch, manifest: Manifest) -> None:
        self.workspace, self.scratch, self.manifest = workspace, scratch, manifest
        self.wanted = {entry.path: entry for entry in manifest.entries}
        kept = [repository.path + b"/objects" for repository in manifest.repositories]
        self.untouched = {*SHARED, *kept, *(() if _MAIN in self.wanted else (_MAIN,))}

    def run(self, there: tuple[str, ...]) -> None:
        """Remove what is not wanted, then write what is, directories' times last."""
        self._clear(b"")
        directories = self._of(Kind.DIRECTORY)
        for entry in directories:
            self._make_directory(entry.path)
        self._place_objects(there)
        self._write_files()
        for entry in self._of(Kind.LINK):
            self._make_link(entry)
        for entry in reversed(directories):
            path = join(self.workspace, entry.path)
            os.chmod(path, entry.mode)  # noqa: PTH101  names are bytes
            os.utime(path, ns=(entry.mtime_ns, entry.mtime_ns))

    def _of(self, kind: Kind) -> list[Entry]:
        return [entry for entry in self.manifest.entries if entry.kind is kind]

    def _clear(self, path: bytes) -> None:
        """Remove what is below path and not wanted; make the rest writable for us."""
        absolute = join(self.workspace, path)
        os.chmod(absolute, 0o700)  # noqa: PTH101  names are bytes
        with os.scandir(absolute) as scan:
            children = list(scan)
        for child in children:
            below = path + b"/" + child.name if path else child.name
            if below in self.untouched:
                continue
            if child.is_dir(follow_symlinks=False):
                self._clear(below)
                self._drop_directory(below)
            elif below not in self.wanted or self.wanted[below].kind is Kind.DIRECTORY:
                os.unlink(child.path)  # noqa: PTH108  names are bytes

    def _drop_directory(self, path: bytes) -> None:
        entry = self.wanted.get(path)
        if entry is not None and entry.kind is Kind.DIRECTORY:
            return
        if entry is not None:
            for shared in SHARED:
                # A mount point that is in use stays, and is named by the error that follows.
                if shared.startswith(path + b"/"):
                    with suppress(OSError):
                        _remove_mount_point(join(self.workspace, shared))
        elif any(one.startswith(path + b"/") for one in self.untouched):
            return
        os.rmdir(join(self.workspace, path))  # noqa: PTH106  names are bytes

    def _make_directory(self, path: bytes) -> None:
        with suppress(FileExistsError):
            os.mkdir(join(self.workspace, path), 0o700)  # noqa: PTH102  names are bytes

    def _place_objects(self, there: tuple[str, ...]) -> None:
        shallow = self.wanted.get(_MAIN + b"/shallow")
        if shallow is not None:
            content = self.scratch.run("cat-file", "blob", shallow.blob).stdout
            (self.scratch.directory / "shallow").write_bytes(content)
        for repository in self.manifest.repositories:
            store = join(self.workspace, repository.path + b"/objects")
            for part in (b"", b"/pack", b"/info"):
                with suppress(FileExistsError):
                    os.mkdir(store + part, 0o755)  # noqa: PTH102  names are bytes
            if repository.carried is Carried.OBJECTS:
                # Only the workspace's own store can hold what the bundle builds on.
                without = there if repository.path == _MAIN else ()
                self._place_pack(repository.number, store + b"/pack", without)

    def _place_pack(self, number: int, directory: bytes, without: tuple[str, ...]) -> None:
        for name in os.listdir(directory):  # noqa: PTH208  names are bytes
            if name.startswith(b"tmp_"):
                os.unlink(directory + b"/" + name)  # noqa: PTH108  names are bytes
        tips = [one for name, one in self.manifest.refs if name.startswith(f"{number}/")]
        asked = "".join(f"{line}\n" for line in (*tips, "--not", *without)).encode()
        # Git makes its temporary file in its own store, and can only rename within a file system.
        stores = {
            "GIT_OBJECT_DIRECTORY": os.path.dirname(os.fsdecode(directory)),  # noqa: PTH120
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(self.scratch.directory / "objects"),
        }
        self.scratch.run(
            "pack-objects", "--revs", "--quiet", "--non-empty", "--delta-base-offset",
            os.fsdecode(directory + b"/pack"), stdin=asked, env=stores,
        )  # fmt: skip

    def _write_files(self) -> None:
        files = []
        for entry in self._of(Kind.FILE):
            path = join(self.workspace, entry.path)
            if holds_blob(path, entry):
                os.chmod(path, entry.mode)  # noqa: PTH101  names are bytes
                os.utime(path, ns=(entry.mtime_ns, entry.mtime_ns))
            else:
                files.append(entry)
        with tempfile.TemporaryFile(dir=self.scratch.directory) as asked:
            asked.write("".join(f"{entry.blob}\n" for entry in files).encode("ascii"))
            asked.seek(0)
            words = ("git", "cat-file", "--batch", "--buffer")
            with proc.talk(*words, env=self.scratch.environment(), stdin=asked) as process:
                assert process.stdout is not None  # noqa: S101  a pipe; tells the type checker
                for entry in files:
                    self._write_file(entry, process.stdout)

    def _write_file(self, entry: Entry, blobs: IO[bytes]) -> None:
        answer = blobs.readline().decode("ascii", "replace").split()
        if answer[1:] != ["blob", str(entry.size)]:
            raise CommandFailed(f"the archive lacks the bytes of {show(entry.path)}")
        path = join(self.workspace, entry.path)
        temporary = self._temporary(path)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(temporary, flags, 0o600), "wb") as file:
            left = entry.size
            while left and (chunk := blobs.read(min(left, _CHUNK))):
                file.write(chunk)
                left -= len(chunk)
            file.flush()
            os.fchmod(file.fileno(), entry.mode)
            os.utime(file.fileno(), ns=(entry.mtime_ns, entry.mtime_ns))
        blobs.read(1)
        os.rename(temporary, path)  # noqa: PTH104  names are bytes

    def _make_link(self, entry: Entry) -> None:
        path = join(self.workspace, entry.path)
        temporary = self._temporary(path)
        os.symlink(entry.target, temporary)  # noqa: PTH211  names are bytes
        os.utime(temporary, ns=(entry.mtime_ns, entry.mtime_ns), follow_symlinks=False)
        os.rename(temporary, path)  # noqa: PTH104  names are bytes

    @staticmethod
    def _temporary(path: bytes) -> bytes:
        name = f".{secrets.token_hex(8)}{TEMPORARY_SUFFIX}".encode()
        return os.path.join(os.path.dirname(path), name)  # noqa: PTH118, PTH120  names are bytes
