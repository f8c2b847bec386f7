"""Who we are and who owns what we create.

Under sudo cspace becomes the user who called it, and keeps of root only the group that may talk to
Docker: then every file is that user's from its first moment, and a path that an agent swaps for a
link leads nowhere that this user could not go anyway.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from pathlib import Path

from cspace.files import Owner

# The uid and gid of the container's user when root itself, and no user, calls.
CONTAINER_DEFAULT = Owner(1000, 1000)
DOCKER_SOCKET = Path("/var/run/docker.sock")


def find_owner() -> Owner:
    """Return who owns what we create: ourselves, or the container's user when we are root."""
    if os.geteuid() == 0:
        return CONTAINER_DEFAULT
    return Owner(os.geteuid(), os.getegid())


def account_name() -> str:
    """Return the name of the account that we run as; its number where it has none."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def become_invoking_user(environ: Mapping[str, str]) -> dict[str, str]:
    """Drop from sudo's root to the user who called it; return the variables that change with it.

    Nothing happens without sudo, or when root itself used sudo.
    """
    uid, group = environ.get("SUDO_UID", ""), environ.get("SUDO_GID", "")
    if os.geteuid() != 0 or not uid.isdecimal() or int(uid) == 0:
        return {}
    gid = int(group if group.isdecimal() else uid)
    try:
        account = pwd.getpwuid(int(uid))
        groups = os.getgrouplist(account.pw_name, gid)
        changed = {"HOME": account.pw_dir, "USER": account.pw_name, "LOGNAME": account.pw_name}
    except KeyError:
        groups, changed = [gid], {}
    if DOCKER_SOCKET.exists():
        groups = [*groups, DOCKER_SOCKET.stat().st_gid]
    os.setgroups(groups)
    os.setgid(gid)
    os.setuid(int(uid))
    return changed
