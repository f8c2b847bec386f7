"""What another machine's history holds is as little trusted as what an agent writes."""

from __future__ import annotations

import os
from collections.abc import Iterable

from cspace.beneath import MAX_BYTES as MAX_INDEX_BYTES
from cspace.docstore.frontmatter import is_whole, parse_front_matter
from cspace.errors import CspaceError
from cspace.git_objects import TreeEntry, iter_tree
from cspace.memory.changes import MAX_BYTES
from cspace.memory.index import find_region
from cspace.memory.located import Located, is_directory_of_memory, parse_path
from cspace.memory.repository import Repository

MAX_FILES = 100_000
_MODES = frozenset({"100644", "100755"})
_NAMED = 10


class Refused(CspaceError):
    """Something that comes in can not be a memory; nothing was applied."""


def list_incoming(repository: Repository, commit: str) -> dict[str, str]:
    """Return the files of a commit that came from elsewhere, by path, with their blobs.

    Raises:
        Refused: it holds something that is no memory: another path, a link, a big file.
    """
    found: dict[str, str] = {}
    for entry in iter_tree(repository.root, commit, trees=True, env=repository.env):
        path = os.fsdecode(entry.path)
        if entry.kind == "tree" and is_directory_of_memory(path):
            continue
        problem = _problem(entry, parse_path(path))
        if problem or len(found) == MAX_FILES:
            raise _refused([f"{path!a}: {problem or f'more than {MAX_FILES} files'}"])
        found[path] = entry.id
    return found


def _problem(entry: TreeEntry, located: Located | None) -> str:
    if located is None:
        return "no path of a memory"
    if entry.mode not in _MODES:
        return f"no regular file, but of mode {entry.mode}"
    most = MAX_INDEX_BYTES if located.is_index else MAX_BYTES
    return f"{entry.size} bytes, more than {most}" if entry.size > most else ""


def check_incoming(texts: Iterable[tuple[str, bytes]]) -> None:
    """Check the texts that come in, by path.

    Raises:
        Refused: a header is none, or an index's markers are not one pair.
    """
    problems = _problems(texts)
    if problems:
        raise _refused(problems)


def check_outgoing(texts: Iterable[tuple[str, bytes]]) -> None:
    """Check what another machine would refuse, by path, before it gets there.

    Raises:
        Refused: as for `check_incoming`, or a memory is too big.
    """
    problems = _problems(texts)
    if problems:
        raise Refused(
            f"nothing was applied or pushed; another machine would refuse {_shown(problems)}",
            hint="mend it here, then sync again",
        )


def _problems(texts: Iterable[tuple[str, bytes]]) -> list[str]:
    problems = []
    for path, content in texts:
        located = parse_path(path)
        try:
            if located is not None and located.is_index:
                find_region(content)
            else:
                problems += [f"{path}: {_bad_header(content)}"] if _bad_header(content) else []
        except CspaceError as error:
            problems.append(f"{path}: {error}")
    return problems


def _bad_header(content: bytes) -> str:
    if len(content) > MAX_BYTES:
        return f"{len(content)} bytes, more than {MAX_BYTES}"
    if b"\0" in content:
        return "a NUL character"
    header = parse_front_matter(content)
    opened = content.startswith((b"---\n", b"---\r\n"))
    if opened and (header.body == 0 or not is_whole(header)):
        return "a front matter that is not YAML"
    return ""


def _refused(problems: list[str]) -> Refused:
    return Refused(
        f"nothing was applied; the remote holds {_shown(problems)}",
        hint="mend it where it came from, then sync again",
    )


def _shown(problems: list[str]) -> str:
    more = f", and {len(problems) - _NAMED} more" if len(problems) > _NAMED else ""
    return "; ".join(problems[:_NAMED]) + more
