"""Says what can be reached from a network namespace, as one line of JSON: `python -m` this module.

It runs in a throw-away container of an image of ours that shares an instance's network, and nothing
else of it. Nothing is sent to anybody but that network's own neighbours and the proxy: whether
there is a route, a UDP socket tells without a packet. One byte is sent to nobody, to see that it
can not be.
"""

from __future__ import annotations

import contextlib
import json
import socket
import sys

from cspace.egress.seal import FAR, find_unsealed
from cspace.egress.squid import PORT, PROBE_NAME

# Nobody is asked anything: these too only stand for everything that is not near.
ROUTES = {
    "IPv4": (socket.AF_INET, FAR),
    "IPv6": (socket.AF_INET6, "2001:db8::1"),
    "metadata": (socket.AF_INET, "169.254.169.254"),
}
# A root server's name: it has an address wherever names outside are answered.
OUTSIDE_NAME = "a.root-servers.net"
RESOLVER = "127.0.0.11"
# A neighbour answers within a millisecond, or never.
NEAR_SECONDS = 0.5
PROXY_SECONDS = 5.0
MAX_ANSWER = 4096


def main() -> None:
    """Print what is found: argv holds the gateway's and the proxy's address, "-" for none."""
    gateway, proxy = sys.argv[1:]
    found = {
        "routes": [name for name, where in ROUTES.items() if _has_route(*where)],
        "link_local": _has_link_local(),
        "unsealed": bool(find_unsealed()),
        "host": gateway != "-" and _is_there(gateway),
        "dns": _resolves(),
        "proxy": proxy != "-" and _refuses(proxy),
    }
    print(json.dumps(found))  # noqa: T201  this is the answer


def _has_route(family: int, address: str) -> bool:
    with socket.socket(family, socket.SOCK_DGRAM) as outward:
        try:
            outward.connect((address, 9))
        except OSError:
            return False
    return True


def _has_link_local() -> bool:
    """Tell whether an interface speaks IPv6 with its neighbours, the machine among them."""
    for number, name in socket.if_nameindex():
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as near:
            if name == "lo":
                continue
            with contextlib.suppress(OSError):
                near.connect(("ff02::1", 9, 0, number))
                return True
    return False


def _is_there(address: str) -> bool:
    """Tell whether a neighbour has an address: whoever has it also says that a port is closed."""
    try:
        with socket.create_connection((address, 9), timeout=NEAR_SECONDS):
            return True
    except ConnectionRefusedError:
        return True
    except OSError:
        return False


def _resolves() -> bool:
    """Ask the engine's resolver, whatever /etc/resolv.conf says."""
    labels = b"".join(bytes([len(each)]) + each.encode() for each in OUTSIDE_NAME.split("."))
    question = (
        b"\x43\x53\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00" + labels + b"\x00\x00\x01\x00\x01"
    )
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as resolver:
        resolver.settimeout(NEAR_SECONDS)
        try:
            resolver.connect((RESOLVER, 53))
            resolver.send(question)
            answer = resolver.recv(MAX_ANSWER)
        except OSError:
            return False
    # An answer without an error, and with at least one record.
    return len(answer) > 12 and answer[3] & 0x0F == 0 and answer[6:8] != b"\x00\x00"


def _refuses(proxy: str) -> bool:
    """Tell whether the proxy answers, and refuses a name that nobody can allow."""
    request = (
        f"GET http://{PROBE_NAME}/ HTTP/1.1\r\nHost: {PROBE_NAME}\r\nConnection: close\r\n\r\n"
    )
    try:
        with socket.create_connection((proxy, PORT), timeout=PROXY_SECONDS) as connection:
            connection.sendall(request.encode("ascii"))
            return connection.recv(MAX_ANSWER).startswith(b"HTTP/1.1 403 ")
    except OSError:
        return False


if __name__ == "__main__":
    main()
