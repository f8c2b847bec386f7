"""Removes directory trees that an agent could write to."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

from cspace import beneath, proc


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
                directory = beneath.open_child(parent, relative.name, unlock=True)
            finally:
                os.close(parent)
        except OSError:
            continue  # gone, no directory any more, or not ours
        try:
            with os.scandir(directory) as found:
                pending += [relative / e.name for e in found if e.is_dir(follow_symlinks=False)]
        finally:
            os.close(directory)
