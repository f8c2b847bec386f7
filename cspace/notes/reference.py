"""How a person and a model name a memory: `decisions:1a2b3c4/5f0c`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cspace.errors import UsageError
from cspace.notes.namespaces import Namespace, get_namespace

_REFERENCE = re.compile(r"([a-z]+):([0-9a-f]{4,64})(?:/([0-9a-f]{1,16}))?")


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
