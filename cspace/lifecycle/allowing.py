"""Whether a project's instances may reach a name, and by which rule."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cspace.egress.addresses import is_refused
from cspace.egress.domains import Rule, find_rule, list_rules
from cspace.egress.refusals import Why
from cspace.errors import UsageError
from cspace.hostnames import DOMAINS, NotAName, covers, is_address, parse_name, parse_pattern
from cspace.settings.load import Loaded

Resolve = Callable[[str], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a host may be reached.

    Attributes:
        rule: the pattern that allows its name; None where none does.
        reason: why, in words.
        addresses: where its name leads, as far as this machine can tell.
        hint: what would allow it; None where nothing does, or has to.
    """

    host: str
    allowed: bool
    rule: str | None
    reason: str
    addresses: tuple[str, ...] = ()
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Allowed:
    """What became of a name that was to be allowed.

    Attributes:
        file: where it was added; None where another rule allows it already.
        in_force: whether all that the project's files ask for is trusted.
        enabled: whether there is a firewall that it matters to.
    """

    pattern: str
    file: Path | None
    in_force: bool
    enabled: bool


@dataclass(frozen=True, slots=True)
class Doors:
    """What allowing a name does to the world.

    Attributes:
        add: adds a pattern to the settings, which may have to start with those in force.
        reload: has the proxy follow the settings, without a restart.
    """

    add: Callable[[str, tuple[str, ...]], Path]
    reload: Callable[[], object]


def resolve(name: str) -> tuple[str, ...]:
    """Return the addresses of a name; none where it has none."""
    try:
        found = socket.getaddrinfo(name, 443, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return ()
    return tuple(dict.fromkeys(str(each[4][0]) for each in found))


def check_host(
    host: str, loaded: Loaded, origin: str | None, resolve: Resolve = resolve
) -> Verdict:
    """Say whether instances may reach a host by the present settings, and by which rule.

    Args:
        origin: the URL of the repository's remote.

    Raises:
        UsageError: it is neither a name nor an address.
    """
    firewall = loaded.settings.firewall
    address = is_address(host)
    name = host if address else read_name(host)
    if not firewall.enabled:
        return Verdict(name, allowed=True, rule=None, reason="firewall.enabled is false")
    if address:
        hint = "allow the name it belongs to; of this machine: firewall.host_ports"
        reason = "it is an address, and only names are allowed"
        return Verdict(name, allowed=False, rule=None, reason=reason, hint=hint)
    rule = find_rule(list_rules(firewall.domains, origin), name)
    if rule is None:
        hint = _how_to_allow(name, loaded)
        return Verdict(name, allowed=False, rule=None, reason=Why.NAME.words, hint=hint)
    return _check_addresses(name, rule, resolve(name))


def allow(text: str, survey: Callable[[], Loaded], origin: str | None, doors: Doors) -> Allowed:
    """Let instances reach a name from now on; what is allowed already is only put in force.

    Raises:
        UsageError: it is no name, or the settings are wrong.
        Conflict: another cspace is writing the file.
    """
    pattern = _read(parse_pattern, text)
    domains = survey().settings.firewall.domains
    known = any(covers(rule.pattern, pattern) for rule in list_rules(domains, origin))
    file = None if known else doors.add(pattern, domains)
    loaded = survey()
    in_force = not loaded.untrusted
    if in_force and loaded.settings.firewall.enabled:
        doors.reload()
    return Allowed(pattern, file, in_force=in_force, enabled=loaded.settings.firewall.enabled)


def read_name(host: str) -> str:
    """Read a name that somebody gave on the command line.

    Raises:
        UsageError: it is none.
    """
    return _read(parse_name, host)


def _read(parse: Callable[[str], str], text: str) -> str:
    try:
        return parse(text)
    except NotAName as error:
        raise UsageError(f"{text} is {error.reason}", hint=error.hint) from error


def _check_addresses(name: str, rule: Rule, addresses: tuple[str, ...]) -> Verdict:
    inward = [address for address in addresses if is_refused(address)]
    return Verdict(
        name,
        allowed=not inward,
        rule=rule.pattern,
        reason=f"{Why.ADDRESS.words}: {', '.join(inward)}" if inward else rule.reason,
        addresses=addresses,
        hint="a service of this machine: firewall.host_ports" if inward else None,
    )


def _how_to_allow(name: str, loaded: Loaded) -> str:
    """Name the command that allows a name; what a file asks for already only needs trust."""
    asked = (
        pattern
        for request in loaded.untrusted
        for ask in request.asks
        if ask.key == DOMAINS
        for pattern in ask.value
    )
    if any(covers(pattern, name) for pattern in asked):
        return "a file of the project allows it, and is not trusted: cspace trust"
    return f"cspace net allow {name}"
