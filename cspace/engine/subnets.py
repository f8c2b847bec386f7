"""Free subnets for networks of our own. Docker's own pools are used up by thirty networks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network
from pathlib import Path

# The second is for where a VPN has all of 10.0.0.0/8; nothing on the internet is in it.
POOLS = (IPv4Network("10.222.0.0/16"), IPv4Network("198.18.0.0/16"))
# Of an instance's network: room for its containers, and for the proxy.
INSTANCE_PREFIX = 28
_ROUTES = Path("/proc/net/route")


def find_free(
    pools: Iterable[IPv4Network], taken: Iterable[IPv4Network], prefix: int
) -> IPv4Network | None:
    """Return the first subnet of this prefix length that overlaps nothing; None without one."""
    bounds = sorted((int(each.network_address), int(each.broadcast_address)) for each in taken)
    for pool in pools:
        for start in _gaps(pool, bounds, 1 << (32 - prefix)):
            return IPv4Network((start, prefix))
    return None


def _gaps(pool: IPv4Network, bounds: list[tuple[int, int]], size: int) -> Iterator[int]:
    """Yield where a block of size, aligned to it, fits before, between and after what is taken."""
    place, end = int(pool.network_address), int(pool.broadcast_address)
    for first, last in bounds:
        if place + size <= min(first, end + 1):
            yield place
        # Up to the next multiple of size behind what is taken.
        place = max(place, -(-(last + 1) // size) * size)
    if place + size <= end + 1:
        yield place


def list_routes() -> tuple[IPv4Network, ...]:
    """List where this machine's own routes lead, but for the default one."""
    try:
        return parse_routes(_ROUTES.read_text(encoding="ascii"))
    except OSError:
        return ()  # no Linux, where the engine's machine is another one


def parse_routes(text: str) -> tuple[IPv4Network, ...]:
    """Read the kernel's table: numbers as the machine stores them, least byte first."""
    rows = (line.split() for line in text.splitlines()[1:])
    routes = {IPv4Network((_address(row[1]), str(_quad(row[7])))) for row in rows if len(row) > 7}
    return tuple(sorted(route for route in routes if route.prefixlen))


def _address(word: str) -> int:
    return int.from_bytes(bytes.fromhex(word)[::-1])


def _quad(word: str) -> str:
    return ".".join(str(byte) for byte in bytes.fromhex(word)[::-1])
