"""`cspace notes capture`: keeps a memory with the commit that it is about."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cspace.cli import render
from cspace.cli.body import Body, BodyFile, Stdin, read_body_bytes
from cspace.cli.editor import edited
from cspace.cli.inside import on_terminal
from cspace.cli.notes_options import NamespaceName, Spec, Tags, path_in
from cspace.cli.notes_show import plain_memory
from cspace.cli.options import AsJson
from cspace.cli.typed import STDIN
from cspace.deps import Deps
from cspace.errors import CspaceError, UsageError
from cspace.notes.namespaces import Namespace, get_namespace

if TYPE_CHECKING:
    from cspace.notes.lookalikes import Lookalikes
    from cspace.notes.memory import Memory

_Given = tuple[str | None, str | None, Path | None]
_NOTHING: _Given = (None, None, None)
_STDIN: _Given = (STDIN, None, None)


def register(app: typer.Typer) -> None:
    """Add the commands to their group."""
    app.command()(capture)


def capture(  # noqa: PLR0913  one parameter an option
    context: typer.Context,
    namespace: NamespaceName,
    stdin: Stdin = None,
    *,
    summary: Annotated[
        str, typer.Option(metavar="LINE", help="What it says in a line, at most 100 characters.")
    ],
    body: Body = None,
    body_file: BodyFile = None,
    commit: Annotated[str, typer.Option(metavar="COMMIT", help="What it is about.")] = "HEAD",
    spec: Spec = None,
    phase: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of the work, like architecture.")
    ] = None,
    tags: Tags = None,
    severity: Annotated[
        str | None, typer.Option(help="Of a review finding: critical, high, medium or low.")
    ] = None,
    category: Annotated[
        str | None,
        typer.Option(
            help="Of a review finding: security, performance, architecture, quality, tests or"
            " documentation."
        ),
    ] = None,
    file: Annotated[
        str | None, typer.Option(metavar="PATH", help="That a review finding is about.")
    ] = None,
    line: Annotated[int | None, typer.Option(min=1, metavar="N", help="Of that file.")] = None,
    allow_secret: Annotated[
        bool, typer.Option("--allow-secret", help="Keep it though it looks like it has a secret.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Keep a memory with a commit.

    The body is what stdin holds, or your editor's text on a terminal. The same memory twice is one.
    It travels with the repository once you run cspace notes sync: put no secrets into it.

    Example: echo "Two services verify." | cspace notes capture decisions --summary "Chose RS256"
    """
    from cspace.notes.draft import Draft  # noqa: PLC0415  only what it is needed for

    deps: Deps = context.obj
    store = deps.notes()
    draft = Draft(
        namespace=get_namespace(namespace),
        summary=summary,
        body="",
        spec=spec,
        phase=phase,
        tags=tuple(tags or ()),
        severity=severity,
        category=category,
        file=path_in(store.repository, file),
        line=line,
    )
    with _text(deps, namespace, (stdin, body, body_file)) as text:
        done = store.capture(replace(draft, body=text), commit, allow_secret=allow_secret)
    earlier = _lookalikes(deps, done.memory)
    if as_json:
        rows = [one.reference for one in earlier.earlier]
        render.show_json(memory=plain_memory(done.memory), is_new=done.is_new, resembles=rows)
    else:
        render.show_lines([f"{done.memory.reference}  {done.memory.record.summary}"])
        render.show_lines(filter(None, [earlier.describe()]))
    if not done.is_new:
        render.note("it was there already: the same memory twice is one")


def _lookalikes(deps: Deps, memory: Memory) -> Lookalikes:
    """Find what a review finding resembles; that it can not be said is no failure of a capture."""
    from cspace.notes.lookalikes import Lookalikes, find_lookalikes  # noqa: PLC0415  as above

    if memory.namespace is not Namespace.REVIEWS:
        return Lookalikes(())
    try:
        return find_lookalikes(deps.notes_catalog(), memory, deps.embedder())
    except (CspaceError, OSError) as error:
        render.note(f"note: earlier findings could not be looked at: {error}")
        return Lookalikes(())


@contextlib.contextmanager
def _text(deps: Deps, name: str, given: _Given) -> Iterator[str]:
    """Give the body that is named, else stdin's, else what a person types into an editor.

    Where the block fails, what they typed is kept.
    """
    if given == _NOTHING and on_terminal():
        with edited(f"{name}.md", b"", deps.environ) as content:
            yield _decode(_not_empty(content))
    elif given == _NOTHING and sys.stdin.isatty():
        raise UsageError(
            "there is no body, and no terminal to write one on",
            hint="--body TEXT, --body-file FILE, or from a program: … | cspace notes capture …",
        )
    else:
        yield _decode(read_body_bytes(*(_STDIN if given == _NOTHING else given)))


def _not_empty(content: bytes) -> bytes:
    if not content.strip():
        hint = 'write a text, and an editor has to wait: code --wait; without a text: --body ""'
        raise UsageError("the body is empty: nothing was kept", hint=hint)
    return content


def _decode(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")
