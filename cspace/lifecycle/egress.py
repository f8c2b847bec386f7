"""The proxy of a project: the only way out of its instances while the firewall is on."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace

from cspace import files, git
from cspace.egress.domains import allowlist, list_rules
from cspace.egress.environment import ALIAS
from cspace.egress.squid import CONFIGURATION, DIRECTORY, PORT, render_proxy
from cspace.engine.model import Container, State
from cspace.engine.sidecar_model import Network, Sidecar
from cspace.errors import CommandFailed
from cspace.instance import image, labels
from cspace.instance.names import egress_name
from cspace.lifecycle.host import Host
from cspace.lifecycle.images import ensure_image
from cspace.lifecycle.networks import list_networks, make_network

READY_SECONDS = 30.0
LOG_LINES = 15
# An instance's ports come through a container of ours that is attached here too.
_PREFIX = 24
_MEMORY = 256 * 1024 * 1024
_PIDS = 64
_ALIVE = frozenset({State.RUNNING, State.STARTING})
# There from before rules are written until the proxy is told, also when we are killed meanwhile.
_UNREAD = "unread"


def find_proxy(host: Host) -> Container | None:
    """Find the proxy's container, running or not; its endpoints tell its addresses."""
    found = host.engine.list_containers(labels.of_egress(host.project.id))
    return found[0] if found else None


def render_rules(host: Host) -> Mapping[str, bytes]:
    """Render what the proxy reads, by the present settings."""
    origin = git.remote_url(host.project.root, "origin")
    rules = list_rules(host.settings.firewall.domains, origin)
    return render_proxy(allowlist(rules), upstream=host.blueprint().upstream)


def lacks_proxy(host: Host, network: Network | None) -> str:
    """Say what the proxy lacks for an instance's network; "" where it serves as it should."""
    proxy = find_proxy(host)
    unfit = _why_unfit(proxy, _sidecar(host))
    if proxy is None or unfit:
        return unfit
    if network is None or network.id not in {each.network_id for each in proxy.endpoints}:
        return "the project's proxy is not attached to the network"
    return "" if _is_written(host, render_rules(host)) else "the proxy's rules have changed"


def ensure_proxy(host: Host, name: str) -> None:
    """Have the project's proxy run, by the present rules, attached to every instance's network.

    Raises:
        CspaceError: it can not be started; no instance has a way out then.
    """
    with host.locked_egress(name):
        changed = _write_rules(host)
        proxy, wanted = find_proxy(host), _sidecar(host)
        if proxy is not None and not _why_unfit(proxy, wanted):
            if changed:
                _have_read(host, proxy)
            _attach(host, proxy)
        else:
            ensure_image(host, name, host.egress_image)
            _start(host, name, wanted)
            _have_read(host, None)
        _wait(host, name)


def _why_unfit(proxy: Container | None, wanted: Sidecar) -> str:
    """Say why a proxy has to be made; "" where the one that is there will do."""
    if proxy is None or proxy.state not in _ALIVE:
        return "the project's proxy does not run"
    if proxy.labels.get(labels.SPEC) != wanted.labels[labels.SPEC]:
        return "the project's proxy is of an earlier version"
    return ""


def _start(host: Host, name: str, wanted: Sidecar) -> None:
    own, there = wanted.networks[0], list_networks(host)
    if own not in {network.name for network in there}:
        make_network(host, name, own, wanted.labels, internal=False, prefix=_PREFIX)
    inside = (network.id for network in there if network.internal)
    try:
        host.engine.sidecars.start(replace(wanted, networks=(own, *inside)))
    except CommandFailed as error:
        raise _refused(name, str(error)) from error


def _attach(host: Host, proxy: Container) -> None:
    attached = {each.network_id for each in proxy.endpoints}
    for network in list_networks(host):
        if network.internal and network.id not in attached:
            host.engine.networks.connect(network.id, proxy.id, alias=ALIAS)


def _wait(host: Host, name: str) -> None:
    marks = labels.of_egress(host.project.id)
    if host.engine.wait(marks, timeout=READY_SECONDS) is State.RUNNING:
        return
    proxy = find_proxy(host)
    log = host.engine.logs(proxy, tail=LOG_LINES).rstrip() if proxy else ""
    if proxy is not None:
        # It would be started again and again.
        host.engine.remove(proxy)
    tail = "\n".join(f"  {line}" for line in log.splitlines())
    raise _refused(name, f"its log ends with:\n{tail or '  (nothing)'}")


def _refused(name: str, why: str) -> CommandFailed:
    return CommandFailed(
        f"the project's proxy can not be started, and without it instances have no way out: {why}",
        hint=f"repair the cause, then: cspace up {name}",
    )


def _sidecar(host: Host) -> Sidecar:
    name = egress_name(host.project.id)
    sidecar = Sidecar(
        name=name,
        image=host.egress_image.tag,
        command=("squid", "-N", "-f", f"{DIRECTORY}/{CONFIGURATION}"),
        user="proxy",
        labels={},
        directory=host.egress.directory,
        place=DIRECTORY,
        temporary=("/tmp", "/run"),  # noqa: S108  in the container
        networks=(name,),
        alias=ALIAS,
        health=("bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{PORT}"),
        memory=_MEMORY,
        pids=_PIDS,
    )
    digest = hashlib.sha256(repr(sidecar).encode("utf-8", "surrogateescape")).hexdigest()
    marks = {
        labels.ROOT: str(host.project.root),
        labels.VERSION: image.version(),
        labels.EGRESS_DIRECTORY: str(host.egress.directory),
        labels.SPEC: digest[:16],
    }
    return replace(sidecar, labels=labels.of_egress(host.project.id) | marks)


def reload_proxy(host: Host) -> bool:
    """Write the present rules; have a running proxy read them. Tells whether they changed."""
    with host.locked_egress(""):
        changed, proxy = _write_rules(host), find_proxy(host)
        if changed:
            _have_read(host, proxy if proxy is not None and proxy.state in _ALIVE else None)
    return changed


def _have_read(host: Host, proxy: Container | None) -> None:
    """Have the proxy read its rules; one that starts does it by itself."""
    if proxy is not None:
        host.engine.sidecars.signal(proxy.id, "HUP")
    (host.egress.directory / _UNREAD).unlink(missing_ok=True)


def _is_written(host: Host, rules: Mapping[str, bytes]) -> bool:
    """Tell whether these rules are there, and the proxy was told of them."""
    if (host.egress.directory / _UNREAD).exists():
        return False
    try:
        return all((host.egress.directory / name).read_bytes() == rules[name] for name in rules)
    except OSError:
        return False


def _write_rules(host: Host) -> bool:
    """Write what the proxy reads; tells whether that changed anything.

    The proxy has another uid, so the files are open to all; the directory above is not.
    """
    rules, directory = render_rules(host), host.egress.directory
    if _is_written(host, rules):
        return False
    files.ensure_directory(directory.parent, owner=host.owner, mode=0o700)
    files.ensure_directory(directory, owner=host.owner)
    files.sweep(directory)
    files.write_atomic(directory / _UNREAD, b"", owner=host.owner)
    for name, content in rules.items():
        files.write_atomic(directory / name, content, owner=host.owner)
    return True
