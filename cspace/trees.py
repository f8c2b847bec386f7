"""Removes directory trees that an agent could write to."""

from __future__ import annotations

from pathlib import Path

from cspace import proc


def remove_tree(path: Path) -> None:
    """Remove a directory with whatever modes an agent gave its entries; nothing if it is not there.

    Links are removed and never followed.

    Raises:
        CommandFailed: something could not be removed.
    """
    # Not shutil: an agent can nest directories deeper than Python recurses.
    if proc.run("rm", "-rf", "--", path, ok=(0, 1)).code:
        proc.run("chmod", "-R", "u+rwx", "--", path, ok=(0, 1))
        proc.run("rm", "-rf", "--", path)
