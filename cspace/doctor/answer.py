"""Reads what a container says of itself: an agent's text, which may be anything."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cspace.errors import MALFORMED, CommandFailed

MAX_TEXT = 300
_MAX_UID = 2**32


@dataclass(frozen=True, slots=True)
class Place:
    """A mount's target as it is seen inside.

    Attributes:
        mounted: whether a mount begins there; else it is a directory of the container's own.
    """

    uid: int
    writable: bool
    mounted: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """What an instance says.

    Attributes:
        places: by target; None where there is nothing.
        name: git's user.name in the workspace; "" where it has none.
        email: likewise.
        git_helper: whether git asks for the delivered token.
        key_helper: whether Claude Code asks anything for its key.
        server: how the context server is registered, as a command; "" where it is not.
        server_problem: what went wrong with it; None when it answered as it should.
    """

    uid: int
    places: Mapping[str, Place | None]
    name: str
    email: str
    git_helper: bool
    key_helper: bool
    server: str
    server_problem: str | None


def parse_answer(said: bytes) -> Answer:
    """Read an answer.

    Raises:
        CommandFailed: it is none.
    """
    try:
        return _parse(json.loads(said))
    except (*MALFORMED, AttributeError) as error:
        raise CommandFailed("it does not answer as an instance of ours does") from error


def _parse(document: Any) -> Answer:
    git, server = document["git"], document["server"]
    problem = server["problem"]
    return Answer(
        uid=_uid(document["uid"]),
        places={_text(target): _place(row) for target, row in document["mounts"].items()},
        name=_text(git["name"]),
        email=_text(git["email"]),
        git_helper=document["git_helper"] is True,
        key_helper=document["key_helper"] is True,
        server=_text(server["command"]),
        server_problem=None if problem is None else _text(problem),
    )


def _place(row: Any) -> Place | None:
    if row is None:
        return None
    return Place(_uid(row["uid"]), row["writable"] is True, row["mounted"] is True)


def _uid(value: Any) -> int:
    if not isinstance(value, int) or not 0 <= value < _MAX_UID:
        raise ValueError("no uid")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value[:MAX_TEXT]
