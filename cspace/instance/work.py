"""Brings an instance's work into the host's repository, below `refs/cspace/instances/<name>`.

A throw-away container packs it; an instance that runs goes on meanwhile. Nothing that a person
works with is touched: no branch, no index, no file.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path, PurePosixPath

from cspace import beneath, git, git_objects
from cspace.engine.model import Mount
from cspace.errors import CommandFailed
from cspace.instance.exchange import (
    EXCHANGE,
    HOST,
    PROGRAM,
    WORKSPACE,
    Isolated,
    Place,
    check_answer,
    exchanging,
    tell,
)
from cspace.instance.work_answer import ANSWER, NOTES_PACK, PACK, Work, parse_work

ROOT = "refs/cspace/instances"
_REF = re.compile(rf"{ROOT}/([a-z0-9-]+)/.+", re.ASCII)


def prefix_of(name: str) -> str:
    """Return what the refs of an instance's work are below, with the final slash."""
    return f"{ROOT}/{name}/"


def fetch_work(
    repository: Path, place: Place, isolated: Isolated, *, committed: bool = False
) -> Work:
    """Bring an instance's commits, notes and, unless committed, its files as they are.

    Refs below `prefix_of(place.name)` then keep them: `head`, `tree`, and each `refs/notes/…`.

    Raises:
        CspaceError: there is no work that git can follow, or the host's git refuses an object.
    """
    argv = (
        *PROGRAM, "work", "--workspace", WORKSPACE, "--output", EXCHANGE, "--host", HOST,
        "--object-format", git.object_format(repository),
        *(("--committed",) if committed else ()),
    )  # fmt: skip
    with exchanging(place) as exchange:
        known = git.list_tips(repository)
        tell(place, exchange, known=known)
        mounts = (Mount(place.workspace, WORKSPACE, read_only=True), Mount(exchange, EXCHANGE))
        with isolated(argv, mounts) as go:
            check_answer(go(), f"the work of {place.name} can not be read")
        work = parse_work(beneath.read_file(exchange, PurePosixPath(ANSWER)))
        try:
            _take(repository, exchange, PACK if work.packed else None, work.ids)
        except CommandFailed as error:
            raise CommandFailed(
                f"git refuses the work of {place.name} in {repository}: {error}",
                hint=f"repair it inside: cspace shell {place.name}; cspace down keeps it as it is",
            ) from error
        work = _with_notes(repository, exchange, work)
    _keep(repository, prefix_of(place.name), work)
    return work


def _with_notes(repository: Path, exchange: Path, work: Work) -> Work:
    """Take the notes over too; where git refuses one, the work comes without any."""
    ids = tuple(dict.fromkeys(work.notes.values()))
    try:
        _take(repository, exchange, NOTES_PACK if work.notes_packed else None, ids)
    except CommandFailed as error:
        said = "; ".join(line.strip() for line in str(error).splitlines()[1:])
        return replace(work, notes={}, notes_problem=said or str(error))
    return work


def _take(repository: Path, exchange: Path, name: str | None, ids: tuple[str, ...]) -> None:
    """Take a pack over; each of ids is a commit then, and nothing that it reaches is missing."""
    if name:
        # A container wrote it, beside whatever an agent's code in there made of its directory.
        descriptor = beneath.open_file(exchange, PurePosixPath(name))
        with os.fdopen(descriptor, "rb") as pack:
            git_objects.index_pack(repository, pack)
    types = git_objects.object_types(repository, ids)
    for one in ids:
        if types.get(one) != "commit":
            raise CommandFailed(f"{one} is no commit, but {types.get(one, 'missing')}")
    if name:
        git_objects.check_reached(repository, ids)


def _keep(repository: Path, prefix: str, work: Work) -> None:
    """Make the refs below prefix just those of this work."""
    named = {"head": work.head, "tree": work.tree, **work.notes}
    wanted = {prefix + name: one for name, one in named.items() if one}
    present = git.list_refs(repository, prefix)
    if work.tree is None and work.problem is None:
        # Only what is committed was asked for.
        wanted |= {name: one for name, one in present.items() if name == f"{prefix}tree"}
    # Two steps, since a name can be where another one's directory was.
    git.delete_refs(repository, {n: one for n, one in present.items() if n not in wanted})
    for name, one in wanted.items():
        if present.get(name) != one:
            git.update_ref(repository, name, one, present.get(name))


def forget_work(repository: Path, name: str) -> None:
    """Remove the refs of an instance's work; its objects go with git's own garbage collection."""
    git.delete_refs(repository, git.list_refs(repository, prefix_of(name)))


def list_kept(repository: Path) -> tuple[str, ...]:
    """List the instances whose work the repository has refs of."""
    found = (_REF.fullmatch(ref) for ref in git.list_refs(repository, ROOT))
    return tuple(sorted({words[1] for words in found if words}))
