"""Changes that a person makes to a whole file: never over what another wrote meanwhile."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath

from cspace import assets
from cspace.context.authored import check_text
from cspace.context.naming import get_entry_name, human_name
from cspace.context.records import ROOT, Kind
from cspace.context.store import ContextStore
from cspace.docstore.opened import SUFFIX
from cspace.errors import Conflict, NotFound, UsageError

# Comparing longer texts line by line may take minutes.
MAX_DIFF_LINES = 20_000


@dataclass(frozen=True, slots=True)
class Original:
    """A file as a person was shown it.

    Attributes:
        name: how a command names it.
        kind: None for a human-owned file.
        content: its bytes; where it is missing, what such a file starts with.
    """

    name: str
    kind: Kind | None
    stem: str
    path: PurePosixPath
    content: bytes
    missing: bool = False


def load_original(store: ContextStore, given: str) -> Original:
    """Read the record or human-owned file that a person wants to edit.

    Raises:
        NotFound: there is no such record.
        UsageError: several records are called so, or the file is read-only inside an instance.
    """
    human = human_name(given)
    if human is not None:
        return _load_human(store, human)
    name = get_entry_name(store.root, given)
    folder = store.folder(name.kind)
    content = folder.read(name.slug)
    return Original(str(name), name.kind, name.slug, folder.path_of(name.slug), content)


def _load_human(store: ContextStore, stem: str) -> Original:
    if store.origin.instance is not None:
        raise UsageError(
            f"{stem}{SUFFIX} belongs to people: it is read-only inside an instance",
            hint=f"on the host: cspace context edit {stem}",
        )
    path = ROOT / f"{stem}{SUFFIX}"
    try:
        return Original(stem, None, stem, path, store.human_folder().read(stem))
    except NotFound:
        store.check_root()
        template = assets.template(path.name).encode()
        return Original(stem, None, stem, path, template, missing=True)


def save_edited(store: ContextStore, original: Original, after: bytes) -> None:
    """Replace a file by what a person made of it, if it still is as they were shown it.

    Its mode and owner stay.

    Raises:
        Conflict: it was changed, removed or created meanwhile, or another holds its lock.
        UsageError: the text can not be stored.
    """
    _check(original, after)
    if original.missing:
        _publish(store, original, after)
        return

    def change(current: bytes) -> bytes:
        if current != original.content:
            raise _moved(original, "changed")
        return after

    try:
        _replace(store, original, change)
    except NotFound:
        raise _moved(original, "removed") from None


def _replace(store: ContextStore, original: Original, change: Callable[[bytes], bytes]) -> None:
    if original.kind is None:
        store.human_folder().edit(original.stem, change)
    else:
        store.edit_entry(original.kind, original.stem, change)


def _publish(store: ContextStore, original: Original, content: bytes) -> None:
    try:
        store.human_folder().put(original.stem, content, expected=None)
    except Conflict:
        raise _moved(original, "created") from None


def _moved(original: Original, what: str) -> Conflict:
    return Conflict(
        f"{original.path} was {what} while you edited it; nothing was written",
        hint=f"bring your text into what is there now: cspace context edit {original.name}",
    )


def _check(original: Original, after: bytes) -> None:
    name = str(original.path)
    if original.kind is not None and not after.strip():
        raise UsageError(
            f"{name} would be empty", hint=f"to remove it: cspace context rm {original.name}"
        )
    try:
        check_text(name, after.decode("utf-8"))
    except UnicodeDecodeError as error:
        # What was there before may be in any encoding, and stays.
        if _is_utf8(original.content):
            raise UsageError(
                f"{name} would not be UTF-8 at byte {error.start}",
                hint="save it as UTF-8 in your editor",
            ) from None


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def unified_diff(original: Original, after: bytes) -> tuple[str, ...]:
    """Return the lines of a unified diff; of very long texts only how long they are."""
    old, new = _lines(b"" if original.missing else original.content), _lines(after)
    if len(old) + len(new) > MAX_DIFF_LINES:
        return (f"{original.path}: {len(old)} lines became {len(new)}",)
    names = (f"a/{original.path}", f"b/{original.path}")
    return tuple(difflib.unified_diff(old, new, *names, lineterm=""))


def _lines(content: bytes) -> list[str]:
    text = content.decode("utf-8", "replace")
    lines = text.split("\n")
    if lines[-1]:
        return [*lines[:-1], f"{lines[-1]} (no line end)"]
    return lines[:-1]
