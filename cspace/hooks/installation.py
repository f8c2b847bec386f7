"""Our hook in a text of Claude Code's settings: puts it there, and takes out only what is ours."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from cspace.errors import MALFORMED, CspaceError
from cspace.hooks import json_text
from cspace.hooks.json_text import Container, Item

HOOKS, EVENT = "hooks", "SessionStart"
# Claude Code waits so long for us at most; we take a twentieth of a second.
TIMEOUT_SECONDS = 10
# Whatever Python an older version of ours named.
_OURS = re.compile(r"(?:^| )-m cspace\.hooks memory$")
_BOM = "\ufeff"


class Installed(StrEnum):
    """What a text of settings says of our hook."""

    NO = "absent"
    OLD = "outdated"
    YES = "installed"


class BrokenSettings(CspaceError):
    """What stands there can not be changed without a guess at what its author meant."""


@dataclass(frozen=True, slots=True)
class _Hook:
    """One hook of ours: its group, its own object, and where they stand."""

    group: Item
    hooks: Container
    own: Item


def hook_command(python: str) -> str:
    """Return the command that Claude Code runs in a shell."""
    return f"{shlex.quote(python)} -I -m cspace.hooks memory"


def installed(text: str, command: str) -> Installed:
    """Say whether the hook is there.

    Raises:
        BrokenSettings: as for `install`.
    """
    ours = _list_ours(_checked(text))
    if not ours:
        return Installed.NO
    return Installed.YES if _is_whole(ours, command) else Installed.OLD


def install(text: str, command: str) -> str:
    """Return settings with the hook in them, once; every other byte stays.

    Raises:
        BrokenSettings: it is no JSON, or something else stands where Claude Code has its hooks.
    """
    bare = _checked(text)
    ours = _list_ours(bare)
    if ours and _is_whole(ours, command):
        return text
    if len(ours) == 1 and isinstance(ours[0].own.value, dict):
        own = json_text.container_at(bare, ours[0].own.value_at).member("command")
        assert own is not None  # noqa: S101  it is what made the hook ours
        return _like(text, json_text.replace(bare, own, command))
    return _like(text, _add(_without_ours(bare), command))


def uninstall(text: str) -> str:
    """Return settings without the hook, and without what it leaves empty.

    Raises:
        BrokenSettings: as for `install`.
    """
    bare = _checked(text)
    return _like(text, _without_ours(bare)) if _list_ours(bare) else text


def is_disabled(text: str) -> bool:
    """Tell whether the settings switch all hooks off."""
    return json_text.parse(_checked(text)).get("disableAllHooks") is True


def _is_whole(ours: list[_Hook], command: str) -> bool:
    return [hook.own.value.get("command") for hook in ours] == [command]


def _like(text: str, bare: str) -> str:
    return _BOM + bare if text.startswith(_BOM) else bare


def _checked(text: str) -> str:
    bare = text.removeprefix(_BOM)
    if not bare.strip():
        return "{}\n"
    try:
        document = json_text.parse(bare)
    except MALFORMED as error:
        raise BrokenSettings(f"it is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise BrokenSettings("it is no JSON object")
    hooks = document.get(HOOKS, {})
    if not isinstance(hooks, dict):
        raise BrokenSettings(f"{HOOKS} is no object")
    if not isinstance(hooks.get(EVENT, []), list):
        raise BrokenSettings(f"{HOOKS}.{EVENT} is no list")
    return bare


def _list_ours(bare: str) -> list[_Hook]:
    groups = _groups(bare)
    found = []
    for group in groups.items if groups else ():
        hooks = _hooks_of(bare, group)
        own = [one for one in hooks.items if _is_ours(one.value)] if hooks else []
        found += [_Hook(group, hooks, one) for one in own if hooks]
    return found


def _groups(bare: str) -> Container | None:
    hooks = json_text.root_of(bare).member(HOOKS)
    event = json_text.container_at(bare, hooks.value_at).member(EVENT) if hooks else None
    return json_text.container_at(bare, event.value_at) if event else None


def _hooks_of(bare: str, group: Item) -> Container | None:
    """Return the hooks of a group; what is no group is a person's, and stays."""
    if not isinstance(group.value, dict):
        return None
    own = json_text.container_at(bare, group.value_at).member(HOOKS)
    if own is None or not isinstance(own.value, list):
        return None
    return json_text.container_at(bare, own.value_at)


def _is_ours(hook: Any) -> bool:
    command = hook.get("command") if isinstance(hook, dict) else None
    return isinstance(command, str) and bool(_OURS.search(command))


def _add(bare: str, command: str) -> str:
    hook = {"type": "command", "command": command, "timeout": TIMEOUT_SECONDS}
    group: dict[str, object] = {HOOKS: [hook]}
    root = json_text.root_of(bare)
    hooks = root.member(HOOKS)
    if hooks is None:
        return json_text.append(bare, root, HOOKS, {EVENT: [group]}, 1)
    inner = json_text.container_at(bare, hooks.value_at)
    event = inner.member(EVENT)
    if event is None:
        return json_text.append(bare, inner, EVENT, [group], 2)
    return json_text.append(bare, json_text.container_at(bare, event.value_at), "", group, 3)


def _without_ours(bare: str) -> str:
    """Take out our hooks, each with what it empties; the last one first, as it moves no other."""
    # One by one: what one empties was never another's.
    while ours := _list_ours(bare):
        bare = _without(bare, ours[-1])
    return bare


def _without(bare: str, hook: _Hook) -> str:
    if len(hook.hooks.items) > 1:
        return json_text.remove(bare, hook.hooks, hook.own)
    root = json_text.root_of(bare)
    hooks = root.member(HOOKS)
    groups = _groups(bare)
    assert hooks is not None  # noqa: S101  the hook stands in them
    assert groups is not None  # noqa: S101  as above
    if len(groups.items) > 1:
        return json_text.remove(bare, groups, hook.group)
    events = json_text.container_at(bare, hooks.value_at)
    event = events.member(EVENT)
    if event is not None and len(events.items) > 1:
        return json_text.remove(bare, events, event)
    return json_text.remove(bare, root, hooks)
