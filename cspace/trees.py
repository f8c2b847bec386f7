"""Removes directory trees that an agent could write to."""

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePosixPath

from cspace import beneath, proc

_DIRECTORY = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_tree(*paths: Path) -> None:
    """Remove directories with whatever modes an agent gave their entries; nothing of what is gone.

    Links are removed and never followed.

    Raises:
        CommandFailed: something could not be removed.
    """
    # Not shutil: an agent can nest directories deeper than Python recurses.
    if proc.run("rm", "-rf", "--", *paths, ok=(0, 1)).code:
        for path in paths:
            unlock_directories(path)
        proc.run("rm", "-rf", "--", *paths)


def unlock_directories(root: Path) -> None:
    """Let the owner into every directory below root, itself included.

    Not chmod -R: it follows a link that takes a directory's place after it looked.
    """
    pending = [PurePosixPath(root.name)]
    while pending:
        relative = pending.pop()
        try:
            parent = beneath.open_directory(root.parent, relative.parent)
            try:
                entered = os.open(relative.name, os.O_PATH | _DIRECTORY, dir_fd=parent)
            finally:
                os.close(parent)
        except OSError:
            continue  # gone, or no directory any more
        try:
            # Through /proc, which leads to what was opened: fchmod refuses such a descriptor.
            place = Path(f"/proc/self/fd/{entered}")
            place.chmod(place.stat().st_mode | stat.S_IRWXU)
            with os.scandir(place) as found:
                pending += [relative / e.name for e in found if e.is_dir(follow_symlinks=False)]
        finally:
            os.close(entered)
