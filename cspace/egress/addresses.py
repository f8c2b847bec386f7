"""Addresses that no allowed name may lead to."""

from __future__ import annotations

import ipaddress

# Where a name points is its owner's choice: without this list an allowed one could lead into the
# machine, its network or its cloud. IPv4 inside IPv6 (NAT64, 6to4, Teredo, compatible) is refused
# whole. Documentation ranges are not: nobody routes them, and tests put their outside world there.
REFUSED = (
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "168.63.129.16/32",  # what Azure's machines ask for their secrets, though it looks public
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "::/96",
    "64:ff9b::/96",
    "64:ff9b:1::/48",
    "100::/64",
    "2001::/32",
    "2001:2::/48",
    "2001:10::/28",
    "2001:20::/28",
    "2002::/16",
    "5f00::/16",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
)

_NETWORKS = tuple(ipaddress.ip_network(text) for text in REFUSED)


def is_refused(address: str) -> bool:
    """Tell whether the proxy refuses to connect to an address.

    Raises:
        ValueError: it is no address.
    """
    parsed = ipaddress.ip_address(address.partition("%")[0])
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    return any((mapped or parsed) in network for network in _NETWORKS)
