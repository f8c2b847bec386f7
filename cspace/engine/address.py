"""Where the engine is that the docker program would talk to."""

from __future__ import annotations

import os
from typing import Any

from docker.context import ContextAPI
from docker.context.config import get_current_context_name
from docker.utils import kwargs_from_env

from cspace.errors import EngineUnavailable


def find_engine() -> dict[str, Any]:
    """Say where the engine is, and with which certificates it is spoken to."""
    if os.environ.get("DOCKER_HOST"):
        return dict(kwargs_from_env())
    name = os.environ.get("DOCKER_CONTEXT") or get_current_context_name()
    context: Any = ContextAPI.get_context(name)
    if context is None:
        raise EngineUnavailable(
            f"the Docker context {name!r} does not exist",
            hint="docker context ls; then docker context use, or DOCKER_CONTEXT",
        )
    return {"base_url": context.Host, "tls": context.TLSConfig or False}
