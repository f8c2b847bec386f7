"""Turns what pydantic found into one error that names source, key, value and expectation."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Sequence

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from cspace.errors import UsageError
from cspace.settings.model import iter_keys

SCHEMA_HINT = "cspace config schema prints every key and what it takes"
SHOWN_LENGTH = 80
_KEY = "[key]"  # where pydantic points when a mapping's key, and not its value, is wrong


def translate(source: str, error: ValidationError) -> UsageError:
    """Describe the first problem; source is the file, variable or flag that it came from."""
    first = error.errors(include_url=False)[0]
    path = tuple(str(part) for part in first["loc"] if part != _KEY)
    if first["type"] == "json_invalid":
        wrong = f"{source} is not valid JSON: {first['ctx']['error']}"
        return UsageError(wrong, hint="repair it; cspace config schema says what it may hold")
    if first["type"] == "extra_forbidden":
        return unknown_key(source, dotted(path), (dotted(key) for key, _ in iter_keys()))
    if first["type"] == "cspace_refused":
        return UsageError(f"{source}: {dotted(path)} {first['msg']}", hint=first["ctx"]["hint"])
    return UsageError(f"{source}: {_mismatch(path, first)}", hint=SCHEMA_HINT)


def unknown_key(source: str, key: str, known: Iterable[str]) -> UsageError:
    """Describe a key that does not exist, and name the most similar one that does."""
    nearest = difflib.get_close_matches(key, list(known), n=1, cutoff=0)[0]
    return UsageError(
        f'{source}: unknown key "{key}"; the nearest known one is "{nearest}"', hint=SCHEMA_HINT
    )


def dotted(path: Sequence[str]) -> str:
    """Join a key's path; what somebody else's file put into it can not forge terminal output."""
    return ".".join(
        part if re.fullmatch(r"[\w-]{1,80}", part, re.ASCII) else shown(part) for part in path
    )


def shown(value: object) -> str:
    """Write a value as one short line of JSON without control or invisible characters."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    safe = "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )
    return safe if len(safe) <= SHOWN_LENGTH else f"{safe[:SHOWN_LENGTH]}…"


def _mismatch(path: tuple[str, ...], error: ErrorDetails) -> str:
    if not path:
        return f"the whole is {_kind(error['input'])}, expected an object"
    known = dict(iter_keys())
    key = next(path[:end] for end in range(len(path), 0, -1) if path[:end] in known)
    words = known[key]
    if key != ("env",):
        # Behind a key that takes several types pydantic names the one that it tried.
        path = (*key, *(part for part in path[len(key) :] if part.isdigit()))
    if _KEY in error["loc"]:
        return f"{dotted(path)} is not a variable's name, expected {known['env',]}"
    # Values of env are never repeated: somebody may have put a secret there by mistake.
    value = _kind(error["input"]) if path[0] == "env" else shown(error["input"])
    return f"{dotted(path)} is {value}, expected {words}"


def _kind(value: object) -> str:
    kinds = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}
    return kinds.get(type(value), "null" if value is None else "a number")
