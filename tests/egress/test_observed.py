"""What a probe's answer means, and what is read of the proxy's log."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from cspace.egress.observed import MAX_BYTES, Sight, describe_sight, parse_sight
from cspace.egress.refusals import Why, group_refusals, parse_refusals
from cspace.egress.squid import LOG_MARK

CLOSED = Sight(routes=(), link_local=False, unsealed=False, host=False, dns=False, proxy=True)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "allowlist (3 names)"),
        ({"proxy": False}, "blocked: the proxy does not answer"),
        ({"routes": ("IPv4",)}, "open: a route to IPv4, though"),
        ({"link_local": True}, "open: IPv6 among neighbours, though"),
        ({"unsealed": True}, "open: datagrams past the routes, though"),
        ({"host": True, "dns": True}, "open: this machine, DNS, though"),
    ],
)
def test_what_was_observed_is_said_and_not_what_was_configured(
    change: dict[str, Any], said: str
) -> None:
    sight = replace(CLOSED, **change)
    assert describe_sight(sight, enabled=True, names=3).startswith(said)


def test_a_firewall_that_is_off_shows_and_so_does_one_that_was_not_needed() -> None:
    everything = replace(CLOSED, routes=("IPv4", "metadata"))
    assert describe_sight(everything, enabled=False, names=0) == "open: firewall.enabled is false"
    assert describe_sight(CLOSED, enabled=False, names=0).startswith("blocked")


@pytest.mark.parametrize("answer", [b"", b"[]", b"{}", b'{"routes": 1}', b"null", b"\xff"])
def test_an_answer_that_is_none_is_unknown(answer: bytes) -> None:
    assert parse_sight(answer) is None
    assert describe_sight(None, enabled=True, names=1).startswith("unknown")


def test_an_instance_that_an_earlier_version_made_is_said_to_have_a_way_out() -> None:
    assert "its network has a way out" in describe_sight(None, enabled=False, names=1)


def test_an_answer_that_is_too_long_is_none() -> None:
    document = {"routes": [], "link_local": 0, "unsealed": 0, "host": 0, "dns": 0, "proxy": 1}
    answer = json.dumps(document).encode()
    assert parse_sight(answer) == CLOSED
    assert parse_sight(answer + b" " * MAX_BYTES) is None


LOG = f"""\
{LOG_MARK} 1795345554.949 10.222.0.3 GET evil.example 80 name
2026/11/22 11:05:52| HTCP Disabled.
{LOG_MARK} 1795345555.949 10.222.0.3 CONNECT evil.example 443 name
{LOG_MARK} 1795345556.949 10.222.0.3 GET evil.example 80 name
{LOG_MARK} 1795345557.000 10.222.0.3 GET a%1b%5b2Jb - method
{LOG_MARK} 1795345557.000 not-an-address GET a 80 name
{LOG_MARK} 1795345557.000 10.222.0.3 GET a 80 whatever
 {LOG_MARK} 1795345557.000 10.222.0.3 GET a 80 name
"""


def test_refusals_are_read_oldest_first_and_no_other_line_is_one() -> None:
    found = parse_refusals(LOG)
    assert [(each.method, each.port) for each in found] == [
        ("GET", 80),
        ("CONNECT", 443),
        ("GET", 80),
        ("GET", None),
    ]
    assert found[0].last == datetime(2026, 11, 22, 11, 5, 54, 949000, tzinfo=UTC)
    assert found[3].host == "a\x1b[2Jb"


def test_the_same_refusal_again_is_counted_and_the_newest_comes_last() -> None:
    found = group_refusals(parse_refusals(LOG))
    assert [(each.times, each.method, each.why) for each in found] == [
        (1, "CONNECT", Why.NAME),
        (2, "GET", Why.NAME),
        (1, "GET", Why.METHOD),
    ]
    assert found[1].first < found[1].last
