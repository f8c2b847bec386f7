"""Names of records as people type them: `KIND/SLUG`, a slug, or as much of it as tells it apart."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cspace.context.records import HUMAN, ROOT, Kind
from cspace.docstore.folder import NEAREST_OF, Folder
from cspace.docstore.opened import SUFFIX
from cspace.errors import NotFound, UsageError

ALL_KINDS = tuple(Kind)
CANDIDATES = 5
LISTED = "see what there is: cspace context list"
_DAY = re.compile(r"\d{4}-\d\d-\d\d-")


@dataclass(frozen=True, slots=True)
class EntryName:
    """Which record is meant; slug is its file's stem."""

    kind: Kind
    slug: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.slug}"


def list_names(root: Path, kinds: tuple[Kind, ...] = ALL_KINDS) -> tuple[EntryName, ...]:
    """List the names of all records by their directories alone.

    Raises:
        NotFound: root is missing.
    """
    folders = ((kind, Folder(root, ROOT / kind.plural)) for kind in kinds)
    return tuple(EntryName(kind, stem) for kind, folder in folders for stem in folder.list_stems())


def get_entry_name(
    root: Path, given: str, kinds: tuple[Kind, ...] = ALL_KINDS, *, whole: bool = False
) -> EntryName:
    """Find the one record that a person means.

    A whole slug wins; then a slug without its day; then what starts with the words given.

    Args:
        given: also with a kind and a slash before it, as a path below the root, or with `.md`.
        whole: only a whole slug will do, as where something goes for good.

    Raises:
        NotFound: no record is called so.
        UsageError: several are.
    """
    wanted, _ = _split(given, kinds)
    return find_name(given, list_names(root, wanted), whole=whole)


def find_name(
    given: str, names: Iterable[EntryName], *, whole: bool = False, listed: str = LISTED
) -> EntryName:
    """Find the one of these records that a person means, as `get_entry_name` does.

    Args:
        listed: the hint where none is near.
    """
    wanted, stem = _split(given, ALL_KINDS)
    names = tuple(name for name in names if name.kind in wanted)
    found = tuple(name for name in names if name.slug == stem)
    if not found and stem and not whole:
        found = tuple(name for name in names if _without_day(name) == stem)
        found = found or tuple(name for name in names if _starts(name, stem))
    if not found:
        said = _nearest(stem, names, whole=whole)
        raise NotFound(f"no entry is called {given!r}", hint=said or listed)
    if len(found) > 1:
        raise _ambiguous(given, found)
    return found[0]


def human_name(given: str) -> str | None:
    """Return the human-owned file that a person means, None for anything else."""
    below = _below(given)
    return below if below in HUMAN else None


def _below(given: str) -> str:
    return given.removeprefix(f"{ROOT}/").removesuffix(SUFFIX)


def _split(given: str, kinds: tuple[Kind, ...]) -> tuple[tuple[Kind, ...], str]:
    """Return the kinds that are asked for, and the slug or a part of it."""
    below = _below(given)
    head, slash, stem = below.partition("/")
    if not slash:
        return kinds, below
    return tuple(kind for kind in kinds if head in (kind.value, kind.plural)), stem


def _without_day(name: EntryName) -> str:
    return _DAY.sub("", name.slug, count=1)


def _starts(name: EntryName, words: str) -> bool:
    return name.slug.startswith(words) or _without_day(name).startswith(words)


def _nearest(stem: str, names: tuple[EntryName, ...], *, whole: bool) -> str:
    known = {name.slug: name for name in names}
    near = [slug for slug in known if stem and stem in slug][:CANDIDATES]
    near = near or difflib.get_close_matches(stem, list(known)[-NEAREST_OF:], n=3)
    nearest = ", ".join(str(known[slug]) for slug in near)
    said = "a whole slug is needed; the nearest are" if whole else "the nearest are"
    return f"{said} {nearest}" if near else ""


def _ambiguous(given: str, found: tuple[EntryName, ...]) -> UsageError:
    shown = ", ".join(map(str, found[:CANDIDATES]))
    more = f" and {len(found) - CANDIDATES} more" if len(found) > CANDIDATES else ""
    return UsageError(
        f"{given!r} may be {shown}{more}", hint="write one of them out, with its kind and slash"
    )
