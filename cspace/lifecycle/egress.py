"""The way out of a project's instances: a network for each, and one proxy for all of them."""

from __future__ import annotations

from cspace.engine.model import Container
from cspace.lifecycle.host import Host


def ensure_network(host: Host, name: str, *, internal: bool) -> None:
    """Make the network of an instance unless it is there as it should be.

    Raises:
        CspaceError: no subnet is free, or the network's name is taken by something else.
    """
    raise NotImplementedError


def find_proxy(host: Host) -> Container | None:
    """Find the proxy's container, running or not; its endpoints tell its addresses."""
    raise NotImplementedError


def ensure_proxy(host: Host) -> None:
    """Have the project's proxy run, by the present rules, attached to every instance's network.

    Raises:
        CommandFailed: it can not be started; instances have no way out then.
    """
    raise NotImplementedError


def reload_proxy(host: Host) -> bool:
    """Write the present rules; have a running proxy read them. Tells whether they changed."""
    raise NotImplementedError


def release_proxy(host: Host) -> bool:
    """Remove proxy and network once no instance of the project is left; tells whether it did."""
    raise NotImplementedError
