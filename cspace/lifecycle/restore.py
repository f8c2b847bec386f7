"""Brings an archived instance back."""

from __future__ import annotations

from cspace.errors import CspaceError
from cspace.instance.archive import check_archive
from cspace.lifecycle.archives import find_archive
from cspace.lifecycle.host import Host
from cspace.lifecycle.up import Ready, Wish, up


def find_wish(host: Host, reference: str) -> Wish:
    """Choose an archive by `<name>/<stamp>`, or the newest by `<name>`, and read it back.

    Raises:
        NotFound: there is none.
        CspaceError: it is damaged.
    """
    found = find_archive(host.project.root, reference)
    try:
        check_archive(host.project.root, found)
    except CspaceError as error:
        raise CspaceError(
            f"archive {found.reference} is damaged, so nothing was made: {error}",
            hint="git fsck says what is lost;"
            f" cspace archive list {found.name} shows other archives",
        ) from error
    return Wish(restoring=found.reference)


def restore(host: Host, name: str, wish: Wish) -> Ready:
    """Fill a new instance from an archive and start it; the archive stays.

    Raises:
        Conflict: an instance of that name has a workspace already.
    """
    return up(host, name, wish)
