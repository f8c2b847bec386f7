"""What tells the programs of an instance that the proxy is their only way out."""

from __future__ import annotations

from collections.abc import Mapping

from cspace.egress.squid import PORT

# The proxy's name in the networks of instances.
ALIAS = "egress"
_PROXY = f"http://{ALIAS}:{PORT}"
_DIRECT = "localhost,127.0.0.1,::1,host.docker.internal"
_VARIABLES = {"HTTP_PROXY": _PROXY, "HTTPS_PROXY": _PROXY, "NO_PROXY": _DIRECT}
# Where an instance would look for this machine's own proxy, which it can not reach.
_REPLACED = frozenset({*_VARIABLES, "ALL_PROXY"})


def through_proxy(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an instance's variables with the proxy in place of this machine's own."""
    kept = {key: value for key, value in environment.items() if key.upper() not in _REPLACED}
    lower = {key.lower(): value for key, value in _VARIABLES.items()}
    # Node's own fetch() asks for no proxy without it.
    return kept | _VARIABLES | lower | {"NODE_USE_ENV_PROXY": "1"}
