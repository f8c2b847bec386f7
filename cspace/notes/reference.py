"""How a person and a model name a memory: `decisions:1a2b3c4/5f0c`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from cspace import git
from cspace.errors import NotFound, UsageError
from cspace.notes.namespaces import Namespace, get_namespace

_REFERENCE = re.compile(r"([a-z]+):([0-9a-f]{4,64})(?:/([0-9a-f]{1,16}))?")
# What people and models type before they have looked up a commit. Other revisions could be taken
# for the start of an id: a branch may be called "decade".
_FROM_HEAD = re.compile(r"([a-z]+:)(HEAD[~^0-9]{0,20})((?:/.*)?)")


@dataclass(frozen=True, slots=True)
class Reference:
    """The starts of a commit's id and of a record's; an empty one is any record's."""

    namespace: Namespace
    commit: str
    id: str


def parse_reference(text: str) -> Reference:
    """Read a reference.

    Raises:
        UsageError: it is none, or names no namespace of ours.
    """
    found = _REFERENCE.fullmatch(text.strip())
    if found is None:
        raise UsageError(
            f"reference {text!r}: it is no <namespace>:<commit>[/<id>]",
            hint="see what there is: cspace notes list",
        )
    return Reference(get_namespace(found[1]), found[2], found[3] or "")


def read_reference(repository: Path, text: str) -> Reference:
    """Read a reference that may say HEAD, or HEAD~2, in the place of the commit.

    Raises:
        UsageError: as `parse_reference`.
        NotFound: HEAD is not that long, or unborn.
    """
    found = _FROM_HEAD.fullmatch(text.strip())
    if found is None:
        return parse_reference(text)
    commit = git.resolve(repository, found[2])
    if commit is None:
        raise NotFound(f"{found[1]}{found[2]}: there is no such commit", hint="git log --oneline")
    return parse_reference(f"{found[1]}{commit}{found[3]}")
