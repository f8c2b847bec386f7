"""What is locked for a write lies where no instance sees it: who can read a file can lock it."""

from __future__ import annotations

import fcntl
import os
from contextlib import ExitStack
from pathlib import Path

from cspace.memory.changes import Change, Operation, apply_change
from cspace.memory.scopes import parse_scope
from cspace.memory.store import MemoryStore


def write(store: MemoryStore, change: Change) -> None:
    store.write(change, apply_change(None, change, store.now()), None)


def test_whoever_locks_all_files_of_a_scope_keeps_nobody_from_writing(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "memory")
    scope = parse_scope("projects/web")
    with ExitStack() as held:
        write(store, Change(scope, "one", Operation.CREATE, "Short."))
        for path in (store.directory(scope), *store.directory(scope).iterdir()):
            descriptor = os.open(path, os.O_RDONLY)
            held.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        write(store, Change(scope, "two", Operation.CREATE, "Short."))
    assert store.slugs(scope) == ("one", "two")
