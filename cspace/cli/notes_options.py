"""What commands of `cspace notes` are given: names, filters, and what a shell completes of them."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cspace.clock import parse_since, utc_now
from cspace.deps import make_deps
from cspace.errors import CspaceError, UsageError
from cspace.events import ignore
from cspace.notes.namespaces import Namespace, get_namespace

if TYPE_CHECKING:  # `cspace --help` has no use for what git and records need
    from cspace.notes.memory import Memory

STATUSES = ("open", "resolved")
# Others write tags and the like, and what a shell completes it puts into the command line as it is.
_PLAIN = re.compile(r"\w[\w./+@:,%=-]*")


def complete_namespace(incomplete: str) -> list[str]:
    """Complete a namespace."""
    return _matching(Namespace, incomplete)


def complete_reference(incomplete: str) -> list[str]:
    """Complete a memory's reference."""
    name = incomplete.partition(":")[0]
    chosen = [Namespace(name)] if name in tuple(Namespace) else None
    return _matching((one.reference for one in _memories(chosen)), incomplete)


def complete_spec(incomplete: str) -> list[str]:
    """Complete a specification that a memory names."""
    return _matching((one.record.spec for one in _memories() if one.record.spec), incomplete)


def complete_tag(incomplete: str) -> list[str]:
    """Complete a tag that a memory has."""
    return _matching((tag for one in _memories() for tag in one.record.tags), incomplete)


def complete_remote(incomplete: str) -> list[str]:
    """Complete a remote of the repository."""
    from cspace.notes.remote import list_remotes  # noqa: PLC0415  only when a shell asks

    with contextlib.suppress(CspaceError, OSError):
        return _matching(list_remotes(make_deps(ignore).notes().repository), incomplete)
    return []


def _memories(namespaces: Sequence[Namespace] | None = None) -> Iterator[Memory]:
    with contextlib.suppress(CspaceError, OSError):
        yield from make_deps(ignore).notes().iter_memories(namespaces)


def _matching(words: Iterable[str], incomplete: str) -> list[str]:
    found = (word for word in dict.fromkeys(map(str, words)) if word.startswith(incomplete))
    return [word for word in found if _PLAIN.fullmatch(word) and word.isprintable()]


NamespaceName = Annotated[
    str,
    typer.Argument(
        metavar="NAMESPACE",
        help=f"One of {', '.join(Namespace)}.",
        autocompletion=complete_namespace,
    ),
]
Namespaces = Annotated[
    list[str] | None,
    typer.Option(
        "--namespace",
        metavar="NAMESPACE",
        help="Only of this one; may be repeated [all].",
        autocompletion=complete_namespace,
    ),
]
Reference = Annotated[
    str,
    typer.Argument(
        metavar="REFERENCE",
        help="As list shows it: decisions:1a2b3c4, or decisions:1a2b3c4/5f0c; or decisions:HEAD.",
        autocompletion=complete_reference,
    ),
]
Remote = Annotated[
    str | None,
    typer.Argument(
        metavar="[REMOTE]", help="Of the repository [origin].", autocompletion=complete_remote
    ),
]
AllowSecret = Annotated[
    bool, typer.Option("--allow-secret", help="Though something looks like a secret.")
]
Spec = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="The specification it belongs to.", autocompletion=complete_spec
    ),
]
Tags = Annotated[
    list[str] | None,
    typer.Option(
        "--tag", metavar="TAG", help="A tag; may be repeated.", autocompletion=complete_tag
    ),
]
Status = Annotated[
    str | None,
    typer.Option(
        metavar="STATUS",
        help="Only what is open, or resolved.",
        autocompletion=lambda incomplete: _matching(STATUSES, incomplete),
    ),
]
Since = Annotated[
    str | None, typer.Option(metavar="TIME", help="Only from then on: 2026-04-14, or 7d, 12h.")
]


def get_namespaces(names: Sequence[str] | None) -> tuple[Namespace, ...]:
    """Return the namespaces of names; errors as for `get_namespace`."""
    return tuple(dict.fromkeys(map(get_namespace, names or ())))


def check_since(text: str | None) -> datetime | None:
    """Read a time from which on something is asked for.

    Raises:
        UsageError: it is none.
    """
    time = None if text is None else parse_since(text, utc_now())
    if text is not None and time is None:
        raise UsageError(f"--since {text!r} is no time", hint="--since 2026-04-14, or --since 7d")
    return time


def check_status(text: str | None) -> str | None:
    """Return a status that is asked for.

    Raises:
        UsageError: it is none.
    """
    if text not in (None, *STATUSES):
        raise UsageError(f"--status {text!r} is none", hint=f"one of {', '.join(STATUSES)}")
    return text


def path_in(top: Path, text: str | None) -> str | None:
    """Return a path from where one stands as git names it: from the work tree's top."""
    if text is None:
        return None
    whole = os.path.relpath(os.path.abspath(text), top)  # noqa: PTH100  a name, not followed
    return text if whole.startswith("..") else whole
