"""`cspace context log`: a person files a record."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cspace.cli import render
from cspace.cli.editor import edited
from cspace.cli.inside import on_terminal
from cspace.cli.options import AsJson
from cspace.cli.typed import decode, read_given
from cspace.context.kinds import Category, Kind, Status
from cspace.deps import Deps
from cspace.errors import UsageError

if TYPE_CHECKING:
    from cspace.context.records import Logged

app = typer.Typer(help="File a decision, a discovery or a finding.", no_args_is_help=True)
_OPTIONAL = "details"


def _text(name: str, help_text: str) -> Any:
    return typer.Option(f"--{name}", metavar="TEXT", help=f"{help_text} - reads it from stdin.")


Title = Annotated[str, typer.Argument(metavar="TITLE", help="One line, at most 300 characters.")]


@app.command()
def decision(  # noqa: PLR0913  one parameter an option
    context: typer.Context,
    title: Title,
    *,
    context_: Annotated[str | None, _text("context", "What made it necessary.")] = None,
    alternatives: Annotated[
        str | None, _text("alternatives", "What was rejected, and why.")
    ] = None,
    decision_: Annotated[str | None, _text("decision", "What was chosen.")] = None,
    consequences: Annotated[str | None, _text("consequences", "What follows from it.")] = None,
    as_json: AsJson = False,
) -> None:
    """File a choice that others must respect.

    On a terminal an editor asks for the texts that are not given.

    Example: cspace context log decision "Use SQLite" --context "One file is enough."
    """
    from cspace.context.records import Decision  # noqa: PLC0415  10 ms

    deps: Deps = context.obj
    given = {
        "context": context_,
        "alternatives": alternatives,
        "decision": decision_,
        "consequences": consequences,
    }
    with _complete(deps, Kind.DECISION, title, given) as texts, deps.context_to_change() as store:
        logged = store.log_decision(Decision(title, **texts))
    _show(logged, as_json=as_json)


@app.command()
def discovery(
    context: typer.Context,
    title: Title,
    *,
    finding_: Annotated[str | None, _text("finding", "What you learned.")] = None,
    impact: Annotated[str | None, _text("impact", "What it means for others.")] = None,
    as_json: AsJson = False,
) -> None:
    """File something that is not obvious, and what it means.

    On a terminal an editor asks for the texts that are not given.

    Example: git log -1 --format=%b | cspace context log discovery "Zones" --finding - --impact Few
    """
    from cspace.context.records import Discovery  # noqa: PLC0415  10 ms

    deps: Deps = context.obj
    given = {"finding": finding_, "impact": impact}
    with _complete(deps, Kind.DISCOVERY, title, given) as texts, deps.context_to_change() as store:
        logged = store.log_discovery(Discovery(title, **texts))
    _show(logged, as_json=as_json)


@app.command()
def finding(  # noqa: PLR0913  as above
    context: typer.Context,
    title: Title,
    *,
    category: Annotated[
        Category, typer.Option(metavar="CATEGORY", help="bug, observation or refactor.")
    ],
    summary: Annotated[str | None, _text("summary", "What is wrong or odd, in short.")] = None,
    details: Annotated[str | None, _text("details", "How it shows, where, and why.")] = None,
    tag: Annotated[
        list[str] | None, typer.Option(metavar="TAG", help="A tag; may be repeated.")
    ] = None,
    related: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A file, commit or slug; may be repeated."),
    ] = None,
    status: Annotated[
        Status, typer.Option(metavar="STATUS", help="open, acknowledged, resolved or wontfix.")
    ] = Status.OPEN,
    author: Annotated[str, typer.Option(metavar="NAME", help="Who signs it [you].")] = "",
    as_json: AsJson = False,
) -> None:
    """File a bug, an observation or a refactoring.

    On a terminal an editor asks for the summary and details where no summary is given.

    Example: cspace context log finding "Sums are off" --category bug --summary "0.1 + 0.2"
    """
    from cspace.context.records import Finding  # noqa: PLC0415  10 ms

    deps: Deps = context.obj
    given = {"summary": summary, "details": details}
    lists = tuple(tag or ()), tuple(related or ())
    with _complete(deps, Kind.FINDING, title, given) as texts, deps.context_to_change() as store:
        said = texts["summary"], texts.get("details", "")
        logged = store.log_finding(Finding(title, category, *said, status, *lists, author))
    _show(logged, as_json=as_json)


def _show(logged: Logged, *, as_json: bool) -> None:
    if as_json:
        render.show_json(logged=logged)
    else:
        render.show_lines([f"slug  {logged.slug}", f"path  {logged.path}"])


@contextlib.contextmanager
def _complete(
    deps: Deps, kind: Kind, title: str, given: Mapping[str, str | None]
) -> Iterator[dict[str, str]]:
    """Give the texts of a record; where some are missing a person's editor asks for them.

    Raises:
        UsageError: a text is missing and there is no terminal, or the editor's text is no record.
    """
    from cspace.context.authored import check_title  # noqa: PLC0415  not for `--help`

    check_title(title)
    texts = {name: read_given(name, text) for name, text in given.items() if text is not None}
    missing = [name for name in given if name not in texts and name != _OPTIONAL]
    if not missing:
        yield texts
    elif on_terminal():
        with _drafted(deps, kind, title, texts) as written:
            yield written
    else:
        options = ", ".join(f"--{name}" for name in missing)
        raise UsageError(
            f"{options} missing, and there is no terminal to ask on",
            hint=f"give each as text, or one of them as - from stdin: --{missing[0]} -",
        )


@contextlib.contextmanager
def _drafted(
    deps: Deps, kind: Kind, title: str, texts: Mapping[str, str]
) -> Iterator[dict[str, str]]:
    from cspace.context.draft import parse_draft, render_draft  # noqa: PLC0415  as above

    draft = render_draft(kind, title, texts).encode("utf-8")
    with edited(f"{kind}.md", draft, deps.environ) as after:
        if after == draft:
            raise UsageError(
                "nothing was logged: the draft is as it was",
                hint="call it again, and write below its headings",
            )
        yield parse_draft(kind, title, decode("the draft", after))
