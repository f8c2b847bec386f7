"""Puts a staged file where it lands: whole at once, and over nothing but what was planned."""

from __future__ import annotations

import os

from cspace.errors import Conflict
from cspace.migration.model import Planned
from cspace.migration.place import look
from cspace.migration.staging import Staging

MEANWHILE = "the target got another file of its name meanwhile"


def publish(staged: Staging, name: str, planned: Planned, parent: int) -> bool:
    """Put a staged file into its directory; False where the same bytes stand there already.

    Raises:
        Conflict: something else stands there than was planned; it stays.
    """
    if planned.replaces is not None:
        return _replace(staged, name, planned, parent)
    try:
        os.link(name, planned.spot.name, src_dir_fd=staged.directory, dst_dir_fd=parent,
                follow_symlinks=False)  # fmt: skip
    except FileExistsError:
        if look(parent, planned.spot.name).digest != planned.result:
            raise Conflict(MEANWHILE) from None
        return False
    return True


def _replace(staged: Staging, name: str, planned: Planned, parent: int) -> bool:
    ours = planned.spot.name
    if look(parent, ours).digest == planned.result:
        return False  # another migration was faster
    if planned.aside is not None:
        _keep(planned, ours, planned.aside.name, parent)
    # The last look: what another one renames to this name from here on is lost to a rename.
    if look(parent, ours).digest != planned.replaces:
        raise Conflict(MEANWHILE)
    os.rename(name, ours, src_dir_fd=staged.directory, dst_dir_fd=parent)
    return True


def _keep(planned: Planned, ours: str, aside: str, parent: int) -> None:
    """Give our file a second name, so that a rename to its first one takes nothing away."""
    try:
        os.link(ours, aside, src_dir_fd=parent, dst_dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        raise Conflict(MEANWHILE) from None
    except PermissionError as error:
        # The kernel gives no second name to what is another's and not ours to write.
        raise Conflict(f"ours can not be kept beside it: {error.strerror}") from None
    except FileExistsError:
        if look(parent, aside).digest != planned.replaces:
            raise Conflict(f"{aside} is taken by now") from None
    else:
        if look(parent, aside).digest != planned.replaces:
            os.unlink(aside, dir_fd=parent)
            raise Conflict(MEANWHILE)
