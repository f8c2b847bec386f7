"""Which names the proxy of a project lets through, and why each of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from cspace.hostnames import DOMAINS, NotAName, covers, parse_name, without_covered


@dataclass(frozen=True, slots=True)
class Rule:
    """One pattern of names that is allowed, and the reason in words for a person."""

    pattern: str
    reason: str


@dataclass(frozen=True, slots=True)
class Group:
    """Names that every instance may reach, and what for."""

    reason: str
    patterns: tuple[str, ...]


DEFAULTS = (
    Group(
        "Claude's API and login",
        ("api.anthropic.com", "claude.ai", "console.anthropic.com", "platform.claude.com"),
    ),
    Group("packages of Python", ("files.pythonhosted.org", "pypi.org")),
    Group("packages of Node", ("registry.npmjs.org", "registry.yarnpkg.com")),
    Group("packages of Rust", ("crates.io", "index.crates.io", "static.crates.io")),
    Group("packages of Go", ("proxy.golang.org", "sum.golang.org")),
    Group("packages of Ruby", ("index.rubygems.org", "rubygems.org")),
    Group(
        "packages of Java",
        ("plugins.gradle.org", "repo.maven.apache.org", "repo1.maven.org", "services.gradle.org"),
    ),
    Group("packages of PHP", ("packagist.org", "repo.packagist.org")),
    Group("packages of .NET", ("api.nuget.org",)),
    Group("packages of Debian", ("deb.debian.org", "security.debian.org")),
)

# What the programs of a forge need beside its own name.
_FORGES = {
    "github.com": (
        "api.github.com",
        "codeload.github.com",
        "media.githubusercontent.com",
        "objects.githubusercontent.com",
        "raw.githubusercontent.com",
        "release-assets.githubusercontent.com",
        "uploads.github.com",
    ),
    "bitbucket.org": ("api.bitbucket.org",),
}
_SCHEMES = frozenset({"git", "git+ssh", "http", "https", "ssh"})


def list_rules(domains: Iterable[str], origin: str | None) -> tuple[Rule, ...]:
    """List what is allowed: the default set, the forge of `origin`, then what the settings name.

    Args:
        domains: patterns of `firewall.domains`.
        origin: the URL of the remote; only its host is used.
    """
    defaults = (Rule(each, group.reason) for group in DEFAULTS for each in group.patterns)
    forge = find_forge(origin) if origin else None
    beside = (forge, *_FORGES.get(forge, ())) if forge else ()
    return (
        *defaults,
        *(Rule(each, "the forge of origin") for each in beside),
        *(Rule(each, DOMAINS) for each in domains),
    )


def allowlist(rules: Iterable[Rule]) -> tuple[str, ...]:
    """Return the patterns of rules as squid takes them: sorted, none covered by another."""
    return without_covered(rule.pattern for rule in rules)


def find_rule(rules: Iterable[Rule], name: str) -> Rule | None:
    """Find the first rule that allows a name."""
    return next((rule for rule in rules if covers(rule.pattern, name)), None)


def find_forge(url: str) -> str | None:
    """Find the host of a remote's URL, `git@host:path` too; None where it names none."""
    host = _host(url)
    try:
        return parse_name(host) if host else None
    except NotAName:
        return None


def _host(url: str) -> str | None:
    if "://" in url:
        try:
            parts = urlsplit(url)
            return parts.hostname if parts.scheme in _SCHEMES else None
        except ValueError:
            return None
    # As git tells them apart: a slash before the first colon makes it a path of this machine.
    before, colon, _ = url.partition(":")
    return before.rpartition("@")[2] if colon and "/" not in before else None
