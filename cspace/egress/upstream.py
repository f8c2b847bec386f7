"""The proxy that this machine itself has to use, from the environment of the person who runs us."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from cspace.egress.squid import Upstream
from cspace.errors import UsageError

# As curl reads them; what leaves an instance is nearly always TLS.
_VARIABLES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy")
_DEFAULT_PORT = 80


def find_upstream(environ: Mapping[str, str]) -> Upstream | None:
    """Find the proxy that HTTPS_PROXY names, else HTTP_PROXY; None where neither is set.

    Raises:
        UsageError: it is no HTTP proxy; the message does not show what it is, since it can hold a
            password.
    """
    for variable in _VARIABLES:
        value = environ.get(variable, "")
        if value:
            return _parse(variable, value if "://" in value else f"http://{value}")
    return None


def _parse(variable: str, url: str) -> Upstream:
    try:
        parts = urlsplit(url)
        port = parts.port or _DEFAULT_PORT
    except ValueError as error:
        raise _refusal(variable) from error
    host = parts.hostname or ""
    # What ends an option of squid's configuration is in no name and in no address.
    plain = host.isascii() and host.replace("-", "").replace(".", "").replace(":", "").isalnum()
    if parts.scheme != "http" or not plain:
        raise _refusal(variable)
    return Upstream(host, port, unquote(parts.username or ""), unquote(parts.password or ""))


def _refusal(variable: str) -> UsageError:
    return UsageError(
        f"{variable} is not like http://proxy.example:8080: the firewall's proxy can not use it",
        hint=f"export {variable}=http://HOST:PORT, or unset it",
    )
