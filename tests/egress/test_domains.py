"""Which names are allowed, and why."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cspace.egress.addresses import is_refused
from cspace.egress.domains import DEFAULTS, allowlist, find_forge, find_rule, list_rules
from cspace.egress.upstream import find_upstream
from cspace.errors import UsageError
from cspace.hostnames import NotAName, covers, parse_name, parse_pattern, without_covered


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://github.com/a/b.git", "github.com"),
        ("https://me:secret@Git.Example.com:8443/a", "git.example.com"),
        ("ssh://git@github.com:22/a/b", "github.com"),
        ("git@gitlab.com:a/b.git", "gitlab.com"),
        ("gitlab.example.com:a/b.git", "gitlab.example.com"),
        ("work:a/b.git", None),
        ("/srv/git/a.git", None),
        ("./a:b", None),
        ("file:///srv/git", None),
        ("https://10.0.0.1/a", None),
        ("ext::sh -c id", None),
        ("https://[::1/a", None),
    ],
)
def test_the_forge_of_origin_is_the_host_of_its_url(url: str, host: str | None) -> None:
    assert find_forge(url) == host


def test_github_comes_with_the_names_that_its_downloads_lead_to() -> None:
    rules = list_rules((), "git@github.com:a/b.git")
    rule = find_rule(rules, "codeload.github.com")
    assert rule is not None
    assert rule.reason == "the forge of origin"
    assert find_rule(list_rules((), None), "codeload.github.com") is None


def test_every_rule_says_why_and_every_default_is_a_name() -> None:
    rules = list_rules(("a.example",), "https://git.example/x")
    assert all(rule.reason for rule in rules)
    assert all(parse_name(each) == each for group in DEFAULTS for each in group.patterns)
    assert [rule.pattern for rule in rules[-2:]] == ["git.example", "a.example"]


def test_duplicate_names_hazard_squid_stumbles_so_what_another_pattern_covers_is_left_out() -> None:
    patterns = (".example.com", "example.com", "a.example.com", ".b.example.com", "bexample.com")
    assert without_covered(patterns) == (".example.com", "bexample.com")
    rules = list_rules((".pypi.org",), None)
    assert "pypi.org" not in allowlist(rules)
    assert ".pypi.org" in allowlist(rules)


@pytest.mark.parametrize("text", ["1.2.3.4", "0x7f.1", "127.1", "2130706433", "[::1]", "fe80::1%1"])
def test_no_spelling_of_an_address_is_a_name(text: str) -> None:
    with pytest.raises(NotAName, match=r"address|label"):
        parse_name(text)


@pytest.mark.parametrize("text", ["host.docker.internal", "Host.Docker.Internal.", "localhost"])
def test_this_machine_is_no_name_to_allow_and_the_setting_for_it_is_named(text: str) -> None:
    with pytest.raises(NotAName) as caught:
        parse_pattern(text)
    assert "firewall.host_ports" in caught.value.hint


@given(st.text(max_size=40))
def test_a_name_that_is_read_is_one_line_of_squids_list(text: str) -> None:
    try:
        pattern = parse_pattern(text)
    except NotAName:
        return
    assert pattern.isascii()
    assert not set(pattern) - set("abcdefghijklmnopqrstuvwxyz0123456789-_.")
    assert parse_pattern(pattern) == pattern


@pytest.mark.parametrize(
    ("pattern", "name", "holds"),
    [
        ("example.com", "example.com", True),
        ("example.com", "a.example.com", False),
        (".example.com", "example.com", True),
        (".example.com", "a.b.example.com", True),
        (".example.com", "notexample.com", False),
    ],
)
def test_a_pattern_holds_for_its_own_name_or_for_all_below_it(
    pattern: str, name: str, *, holds: bool
) -> None:
    assert covers(pattern, name) is holds


@pytest.mark.parametrize(
    "address",
    [
        *("10.1.2.3", "127.0.0.1", "169.254.169.254", "172.31.0.1", "192.168.0.1", "100.64.0.1"),
        *("0.1.2.3", "224.0.0.1", "255.255.255.255", "168.63.129.16", "198.18.0.1"),
        *("::", "::1", "::ffff:10.0.0.1", "::10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::"),
        *("2001::1", "fc00::1", "fd00:ec2::254", "fe80::1%eth0", "fec0::1", "ff02::1"),
    ],
)
def test_no_name_may_lead_to_an_address_that_is_not_public(address: str) -> None:
    assert is_refused(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "2606:4700::1111", "::ffff:1.1.1.1", "172.32.0.1"])
def test_a_name_may_lead_to_a_public_address(address: str) -> None:
    assert not is_refused(address)


def test_the_hosts_own_proxy_is_found_with_its_password_as_it_is() -> None:
    found = find_upstream(
        {"HTTP_PROXY": "http://a:1", "https_proxy": "http://me:p%40%20@proxy:8080"}
    )
    assert found is not None
    assert (found.host, found.port, found.user, found.password) == ("proxy", 8080, "me", "p@ ")
    assert find_upstream({"NO_PROXY": "*"}) is None


@pytest.mark.parametrize("url", ["socks5://me:pw@proxy:1", "http://me:pw@:80", "http://me:pw@a:b"])
def test_another_kind_of_proxy_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(UsageError, match="HTTPS_PROXY") as refused:
        find_upstream({"HTTPS_PROXY": url})
    assert "pw" not in f"{refused.value}{refused.value.hint}"
