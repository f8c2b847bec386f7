"""Brings an archived instance back."""

from __future__ import annotations

from cspace.instance.names import check_name
from cspace.lifecycle import steps
from cspace.lifecycle.host import Host
from cspace.lifecycle.up import Ready, Wish, up


def find_wish(host: Host, name: str, stamp: str | None) -> Wish:
    """Choose the archive of an instance: the one of that time, else the newest.

    Raises:
        NotFound: there is none.
    """
    check_name(name)
    found = steps.find_archive(host, f"{name}/{stamp}" if stamp else name)
    return Wish(restoring=f"{found.name}/{found.stamp}")


def restore(host: Host, name: str, wish: Wish) -> Ready:
    """Fill a new instance from an archive and start it; the archive stays.

    Raises:
        Conflict: an instance of that name has a workspace already.
    """
    return up(host, name, wish)
