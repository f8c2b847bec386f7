"""The seal of an instance's network: what leaves it goes to a neighbour of its own subnet only.

A network without a way out has no routes, but a program may name the interface that it sends by,
and then the kernel needs none: such a datagram, or a broadcast, arrives at this machine. The rules
lie in the instance's own network namespace, where no program of it has the privilege to change
them. `python -m` this module waits until they are there.
"""

from __future__ import annotations

import errno
import socket
import struct
import time
from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network

# Nobody is asked anything: it stands for everything that is not near.
FAR = "192.0.2.1"
_DISCARD = 9
# Python has no name for it.
_IP_PKTINFO = 8
# A rule says the first; the others, an interface that is down or has gone.
_KEPT_IN = frozenset({errno.EPERM, errno.ENETUNREACH, errno.ENETDOWN, errno.ENODEV})
_PAUSE_SECONDS = 0.01
_TABLE = "inet cspace"


def render_rules(subnets: Iterable[IPv4Network]) -> str:
    """Render what nft does in one transaction, whatever it did before; both IP families.

    Neither the machine's own place in a subnet is a neighbour, nor the subnet's broadcast.
    """
    near = ", ".join(f"{subnet[2]}-{subnet[-2]}" for subnet in subnets)
    return "\n".join(
        (
            # That of before goes; one that is not there can not be deleted.
            f"table {_TABLE}",
            f"delete table {_TABLE}",
            f"table {_TABLE} {{",
            *_render_chain("output", 'oifname "lo"', f"ip daddr {{ {near} }}" if near else ""),
            *_render_chain("input", 'iifname "lo"', f"ip saddr {{ {near} }}" if near else ""),
            "}",
        )
    )


def _render_chain(hook: str, *accepted: str) -> Iterator[str]:
    yield f"  chain {hook} {{"
    yield f"    type filter hook {hook} priority filter; policy drop;"
    yield from (f"    {each} accept" for each in accepted if each)
    yield "  }"


def find_unsealed() -> tuple[str, ...]:
    """Name the interfaces by which a datagram leaves for where no route leads."""
    return tuple(name for name, error in _try_all() if error not in _KEPT_IN)


def is_sealed() -> bool:
    """Tell whether rules keep in what goes out, and not only an interface that is down."""
    errors = {error for _, error in _try_all()}
    return errno.EPERM in errors and errors <= _KEPT_IN


def _try_all() -> Iterator[tuple[str, int]]:
    for number, name in socket.if_nameindex():
        if name != "lo":
            yield name, _send_by(number)


def _send_by(interface: int) -> int:
    """Send a byte by an interface; return the error's number, 0 for none."""
    where = struct.pack("=I4s4s", interface, b"", b"")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        try:
            out.sendmsg([b"\0"], [(socket.IPPROTO_IP, _IP_PKTINFO, where)], 0, (FAR, _DISCARD))
        except OSError as error:
            return error.errno or errno.EIO
    return 0


def main() -> None:
    """Return once the network is sealed."""
    while not is_sealed():
        time.sleep(_PAUSE_SECONDS)


if __name__ == "__main__":
    main()
