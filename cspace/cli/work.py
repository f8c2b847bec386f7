"""The commands that bring an agent's work back to the host."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from cspace.cli import render
from cspace.cli.inside import on_terminal
from cspace.cli.options import All, AsJson, Name, Names, choose_instances, complete_name
from cspace.cli.work_show import (
    SHORT,
    commit_lines,
    comparison_lines,
    few,
    note_clashes,
    note_lacking,
    note_pulled,
    note_sensitive,
    note_uncommitted,
    show_changes,
    show_patch,
)
from cspace.deps import Deps
from cspace.errors import Conflict, CspaceError, PartialFailure, UsageError, expected

if TYPE_CHECKING:
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
    """Show what an instance changed, committed or not.

    Untracked files too. Compared with the newest commit that it shares with your branch or with
    where it started. In a pipe it is a patch that git apply takes.

    Examples: cspace diff mercury · cspace diff mercury --stat · cspace diff mercury -- src
    """
    from cspace.lifecycle import bring_back as core  # noqa: PLC0415  pulls in the engine's model

    host = context.obj.host(teardown=True)
    wanted = _from_top(context.obj, paths or ())
    found = core.difference(host, name, wanted, committed=committed)
    if as_json:
        render.show_json(diff=found)
    elif stat:
        show_changes(found.changes)
    else:
        show_patch(host, found.base, found.new, wanted)
    note_lacking(found)


def log(context: typer.Context, name: Name, *, as_json: AsJson = False) -> None:
    """List what an instance committed.

    The newest first, with commit notes.

    Example: cspace log mercury
    """
    from cspace.lifecycle import bring_back as core  # noqa: PLC0415  pulls in the engine's model

    found = core.list_history(context.obj.host(teardown=True), name)
    if as_json:
        render.show_json(log=found)
        return
    for commit in found.commits:
        render.show_lines(commit_lines(commit))
    if not found.commits:
        render.note(f"{name} has no commits of its own")
    if found.notes_problem:
        render.note(f"note: commit notes were left out: {found.notes_problem}")
    note_uncommitted(name, found.uncommitted)


def pull(
    context: typer.Context,
    names: Names = None,
    *,
    every: All = False,
    accept_sensitive: Accepted = False,
    as_json: AsJson = False,
) -> None:
    """Fetch instances' commits into branches cspace/NAME.

    Commit notes come along. A branch is only moved forward, never by force. A change of what does
    something on this machine once it is checked out is shown, and moves nothing before you say so:
    .mcp.json, .claude/, .cspace.json, .devcontainer/, .gitattributes, .cspace/agents/ …

    Examples: cspace pull mercury · cspace pull --all
    """
    from cspace.lifecycle import take_back as core  # noqa: PLC0415  pulls in the engine's model
    from cspace.lifecycle.batch import run_batch  # noqa: PLC0415

    host = context.obj.host(teardown=True)
    wanted = choose_instances(context.obj, names, every=every)
    done: list[Pulled] = []
    failed: list[tuple[str, CspaceError]] = []
    for outcome in run_batch(wanted, lambda name: core.plan_pull(host, name)):
        try:
            if outcome.error or outcome.result is None:
                raise outcome.error or AssertionError(outcome.name)
            _check_sensitive(host, outcome.result, "pull", asks=not as_json, said=accept_sensitive)
            done.append(core.apply_pull(host.project, outcome.result))
        except (CspaceError, OSError) as error:
            failed.append((outcome.name, expected(error)))
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
    """Pull an instance's commits, and merge them.

    Into your current branch. Conflicts are shown before anything is begun. Message, hooks and
    author are your own.

    Example: cspace merge mercury
    """
    from cspace.lifecycle import take_back as core  # noqa: PLC0415  pulls in the engine's model

    host = context.obj.host(teardown=True)
    planned = core.plan_merge(host, name)
    _check_sensitive(host, planned.pulling, "merge", asks=not as_json, said=accept_sensitive)
    if planned.clashes and not with_conflicts:
        note_clashes(planned.clashes)
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
    note_pulled(merged.pulled)


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
    """Show what two instances both touched.

    Files that both changed, and the conflicts that a merge would have, also with your current
    branch. Uncommitted files count. The exit code is 0 whether there are conflicts or not.

    Example: cspace compare mercury venus
    """
    from cspace.lifecycle import compare as core  # noqa: PLC0415  pulls in the engine's model

    host = context.obj.host(teardown=True)
    found = core.compare(host, first, second, committed=committed)
    if as_json:
        render.show_json(comparison=found)
        return
    render.show_lines(comparison_lines(found))
    for name in found.moving:
        render.note(f"note: files of {name} change all the time: this is of several moments")


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


def _check_sensitive(host: Host, pulling: Pulling, verb: str, *, asks: bool, said: bool) -> None:
    """Return when what does something on this machine may come; else show it, and stop.

    Raises:
        Conflict: a person has to look first.
    """
    if not pulling.sensitive or said:
        return
    from cspace.cli.ask import confirm  # noqa: PLC0415  few calls ask

    note_sensitive(host, pulling)
    what = f"{pulling.name} changed what does something on this machine: {few(pulling.sensitive)}"
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
        note_pulled(each)
    if len(failed) == 1 and not done:
        raise failed[0][1]
    for name, error in failed:
        render.note(f"{name}: {error}")
        if error.hint:
            render.note(f"hint: {error.hint}")
    if failed:
        names = ", ".join(name for name, _ in failed)
        raise PartialFailure(f"{len(failed)} of {len(done) + len(failed)} failed: {names}")
