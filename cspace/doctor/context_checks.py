"""What is wrong in the context's store. Looks at no more than it must, and changes nothing."""

from __future__ import annotations

import contextlib
import itertools
import os
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from cspace import beneath, files
from cspace.context.oddities import Oddity, iter_oddities, iter_text_oddities
from cspace.context.records import HUMAN, ROOT, Kind
from cspace.context.store import ContextStore
from cspace.docstore.folder import Folder
from cspace.docstore.opened import SUFFIX
from cspace.doctor.model import Diagnosis
from cspace.errors import CspaceError

# So that a store that somebody filled does not keep a person waiting for ever.
MAX_TOTAL_BYTES = 256 * 1024 * 1024
MAX_NAMES = 100_000
MAX_SHOWN = 200
# What git and people put into any directory.
_GIT = frozenset({".gitkeep", ".gitignore", ".gitattributes"})


def examine_context(store: ContextStore) -> tuple[Diagnosis, ...]:
    """Look at every file of the context; a project without one has nothing wrong.

    At most MAX_SHOWN things are named, with a last one that counts the others.
    """
    if not os.path.lexists(store.root / ROOT):
        return ()
    found = itertools.chain(
        _check_names(store, ROOT, documents=HUMAN),
        _check_human(store),
        *(_check_names(store, ROOT / kind.plural, documents=None) for kind in Kind),
        _check_records(store),
    )
    shown = tuple(itertools.islice(found, MAX_SHOWN))
    more = sum(1 for _ in found)
    if not more:
        return shown
    last = _diagnosis(f"{more} more things are wrong", "repair these, then: cspace context doctor")
    return (*shown, last)


def _diagnosis(problem: str, repair: str) -> Diagnosis:
    return Diagnosis("context", problem, repair)


def _check_human(store: ContextStore) -> Iterator[Diagnosis]:
    for name in HUMAN:
        path = ROOT / f"{name}{SUFFIX}"
        try:
            document = beneath.read_file(store.root, path)
        except FileNotFoundError:
            yield _diagnosis(f"{str(path)!r} is missing", "cspace init")
        except OSError as error:
            yield _unreadable(store, path, error.strerror or str(error))
        except CspaceError as error:
            yield _unreadable(store, path, str(error))
        else:
            yield from _odd(path, iter_text_oddities(name, document))


def _check_records(store: ContextStore) -> Iterator[Diagnosis]:
    left = MAX_TOTAL_BYTES
    for kind in Kind:
        folder = store.folder(kind)
        for stem, found in _documents(folder):
            if left <= 0:
                text = f"more of {folder.relative} was not read, after {MAX_TOTAL_BYTES} bytes"
                yield _diagnosis(text, _look(store.root / folder.relative))
                return
            path = folder.path_of(stem)
            if isinstance(found, CspaceError):
                yield _unreadable(store, path, str(found).removeprefix(f"{path}: "))
            else:
                left -= len(found)
                yield from _odd(path, iter_oddities(kind, stem, found))


def _documents(folder: Folder) -> Iterator[tuple[str, bytes | CspaceError]]:
    # What is wrong with the directory is said where its names are checked.
    with contextlib.suppress(CspaceError):
        yield from itertools.islice(folder.read_all(), MAX_NAMES)


def _odd(path: PurePosixPath, oddities: Iterator[Oddity]) -> Iterator[Diagnosis]:
    for one in oddities:
        yield _diagnosis(f"{str(path)!r} {one.problem}", one.repair)


def _check_names(
    store: ContextStore, relative: PurePosixPath, documents: tuple[str, ...] | None
) -> Iterator[Diagnosis]:
    """Look for what cspace never makes there.

    Args:
        documents: which names documents may have; None for any.
    """
    try:
        with beneath.pinned(store.root, relative) as directory:
            names = sorted(itertools.islice(os.listdir(directory), MAX_NAMES))  # noqa: PTH208  see Folder
            abandoned = {path.name for path in files.list_abandoned(directory)}
    except FileNotFoundError:
        return
    except (OSError, CspaceError) as error:
        yield _unreadable(store, relative, getattr(error, "strerror", None) or str(error))
        return
    for name in names:
        path = store.root / relative / name
        if name in abandoned:
            text = f"{str(relative / name)!r} was left behind by a writer that is gone"
            yield _diagnosis(text, f"rm -- {shlex.quote(str(path))}")
        elif not _is_known(name, documents):
            yield _diagnosis(f"{str(relative / name)!r} is no file of the context", _look(path))
    yield from _alike(store.root / relative, relative, names)


def _is_known(name: str, documents: tuple[str, ...] | None) -> bool:
    if name in _GIT or name.endswith((f"{SUFFIX}.lock", files.TEMPORARY_SUFFIX)):
        return True
    if documents is None:
        return name.endswith(SUFFIX) and not name.startswith(".")
    return name.removesuffix(SUFFIX) in documents or name in tuple(kind.plural for kind in Kind)


def _alike(directory: Path, relative: PurePosixPath, names: list[str]) -> Iterator[Diagnosis]:
    known: dict[str, str] = {}
    for name in names:
        first = known.setdefault(name.casefold(), name)
        if first != name:
            text = f"{str(relative / first)!r} and {name!r} are one file where case does not count"
            yield _diagnosis(text, f"give one another name: ls -l {shlex.quote(str(directory))}")


def _unreadable(store: ContextStore, path: PurePosixPath, reason: str) -> Diagnosis:
    return _diagnosis(f"{str(path)!r} can not be read: {reason}", _free(store.root / path))


def _free(path: Path) -> str:
    """Return what makes a path readable, or frees its name."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return _look(path)
    if stat.S_ISREG(mode) and not mode & stat.S_IRUSR:
        return f"chmod u+r -- {shlex.quote(str(path))}"
    return _look(path)


def _look(path: Path) -> str:
    return f"look at it and move it away: ls -ld {shlex.quote(str(path))}"
