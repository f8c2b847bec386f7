"""Lays the layers over each other: defaults < user < project < local < environment < flags."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from cspace import paths
from cspace.errors import UsageError
from cspace.settings import layers
from cspace.settings.layers import Layer
from cspace.settings.model import Limits, Settings, parse_memory

DEFAULT = "default"
USER_FILE = "config.json"

# They read files of the host or choose what everything else is built on.
USER_ONLY = ("ca_bundle", "base_image")


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings in force.

    Attributes:
        sources: dotted key -> "default", a file's path, a variable's name or `--set <key>`. Lists
            are one key; objects are one key for each of their members.
    """

    settings: Settings
    sources: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Entry:
    """One key in force, with a value as JSON has it."""

    key: str
    value: Any
    source: str


def load_settings(
    root: Path | None,
    *,
    home: Path,
    environ: Mapping[str, str],
    flags: Mapping[str, object] | None = None,
) -> Loaded:
    """Read all sources anew; nothing is cached and nothing is written.

    Args:
        root: the project's root; None outside of any project.
        home: the user's home directory, which holds `.cspace/config.json`.
        flags: dotted key -> value, a text as in a variable or what JSON can hold; None is null.

    Raises:
        UsageError: a source can not be read, has an unknown key or a wrong value, or is a project's
            and sets what only the user may.
    """
    user_file = paths.user_directory(home) / USER_FILE
    own = [*layers.read_certificates(environ), *layers.read_user_file(user_file)]
    project = [
        layer
        for name in layers.PROJECT_FILES
        for layer in (layers.read_project_file(root, name) if root is not None else ())
    ]
    last = [*layers.read_environment(environ), *layers.read_flags(flags or {})]
    loaded = _merge(chain(own, project, last))
    _refuse_what_only_the_user_sets(project, user_file)
    _refuse_wider_limits(loaded, project, _merge(chain(own, last)).settings.limits, user_file)
    return loaded


def list_entries(loaded: Loaded) -> tuple[Entry, ...]:
    """List every key with its value and source, sorted by key."""
    values = dict(_leaves(loaded.settings.model_dump(mode="json")))
    return tuple(Entry(key, values[key], loaded.sources[key]) for key in sorted(values))


def settings_schema() -> dict[str, Any]:
    """Return the JSON Schema of a settings file."""
    schema = Settings.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _merge(sources: Iterable[Layer]) -> Loaded:
    values = Settings().model_dump()
    origin = dict.fromkeys((key for key, _ in _leaves(values)), DEFAULT)
    for layer in sources:
        values = _over(values, layer.values)
        origin |= dict.fromkeys((key for key, _ in _leaves(layer.values)), layer.source)
    in_force = {key: origin[key] for key, _ in _leaves(values)}
    return Loaded(Settings.model_validate(values), in_force)


def _over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Merge objects member by member; anything else is replaced whole."""
    both = {
        key: _over(below[key], value) if isinstance(value, dict) and key in below else value
        for key, value in above.items()
    }
    return {**below, **both}


def _leaves(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _refuse_what_only_the_user_sets(project: Iterable[Layer], user_file: Path) -> None:
    for layer in project:
        for key in USER_ONLY:
            if key in layer.values:
                raise UsageError(
                    f"{layer.source}: {key} is the user's to set, not a project's",
                    hint=f"put it into {user_file}",
                )


def _refuse_wider_limits(
    loaded: Loaded, project: Iterable[Layer], own: Limits, user_file: Path
) -> None:
    """A project may ask for less of the machine than the user gives, never for more."""
    sources = {layer.source for layer in project}
    for name, value in loaded.settings.limits:
        ceiling = getattr(own, name)
        if loaded.sources[f"limits.{name}"] in sources and _wider(value, ceiling):
            raise UsageError(
                f"{loaded.sources[f'limits.{name}']}: limits.{name} is {value or 'null'}, above"
                f" the {ceiling} that the user's own settings allow a project",
                hint=f"to allow it, set limits.{name} in {user_file}",
            )


def _wider(value: float | str | None, ceiling: float | str | None) -> bool:
    amounts = [parse_memory(one) if isinstance(one, str) else one for one in (value, ceiling)]
    if amounts[1] is None:
        return False
    return amounts[0] is None or amounts[0] > amounts[1]
