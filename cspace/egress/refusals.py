"""What a project's proxy refused, read from its log. Host names in it are an agent's text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from urllib.parse import unquote

from cspace.egress.squid import LOG_MARK

_LINE = re.compile(
    rf"{LOG_MARK} (?P<at>\d{{1,12}}\.\d{{3}}) (?P<address>[0-9a-f.:]+) (?P<method>\S+)"
    r" (?P<host>\S+) (?P<port>\d{1,5}|-) (?P<why>\w+)",
    re.ASCII,
)


class Why(StrEnum):
    """Why something was refused, as the proxy's rules call it."""

    NAME = "name"
    PORT = "port"
    METHOD = "method"
    ADDRESS = "address"

    @property
    def words(self) -> str:
        return _WORDS[self]


_WORDS = {
    Why.NAME: "no rule allows the name",
    Why.PORT: "only 80, and 443 with TLS, are allowed",
    Why.METHOD: "only HTTP, and TLS through CONNECT, are allowed",
    Why.ADDRESS: "the name leads to an address that is not public",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """Requests of one kind that were refused.

    Attributes:
        instance: whose network they came from; None where that is gone.
        address: of who asked.
        host: as it was asked for, an agent's text.
        port: None where there was none.
        times: how often.
    """

    first: datetime
    last: datetime
    instance: str | None
    address: str
    method: str
    host: str
    port: int | None
    why: Why
    times: int = 1


def parse_refusals(log: str) -> tuple[Refusal, ...]:
    """Read the refusals of a proxy's log, oldest first; other lines are none."""
    return tuple(_iter_refusals(log))


def group_refusals(refusals: Iterable[Refusal]) -> tuple[Refusal, ...]:
    """Join what was refused again and again; the newest comes last."""
    groups: dict[tuple[object, ...], Refusal] = {}
    for each in refusals:
        key = (each.instance, each.address, each.method, each.host, each.port, each.why)
        known = groups.pop(key, None)
        first, times = (known.first, known.times) if known else (each.first, 0)
        groups[key] = replace(each, first=first, times=times + each.times)
    return tuple(groups.values())


def _iter_refusals(log: str) -> Iterator[Refusal]:
    for line in log.split("\n"):
        found = _LINE.fullmatch(line.removesuffix("\r"))
        if found is None or found["why"] not in set(Why):
            continue
        at = datetime.fromtimestamp(float(found["at"]), UTC)
        yield Refusal(
            first=at,
            last=at,
            instance=None,
            address=found["address"],
            method=unquote(found["method"], errors="backslashreplace"),
            host=unquote(found["host"], errors="backslashreplace"),
            port=int(found["port"]) if found["port"] != "-" else None,
            why=Why(found["why"]),
        )
