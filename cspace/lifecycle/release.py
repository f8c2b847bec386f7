"""Takes a project's proxy away once no instance needs it; loads no settings, as a teardown."""

from __future__ import annotations

from cspace import trees
from cspace.engine.model import Engine
from cspace.instance import labels
from cspace.instance.observe import list_instances
from cspace.instance.plan import Action
from cspace.lifecycle.host import Host
from cspace.paths import EgressPaths


def release_proxy(host: Host, name: str) -> bool:
    """Remove the proxy and its network where no instance of the project is left.

    Args:
        name: the instance that has gone, for the report.

    Returns whether it did. Under the project's lock: a name that is being taken keeps it.
    """
    if not host.egress.directory.is_dir():
        return False
    with host.locked_project():
        if list_instances(host.engine, host.user, host.project.id):
            return False
        phase = host.phase(name, Action.EGRESS, "no instance of the project is left")
        with phase, host.locked_egress(name):
            remove_proxy(host.engine, host.egress)
    return True


def remove_proxy(engine: Engine, egress: EgressPaths) -> None:
    """Remove a project's proxy and its network, whatever is attached, then what it reads."""
    engine.remove_all(labels.of_egress(egress.directory.name))
    trees.remove_tree(egress.directory)
