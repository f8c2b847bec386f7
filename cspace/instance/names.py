"""Names of instances: what is allowed, and who is next."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection

from cspace.errors import UsageError

PLANETS = ("mercury", "venus", "earth", "mars", "jupiter", "saturn", "uranus", "neptune")
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}", re.ASCII)


def is_name(name: str) -> bool:
    """Tell whether an instance may have this name."""
    return _NAME.fullmatch(name) is not None


def check_name(name: str) -> str:
    """Return name when an instance may have it.

    Raises:
        UsageError: it is empty, too long, or holds other characters than a-z, 0-9 and dash.
    """
    if not is_name(name):
        raise UsageError(
            f"name {name!r} is not valid: up to 40 of a-z, 0-9 and -, not starting with -",
            # Not `cspace up`: `down` and `restore` check names too.
            hint="cspace list and cspace archive list show names; a good new one is mercury",
        )
    return name


def composition_name(project_id: str, name: str) -> str:
    """Return the name of an instance's Compose project, and of its network."""
    return f"cspace-{project_id}-{name}"


def egress_name(project_id: str) -> str:
    """Return the name of a project's proxy, and of the network by which it reaches the outside."""
    return f"cspace_egress_{project_id}"


def next_name(taken: Collection[str]) -> str:
    """Return the first free planet, then mercury-2 and on."""
    for round_ in itertools.count(1):
        for planet in PLANETS:
            name = planet if round_ == 1 else f"{planet}-{round_}"
            if name not in taken:
                return name
    raise AssertionError("itertools.count ended")
