"""Renders what the proxy of a project reads: its rules and the names that it lets through. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import quote

from cspace.egress.addresses import REFUSED

# Where the proxy sees the directory that the files of `render_proxy` lie in.
DIRECTORY = "/etc/cspace-egress"
CONFIGURATION = "squid.conf"
PORT = 3128
LOG_MARK = "cspace-refused"
# What a probe asks for: nobody can allow a name of this kind, and a refusal of it is no news.
PROBE_NAME = "cspace-probe.invalid"

DOMAINS = "domains"
_PAGE = "refused.txt"
# A page's path always begins at the directory of squid's own.
_UP = "../../../../../.."
# squid puts the host in for %H.
_REFUSED_PAGE = (
    "cspace: %H is refused by the firewall of this instance.\n"
    "hint: outside of it, `cspace net check %H` says why and what allows it\n"
)


@dataclass(frozen=True, slots=True)
class Upstream:
    """The proxy that this machine itself has to use.

    Attributes:
        user: and password, as they are, not percent-encoded; "" for none.
    """

    host: str
    port: int
    user: str = ""
    password: str = ""


def render_proxy(
    domains: Iterable[str], *, upstream: Upstream | None = None
) -> Mapping[str, bytes]:
    """Render the files of the proxy's configuration directory: name -> content.

    The proxy is started with `squid -N -f DIRECTORY/CONFIGURATION`. The files may hold the
    upstream's password: no instance and no other user may read them.

    Args:
        domains: as `list_rules` gives them, `.example.com` with its subdomains, none of them
            covered by another.
    """
    return {
        CONFIGURATION: _configuration(upstream).encode("utf-8"),
        DOMAINS: "".join(f"{domain}\n" for domain in domains).encode("ascii"),
        _PAGE: _REFUSED_PAGE.encode("ascii"),
    }


def _configuration(upstream: Upstream | None) -> str:
    return _RULES + (_chain(upstream) if upstream else "")


def _chain(upstream: Upstream) -> str:
    login = ""
    if upstream.user:
        # squid undoes percent-encoding here, so nothing in a password can end the option.
        login = f" login={quote(upstream.user, safe='')}:{quote(upstream.password, safe='')}"
    return (
        f"cache_peer {upstream.host} parent {upstream.port} 0 no-query no-digest default{login}\n"
        "never_direct allow all\n"
    )


# `annotate_transaction` always matches and keeps the reason for the log; as the last of its line
# it also chooses the page. `-n`: an address is never turned into a name to find it allowed.
_RULES = f"""\
http_port {PORT}
visible_hostname egress
pid_filename none
pinger_enable off
max_filedescriptors 8192
# Two descriptors each, so that no instance has the proxy for itself.
client_ip_max_connections 512
shutdown_lifetime 1 second
cache deny all
cache_mem 8 MB
memory_pools off
netdb_filename none
coredump_dir /tmp
via off
forwarded_for delete
httpd_suppress_version_string on
connect_timeout 20 seconds
dns_timeout 10 seconds
# The shortest time that any answer is kept, so that what was judged is what is connected to.
negative_dns_ttl 10 seconds

cache_log /dev/stderr
cache_store_log none
logformat refused {LOG_MARK} %ts.%03tu %>a %#.20rm %#>rd %>rP %{{why}}note
acl refused note why
acl probe dstdomain -n {PROBE_NAME}
access_log stdio:/dev/stdout logformat=refused refused !probe

acl allowed dstdomain -n "{DIRECTORY}/{DOMAINS}"
acl web proto HTTP
acl ports port 80 443
acl tls port 443
acl inward dst {" ".join(REFUSED)}

acl because_method annotate_transaction why=method
acl because_name annotate_transaction why=name
acl because_port annotate_transaction why=port
acl because_address annotate_transaction why=address
deny_info {_UP}{DIRECTORY}/{_PAGE} because_method
deny_info {_UP}{DIRECTORY}/{_PAGE} because_name
deny_info {_UP}{DIRECTORY}/{_PAGE} because_port
deny_info {_UP}{DIRECTORY}/{_PAGE} because_address

http_access deny manager because_method
http_access deny !CONNECT !web because_method
http_access deny !allowed because_name
http_access deny !ports because_port
http_access deny CONNECT !tls because_port
http_access deny inward because_address
http_access allow all
"""
