"""`cspace memory init|history|undo|sync`: memories in git."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from cspace.cli import render
from cspace.cli.ask import agree
from cspace.cli.memory_scope import PersonaName, ProjectName, ScopeName, complete_slug
from cspace.cli.options import AsJson, Yes
from cspace.deps import Deps, make_deps
from cspace.errors import CspaceError, UsageError
from cspace.events import ignore
from cspace.memory.here import Wanted
from cspace.owner import find_owner

if TYPE_CHECKING:  # they load YAML
    from cspace.memory.reconcile import Update
    from cspace.memory.sync import Plan

AllowHidden = Annotated[
    bool,
    typer.Option("--allow-hidden", help="Take characters that can not be seen, too."),
]


def register(app: typer.Typer) -> None:
    """Add the commands to their group."""
    app.command()(init)
    app.command()(history)
    app.command()(undo)
    app.command()(sync)


def complete_remote(incomplete: str) -> list[str]:
    """Complete a remote of the memory's repository."""
    try:
        names = make_deps(ignore).memory_keeper().repository.git("remote").text.splitlines()
    except CspaceError:
        return []
    return [name for name in names if name.startswith(incomplete)]


def init(
    context: typer.Context,
    *,
    git: Annotated[bool, typer.Option("--git", help="Make it a git repository.")] = False,
    as_json: AsJson = False,
) -> None:
    """Keep memories in git, each approved write as a commit.

    The repository is the memory's root itself. A repository that is there is taken over when it
    holds nothing but memories. The orchestrator's own directory is not in it.

    Example: cspace memory init --git
    """
    from cspace.memory.keeping import Done, Keeper  # noqa: PLC0415  loads YAML
    from cspace.memory.repository import make_repository, mark_as_ours  # noqa: PLC0415

    deps: Deps = context.obj
    if not git:
        raise UsageError("nothing to make was named", hint="cspace memory init --git")
    deps.memory_to_change("init --git")
    store = deps.memory()
    repository = make_repository(store.root, find_owner())
    with repository.locked(store.by):
        mark_as_ours(repository)
        done = Done("Begin to keep memories", "init", store.by)
        Keeper(repository, store, deps.report).commit_all(done)
    if as_json:
        render.show_json(root=store.root, commit=repository.head())
    else:
        render.note(f"{store.root} is kept in git; see: cspace memory history")


def history(  # noqa: PLR0913  one parameter an option
    context: typer.Context,
    slug: Annotated[
        str | None,
        typer.Argument(metavar="[SLUG]", help="A memory [all].", autocompletion=complete_slug),
    ] = None,
    *,
    scope: ScopeName = None,
    project: ProjectName = None,
    persona: PersonaName = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="At most this many.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List what happened to memories, the newest first.

    From git where it keeps them, else from cspace's own log. Without a scope: of all scopes, and
    for a SLUG of the scope where you are.

    Examples: cspace memory history · cspace memory history testing --scope user
    """
    from cspace.memory.past import list_past  # noqa: PLC0415  loads YAML
    from cspace.memory.repository import find_repository  # noqa: PLC0415

    deps: Deps = context.obj
    wanted = Wanted(scope, project, persona)
    store = deps.memory()
    places: tuple[str, ...] = ()
    if slug or wanted.named:
        found = deps.here.get(wanted)
        places = (f"{found}/{slug}" if slug else str(found),)
    past = list_past(store, find_repository(store.root), places, limit)
    if as_json:
        render.show_json(changes=past)
        return
    if not past:
        render.note(f"nothing happened yet in {', '.join(places) or 'any scope'}")
        return
    rows = [
        (render.moment(one.time), one.operation, one.by, one.entry, one.id[:12] or "-",
         one.proposal or "-")
        for one in past
    ]  # fmt: skip
    render.show_table(("TIME", "WHAT", "WHO", "ENTRY", "ID", "PROPOSAL"), rows)


def undo(
    context: typer.Context,
    commit: Annotated[
        str | None, typer.Argument(metavar="[COMMIT]", help="As history shows it [the newest].")
    ] = None,
    *,
    allow_hidden: AllowHidden = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Take one change of memories back, by a new commit.

    Shows what changes and asks. What was changed since is not touched: then the exit code is 4.

    Examples: cspace memory undo · cspace memory undo 4c8b1f20
    """
    from cspace.memory.undo import apply_undo, plan_undo  # noqa: PLC0415  loads YAML

    keeper = context.obj.memory_keeper()
    planned = plan_undo(keeper, commit)
    _show(planned.updates, as_json=as_json, allow_hidden=allow_hidden)
    if not yes:
        short = planned.commit[:12]
        named = () if commit else (short,)
        agree(f"Take back {short}?", "nothing was taken back", *named, as_json=as_json)
    made = apply_undo(keeper, planned)
    names = [one.located.name for one in planned.updates]
    if as_json:
        render.show_json(commit=made, undone=planned.commit, changed=names)
    else:
        render.note(f"took back {planned.commit[:12]}: {', '.join(names)}")


def sync(  # noqa: PLR0913  one parameter an option
    context: typer.Context,
    remote: Annotated[
        str | None,
        typer.Argument(
            metavar="[REMOTE]", help="Of the repository [origin].", autocompletion=complete_remote
        ),
    ] = None,
    *,
    ours: Annotated[
        list[str] | None,
        typer.Option(metavar="SLUG", help="Keep yours where both sides changed it."),
    ] = None,
    theirs: Annotated[
        list[str] | None,
        typer.Option(metavar="SLUG", help="Take theirs where both sides changed it."),
    ] = None,
    allow_hidden: AllowHidden = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Bring memories together with those of another machine.

    Fetches, shows what would change here, asks, applies, and pushes; never by force. What only one
    side changed is taken, what both changed is merged by lines. Where that can not be, nothing is
    applied, and the exit code is 4.

    Examples: cspace memory sync · cspace memory sync --theirs user/testing
    """
    from cspace.memory.reconcile import Chosen  # noqa: PLC0415  loads YAML
    from cspace.memory.remote import find_remote  # noqa: PLC0415
    from cspace.memory.sync import Sync  # noqa: PLC0415

    def consent(plan: Plan) -> None:
        found = plan.reconciled
        _show(found.conflicts, as_json=as_json, allow_hidden=True)
        plan.check()
        _show(found.updates, as_json=as_json, allow_hidden=allow_hidden)
        if not yes and not all(one.says_nothing for one in found.updates):
            agree("Apply this here?", "nothing was applied", as_json=as_json)

    deps: Deps = context.obj
    keeper = deps.memory_keeper()
    chosen = Chosen(frozenset(ours or ()), frozenset(theirs or ()))
    found = find_remote(keeper.repository, remote, deps.report)
    done = Sync(keeper, found, chosen).run(consent)
    if as_json:
        render.show_json(remote=found.name, applied=done.applied, pushed=done.pushed)
    else:
        pushed = f"pushed {done.pushed[:12]}" if done.pushed else "nothing to push"
        render.note(f"{render.count(len(done.applied), 'change')} applied; {pushed}")


def _show(updates: Iterable[Update], *, as_json: bool, allow_hidden: bool) -> None:
    """Show what changes.

    Raises:
        CspaceError: what is added has characters that can not be seen.
    """
    from cspace.memory.applying import show_update  # noqa: PLC0415  loads YAML

    hidden = []
    for one in (each for each in updates if not each.says_nothing):
        diff = show_update(one)
        if not as_json:
            render.show_lines(diff.lines)
        hidden += [f"{one.located.path}:{each.line} {each.name}" for each in diff.hidden]
    if hidden and not allow_hidden:
        raise CspaceError(
            f"characters that can not be seen, in {'; '.join(hidden[:10])}; nothing was changed",
            hint="where they are meant: the same command with --allow-hidden",
        )
