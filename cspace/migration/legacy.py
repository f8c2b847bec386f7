"""Names of legacy volumes: which project's memory, or which instance's Claude home, one holds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

# Instances were given these names, with a number where one was taken.
_GIVEN = re.compile(
    r"(?:mercury|venus|earth|mars|jupiter|saturn|uranus|neptune)(?:-[0-9]+)?", re.ASCII
)
_COMPOSED = r"(?:.+_)?"  # Compose puts its project's name before a volume's


class Kind(StrEnum):
    """What a legacy volume holds, by its name."""

    MEMORY = "memory"
    HOME = "claude-home"


@dataclass(frozen=True, slots=True)
class ClaudeHome:
    """A volume with the Claude home of one instance.

    Attributes:
        instance: what stands in the volume's name where the instance's name does.
        certain: whether that can be no part of a longer project's name.
    """

    volume: str
    instance: str
    certain: bool


def kind_of(volume: str) -> Kind | None:
    """Tell what a volume holds by its name; None where the name does not tell."""
    if "claude-home" in volume:
        return Kind.HOME
    if re.fullmatch(rf"{_COMPOSED}cspace-.+-memory", volume):
        return Kind.MEMORY
    return None


def spellings(directory: str) -> tuple[str, ...]:
    """Return how a project's directory may stand in a volume's name, the likeliest first."""
    slug = re.sub(r"[^a-z0-9]+", "-", directory.lower()).strip("-")
    lower = directory.lower()
    return tuple(dict.fromkeys(name for name in (directory, lower, slug) if name))


def memory_volumes(directory: str) -> tuple[str, ...]:
    """Return the names that the volume of a project's memory may have, the likeliest first."""
    return tuple(f"cspace-{name}-memory" for name in spellings(directory))


def is_memory_of(volume: str, directory: str) -> bool:
    """Tell whether a volume's name is that of a project's memory, also behind Compose's prefix."""
    return any(volume == name or volume.endswith(f"_{name}") for name in memory_volumes(directory))


def find_home(volume: str, directory: str) -> ClaudeHome | None:
    """Read the name of a Claude home's volume; None where it is not one of this project's.

    `cspace-shop-api-mercury-claude-home` may be of the project `shop` or of `shop-api`: only the
    names that instances were given, and names of one word, tell them apart.
    """
    for name in spellings(directory):
        pattern = rf"{_COMPOSED}cspace-{re.escape(name)}[-_](?P<rest>.+)[-_]claude-home"
        found = re.fullmatch(pattern, volume)
        if found is not None:
            rest = found["rest"]
            single = re.fullmatch(r"[a-z0-9]{1,40}", rest, re.ASCII) or _GIVEN.fullmatch(rest)
            return ClaudeHome(volume, rest, certain=single is not None)
    return None
