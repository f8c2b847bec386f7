"""What an instance is given of the commit notes beside their refs: the index of them."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from cspace import files
from cspace.errors import CspaceError
from cspace.lifecycle.host import Host

PLACE = Path("cspace/index.db")
# Somebody who changes it is done in milliseconds, or builds it anew: then the instance does, too.
LOCK_SECONDS = 0.5


def give_index(host: Host, workspace: Path) -> None:
    """Copy the host's index into a clone that no agent has seen, so nothing is embedded again.

    It is derived: where it can not be copied, whoever needs it inside builds it.
    """
    source = host.project.common_directory / PLACE
    target = workspace / ".git" / PLACE
    with contextlib.suppress(OSError, CspaceError), contextlib.ExitStack() as stack:
        if not source.is_file():
            return
        lock = source.with_suffix(".lock")
        stack.enter_context(
            files.lock(lock, timeout=LOCK_SECONDS, holder="cspace up", owner=host.owner)
        )
        files.ensure_directory(target.parent, owner=host.owner, mode=0o700)
        with files.temporary(target, b"", owner=host.owner) as copy:
            shutil.copyfile(source, copy)
            copy.replace(target)
