"""The commands that bring an agent's work back to the host."""

from __future__ import annotations

import os
import posixpath
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from cspace.cli import render
from cspace.cli.inside import on_terminal
from cspace.cli.options import All, AsJson, Name, Names, complete_name
from cspace.deps import Deps
from cspace.errors import Conflict, CspaceError, PartialFailure, UsageError

if TYPE_CHECKING:
    from cspace.instance.snapshot_manifest import LeftOut
    from cspace.instance.work_view import Change, Clash, Commit
    from cspace.lifecycle.bring_back import Difference
    from cspace.lifecycle.compare import Against, Comparison
    from cspace.lifecycle.host import Host
    from cspace.lifecycle.take_back import Pulled, Pulling

Committed = Annotated[
    bool, typer.Option("--committed", help="Leave out what is not committed yet.")
]
Accepted = Annotated[
    bool,
    typer.Option(
        "--accept-sensitive",
        help="You have looked at changes of .mcp.json, .claude/ and the like.",
    ),
]
SHOWN_LINES = 200
SHORT = 12


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for command in (diff, log, pull, merge, compare):
        app.command()(command)


def diff(
    context: typer.Context,
    name: Name,
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="[-- PATH...]", help="Only these [all].")
    ] = None,
    *,
    stat: Annotated[bool, typer.Option("--stat", help="Only name the files.")] = False,
    committed: Committed = False,
    as_json: AsJson = False,
) -> None:
    """Show what an instance changed, uncommitted and untracked files too.

    Compared with the newest commit that it shares with your branch or with where it started. In a
    pipe it is a patch that git apply takes.

    Examples: cspace diff mercury · cspace diff mercury --stat · cspace diff mercury -- src
    """
    from cspace.lifecycle import bring_back as core  # noqa: PLC0415  pulls in the engine's model

    host = context.obj.host(teardown=True)
    wanted = _from_top(context.obj, paths or ())
    found = core.difference(host, name, wanted, committed=committed)
    if as_json:
        render.show_json(diff=found)
    elif stat:
        _show_changes(found.changes)
    else:
        _show_patch(host, found.base, found.new, wanted)
    _note_lacking(found)


def log(context: typer.Context, name: Name, *, as_json: AsJson = False) -> None:
    """List what an instance committed, with its commit notes, the newest first.

    Example: cspace log mercury
    """
    from cspace.lifecycle import bring_back as core  # noqa: PLC0415  pulls in the engine's model

    found = core.list_history(context.obj.host(teardown=True), name)
    if as_json:
        render.show_json(log=found)
        return
    for commit in found.commits:
        render.show_lines(_commit_lines(commit))
    if not found.commits:
        render.note(f"{name} has no commits of its own")
    _note_uncommitted(name, found.uncommitted)


def pull(
    context: typer.Context,
    names: Names = None,
    *,
    every: All = False,
    accept_sensitive: Accepted = False,
    as_json: AsJson = False,
) -> None:
    """Fetch instances' commits into the branches cspace/NAME of this repository.

    Commit notes come along. A branch is only moved forward, never by force. A change of what does
    something on this machine once it is checked out is shown, and moves nothing before you say so:
    .mcp.json, .claude/, .cspace.json, .devcontainer/, .gitattributes, .cspace/agents/ …

    Examples: cspace pull mercury · cspace pull --all
    """
    from cspace.lifecycle import take_back as core  # noqa: PLC0415  pulls in the engine's model
    from cspace.lifecycle.batch import run_batch  # noqa: PLC0415

    host = context.obj.host(teardown=True)
    wanted = _choose(context.obj, names, every=every)
    done: list[Pulled] = []
    failed: list[tuple[str, CspaceError]] = []
    for outcome in run_batch(wanted, lambda name: core.plan_pull(host, name)):
        try:
            if outcome.error or outcome.result is None:
                raise outcome.error or AssertionError(outcome.name)
            _check_sensitive(host, outcome.result, "pull", asks=not as_json, said=accept_sensitive)
            done.append(core.apply_pull(host.project, outcome.result))
        except CspaceError as error:
            failed.append((outcome.name, error))
    _show_pulled(done, failed, as_json=as_json)


def merge(
    context: typer.Context,
    name: Name,
    *,
    with_conflicts: Annotated[
        bool, typer.Option("--with-conflicts", help="Begin it although it will have conflicts.")
    ] = False,
    accept_sensitive: Accepted = False,
    as_json: AsJson = False,
) -> None:
    """Pull an instance's commits, and merge them into your current branch.

    Conflicts are shown before anything is begun. Message, hooks and author are your own.

    Example: cspace merge mercury
    """
    from cspace.lifecycle import take_back as core  # noqa: PLC0415  pulls in the engine's model

    host = context.obj.host(teardown=True)
    planned = core.plan_merge(host, name)
    _check_sensitive(host, planned.pulling, "merge", asks=not as_json, said=accept_sensitive)
    if planned.clashes and not with_conflicts:
        _note_clashes(planned.clashes)
        raise Conflict(
            f"cspace/{name} and {planned.onto} would conflict: nothing was merged",
            hint=f"cspace merge {name} --with-conflicts, and resolve them",
        )
    merged = core.apply_merge(host.project, planned)
    if as_json:
        render.show_json(merge=merged)
        return
    how = f"is now at {merged.commit[:SHORT]}" if merged.changed else "has it already"
    render.show_lines([f"{name} merged: {merged.onto} {how}"])
    _note_pulled(merged.pulled)


def compare(
    context: typer.Context,
    first: Annotated[
        str, typer.Argument(metavar="NAME", help="One.", autocompletion=complete_name)
    ],
    second: Annotated[
        str, typer.Argument(metavar="NAME", help="The other.", autocompletion=complete_name)
    ],
    *,
    committed: Committed = False,
    as_json: AsJson = False,
) -> None:
    """Show which files two instances both touched, and the conflicts a merge would have.

    Uncommitted files count. Conflicts with your current branch are shown too. The exit code is 0
    whether there are conflicts or not.

    Example: cspace compare mercury venus
    """
    from cspace.lifecycle import compare as core  # noqa: PLC0415  pulls in the engine's model

    host = context.obj.host(teardown=True)
    found = core.compare(host, first, second, committed=committed)
    if as_json:
        render.show_json(comparison=found)
        return
    render.show_lines(_comparison_lines(found))
    for name in found.moving:
        render.note(f"note: files of {name} change all the time: this is of several moments")


def _choose(deps: Deps, names: list[str] | None, *, every: bool) -> tuple[str, ...]:
    """Return the instances that are meant; all of them only when that is said."""
    from cspace.instance.observe import list_instances  # noqa: PLC0415  pulls in the engine's model

    if names and every:
        raise UsageError(f"--all and {' '.join(names)} say two things", hint="leave one out")
    if not names and not every:
        raise UsageError("no instance named", hint="name one, or say --all; cspace list shows them")
    found = list_instances(deps.engine, deps.user, deps.project.id) if every else ()
    if every and not found:
        render.note("no instances in this project")
    return tuple(dict.fromkeys([*(names or ()), *(each.name for each in found)]))


def _from_top(deps: Deps, paths: Iterable[str]) -> tuple[str, ...]:
    """Return paths, which are relative to where we stand, as git takes them from the top."""
    here = os.path.relpath(deps.directory.resolve(), deps.project.worktree.resolve())
    found = []
    for path in paths:
        whole = path if path.startswith(":") else posixpath.normpath(posixpath.join(here, path))
        if whole.startswith(("../", "/")) or whole == "..":
            raise UsageError(f"{path} is outside of the repository", hint="name a path below it")
        found.append(whole)
    return tuple(found)


def _text(raw: bytes) -> str:
    from cspace.instance.snapshot_manifest import show  # noqa: PLC0415  loaded by then

    return show(raw)


def _show_patch(host: Host, old: str, new: str, paths: Sequence[str]) -> None:
    """Write a patch as it is; on a terminal with what would move the cursor as escapes."""
    from cspace.instance.work_view import iter_patch  # noqa: PLC0415  loaded by then

    for_person = sys.stdout.isatty()
    pieces = iter_patch(host.project.root, old, new, paths, binary=not for_person)
    if for_person:
        render.show_lines(_lines(pieces))
        return
    for piece in pieces:
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()


def _lines(pieces: Iterable[bytes]) -> Iterable[str]:
    left = b""
    for piece in pieces:
        *whole, left = (left + piece).split(b"\n")
        yield from (line.decode("utf-8", "backslashreplace") for line in whole)
    if left:
        yield left.decode("utf-8", "backslashreplace")


def _show_changes(changes: Sequence[Change]) -> None:
    rows = [
        (
            each.status,
            "-" if each.added is None else f"+{each.added}",
            "-" if each.removed is None else f"-{each.removed}",
            f"{_text(each.before)} -> {_text(each.path)}" if each.before else _text(each.path),
        )
        for each in changes
    ]
    if rows:
        render.show_table(("CHANGE", "ADDED", "REMOVED", "PATH"), rows)


def _note_lacking(found: Difference) -> None:
    if not found.changes:
        render.note(f"{found.name} changed nothing")
    _note_left_out(found.left_out)
    if found.moving:
        render.note(
            f"note: files of {found.name} change all the time: this is of several moments;"
            f" at rest: cspace stop {found.name}, then again"
        )


def _note_left_out(left_out: Sequence[LeftOut]) -> None:
    for each in left_out[:10]:
        render.note(f"note: left out: {_text(each.path)}: {each.reason}")
    if len(left_out) > 10:
        render.note(f"note: left out: {len(left_out) - 10} more")


def _commit_lines(commit: Commit) -> Iterable[str]:
    yield f"commit {commit.id}"
    yield f"Author: {commit.author} <{commit.email}>"
    yield f"Date:   {render.moment(commit.time)}"
    yield ""
    yield from (f"    {line}".rstrip() for line in commit.message.split("\n"))
    for namespace, text in commit.notes.items():
        yield ""
        yield f"Notes ({namespace}):"
        yield from (f"    {line}".rstrip() for line in text.split("\n"))
    yield ""


def _note_uncommitted(name: str, count: int | None) -> None:
    if count:
        files = render.count(count, "file")
        render.note(f"note: {files} not committed yet in {name}: cspace diff {name}")


def _check_sensitive(host: Host, pulling: Pulling, verb: str, *, asks: bool, said: bool) -> None:
    """Return when what does something on this machine may come; else show it, and stop.

    Raises:
        Conflict: a person has to look first.
    """
    if not pulling.sensitive or said:
        return
    from cspace.cli.ask import confirm  # noqa: PLC0415  few calls ask
    from cspace.instance.work_view import iter_patch  # noqa: PLC0415  loaded by then

    paths = tuple(f":(top,literal){os.fsdecode(path)}" for path in pulling.sensitive)
    shown = list(
        _lines(iter_patch(host.project.root, pulling.base, pulling.new, paths, binary=False))
    )
    render.note("\n".join(shown[:SHOWN_LINES]))
    if len(shown) > SHOWN_LINES:
        render.note(f"… {len(shown) - SHOWN_LINES} more lines")
    named = ", ".join(_text(path) for path in pulling.sensitive[:10])
    more = f" and {len(pulling.sensitive) - 10} more" if len(pulling.sensitive) > 10 else ""
    what = f"{pulling.name} changed what does something on this machine: {named}{more}"
    if asks and on_terminal() and confirm(f"{what}\nTake it?"):
        return
    raise Conflict(
        f"{what}; nothing was moved",
        hint=f"look at it, then: cspace {verb} {pulling.name} --accept-sensitive",
    )


def _show_pulled(
    done: Sequence[Pulled], failed: Sequence[tuple[str, CspaceError]], *, as_json: bool
) -> None:
    """Show each result; one failure alone is raised as it is."""
    if as_json:
        failures = [{"name": name, "error": error} for name, error in failed]
        render.show_json(pulled=done, failed=failures)
    for each in () if as_json else done:
        how = "is up to date" if each.old == each.new else f"is now at {each.new[:SHORT]}"
        count = f", {render.count(each.commits, 'new commit')}" if each.commits else ""
        render.show_lines([f"{each.name} pulled: {each.branch} {how}{count}"])
        _note_pulled(each)
    if len(failed) == 1 and not done:
        raise failed[0][1]
    for name, error in failed:
        render.note(f"{name}: {error}")
        if error.hint:
            render.note(f"hint: {error.hint}")
    if failed:
        names = ", ".join(name for name, _ in failed)
        raise PartialFailure(f"{len(failed)} of {len(done) + len(failed)} failed: {names}")


def _note_pulled(pulled: Pulled) -> None:
    for notice in pulled.notices:
        render.note(f"note: {notice}")
    _note_uncommitted(pulled.name, pulled.uncommitted)


def _note_clashes(clashes: Iterable[Clash]) -> None:
    for line in _clash_lines(clashes):
        render.note(line)


def _clash_lines(clashes: Iterable[Clash]) -> Iterable[str]:
    for each in clashes:
        yield f"  {each.kind}: {', '.join(_text(path) for path in each.paths)}"


def _comparison_lines(found: Comparison) -> Iterable[str]:
    yield f"base      {found.base[:SHORT]}"
    yield f"both      {render.count(len(found.both), 'file')}"
    yield from (f"  {_text(path)}" for path in found.both)
    yield f"only {found.first}: {found.first_only}, only {found.second}: {found.second_only}"
    for merged in found.merges:
        yield _merge_line(merged)
        yield from _clash_lines(merged.clashes)


def _merge_line(merged: Against) -> str:
    what = f"{merged.theirs} into {merged.ours}"
    if merged.problem:
        return f"{what}: {merged.problem}"
    clashes = len(merged.clashes)
    return f"{what}: {render.count(clashes, 'conflict') if clashes else 'no conflict'}"
