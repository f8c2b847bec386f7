"""Lays the layers over each other: defaults < user < project < local < environment < flags."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from cspace import paths
from cspace.errors import UsageError
from cspace.settings import layers, trust
from cspace.settings.layers import Layer
from cspace.settings.model import AUTO, Limits, Numbers, SetBy, Settings, iter_rules, parse_memory
from cspace.settings.trust import Request

DEFAULT = "default"
Limit = float | str | None


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings in force.

    Attributes:
        sources: dotted key -> "default", a file's path, a variable's name or `--set <key>`. Lists
            are one key; objects are one key for each of their members.
        untrusted: what files of the project ask for, and do not get before `cspace trust`.
    """

    settings: Settings
    sources: Mapping[str, str]
    untrusted: tuple[Request, ...] = ()


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
    automatic: Callable[[], Numbers] | None = None,
) -> Loaded:
    """Read the settings that something is made with.

    Args and errors are those of `survey_settings`.

    Raises:
        UsageError: a file of the project widens access, and is not trusted.
    """
    loaded = survey_settings(root, home=home, environ=environ, flags=flags, automatic=automatic)
    if loaded.untrusted:
        raise trust.refusal(loaded.untrusted)
    return loaded


def survey_settings(
    root: Path | None,
    *,
    home: Path,
    environ: Mapping[str, str],
    flags: Mapping[str, object] | None = None,
    automatic: Callable[[], Numbers] | None = None,
) -> Loaded:
    """Read all sources anew, without what is not trusted; nothing is cached, nothing is written.

    Args:
        root: the project's root; None outside of any project.
        home: the user's home directory, which holds `.cspace/config.json`.
        flags: dotted key -> value, a text as in a variable or what JSON can hold; None is null.
        automatic: what the machine suggests for "auto", asked only where a project's limit must be
            compared with it; without it such a limit is let pass.

    Raises:
        UsageError: a source can not be read, has an unknown key or a wrong value, or is a project's
            and sets what only the user may.
    """
    user = paths.user_directory(home)
    user_file = paths.user_settings(user)
    own = [*layers.read_certificates(environ), *layers.read_user_file(user_file)]
    project, untrusted = _read_project(root, user) if root is not None else ([], ())
    last = [*layers.read_environment(environ), *layers.read_flags(flags or {})]
    loaded = _merge(chain(own, project, last))
    _refuse_what_only_the_user_sets(project, user_file)
    ceilings = _merge(chain(own, last)).settings.limits
    for name, ceiling in _wider_limits(loaded, project, ceilings, automatic):
        raise UsageError(
            f"{loaded.sources[f'limits.{name}']}: limits.{name} is"
            f" {getattr(loaded.settings.limits, name) or 'null'}, above"
            f" the {ceiling} that the user's own settings allow a project",
            hint=f"to allow it, set limits.{name} in {user_file}",
        )
    return replace(loaded, untrusted=untrusted)


def list_entries(loaded: Loaded) -> tuple[Entry, ...]:
    """List every key with its value and source, sorted by key."""
    values = dict(_leaves(loaded.settings.model_dump(mode="json")))
    return tuple(Entry(key, values[key], loaded.sources[key]) for key in sorted(values))


def list_untrusted(loaded: Loaded) -> tuple[Entry, ...]:
    """List what files of the project set and is not in force, in their order."""
    return tuple(
        Entry(ask.key, ask.value, request.path)
        for request in loaded.untrusted
        for ask in request.asks
    )


def settings_schema() -> dict[str, Any]:
    """Return the JSON Schema of a settings file."""
    schema = Settings.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _read_project(root: Path, user: Path) -> tuple[list[Layer], tuple[Request, ...]]:
    """Read the project's layers without what they may not set, and what that is."""
    project = list(layers.read_project_files(root))
    requests = trust.find_requests(user, root, project)
    untrusted = {request.path: request for request in requests if not request.trusted}
    kept = [
        trust.without(layer, untrusted[layer.source]) if layer.source in untrusted else layer
        for layer in project
    ]
    return kept, tuple(untrusted.values())


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
    keys = [".".join(path) for path, rule in iter_rules() if rule is SetBy.USER]
    for layer in project:
        for key, _ in _leaves(layer.values):
            if key in keys:
                raise UsageError(
                    f"{layer.source}: {key} is the user's to set, not a project's",
                    hint=f"put it into {user_file}",
                )


def _wider_limits(
    loaded: Loaded,
    project: Iterable[Layer],
    ceilings: Limits,
    automatic: Callable[[], Numbers] | None,
) -> Iterator[tuple[str, Limit]]:
    """Find where a project asks for more of the machine than the user gives, and what that is."""
    sources = {layer.source for layer in project}
    for name, value in loaded.settings.limits:
        asked, ceiling = value, getattr(ceilings, name)
        if loaded.sources[f"limits.{name}"] not in sources or asked == ceiling:
            continue
        if AUTO in (asked, ceiling) and None not in (asked, ceiling):
            if automatic is None:
                continue
            suggested = getattr(automatic(), name)
            asked, ceiling = (suggested if one == AUTO else one for one in (asked, ceiling))
        if _wider(asked, ceiling):
            yield name, ceiling


def _wider(value: Limit, ceiling: Limit) -> bool:
    if value is None or ceiling is None:
        return value is None and ceiling is not None
    asked, given = (parse_memory(one) if isinstance(one, str) else one for one in (value, ceiling))
    return asked > given
