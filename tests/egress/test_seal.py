"""The rules that seal an instance's network."""

from __future__ import annotations

from ipaddress import IPv4Network

from cspace.egress.seal import render_rules


def test_neighbours_are_all_of_the_subnet_but_the_machine_and_the_broadcast() -> None:
    rules = render_rules([IPv4Network("10.222.0.16/28")])
    assert "ip daddr { 10.222.0.18-10.222.0.30 } accept" in rules
    assert rules.count("policy drop;") == 2


def test_without_a_subnet_only_the_loopback_is_left() -> None:
    accepted = [line.strip() for line in render_rules([]).splitlines() if "accept" in line]
    assert accepted == ['oifname "lo" accept', 'iifname "lo" accept']
