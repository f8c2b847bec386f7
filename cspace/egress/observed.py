"""What a probe found in an instance's network, and what that means. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass

from cspace.errors import MALFORMED

MAX_BYTES = 4096
_FLAGS = ("link_local", "unsealed", "host", "dns", "proxy")
UNSEALED = "datagrams past the routes"
SET_OPEN = "open: firewall.enabled is false"


@dataclass(frozen=True, slots=True)
class Sight:
    """What can be reached from an instance's network namespace.

    Attributes:
        routes: what there is a route to: IPv4, IPv6, metadata.
        link_local: whether there is IPv6 among neighbours.
        unsealed: whether a datagram leaves by an interface that it names, without a route.
        host: whether this machine answers on the network's gateway.
        dns: whether names outside are resolved.
        proxy: whether the proxy answers, and refuses what nobody allowed.
    """

    routes: tuple[str, ...]
    link_local: bool
    unsealed: bool
    host: bool
    dns: bool
    proxy: bool

    @property
    def leaks(self) -> tuple[str, ...]:
        """What is open past the proxy, in words."""
        found = [f"a route to {name}" for name in self.routes]
        found += ["IPv6 among neighbours"] if self.link_local else []
        found += [UNSEALED] if self.unsealed else []
        found += ["this machine"] if self.host else []
        found += ["DNS"] if self.dns else []
        return tuple(found)


def parse_sight(answer: bytes) -> Sight | None:
    """Read a probe's answer; None where it is anything else."""
    if len(answer) > MAX_BYTES:
        return None
    try:
        found = json.loads(answer)
        return Sight(
            routes=tuple(str(name) for name in found["routes"]),
            **{key: bool(found[key]) for key in _FLAGS},
        )
    except MALFORMED:
        return None


def describe_sight(sight: Sight | None, *, enabled: bool, names: int) -> str:
    """Say in words what an instance reaches.

    Args:
        enabled: whether its network was made with the firewall on.
        names: how many patterns the proxy's list holds.
    """
    if sight is None:
        way_out = "" if enabled else ", and its network has a way out"
        return f"unknown: the probe did not answer{way_out}"
    if not enabled:
        return SET_OPEN if sight.leaks else "blocked: there is no way out"
    if sight.leaks:
        return f"open: {', '.join(sight.leaks)}, though firewall.enabled is true"
    if not sight.proxy:
        return "blocked: the proxy does not answer"
    return f"allowlist ({names} names)"
