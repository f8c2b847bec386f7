"""Names of hosts, exact or with all their subdomains, as people write them and as squid reads them.

A pattern is `example.com` for this name alone, or `.example.com` for it and all below it.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable

# The setting that lists patterns.
DOMAINS = "firewall.domains"
# What an instance calls this machine, past the proxy.
MACHINE = "host.docker.internal"
MAX_LENGTH = 253
# An underscore is no letter of a host's name, but some have one.
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
# What programs take for a number of an IPv4 address: 127.1 and 0x7f.1 are 127.0.0.1.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


class NotAName(ValueError):
    """What was given names no host; `reason` goes on from "is <what was given>, "."""

    def __init__(self, reason: str, hint: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint


def parse_pattern(text: str) -> str:
    """Read `example.com`, or `*.example.com` or `.example.com` for it with its subdomains.

    Raises:
        NotAName: it is anything else.
    """
    name = text.removeprefix("*")
    if name != text and not name.startswith("."):
        raise NotAName("with a * that is no whole first label", "write *.example.com")
    wide = name.startswith(".")
    return ("." if wide else "") + parse_name(name.removeprefix("."))


def parse_name(text: str) -> str:
    """Read one host's name; give it in lower case, without the dot that may end it.

    Raises:
        NotAName: it is an address, a URL, has a port, is not ASCII, or no name at all.
    """
    if "/" in text:
        raise NotAName("a URL or a path", "write the host's name alone: example.com")
    if is_address(text):
        raise NotAName("an address, and only names can be allowed", "allow the name it belongs to")
    if ":" in text or "@" in text:
        raise NotAName("with a port or a user", "write the host's name alone: example.com")
    if "*" in text:
        raise NotAName("with a * inside", "only a first label can be one: *.example.com")
    if not text.isascii():
        raise NotAName("not ASCII", f"write its xn-- form{_punycode(text)}")
    return _parse_labels(text.lower().removesuffix("."))


def _parse_labels(name: str) -> str:
    if name in {MACHINE, "localhost"}:
        raise NotAName("no name outside", "a service of this machine: firewall.host_ports")
    labels = name.split(".")
    if len(name) > MAX_LENGTH or not all(map(_LABEL.fullmatch, labels)):
        raise NotAName("no name of a host", "write it like example.com or *.example.com")
    if _NUMBER.fullmatch(labels[-1]):
        raise NotAName("an address, and only names can be allowed", "allow the name it belongs to")
    if len(labels) < 2:
        raise NotAName("a single label", "write the whole name: example.com")
    return name


def covers(pattern: str, name: str) -> bool:
    """Tell whether a pattern holds for a name, or for all that another pattern holds for."""
    if pattern.startswith("."):
        return name == pattern[1:] or name.endswith(pattern)
    return name == pattern


def without_covered(patterns: Iterable[str]) -> tuple[str, ...]:
    """Sort patterns, and leave out those for which others hold anyway."""
    each = sorted(set(patterns))
    wide = [pattern for pattern in each if pattern.startswith(".")]
    return tuple(
        pattern
        for pattern in each
        if not any(other != pattern and covers(other, pattern) for other in wide)
    )


def is_address(text: str) -> bool:
    """Tell whether a text is an IPv4 or IPv6 address, in brackets or with a zone too."""
    try:
        ipaddress.ip_address(text.removeprefix("[").removesuffix("]").partition("%")[0])
    except ValueError:
        return False
    return True


def _punycode(text: str) -> str:
    try:
        return f": {text.encode('idna').decode('ascii')}"
    except UnicodeError:
        return ""
