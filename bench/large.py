"""A repository of 500 MB and 20,000 files, the same at every run.

Its packs and loose objects are what years of fetching and an hour of work leave behind: texts, and
for most of the bytes files that do not compress. Another branch is in a pack of its own.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from subprocess import PIPE, Popen

from bench.measure import run

FILES, ASSETS, ASSET_BYTES = 19_900, 100, 1 << 20
REVISIONS, CHANGED = 4, 2_000

File = tuple[str, bytes]


def make_large(repository: Path) -> None:
    """Make the repository, with its files checked out."""
    chance = random.Random(1)  # noqa: S311  the same bytes at every run, and no secret
    lines = [chance.randbytes(24).hex().encode() + b" = value\n" for _ in range(4_000)]

    def texts(numbers: Iterable[int]) -> Iterator[File]:
        for number in numbers:
            content = b"".join(chance.choices(lines, k=chance.randint(5, 140)))
            yield f"src/{number % 40:02}/{number // 40 % 25:02}/file{number:05}.txt", content

    def assets() -> Iterator[File]:
        for number in range(ASSETS):
            yield f"assets/{number:03}.bin", chance.randbytes(ASSET_BYTES)

    run("git", "init", "--quiet", "--initial-branch=main", repository)
    _commit(repository, "main", [*texts(range(FILES)), *assets()])
    for revision in range(1, REVISIONS):
        numbers = range(revision * CHANGED, (revision + 1) * CHANGED)
        _commit(repository, "main", [*texts(numbers), *assets()])
    _commit(repository, "main", texts(range(200)), loose=True)
    _commit(repository, "other", [("other.bin", chance.randbytes(ASSET_BYTES))])
    run("git", "-C", repository, "reset", "--quiet", "--hard")


def _commit(repository: Path, branch: str, files: Iterable[File], *, loose: bool = False) -> None:
    ref = f"refs/heads/{branch}"
    told = f"commit {ref}\ncommitter Bench <bench@example.com> 0 +0000\ndata 4\nMore\n"
    if run("git", "-C", repository, "for-each-ref", ref):
        told += f"from {ref}^0\n"
    unpack_limit = f"fastimport.unpackLimit={1_000_000 if loose else 1}"
    words = ("-c", unpack_limit, "-c", "core.compression=1", "fast-import", "--quiet")
    with Popen(["git", "-C", repository, *words, "--date-format=raw"], stdin=PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(told.encode())
        for path, content in files:
            process.stdin.write(b"M 100644 inline %s\n" % path.encode())
            process.stdin.write(b"data %d\n%s\n" % (len(content), content))
    if process.returncode:
        sys.exit(f"git fast-import ended with {process.returncode}")


def gather(large: Path, gathered: Path) -> None:
    """Make the same in one pack, as `git gc` leaves it, the other branch's objects among them."""
    run("git", "clone", "--quiet", "--local", "--no-checkout", large, gathered)
    run("git", "-C", gathered, "remote", "remove", "origin")
    run("git", "-C", gathered, "fetch", "--quiet", large, "other:other")
    run("git", "-C", gathered, "repack", "-a", "-d", "--window=0", "--quiet")
    run("git", "-C", gathered, "reset", "--quiet", "--hard")
